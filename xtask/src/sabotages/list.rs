//! The list, in the order of the table.

use serde_json::json;

use super::{FAMILY, MANIFEST, Sabotage, below, edit_json, replace};
use crate::tidy::tree::Files;

/// The first cases of the family.
fn ids(files: &Files, count: usize) -> Vec<String> {
    let cases =
        files.texts().filter_map(|(path, _)| path.strip_prefix("corpus/cases/")?.strip_suffix(".json"));
    let cases = cases.filter(|id| id.starts_with(FAMILY));
    let ids: Vec<String> = cases.take(count).map(str::to_owned).collect();
    assert_eq!(ids.len(), count);
    ids
}

/// Removes cases as a family does that makes them no more: file and line of the manifest.
fn without(files: &mut Files, count: usize) {
    let gone = ids(files, count);
    for id in &gone {
        files.set(&format!("corpus/cases/{id}.json"), None);
    }
    edit_json(files, MANIFEST, |manifest| {
        let cases = manifest["cases"].as_array_mut().expect("cases");
        cases.retain(|entry| !gone.iter().any(|id| entry["id"] == *id));
    });
}

fn case(files: &mut Files, member: &str, value: serde_json::Value) {
    let id = ids(files, 1).remove(0);
    edit_json(files, &format!("corpus/cases/{id}.json"), |case| case["expect"][member] = value);
}

fn record(files: &mut Files, pointer: &str, value: serde_json::Value) {
    edit_json(files, "evidence/h100.json", |record| *record.pointer_mut(pointer).expect("a member") = value);
}

fn schema(files: &mut Files, pointer: &str, edit: fn(&mut serde_json::Value)) {
    edit_json(files, "schemas/case.schema.json", |schema| {
        edit(schema.pointer_mut(pointer).expect("a member"))
    });
}

pub const SABOTAGES: &[Sabotage] = &[
    Sabotage {
        what: "twelve cases are removed at their source",
        seen_by: "ledger",
        place: "corpus/cases/race/first-k-of-n: 12 cases are gone: `race/first-k-of-n/chain",
        edit: |files| without(files, 12),
    },
    Sabotage {
        what: "one case is removed",
        seen_by: "ledger",
        place: "1 cases are gone: `race/first-k-of-n/chain",
        edit: |files| without(files, 1),
    },
    Sabotage {
        what: "an id is used for a case with another verdict",
        seen_by: "ledger",
        place: "1 cases are flipped: `race/first-k-of-n/chain-side-branch-one-more-producer` (was reject R01, is accept",
        edit: |files| case(files, "verdict", json!("accept")),
    },
    Sabotage {
        what: "a case expects another rule",
        seen_by: "ledger",
        place: "(was reject R01, is reject R02)",
        edit: |files| case(files, "rules", json!(["R02"])),
    },
    Sabotage {
        what: "an id that was given up is used again, and struck from the list of those",
        seen_by: "ledger",
        place: "1 cases are used again: `memory-safety/operand-dtype/opcode-add-plain-i0-i8`",
        edit: |files| {
            let id = "memory-safety/operand-dtype/opcode-add-plain-i0-i8";
            let text =
                files.text(&format!("corpus/cases/{}.json", ids(files, 1)[0])).expect("a case").to_owned();
            files.set(&format!("corpus/cases/{id}.json"), Some(text));
            edit_json(files, MANIFEST, |manifest| {
                manifest["cases"].as_array_mut().expect("cases").push(json!({"id": id, "blake3": ""}));
            });
            edit_json(files, "corpus/retired.json", |list| {
                list.as_object_mut().expect("ids").remove(id).expect("it is there");
            });
        },
    },
    Sabotage {
        what: "all cases of a rule but four are removed",
        seen_by: "tidy: cases of rules",
        place: "spec/rules/race.md:#: R01 partial-wait has 4 cases",
        edit: |files| {
            let family = format!("corpus/cases/{FAMILY}");
            let count = files.texts().filter(|(path, _)| path.starts_with(&family)).count();
            without(files, count - 4);
        },
    },
    Sabotage {
        what: "MUST becomes MAY in a rule",
        seen_by: "ledger",
        place: "spec/rules/race.md:#: R01 binds otherwise than before (0 times MUST, 1 before, 1 times MAY, 0 before)",
        edit: |files| below(files, "spec/rules/race.md", "### R01 ", "MUST", "MAY"),
    },
    Sabotage {
        what: "MUST NOT becomes MUST in a clause",
        seen_by: "ledger",
        place: "FMT-05 binds otherwise than before (2 times MUST, 1 before, 0 times MUST NOT, 1 before)",
        edit: |files| below(files, "spec/format.md", "### FMT-05 ", "MUST NOT", "MUST"),
    },
    Sabotage {
        what: "a sentence with MUST says the opposite in other words",
        seen_by: "ledger",
        place: "spec/rules/race.md:#: R01 binds otherwise than before (what it demands",
        edit: |files| below(files, "spec/rules/race.md", "### R01 ", "MUST equal", "MUST exceed"),
    },
    Sabotage {
        what: "a number in a definition changes",
        seen_by: "ledger",
        place: "FMT-05 binds otherwise",
        edit: |files| below(files, "spec/format.md", "### FMT-05 ", "a digit 1 to 9", "a digit 1 to 8"),
    },
    Sabotage {
        what: "the heading of a rule vanishes",
        seen_by: "ledger",
        place: "spec/rules/race.md: R01 is gone",
        edit: |files| replace(files, "spec/rules/race.md", "### R01 partial-wait", ""),
    },
    Sabotage {
        what: "the heading of a clause vanishes",
        seen_by: "tidy: ids in documents",
        place: "`CON-08` is no id of the specification",
        edit: |files| replace(files, "spec/conformance.md", "### CON-08 ", "#### "),
    },
    Sabotage {
        what: "two rules have one id",
        seen_by: "tidy: ids",
        place: "spec/rules/race.md:#: `R01` is already defined at spec/rules/race.md",
        edit: |files| replace(files, "spec/rules/race.md", "### R02 ", "### R01 "),
    },
    Sabotage {
        what: "a rule is unhooked from the validator",
        seen_by: "tidy: rules in code",
        place: "spec/rules/race.md:#: R05 overwrite-race is reported by crates/reference/src/validate/race/r05.rs, which nobody calls",
        edit: |files| {
            replace(files, "crates/reference/src/validate/race/mod.rs", "r05::check(", "(|_, _, _, _| ())(")
        },
    },
    Sabotage {
        what: "a rule is reported under the id of another",
        seen_by: "tidy: rules in code",
        place: "spec/rules/race.md:#: R05 overwrite-race is defined, but no file",
        edit: |files| {
            let path = "crates/reference/src/validate/race/r05.rs";
            let text = files.text(path).expect("a text").replace("Rule::R05", "Rule::R03");
            files.set(path, Some(text));
        },
    },
    Sabotage {
        what: "the version of the protocol changes in the text alone",
        seen_by: "tidy: versions",
        place: "spec/conformance.md: does not say `that the worker speaks; this chapter is `1.0`",
        edit: |files| replace(files, "spec/conformance.md", "this chapter is `1.0`", "this chapter is `1.1`"),
    },
    Sabotage {
        what: "the version of the IR changes in the text alone",
        seen_by: "tidy: versions",
        place: "spec/README.md: does not say `describes format version `0.2.0``",
        edit: |files| replace(files, "spec/README.md", "version `0.2.0`", "version `0.3.0`"),
    },
    Sabotage {
        what: "the version of the ABI changes in the text alone",
        seen_by: "tidy: versions",
        place: "spec/abi.md: does not say",
        edit: |files| replace(files, "spec/abi.md", "ABI `0.2`", "ABI `0.3`"),
    },
    Sabotage {
        what: "the version of the IR changes in the code alone",
        seen_by: "tidy: versions",
        place: "spec/format.md: does not say `This specification describes `ir_version` `0.3.0``",
        edit: |files| {
            replace(
                files,
                "crates/ir/src/read/versions.rs",
                "IR_VERSION: &str = \"0.2.0\"",
                "IR_VERSION: &str = \"0.3.0\"",
            );
        },
    },
    Sabotage {
        what: "the version of the ABI goes down",
        seen_by: "ledger",
        place: "version `abi` is `0.1`, and was 0.2",
        edit: |files| {
            replace(
                files,
                "crates/ir/src/read/versions.rs",
                "ABI_VERSION: &str = \"0.2\"",
                "ABI_VERSION: &str = \"0.1\"",
            );
        },
    },
    Sabotage {
        what: "the form of evidence has another version in the text",
        seen_by: "tidy: versions",
        place: "spec/executions.md: does not say",
        edit: |files| {
            replace(files, "spec/executions.md", "version of this form: `1.1`", "version of this form: `1.2`")
        },
    },
    Sabotage {
        what: "the generator has another version than the suite",
        seen_by: "tidy: versions",
        place: "crates/corpus/src/families/sink.rs: the generator's version",
        edit: |files| replace(files, "crates/corpus/src/families/sink.rs", "\"0.1.0\"", "\"0.1.1\""),
    },
    Sabotage {
        what: "a schema has the `$id` of another series",
        seen_by: "tidy: versions",
        place: "schemas/case.schema.json: has no",
        edit: |files| replace(files, "schemas/case.schema.json", "schemas/0.1/", "schemas/0.2/"),
    },
    Sabotage {
        what: "a schema requires a member no more",
        seen_by: "ledger",
        place: "schemas/case.schema.json takes more than before: /required no longer has \"clauses\"",
        edit: |files| {
            schema(files, "/required", |required| {
                required.as_array_mut().expect("names").retain(|name| name != "clauses");
            });
        },
    },
    Sabotage {
        what: "a schema takes members that it does not know",
        seen_by: "ledger",
        place: "schemas/case.schema.json takes more than before: /additionalProperties",
        edit: |files| schema(files, "/additionalProperties", |value| *value = json!(true)),
    },
    Sabotage {
        what: "a schema loses a pattern",
        seen_by: "ledger",
        place: "schemas/case.schema.json takes more than before: /properties/clauses/items/pattern was removed",
        edit: |files| {
            schema(files, "/properties/clauses/items", |id| {
                id.as_object_mut().expect("a schema").remove("pattern").expect("a pattern");
            });
        },
    },
    Sabotage {
        what: "a schema takes another type as well",
        seen_by: "ledger",
        place: "schemas/case.schema.json takes more than before: /properties/summary/type has \"null\" now",
        edit: |files| schema(files, "/properties/summary/type", |value| *value = json!(["string", "null"])),
    },
    Sabotage {
        what: "a schema is removed",
        seen_by: "ledger",
        place: "schemas/verdict.schema.json is gone",
        edit: |files| files.set("schemas/verdict.schema.json", None),
    },
    Sabotage {
        what: "a figure of a target record changes",
        seen_by: "ledger",
        place: "targets/h100.json is changed",
        edit: |files| replace(files, "targets/h100.json", "\"num_sms\": 132", "\"num_sms\": 144"),
    },
    Sabotage {
        what: "a target record is removed",
        seen_by: "ledger",
        place: "targets/t4.json is gone",
        edit: |files| files.set("targets/t4.json", None),
    },
    Sabotage {
        what: "a licence is replaced",
        seen_by: "ledger",
        place: "LICENSE-MIT is changed",
        edit: |files| files.set("LICENSE-MIT", Some("All rights reserved.\n".to_owned())),
    },
    Sabotage {
        what: "a licence is removed",
        seen_by: "ledger",
        place: "LICENSE-APACHE is gone",
        edit: |files| files.set("LICENSE-APACHE", None),
    },
    Sabotage {
        what: "the changelog is cut",
        seen_by: "ledger",
        place: "CHANGELOG.md: section 0.1.0 has",
        edit: |files| {
            let text = files.text("CHANGELOG.md").expect("a text");
            let lines: Vec<&str> = text.lines().take(60).collect();
            files.set("CHANGELOG.md", Some(lines.join("\n")));
        },
    },
    Sabotage {
        what: "the section of this version is gone from the changelog",
        seen_by: "ledger",
        place: "CHANGELOG.md has no section `## 0.1.0`",
        edit: |files| replace(files, "CHANGELOG.md", "## 0.1.0", "## 0.0.9"),
    },
    Sabotage {
        what: "a record of a GPU is forged: another digest of kernels",
        seen_by: "ledger",
        place: "evidence/h100.json is changed",
        edit: |files| record(files, "/device/kernels", json!("0".repeat(64))),
    },
    Sabotage {
        what: "a record of a GPU is forged: another architecture",
        seen_by: "gate: evidence",
        place: "evidence/h100.json: /device/target: `sm_100a` is none of `NVIDIA H100 80GB HBM3`",
        edit: |files| record(files, "/device/target", json!("sm_100a")),
    },
    Sabotage {
        what: "a record of a GPU is forged: no UUID",
        seen_by: "gate: evidence",
        place: "evidence/h100.json: /device/uuid",
        edit: |files| record(files, "/device/uuid", json!("")),
    },
    Sabotage {
        what: "a record has a largest error above its bound",
        seen_by: "gate: evidence",
        place: "evidence/h100.json: /executed/0/largest_error: 1.5 of COPY in F32",
        edit: |files| record(files, "/executed/0/largest_error", json!(1.5)),
    },
    Sabotage {
        what: "a record counts more failures of an opcode than cases",
        seen_by: "gate: evidence",
        place: "evidence/h100.json: /executed/0: 1000000 of",
        edit: |files| record(files, "/executed/0/failed", json!(1_000_000)),
    },
    Sabotage {
        what: "a record says that it does not conform, and that nothing failed",
        seen_by: "gate: evidence",
        place: "evidence/h100.json: `conforms` does not follow from the counts",
        edit: |files| record(files, "/conforms", json!(false)),
    },
    Sabotage {
        what: "a figure of the README changes",
        seen_by: "gate: figures",
        place: "README.md:#: the row says",
        edit: |files| replace(files, "README.md", " cases\n```", "0 cases\n```"),
    },
    Sabotage {
        what: "a figure in docs/ changes",
        seen_by: "gate: figures",
        place: "docs/implementing.md:#: the corpus has 48 rules",
        edit: |files| replace(files, "docs/implementing.md", " of 48 rules", " of 47 rules"),
    },
    Sabotage {
        what: "the example of CON-05 has a verdict that does not exist",
        seen_by: "tests: schemas",
        place: "spec/conformance.md:#: /expect/verdict: \"refuse\" is not one of",
        edit: |files| {
            below(
                files,
                "spec/conformance.md",
                "### CON-05 ",
                "\"verdict\": \"reject\"",
                "\"verdict\": \"refuse\"",
            );
        },
    },
    Sabotage {
        what: "the example of CON-05 lacks a member",
        seen_by: "tests: schemas",
        place: "spec/conformance.md:#: : \"method\" is a required property",
        edit: |files| below(files, "spec/conformance.md", "### CON-05 ", " \"method\": \"validate\",\n", ""),
    },
    Sabotage {
        what: "the example of CON-05 is no JSON",
        seen_by: "tidy: examples",
        place: "spec/conformance.md:#: the example is no JSON",
        edit: |files| {
            below(
                files,
                "spec/conformance.md",
                "### CON-05 ",
                "\"clauses\": [\"R01\"],",
                "\"clauses\": [R01],",
            )
        },
    },
    Sabotage {
        what: "a document cites a clause that does not exist",
        seen_by: "tidy: ids in documents",
        place: "docs/oracle.md:#: `NUM-99`",
        edit: |files| replace(files, "docs/oracle.md", "NUM-12", "NUM-99"),
    },
    Sabotage {
        what: "a page of the specification is removed",
        seen_by: "tidy: links",
        place: "README.md:#: link `spec/soundness.md`",
        edit: |files| files.set("spec/soundness.md", None),
    },
    Sabotage {
        what: "a merge is half done",
        seen_by: "tidy: merges",
        place: "spec/abi.md:#: ",
        edit: |files| {
            let text = format!("{} a\n{}", "<".repeat(7), files.text("spec/abi.md").expect("a text"));
            files.set("spec/abi.md", Some(text));
        },
    },
];
