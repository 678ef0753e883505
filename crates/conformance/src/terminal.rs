//! A report for people, and the progress bar.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::IsTerminal;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use megakernel_ir::terminal::colours;

use crate::report::{
    CauseResult, ClauseResult, Counts, ExecutedResult, FailureKind, FailureReport, ProfileResult,
    ProfileVerdict, Report, SizeResult,
};
use crate::text::excerpt;

/// Lines of a list that are printed where not all were asked for.
const LINES: usize = 10;

/// Other cases of a cause that are named.
const OTHERS: usize = 3;

/// How to print a report.
#[derive(Clone, Debug, Default)]
pub struct Style {
    /// With ANSI colours.
    pub colour: bool,
    /// Print at most so many causes of failures; the JSON form has them all.
    pub causes: Option<usize>,
    /// Print every line of the tables, and not only what failed.
    pub tables: bool,
    /// The command of this run without the selection, quoted for a shell, for the lines that say how to rerun a case.
    pub command: String,
}

impl Style {
    /// Colour if standard output is a terminal and the environment does not forbid it.
    pub fn detect() -> Style {
        Style { colour: colours(&std::io::stdout()), ..Style::default() }
    }

    fn paint(&self, code: &str, text: &str) -> String {
        if self.colour && !text.is_empty() { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    fn bold(&self, text: &str) -> String {
        self.paint("1", text)
    }

    fn red(&self, text: &str) -> String {
        self.paint("31", text)
    }

    fn green(&self, text: &str) -> String {
        self.paint("32", text)
    }

    fn yellow(&self, text: &str) -> String {
        self.paint("33", text)
    }
}

/// A bar on standard error, or nothing where that is no terminal.
pub fn progress_bar(units: usize) -> ProgressBar {
    let target = if std::io::stderr().is_terminal() {
        ProgressDrawTarget::stderr()
    } else {
        ProgressDrawTarget::hidden()
    };
    let bar = ProgressBar::with_draw_target(Some(units as u64), target);
    if let Ok(style) = ProgressStyle::with_template("{bar:40} {pos}/{len} {msg} {eta}") {
        bar.set_style(style);
    }
    bar
}

/// The whole report. Its last line is `N passed, N failed, N skipped`.
pub fn render(report: &Report, style: &Style) -> String {
    let mut out = String::new();
    // Writing to a string cannot fail.
    let _ = write_all(&mut out, report, style);
    out
}

fn write_all(out: &mut String, report: &Report, style: &Style) -> std::fmt::Result {
    write_head(out, report, style)?;
    write_skips(out, report, style)?;
    write_failures(out, report, style)?;
    write_known(out, report, style)?;
    if report.handshake.is_none() {
        write_clauses(out, report, style)?;
        write_executed(out, report, style)?;
    }
    for note in &report.notes {
        writeln!(out, "{} {note}", style.yellow("note"))?;
    }
    if let Some(partial) = &report.partial {
        let note = format!("the run was {partial}, so that this report is about a part of it");
        writeln!(out, "{} {note}", style.yellow("note"))?;
    }
    if !report.notes.is_empty() || report.partial.is_some() {
        writeln!(out)?;
    }
    write_profiles(out, &report.profiles, style)?;
    let known = report.failures.iter().filter(|failure| failure.known.is_some()).count();
    if known > 0 {
        let failed = report.totals.failed;
        writeln!(
            out,
            "of {} {} known\n",
            counted(failed, "failure", "failures"),
            counted(known, "is", "are")
        )?;
    }
    let Counts { passed, failed, skipped } = report.totals;
    writeln!(out, "{passed} passed, {failed} failed, {skipped} skipped")
}

fn write_head(out: &mut String, report: &Report, style: &Style) -> std::fmt::Result {
    if let Some(implementation) = &report.implementation {
        let claims = match implementation.profiles.as_slice() {
            [] => "nothing".to_owned(),
            profiles => profiles.join(", "),
        };
        let name = format!("{} {}", implementation.name, implementation.version);
        writeln!(out, "{}, claims {claims}", style.bold(name.trim_end()))?;
        if let Some(rules) = &implementation.rules {
            writeln!(
                out,
                "of their rules only {}",
                if rules.is_empty() { "none".to_owned() } else { rules.join(", ") }
            )?;
        }
        for (what, names) in [("opcodes", &implementation.opcodes), ("dtypes", &implementation.dtypes)] {
            if !names.is_empty() {
                writeln!(out, "executes only the {what} {}", names.join(", "))?;
            }
        }
        if let Some(accumulator) = implementation.accumulator {
            let tasks = if implementation.traced { ", each task judged by its trace" } else { "" };
            writeln!(out, "accumulator {}{tasks}", accumulator.name())?;
        }
        if let Some(device) = &implementation.device {
            writeln!(out, "on {}, kernels for {}", device.name, device.target)?;
        }
    }
    let corpus = &report.corpus;
    write!(out, "corpus of {} cases", corpus.cases)?;
    if let (Some(generator), Some(seed)) = (&corpus.generator, corpus.seed) {
        write!(out, ", generator {generator}, seed {seed}")?;
    }
    if let Some(filter) = &corpus.filter {
        write!(out, ", those that match `{filter}`")?;
    }
    for filter in &corpus.exclude {
        write!(out, ", but for those that match `{filter}`")?;
    }
    for (what, names) in [
        ("those that cite", &corpus.clauses),
        ("those that execute", &corpus.opcodes),
        ("those with buffers of", &corpus.dtypes),
    ] {
        if !names.is_empty() {
            write!(out, ", {what} {}", names.join(" or "))?;
        }
    }
    if let Some(shard) = corpus.shard {
        write!(out, ", shard {shard}")?;
    }
    writeln!(out)?;
    if let Some(partial) = &report.partial {
        writeln!(out, "{}", style.red(&format!("this report is partial: the run was {partial}")))?;
    }
    writeln!(out)
}

const COLUMNS: &str = "passed  failed  skipped";

fn columns(counts: &Counts, style: &Style) -> String {
    let failed = format!("{:>6}", counts.failed);
    let failed = if counts.failed > 0 { style.red(&failed) } else { failed };
    format!("{:>6}  {failed}  {:>7}", counts.passed, counts.skipped)
}

/// Of a table the lines that are shown, and how many are not: all if that was asked for, and else some of those that failed.
fn shown<'a, T>(lines: &'a [T], style: &Style, failed: impl Fn(&T) -> bool) -> (Vec<&'a T>, usize) {
    let mut shown: Vec<&T> = lines.iter().filter(|line| style.tables || failed(line)).collect();
    let left_out = if style.tables { 0 } else { shown.len().saturating_sub(LINES) };
    shown.truncate(shown.len() - left_out);
    (shown, left_out)
}

/// The end of a table of which not all is shown.
fn write_left_out(out: &mut String, count: usize, what: &str) -> std::fmt::Result {
    if count > 0 { writeln!(out, "and {count} more {what}; --tables shows them\n") } else { writeln!(out) }
}

fn write_clauses(out: &mut String, report: &Report, style: &Style) -> std::fmt::Result {
    let (lines, left_out) = shown(&report.clauses, style, |line| line.counts.failed > 0);
    if lines.is_empty() {
        return Ok(());
    }
    let label = |line: &ClauseResult| format!("{} {}", line.clause, line.title).trim_end().to_owned();
    let width = lines.iter().map(|line| label(line).chars().count()).max().unwrap_or(0);
    let width = width.max("Rules and clauses".len());
    writeln!(out, "{}  {COLUMNS}", style.bold(&format!("{:width$}", "Rules and clauses")))?;
    for line in lines {
        writeln!(out, "{:width$}  {}", label(line), columns(&line.counts, style))?;
    }
    write_left_out(out, left_out, "with failures")
}

fn write_executed(out: &mut String, report: &Report, style: &Style) -> std::fmt::Result {
    let (lines, left_out) = shown(&report.executed, style, |line| line.failed > 0);
    if lines.is_empty() {
        return Ok(());
    }
    let label = |line: &ExecutedResult| {
        format!("{} {}", line.opcode.as_deref().unwrap_or("several opcodes"), line.dtype)
    };
    let width = lines.iter().map(|line| label(line).len()).max().unwrap_or(0).max("Executed".len());
    writeln!(out, "{}  cases  failed  error/bound", style.bold(&format!("{:width$}", "Executed")))?;
    for line in lines {
        let failed = format!("{:>6}", line.failed);
        let failed = if line.failed > 0 { style.red(&failed) } else { failed };
        let tightness = line.tightness.map_or_else(|| "-".to_owned(), |share| format!("{share:.3}"));
        writeln!(out, "{:width$}  {:>5}  {failed}  {tightness:>11}", label(line), line.cases)?;
    }
    write_left_out(out, left_out, "with failures")?;
    write_sizes(out, report, style)
}

/// How large what passed is: a line for each opcode.
fn write_sizes(out: &mut String, report: &Report, style: &Style) -> std::fmt::Result {
    let models = SizeResult::of_models(&report.sizes);
    if report.sizes.is_empty() {
        return Ok(());
    }
    if !style.tables {
        if !models.is_empty() {
            writeln!(out, "executed sizes up to {}; --tables shows all\n", models.join(", "))?;
        }
        return Ok(());
    }
    writeln!(out, "{}", style.bold("Sizes up to"))?;
    let mut sizes = report.sizes.iter().peekable();
    while let Some(first) = sizes.next() {
        let mut line = format!("{} {}", first.axis, first.up_to);
        while let Some(size) = sizes.next_if(|size| size.opcode == first.opcode) {
            let _ = write!(line, ", {} {}", size.axis, size.up_to);
        }
        writeln!(out, "  {}: {line}", first.opcode.as_deref().unwrap_or("programs"))?;
    }
    writeln!(out)
}

fn write_skips(out: &mut String, report: &Report, style: &Style) -> std::fmt::Result {
    if report.skips.is_empty() {
        return Ok(());
    }
    // The reasons of most cases first; of as many, in order.
    let mut by_reason: BTreeMap<&str, usize> = BTreeMap::new();
    for skips in &report.skips {
        *by_reason.entry(&skips.reason).or_default() += skips.count;
    }
    let mut skips: Vec<(&str, usize)> = by_reason.into_iter().collect();
    skips.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let limit = if style.tables { skips.len() } else { LINES.min(skips.len()) };
    writeln!(out, "{}", style.bold("Skipped"))?;
    for (reason, count) in skips.iter().take(limit) {
        writeln!(out, "{count:>6}  {reason}")?;
    }
    let left_out: usize = skips.iter().skip(limit).map(|(_, count)| count).sum();
    if left_out > 0 {
        writeln!(out, "{left_out:>6}  for {} other reasons; --tables shows them", skips.len() - limit)?;
    }
    writeln!(out)
}

fn write_failures(out: &mut String, report: &Report, style: &Style) -> std::fmt::Result {
    if let Some(reason) = &report.handshake {
        writeln!(out, "{} {reason}", style.red("no handshake:"))?;
        write_stderr(out, &report.handshake_stderr)?;
        writeln!(out)?;
    }
    let limit = style.causes.unwrap_or(report.causes.len());
    if !report.causes.is_empty() {
        let failed: usize = report.causes.iter().map(|cause| cause.failures).sum();
        let causes = counted(report.causes.len(), "cause", "causes");
        let title = format!("{} of {causes}", counted(failed, "failure", "failures"));
        writeln!(out, "{}, what to look at first on top\n", style.bold(&title))?;
    }
    for cause in report.causes.iter().take(limit) {
        write_cause(out, report, cause, style)?;
    }
    let rest = report.causes.get(limit..).unwrap_or_default();
    if !rest.is_empty() {
        writeln!(out, "{}", style.bold("Other causes"))?;
        for cause in rest.iter().take(2 * LINES) {
            writeln!(out, "{:>6}  {}", cause.failures, cause.cause)?;
        }
        let more: usize = rest.iter().skip(2 * LINES).map(|cause| cause.failures).sum();
        if more > 0 {
            writeln!(out, "{more:>6}  of {} causes more", rest.len() - 2 * LINES)?;
        }
        writeln!(out, "--limit {} shows them; --json FILE has every failure\n", report.causes.len())?;
    }
    // All for one reason, so one line is enough.
    let mut not_asked = report.failures.iter().filter(|failure| failure.kind == FailureKind::NotAsked);
    if let Some(first) = not_asked.next() {
        writeln!(out, "{} {} {}\n", style.red("failed"), 1 + not_asked.count(), first.actual)?;
    }
    Ok(())
}

/// What came of the list of known failures.
fn write_known(out: &mut String, report: &Report, style: &Style) -> std::fmt::Result {
    let mut by_reason: BTreeMap<&str, usize> = BTreeMap::new();
    for reason in report.failures.iter().filter_map(|failure| failure.known.as_deref()) {
        *by_reason.entry(reason).or_default() += 1;
    }
    if !by_reason.is_empty() {
        writeln!(out, "{}", style.bold("Known failures"))?;
    }
    let limit = if style.tables { by_reason.len() } else { LINES };
    for (reason, count) in by_reason.iter().take(limit) {
        writeln!(out, "{count:>6}  {}", excerpt(reason.as_bytes()))?;
    }
    let left_out: usize = by_reason.values().skip(limit).sum();
    if left_out > 0 {
        writeln!(out, "{left_out:>6}  for {} other reasons; --tables shows them", by_reason.len() - limit)?;
    }
    if !by_reason.is_empty() {
        writeln!(out)?;
    }
    let wrong: Vec<_> = report.passed_though_known().collect();
    for known in &wrong {
        let (case, profile) = (&known.case, known.profile);
        let why = excerpt(known.reason.as_bytes());
        writeln!(
            out,
            "{} {case} ({profile}): it passes; take it off the list: {why}",
            style.red("known failure")
        )?;
    }
    if !wrong.is_empty() {
        writeln!(out)?;
    }
    Ok(())
}

fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// A cause: one failure in full, and a few others by name.
fn write_cause(out: &mut String, report: &Report, cause: &CauseResult, style: &Style) -> std::fmt::Result {
    let failures = counted(cause.failures, "failure", "failures");
    writeln!(out, "{} ({failures})", style.red(&cause.cause))?;
    let example = (&cause.example.case, cause.example.profile);
    let mut failures = report.failures.iter().enumerate();
    let Some((index, failure)) = failures.find(|(_, failure)| (&failure.case, failure.profile) == example)
    else {
        return Ok(());
    };
    let stderr = report.stderr.get(&index).map_or("", String::as_str);
    write_failure(out, failure, stderr, style)?;
    let mut others: Vec<&str> = cause.units.iter().map(|(case, _)| case.as_str()).collect();
    others.dedup();
    others.retain(|case| *case != cause.example.case);
    let named: Vec<&str> = others.iter().copied().take(OTHERS).collect();
    if !named.is_empty() {
        let more = others.len() - named.len();
        let more = if more > 0 { format!(", and {more} more cases") } else { String::new() };
        writeln!(out, "  also      {}{more}", named.join(", "))?;
    }
    writeln!(out)
}

fn write_failure(out: &mut String, failure: &FailureReport, stderr: &str, style: &Style) -> std::fmt::Result {
    writeln!(out, "  {} ({})", style.bold(&failure.case), failure.profile)?;
    writeln!(out, "  {}", failure.summary)?;
    for clause in &failure.clauses {
        writeln!(out, "  clause    {} {}, {}", clause.id, clause.title, clause.document)?;
    }
    write_difference(out, failure, stderr)?;
    if let Some(twin) = &failure.twin {
        writeln!(out, "  twin      {twin}")?;
    }
    let command = if style.command.is_empty() { "megakernel-conform run" } else { &style.command };
    writeln!(out, "  rerun     {command} {}", failure.rerun)
}

/// What was expected, and what came instead, as lines.
///
/// # Errors
/// Those of writing; a string has none.
pub fn write_difference(out: &mut String, failure: &FailureReport, stderr: &str) -> std::fmt::Result {
    writeln!(out, "  expected  {}", failure.expected)?;
    // The empty pointer, the whole document, says nothing.
    if let Some(at) = failure.at.as_ref().filter(|at| !at.is_empty()) {
        writeln!(out, "  at        {at}")?;
    }
    writeln!(out, "  actual    {}", failure.actual)?;
    write_stderr(out, stderr)
}

/// The end of what a worker wrote to standard error, as lines.
///
/// # Errors
/// Those of writing; a string has none.
pub fn write_stderr(out: &mut String, stderr: &str) -> std::fmt::Result {
    let lines: Vec<&str> = stderr.lines().collect();
    for line in lines.get(lines.len().saturating_sub(5)..).unwrap_or(&[]) {
        writeln!(out, "  stderr    {}", excerpt(line.as_bytes()))?;
    }
    Ok(())
}

fn write_profiles(out: &mut String, profiles: &[ProfileResult], style: &Style) -> std::fmt::Result {
    let width = 14;
    writeln!(out, "{}  {COLUMNS}  verdict", style.bold(&format!("{:width$}", "Profile")))?;
    for line in profiles {
        let verdict = match (line.verdict, &line.reason) {
            (ProfileVerdict::Conforms, _) => style.green(line.verdict.name()),
            (ProfileVerdict::ConformsInPart, _) => {
                let share = line.share.map_or_else(String::new, |share| format!(": {share}"));
                style.yellow(&format!("{}{share}", line.verdict.name()))
            }
            (ProfileVerdict::NotSelected | ProfileVerdict::NotJudged, _)
            | (ProfileVerdict::NotClaimed, None) => line.verdict.name().to_owned(),
            (ProfileVerdict::DoesNotConform, None) => style.red(line.verdict.name()),
            (_, Some(reason)) => style.red(&format!("{}: {reason}", line.verdict.name())),
        };
        writeln!(out, "{:width$}  {}  {verdict}", line.profile, columns(&line.counts, style))?;
    }
    writeln!(out)
}
