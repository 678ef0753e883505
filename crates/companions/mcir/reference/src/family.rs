//! The family of tiles of attention: every pair of steps that are multiples of 16, or the whole extent, and of which a block can hold what it needs.

use std::cmp::Reverse;

use megakernel_ir::{Diagnostic, Rule, read_value};
use megakernel_mcir::{GraphOp, Target, read, read_graph};
use megakernel_order::Findings;
use serde_json::{Value as Json, json};

use crate::measure::measure_document;
use crate::streaming::{self, Step};
use crate::transform::{NotMade, told};
use crate::{graph, passes};

/// Steps are multiples of it.
const UNIT: i64 = 16;

/// What a document with certain tiles moves and holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// Queries of a block.
    pub queries: i64,
    /// Keys of an iteration.
    pub keys: i64,
    /// How many blocks there are.
    pub blocks: i64,
    /// How many iterations all blocks have together.
    pub iterations: i64,
    /// Bytes that are loaded and stored.
    pub moved: i64,
    /// Bytes of a block in shared memory, at its peak.
    pub shared: i64,
    /// Bytes of a block in registers, at its peak.
    pub register: i64,
}

impl Member {
    /// As `family-mcir` prints it.
    pub fn json(&self) -> Json {
        let Member { queries, keys, blocks, iterations, moved, shared, register } = self;
        json!({
            "queries": queries, "keys": keys, "blocks": blocks, "iterations": iterations, "moved": moved, "shared": shared,
            "register": register,
        })
    }
}

/// All members of the family that fit, and the bytes that no document of the graph is without.
#[derive(Clone, Debug, Default)]
pub struct Family {
    /// By queries and keys, ascending.
    pub members: Vec<Member>,
    /// Bytes of inputs and outputs, each once; nothing where no member was measured.
    pub compulsory: Option<i64>,
}

impl Family {
    /// The member that moves least, of those with at least so many blocks; of several, one with the most blocks, then the fewest iterations, then the fewest queries.
    pub fn least(&self, blocks: i64) -> Option<&Member> {
        let members = self.members.iter().filter(|member| member.blocks >= blocks);
        members.min_by_key(|member| (member.moved, Reverse(member.blocks), member.iterations))
    }
}

/// The family of a graph whose only node is `attention`, on a target with as many bytes of shared memory and of registers.
///
/// Each member is what StreamingConversionPass makes with these tiles, TileSchedulingPass where a block can hold two of what it loads, and
/// ResidencyAssignmentPass.
///
/// # Errors
/// See [`NotMade`].
pub fn family(text: &[u8], shared: i64, register: i64) -> Result<Family, NotMade> {
    let unsupported = |reason: &str| NotMade::Unsupported(reason.to_owned());
    let graph = read_graph(&read_value(text).map_err(NotMade::Rejected)?).map_err(told)?;
    let mut findings = Findings::default();
    graph::judge(&graph, "", &mut findings);
    if !findings.accepts() {
        return Err(NotMade::Rejected(findings.into_parts().0));
    }
    let [node] = graph.nodes.as_slice() else {
        return Err(unsupported("the family is of one node, `attention`, and there are others"));
    };
    if !matches!(node.op, GraphOp::Attention(..)) {
        return Err(unsupported("the family is of `attention`, and the node is another one"));
    }
    let target = Target { shared: Some(shared), register: Some(register) };
    let rows = |place: usize| {
        let value = graph.values.iter().find(|value| node.ins.get(place) == Some(&value.name));
        value.and_then(|value| value.shape.iter().rev().nth(1)).copied().unwrap_or(1)
    };
    let (queries, keys) = (rows(0), rows(1));
    let mut family = Family::default();
    'queries: for block in steps(queries) {
        for stream in steps(keys) {
            let made = streaming::document(&graph, target, &[Step { block, stream }]);
            let made = made.map_err(NotMade::Unsupported)?;
            match measured(&made)? {
                Measured::Fits(measures) => family.add((block, stream), &measures),
                // Larger tiles take no less.
                Measured::TooLarge if stream == steps(keys).next().unwrap_or(1) => break 'queries,
                Measured::TooLarge => break,
                Measured::TooMuch => {}
            }
        }
    }
    Ok(family)
}

/// Multiples of 16 below an extent, and the extent.
fn steps(extent: i64) -> impl Iterator<Item = i64> {
    (1..).map(|times| times * UNIT).take_while(move |&step| step < extent).chain([extent])
}

enum Measured {
    Fits(Json),
    /// A block does not hold it.
    TooLarge,
    /// It has too many iterations to be judged.
    TooMuch,
}

fn measured(made: &Json) -> Result<Measured, NotMade> {
    let document = read(made).map_err(told)?;
    let mut errors = crate::validate_document(&document).diagnostics;
    errors.retain(Diagnostic::is_error);
    let is_large = |found: &Diagnostic| match found.rule {
        Rule::IT01 | Rule::IT02 => true,
        // Of a tile, and not of the target.
        Rule::IS01 => found.pointer.starts_with("/values/"),
        _ => false,
    };
    if errors.iter().any(|found| !is_large(found) && found.rule != Rule::IS11) {
        return Err(NotMade::Rejected(errors));
    }
    if errors.iter().any(is_large) {
        return Ok(Measured::TooLarge);
    }
    if !errors.is_empty() {
        return Ok(Measured::TooMuch);
    }
    let scheduled = passes::schedule(&document, made);
    let assigned = passes::assign(&read(&scheduled).map_err(told)?, &scheduled);
    match measure_document(&read(&assigned).map_err(told)?) {
        (_, Some(Ok(measures))) => Ok(Measured::Fits(measures)),
        (_, Some(Err(_))) => Ok(Measured::TooMuch),
        (found, None) => Err(NotMade::Rejected(found)),
    }
}

impl Family {
    fn add(&mut self, (queries, keys): (i64, i64), measures: &Json) {
        let number = |of: &Json, name: &str| of[name].as_i64().unwrap_or(0);
        let region = &measures["regions"][0];
        self.compulsory = measures["compulsory"].as_i64();
        self.members.push(Member {
            queries,
            keys,
            blocks: number(region, "blocks"),
            iterations: number(region, "iterations"),
            moved: number(measures, "loaded") + number(measures, "stored"),
            shared: number(measures, "shared"),
            register: number(measures, "register"),
        });
    }
}
