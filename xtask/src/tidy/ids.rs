//! Ids: what the specification defines is in the code and in the cases, and nothing else is.

use std::collections::{BTreeMap, BTreeSet};

use super::cases::Case;
use super::tree::Files;
use megakernel_codegen::markdown::outside_fences;
use megakernel_codegen::spec::{Definition, IdKind, Spec};

/// Every rule has at least this many rejecting cases with an accepted twin.
const CASES_PER_RULE: usize = 5;

/// Cases of each rule: rejections (for a warning: cases that expect it), each with a twin that is accepted without it.
pub fn rule_cases(spec: &Spec, cases: &[Case]) -> Vec<String> {
    let by_id: BTreeMap<&str, &Case> = cases.iter().map(|case| (case.id.as_str(), case)).collect();
    let mut problems = Vec::new();
    for rule in spec.rules() {
        let mut with_twin = 0;
        for case in cases.iter().filter(|case| breaks(case, &rule.id)) {
            match case.twin.as_deref().map(|twin| (twin, by_id.get(twin))) {
                None => problems.push(format!("{}: breaks {} and has no `twin`", case.id, rule.id)),
                Some((twin, None)) => {
                    problems.push(format!("{}: its twin `{twin}` is no case of the corpus", case.id));
                }
                Some((twin, Some(other))) if other.expect.verdict != "accept" || breaks(other, &rule.id) => {
                    problems.push(format!("{}: its twin `{twin}` breaks a rule too", case.id));
                }
                Some(_) => with_twin += 1,
            }
        }
        if with_twin < CASES_PER_RULE {
            problems.push(format!(
                "{}:{}: {} {} has {with_twin} cases with an accepted twin, required {CASES_PER_RULE}",
                rule.path, rule.line, rule.id, rule.title
            ));
        }
    }
    problems
}

/// Whether the declared answer is that the rule is broken.
fn breaks(case: &Case, rule: &str) -> bool {
    let rejected = case.expect.verdict == "reject" && case.expect.rules.iter().any(|r| r == rule);
    rejected || case.expect.warnings.iter().any(|r| r == rule)
}

/// Every clause is cited by a case, or says why no case can test it, and not both.
pub fn clause_cases(spec: &Spec, cases: &[Case]) -> Vec<String> {
    let cited: BTreeSet<&str> = cases.iter().flat_map(|case| &case.clauses).map(String::as_str).collect();
    let mut problems = Vec::new();
    for definition in &spec.definitions {
        let Definition { id, path, line, .. } = definition;
        let reason = not_testable(definition);
        match (cited.contains(id.as_str()), reason) {
            (true, None) => {}
            (false, Some(reason)) if reason.len() > 1 && definition.kind == IdKind::Clause => {}
            (false, Some(_)) if definition.kind == IdKind::Rule => {
                problems.push(format!("{path}:{line}: {id} is a rule, which is always testable"));
            }
            (false, Some(_)) => {
                problems.push(format!("{path}:{line}: {id} gives no reason after `Not testable:`"))
            }
            (false, None) => problems.push(format!(
                "{path}:{line}: {id} is cited by no case: add one, or a line `Not testable: <reason>.`"
            )),
            (true, Some(_)) => problems.push(format!(
                "{path}:{line}: {id} is cited by a case, and yet says `Not testable:`: remove that line"
            )),
        }
    }
    problems
}

/// What follows `Not testable:` in the section.
fn not_testable(definition: &Definition) -> Option<&str> {
    outside_fences(&definition.body)
        .into_iter()
        .find_map(|(_, line)| line.trim().strip_prefix("Not testable:").map(str::trim))
}

/// Clauses and twins that the cases name exist.
pub fn case_references(spec: &Spec, cases: &[Case]) -> Vec<String> {
    let defined: BTreeSet<&str> = spec.definitions.iter().map(|d| d.id.as_str()).collect();
    let ids: BTreeSet<&str> = cases.iter().map(|case| case.id.as_str()).collect();
    let mut unknown = Vec::new();
    let mut problems = Vec::new();
    for case in cases {
        let mut note = |does: &str, id: &String| {
            if !defined.contains(id.as_str()) {
                let what = format!("{does} `{id}`, which the specification does not define");
                unknown.push((case.id.clone(), what));
            }
        };
        case.clauses.iter().for_each(|clause| note("cites", clause));
        case.expect.rules.iter().chain(&case.expect.warnings).for_each(|rule| note("expects", rule));
        if let Some(twin) = case.twin.as_deref().filter(|twin| !ids.contains(twin)) {
            problems.push(format!("{}: its twin `{twin}` is no case of the corpus", case.id));
        }
    }
    problems.extend(once(unknown, "cases"));
    problems
}

/// A line for each thing that is wrong, with the first place: a heading that is gone is missed in hundreds.
fn once(found: Vec<(String, String)>, places: &str) -> Vec<String> {
    let mut order = Vec::new();
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for (place, what) in found {
        let count = counts.entry(what.clone()).or_default();
        if *count == 0 {
            order.push((place, what));
        }
        *count += 1;
    }
    let line = |(place, what): (String, String)| match counts.get(&what).map_or(0, |count| count - 1) {
        0 => format!("{place}: {what}"),
        others => format!("{place}: {what}; the same in {others} other {places}"),
    };
    order.into_iter().map(line).collect()
}

/// Where rules are judged: the reader for the shape of a document, the validator and its opcodes for the rest. The explorer
/// names rules too, but judges none.
const JUDGING: &[&str] = &[
    "crates/ir/src/",
    "crates/reference/src/validate/",
    "crates/reference/src/opcodes/",
    "crates/companions/task-graph/reference/src/",
    "crates/companions/collectives/model/src/",
    "crates/companions/collectives/reference/src/",
    "crates/companions/selection/model/src/",
    "crates/companions/selection/reference/src/",
    "crates/companions/mcir/model/src/",
    "crates/companions/mcir/reference/src/",
    "crates/companions/schedule/model/src/",
    "crates/companions/schedule/reference/src/",
];

/// Every rule is named as `Rule::X00` in the code that judges it: a companion's by the companion, all others by the core. Conversions
/// of a companion name rules of the core as well, and judge none.
pub fn in_code(spec: &Spec, files: &Files) -> Vec<String> {
    // Repairs know which rules they mend, and tests which they expect.
    let other = |path: &str| {
        ["/repair.rs", "/repair/", "/tests/", "/tests.rs"].iter().any(|part| path.contains(part))
    };
    let judging = |path: &str| JUDGING.iter().any(|folder| path.starts_with(folder)) && !other(path);
    let judging: Vec<(&str, &str)> = files
        .texts()
        .filter(|(path, _)| judging(path) && path.ends_with(".rs") && *path != megakernel_codegen::GENERATED)
        // Unit tests stand at the end of a file; a rule that only they name is not judged.
        .map(|(path, text)| (path, text.split("#[cfg(test)]").next().unwrap_or_default()))
        .collect();
    let mut problems = Vec::new();
    for rule in spec.rules() {
        let (name, companion) = (format!("Rule::{}", rule.id), companion(&rule.path, "spec/companions/"));
        let own = |path: &str| self::companion(path, "crates/companions/") == companion;
        // A file of the rule's name, `r05.rs`, is a module that somebody has to call.
        let module = rule.id.to_lowercase();
        let file = format!("/{module}.rs");
        let is_called = |of: &str| {
            judging
                .iter()
                .any(|(path, text)| *path != of && own(path) && text.contains(&format!("{module}::")))
        };
        let reporting =
            judging.iter().find(|(path, text)| own(path) && path.ends_with(&file) && text.contains(&name));
        if let Some((path, _)) = reporting.filter(|(path, _)| !is_called(path)) {
            problems.push(format!(
                "{}:{}: {} {} is reported by {path}, which nobody calls: there is no `{module}::` beside it",
                rule.path, rule.line, rule.id, rule.title
            ));
        } else if !judging.iter().any(|(path, text)| own(path) && text.contains(&name)) {
            let folders: Vec<&str> = JUDGING.iter().copied().filter(|folder| own(folder)).collect();
            problems.push(format!(
                "{}:{}: {} {} is defined, but no file under {} reports it",
                rule.path,
                rule.line,
                rule.id,
                rule.title,
                folders.join(", ")
            ));
        }
    }
    problems
}

/// The companion that a file belongs to, below a folder of companions.
fn companion<'p>(path: &'p str, folder: &str) -> Option<&'p str> {
    path.strip_prefix(folder)?.split('/').next()
}

/// Words in documents and schemas that look like ids are ids.
pub fn mentioned(spec: &Spec, files: &Files) -> Vec<String> {
    let defined: BTreeSet<&str> = spec.definitions.iter().map(|d| d.id.as_str()).collect();
    let chapters: BTreeSet<&str> = spec.clauses().filter_map(|d| d.id.get(..3)).collect();
    let mut problems = Vec::new();
    for (path, text) in
        files.texts().filter(|(path, _)| path.ends_with(".md") || path.ends_with(".schema.json"))
    {
        for (n, line) in text.lines().enumerate() {
            for word in words(line) {
                let known_chapter = match spec.id_kind(word) {
                    Some(IdKind::Rule) => true,
                    Some(IdKind::Clause) => word.get(..3).is_some_and(|chapter| chapters.contains(chapter)),
                    None => false,
                };
                if known_chapter && !defined.contains(word) {
                    let what = format!("`{word}` is no id of the specification");
                    problems.push((format!("{path}:{}", n + 1), what));
                }
            }
        }
    }
    once(problems, "places")
}

/// Runs of letters, digits, dashes and underscores.
fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '_')).filter(|word| !word.is_empty())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const SPEC: &str = "### S01 not-json\nUnlike S02, FMT-01 and UTF-16.\n### S02 duplicate-member\n### FMT-01 Text\n\
                        ### FMT-02 Names\nNot testable: it says what a name is.\n";

    fn spec_of(text: &str) -> Spec {
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let declarations = megakernel_codegen::declaration::Declaration::read_all(&root);
        Spec::from_files(&[("spec/a.md".to_string(), text.to_string())], declarations.expect("declarations"))
    }

    fn case(id: &str, clauses: &[&str], expect: serde_json::Value, twin: Option<&str>) -> Case {
        let mut value = json!({
            "id": id, "summary": "s", "profiles": ["format"], "method": "validate", "clauses": clauses,
            "document": {"text": ""}, "expect": expect,
            "provenance": {"family": "f", "seed": 0, "generator": "0.1.0"}
        });
        if let Some(twin) = twin {
            value["twin"] = json!(twin);
        }
        serde_json::from_value(value).expect("a case")
    }

    /// Five rejections of each of S01 and S02 with one twin, and a case for FMT-01.
    fn corpus() -> Vec<Case> {
        let mut cases = vec![case("ok", &["FMT-01"], json!({"verdict": "accept"}), None)];
        for rule in ["S01", "S02"] {
            for n in 0..CASES_PER_RULE {
                let id = format!("{}/{n}", rule.to_lowercase());
                cases.push(case(&id, &[rule], json!({"verdict": "reject", "rules": [rule]}), Some("ok")));
            }
        }
        cases
    }

    fn all(spec: &Spec, cases: &[Case]) -> Vec<String> {
        [rule_cases(spec, cases), clause_cases(spec, cases), case_references(spec, cases)].concat()
    }

    #[test]
    fn a_whole_corpus_passes() {
        assert_eq!(all(&spec_of(SPEC), &corpus()), Vec::<String>::new());
    }

    #[test]
    fn a_rule_with_four_cases_is_named() {
        let mut cases = corpus();
        cases.pop();
        assert_eq!(
            rule_cases(&spec_of(SPEC), &cases),
            ["spec/a.md:3: S02 duplicate-member has 4 cases with an accepted twin, required 5"]
        );
    }

    #[test]
    fn a_case_without_an_accepted_twin_does_not_count() {
        for (twin, part) in
            [(None, "has no `twin`"), (Some("gone"), "is no case"), (Some("s01/1"), "breaks a rule too")]
        {
            let mut cases = corpus();
            for case in cases.iter_mut().filter(|case| case.id == "s01/0") {
                case.twin = twin.map(str::to_owned);
            }
            let problems = rule_cases(&spec_of(SPEC), &cases);
            assert!(problems.len() == 2 && problems.iter().any(|p| p.contains(part)), "{problems:?}");
        }
    }

    #[test]
    fn warnings_count_by_the_cases_that_expect_them() {
        let spec = spec_of("### W01 unknown-param\n");
        let mut cases = vec![case("ok", &["W01"], json!({"verdict": "accept", "warnings": []}), None)];
        for n in 0..CASES_PER_RULE {
            cases.push(case(
                &format!("w/{n}"),
                &["W01"],
                json!({"verdict": "accept", "warnings": ["W01"]}),
                Some("ok"),
            ));
        }
        assert_eq!(all(&spec, &cases), Vec::<String>::new());
        cases.pop();
        assert_eq!(rule_cases(&spec, &cases).len(), 1);
    }

    #[test]
    fn an_id_removed_from_either_side_is_noticed() {
        // from the specification
        let less = spec_of(&SPEC.replace("### S02 duplicate-member", "").replace("### FMT-01 Text", ""));
        let problems = case_references(&less, &corpus());
        // Once for each id, with the first case.
        assert_eq!(problems.len(), 3, "{problems:?}");
        assert!(
            problems.contains(&"ok: cites `FMT-01`, which the specification does not define".to_string())
        );
        assert!(
            problems.contains(
                &"s02/0: expects `S02`, which the specification does not define; the same in 4 other cases"
                    .to_string()
            )
        );
        // from the cases
        let problems = clause_cases(&spec_of(SPEC), corpus().get(1..).unwrap_or_default());
        assert!(
            problems.len() == 1 && problems.iter().all(|p| p.contains("FMT-01 is cited by no case")),
            "{problems:?}"
        );
    }

    #[test]
    fn not_testable_needs_a_reason_and_no_case() {
        let mut cases = corpus();
        cases.push(case("more", &["FMT-02"], json!({"verdict": "accept"}), None));
        assert!(clause_cases(&spec_of(SPEC), &cases).iter().any(|p| p.contains("remove that line")));
        let empty = spec_of(&SPEC.replace(": it says what a name is.", ":"));
        assert!(clause_cases(&empty, &corpus()).iter().any(|p| p.contains("gives no reason")));
        let rule = spec_of("### S01 not-json\nNot testable: too hard.\n");
        assert!(clause_cases(&rule, &[]).iter().any(|p| p.contains("always testable")));
    }

    #[test]
    fn a_rule_that_no_code_reports_is_named() {
        let with = |text: &str| {
            Files::from_texts(&[
                ("crates/reference/src/validate/a.rs", text),
                (megakernel_codegen::GENERATED, "Rule::S02"),
            ])
        };
        assert_eq!(in_code(&spec_of(SPEC), &with("Rule::S01 Rule::S02")), Vec::<String>::new());
        let problems = in_code(&spec_of(SPEC), &with("Rule::S01\n#[cfg(test)]\nRule::S02"));
        assert!(
            problems.len() == 1 && problems.iter().all(|p| p.contains("S02 duplicate-member")),
            "{problems:?}"
        );
    }

    #[test]
    fn a_rule_is_judged_by_its_owner_and_called() {
        let with = |path: &str, call: &str| {
            let files = Files::from_texts(&[
                ("crates/reference/src/validate/a/s01.rs", "Rule::S01"),
                ("crates/reference/src/validate/a/mod.rs", call),
                (path, "Rule::S02"),
            ]);
            in_code(&spec_of(SPEC), &files)
        };
        assert_eq!(with("crates/reference/src/validate/b.rs", "s01::check()"), [""; 0]);
        for elsewhere in
            ["crates/companions/mcir/reference/src/a.rs", "crates/reference/src/validate/repair.rs"]
        {
            let problems = with(elsewhere, "s01::check()");
            assert!(problems.len() == 1 && problems[0].contains("S02 duplicate-member"), "{problems:?}");
        }
        let problems = with("crates/reference/src/validate/b.rs", "");
        assert!(problems.len() == 1 && problems[0].contains("s01.rs, which nobody calls"), "{problems:?}");
    }

    #[test]
    fn an_unknown_id_in_a_document_is_named() {
        let files = Files::from_texts(&[
            ("docs/a.md", "S01 and S03, `FMT-01`,\n(FMT-09) UTF-16 [R07](x)\nS03 again"),
            ("a.rs", "S99"),
        ]);
        assert_eq!(
            mentioned(&spec_of(SPEC), &files),
            [
                "docs/a.md:1: `S03` is no id of the specification; the same in 1 other places",
                "docs/a.md:2: `FMT-09` is no id of the specification",
                "docs/a.md:2: `R07` is no id of the specification"
            ]
        );
    }
}
