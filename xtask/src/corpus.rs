//! `cargo xtask corpus generate | check | stats`: the corpus as files.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Subcommand;
use megakernel_conformance::generate::{self, Differences, Generated, Options};

/// Generate the corpus of cases, check that it is up to date, or count it
///
/// The corpus is generated: programs and cases come from the families in crates/conformance/src/families, and from the
/// examples in spec/rules. Change those, then run `cargo xtask corpus generate` and review the diff. The files are
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
    jobs: Option<usize>,
}

#[derive(Subcommand)]
enum Command {
    /// Write programs, cases and manifest; remove what else lies under `cases` and `programs`
    Generate,
    /// Write nothing: fail, and list the files, if the corpus is not what `generate` would write
    Check,
    /// Count cases by verdict, profile, rule, clause and family
    Stats,
}

/// The command: 0 when it did what was asked, 1 when `check` finds differences, 2 when it could not run.
pub fn run(root: &Path, args: &Args) -> ExitCode {
    let jobs = args.jobs.or_else(|| std::thread::available_parallelism().ok().map(usize::from)).unwrap_or(1);
    let options = Options { root: root.to_owned(), seed: args.seed, jobs };
    let directory = args.corpus.clone().unwrap_or_else(|| root.join("corpus"));
    let done = match generate::generate(&options) {
        Err(error) => Err(error.to_string()),
        Ok(generated) => match args.command {
            Command::Generate => write(&directory, &generated),
            Command::Check => check(&directory, &generated),
            Command::Stats => {
                // A reader that has seen enough, such as `head`, closes the pipe; that is no error.
                let _ = std::io::stdout().write_all(stats(&generated).as_bytes());
                Ok(ExitCode::SUCCESS)
            }
        },
    };
    done.unwrap_or_else(|error| {
        eprintln!("error: {error}");
        ExitCode::from(2)
    })
}

fn size(generated: &Generated) -> String {
    let bytes: usize = generated.files.values().map(String::len).sum();
    let programs = generated.library.iter().count();
    format!("{} cases, {programs} programs, {:.1} MB", generated.cases.len(), bytes as f64 / 1e6)
}

fn write(directory: &Path, generated: &Generated) -> Result<ExitCode, String> {
    let changed =
        generate::write(directory, generated).map_err(|error| format!("{}: {error}", directory.display()))?;
    let Differences { missing, extra, different } = &changed;
    println!(
        "{}: {}; {} files added, {} changed, {} removed",
        directory.display(),
        size(generated),
        missing.len(),
        different.len(),
        extra.len()
    );
    Ok(ExitCode::SUCCESS)
}

fn check(directory: &Path, generated: &Generated) -> Result<ExitCode, String> {
    let found = generate::compare(directory, generated)
        .map_err(|error| format!("{}: {error}", directory.display()))?;
    if found.is_empty() {
        println!("{} is up to date: {}", directory.display(), size(generated));
        return Ok(ExitCode::SUCCESS);
    }
    for (what, paths) in
        [("missing", &found.missing), ("extra", &found.extra), ("different", &found.different)]
    {
        for path in paths {
            println!("{what} {path}");
        }
    }
    eprintln!(
        "error: {} is out of date: {} files missing, {} extra, {} different; run `cargo xtask corpus generate`",
        directory.display(),
        found.missing.len(),
        found.extra.len(),
        found.different.len()
    );
    Ok(ExitCode::FAILURE)
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
        out.push_str(title);
        out.push('\n');
        for (key, count) in map {
            out.push_str(&format!("  {count:>5}  {key}\n"));
        }
    }
    out.push_str(&size(generated));
    out.push('\n');
    out
}
