//! The rules in the stages in which they are judged (clause MCI-01).

use megakernel_ir::{Diagnostic, read_value};
use megakernel_mcir::{Document, Graph, is_graph, read, read_graph, read_text};
use megakernel_order::{Findings, Verdict};

use crate::residency::Lifetimes;
use crate::shapes::{self, Shaped};
use crate::world::World;
use crate::{bounds, graph, operands, order, producers, residency, storage, structure};

/// Judges a text.
pub fn validate(document: &[u8]) -> Verdict {
    match read_any(document) {
        Ok(Any::Document(document)) => validate_document(&document),
        Ok(Any::Graph(read)) => {
            let mut findings = Findings::default();
            graph::judge(&read, "", &mut findings);
            Verdict::from(findings)
        }
        Err(diagnostics) => Verdict::of_unread(diagnostics),
    }
}

/// What is judged.
enum Any {
    Document(Document),
    Graph(Graph),
}

/// A document without a tree of its values, which is needed only to tell what is wrong with a text, and of graphs.
fn read_fast(document: &[u8]) -> Option<Document> {
    std::str::from_utf8(document).ok().and_then(read_text)
}

fn read_any(document: &[u8]) -> Result<Any, Vec<Diagnostic>> {
    if let Some(document) = read_fast(document) {
        return Ok(Any::Document(document));
    }
    let value = read_value(document)?;
    let read =
        if is_graph(&value) { read_graph(&value).map(Any::Graph) } else { read(&value).map(Any::Document) };
    read.map_err(|faults| faults.into_iter().map(Diagnostic::from).collect())
}

/// Judges a document that has been read.
pub fn validate_document(document: &Document) -> Verdict {
    let mut findings = Findings::default();
    rules(&World::new(document), false, &mut findings);
    Verdict::from(findings)
}

/// Reads a document.
///
/// # Errors
/// What is wrong with its text, its members or its types.
pub fn read_document(document: &[u8]) -> Result<Document, Vec<Diagnostic>> {
    if let Some(document) = read_fast(document) {
        return Ok(document);
    }
    let value = read_value(document)?;
    read(&value).map_err(|faults| faults.into_iter().map(Diagnostic::from).collect())
}

/// Judges a document. What measures need, if it is accepted.
pub fn judge<'d>(world: &World<'d>, findings: &mut Findings) -> Option<(Vec<Shaped<'d>>, Lifetimes)> {
    rules(world, true, findings)
}

/// The rules. Regions have the extents of their tiles if somebody asks for them after that.
fn rules<'d>(
    world: &World<'d>,
    keeps_extents: bool,
    findings: &mut Findings,
) -> Option<(Vec<Shaped<'d>>, Lifetimes)> {
    structure::numbers(world.document, findings);
    structure::names(world, findings);
    structure::repeated(world, findings);
    if !findings.accepts() {
        return None;
    }
    operands::check(world, findings);
    if !findings.accepts() {
        return None;
    }
    operands::interface(world, findings);
    producers::one(world, findings);
    producers::earlier(world, findings);
    producers::of_states(world, findings);
    if !findings.accepts() {
        return None;
    }
    let mut shaped = shapes::count(world, findings);
    shapes::shape(world, &mut shaped, keeps_extents, findings);
    if !findings.accepts() {
        return None;
    }
    let lifetimes = Lifetimes::new(world, findings);
    let mut room = residency::Room::default();
    let mut kept = |region| residency::kept(world, region, &lifetimes, &mut room, findings);
    let peaks: Vec<_> = shaped.iter().map(&mut kept).collect();
    let is_kept = findings.accepts();
    for (region, peaks) in shaped.iter().zip(peaks) {
        bounds::check(world, region, findings);
        order::check(world, region, findings);
        if is_kept {
            residency::target(world, region, &lifetimes, peaks, findings);
        }
    }
    storage::check(world, findings);
    if !findings.accepts() {
        return None;
    }
    storage::warnings(world, findings);
    Some((shaped, lifetimes))
}
