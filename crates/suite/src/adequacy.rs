//! `cargo xtask adequacy`: whether the corpus rejects every seeded fault and no legitimate variant.

use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use megakernel_adequacy::faults::{Fault, fault};
use megakernel_adequacy::measure::{Plan, Result, measure, report};
use megakernel_adequacy::variants::{self, Variant};
use megakernel_conformance::case::Case;
use megakernel_conformance::store::{Corpus, Filter};
use megakernel_conformance::terminal;
use megakernel_corpus::companion::Measured;
use megakernel_ir::companion::Composed;
use megakernel_mutants::measure::{self as validators, Measured as Validators};
use megakernel_mutants::report as mutants;
use megakernel_suite::companions::{CASES, REFERENCES};

use crate::print;

const EXAMPLES: &str = "\
Examples:
  cargo xtask adequacy
      every fault and every variant on every case that executes
  cargo xtask adequacy --fault gqa-by-tile
      which cases reject this fault
  cargo xtask adequacy --variant 17 --variant 201
      whether any case rejects one of these, which are right
  cargo xtask adequacy --filter 'numeric/rope/*'
      what these cases alone reject
  cargo xtask adequacy --mutant r05
      which cases reject validators that go wrong at steps whose ids begin so
  cargo xtask adequacy --write
      write the tables into spec/adequacy.md
  cargo xtask adequacy --validators --write
      write those into spec/adequacy-of-validators.md alone, after a change of cases that ask for a verdict

Exit code: 0 if every fault is rejected often enough and no variant is rejected, 1 if not, 2 if the run could not be done.";

/// Measure the corpus by implementations that are known to be wrong, and others that are known to be right
///
/// Every seeded fault has to be rejected by at least three cases at every output dtype in which it can show, and no
/// legitimate variant by any. All are played in process, and judged as the runner judges a worker. So are faulty validators, on
/// the cases that ask for a verdict.
#[derive(clap::Args)]
#[command(after_help = EXAMPLES)]
pub struct Args {
    /// Play the cases whose id matches only; `*` crosses slashes. Then a fault may survive
    #[arg(long, value_name = "GLOB", value_parser = Filter::new)]
    filter: Option<Filter>,

    /// Play this fault only, and print the cases that reject it; may be repeated
    #[arg(long = "fault", value_name = "ID", value_parser = known_fault)]
    faults: Vec<&'static Fault>,

    /// Play this legitimate variant only, by its number, and print what rejects it; may be repeated
    #[arg(long = "variant", value_name = "NUMBER", value_parser = known_variant, conflicts_with = "faults")]
    variants: Vec<Variant>,

    /// Play the faults of validators only, and print the cases that reject those whose id begins like this
    #[arg(long, value_name = "ID", conflicts_with_all = ["faults", "variants", "write", "check"])]
    mutant: Option<String>,

    /// Play the faults of validators only; with --write or --check, the page on them only
    #[arg(long, conflicts_with_all = ["faults", "variants", "mutant"])]
    validators: bool,

    /// How many threads; by default one for each processor
    #[arg(long, value_name = "N")]
    jobs: Option<NonZeroUsize>,

    /// Write the tables into spec/adequacy.md and spec/adequacy-of-validators.md
    #[arg(long, conflicts_with_all = ["filter", "faults", "variants"])]
    write: bool,

    /// Fail if the tables are not those of these pages
    #[arg(long, conflicts_with_all = ["filter", "faults", "variants", "write"])]
    check: bool,

    /// The directory of the corpus; by default the repository's own
    #[arg(long, value_name = "DIRECTORY")]
    corpus: Option<PathBuf>,
}

impl Args {
    fn wants(&self, case: &Case) -> bool {
        self.filter.as_ref().is_none_or(|filter| filter.matches(&case.id))
    }
}

fn known_fault(id: &str) -> std::result::Result<&'static Fault, String> {
    fault(id).ok_or_else(|| format!("no fault has the id `{id}`"))
}

fn known_variant(number: &str) -> std::result::Result<Variant, String> {
    let found = number.parse().ok().and_then(variants::variant);
    found
        .ok_or_else(|| format!("no variant has the number `{number}`; they are 0 to {}", variants::COUNT - 1))
}

/// Runs the command.
pub fn run(root: &Path, args: &Args) -> ExitCode {
    match adequacy(root, args) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::from(2)
        }
    }
}

fn adequacy(root: &Path, args: &Args) -> std::result::Result<bool, String> {
    let corpus = args.corpus.clone().unwrap_or_else(|| root.join("corpus"));
    let corpus = Corpus::load(&corpus).map_err(|cause| format!("the corpus cannot be used: {cause}"))?;
    let jobs = args.jobs.or(std::thread::available_parallelism().ok()).unwrap_or(NonZeroUsize::MIN);
    if let Some(id) = &args.mutant {
        return mutant(&of_validators(&corpus, args, jobs)?, id);
    }
    if args.validators {
        return validators_alone(root, &corpus, args, jobs);
    }
    let wanted = |case: &Case| args.wants(case);
    let cases: Vec<&Case> =
        corpus.cases().iter().filter(|case| case.execute.is_some() && wanted(case)).collect();
    let some = !args.faults.is_empty() || !args.variants.is_empty();
    let graphs = match some {
        true => None,
        false => Some(of_companions(&corpus, &wanted)?),
    };
    if cases.is_empty() {
        if some {
            return Err("the corpus has no such case that executes".to_owned());
        }
        // Of companions or validators alone the tables of numbers say nothing.
        let measured = of_validators(&corpus, args, jobs)?;
        let graphs = graphs.filter(|measured| measured.cases > 0);
        if measured.cases == 0 && graphs.is_none() {
            return Err("the corpus has no such case that executes, asks for a verdict, or is of a companion with faults".to_owned());
        }
        let good = validator_verdict(&measured, args.filter.is_none())?;
        return Ok(
            graphs.map_or(Ok(true), |measured| graph_verdict(&measured, args.filter.is_none()))? && good
        );
    }
    let plan = Plan {
        corpus: &corpus,
        cases,
        faults: if some { args.faults.clone() } else { report::all_faults() },
        variants: if some { args.variants.clone() } else { variants::all() },
    };
    let bar = terminal::progress_bar(plan.cases.len());
    let progress = |so_far: &Result| {
        let alarms = so_far.false_alarms.len();
        if alarms > 0 {
            bar.set_message(format!("{alarms} false alarms"));
        }
        bar.inc(1);
    };
    let result = measure(&plan, jobs, &progress);
    bar.finish_and_clear();
    let result = result?;
    if !args.variants.is_empty() {
        return verdict(&plan, &result, false);
    }
    if some {
        return rejections(&plan, &result);
    }
    print(&format!(
        "{}\n{}\n{}\n",
        report::kill_table(&plan.faults, &result),
        report::long_table(&result),
        report::tightness_table(&result)
    ))?;
    let mut good = verdict(&plan, &result, args.filter.is_none())?;
    let Some(graphs) = graphs else { return Ok(good) };
    good &= graph_verdict(&graphs, args.filter.is_none())?;
    let measured = of_validators(&corpus, args, jobs)?;
    good &= validator_verdict(&measured, args.filter.is_none())?;
    settle_validators(root, args, &measured)?;
    if args.check || args.write && result.false_alarms.is_empty() {
        settle(root, report::DOCUMENT, &report::page(&plan, &result, &graphs.text), args.check)?;
    }
    Ok(good)
}

/// The part of the command that is about validators.
fn validators_alone(
    root: &Path,
    corpus: &Corpus,
    args: &Args,
    jobs: NonZeroUsize,
) -> std::result::Result<bool, String> {
    let measured = of_validators(corpus, args, jobs)?;
    if measured.cases == 0 {
        return Err("the corpus has no such case that asks for a verdict on a program".to_owned());
    }
    let good = validator_verdict(&measured, args.filter.is_none())?;
    settle_validators(root, args, &measured)?;
    Ok(good)
}

/// A shortfall of the corpus stands in the page; a false alarm is a fault to mend before it is written.
fn settle_validators(root: &Path, args: &Args, measured: &Validators) -> std::result::Result<(), String> {
    if args.check || args.write && measured.false_alarms.is_empty() {
        settle(root, mutants::DOCUMENT, &mutants::page(measured), args.check)?;
    }
    Ok(())
}

/// Writes a page, or compares it with the one that is there.
fn settle(root: &Path, document: &str, page: &str, check: bool) -> std::result::Result<(), String> {
    let path = root.join(document);
    if !check {
        return std::fs::write(path, page).map_err(|cause| format!("{document} cannot be written: {cause}"));
    }
    let found =
        std::fs::read_to_string(path).map_err(|cause| format!("{document} cannot be read: {cause}"))?;
    if found == page {
        return Ok(());
    }
    let line = found.lines().zip(page.lines()).take_while(|(found, made)| found == made).count();
    Err(format!(
        "{document} is out of date from line {} on; found `{}`, required `{}`; write it with `cargo xtask adequacy --write`",
        line + 1,
        found.lines().nth(line).unwrap_or_default(),
        page.lines().nth(line).unwrap_or_default()
    ))
}

fn of_validators(
    corpus: &Corpus,
    args: &Args,
    jobs: NonZeroUsize,
) -> std::result::Result<Validators, String> {
    validators::measure(corpus, &|case| args.wants(case), jobs)
}

/// Prints what the faults of validators came to, and says whether the corpus, where it was played as a whole, rejects them all.
fn validator_verdict(measured: &Validators, whole: bool) -> std::result::Result<bool, String> {
    if measured.cases == 0 {
        return Ok(true);
    }
    let mut text: String =
        measured.false_alarms.iter().map(|alarm| format!("false alarm: {alarm}\n")).collect();
    let survivors = mutants::survivors(measured);
    let contradictions = mutants::contradictions(measured);
    if whole {
        for (step, count) in &survivors {
            text.push_str(&format!("too few: {count} cases reject `{step}`\n"));
        }
        contradictions.iter().for_each(|problem| text.push_str(&format!("{problem}\n")));
    }
    text.push_str(&format!(
        "{} faults of validators, {} cases: {} rejected by fewer than {} of them, {} false alarms\n",
        measured.kills.len(),
        measured.cases,
        survivors.len(),
        mutants::REQUIRED,
        measured.false_alarms.len()
    ));
    print(&text)?;
    Ok(measured.false_alarms.is_empty() && (!whole || survivors.is_empty() && contradictions.is_empty()))
}

/// Prints which cases reject the faults of validators whose id begins like this.
fn mutant(measured: &Validators, id: &str) -> std::result::Result<bool, String> {
    let mut text = String::new();
    for (step, cases) in measured.kills.iter().filter(|(step, _)| step.to_string().starts_with(id)) {
        text.push_str(&format!("{step}: {} cases\n", measured.count(step)));
        cases.iter().for_each(|case| text.push_str(&format!("  {case}\n")));
    }
    if text.is_empty() {
        return Err(format!("no case takes a step whose id begins with `{id}`"));
    }
    print(&text)?;
    validator_verdict(measured, false)
}

/// The faults of all companions together.
fn of_companions(corpus: &Corpus, wanted: &dyn Fn(&Case) -> bool) -> std::result::Result<Measured, String> {
    let mut all = Measured::default();
    let references = REFERENCES.iter().map(|companion| (companion.reference)()).collect();
    let mut references = Composed::new("megakernel-reference", env!("CARGO_PKG_VERSION"), references);
    for measure in CASES.iter().filter_map(|companion| companion.measure) {
        let one = measure(corpus, wanted, &mut references)?;
        all.faults += one.faults;
        all.cases += one.cases;
        // A section each, with an empty line between.
        all.text.push_str(&format!("{}\n", one.text));
        all.survivors.extend(one.survivors);
        all.false_alarms.extend(one.false_alarms);
    }
    Ok(all)
}

/// Prints the faults of companions, and says whether the corpus rejects them all and nothing else.
fn graph_verdict(measured: &Measured, whole: bool) -> std::result::Result<bool, String> {
    if measured.cases == 0 {
        return Ok(true);
    }
    let survivors: &[String] = if whole { &measured.survivors } else { &[] };
    let problems = survivors.len() + measured.false_alarms.len();
    let lines: String =
        survivors.iter().chain(&measured.false_alarms).map(|problem| format!("{problem}\n")).collect();
    print(&format!(
        "{}\n{lines}{} faults, {} cases of companions: {problems} problems\n",
        measured.text, measured.faults, measured.cases,
    ))?;
    Ok(problems == 0)
}

/// Prints which cases reject the faults that were asked for.
fn rejections(plan: &Plan<'_>, result: &Result) -> std::result::Result<bool, String> {
    let mut text = String::new();
    for fault in &plan.faults {
        let cases: Vec<&str> = result
            .kills
            .get(fault.id)
            .into_iter()
            .flatten()
            .flat_map(|(_, ids)| ids)
            .map(String::as_str)
            .collect();
        text.push_str(&format!("{}: {} cases\n", fault.id, cases.len()));
        cases.iter().for_each(|case| text.push_str(&format!("  {case}\n")));
    }
    print(&text)?;
    Ok(result.kills.len() == plan.faults.len())
}

/// Prints what is wrong, and says whether nothing is. Of some cases alone nobody expects that they reject every fault.
fn verdict(plan: &Plan<'_>, result: &Result, whole: bool) -> std::result::Result<bool, String> {
    let survivors = if whole { report::survivors(&plan.faults, result) } else { Vec::new() };
    let mut text = String::new();
    for report::Survivor { fault, column, of, count } in &survivors {
        text.push_str(&format!("{fault} survives at {column}: {count} cases of {of} reject it\n"));
    }
    for alarm in &result.false_alarms {
        text.push_str(&format!(
            "false alarm: variant {} fails {}: {}\n",
            alarm.variant, alarm.case, alarm.what
        ));
    }
    let good = survivors.is_empty() && result.false_alarms.is_empty();
    text.push_str(&format!(
        "{} faults, {} variants, {} cases: {} survivors, {} false alarms\n",
        plan.faults.len(),
        plan.variants.len(),
        plan.cases.len(),
        survivors.len(),
        result.false_alarms.len()
    ));
    print(&text)?;
    Ok(good)
}
