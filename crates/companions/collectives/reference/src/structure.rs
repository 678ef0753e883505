//! The rules CS01 to CS04 and CS15, on what stands in a document, and the rules CC and CW03.

use std::collections::HashSet;

use megakernel_collectives::{
    Algorithm, Fault, LaunchRequest, ModuleDescription, Number, Op, Topology, TopologyKind,
};
use megakernel_ir::Rule;

use crate::network::Network;

/// The most elements of a document.
const MOST_ELEMENTS: i64 = 1 << 20;
const MOST: i64 = 2_147_483_647;

struct Ranges {
    found: Vec<Fault>,
}

impl Ranges {
    fn check(&mut self, at: &str, name: &str, number: i64, least: i64, most: i64) {
        if !(least..=most).contains(&number) {
            let message = format!("found {number}, required {least} to {most}");
            self.found.push(Fault::new(Rule::CS01, format!("{at}/{name}"), message));
        }
    }

    fn topology(&mut self, topology: &Topology) {
        let at = "/topology";
        self.check(at, "ranks", topology.ranks, 1, 65536);
        for (name, extent) in [("w", topology.w), ("h", topology.h)] {
            if let Some(extent) = extent {
                self.check(at, name, extent, 1, 65536);
            }
        }
        self.check(at, "cube_w", topology.cube_w, 1, 256);
        self.check(at, "cube_h", topology.cube_h, 1, 256);
        self.check(at, "capacity", topology.capacity, 1, 65536);
        if let Some(bytes) = topology.slot_bytes {
            self.check(at, "slot_bytes", bytes, 1, MOST);
        }
        for (number, edge) in topology.edges.iter().enumerate() {
            let at = format!("{at}/edges/{number}");
            self.check(&at, "from", edge.from, 0, topology.ranks - 1);
            self.check(&at, "to", edge.to, 0, topology.ranks - 1);
            if let Some(capacity) = edge.capacity {
                self.check(&at, "capacity", capacity, 1, 65536);
            }
        }
        if !self.found.is_empty() {
            return;
        }
        let cubes = topology.cube_w * topology.cube_h;
        if let Some(cube) = topology.link_cube {
            self.check(at, "link_cube", cube, 0, cubes - 1);
        }
        if topology.ranks * cubes > MOST_ELEMENTS {
            let message =
                format!("found {} elements, required at most {MOST_ELEMENTS}", topology.ranks * cubes);
            self.found.push(Fault::new(Rule::CS01, at, message));
        }
    }

    fn ops(&mut self, ops: &[Op], at: &str) {
        for (number, op) in ops.iter().enumerate() {
            let at = format!("{at}/{number}");
            match op {
                Op::Load { at: from, n, .. } => {
                    self.number(from, &at, "at");
                    self.number(n, &at, "n");
                }
                Op::Store { at: to, .. } => self.number(to, &at, "at"),
                Op::Recv { n, .. } => self.number(n, &at, "n"),
                Op::For { count, ops } => {
                    self.number(count, &at, "count");
                    self.ops(ops, &format!("{at}/ops"));
                }
                Op::Send { .. } | Op::Add { .. } | Op::Cast { .. } | Op::Other(_) => {}
            }
        }
    }

    fn number(&mut self, number: &Number, at: &str, name: &str) {
        let Number::Affine(affine) = number else { return };
        let at = format!("{at}/{name}");
        for (name, number) in [("add", affine.add), ("times", affine.times), ("plus", affine.plus)] {
            self.check(&at, name, number, -MOST - 1, MOST);
        }
        if let Some(modulus) = affine.modulus {
            self.check(&at, "mod", modulus, 1, MOST);
        }
        for (_, factor) in &affine.of {
            self.check(&at, "of", *factor, -MOST - 1, MOST);
        }
    }
}

/// CS01 of an algorithm.
pub fn ranges(algorithm: &Algorithm) -> Vec<Fault> {
    let mut ranges = Ranges { found: Vec::new() };
    ranges.topology(&algorithm.topology);
    ranges.check("", "n_elem", algorithm.n_elem, 1, MOST);
    ranges.check("", "scratch", algorithm.scratch, 0, 1 << 24);
    ranges.check("/collective", "root", algorithm.collective.root, 0, algorithm.topology.ranks - 1);
    for (number, log) in algorithm.logs.iter().enumerate() {
        for (entry, [first, last, step]) in log.elements.iter().enumerate() {
            let at = format!("/logs/{number}/elements/{entry}");
            ranges.check(&at, "0", *first, 0, i64::MAX);
            ranges.check(&at, "1", *last, 0, i64::MAX);
            ranges.check(&at, "2", *step, 1, i64::MAX);
        }
        ranges.ops(&log.ops, &format!("/logs/{number}/ops"));
    }
    for (number, tile) in algorithm.tiles.iter().flatten().enumerate() {
        for (position, bits) in tile.iter().enumerate() {
            ranges.check(&format!("/tiles/{number}"), &position.to_string(), *bits, 0, 65535);
        }
    }
    ranges.found
}

/// CS01 of a launch request.
pub fn launch_ranges(request: &LaunchRequest) -> Vec<Fault> {
    let mut ranges = Ranges { found: Vec::new() };
    ranges.topology(&request.topology);
    ranges.check("", "n_elem", request.n_elem, 1, MOST);
    ranges.check("/collective", "root", request.collective.root, 0, request.topology.ranks - 1);
    if ranges.found.is_empty() {
        let elements = request.topology.ranks * request.topology.cube_w * request.topology.cube_h;
        ranges.check("", "element", request.element, 0, elements - 1);
    }
    ranges.found
}

/// CS02 and CS03.
pub fn topology(topology: &Topology) -> Vec<Fault> {
    let mut found = Vec::new();
    if let (TopologyKind::Torus | TopologyKind::Mesh, Some(w), Some(h)) =
        (topology.kind, topology.w, topology.h)
        && w * h != topology.ranks
    {
        let message =
            format!("{w} columns of {h} rows have {} places, and there are {} ranks", w * h, topology.ranks);
        found.push(Fault::new(Rule::CS02, "/topology", message));
    }
    if topology.kind != TopologyKind::Explicit {
        return found;
    }
    let (mut outs, mut ins) = (HashSet::new(), HashSet::new());
    for (number, edge) in topology.edges.iter().enumerate() {
        let what = if edge.from == edge.to {
            format!("it leads from rank {} to itself", edge.from)
        } else if let Some(name) =
            [&edge.out, &edge.into].into_iter().find(|name| ["E", "W", "S", "N"].contains(&name.as_str()))
        {
            format!("`{name}` leads from cube to cube")
        } else if !outs.insert((edge.from, &edge.out)) {
            format!("rank {} sends to `{}` already", edge.from, edge.out)
        } else if !ins.insert((edge.to, &edge.into)) {
            format!("rank {} receives from `{}` already", edge.to, edge.into)
        } else {
            continue;
        };
        found.push(Fault::new(Rule::CS03, format!("/topology/edges/{number}"), what));
    }
    found
}

/// CS04. Which log each element has, if none is broken.
///
/// # Errors
/// Elements with two logs, without any, or that there are not.
pub fn elements(algorithm: &Algorithm, network: &Network) -> Result<Vec<usize>, Vec<Fault>> {
    let all = network.elements();
    let mut log_of = vec![None; all];
    let mut found = Vec::new();
    for (number, log) in algorithm.logs.iter().enumerate() {
        for (entry, &[first, last, step]) in log.elements.iter().enumerate() {
            if first > last {
                continue;
            }
            let at = format!("/logs/{number}/elements/{entry}");
            let highest = first + (last - first) / step * step;
            if highest >= i64::try_from(all).unwrap_or(i64::MAX) {
                let message = format!("element {highest} is named, and there are {all}");
                found.push(Fault::new(Rule::CS04, at, message));
                continue;
            }
            let mut id = first;
            while id <= highest {
                let place = usize::try_from(id).ok().and_then(|id| log_of.get_mut(id));
                match place {
                    Some(place @ None) => *place = Some(number),
                    _ => {
                        found.push(Fault::new(Rule::CS04, at, format!("element {id} has a log already")));
                        break;
                    }
                }
                id += step;
            }
        }
    }
    if found.is_empty()
        && let Some(without) = log_of.iter().position(Option::is_none)
    {
        found.push(Fault::new(Rule::CS04, "/logs", format!("element {without} stands in no log")));
    }
    if found.is_empty() { Ok(log_of.into_iter().flatten().collect()) } else { Err(found) }
}

/// CS15.
pub fn tiles(algorithm: &Algorithm, elements: usize, needed: bool) -> Vec<Fault> {
    let Some(tiles) = &algorithm.tiles else {
        let missing = needed.then(|| Fault::new(Rule::CS15, "/tiles", "there is nothing to simulate with"));
        return missing.into_iter().collect();
    };
    if tiles.len() != elements {
        let message = format!("found {} tiles, required {elements}", tiles.len());
        return vec![Fault::new(Rule::CS15, "/tiles", message)];
    }
    let wrong = |(number, tile): (usize, &Vec<i64>)| {
        let message = format!("found {} numbers, required {}", tile.len(), algorithm.n_elem);
        (i64::try_from(tile.len()) != Ok(algorithm.n_elem))
            .then(|| Fault::new(Rule::CS15, format!("/tiles/{number}"), message))
    };
    tiles.iter().enumerate().filter_map(wrong).collect()
}

/// What is wrong with a module description, and what there is to warn of.
pub fn description(description: &ModuleDescription) -> (Vec<Fault>, Vec<Fault>) {
    let (module, place) = (&description.module, &description.topology);
    let mut ranges = Ranges { found: Vec::new() };
    ranges.topology(place);
    ranges.check("/module", "positional", module.positional, 0, i64::MAX);
    ranges.check("/module", "arguments", module.arguments, 0, MOST);
    if let Some(required) = module.required {
        ranges.check("/module", "required", required, 0, i64::MAX);
    }
    if let Some(size) = description.world_size {
        ranges.check("", "world_size", size, 0, i64::MAX);
    }
    if !ranges.found.is_empty() {
        return (ranges.found, Vec::new());
    }
    let mut found = topology(place);
    if !found.is_empty() {
        return (found, Vec::new());
    }
    let mut broken = |rule, at: &str, message: String| found.push(Fault::new(rule, at, message));
    for symbol in ["kernel", "kernel_args"] {
        if !module.symbols.iter().any(|known| known == symbol) {
            broken(Rule::CC01, "/module/symbols", format!("the module has no `{symbol}`"));
        }
    }
    let (given, least) = (module.arguments + 5, module.required.unwrap_or(module.positional));
    if given < least || (!module.variadic && given > module.positional) {
        let takes = if module.variadic {
            format!("at least {least}")
        } else if least == module.positional {
            least.to_string()
        } else {
            format!("{least} to {}", module.positional)
        };
        let message = format!(
            "the kernel takes {takes} positional arguments and gets {given}: the address, {} of `kernel_args`, and four",
            module.arguments
        );
        broken(Rule::CC02, "/module/positional", message);
    }
    if !module.tl {
        broken(Rule::CC03, "/module/tl", "the kernel does not take the keyword `tl`".to_owned());
    }
    let kind = place.kind.name();
    if module.kinds.as_ref().is_some_and(|kinds| !kinds.iter().any(|(name, _)| name == kind)) {
        broken(Rule::CC04, "/module/kinds", format!("`TOPO_NAME_TO_KIND` has no `{kind}`"));
    }
    if let Some(size) = description.world_size.filter(|&size| size != place.ranks) {
        broken(
            Rule::CC05,
            "/world_size",
            format!("found {size}, and the topology has {} ranks", place.ranks),
        );
    }
    let mut warned = Vec::new();
    if found.is_empty() && module.kinds.is_none() && place.kind != TopologyKind::Ring {
        let at = if module.kinds_stated { "/module/kinds" } else { "/module" };
        let message =
            format!("without `TOPO_NAME_TO_KIND` the kernel is told kind 0, a ring, and this is `{kind}`");
        warned.push(Fault::new(Rule::CW03, at, message));
    }
    (found, warned)
}
