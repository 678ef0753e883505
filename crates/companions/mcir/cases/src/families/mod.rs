//! The families.

mod amounts;
mod bounds;
pub mod compute;
mod corners;
mod format;
mod graph_shapes;
mod graphs;
pub mod lowering;
mod memory;
mod order;
mod passes;
mod places;
mod short;
mod structure;
mod texts;
mod users;

use std::collections::BTreeMap;

use megakernel_corpus::builder::{Error, Result};
use megakernel_corpus::companion::{Example, File};
use megakernel_corpus::families::{Cases, Document, Library, Sink, words};
use megakernel_ir::registry;
use megakernel_ir::rule::Clause;
use serde_json::{Value, json};

use crate::bases;
use crate::build::text;
use crate::plant::{Planted, View};

macro_rules! planted {
    ($($id:literal $name:ident $plant:path,)+) => {
        $(fn $name(_: &Library, sink: &mut Sink) -> Result<()> {
            plant(sink, $plant)
        })+

        /// The families, by the ids that begin the ids of their cases.
        pub const FAMILIES: &[(&str, Cases)] = &[
            ("mcir/accept", accepted),
            ("mcir/measure", measured),
            ("mcir/compute", compute::computed),
            ("mcir/variants", memory::variants),
            $(($id, $name),)+
            ("mcir/graphs", graphs::broken),
            ("mcir/graph-members", graphs::members),
            ("mcir/transform", graphs::transformed),
            ("mcir/streaming", passes::streamed),
            ("mcir/scheduling", passes::scheduled),
            ("mcir/assignment", passes::assigned),
            ("mcir/elimination", passes::eliminated),
            ("mcir/lowering", lowering::lowered),
            ("mcir/texts", texts::texts),
            ("mcir/members", texts::members),
            ("mcir/corners", corners::corners),
            ("mcir/kinds", format::kinds),
            ("mcir/limits", format::limits),
            ("mcir/name-places", format::names),
            ("mcir/producer-places", format::producers),
            ("mcir/ranges", format::ranges),
            ("mcir/sizes", format::sizes),
            ("mcir/extents", short::extents),
            ("mcir/begins", short::begins),
            ("mcir/grids", short::grids),
            ("mcir/lifetimes", short::lifetimes),
            ("mcir/peaks", short::peaks),
            ("mcir/pipelines", short::pipelines),
            ("mcir/uses", short::uses),
            ("mcir/graph-shapes", graph_shapes::shapes),
            ("mcir/amounts", amounts::amounts),
        ];
    };
}

planted! {
    "mcir/numbers" numbers structure::numbers,
    "mcir/names" names structure::names,
    "mcir/repeated" repeated structure::repeated,
    "mcir/operands" operands users::operands,
    "mcir/interface" interface users::interface,
    "mcir/producers" producers users::producers,
    "mcir/states" states users::states,
    "mcir/shapes" shapes places::shapes,
    "mcir/dtypes" dtypes places::dtypes,
    "mcir/large" large places::large,
    "mcir/bounds" bounds bounds::bounds,
    "mcir/coverage" coverage bounds::coverage,
    "mcir/residency" residency memory::residency,
    "mcir/target" target memory::target,
    "mcir/prefetches" prefetches order::prefetches,
    "mcir/slots" slots order::slots,
    "mcir/barriers" barriers order::barriers,
    "mcir/storage" storage memory::storage,
    "mcir/warnings" warnings order::warnings,
}

const PROFILE: &[&str] = &["mcir"];
/// Cases of one kind of edit.
const MOST: usize = 4;

fn path(name: &str) -> String {
    format!("programs/mcir/{name}.json")
}

/// The files that the cases send.
///
/// # Errors
/// Two of one name.
pub fn files() -> Result<Vec<File>> {
    let mut files = BTreeMap::new();
    for base in bases::all() {
        if files.insert(path(&base.name), text(&base.document).into_bytes()).is_some() {
            return Err(Error(format!("two documents are called {}", base.name)));
        }
    }
    for (path, document) in format::files()? {
        if files.insert(path.clone(), text(&document).into_bytes()).is_some() {
            return Err(Error(format!("two documents are called {path}")));
        }
    }
    for sample in crate::graphs::all() {
        files.insert(path(&sample.name), crate::graphs::text(&sample.graph).into_bytes());
    }
    Ok(files.into_iter().collect())
}

fn accepted(_: &Library, sink: &mut Sink) -> Result<()> {
    let expect = json!({"verdict": "accept", "warnings": []});
    for base in bases::all().iter().filter(|base| base.is_planted) {
        let id = format!("{}/{}", sink.family(), base.name);
        let file = path(&base.name);
        let document = Document::Edited(&file, &[]);
        let clauses = cited(&base.clauses)?;
        sink.push_as("validate", id, &base.summary, PROFILE, &clauses, &document, expect.clone(), None)?;
    }
    graphs::accepted(sink)
}

fn measured(_: &Library, sink: &mut Sink) -> Result<()> {
    for base in bases::all() {
        let id = format!("{}/{}", sink.family(), base.name);
        let file = path(&base.name);
        let document = Document::Edited(&file, &[]);
        let expect = json!({"verdict": "accept", "warnings": [], "document": base.measures});
        let clauses = cited(&base.clauses)?;
        sink.push_as("measure", id, &base.summary, PROFILE, &clauses, &document, expect, None)?;
    }
    Ok(())
}

/// Pushes what is planted: of each kind of edit some, in documents far from each other.
fn plant(sink: &mut Sink, of: fn(View<'_>) -> Vec<Planted>) -> Result<()> {
    let mut kinds: BTreeMap<(&'static str, String), Vec<Planted>> = BTreeMap::new();
    for base in bases::all().iter().filter(|base| base.is_planted) {
        let mut seen: BTreeMap<(&'static str, String), usize> = BTreeMap::new();
        for planted in of(View(base)) {
            let kind = (planted.rule, planted.name.clone());
            // One of a kind in each document, or two where the kind is rare.
            let count = seen.entry(kind.clone()).or_default();
            *count += 1;
            if *count <= 2 {
                kinds.entry(kind).or_default().push(planted);
            }
        }
    }
    for (_, all) in kinds {
        let step = all.len().div_ceil(MOST).max(1);
        for (number, planted) in all.into_iter().step_by(step).enumerate() {
            push(sink, &planted, number)?;
        }
    }
    Ok(())
}

fn push(sink: &mut Sink, planted: &Planted, number: usize) -> Result<()> {
    let rule = planted.rule;
    let expect = if rule.starts_with("IW") {
        json!({"verdict": "accept", "warnings": [rule]})
    } else {
        json!({"verdict": "reject", "rules": [rule], "at": planted.at})
    };
    let id = format!(
        "{}/{}-{}-{number}",
        sink.family(),
        words(&format!("{rule} {}", planted.name)),
        words(&planted.base)
    );
    let file = path(&planted.base);
    let document = Document::Edited(&file, &planted.edit);
    let twin = format!("mcir/accept/{}", planted.base);
    sink.push_as("validate", id, &planted.name, PROFILE, &cited(&[rule])?, &document, expect, Some(twin))
}

/// The headings with these ids: clauses and rules.
fn cited(ids: &[&str]) -> Result<Vec<Clause>> {
    let cited = |id: &&str| registry::heading(id).copied();
    ids.iter().map(|id| cited(id).ok_or_else(|| Error(format!("nothing is called `{id}`")))).collect()
}

/// The two cases of an example in the chapter of rules.
///
/// # Errors
/// A case that is not well formed.
pub fn spec_example(sink: &mut Sink, example: &Example<'_>) -> Result<()> {
    let rule = example.rule;
    let clauses = [*rule.clause()];
    let twin = format!("{}/{rule}/accepted", sink.family());
    let (name, expect) = if example.warned {
        ("warned", json!({"verdict": "accept", "warnings": [rule]}))
    } else {
        ("rejected", json!({"verdict": "reject", "rules": [rule]}))
    };
    let summary = format!("the document of the specification for rule {rule}");
    let id = format!("{}/{rule}/{name}", sink.family());
    let document = Document::Text(example.text);
    sink.push_as("validate", id, &summary, PROFILE, &clauses, &document, expect, Some(twin.clone()))?;
    let text = example.accepted.to_string();
    let expect = json!({"verdict": "accept", "warnings": []});
    let summary = "the twin of the specification's document";
    sink.push_as("validate", twin, summary, PROFILE, &clauses, &Document::Text(&text), expect, None)
}

/// A case of any text.
fn text_case(
    sink: &mut Sink,
    name: &str,
    summary: &str,
    ids: &[&str],
    text: &str,
    expect: Value,
    twin: Option<&str>,
) -> Result<()> {
    let id = format!("{}/{}", sink.family(), words(name));
    let twin = twin.map(|twin| format!("{}/{twin}", sink.family()));
    sink.push_as("validate", id, summary, PROFILE, &cited(ids)?, &Document::Text(text), expect, twin)
}
