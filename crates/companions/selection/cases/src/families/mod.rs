//! The families.

mod bases;
mod corners;
mod crossings;
mod dominations;
mod hazards;
mod kernels;
pub mod layers;
#[cfg(test)]
mod occurrences;
mod replays;
mod rows;
mod rules;
mod walks;

use std::collections::BTreeMap;

use megakernel_corpus::builder::{Error, Result};
use megakernel_corpus::companion::Example;
use megakernel_corpus::families::{Cases, Document, Library, Sink};
use megakernel_ir::rule::{Class, Clause, Rule, clause};
use serde_json::{Value, json};

use crate::item::{Expect, Item, is_request, select};

macro_rules! families {
    ($($id:literal $name:ident $items:path,)+) => {
        $(fn $name(_: &Library, sink: &mut Sink) -> Result<()> {
            push(sink, $items())
        })+

        /// The families, by the ids that begin the ids of their cases.
        pub const FAMILIES: &[(&str, Cases)] = &[$(($id, $name),)+ ("selection/texts", texts)];

        /// The cases of all families but those that are texts.
        pub fn all() -> Vec<(&'static str, Item)> {
            let mut all = Vec::new();
            $(all.extend($items().into_iter().map(|item| ($id, item)));)+
            all
        }
    };
}

families! {
    "selection/accept" accept bases::accepted,
    "selection/cores" cores rows::cores,
    "selection/linearity" linearity rows::linearity,
    "selection/activations" activations rows::activations,
    "selection/flags" flags rows::flags,
    "selection/shapes" shapes rows::shapes,
    "selection/dtypes" dtypes rows::dtypes,
    "selection/layouts" layouts rows::layouts,
    "selection/effects" effects hazards::effects,
    "selection/requirements" requirements hazards::requirements,
    "selection/reasons" reasons hazards::reasons,
    "selection/connections" connections hazards::connections,
    "selection/constraints" constraints kernels::constraints,
    "selection/later" later kernels::later,
    "selection/stages" stages kernels::stages,
    "selection/escapes" escapes kernels::escapes,
    "selection/costs" costs kernels::costs,
    "selection/triggers" triggers walks::triggers,
    "selection/checkpoints" checkpoints walks::checkpoints,
    "selection/beams" beams walks::beams,
    "selection/sizes" sizes walks::sizes,
    "selection/random" random walks::randoms,
    "selection/replays" replay replays::replays,
    "selection/layers" layer layers::layers,
    "selection/explanations" explanation explanations,
    "selection/members" members rules::members,
    "selection/structure" structure rules::structure,
    "selection/sequences" sequences rules::sequences,
    "selection/indices" indices rules::indices,
    "selection/stuck" stuck rules::stuck,
    "selection/plans" plans rules::plans,
    "selection/warnings" warnings rules::warnings,
    "selection/numbers" numbers corners::numbers,
    "selection/lists" lists corners::lists,
    "selection/kinds" kinds corners::kinds,
    "selection/values" values corners::values,
    "selection/kernels" kernel corners::kernels,
    "selection/hints" hints corners::hints,
    "selection/dominations" dominations dominations::dominations,
    "selection/apart" apart crossings::apart,
    "selection/extents" extents crossings::extents,
    "selection/names" names crossings::names,
    "selection/operands" operands crossings::operands,
    "selection/defaults" defaults crossings::defaults,
}

/// Some requests of the other families, explained.
fn explanations() -> Vec<Item> {
    let some = |items: Vec<Item>, step: usize| -> Vec<Item> {
        items
            .iter()
            .filter(|item| matches!(item.expect, Expect::Answer(_)))
            .step_by(step)
            .map(Item::explained)
            .collect()
    };
    let mut items = some(walks::triggers(), 4);
    items.extend(some(walks::checkpoints(), 3));
    items.extend(some(kernels::escapes(), 3));
    items.extend(some(kernels::stages(), 1));
    items.extend(some(kernels::constraints(), 1));
    for rows in [
        rows::cores,
        rows::linearity,
        rows::activations,
        rows::flags,
        rows::shapes,
        rows::dtypes,
        rows::layouts,
    ] {
        items.extend(some(rows(), 1));
    }
    items.extend(some(hazards::effects(), 1));
    items.extend(some(walks::randoms(), 9));
    items.extend(some(kernels::costs(), 5));
    items.extend(some(layers::layers(), 8));
    items.retain(|item| item.edit.is_empty());
    // An explanation has one state, whatever the beam: where that has none, it is in the family of stuck ones.
    items.retain(|item| item.expectation().is_ok());
    items
}

fn path(item: &Item) -> String {
    format!("programs/selection/{}.json", item.file)
}

/// The files that the cases send.
///
/// # Errors
/// Two of one name.
pub fn files() -> Result<Vec<(String, Vec<u8>)>> {
    let mut files: BTreeMap<String, Value> = BTreeMap::new();
    for (_, item) in all() {
        let path = path(&item);
        match files.get(&path) {
            Some(known) if *known != item.base => return Err(Error(format!("two files are called {path}"))),
            _ => files.insert(path, item.base),
        };
    }
    Ok(files.into_iter().map(|(path, value)| (path, text(&value).into_bytes())).collect())
}

/// A document with one op, kernel or region a line.
pub fn text(value: &Value) -> String {
    fn lines(value: &Value, indent: usize, out: &mut String) {
        let members = match value {
            Value::Object(members) => members,
            other => return out.push_str(&other.to_string()),
        };
        out.push('{');
        for (at, (name, value)) in members.iter().enumerate() {
            out.push_str(if at > 0 { ",\n" } else { "" });
            if at > 0 {
                out.push_str(&" ".repeat(indent + 1));
            }
            out.push_str(&format!("{}: ", json!(name)));
            match value {
                Value::Array(elements) if !elements.is_empty() && elements.iter().all(Value::is_object) => {
                    out.push('[');
                    for (at, element) in elements.iter().enumerate() {
                        out.push_str(if at > 0 { ",\n" } else { "\n" });
                        out.push_str(&" ".repeat(indent + 2));
                        out.push_str(&element.to_string());
                    }
                    out.push(']');
                }
                other => lines(other, indent + 1, out),
            }
        }
        out.push('}');
    }
    let mut out = String::new();
    lines(value, 0, &mut out);
    out.push('\n');
    out
}

fn push(sink: &mut Sink, items: Vec<Item>) -> Result<()> {
    for item in items {
        let file = path(&item);
        let expect = item.expectation()?;
        let id = format!("{}/{}", sink.family(), item.name);
        let twin = match &item.expect {
            Expect::Answer(_) | Expect::Clean | Expect::Accept => None,
            Expect::Warn(rules) if rules.is_empty() => None,
            Expect::Stuck(_) if item.edit.is_empty() => Some(twin_of_stuck(sink, &item)?),
            _ => Some(format!("selection/accept/{}", item.file)),
        };
        let document = Document::Edited(&file, &item.edit);
        sink.push_as(item.method, id, &item.summary, &["selection"], &item.clauses, &document, expect, twin)?;
    }
    Ok(())
}

/// The twin of a request without a plan that is no edit of a base: the same file, judged and not answered.
fn twin_of_stuck(sink: &mut Sink, item: &Item) -> Result<String> {
    let twin = format!("{}/{}-judged", sink.family(), item.name);
    let file = path(item);
    let summary = format!("{}; as a document there is nothing wrong with it", item.summary);
    let clauses = [clause::SEL_01];
    let expect = json!({"verdict": "accept"});
    let document = Document::Edited(&file, &[]);
    sink.push_as("validate", twin.clone(), &summary, &["selection"], &clauses, &document, expect, None)?;
    Ok(twin)
}

/// Texts: S01 and S02.
fn texts(_: &Library, sink: &mut Sink) -> Result<()> {
    let good = bases::base("sequence-three").to_string();
    let request = bases::base("request-basic").to_string();
    let accept = json!({"verdict": "accept", "warnings": []});
    let mut put = |method: &str, name: &str, summary: &str, text: &str, expect: Value, twin: Option<&str>| {
        let rules = expect.get("rules").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
        let rules = rules.iter().filter_map(|rule| Rule::from_id(rule.as_str()?));
        let clauses: Vec<Clause> = rules.map(|rule| *rule.clause()).chain([clause::SEL_04]).collect();
        let id = format!("selection/texts/{name}");
        let twin = twin.map(|twin| format!("selection/texts/{twin}"));
        sink.push_as(method, id, summary, &["selection"], &clauses, &Document::Text(text), expect, twin)
    };
    put("validate", "good", "a sequence in one line", &good, accept.clone(), None)?;
    put(
        "validate",
        "white-space",
        "white space around it",
        &format!(" \t\r\n{good}\n"),
        accept.clone(),
        None,
    )?;
    let reject = |rule: Rule| json!({"verdict": "reject", "rules": [rule]});
    let cut = good.get(..good.len() - 1).unwrap_or_default();
    let nested = format!("{cut},\"z\":{}{}}}", "[".repeat(127), "]".repeat(127));
    put("validate", "nested", "128 levels in each other", &nested, accept.clone(), None)?;
    for (name, rule, summary, text) in [
        ("cut-short", Rule::S01, "the last brace is missing", cut.to_owned()),
        ("behind", Rule::S01, "there is more behind it", format!("{good},")),
        ("comment", Rule::S01, "a comment", good.replacen('{', "{/* ops */", 1)),
        ("nothing", Rule::S01, "no text at all", String::new()),
        (
            "nan",
            Rule::S01,
            "an extent that is NaN",
            good.replacen("\"sig\":", "\"shape\":{\"m\":NaN},\"sig\":", 1),
        ),
        ("twice", Rule::S02, "ops twice", format!("{cut},\"ops\":[]}}")),
        (
            "twice-class",
            Rule::S02,
            "a class twice",
            good.replacen("\"class\":\"linear\"", "\"class\":\"linear\",\"class\":\"linear\"", 1),
        ),
        (
            "twice-role",
            Rule::S02,
            "a role twice",
            good.replacen("\"sig\":", "\"shape\":{\"m\":1,\"m\":1},\"sig\":", 1),
        ),
        ("twice-unknown", Rule::S02, "an unknown member twice", format!("{cut},\"x\":1,\"x\":1}}")),
        ("root-array", Rule::S04, "an array", format!("[{good}]")),
        ("root-null", Rule::S04, "null", "null".to_owned()),
    ] {
        put("validate", name, summary, &text, reject(rule), Some("good"))?;
    }
    let floats = good.replacen("\"sig\":", "\"shape\":{\"m\":4.0},\"sig\":", 1);
    let either = json!({"verdict": "either", "rules": [Rule::S04]});
    put("validate", "float", "an extent of 4.0, which a reader may take for 4", &floats, either, None)?;
    put("validate", "request", "a request in one line", &request, accept, None)?;
    let cut = request.get(..request.len() - 1).unwrap_or_default();
    put("select", "request-cut", "a request that is cut short", cut, reject(Rule::S01), Some("request"))?;
    put(
        "select",
        "request-twice",
        "an index twice",
        &format!("{cut},\"index\":{{\"kernels\":[]}}}}"),
        reject(Rule::S02),
        Some("request"),
    )?;
    put(
        "explain",
        "explain-cut",
        "a request to explain that is cut short",
        cut,
        reject(Rule::S01),
        Some("request"),
    )
}

/// The two cases of an example in the chapter of rules.
///
/// # Errors
/// An example that the definitions do not agree with.
pub fn spec_example(sink: &mut Sink, example: &Example<'_>) -> Result<()> {
    let rule = example.rule;
    let method = if rule.class() == Class::SELECTION_NO_PLAN { "select" } else { "validate" };
    let clauses = [*rule.clause()];
    let twin = format!("{}/{rule}/accepted", sink.family());
    let (name, summary, expect) = if example.warned {
        (
            "warned",
            "the document that the specification warns of".to_owned(),
            json!({"verdict": "accept", "warnings": [rule]}),
        )
    } else {
        let summary = format!("the document of the specification that rule {rule} rejects");
        ("rejected", summary, json!({"verdict": "reject", "rules": [rule]}))
    };
    let id = format!("{}/{rule}/{name}", sink.family());
    let document = Document::Text(example.text);
    sink.push_as(method, id, &summary, &["selection"], &clauses, &document, expect, Some(twin.clone()))?;
    let mut expect = json!({"verdict": "accept", "warnings": []});
    if method == "select" && is_request(example.accepted) {
        let item = select("twin", "", &[*rule.clause()], example.accepted.clone());
        expect = Item { expect: Expect::Clean, ..item }.expectation()?;
    }
    let text = example.accepted.to_string();
    let summary = "the twin of the specification's document";
    sink.push_as(method, twin, summary, &["selection"], &clauses, &Document::Text(&text), expect, None)
}
