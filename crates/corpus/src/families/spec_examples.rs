//! The examples of the specification as cases, those of companions too: each rule's smallest failing document, and its accepted twin.

use std::path::Path;

use megakernel_codegen::Twin;
use megakernel_codegen::spec::{Definition, Spec};
use megakernel_conformance::case::Case;
use megakernel_ir::Rule;
use serde_json::Value;

use super::sink::Sink;
use crate::builder::{Error, Result};
use crate::companion::{Companion, Example};

/// Reads the rules of the specification below `root`, and those of the companions, and makes two cases of each.
///
/// # Errors
/// A chapter cannot be read, or a rule has no example.
pub fn spec_examples(root: &Path, companions: &[Companion], seed: u64) -> Result<Vec<Case>> {
    let spec = Spec::read(root).map_err(Error)?;
    let mut sink = Sink::new("spec", seed);
    for rule in spec.rules() {
        let owner = rule.path.strip_prefix("spec/companions/").and_then(|path| path.split('/').next());
        let companion = owner.map(|owner| companions.iter().find(|companion| companion.name == owner));
        // Of a companion that is left out, none.
        if companion.is_none_or(|known| known.is_some()) {
            add(&mut sink, rule, companion.flatten())
                .map_err(|error| Error(format!("{}: rule {}: {error}", rule.path, rule.id)))?;
        }
    }
    Ok(sink.into_cases())
}

fn add(sink: &mut Sink, definition: &Definition, companion: Option<&Companion>) -> Result<()> {
    let rule =
        Rule::from_id(&definition.id).ok_or_else(|| Error("is not in the code: run codegen".to_owned()))?;
    let (broken, twin) = (format!("{rule}/rejected"), format!("{rule}/accepted"));
    let example = definition
        .example()
        .ok_or_else(|| Error("needs a rejected program and a json-patch twin".to_owned()))?;
    let text = example.failing.as_str();
    let patch = match &example.twin {
        Twin::Text(accepted) => {
            let summary = format!("the text of the specification that rule {rule} rejects");
            sink.reject_text(&broken, &summary, &[rule], &twin, text)?;
            let summary = "the twin of the specification's rejected text";
            return sink.accept_text(&twin, summary, &[*rule.clause()], accepted);
        }
        Twin::Edit(patch) => patch,
    };
    let json = |text: &str| -> Result<Value> { serde_json::from_str(text).map_err(|e| Error(e.to_string())) };
    let mut accepted = json(text)?;
    let patch: json_patch::Patch = serde_json::from_value(json(patch)?).map_err(|e| Error(e.to_string()))?;
    json_patch::patch(&mut accepted, &patch).map_err(|e| Error(format!("the twin does not apply: {e}")))?;
    if let Some(companion) = companion {
        let example = Example { rule, text, warned: example.warned, accepted: &accepted };
        return (companion.spec_example)(sink, &example);
    }
    if example.warned {
        sink.warn_text(
            &format!("{rule}/warned"),
            "the program that the specification warns of",
            rule,
            &twin,
            text,
        )?;
    } else {
        let summary = format!("the program of the specification that rule {rule} rejects");
        sink.reject_text(&broken, &summary, &[rule], &twin, text)?;
    }
    sink.accept_text(
        &twin,
        "the twin of the specification's program",
        &[*rule.clause()],
        &accepted.to_string(),
    )
}
