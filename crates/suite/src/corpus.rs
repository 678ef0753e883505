//! `cargo xtask corpus generate | check | stats`: the corpus as files.

use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Subcommand;
use megakernel_conformance::case::Case;
use megakernel_conformance::store::Filter;
use megakernel_corpus::generate::{self, Certify, Differences, Generated, Options, ToCertify, Wanted};
use megakernel_corpus::oracle::Oracle;
use megakernel_suite::certify::certify;
use megakernel_suite::companions::CASES;
use megakernel_suite::oracle::Vm;

use crate::print;

/// Generate the corpus of cases, check that it is up to date, or count it; `cargo xtask corpus document CASE` prints a document
///
/// The corpus is generated: programs, cases and inputs come from the families in crates/corpus and those of the companions, and from
/// the examples in spec/rules; the VM of the reference adds values and bounds. Change those, then run `cargo xtask corpus generate` and review the diff. The files are
/// the same, byte for byte, whatever the number of jobs.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
    /// Directory of the corpus [default: corpus, in the repository]
    #[arg(long, global = true, value_name = "DIR")]
    corpus: Option<PathBuf>,
    /// Corpus seed: another seed gives other random programs
    #[arg(long, global = true, default_value_t = 0)]
    seed: u64,
    /// Families generated at a time [default: one for each processor]
    #[arg(long, global = true, value_name = "N")]
    jobs: Option<NonZeroUsize>,
    /// Only cases whose id matches, such as 'numeric/gelu/*', and what they need; all else stays as it lies in the directory, and so do
    /// programs and tensors that no case needs any longer. A case that no family has any longer is removed
    #[arg(long, global = true, value_name = "GLOB", value_parser = Filter::new)]
    filter: Option<Filter>,
}

#[derive(Subcommand)]
enum Command {
    /// Write programs, cases, tensors and manifest; remove what else lies under `cases`, `programs` and `tensors`
    Generate,
    /// Write nothing: fail, and list the files, if the corpus is not what `generate` would write
    Check {
        /// Make one in 23 of the cases of single opcodes anew, with its certificate, and take the others as the corpus has them; of all
        /// other cases that execute, one in 23 gets its certificate anew. That saves most of the time; the release gate makes all anew
        #[arg(long)]
        sample: bool,
    },
    /// Count cases by verdict, profile, rule, clause, family and the seeded faults that they reject
    Stats,
}

/// The command: 0 when it did what was asked, 1 when `check` finds differences, 2 when it could not run.
pub fn run(root: &Path, args: &Args) -> ExitCode {
    let directory = args.corpus.clone().unwrap_or_else(|| root.join("corpus"));
    let anew = |_: &str, executed: &ToCertify<'_>| certify(executed);
    let sampled = |id: &str, executed: &ToCertify<'_>| match kept(&directory, id) {
        Some(certificate) => Ok(certificate),
        None => certify(executed),
    };
    let certify: &Certify<'_> =
        if matches!(args.command, Command::Check { sample: true }) { &sampled } else { &anew };
    let generated = || generate(root, &directory, args, certify);
    let done = match &args.command {
        Command::Generate => generated().and_then(|generated| write(&directory, &generated)),
        Command::Check { .. } => generated().and_then(|generated| check(&directory, &generated)),
        Command::Stats => {
            generated().and_then(|generated| print(&stats(&generated))).map(|()| ExitCode::SUCCESS)
        }
    };
    done.unwrap_or_else(|error| {
        eprintln!("error: {error}");
        ExitCode::from(2)
    })
}

/// Whether a case is in the sample. Which ones are is the same every time, and spread over all families.
fn is_in_sample(id: &str) -> bool {
    id.bytes().map(usize::from).sum::<usize>().is_multiple_of(23)
}

/// The certificate that a case has in the corpus; nothing for the sample that is certified anew, for a case without one, and for one
/// that cannot be read.
fn kept(directory: &Path, id: &str) -> Option<Vec<String>> {
    if is_in_sample(id) {
        return None;
    }
    let case: Case =
        serde_json::from_slice(&std::fs::read(directory.join(format!("cases/{id}.json"))).ok()?).ok()?;
    case.execute.map(|execution| execution.certificate).filter(|certificate| !certificate.is_empty())
}

fn generate(root: &Path, directory: &Path, args: &Args, certify: &Certify<'_>) -> Result<Generated, String> {
    let cores = std::thread::available_parallelism().unwrap_or(NonZeroUsize::MIN);
    let jobs = args.jobs.unwrap_or(cores).get();
    let oracle: Option<&dyn Oracle> = Some(&Vm);
    let is_sample = matches!(args.command, Command::Check { sample: true });
    let wanted: &Wanted<'_> = &|id: &str| {
        let is_asked_for = args.filter.as_ref().is_none_or(|filter| filter.matches(id));
        is_asked_for && (!is_sample || !id.starts_with("numeric/") || is_in_sample(id))
    };
    let begun: &Wanted<'_> =
        &|start: &str| args.filter.as_ref().is_none_or(|filter| filter.may_match_below(start));
    let root = root.to_owned();
    let options = Options {
        root,
        companions: CASES,
        seed: args.seed,
        jobs,
        oracle,
        certify: Some(certify),
        wanted,
        begun,
    };
    let part = generate::generate(&options).map_err(|error| error.to_string())?;
    match &args.filter {
        Some(filter) if part.cases.is_empty() && !is_sample => Err(format!(
            "no family has a case `{}`; ids are listed by `cargo xtask conform --list`",
            filter.as_str()
        )),
        _ if is_sample || args.filter.is_some() && !matches!(args.command, Command::Stats) => {
            generate::within(directory, part, &options).map_err(|error| error.to_string())
        }
        _ => Ok(part),
    }
}

fn size(generated: &Generated) -> String {
    let bytes: usize = generated.files.values().map(Vec::len).sum();
    let count = |part: &str| generated.files.keys().filter(|path| path.starts_with(part)).count();
    let (programs, tensors) = (count("programs/"), count("tensors/"));
    format!(
        "{} cases, {programs} programs, {tensors} tensor files, {:.1} MB",
        generated.cases.len(),
        bytes as f64 / 1e6
    )
}

fn write(directory: &Path, generated: &Generated) -> Result<ExitCode, String> {
    let changed =
        generate::write(directory, generated).map_err(|error| format!("{}: {error}", directory.display()))?;
    let Differences { missing, extra, different } = &changed;
    print(&format!(
        "{}: {}; {} files added, {} changed, {} removed\n",
        directory.display(),
        size(generated),
        missing.len(),
        different.len(),
        extra.len()
    ))?;
    Ok(ExitCode::SUCCESS)
}

fn check(directory: &Path, generated: &Generated) -> Result<ExitCode, String> {
    let found = generate::compare(directory, generated)
        .map_err(|error| format!("{}: {error}", directory.display()))?;
    if found.is_empty() {
        print(&format!("{} is up to date: {}\n", directory.display(), size(generated)))?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut lines = String::new();
    for (what, paths) in
        [("missing", &found.missing), ("extra", &found.extra), ("different", &found.different)]
    {
        for path in paths {
            lines.push_str(&format!("{what} {path}\n"));
        }
    }
    print(&lines)?;
    eprintln!(
        "error: {} is out of date: {} files missing, {} extra, {} different; run `cargo xtask corpus generate`",
        directory.display(),
        found.missing.len(),
        found.extra.len(),
        found.different.len()
    );
    Ok(ExitCode::FAILURE)
}

fn list(out: &mut String, title: &str, counts: &BTreeMap<String, usize>) {
    out.push_str(title);
    out.push('\n');
    for (key, count) in counts {
        out.push_str(&format!("  {count:>5}  {key}\n"));
    }
}

fn stats(generated: &Generated) -> String {
    let counts = &generated.counts;
    let mut out = String::new();
    for (title, map) in [
        ("verdict", &counts.verdicts),
        ("profile", &counts.profiles),
        ("rule", &counts.rules),
        ("clause", &counts.clauses),
        ("family", &counts.families),
    ] {
        list(&mut out, title, map);
    }
    let mut faults = BTreeMap::new();
    for fault in
        generated.cases.iter().flat_map(|case| &case.execute).flat_map(|execution| &execution.certificate)
    {
        *faults.entry(fault.clone()).or_default() += 1;
    }
    list(&mut out, "fault, rejected by", &faults);
    out.push_str(&size(generated));
    out.push('\n');
    out
}
