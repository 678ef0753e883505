//! What each pass has to achieve (clauses MCI-22 to MCI-26).

use std::collections::HashMap;

use megakernel_mcir::{Body, Document, Memory, Op, Pass, Target};

use super::Wrong;
use super::evaluate::Held;
use super::field::{self, Residues};
use super::patterns;
use super::side::Side;
use super::stays::stays;
use crate::document::{Counted, uses};

/// What has to be achieved for a request.
pub enum Aim {
    /// MCI-22.
    Patterns(patterns::Aim),
    /// MCI-23: what a block may hold.
    Streaming(Target),
    /// MCI-24: what a block may hold, what may be moved, and whether loads can be ahead.
    Scheduled { target: Target, counted: Counted, can_be_ahead: bool },
    /// MCI-25: what a block may hold, what may be moved, and what it holds at the most.
    Resident { target: Target, counted: Counted, most: [i64; 2] },
    /// MCI-26: what a block may hold, what may be moved, and the bytes of what stays.
    Eliminated { target: Target, counted: Counted, most: u64, stays: Vec<String> },
    /// MCI-27: the tensors that a document stores.
    Lowered(Vec<u32>),
}

impl Aim {
    /// Of a request, and of what was counted of it.
    pub fn of(pass: Pass, before: &Side, target: Target, counted: Counted) -> Aim {
        match (pass, before) {
            (Pass::AttentionPattern, Side::Graph { graph, shapes, .. }) => {
                Aim::Patterns(patterns::aim(graph, shapes))
            }
            (Pass::TileScheduling, Side::Document { document, .. }) => {
                let target = document.target;
                Aim::Scheduled { target, counted, can_be_ahead: can_be_ahead(document) }
            }
            (Pass::ResidencyAssignment, Side::Document { document, .. }) => {
                Aim::Resident { target: document.target, counted, most: shortest(document) }
            }
            (Pass::MaterializationElimination, Side::Document { document, .. }) => {
                let left = stays(document);
                let name = |name: &u32| document.names[*name as usize].clone();
                let (most, stays) = (bytes(document, &left), left.iter().map(name).collect());
                Aim::Eliminated { target: document.target, counted, most, stays }
            }
            _ => Aim::Streaming(target),
        }
    }

    /// The values that both sides have to agree in.
    pub fn compared<'a>(&'a self, before: &'a Side) -> &'a [u32] {
        if let Aim::Lowered(stored) = self { stored } else { before.outputs() }
    }

    /// What shows in an answer as it stands.
    pub fn before_it_runs(&self, after: &Side) -> Result<(), Wrong> {
        match (self, after) {
            (Aim::Patterns(aim), Side::Graph { graph, shapes, .. }) => {
                let (found, most) = (patterns::between(graph, shapes), aim.most);
                let expected = format!(
                    "at most {most} bytes between inputs and outputs, for {} patterns (MCI-22)",
                    aim.patterns
                );
                if found > most { Err((expected, format!("{found} bytes"))) } else { Ok(()) }
            }
            (Aim::Streaming(target), Side::Document { document, .. }) => {
                same_target(*target, document, "MCI-23")
            }
            (Aim::Scheduled { target, can_be_ahead, .. }, Side::Document { document, .. }) => {
                same_target(*target, document, "MCI-24")?;
                let stalls = |region: &&megakernel_mcir::Region| {
                    let loads = |(body, node): (Body, &megakernel_mcir::Node)| {
                        body == Body::Each && matches!(node.op, Op::LoadTile(_))
                    };
                    let late = |(body, node): (Body, &megakernel_mcir::Node)| {
                        body == Body::Each && matches!(node.op, Op::Prefetch(_, 0))
                    };
                    region.stream.is_some() && uses::nodes(region).any(|at| loads(at) || late(at))
                };
                let found = document.regions.iter().find(stalls).filter(|_| *can_be_ahead);
                found.map_or(Ok(()), |region| {
                    let name = &document.names[region.id as usize];
                    Err((
                        "loads that begin an iteration ahead (MCI-24)".to_owned(),
                        format!("`{name}` waits for some"),
                    ))
                })
            }
            (Aim::Resident { target, most, .. }, Side::Document { document, .. }) => {
                same_target(*target, document, "MCI-25")?;
                let found = uses::held(document);
                let fits = found[0] <= most[0] && found[1] <= most[1];
                let bytes = |[shared, register]: [i64; 2]| {
                    format!("{shared} bytes of shared memory and {register} of registers")
                };
                if fits { Ok(()) } else { Err((format!("at most {} (MCI-25)", bytes(*most)), bytes(found))) }
            }
            (Aim::Eliminated { target, most, stays, .. }, Side::Document { document, .. }) => {
                same_target(*target, document, "MCI-26")?;
                let found = bytes(document, &between(after));
                let expected = format!("at most {most} bytes between regions, where {stays:?} stay (MCI-26)");
                if found > *most { Err((expected, format!("{found} bytes"))) } else { Ok(()) }
            }
            _ => Err(("another kind of answer (MCI-20)".to_owned(), String::new())),
        }
    }

    /// What shows in what both sides hold, and in what was counted of the answer.
    pub fn after_it_ran(
        &self,
        before: &Side,
        after: &Side,
        [first, second]: [&Held<Residues>; 2],
        found: Counted,
    ) -> Result<(), Wrong> {
        match self {
            Aim::Patterns(aim) => are_gone(before, after, aim, [first, second]),
            Aim::Streaming(_) => are_values(before, after, [first, second], "values of the graph", "MCI-23"),
            Aim::Lowered(_) => Ok(()),
            Aim::Scheduled { counted, .. } => moved(*counted, found, "MCI-24"),
            Aim::Resident { counted, .. } => moved(*counted, found, "MCI-25"),
            Aim::Eliminated { counted, .. } => {
                moved(*counted, found, "MCI-26")?;
                are_values(before, after, [first, second], "tensors of the document", "MCI-26")
            }
        }
    }
}

fn same_target(target: Target, document: &Document, clause: &str) -> Result<(), Wrong> {
    if document.target == target {
        return Ok(());
    }
    Err((format!("the target {target:?} ({clause})"), format!("{:?}", document.target)))
}

/// Whether no more is loaded and stored.
///
/// # Errors
/// How much is.
pub fn moved(most: Counted, found: Counted, clause: &str) -> Result<(), Wrong> {
    if found.loaded <= most.loaded && found.stored <= most.stored {
        return Ok(());
    }
    let expected = format!("at most {} bytes loaded and {} stored ({clause})", most.loaded, most.stored);
    Err((expected, format!("{} and {}", found.loaded, found.stored)))
}

/// Bytes of values of a document.
fn bytes(document: &Document, names: &[u32]) -> u64 {
    let names: std::collections::HashSet<u32> = names.iter().copied().collect();
    let values = document.values.iter().filter(|value| names.contains(&value.name));
    let bytes = |value: &megakernel_mcir::Value| {
        let extents = value.shape.iter().map(|extent| extent.unsigned_abs());
        extents.fold(value.dtype.bytes().unsigned_abs(), u64::saturating_mul)
    };
    values.map(bytes).fold(0, u64::saturating_add)
}

/// Whether a block could hold two of each tile that it loads in a stream: each is kept for its stream then, if not for longer.
fn can_be_ahead(document: &Document) -> bool {
    let lifetimes = uses::lifetimes(document);
    let mut doubled = std::collections::HashSet::new();
    for region in document.regions.iter().filter(|region| region.stream.is_some()) {
        let loads = uses::nodes(region)
            .filter(|(body, node)| *body == Body::Each && matches!(node.op, Op::LoadTile(_)));
        doubled.extend(loads.flat_map(|(_, node)| node.outs.iter().copied()));
        let late = uses::nodes(region)
            .filter(|(body, node)| *body == Body::Each && matches!(node.op, Op::Prefetch(_, 0)));
        doubled.extend(late.flat_map(|(_, node)| node.outs.iter().copied()));
    }
    let [shared, register] = uses::largest(document, &|value, _| {
        let own = lifetimes.get(&value.name).copied().unwrap_or(megakernel_mcir::Lifetime::Block);
        // The prefetch in `begin` makes it last from there on.
        if doubled.contains(&value.name) {
            (megakernel_mcir::Lifetime::Block, value.buffers.max(2))
        } else {
            (own, value.buffers)
        }
    });
    document.target.shared.is_none_or(|most| shared <= most)
        && document.target.register.is_none_or(|most| register <= most)
}

/// What a document holds at the most if each tile is kept no longer than it has to be, in as many slots as it needs.
fn shortest(document: &Document) -> [i64; 2] {
    let mut ahead: HashMap<u32, i64> = HashMap::new();
    for (body, node) in document.regions.iter().flat_map(uses::nodes) {
        if let (Body::Each, Op::Prefetch(_, version), Some(&tile)) = (body, &node.op, node.outs.first()) {
            ahead.insert(tile, *version);
        }
    }
    uses::largest(document, &|value, used| {
        let needed = ahead.get(&value.name).map_or(1, |version| version + 1);
        (used.shortest(), value.buffers.min(needed))
    })
}

/// By contents: how many values may hold them.
type Left = HashMap<Vec<u64>, i64>;

fn contents(side: &Side, held: &Held<Residues>, name: u32) -> Option<Vec<u64>> {
    held.get(side.name(name)).and_then(|numbers| field::contents(numbers))
}

/// Whether what a pass has to get rid of is there under no name: of values that hold the same elements, in any order, there are fewer.
fn are_gone(
    before: &Side,
    after: &Side,
    aim: &patterns::Aim,
    [first, second]: [&Held<Residues>; 2],
) -> Result<(), Wrong> {
    let mut left = Left::new();
    for &name in &aim.gone {
        if let Some(contents) = contents(before, first, name) {
            *left.entry(contents).or_insert(0) -= 1;
        }
    }
    for name in between(before) {
        if let Some(count) = contents(before, first, name).and_then(|contents| left.get_mut(&contents)) {
            *count += 1;
        }
    }
    for name in between(after) {
        let Some(count) = contents(after, second, name).and_then(|contents| left.get_mut(&contents)) else {
            continue;
        };
        *count -= 1;
        if *count < 0 {
            let expected = "nothing that holds what scores or weights of a pattern held (MCI-22)".to_owned();
            return Err((expected, format!("`{}` does", after.name(name))));
        }
    }
    Ok(())
}

/// Whether each tensor that is neither input nor output is a value of the graph or a tensor of the document: what is inside of nodes or blocks is stored nowhere.
fn are_values(
    before: &Side,
    after: &Side,
    [first, second]: [&Held<Residues>; 2],
    of: &str,
    clause: &str,
) -> Result<(), Wrong> {
    let mut left = Left::new();
    for name in between(before) {
        if let Some(contents) = contents(before, first, name) {
            *left.entry(contents).or_insert(0) += 1;
        }
    }
    for name in between(after) {
        let Some(contents) = contents(after, second, name) else { continue };
        let count = left.entry(contents).or_insert(0);
        *count -= 1;
        if *count < 0 {
            let expected = format!("tensors that are {of}, each once ({clause})");
            return Err((expected, format!("`{}` is none", after.name(name))));
        }
    }
    Ok(())
}

/// What is stored between inputs and outputs: values of a graph, tensors of a document.
fn between(side: &Side) -> Vec<u32> {
    let all: Vec<u32> = match side {
        Side::Graph { graph, .. } => graph.values.iter().map(|value| value.name).collect(),
        Side::Document { document, .. } => {
            let tensors = document.values.iter().filter(|value| value.memory == Memory::Global);
            tensors.map(|value| value.name).collect()
        }
        Side::Kernels { .. } => Vec::new(),
    };
    let listed: std::collections::HashSet<u32> =
        side.inputs().iter().chain(side.outputs()).copied().collect();
    all.into_iter().filter(|name| !listed.contains(name)).collect()
}
