//! Blocks that go round a ring, or a closed way through a grid.

use megakernel_collectives::TopologyKind;

use super::lines::{gather_cubes, is_link, spread_cubes};
use super::tl::{Handle, Tl};
use super::{Setting, block};
use crate::network::Element;

/// The ranks of a grid in the order of a way that visits each once and ends beside its beginning.
fn closed_way(setting: &Setting) -> Option<Vec<i64>> {
    let (w, h) = setting.grid();
    let wraps = matches!(setting.topology.kind, TopologyKind::Ring | TopologyKind::Torus);
    if !setting.is_grid() {
        return None;
    }
    if w * h == 1 || (wraps && w.min(h) == 1) {
        return Some((0..w * h).collect());
    }
    if w.min(h) < 2 || (w % 2 == 1 && h % 2 == 1) {
        return None;
    }
    // Along the first row, then to and fro through the others without their first column, by which it comes back.
    let snake = |w: i64, h: i64| {
        let mut way: Vec<(i64, i64)> = (0..w).map(|x| (x, 0)).collect();
        for y in 1..h {
            let row = (1..w).map(|x| (if y % 2 == 1 { w - x } else { x }, y));
            way.extend(row);
        }
        way.extend((1..h).rev().map(|y| (0, y)));
        way
    };
    let way = if h % 2 == 0 { snake(w, h) } else { snake(h, w).into_iter().map(|(y, x)| (x, y)).collect() };
    Some(way.into_iter().map(|(x, y)| y * w + x).collect())
}

/// Whether there is such a way.
pub fn is_closed(setting: &Setting) -> bool {
    closed_way(setting).is_some()
}

/// The direction from a device to the next one, of two that stand beside each other.
fn direction(setting: &Setting, from: i64, to: i64, is_forward: bool) -> &'static str {
    let (w, h) = setting.grid();
    let wraps = setting.topology.kind != TopologyKind::Mesh;
    let step = |difference: i64, extent: i64| match difference {
        0 => 0,
        // Of two connections, one is for going forward, and the other for going back.
        _ if extent == 2 && wraps => {
            if is_forward {
                1
            } else {
                -1
            }
        }
        1 | -1 => difference,
        around => -around.signum(),
    };
    match (step(to % w - from % w, w), step(to / w - from / w, h)) {
        (1, _) => "global_E",
        (-1, _) => "global_W",
        (_, 1) => "global_S",
        _ => "global_N",
    }
}

/// A part of the tile that goes round, as one element sees it.
struct Pass {
    /// What each place ends with.
    blocks: Vec<(i64, i64)>,
    place: i64,
    to: &'static str,
    from: &'static str,
    held: Option<Handle>,
}

impl Pass {
    fn extent(&self) -> i64 {
        i64::try_from(self.blocks.len()).unwrap_or(1)
    }

    fn block(&self, j: i64) -> (i64, i64) {
        let at = usize::try_from(j.rem_euclid(self.extent())).unwrap_or(0);
        self.blocks.get(at).copied().unwrap_or_default()
    }

    fn steps(&self) -> i64 {
        self.extent() - 1
    }

    /// What this element ends with.
    fn own(&self) -> (i64, i64) {
        self.block(self.place)
    }

    fn send(&mut self, step: i64, behind: i64, tl: &mut Tl) {
        let (from, to) = self.block(self.place - behind - step);
        if from < to && step < self.steps() {
            let held = match self.held {
                Some(held) if step > 0 => held,
                _ => tl.load((from, to)),
            };
            tl.send(self.to, held);
        }
    }

    fn receive(&self, step: i64, behind: i64, tl: &mut Tl) -> Option<((i64, i64), Handle)> {
        let (from, to) = self.block(self.place - behind - 1 - step);
        (from < to && step < self.steps()).then(|| ((from, to), tl.recv(self.from, to - from)))
    }
}

/// Block `j` of each pass goes from place `j + 1` on round to place `j`, and everybody on the way adds. It is stored there.
fn reduce(passes: &mut [Pass], tl: &mut Tl) {
    for step in 0..passes.iter().map(Pass::steps).max().unwrap_or(0) {
        passes.iter_mut().for_each(|pass| pass.send(step, 1, tl));
        for pass in &mut *passes {
            if let Some((at, came)) = pass.receive(step, 1, tl) {
                let own = tl.load(at);
                pass.held = Some(tl.add(own, came));
            }
        }
    }
    for pass in passes {
        let (from, to) = pass.own();
        if let Some(held) = pass.held.filter(|_| from < to) {
            tl.store(from, held);
        }
    }
}

/// Block `j` of each pass goes from place `j` round to all others.
fn gather(passes: &mut [Pass], tl: &mut Tl) {
    for step in 0..passes.iter().map(Pass::steps).max().unwrap_or(0) {
        passes.iter_mut().for_each(|pass| pass.send(step, 0, tl));
        for pass in &mut *passes {
            if let Some(((at, _), came)) = pass.receive(step, 0, tl) {
                tl.store(at, came);
                pass.held = Some(came);
            }
        }
    }
}

/// Some positions that go round the closed way, forward or back.
fn along_the_way(
    setting: &Setting,
    element: Element,
    positions: (i64, i64),
    is_forward: bool,
) -> Option<Pass> {
    let way = closed_way(setting)?;
    let rank = setting.network.rank(element);
    let all = i64::try_from(way.len()).ok()?;
    let at = i64::try_from(way.iter().position(|&other| other == rank)?).ok()?;
    let beside = |step: i64| way.get(usize::try_from((at + step).rem_euclid(all)).ok()?).copied();
    let (next, before) = (beside(1)?, beside(-1)?);
    let (to, from) = if is_forward {
        (direction(setting, rank, next, true), direction(setting, rank, before, false))
    } else {
        (direction(setting, rank, before, false), direction(setting, rank, next, true))
    };
    let blocks = (0..all).map(|j| block(positions, all, j)).collect();
    let place = if is_forward { at } else { all - 1 - at };
    Some(Pass { blocks, place, to, from, held: None })
}

/// A sum over the cubes, which devices then exchange by way of the link cube's tile.
fn exchange(setting: &Setting, element: Element, tl: &mut Tl, devices: impl FnOnce(&mut Tl)) {
    let tile = (0, setting.n_elem);
    if setting.is_flat() {
        return devices(tl);
    }
    let own = tl.load(tile);
    let mut sum = gather_cubes(setting, element, own, tl);
    if is_link(setting, element) {
        tl.store(0, sum);
        devices(tl);
        sum = tl.load(tile);
    }
    let sum = spread_cubes(setting, element, sum, tl);
    tl.store(0, sum);
}

/// Reduce-scatter and all-gather, of the whole tile forward or of half of it each way.
pub fn all_reduce(setting: &Setting, element: Element, tl: &mut Tl, both_ways: bool) {
    let half = setting.n_elem / 2;
    let parts = if both_ways { vec![(0, half), (half, setting.n_elem)] } else { vec![(0, setting.n_elem)] };
    exchange(setting, element, tl, |tl| {
        let passes = parts.into_iter().zip([true, false]);
        let pass = |(part, is_forward)| along_the_way(setting, element, part, is_forward);
        let mut passes: Vec<Pass> = passes.filter_map(pass).collect();
        reduce(&mut passes, tl);
        gather(&mut passes, tl);
    });
}

/// Rows and columns of a torus, in both orders and both ways.
pub fn quarters(setting: &Setting, element: Element, tl: &mut Tl) {
    let (rank, (w, h)) = (setting.network.rank(element), setting.grid());
    let pass = |positions, is_row: bool, is_forward: bool| {
        let (place, extent) = if is_row { (rank % w, w) } else { (rank / w, h) };
        let names = if is_row { ["global_E", "global_W"] } else { ["global_S", "global_N"] };
        let (place, [to, from]) =
            if is_forward { (place, names) } else { (extent - 1 - place, [names[1], names[0]]) };
        let blocks = (0..extent).map(|j| block(positions, extent, j)).collect();
        Pass { blocks, place, to, from, held: None }
    };
    exchange(setting, element, tl, |tl| {
        let quarters: Vec<_> =
            (0..4).map(|j| (block((0, setting.n_elem), 4, j), j / 2 == 0, j % 2 == 0)).collect();
        let mut first: Vec<Pass> =
            quarters.iter().map(|&(part, is_row, way)| pass(part, is_row, way)).collect();
        reduce(&mut first, tl);
        let others = first.iter().zip(&quarters);
        let mut second: Vec<Pass> =
            others.map(|(first, &(_, is_row, way))| pass(first.own(), !is_row, way)).collect();
        reduce(&mut second, tl);
        gather(&mut second, tl);
        gather(&mut first, tl);
    });
}

/// The same with each rank's own block, whatever its place on the way.
fn by_rank(setting: &Setting, element: Element) -> Option<Pass> {
    let mut pass = along_the_way(setting, element, (0, setting.n_elem), true)?;
    let ranks = setting.topology.ranks;
    pass.blocks =
        closed_way(setting)?.into_iter().map(|rank| block((0, setting.n_elem), ranks, rank)).collect();
    Some(pass)
}

/// Each rank's block, everywhere.
pub fn all_gather(setting: &Setting, element: Element, tl: &mut Tl) {
    let mut passes: Vec<Pass> = by_rank(setting, element).into_iter().collect();
    gather(&mut passes, tl);
}

/// The sum of each rank's block, there.
pub fn reduce_scatter(setting: &Setting, element: Element, tl: &mut Tl) {
    let mut passes: Vec<Pass> = by_rank(setting, element).into_iter().collect();
    reduce(&mut passes, tl);
}
