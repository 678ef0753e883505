//! The buffers that versions are cut into, and the form that each has.

use megakernel_ir::BufferKind;

use super::Refusal;
use super::tensors::{Area, Tensors};
use super::versions::{Versions, refuse};
use super::work::{Access, Plan, Use};

/// Where a use finds its elements.
#[derive(Clone, Debug, Default)]
pub(super) enum Home {
    /// Nowhere: the program does without.
    #[default]
    Nowhere,
    /// In a buffer that the host arranges.
    Host,
    /// In boxes: all of one, or these columns of one or several.
    Boxes(Vec<(usize, Area)>),
}

/// How a box is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Form {
    /// As the tensor is, without leading extents of 1.
    Direct,
    /// As pieces that KV_APPEND writes: tasks write parts, and their opcodes only whole buffers. `unit` is the length of a
    /// piece; `of_all` says whether each write is a piece of every row of the tensor.
    Gathered { unit: i64, of_all: bool },
    /// As a cache.
    Cache,
}

/// A buffer that tasks write.
#[derive(Clone, Debug)]
pub(super) struct Box {
    pub area: Area,
    pub form: Form,
    pub kind: BufferKind,
    /// The uses that write it.
    pub writers: Vec<usize>,
}

impl Box {
    /// The shape of the buffer.
    pub fn shape(&self) -> Vec<i64> {
        let (rows, width) = (self.area.rows(), self.area.width());
        match self.form {
            Form::Direct => self.area.shape(),
            Form::Gathered { unit, of_all: true } => vec![rows, width / unit, 1, unit],
            Form::Gathered { unit, of_all: false } => vec![rows * (width / unit), 1, unit],
            Form::Cache => {
                let extents = self.area.extents();
                extents.get(extents.len().saturating_sub(3)..).unwrap_or_default().to_vec()
            }
        }
    }

    /// The piece at which a gathered box takes an area.
    pub fn row(&self, area: &Area) -> i64 {
        match self.form {
            Form::Gathered { unit, of_all: true } => (area.columns()[0] - self.area.columns()[0]) / unit,
            Form::Gathered { unit, of_all: false } => {
                let row = area.rows_in(&self.area).first().copied().unwrap_or(0);
                row * (self.area.width() / unit) + (area.columns()[0] - self.area.columns()[0]) / unit
            }
            _ => 0,
        }
    }
}

/// All boxes, and where each use finds its elements.
pub(super) struct Boxes {
    pub boxes: Vec<Box>,
    pub homes: Vec<Home>,
}

/// Cuts all versions.
pub(super) fn boxes(
    plan: &Plan,
    versions: &Versions,
    tensors: &Tensors<'_>,
    refusals: &mut Vec<Refusal>,
) -> Boxes {
    let mut all = Boxes { boxes: Vec::new(), homes: vec![Home::Nowhere; plan.uses.len()] };
    for &number in &versions.host {
        all.set(number, Home::Host);
    }
    for uses in &versions.caches {
        all.caches(uses, plan, tensors, refusals);
    }
    for version in &versions.written {
        let uses: Vec<(usize, &Use)> =
            version.uses.iter().filter_map(|&number| Some((number, plan.uses.get(number)?))).collect();
        if let Err(refusal) = all.cut(&uses, version.is_last, tensors) {
            refusals.push(refusal);
        }
    }
    all
}

impl Boxes {
    fn set(&mut self, number: usize, home: Home) {
        if let Some(slot) = self.homes.get_mut(number) {
            *slot = home;
        }
    }

    /// Each part of a cache that a task keeps is a buffer by itself.
    fn caches(&mut self, numbers: &[usize], plan: &Plan, tensors: &Tensors<'_>, refusals: &mut Vec<Refusal>) {
        let first = self.boxes.len();
        for &number in numbers {
            let Some(found) = plan.uses.get(number) else { continue };
            let known = self.boxes.iter().enumerate().skip(first);
            let mut known = known.filter(|(_, other)| other.area.region.overlaps(&found.area.region));
            let home = match known.next() {
                Some((position, other)) if other.area == found.area => position,
                Some((_, other)) => {
                    refusals.push(refuse(found, format!(
                        "the cache `{}` overlaps the cache `{}` of another task; required: the same part or none",
                        tensors.label(&found.area), tensors.label(&other.area)
                    )));
                    continue;
                }
                None => {
                    let kind = BufferKind::KvCache;
                    self.boxes.push(Box { area: found.area, form: Form::Cache, kind, writers: Vec::new() });
                    self.boxes.len() - 1
                }
            };
            self.set(number, Home::Boxes(vec![(home, found.area)]));
        }
    }

    /// Cuts one version: the parts that opcodes take whole first, then what is left of those that take columns.
    fn cut(&mut self, uses: &[(usize, &Use)], is_last: bool, tensors: &Tensors<'_>) -> Result<(), Refusal> {
        let whole = uses
            .iter()
            .filter(|(_, found)| matches!(found.access, Access::Read | Access::Write | Access::Zero));
        let columns = || uses.iter().filter(|(_, found)| found.access == Access::Columns);
        // An opcode writes columns of all rows of a buffer.
        let of_rows = |mut area: Area| {
            for (_, write) in columns() {
                if write.area.region.overlaps(&area.region) {
                    area = area.hull(&write.area.between(area.columns()[0], area.columns()[1]));
                }
            }
            area
        };
        let mut areas = disjoint(whole.map(|(_, found)| of_rows(found.area)).collect());
        let mut rest = Vec::new();
        for (_, write) in columns() {
            for region in write.area.without(areas.iter()) {
                rest.push(Area { region, ..write.area });
            }
        }
        // Columns that nobody takes whole: one buffer for all of them, if together they are a box.
        if let Some(hull) = rest.iter().copied().reduce(|hull, area| hull.hull(&area)) {
            let is_box = hull.without(rest.iter()).is_empty()
                && !areas.iter().any(|area| area.region.overlaps(&hull.region));
            if is_box { areas.push(hull) } else { areas.extend(disjoint(rest)) }
        }
        areas.sort_by_key(|area| *area.region.axes());
        for area in areas {
            self.shape(area, uses, is_last, tensors)?;
        }
        Ok(())
    }

    /// Finds the form of one box, and says its users where they find it.
    fn shape(
        &mut self,
        area: Area,
        uses: &[(usize, &Use)],
        is_last: bool,
        tensors: &Tensors<'_>,
    ) -> Result<(), Refusal> {
        let number = self.boxes.len();
        let users: Vec<(usize, &Use, Area)> = uses
            .iter()
            .filter(|(_, found)| found.area.region.overlaps(&area.region))
            .map(|&(number, found)| {
                (number, found, Area { region: found.area.region.intersection(&area.region), ..area })
            })
            .collect();
        let writers: Vec<(usize, &Use, Area)> =
            users.iter().filter(|(_, found, _)| found.access.writes()).copied().collect();
        let label = tensors.label(&area);
        let any = writers.first().or(users.first());
        let Some(&(_, first, _)) = any else { return Ok(()) };
        let written: Vec<Area> = writers.iter().map(|(_, _, part)| *part).collect();
        if let Some(missing) = area.without(written.iter()).into_iter().next() {
            let missing = tensors.label(&Area { region: missing, ..area });
            let reason = format!("tasks use `{label}` as one, and none writes `{missing}`");
            return Err(refuse(first, reason));
        }
        for (_, found, part) in &users {
            let is_of_columns = matches!(found.access, Access::Slice | Access::Columns);
            if is_of_columns && !part.same_rows(&found.area) {
                let mine = tensors.label(&found.area);
                let other = users.iter().find(|(_, other, _)| !found.area.holds(&other.area));
                let other = other.map_or(0, |(_, other, _)| other.task.1);
                return Err(refuse(
                    found,
                    format!(
                        "takes `{mine}` by itself, and task {other} uses `{label}` as one; no opcode takes a part of a buffer here"
                    ),
                ));
            }
        }
        let direct = writers.iter().all(|(_, found, part)| match found.access {
            Access::Columns => part.same_rows(&area),
            _ => *part == area,
        });
        let form = if direct {
            Form::Direct
        } else {
            gathered(&area, &written).ok_or_else(|| {
            refuse(first, format!(
                "`{label}` is written in parts that KV_APPEND cannot put together; required: pieces of one row, \
                 whole rows that follow each other, or pieces of one width of all rows"
            ))
        })?
        };
        let is_read = users.iter().any(|(_, found, _)| !found.access.writes());
        let kind = if is_last && (!is_read || tensors.is_host(area.tensor)) {
            BufferKind::IoOutput
        } else {
            BufferKind::Activation
        };
        for (user, found, part) in &users {
            match (found.access, self.homes.get_mut(*user)) {
                (Access::Columns | Access::Slice, Some(Home::Boxes(parts))) => parts.push((number, *part)),
                (_, Some(home)) => *home = Home::Boxes(vec![(number, *part)]),
                (_, None) => {}
            }
        }
        let writers = writers.iter().map(|&(number, ..)| number).collect();
        self.boxes.push(Box { area, form, kind, writers });
        Ok(())
    }
}

/// How parts can be put together, if they can.
fn gathered(area: &Area, parts: &[Area]) -> Option<Form> {
    let start = area.columns()[0];
    let lengths = parts.iter().flat_map(|part| [part.columns()[0] - start, part.width()]);
    let unit = lengths.fold(area.width(), greatest_common_divisor);
    // Neighbours: of one row, or whole rows that follow each other.
    let follow = |part: &Area| {
        let rows = part.rows_in(area);
        part.rows() == 1
            || part.columns() == area.columns()
                && rows.iter().zip(rows.iter().skip(1)).all(|(row, next)| row + 1 == *next)
    };
    if parts.iter().all(follow) {
        return Some(Form::Gathered { unit, of_all: false });
    }
    // A piece of each row.
    let of_all = parts.iter().all(|part| part.same_rows(area) && part.width() == unit);
    of_all.then_some(Form::Gathered { unit, of_all: true })
}

/// The greatest common divisor, and 1 of two zeros.
pub(super) fn greatest_common_divisor(a: i64, b: i64) -> i64 {
    let (mut a, mut b) = (a.max(0), b.max(0));
    while b != 0 {
        (a, b) = (b, a % b);
    }
    a.max(1)
}

/// The smallest disjoint boxes that hold these.
fn disjoint(mut areas: Vec<Area>) -> Vec<Area> {
    areas.sort_by_key(|area| *area.region.axes());
    areas.dedup();
    let mut found: Vec<Area> = Vec::new();
    for mut area in areas {
        while let Some(position) = found.iter().position(|other| other.region.overlaps(&area.region)) {
            area = area.hull(&found.swap_remove(position));
        }
        found.push(area);
    }
    found
}
