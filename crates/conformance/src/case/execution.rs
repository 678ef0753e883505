//! The part of a case that says what is executed and what is expected of it (clauses CON-05 and CON-12).

use json_patch::Patch;
use megakernel_ir::formula;
use megakernel_ir::protocol::{Method, Profile};
use serde::{Deserialize, Serialize};

use super::{Case, Document, Verdict, is_empty, no_edit};

/// What is executed: one session of launches.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Execution {
    /// In order; `KV_CACHE` buffers keep their contents from launch to launch.
    pub launches: Vec<LaunchCase>,
    /// The seeded faults that the case rejects: ids in order. Found by generation, for people; never compared.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub certificate: Vec<String>,
}

/// One launch of a session.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LaunchCase {
    /// RFC 6902, on top of the case's document.
    #[serde(default = "no_edit", skip_serializing_if = "is_empty")]
    pub edit: Patch,
    /// Tensor files that bind buffers, or files of formulas that stand for some: paths below `corpus/`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tensors: Vec<String>,
    /// The tensor file of references and bounds: a path below `corpus/`. Never shown to an implementation.
    pub expected: String,
}

/// How the names of files of references and bounds end.
pub const EXPECTED: &str = ".expected.safetensors";

impl Execution {
    /// The path of the file of references and bounds that belongs to a launch of a case.
    pub fn expected_path(case: &str, launch: usize) -> String {
        format!("tensors/{case}.{launch}{EXPECTED}")
    }
}

/// What is wrong with a case as far as it is about execution.
pub(super) fn check(case: &Case) -> Result<(), String> {
    let executes = case.method == Method::EXECUTE;
    if executes != case.execute.is_some() {
        return Err("`execute` is needed for the method `execute` and for no other".to_owned());
    }
    if executes != case.profiles.contains(&Profile::EXECUTE) || (executes && case.profiles.len() != 1) {
        return Err(
            "the method `execute` goes with the profile `execute` alone, and with no other".to_owned()
        );
    }
    let Some(execution) = &case.execute else { return Ok(()) };
    if case.expect.verdict != Verdict::Accept || case.expect.warnings.is_some() {
        return Err(
            "a program is executed only if every profile accepts it; `expect` is an acceptance without \
                    `warnings`"
                .to_owned(),
        );
    }
    if matches!(case.document, Document::Base64 { .. }) {
        return Err("a program to execute is text, not base64".to_owned());
    }
    if execution.launches.is_empty() {
        return Err("`execute.launches` is empty; list at least one launch".to_owned());
    }
    for launch in &execution.launches {
        if let Some(path) =
            launch.tensors.iter().find(|path| !is_input_path(path) || path.ends_with(EXPECTED))
        {
            return Err(format!(
                "`execute` takes inputs from `{path}`; a path of inputs is `tensors/.../NAME.safetensors` or \
                 `tensors/.../NAME.formula.json`, and not of a file of references"
            ));
        }
        if !is_tensor_path(&launch.expected) || !launch.expected.ends_with(EXPECTED) {
            return Err(format!(
                "`execute` expects `{}`; a path of references is `tensors/.../NAME{EXPECTED}`",
                launch.expected
            ));
        }
    }
    if execution.certificate.windows(2).any(|pair| matches!(pair, [a, b] if a >= b)) {
        return Err("`execute.certificate` is not in order, or names a fault twice".to_owned());
    }
    Ok(())
}

/// Whether the path is that of a tensor file inside the corpus, or of a file of formulas.
fn is_input_path(path: &str) -> bool {
    path.strip_suffix(formula::SUFFIX)
        .map_or_else(|| is_tensor_path(path), |path| is_tensor_path(&format!("{path}.safetensors")))
}

/// Whether the path is that of a tensor file inside the corpus.
fn is_tensor_path(path: &str) -> bool {
    let plain = |part: &str| {
        part.starts_with(|first: char| first.is_ascii_alphanumeric())
            && part.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-'))
    };
    let inside = path.strip_prefix("tensors/").and_then(|rest| rest.strip_suffix(".safetensors"));
    inside.is_some_and(|inside| inside.split('/').all(plain))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The format documents itself here.
    const EXAMPLE: &str = r#"{
      "id": "execution/decode/two-steps",
      "summary": "a decode step, then another on the same cache",
      "profiles": ["execute"],
      "method": "execute",
      "clauses": ["EXE-09"],
      "document": {"base": "programs/decoder.json"},
      "expect": {"verdict": "accept"},
      "execute": {
        "launches": [
          {"tensors": ["tensors/execution/decode/weights.safetensors"],
           "expected": "tensors/execution/decode/two-steps.0.expected.safetensors"},
          {"edit": [{"op": "replace", "path": "/tasks/3/params/pos", "value": 1}],
           "expected": "tensors/execution/decode/two-steps.1.expected.safetensors"}
        ],
        "certificate": ["drop-last-k", "stale-tile"]
      },
      "provenance": {"family": "execution/decode", "seed": 0, "generator": "0.2.0"}
    }"#;

    fn edited(edit: impl FnOnce(&mut serde_json::Value)) -> Result<(), String> {
        let mut value: serde_json::Value = serde_json::from_str(EXAMPLE).expect("JSON");
        edit(&mut value);
        serde_json::from_value::<Case>(value).map_err(|error| error.to_string())?.check()
    }

    #[track_caller]
    fn assert_refused(why: &str, edit: impl FnOnce(&mut serde_json::Value)) {
        let error = edited(edit).expect_err(why);
        assert!(error.contains(why), "no `{why}` in {error}");
    }

    #[test]
    fn the_example_survives_writing_and_reading() {
        let value: serde_json::Value = serde_json::from_str(EXAMPLE).expect("JSON");
        let case: Case = serde_json::from_str(EXAMPLE).expect("a case");
        assert_eq!(case.check(), Ok(()));
        assert_eq!(serde_json::to_value(&case).expect("serialises"), value);
        let launches = &case.execute.as_ref().expect("launches").launches;
        assert_eq!(launches[1].expected, Execution::expected_path(&case.id, 1));
    }

    #[test]
    fn contradictions_are_named() {
        use serde_json::json;
        assert_refused("for no other", |case| case["method"] = json!("validate"));
        assert_refused("for no other", |case| drop(case.as_object_mut().expect("case").remove("execute")));
        assert_refused("alone", |case| case["profiles"] = json!(["validate"]));
        assert_refused("alone", |case| case["profiles"] = json!(["validate", "execute"]));
        assert_refused("an acceptance", |case| case["expect"]["verdict"] = json!("either"));
        assert_refused("an acceptance", |case| case["expect"]["warnings"] = json!([]));
        assert_refused("base64", |case| case["document"] = json!({"base64": ""}));
        assert_refused("empty", |case| case["execute"]["launches"] = json!([]));
        for path in ["x.safetensors", "tensors/../x.safetensors", "tensors//x.safetensors", "tensors/x.npz"] {
            assert_refused("takes inputs", |case| case["execute"]["launches"][0]["tensors"][0] = json!(path));
            assert_refused("expects", |case| case["execute"]["launches"][0]["expected"] = json!(path));
        }
        for path in
            ["tensors/x.json", "x.formula.json", "tensors/.formula.json", "tensors/x.expected.formula.json"]
        {
            let formula =
                |case: &mut serde_json::Value| case["execute"]["launches"][0]["tensors"][0] = json!(path);
            let refused = edited(formula).is_err();
            assert_eq!(refused, path != "tensors/x.expected.formula.json", "{path}");
            assert_refused("expects", |case| case["execute"]["launches"][0]["expected"] = json!(path));
        }
        let answer = "tensors/a.expected.safetensors";
        assert_refused("takes inputs", |case| case["execute"]["launches"][0]["tensors"][0] = json!(answer));
        assert_refused("certificate", |case| case["execute"]["certificate"] = json!(["b", "a"]));
        assert_refused("certificate", |case| case["execute"]["certificate"] = json!(["a", "a"]));
        assert_refused("unknown field", |case| case["execute"]["launches"][0]["output"] = json!("x"));
    }
}
