//! The corpus conforms to the schemas, and the program schema agrees with what the corpus says about structure.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use megakernel_conformance::case::{Case, Verdict};
use megakernel_conformance::store::Corpus;
use megakernel_ir::protocol::{Method, Profile};
use megakernel_ir::rule::{Class, Rule};
use megakernel_test_support::schemas::validator;
use megakernel_test_support::{files, part, root};
use serde_json::Value;

use super::set::{collective_schema, errors, mcir_schema, selection_schema, task_graph_schema};

/// The cases of the corpus, read once for all tests.
fn corpus() -> &'static Corpus {
    static CORPUS: OnceLock<Corpus> = OnceLock::new();
    CORPUS.get_or_init(|| Corpus::load(&root().join("corpus")).expect("a corpus"))
}

#[test]
fn every_file_of_the_corpus_conforms() {
    let corpus = root().join("corpus");
    let companions = [
        "task-graph",
        "system",
        "translation",
        "collective-algorithm",
        "collective-module",
        "mcir",
        "semantic-graph",
        "selection-sequence",
        "selection-index",
        "selection-request",
        "selection-review",
    ]
    .map(|name| (name, validator(name)));
    type SchemaOf = fn(&Value) -> &'static str;
    let schemas_of: [(&str, SchemaOf); 4] = [
        ("task-graph", task_graph_schema),
        ("collectives", collective_schema),
        ("mcir", mcir_schema),
        ("selection", selection_schema),
    ];
    for (schema, folder) in [("case", "cases"), ("program", "programs")] {
        let validator = validator(schema);
        let files = files::json_below(&corpus.join(folder));
        assert!(!files.is_empty(), "corpus/{folder} holds no file");
        let schema_of = |file: &Path| {
            let of = schemas_of.iter().find(|(name, _)| file.starts_with(corpus.join("programs").join(name)));
            of.map(|(_, schema)| *schema)
        };
        // Documents of companions are few.
        let (companion, plain): (Vec<_>, Vec<_>) =
            files.into_iter().partition(|file| schema_of(file).is_some());
        let parent = |file: &PathBuf| file.parent().map(Path::to_owned);
        for file in companion.into_iter().chain(part::one_in_each(7, plain.into_iter(), parent)) {
            let document = files::json(&file);
            let of_companion = schema_of(&file).map(|schema| schema(&document));
            let found = if let Some(name) = of_companion {
                companions
                    .iter()
                    .filter(|(of, _)| *of == name)
                    .flat_map(|(_, v)| errors(v, &document))
                    .collect()
            } else {
                errors(&validator, &document)
            };
            assert_eq!(found, [], "{}", file.display());
        }
    }
    let validator_of_formulas = validator("formulas");
    let formulas: Vec<_> = files::json_below(&corpus.join("tensors"));
    assert!(!formulas.is_empty(), "no tensor is given by a formula");
    for file in formulas {
        assert_eq!(errors(&validator_of_formulas, &files::json(&file)), [], "{}", file.display());
    }
    assert_eq!(errors(&validator("manifest"), &files::json(&corpus.join("manifest.json"))), []);
}

/// S rules that a schema can say in part only, or not at all; the schema's description lists them.
const BEYOND_A_SCHEMA: [Rule; 9] = [
    Rule::S01, // no JSON value to look at
    Rule::S02, // lost when the text is read
    Rule::S04, // 1.0 counts as an integer
    Rule::S08,
    Rule::S09,
    Rule::S15, // n_heads and n_kv_heads
    Rule::S18,
    Rule::S19,
    Rule::S20, // size of the whole buffer
];

#[test]
#[ignore = "needs minutes; the release gate runs it"]
fn minutes_the_program_schema_refuses_what_the_structure_rules_refuse() {
    let corpus = corpus();
    let validator = validator("program");
    let mut refused: BTreeMap<Rule, usize> = BTreeMap::new();
    // Of those that break no rule of structure, which are most, a part.
    let breaks = |case: &&Case| {
        case.expect.verdict == Verdict::Either
            || case.expect.rules.iter().any(|rule| rule.class() == Class::STRUCTURE)
    };
    let (broken, others): (Vec<_>, Vec<_>) = corpus.cases().iter().partition(breaks);
    for case in broken
        .into_iter()
        .chain(part::one_in_each(7, others.into_iter(), |case| case.provenance.family.clone()))
        .filter(|case| {
            !case.profiles.iter().any(|&profile| {
                [
                    Profile::TASK_GRAPH,
                    Profile::SELECTION,
                    Profile::COLLECTIVES,
                    Profile::SCHEDULE,
                    Profile::MCIR,
                ]
                .contains(&profile)
            })
        })
    {
        let document = corpus.document(case).expect("a document");
        let structure = case.expect.rules.iter().any(|rule| rule.class() == Class::STRUCTURE);
        let document = match serde_json::from_slice::<Value>(&document) {
            Ok(document) => document,
            // What is nested 128 deep is JSON, and deeper than this library reads.
            Err(error) if error.to_string().starts_with("recursion limit") => continue,
            Err(error) => {
                let declared = structure || case.expect.verdict == Verdict::Either;
                assert!(declared, "{}: {error}, and yet not declared to break a structure rule", case.id);
                continue;
            }
        };
        let found = errors(&validator, &document);
        match (case.expect.verdict, case.expect.rules.as_slice()) {
            (Verdict::Either, _) => {}
            (Verdict::Reject, rules) if structure => {
                if found.is_empty() {
                    let beyond = rules.iter().any(|rule| BEYOND_A_SCHEMA.contains(rule));
                    assert!(beyond, "{}: breaks {rules:?}, and the schema takes it", case.id);
                } else {
                    for rule in rules {
                        *refused.entry(*rule).or_default() += 1;
                    }
                }
            }
            _ => assert_eq!(found, [], "{}: breaks no structure rule", case.id),
        }
    }
    for &rule in Rule::ALL.iter().filter(|rule| rule.class() == Class::STRUCTURE) {
        let can_say = !BEYOND_A_SCHEMA.contains(&rule) || [Rule::S04, Rule::S15, Rule::S20].contains(&rule);
        assert!(!can_say || refused.contains_key(&rule), "the schema refused no case of {rule}");
    }
}

/// The schemas of task graphs refuse a document only where it breaks a rule about its form.
#[test]
fn the_task_graph_schemas_take_what_the_rules_on_form_take() {
    let corpus = corpus();
    let validators = ["task-graph", "system", "translation"].map(|name| (name, validator(name)));
    for case in corpus.cases().iter().filter(|case| case.profiles.contains(&Profile::TASK_GRAPH)) {
        let about_form = |rule: &Rule| {
            matches!(rule.class(), Class::STRUCTURE | Class::TASK_GRAPH_STRUCTURE | Class::KERNEL_GRAPH)
        };
        if case.expect.verdict == Verdict::Either || case.expect.rules.iter().any(about_form) {
            continue;
        }
        // What is written back may break any rule on form but those about the text.
        if case.method == Method::ROUNDTRIP {
            continue;
        }
        let document = corpus.document(case).expect("a document");
        let document: Value = serde_json::from_slice(&document).expect("JSON, or the case breaks S01");
        let name = task_graph_schema(&document);
        for (_, validator) in validators.iter().filter(|(of, _)| *of == name) {
            assert_eq!(errors(validator, &document), [], "{}: breaks no rule about its form", case.id);
        }
    }
}

/// The schemas of schedules and of memory-centric IR refuse a document only where it breaks a rule about its form.
#[test]
#[ignore = "needs minutes; the release gate runs it"]
fn minutes_the_schedule_and_mcir_schemas_take_what_the_rules_on_form_take() {
    let corpus = corpus();
    let kinds = [
        (Profile::SCHEDULE, "schedule", Class::SCHEDULE_STRUCTURE, (400, 40)),
        (Profile::SCHEDULE, "schedule-trace", Class::SCHEDULE_STRUCTURE, (200, 25)),
        (Profile::MCIR, "mcir", Class::MCIR_STRUCTURE, (400, 40)),
        (Profile::MCIR, "semantic-graph", Class::MCIR_GRAPH, (30, 40)),
        (Profile::MCIR, "mcir-transform", Class::MCIR_GRAPH, (30, 5)),
    ];
    for (profile, schema, class, least) in kinds {
        let validator = validator(schema);
        let (mut taken, mut refused) = (0, 0);
        let of_schema = |case: &Case, document: &Value| match case.method {
            Method::TRACE => "schedule-trace",
            Method::TRANSFORM => "mcir-transform",
            _ if profile == Profile::MCIR => mcir_schema(document),
            _ => "schedule",
        };
        let is_one = |case: &&Case| case.profiles.contains(&profile);
        for case in corpus.cases().iter().filter(is_one) {
            let document = corpus.document(case).expect("a document");
            let Ok(document) = serde_json::from_slice::<Value>(&document) else { continue };
            if of_schema(case, &document) != schema {
                continue;
            }
            // Of a request for a pass, the document in it may be wrong in its form too.
            let within = if schema == "mcir-transform" { Class::MCIR_STRUCTURE } else { class };
            let about_form = |rule: &Rule| {
                *rule == Rule::ET01 || [Class::STRUCTURE, class, within].contains(&rule.class())
            };
            let found = errors(&validator, &document);
            if case.expect.verdict == Verdict::Either || case.expect.rules.iter().any(about_form) {
                refused += usize::from(!found.is_empty());
            } else {
                assert_eq!(found, [], "{}: breaks no rule about its form", case.id);
                taken += 1;
            }
        }
        assert!(
            taken > least.0 && refused > least.1,
            "{schema}: took {taken} documents and refused {refused}"
        );
    }
}
