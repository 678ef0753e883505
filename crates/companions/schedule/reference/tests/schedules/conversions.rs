//! Programs and task graphs of the corpus, beside the schedules that they are (clauses SCH-15 and SCH-16): where both have a rule, both find
//! it broken or neither does. Neither validator knows the other, and footprints are those of the explorers.
//!
//! Of programs and task graphs one in three of some families is taken, and one at least of each set of rules. `MEGAKERNEL_TESTS=whole cargo test --workspace --test schedules --
//! --nocapture break_rules_that_are_alike` takes all of the corpus, and shows what is printed in any case: what broke what.

use std::collections::{BTreeMap, BTreeSet};

use megakernel_ir::rule::Class;
use megakernel_ir::{Diagnostic, Rule};
use megakernel_reference::validate::{Classes, validate as validate_program};
use megakernel_schedule_reference::{convert, lower, validate};
use megakernel_task_graph_reference::validate as validate_task_graph;
use megakernel_test_support::{cases, files, part, root};
use serde_json::Value;

type Rules = BTreeSet<Rule>;

/// If a rule of the document is broken, one of these of its schedule has to be, or the other way round.
type Row = (Rule, &'static [Rule]);

/// Rules that both have, in steps: where a step finds something, those after it are not judged alike.
struct Table {
    steps: &'static [(&'static [Row], &'static [Row])],
    /// Rules of the document after which nothing more is compared, by step.
    ends: &'static [(usize, &'static [Rule])],
}

/// The table of SCH-15.
const PROGRAMS: Table = Table {
    steps: &[
        (&[(Rule::P02, &[Rule::ES04])], &[(Rule::ES04, &[Rule::P02])]),
        (
            &[(Rule::D01, &[Rule::ED01]), (Rule::D02, &[Rule::ED02])],
            &[(Rule::ED01, &[Rule::D01]), (Rule::ED02, &[Rule::D02, Rule::D03])],
        ),
        (&[(Rule::D04, &[Rule::ED03])], &[(Rule::ED03, &[Rule::D04])]),
        (&[(Rule::D05, &[Rule::ED04]), (Rule::D06, &[Rule::ED04])], &[(Rule::ED04, &[Rule::D05, Rule::D06])]),
        (
            &[
                (Rule::R02, &[Rule::ER01, Rule::ER05]),
                (Rule::R03, &[Rule::ER01]),
                (Rule::R04, &[Rule::ER02]),
                (Rule::R05, &[Rule::ER01]),
                (Rule::R06, &[Rule::ER01, Rule::ER06]),
                (Rule::M05, &[Rule::ER05, Rule::ER01, Rule::ER02]),
            ],
            &[
                (Rule::ER01, &[Rule::R02, Rule::R03, Rule::R05, Rule::R06]),
                (Rule::ER02, &[Rule::R04]),
                (Rule::ER05, &[Rule::R02, Rule::M05]),
                (Rule::ER06, &[Rule::R06]),
                (Rule::ER07, &[Rule::P01]),
                (Rule::ER08, &[Rule::P01]),
            ],
        ),
    ],
    // A wait for its own counter, and one for less than all.
    ends: &[(2, &[Rule::D03, Rule::R01])],
};

/// The table of SCH-16.
const TASK_GRAPHS: Table = Table {
    steps: &[
        (
            &[(Rule::TD01, &[Rule::ED01]), (Rule::TD02, &[Rule::ED02]), (Rule::TR01, &[Rule::ED05])],
            &[
                (Rule::ED01, &[Rule::TD01]),
                (Rule::ED02, &[Rule::TD02, Rule::TX05]),
                (Rule::ED05, &[Rule::TD02, Rule::TR01]),
            ],
        ),
        (&[(Rule::TD03, &[Rule::ED03])], &[(Rule::ED03, &[Rule::TD03])]),
        (&[(Rule::TD04, &[Rule::ED04])], &[(Rule::ED04, &[Rule::TD04])]),
        (
            &[
                (Rule::TR02, &[Rule::ER01]),
                (Rule::TR03, &[Rule::ER01]),
                (Rule::TR04, &[Rule::ER02]),
                (Rule::TR06, &[Rule::ER03]),
                (Rule::TX03, &[Rule::ER01, Rule::ER02, Rule::ER03]),
            ],
            &[
                (Rule::ER01, &[Rule::TR02, Rule::TR03, Rule::TX03]),
                (Rule::ER02, &[Rule::TR04, Rule::TX03]),
                (Rule::ER03, &[Rule::TR06, Rule::TX03]),
            ],
        ),
    ],
    // Meetings of which some mates are missing or others.
    ends: &[(1, &[Rule::TX05])],
};

/// What the two validators find, and what of it is not compared.
struct Pair {
    document: Rules,
    schedule: Rules,
    /// Rules of the document that are stricter here.
    stricter: &'static [Rule],
}

impl Table {
    /// What one of the two finds and the other has no rule for that is broken. Says of which rows it was sure.
    fn differences(&self, pair: &Pair, sure: &mut BTreeMap<Rule, usize>) -> Vec<String> {
        let mut found = Vec::new();
        let all: Rules = self.steps.iter().flat_map(|(_, back)| back.iter().map(|row| row.0)).collect();
        let strange = pair.schedule.iter().filter(|rule| !all.contains(rule));
        found.extend(strange.map(|rule| format!("{rule} is broken, which no rule of the document is like")));
        for (step, (to, back)) in self.steps.iter().enumerate() {
            let is_over = |&(at, rules): &(usize, &[Rule])| {
                at <= step && rules.iter().any(|rule| pair.document.contains(rule))
            };
            if self.ends.iter().any(is_over) {
                break;
            }
            let mut check = |rows: &[Row], has: &Rules, other: &Rules| {
                for (rule, alike) in rows.iter().filter(|(rule, _)| has.contains(rule)) {
                    if pair.stricter.contains(rule) {
                        continue;
                    }
                    *sure.entry(*rule).or_default() += 1;
                    if !alike.iter().any(|rule| other.contains(rule)) {
                        found.push(format!(
                            "{rule} is broken, and none of {}",
                            ids(&alike.iter().copied().collect())
                        ));
                    }
                }
            };
            check(to, &pair.document, &pair.schedule);
            check(back, &pair.schedule, &pair.document);
            let stops = |rows: &[Row], has: &Rules| rows.iter().any(|(rule, _)| has.contains(rule));
            if stops(to, &pair.document) || stops(back, &pair.schedule) {
                break;
            }
        }
        found
    }

    fn rules(&self) -> Rules {
        self.steps.iter().flat_map(|(to, back)| to.iter().chain(*back)).map(|row| row.0).collect()
    }
}

fn errors(found: &[Diagnostic]) -> Rules {
    found.iter().filter(|found| found.is_error()).map(|found| found.rule).collect()
}

/// Families of which documents are taken.
const SOME: &[&str] = &["deadlock", "race", "pages", "memory-safety/unwritten-read", "task-graph"];

/// Documents of the corpus: of each of these folders, one in so many of those that break the same rules.
fn documents(folders: &[&str], step: usize) -> Vec<(String, String)> {
    let rules = |case: &cases::Document| case.case["expect"]["rules"].to_string();
    let of = |folder: &&str| part::one_in_each(step, cases::documents(folder).into_iter(), rules);
    let all = folders.iter().flat_map(of);
    all.map(|case| (case.id().to_owned(), case.text)).collect()
}

/// The table of a document that has a schedule, and what is found in it. Nothing for other documents.
fn judged(text: &str) -> Option<(&'static Table, Vec<Diagnostic>)> {
    let members: Value = serde_json::from_str(text).expect("a document");
    let has = |member: &str| members.get(member).is_some();
    if has("buffers") && has("counters") {
        Some((&PROGRAMS, validate_program(text.as_bytes(), Classes::ALL).diagnostics))
    } else if has("all_tasks") || has("ranks") && !has("topology") {
        Some((&TASK_GRAPHS, validate_task_graph::validate(text.as_bytes()).diagnostics))
    } else {
        None
    }
}

/// Rules of a document that say more than those of its schedule.
fn stricter(found: &[Diagnostic], schedule: &Value) -> &'static [Rule] {
    let is_coarse = found.iter().any(|found| found.rule == Rule::TW03);
    let keeps = |tensor: &Value| tensor["kind"] == "cache";
    let has_kept = schedule["tensors"].as_object().is_some_and(|tensors| tensors.values().any(keeps));
    match (is_coarse, has_kept) {
        (true, _) => &[Rule::TR02, Rule::TR03, Rule::TR04, Rule::TX03],
        (_, true) => &[Rule::R06],
        _ => &[],
    }
}

fn ids(rules: &Rules) -> String {
    rules.iter().map(|rule| rule.id()).collect::<Vec<_>>().join(" ")
}

#[test]
fn a_document_and_its_schedule_break_rules_that_are_alike() {
    let all = if part::is_whole() { documents(&[""], 1) } else { documents(SOME, 3) };
    let mut sure = BTreeMap::new();
    let mut tally: BTreeMap<(Rules, Rules), usize> = BTreeMap::new();
    let (mut wrong, mut refused) = (Vec::new(), Vec::new());
    for (id, text) in all {
        let Some((table, found)) = judged(&text) else { continue };
        let is_structure = |rule: &Rule| {
            matches!(rule.class(), Class::STRUCTURE | Class::TASK_GRAPH_STRUCTURE) || *rule == Rule::TX01
        };
        let schedule = convert(&[text.into_bytes()]);
        if errors(&found).iter().any(is_structure) {
            assert!(schedule.is_err(), "{id} breaks a rule of its structure");
            continue;
        }
        match schedule {
            Ok(schedule) => {
                let pair = Beside::new(table, &found, &schedule).pair(&schedule);
                let differences = table.differences(&pair, &mut sure);
                wrong.extend(differences.into_iter().map(|what| format!("{id}: {what}")));
                *tally.entry((pair.document, pair.schedule)).or_default() += 1;
            }
            Err(why) => refused.push(format!("{id}: {why}")),
        }
    }
    for ((document, schedule), count) in &tally {
        println!("{count:>6}  {} -> {}", ids(document), ids(schedule));
    }
    println!("{} without a schedule: {refused:#?}", refused.len());
    assert!(wrong.is_empty(), "{wrong:#?}");
    let every: Rules = PROGRAMS.rules().union(&TASK_GRAPHS.rules()).copied().collect();
    let met: Rules = sure.into_keys().collect();
    assert_eq!(ids(&every), ids(&met), "each row is met");
}

/// Schedules of the corpus of which a verdict is asked, each with its id.
fn schedules() -> impl Iterator<Item = (String, String)> {
    let corpus =
        files::json_below(&root().join("corpus/cases/schedule")).into_iter().map(|path| files::json(&path));
    corpus.filter(|case| case["method"] == "validate").filter_map(|case| {
        Some((case["id"].as_str()?.to_owned(), case["document"]["text"].as_str()?.to_owned()))
    })
}

/// Whether a schedule gets stuck by the order of its queues, which counters keep in its program: that breaks D04 there.
fn is_counters(own: &Rules, text: &str) -> bool {
    own.contains(&Rule::ED04) && text.contains("ordered\"") && !text.contains("unordered\"")
}

/// Schedules of the corpus and of public systems, as programs: what the validator of programs says of those is what the schedule breaks, and so
/// is what the schedule breaks that is made of the program.
#[test]
fn a_schedule_and_its_program_break_rules_that_are_alike() {
    let public = files::json_below(&root().join("fixtures/schedules")).into_iter();
    let public = public.map(|path| (path.display().to_string(), files::json(&path).to_string()));
    let (mut wrong, mut sure) = (Vec::new(), BTreeMap::new());
    let (mut lowered, mut accepted) = (0, 0);
    let mut refused: BTreeMap<&str, usize> = BTreeMap::new();
    for (id, text) in schedules().chain(public) {
        let program = match lower(text.as_bytes()) {
            Ok(program) => program,
            Err(why) => {
                let reason = REFUSALS.iter().find(|reason| why.contains(*reason));
                *refused.entry(reason.unwrap_or_else(|| panic!("{id}: {why}"))).or_default() += 1;
                continue;
            }
        };
        let own = errors(&validate(text.as_bytes()).diagnostics);
        if is_counters(&own, &text) {
            let found = validate_program(program.to_string().as_bytes(), Classes::ALL).diagnostics;
            assert!(errors(&found).contains(&Rule::D04), "{id}");
            continue;
        }
        lowered += 1;
        accepted += usize::from(own.is_empty());
        let differences = Lowered(own).differences(&program, &mut sure);
        wrong.extend(differences.into_iter().map(|what| format!("{id}: {what}")));
    }
    println!(
        "{lowered} lowered, {accepted} of them accepted; without a program: {refused:#?}; rules met: {}",
        ids(&sure.into_keys().collect())
    );
    assert!(wrong.is_empty(), "{} of {lowered}: {wrong:#?}", wrong.len());
    assert_eq!(refused.len(), REFUSALS.len(), "each reason is met");
    assert!(lowered > 300 && accepted > 100, "{lowered} lowered, {accepted} accepted");
}

/// Why there is no program.
const REFUSALS: [&str; 10] = [
    "it breaks ",
    "relaxed",
    "any order",
    "commutes",
    "waits for all",
    "set back",
    "each time by a task of its own",
    "share memory",
    "filled for each launch",
    "the launch before left",
];

/// What a document of the corpus breaks, beside which its schedule is judged.
pub struct Beside {
    table: &'static Table,
    document: Rules,
    stricter: &'static [Rule],
}

impl Beside {
    /// A document in which this is found, and the schedule that it is.
    fn new(table: &'static Table, found: &[Diagnostic], schedule: &Value) -> Beside {
        Beside { table, document: errors(found), stricter: stricter(found, schedule) }
    }

    fn pair(&self, schedule: &Value) -> Pair {
        let schedule = errors(&validate(schedule.to_string().as_bytes()).diagnostics);
        Pair { document: self.document.clone(), schedule, stricter: self.stricter }
    }

    /// Whether a schedule breaks rules that are not alike.
    pub fn differs(&self, schedule: &Value) -> bool {
        !self.table.differences(&self.pair(schedule), &mut BTreeMap::new()).is_empty()
    }
}

/// The schedules of documents of [`SOME`] families, with what these break.
pub fn converted() -> Vec<(Value, Beside)> {
    let all = documents(SOME, 1).into_iter().filter_map(|(_, text)| {
        let (table, found) = judged(&text)?;
        let schedule = convert(&[text.into_bytes()]).ok()?;
        let beside = Beside::new(table, &found, &schedule);
        Some((schedule, beside))
    });
    all.collect()
}

/// What a schedule breaks, beside which its program is judged.
pub struct Lowered(Rules);

impl Lowered {
    /// What a program breaks that is not alike, and how the schedule breaks others that it becomes.
    fn differences(&self, program: &Value, sure: &mut BTreeMap<Rule, usize>) -> Vec<String> {
        let text = program.to_string();
        let document = errors(&validate_program(text.as_bytes(), Classes::ALL).diagnostics);
        let others = PROGRAMS.rules();
        let strange: Vec<_> =
            document.iter().filter(|rule| !others.contains(rule)).map(Rule::to_string).collect();
        let pair = Pair { document, schedule: self.0.clone(), stricter: &[] };
        let mut found = PROGRAMS.differences(&pair, sure);
        found.extend(strange);
        // The public ones have tens of thousands of tasks now.
        if text.len() < 1 << 20 {
            match convert(&[text.into_bytes()]) {
                Ok(back) => {
                    let back = errors(&validate(back.to_string().as_bytes()).diagnostics);
                    if back != self.0 {
                        found.push(format!("{} became {}", ids(&self.0), ids(&back)));
                    }
                }
                Err(why) => found.push(format!("it becomes no schedule: {why}")),
            }
        }
        found
    }

    /// Whether there are any.
    pub fn differs(&self, program: &Value) -> bool {
        !self.differences(program, &mut BTreeMap::new()).is_empty()
    }
}

/// The programs of schedules of the corpus, with what these break, but where counters do what a queue orders.
pub fn lowered() -> Vec<(Value, Lowered)> {
    let all = schedules().filter_map(|(_, text)| {
        let program = lower(text.as_bytes()).ok()?;
        let own = errors(&validate(text.as_bytes()).diagnostics);
        (!is_counters(&own, &text)).then_some((program, Lowered(own)))
    });
    all.collect()
}
