//! `cargo xtask release-gate`: whether this state of specification, corpus, reference and evidence may be published.

pub mod evidence;
pub mod figures;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::{Instant, SystemTime, UNIX_EPOCH};

use crate::ci::{self, IN_PART, SELF};
use crate::ledger;
use crate::print;
use crate::records::{self, Device, Record};
use crate::tidy::cases;
use crate::tidy::tree::Files;

/// Say whether this state of specification, corpus, reference and evidence may be published
///
/// Compares the repository with the ledger of the last release, runs every step of `ci` and the longer checks of specification, corpus
/// and reference, and compares the records under evidence/ with the corpus and the kernels as they are (clause CON-14). A record that
/// is stale, that fails, or that leaves out an opcode is an error. Targets without evidence are listed: a release must not claim them.
/// Ends with a table: check, verdict, seconds. docs/versioning.md says which check sees what.
#[derive(clap::Args)]
#[command(after_help = "Exit code: 0 if it may be published, 1 if not, 2 if that cannot be told.")]
pub struct Args {
    /// A target that the release claims besides `host`, such as sm_90a; may be repeated
    #[arg(long = "require", value_name = "TARGET")]
    required: Vec<String>,

    /// Judge the records alone, and run no other check
    #[arg(long)]
    evidence_only: bool,

    /// The directory of the records; by default the repository's own
    #[arg(long, value_name = "DIRECTORY")]
    evidence: Option<PathBuf>,

    /// The directory of the corpus; by default the repository's own
    #[arg(long, value_name = "DIRECTORY")]
    corpus: Option<PathBuf>,
}

/// The target that every release needs evidence of, since everybody can make it.
const HOST: &str = "host";

/// What a release needs besides evidence and the steps of `ci`: what is checked, how, and the exit code of success.
const CHECKS: [(&str, &[&str], i32); 21] = [
    (
        "tests that need minutes",
        &["cargo", "test", "--workspace", "--no-fail-fast", "--", "--ignored", "minutes_"],
        0,
    ),
    ("the corpus with every certificate is what the generator writes", &[SELF, "corpus", "check"], 0),
    ("what a release publishes can be made", &[SELF, "dist"], 0),
    ("the documentation has no warning", &["cargo", "doc", "--quiet", "--workspace", "--no-deps"], 0),
    ("independent checks of the oracle agree", &["checks/run"], 0),
    ("the kernels compile for every target", &["checks/run", "targets"], 0),
    ("every version of the compiler takes the kernels", &["checks/run", "compilers"], 0),
    ("inner loops are those that are published", &["checks/run", "sass"], 0),
    ("the worker of the examples compiles for every target", &["checks/run", "nvcc"], 0),
    // Without the cases of many launches: every kernel and every wait is in the others.
    (
        "the kernels conform under sanitizers",
        &[
            SELF,
            "conform",
            "--impl",
            "cuda --sanitize address,undefined --limit 60",
            "--profile",
            "execute",
            "--filter",
            "{numeric,execution/order,execution/blocks,execution/decode}/*",
            "--timeout",
            "120",
        ],
        IN_PART,
    ),
    ("each mode of the harness finds its fault", &["python3", "checks/modes.py"], 0),
    ("the published adequacy is what is measured", &[SELF, "adequacy", "--check"], 0),
    ("soundness at random, of more programs", &[SELF, "agree", "--count", "100000"], 0),
    ("the reference is sound", &[SELF, "prove", "--scope", "ci", "--check"], 0),
    ("the reference is sound on task graphs", &[SELF, "prove", "--scope", "task-graph-ci", "--check"], 0),
    (
        "the reference is sound on task graphs of the current generator",
        &[SELF, "prove", "--scope", "task-graph-current", "--check"],
        0,
    ),
    (
        "the reference is sound on collective algorithms",
        &[SELF, "prove", "--scope", "collectives-ci", "--check"],
        0,
    ),
    (
        "the reference is sound on a sample of larger collective algorithms",
        &[SELF, "prove", "--scope", "collectives-sampled", "--check"],
        0,
    ),
    ("the reference is sound on selection", &[SELF, "prove", "--scope", "selection-ci", "--check"], 0),
    ("the reference is sound on memory-centric IR", &[SELF, "prove", "--scope", "mcir-ci", "--check"], 0),
    (
        "faulty judges and executors of memory-centric IR are rejected",
        &["python3", "examples/mcir/faults.py"],
        0,
    ),
];

/// One part of the gate.
#[derive(Debug, Default)]
struct Part {
    errors: Vec<String>,
    notes: Vec<String>,
}

/// Runs the command.
pub fn run(root: &Path, args: &Args) -> ExitCode {
    match gate(root, args) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::from(2)
        }
    }
}

fn gate(root: &Path, args: &Args) -> Result<bool, String> {
    let folder = args.evidence.clone().unwrap_or_else(|| root.join("evidence"));
    let mut table = Table::default();
    if !args.evidence_only {
        table.add("the state is a commit", || committed(root))?;
        table.add("the change log has the version", || Ok(change_log(root)))?;
        table.add("nothing is broken since the last release", || since_the_last(root))?;
        table.add("figures in documents are those of the corpus", || figures_of(root))?;
        // The corpus is compared whole below.
        let steps =
            ci::steps().filter(|(name, _)| *name != ci::CORPUS).map(|(name, command)| (name, command, 0));
        for (name, command, required) in steps.chain(CHECKS) {
            print(&format!("== {name}: {}\n", command.join(" ")))?;
            table.add(name, || {
                let passed = ci::exit_code(root, command) == Some(required);
                let errors = if passed { Vec::new() } else { vec!["see above".to_owned()] };
                Ok(Part { errors, notes: Vec::new() })
            })?;
        }
    }
    let start = Instant::now();
    let records = Records(records::read(root, &folder, args.corpus.as_deref())?);
    let targets = targets(&root.join("targets"))?;
    // All records are read at once; the first row has the time of that.
    let mut read = Some(start);
    for (name, part) in records.parts(&folder, &targets) {
        table.row(&name, part, read.take().unwrap_or_else(Instant::now))?;
    }
    let required = [HOST].into_iter().chain(args.required.iter().map(String::as_str));
    table.add("required targets have evidence", || Ok(records.required(required)))?;
    table.add("targets", || Ok(records.targets(&targets)))?;
    print(&table.text())?;
    print(&match table.errors {
        0 => "release gate: may be published\n".to_owned(),
        errors => format!("release gate: {errors} errors, may not be published\n"),
    })?;
    Ok(table.errors == 0)
}

/// What was checked so far.
#[derive(Default)]
struct Table {
    rows: Vec<(String, bool, u64)>,
    errors: usize,
}

impl Table {
    /// Runs a check and says what it found.
    fn add(&mut self, name: &str, check: impl FnOnce() -> Result<Part, String>) -> Result<(), String> {
        let start = Instant::now();
        self.row(name, check()?, start)
    }

    fn row(&mut self, name: &str, part: Part, start: Instant) -> Result<(), String> {
        self.errors += part.errors.len();
        self.rows.push((name.to_owned(), part.errors.is_empty(), start.elapsed().as_secs()));
        print(&described(name, &part))
    }

    fn text(&self) -> String {
        let mut text =
            "\ncheck                                                             verdict  seconds\n"
                .to_owned();
        for (name, passed, seconds) in &self.rows {
            let verdict = if *passed { "ok" } else { "FAILED" };
            text += &format!("{name:<64}  {verdict:<7}  {seconds:>7}\n");
        }
        text + "\n"
    }
}

fn since_the_last(root: &Path) -> Result<Part, String> {
    let found = ledger::since_the_last(root)?;
    let named = found.named.into_iter().map(|what| format!("named in the changelog: {what}"));
    Ok(Part { errors: found.refused, notes: named.collect() })
}

fn figures_of(root: &Path) -> Result<Part, String> {
    let errors = figures::wrong(&Files::read(root)?, &cases::read(&root.join("corpus/cases"))?);
    Ok(Part { errors, notes: Vec::new() })
}

fn described(name: &str, part: &Part) -> String {
    let verdict = if part.errors.is_empty() { "ok" } else { "FAILED" };
    let mut text = format!("release gate: {name} ... {verdict}\n");
    part.errors.iter().for_each(|error| text += &format!("  error: {error}\n"));
    part.notes.iter().for_each(|note| text += &format!("  note: {note}\n"));
    text
}

fn committed(root: &Path) -> Result<Part, String> {
    let output = Command::new("git")
        .args(["status", "--porcelain"])
        .current_dir(root)
        .output()
        .map_err(|cause| format!("git cannot be run: {cause}"))?;
    if !output.status.success() {
        return Err("git status failed; a release is made of a checkout".to_owned());
    }
    let text = String::from_utf8_lossy(&output.stdout);
    let changed = text.lines().map(|line| format!("not committed: {}", line.trim()));
    Ok(Part { errors: changed.collect(), notes: Vec::new() })
}

fn change_log(root: &Path) -> Part {
    let version = env!("CARGO_PKG_VERSION");
    let text = std::fs::read_to_string(root.join("CHANGELOG.md")).unwrap_or_default();
    let mut part = Part::default();
    match text.lines().find(|line| line.starts_with(&format!("## {version}"))) {
        None => part.errors.push(format!("CHANGELOG.md has no section `## {version}`")),
        Some(line) if line.contains("not released") => {
            part.notes.push(format!("its heading still says `{line}`: give it a date"));
        }
        Some(_) => {}
    }
    part
}

/// The records of a folder by file name.
struct Records(BTreeMap<String, Record>);

impl Records {
    fn devices(&self) -> impl Iterator<Item = &Device> {
        self.0.values().filter_map(|record| record.device.as_ref())
    }

    fn parts(&self, folder: &Path, targets: &[evidence::Target]) -> Vec<(String, Part)> {
        let part = |(name, record): (&String, &Record)| {
            let text = std::fs::read_to_string(folder.join(name)).unwrap_or_default();
            let figures = evidence::wrong(&text, targets);
            let Record { problem, stale, wrong, notes, .. } = record;
            let problem = problem.iter().map(|problem| format!("is no record: {problem}"));
            let stale = stale.iter().map(|why| format!("stale: {why}"));
            let errors = problem.chain(stale).chain(wrong.iter().cloned()).chain(figures).collect();
            let claim = evidence::claimed(&text)
                .then(|| "is what others claim: nobody here can tell which kernels ran".to_owned());
            (format!("evidence/{name}"), Part { errors, notes: notes.iter().cloned().chain(claim).collect() })
        };
        self.0.iter().map(part).collect()
    }

    /// Required targets that no record is about. Whether the records that there are support a release is said of each.
    fn required<'t>(&self, targets: impl Iterator<Item = &'t str>) -> Part {
        let lacking = targets.filter(|target| self.devices().all(|device| device.target != *target));
        let lacking = lacking.map(|target| format!("there is no record of target `{target}`"));
        Part { errors: lacking.collect(), notes: Vec::new() }
    }

    /// Target records without evidence, and devices that no target record lists.
    fn targets(&self, targets: &[evidence::Target]) -> Part {
        let mut part = Part::default();
        let mut listed = Vec::new();
        let mut without = Vec::new();
        let today = today();
        for evidence::Target { name, devices, .. } in targets {
            let of = |record: &Record| {
                let device = record.device.as_ref().filter(|device| devices.contains(&device.name))?;
                let date = device.date.as_deref().unwrap_or("an unknown day");
                let age = days(date).map(|day| format!(", {} days old", today - day)).unwrap_or_default();
                let stale = if record.stale.is_empty() { "" } else { ", stale" };
                Some(format!("{date}{age}{stale}"))
            };
            let all: Vec<String> = self.0.values().filter_map(of).collect();
            if all.is_empty() {
                without.push(name.as_str());
            } else {
                part.notes.push(format!("{name:<10} evidence of {}", all.join("; of ")));
            }
            listed.extend(devices);
        }
        if !without.is_empty() {
            part.notes.push(format!("without evidence, so not to be claimed: {}", without.join(", ")));
        }
        let gpus = self.devices().filter(|device| device.target != HOST).map(|device| &device.name);
        for device in gpus.filter(|name| !listed.contains(name)) {
            part.notes.push(format!("no record under targets/ lists the device `{device}`"));
        }
        part
    }
}

/// The days from the beginning of 1970 to now, in UTC.
fn today() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs() / 86_400).unwrap_or(i64::MAX)
}

/// The days from the beginning of 1970 to a day such as `2026-11-23`, if it is one.
fn days(date: &str) -> Option<i64> {
    let parts: Vec<i64> = date.split('-').map(str::parse).collect::<Result<_, _>>().ok()?;
    let &[year @ 1970..=9999, month @ 1..=12, day @ 1..=31] = &parts[..] else { return None };
    // Years begin in March, so that the day that some have comes last.
    let (year, month) = if month < 3 { (year - 1, month + 9) } else { (year, month - 3) };
    Some(year * 365 + year / 4 - year / 100 + year / 400 + (month * 153 + 2) / 5 + day - 1 - 719_468)
}

/// The target records, by name.
fn targets(folder: &Path) -> Result<Vec<evidence::Target>, String> {
    #[derive(serde::Deserialize)]
    struct Record {
        target: Gpu,
        devices: Vec<String>,
    }
    #[derive(serde::Deserialize)]
    struct Gpu {
        sm_arch: u64,
    }
    let failed = |path: &Path, cause: &dyn std::fmt::Display| format!("{}: {cause}", path.display());
    let mut targets = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(|cause| failed(folder, &cause))? {
        let path = entry.map_err(|cause| failed(folder, &cause))?.path();
        if path.extension().is_some_and(|extension| extension == "json") {
            let text = std::fs::read_to_string(&path).map_err(|cause| failed(&path, &cause))?;
            let record: Record = serde_json::from_str(&text).map_err(|cause| failed(&path, &cause))?;
            let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
            targets.push(evidence::Target { name, arch: record.target.sm_arch, devices: record.devices });
        }
    }
    targets.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(targets)
}

#[cfg(test)]
mod tests {
    use super::days;

    #[test]
    fn days_are_those_of_the_calendar() {
        // As `date --utc --date=DAY +%s` says, divided by 86,400.
        for (date, expected) in [
            ("1970-01-01", 0),
            ("2000-02-29", 11_016),
            ("2000-03-01", 11_017),
            ("2026-11-27", 20_784),
            ("2100-03-01", 47_541),
        ] {
            assert_eq!(days(date), Some(expected), "{date}");
        }
        for date in ["an unknown day", "2026-13-01", "2026-11", ""] {
            assert_eq!(days(date), None, "{date}");
        }
    }
}
