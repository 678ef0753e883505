//! What those need who are judged every day: parts of the corpus, known failures, the order, shards.

use std::num::NonZeroUsize;
use std::path::Path;

use megakernel_conformance::known::Known;
use megakernel_conformance::report::{KnownEnd, ProfileVerdict, Refusal, Report, RunVerdict, merge};
use megakernel_conformance::run::Options;
use megakernel_conformance::statement::Statement;
use megakernel_conformance::store::{Corpus, Filter};
use megakernel_conformance::terminal::{self, Style};
use megakernel_ir::protocol::Profile;
use megakernel_ir::shard::Shard;
use megakernel_ir::{DType, Opcode};
use megakernel_test_support::schemas;
use tempfile::TempDir;

use crate::support::{corpus, options, play, sessions, write_manifest};

/// What `accepts-everything` fails in the tiny corpus.
const FAILS: usize = 9;

fn sealed() -> TempDir {
    let directory = corpus();
    write_manifest(directory.path());
    directory
}

fn run(root: &Path, options: &Options) -> Report {
    let report = play(root, options).expect("a run");
    let json = serde_json::from_str(&report.to_json().expect("JSON")).expect("JSON");
    let errors = schemas::errors(&schemas::validator("report"), &json);
    assert!(errors.is_empty(), "{errors:#?}");
    report
}

fn text(report: &Report) -> String {
    terminal::render(report, &Style::default())
}

fn glob(glob: &str) -> Filter {
    Filter::new(glob).expect("a glob")
}

#[test]
fn cases_are_chosen_by_what_they_cite_and_execute_and_are_not() {
    let tiny = corpus();
    let mut some = options(&["good"]);
    some.selection.exclude = vec![glob("accept/*"), glob("*-json")];
    assert_eq!(run(tiny.path(), &some).totals.passed, 8);
    some.selection.clauses = vec!["S03".to_owned(), "R01".to_owned()];
    assert_eq!(run(tiny.path(), &some).totals.passed, 3);
    some.selection.exclude.push(glob("*"));
    let nothing = play(tiny.path(), &some).expect_err("nothing is left").to_string();
    assert_eq!(
        nothing,
        "the corpus has no case that does not match `accept/*` or `*-json` or `*` and cites S03 or R01"
    );

    let executed = sessions::corpus();
    let with = |opcodes: &[Opcode], dtypes: &[DType]| {
        let mut some = options(&["executes"]);
        some.selection.opcodes = opcodes.to_vec();
        some.selection.dtypes = dtypes.to_vec();
        play(executed.path(), &some).map(|report| report.totals.passed).map_err(|cause| cause.to_string())
    };
    assert_eq!(with(&[Opcode::Add], &[]), Ok(2));
    assert_eq!(with(&[Opcode::Add, Opcode::Rope], &[DType::BF16]), Ok(1));
    assert_eq!(with(&[], &[DType::BF16, DType::I32]), Ok(2));
    let none = with(&[Opcode::Rope], &[DType::F32]).expect_err("no case");
    let which = "executes ROPE and executes a program with a buffer of F32";
    assert_eq!(none, format!("the corpus has no case that {which}"));
}

#[test]
fn a_part_of_the_corpus_is_never_the_whole() {
    let directory = corpus();
    let verdict = |options: &Options| {
        let report = run(directory.path(), options);
        let whole = report.profiles.iter().any(|line| line.verdict == ProfileVerdict::Conforms);
        (report.verdict, report.exit_code(), whole)
    };
    assert_eq!(verdict(&options(&["good"])), (RunVerdict::Conforms, 0, true));
    let part = (RunVerdict::ConformsInPart, 3, false);
    let mut some = options(&["good"]);
    // It leaves out nothing, and selects all of the profile.
    some.selection.exclude = vec![glob("nothing/*")];
    assert_eq!(verdict(&some), part);
    let mut some = options(&["good"]);
    some.selection.profiles = vec![Profile::LAUNCH];
    some.selection.filter = Some(glob("accept/*"));
    assert_eq!(verdict(&some), part);
    let mut some = options(&["good"]);
    some.selection.shard = Shard::new(1, 1).ok();
    assert_eq!(verdict(&some), part);
}

/// The tiny corpus played to a behaviour with a list of known failures.
fn with_known(behaviour: &str, known: Known) -> Report {
    let directory = sealed();
    run(directory.path(), &Options { known, ..options(&[behaviour]) })
}

#[test]
fn known_failures_are_counted_apart_and_conform_to_nothing() {
    let known = with_known("accepts-everything", Known::default())
        .known_failures(&Known::default())
        .expect("everything was asked");
    let report = with_known("accepts-everything", known.clone());
    assert_eq!((report.exit_code(), report.verdict), (4, RunVerdict::DoesNotConform));
    assert_eq!((report.totals.failed, report.totals.passed, report.causes.len()), (FAILS, 21, 0));
    let shown = text(&report);
    assert!(shown.contains("Known failures\n"), "{shown}");
    assert!(shown.contains("of 9 failures 9 are known\n\n21 passed, 9 failed, 0 skipped\n"), "{shown}");
    assert!(shown.contains("does not conform"), "{shown}");

    let mut fewer = known.clone();
    fewer.remove("race/partial-wait", Profile::VALIDATE);
    let report = with_known("accepts-everything", fewer.clone());
    assert_eq!(report.exit_code(), 1);
    let causes: Vec<&str> = report.causes.iter().map(|cause| cause.cause.as_str()).collect();
    assert_eq!(causes, ["accepts what breaks R01 partial-wait"], "what is new is not hidden");
    let again = report.known_failures(&fewer).expect("everything was asked");
    assert_eq!(
        again.reason("race/partial-wait", Profile::VALIDATE),
        Some("accepts what breaks R01 partial-wait")
    );
}

#[test]
fn a_known_failure_that_passes_is_an_error() {
    let mut known = Known::default();
    known.insert("race/partial-wait", Profile::VALIDATE, "ticket 12");
    let report = with_known("good", known.clone());
    assert_eq!((report.exit_code(), report.totals.failed), (1, 0));
    assert_eq!(report.known.as_deref().map(|lines| lines[0].ended), Some(KnownEnd::Passed));
    let line = "known failure race/partial-wait (validate): it passes; take it off the list: ticket 12\n";
    assert!(text(&report).contains(line), "{}", text(&report));
    let again = report.known_failures(&known).expect("everything was asked");
    assert_eq!(again, Known::default());
}

#[test]
fn a_line_that_was_not_judged_stays_on_the_list() {
    let mut known = Known::default();
    known.insert("memory/bounds", Profile::MEMORY_SAFETY, "ticket 13");
    let report = with_known("format-only", known.clone());
    assert_eq!(report.exit_code(), 0);
    assert_eq!(report.known.as_deref().map(|lines| lines[0].ended), Some(KnownEnd::Skipped));
    assert_eq!(report.known_failures(&known).as_ref(), Ok(&known));
    // Whoever fails without being asked does not fail as it is known to.
    let report = with_known("never-answers", known.clone());
    assert_eq!(report.exit_code(), 1);
    let why = report.known_failures(&known).expect_err("most was not asked");
    assert!(why.contains("was given up"), "{why}");
}

#[test]
fn a_list_of_known_failures_survives_writing_and_reading() {
    let directory = corpus();
    let corpus = Corpus::load(directory.path()).expect("a corpus");
    let mut known = Known::default();
    known.insert("race/partial-wait", Profile::VALIDATE, "counts which, not how many");
    known.insert("accept/number-0", Profile::LAUNCH, "ticket 12");
    let text = known.to_text();
    assert!(text.ends_with(
        "\naccept/number-0 launch ticket 12\nrace/partial-wait validate counts which, not how many\n"
    ));
    assert_eq!(Known::read(&text, &corpus), Ok(known.clone()));
    let columns =
        "accept/number-0   launch    ticket 12\nrace/partial-wait\tvalidate  counts which, not how many\n";
    assert_eq!(Known::read(columns, &corpus), Ok(known));
    for (line, why) in [
        ("race/partial-wait validate", "line 2: `race/partial-wait` has no reason"),
        ("race/partial-wait", "a line is a case, a profile and a reason"),
        ("race/partial-wait valid x", "no profile is called `valid`"),
        ("race/partial-weight validate x", "the corpus has no case `race/partial-weight`"),
        ("race/partial-wait launch x", "is not played under profile launch"),
        (
            "accept/number-0 launch x\naccept/number-0 launch y",
            "line 3: `accept/number-0` under launch is listed twice",
        ),
    ] {
        let refused = Known::read(&format!("# a comment\n{line}\n"), &corpus).expect_err(line);
        assert!(refused.contains(why), "no `{why}` in {refused}");
    }
}

#[test]
fn a_run_may_end_at_the_first_failure_that_is_not_known() {
    let directory = corpus();
    let report = run(directory.path(), &Options { fail_fast: true, ..options(&["misses-two-rules"]) });
    assert_eq!((report.totals.failed, report.verdict), (1, RunVerdict::DoesNotConform));
    assert!(report.totals.skipped > 0 && report.totals.passed > 0, "{:?}", report.totals);
    assert_eq!(report.failures[0].case, "race/partial-wait");
    assert_eq!(report.partial.as_deref(), Some("ended at its first failure"));
    assert!(text(&report).contains("this report is partial: the run was ended at its first failure"));
    let mut known = Known::default();
    known.insert("race/partial-wait", Profile::VALIDATE, "ticket 12");
    let report = run(directory.path(), &Options { fail_fast: true, known, ..options(&["misses-two-rules"]) });
    let failed: Vec<&str> = report.failures.iter().map(|failure| failure.case.as_str()).collect();
    assert_eq!(failed, ["race/partial-wait", "structure/no-tasks"]);
}

#[test]
fn what_failed_before_is_played_first_and_reported_in_its_place() {
    let directory = corpus();
    let before = run(directory.path(), &options(&["misses-two-rules"]));
    let first = before.failures.iter().rev().take(1).map(|it| (it.case.clone(), it.profile)).collect();
    let fast = Options { fail_fast: true, first, ..options(&["misses-two-rules"]) };
    let report = run(directory.path(), &fast);
    assert_eq!((report.totals.failed, report.totals.passed), (1, 0));
    assert_eq!(report.failures[0].case, "structure/no-tasks");
    let all = Options { fail_fast: false, ..fast };
    let again = run(directory.path(), &all).to_json().expect("JSON");
    assert_eq!(again, before.to_json().expect("JSON"));
}

/// Reports with names.
type Shards = Vec<(String, Report)>;

/// The reports of all shards of a run, as they were kept.
fn shards(root: &Path, options: &Options, of: usize) -> Shards {
    let shard = |index| {
        let mut options = options.clone();
        options.selection.shard = Shard::new(index, of).ok();
        let json = run(root, &options).to_json().expect("JSON");
        (format!("shard-{index}.json"), Report::read(&json).expect("a report"))
    };
    (1..=of).map(shard).collect()
}

#[test]
#[ignore = "needs minutes; the release gate runs it"]
fn minutes_the_merged_report_of_all_shards_is_that_of_the_whole_run() {
    let (tiny, executed) = (sealed(), sessions::corpus());
    write_manifest(executed.path());
    for (directory, behaviour, most) in [
        (&tiny, "good", 5),
        (&tiny, "accepts-everything", 5),
        (&tiny, "some-rules", 12),
        (&tiny, "format-only", 3),
        (&executed, "executes-on-device-wrong", 2),
    ] {
        let corpus = Corpus::load(directory.path()).expect("a corpus");
        let whole = run(directory.path(), &options(&[behaviour]));
        for of in 1..=most {
            let shards = shards(directory.path(), &options(&[behaviour]), of);
            assert!(shards.iter().all(|(_, shard)| !shard.conforms), "{behaviour}: a shard is no whole");
            let merged = merge(&corpus, &shards).expect("all shards");
            assert_eq!(
                merged.to_json().expect("JSON"),
                whole.to_json().expect("JSON"),
                "{behaviour}, {of} shards"
            );
            assert_eq!(merged.exit_code(), whole.exit_code());
        }
    }
}

#[test]
fn shards_go_by_the_list_of_known_failures_together() {
    let directory = sealed();
    let corpus = Corpus::load(directory.path()).expect("a corpus");
    let all = run(directory.path(), &options(&["accepts-everything"]));
    let known = all.known_failures(&Known::default()).expect("everything was asked");
    let options = Options { known, jobs: NonZeroUsize::MIN, ..options(&["accepts-everything"]) };
    let merged = merge(&corpus, &shards(directory.path(), &options, 3)).expect("all shards");
    assert_eq!(merged.exit_code(), 4);
    assert_eq!(merged.to_json().expect("JSON"), run(directory.path(), &options).to_json().expect("JSON"));
}

#[test]
fn what_is_not_all_shards_of_one_run_is_not_merged() {
    let directory = sealed();
    let corpus = Corpus::load(directory.path()).expect("a corpus");
    let good = shards(directory.path(), &options(&["good"]), 3);
    let refused = |why: &str, change: &dyn Fn(&mut Shards)| {
        let mut reports = good.clone();
        change(&mut reports);
        let refused = merge(&corpus, &reports).err().unwrap_or_else(|| "merged".to_owned());
        assert!(refused.contains(why), "no `{why}` in {refused}");
    };
    refused("there is no report", &Vec::clear);
    refused("shard 2/3 is missing", &|all| drop(all.remove(1)));
    refused("shards 1/3, 2/3 are missing", &|all| drop(all.drain(..2)));
    refused("shard-1.json and shard-1.json are both shard 1/3", &|all| all.push(all[0].clone()));
    refused("shard-2.json is of 4 shards, and shard-1.json of 3", &|all| {
        all[1].1.corpus.shard = Shard::new(2, 4).ok();
    });
    refused("shard-2.json: it is no report of a shard", &|all| all[1].1.corpus.shard = None);
    refused("are about different implementations", &|all| {
        all[2].1.implementation.as_mut().expect("a worker").version = "2".to_owned();
    });
    refused("another corpus", &|all| all[2].1.corpus.digest = Some("0".repeat(64)));
    refused("of suite 9.9.9", &|all| all[2].1.suite = "9.9.9".to_owned());
    refused("selected different cases", &|all| all[0].1.corpus.filter = Some("race/*".to_owned()));
    refused("the shard was interrupted by SIGINT; play it again", &|all| {
        all[0].1.partial = Some("interrupted by SIGINT".to_owned());
    });
    refused("it contradicts itself", &|all| all[1].1.totals.passed += 1);
    refused("it contradicts itself", &|all| {
        let other = all[0].1.corpus.shard;
        all[0].1.corpus.shard = all[1].1.corpus.shard;
        all[1].1.corpus.shard = other;
        // As long as the other one, and yet about other cases.
        let bad = shards(directory.path(), &options(&["rejects-everything"]), 3).swap_remove(0).1;
        all[0].1.failures = bad.failures;
        all[0].1.totals = bad.totals;
    });
    refused("do not both go by a list", &|all| all[1].1.known = Some(Vec::new()));
}

#[test]
fn there_are_no_more_shards_than_cases() {
    let directory = corpus();
    let mut many = options(&["good"]);
    many.selection.shard = Shard::new(1, 13).ok();
    let why = play(directory.path(), &many).expect_err("too many").to_string();
    assert_eq!(why, "12 cases cannot be shared by 13 shards; take at most 12");
}

/// The report of a whole run as a file has it.
fn kept(root: &Path, options: &Options) -> String {
    run(root, options).to_json().expect("JSON")
}

/// The statement that follows from a text, which the schema takes.
fn stated(corpus: &Corpus, report: &str) -> Result<Statement, Refusal> {
    let statement = Statement::new(corpus, report.as_bytes())?;
    let json = statement.to_json().expect("JSON");
    let value = serde_json::from_str(&json).expect("JSON");
    assert_eq!(schemas::errors(&schemas::validator("statement"), &value), Vec::<String>::new());
    let again = Statement::read(&json).expect("a statement");
    assert_eq!(again.to_json().expect("JSON"), json);
    assert_eq!(again.against(&statement), Vec::<String>::new());
    Ok(statement)
}

#[test]
fn a_statement_says_what_a_report_comes_to() {
    let (tiny, executed) = (sealed(), sessions::corpus());
    write_manifest(executed.path());
    for (directory, behaviour, says) in [
        (
            &tiny,
            "good",
            "test-worker 1 conforms to format, validate, memory-safety and launch, by suite VERSION",
        ),
        (
            &tiny,
            "some-rules",
            "test-worker 1 conforms to launch; it conforms in part to format (1 of 2 rules, 8 of 9 cases), validate (2 of 4 rules, \
             8 of 10 cases) and memory-safety (0 of 1 rules, 5 of 6 cases), by suite VERSION",
        ),
        (&tiny, "format-only", "test-worker 1 conforms to format, by suite VERSION"),
        (
            &tiny,
            "accepts-everything",
            "test-worker 1 conforms to launch; it does not conform to format, validate and memory-safety, by suite VERSION",
        ),
        (
            &executed,
            "executes",
            "test-vm 1 conforms to execute; it executes sizes up to vocabulary 3, by suite VERSION",
        ),
    ] {
        let corpus = Corpus::load(directory.path()).expect("a corpus");
        let statement =
            stated(&corpus, &kept(directory.path(), &options(&[behaviour]))).expect("a statement");
        assert_eq!(statement.says, says.replace("VERSION", env!("CARGO_PKG_VERSION")), "{behaviour}");
        let names = statement.executed.map(|made| [made.opcodes, made.dtypes].map(|names| names.join(" ")));
        let made = (behaviour == "executes")
            .then(|| ["ADD MUL SAMPLE_ARGMAX".to_owned(), "F32 BF16 I32".to_owned()]);
        assert_eq!(names, made, "{behaviour}");
        assert_eq!(statement.known_failures, (behaviour == "accepts-everything").then_some(0));
    }
    let known = run(tiny.path(), &options(&["accepts-everything"]))
        .known_failures(&Known::default())
        .expect("everything was asked");
    let options = Options { known, ..options(&["accepts-everything"]) };
    let corpus = Corpus::load(tiny.path()).expect("a corpus");
    let statement = stated(&corpus, &kept(tiny.path(), &options)).expect("a statement");
    assert_eq!(statement.known_failures, Some(FAILS));
}

#[test]
fn what_does_not_follow_is_no_statement() {
    let directory = sealed();
    let corpus = Corpus::load(directory.path()).expect("a corpus");
    let report = kept(directory.path(), &options(&["some-rules"]));
    let statement = stated(&corpus, &report).expect("a statement");

    // What somebody may write into a statement.
    let boast = |change: &dyn Fn(&mut Statement)| {
        let mut other = statement.clone();
        change(&mut other);
        other.against(&statement).join("; ")
    };
    for (change, place) in [
        (&(|it: &mut Statement| it.verdict = RunVerdict::Conforms) as &dyn Fn(&mut Statement), "`/verdict`"),
        (&|it| it.profiles[0].verdict = ProfileVerdict::Conforms, "`/profiles/0/verdict`"),
        (&|it| it.profiles[0].counts.passed += 1, "`/profiles/0/passed`"),
        (&|it| it.profiles[0].share = None, "`/profiles/0/share`"),
        (&|it| drop(it.profiles.pop()), "`/profiles/3`"),
        (&|it| it.implementation.rules = None, "`/implementation/rules`"),
        (&|it| it.implementation.version = "2".to_owned(), "`/implementation/version`"),
        (&|it| it.corpus.cases = 1000, "`/corpus/cases`"),
        (&|it| it.says = "test-worker conforms".to_owned(), "`/says`"),
        (&|it| it.known_failures = Some(0), "`/known_failures`"),
        (&|it| it.suite = "9.9.9".to_owned(), "`/suite`"),
        (&|it| it.report = "0".repeat(64), "another report"),
    ] {
        let wrong = boast(change);
        assert!(wrong.contains(place), "{place} is not named: {wrong}");
    }

    // Each place says what the statement has there, also where a list became longer or shorter before it.
    let mut said = statement.clone();
    said.profiles = vec![statement.profiles[0].clone()];
    let lacking = said.against(&statement);
    assert_eq!(lacking.len(), statement.profiles.len() - 1, "{lacking:?}");
    for (line, profile) in lacking.iter().zip(&statement.profiles[1..]) {
        let name = profile.profile.name();
        assert!(line.contains("says nothing, and {") && line.contains(name), "{name}: {line}");
    }
    let surplus = statement.against(&said);
    assert_eq!(surplus.len(), lacking.len(), "{surplus:?}");
    for profile in &statement.profiles[1..] {
        let name = format!("\"profile\":\"{}\"", profile.profile);
        let line = surplus.iter().find(|line| line.contains(&name));
        assert!(line.is_some_and(|line| line.ends_with("and nothing follows")), "{name}: {surplus:?}");
    }

    // A statement of a later form is said to be one, whatever members it has.
    let later = Statement::read(r#"{"statement": "2.0", "signature": "..."}"#).expect_err("of another form");
    assert!(later.contains("of form 2.0"), "{later}");
    let other = Statement::read(r#"{"statement": "1.0", "signature": "..."}"#).expect_err("another member");
    assert!(other.contains("no statement"), "{other}");

    // What somebody may write into a report: neither is it the one that the statement is of, nor does it follow.
    let forged = |change: &dyn Fn(&mut Report)| {
        let mut other = Report::read(&report).expect("a report");
        change(&mut other);
        stated(&corpus, &other.to_json().expect("JSON")).expect_err("it was forged")
    };
    let contradictions: [&dyn Fn(&mut Report); 6] = [
        &|it| it.verdict = RunVerdict::Conforms,
        &|it| it.profiles[0].verdict = ProfileVerdict::Conforms,
        &|it| it.totals.passed += 1,
        // Four skips are as if they had passed, in the totals too, and yet the counts of profiles tell.
        &|it| {
            it.totals.passed += it.totals.skipped;
            it.totals.skipped = 0;
            it.skips.clear();
        },
        &|it| it.clauses[0].counts.passed += 1,
        &|it| it.corpus.filter = Some("race/*".to_owned()),
    ];
    for (number, change) in contradictions.into_iter().enumerate() {
        let why = forged(change);
        assert!(matches!(why, Refusal::Contradiction(_)), "{number}: {why}");
    }
    for (part, change) in [
        ("another corpus", &(|it: &mut Report| it.corpus.digest = None) as &dyn Fn(&mut Report)),
        ("of suite 9.9.9", &|it| it.suite = "9.9.9".to_owned()),
    ] {
        let why = forged(change);
        assert!(matches!(&why, Refusal::Elsewhere(why) if why.contains(part)), "{part}: {why}");
    }
    for (part, change) in [
        ("shard 1/3", &(|it: &mut Report| it.corpus.shard = Shard::new(1, 3).ok()) as &dyn Fn(&mut Report)),
        ("interrupted by SIGINT", &|it| it.partial = Some("interrupted by SIGINT".to_owned())),
    ] {
        let why = forged(change);
        assert!(matches!(&why, Refusal::Unfit(why) if why.contains(part)), "{part}: {why}");
    }
    assert!(matches!(Statement::new(&corpus, b"{}"), Err(Refusal::Unfit(_))));
    // A later run of the same report form has another digest, even where all else is the same.
    let longer = stated(&corpus, &(report + "\n")).expect("a statement");
    assert_eq!(longer.against(&statement).len(), 1);
}
