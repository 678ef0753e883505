//! Passes (clause MCI-20).

use std::collections::{HashMap, HashSet};

use megakernel_ir::diagnostic::pointer_token;
use megakernel_ir::protocol::Answer;
use megakernel_ir::{Diagnostic, Rule, read_value};
use megakernel_mcir::{Document, Fault, Graph, Pass, Request, Source, Target, read, read_transform};
use megakernel_order::Findings;
use serde_json::Value as Json;

use crate::elimination::Stays;
use crate::world::World;
use crate::{attention, elimination, graph, passes, streaming};

/// Why nothing was made.
#[derive(Clone, Debug, PartialEq)]
pub enum NotMade {
    /// The request is rejected.
    Rejected(Vec<Diagnostic>),
    /// What the pass has no answer to.
    Unsupported(String),
}

/// Answers the method `transform`.
pub fn transform(text: &[u8]) -> Answer {
    answered(transformed(text))
}

/// What is answered where this was made.
pub fn answered(made: Result<Json, NotMade>) -> Answer {
    match made {
        Ok(made) => Answer::Accept { diagnostics: Vec::new(), document: Some(made.to_string()) },
        Err(NotMade::Rejected(diagnostics)) => Answer::Reject { diagnostics },
        Err(NotMade::Unsupported(reason)) => Answer::Unsupported { reason },
    }
}

/// What the pass of a request makes.
///
/// # Errors
/// See [`NotMade`].
pub fn transformed(text: &[u8]) -> Result<Json, NotMade> {
    let value = read_value(text).map_err(NotMade::Rejected)?;
    let request = read_transform(&value).map_err(told)?;
    let at = request.pass.takes();
    apply(request, &value[at], &format!("/{at}")).map(|(made, _)| made)
}

/// What a pass makes of the graph or the document of a text; and what MaterializationEliminationPass leaves between regions.
///
/// # Errors
/// See [`NotMade`].
pub fn transform_text(pass: Pass, text: &[u8], target: Target) -> Result<(Json, Vec<Stays>), NotMade> {
    let value = read_value(text).map_err(NotMade::Rejected)?;
    let source = pass.read_source(&value).map_err(told)?;
    apply(Request { pass, source, target }, &value, "")
}

/// A document that does not read.
pub fn told(faults: Vec<Fault>) -> NotMade {
    NotMade::Rejected(faults.into_iter().map(Diagnostic::from).collect())
}

fn apply(request: Request, json: &Json, at: &str) -> Result<(Json, Vec<Stays>), NotMade> {
    let mut findings = Findings::default();
    match &request.source {
        Source::Graph(read) => graph::judge(read, at, &mut findings),
        Source::Document(document) => {
            crate::validate::judge(&World::new(document), &mut findings);
        }
    }
    if !findings.accepts() {
        let mut found = findings.into_parts().0;
        if let Source::Document(_) = request.source {
            found.iter_mut().for_each(|found| found.pointer.insert_str(0, at));
        }
        return Err(NotMade::Rejected(found));
    }
    let made = match (request.pass, &request.source) {
        (Pass::AttentionPattern, Source::Graph(graph)) => attention::apply(graph, json),
        (Pass::StreamingConversion, Source::Graph(graph)) => stream(graph, request.target)?,
        (Pass::TileScheduling, Source::Document(document)) => passes::schedule(document, json),
        (Pass::ResidencyAssignment, Source::Document(document)) => passes::assign(document, json),
        (Pass::MaterializationElimination, Source::Document(document)) => {
            return elimination::eliminated(document, json).map_err(NotMade::Unsupported);
        }
        (pass, _) => return Err(NotMade::Unsupported(format!("`{}` does not take that", pass.name()))),
    };
    Ok((made, Vec::new()))
}

/// The document with the largest steps that fit, of each node by itself.
fn stream(graph: &Graph, target: Target) -> Result<Json, NotMade> {
    let mut steps = vec![streaming::STEP; streaming::regions(graph).len()];
    loop {
        let made = streaming::document(graph, target, &steps).map_err(NotMade::Unsupported)?;
        let document: Document = read(&made).map_err(told)?;
        // All of them: each region that does not fit is halved in the same round.
        let mut findings = Findings::keeping(u64::MAX);
        crate::validate::judge(&World::new(&document), &mut findings);
        let mut errors = findings.into_parts().0;
        errors.retain(Diagnostic::is_error);
        let Some(first) = errors.first() else { return Ok(made) };
        // What does not fit is told of a region; a tile that is too large for any chip, of the tile. What runs too often is no better with smaller tiles.
        let mut is_smaller = false;
        for place in large(&document, errors.iter().filter(|error| error.rule != Rule::IS11)) {
            if let Some(step) = steps.get_mut(place)
                && let Some(smaller) = step.half()
            {
                *step = smaller;
                is_smaller = true;
            }
        }
        if !is_smaller {
            return Err(NotMade::Unsupported(format!(
                "no smaller tiles make it fit: {}: {}",
                first.pointer, first.message
            )));
        }
    }
}

/// The regions that findings are about, each once: their own, or that of the tile which is found.
fn large<'f>(document: &Document, found: impl Iterator<Item = &'f Diagnostic>) -> HashSet<usize> {
    let mut regions: HashMap<u32, usize> = HashMap::new();
    for (place, region) in document.regions.iter().enumerate() {
        let nodes = region.tile.bodies.iter().flatten();
        for &name in nodes.flat_map(|node| node.ins.iter().chain(&node.outs)) {
            regions.entry(name).or_insert(place);
        }
    }
    let named =
        |(name, place): (u32, usize)| Some((pointer_token(document.names.get(name as usize)?), place));
    let values: HashMap<_, usize> = regions.into_iter().filter_map(named).collect();
    let region = |error: &Diagnostic| match error.pointer.strip_prefix("/regions/") {
        Some(place) => place.split('/').next()?.parse().ok(),
        None => values.get(error.pointer.strip_prefix("/values/")?.split('/').next()?).copied(),
    };
    found.filter_map(region).collect()
}
