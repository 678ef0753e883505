//! The driver of `draw`: tasks and events as a picture, with what is wrong marked.

mod chart;
mod svg;

use std::collections::HashMap;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use megakernel_ir::diagnostic::Witness;
use megakernel_ir::{CounterId, Diagnostic, Rule, TaskId, terminal};

use super::groups::groups;
use super::replay::{self, Kind};
use super::{Companion, count, wrong};
pub use chart::{Chart, Event, Task};
use svg::{Marks, Picture};
pub use svg::{escaped, head};

/// Draw tasks by operator and what they wait for, as SVG on standard output, with a finding about runs marked.
///
/// Exits 0 if the picture is drawn, whatever was found, 2 if a file holds nothing that could run.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  megakernel-reference draw program.json > program.svg\n  megakernel-reference draw --rule TR02 rank0.json rank1.json > race.svg"
)]
pub struct Arguments {
    /// A program, a schedule, a task graph or a system; or the task graphs of all ranks in their order.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Mark the first finding of this rule, such as R05; without it, the first of all.
    #[arg(long, value_name = "RULE", value_parser = replay::rule)]
    rule: Option<Rule>,
    /// Draw each task and event, however many there are. Otherwise up to 200 tasks are; of more, the operators.
    #[arg(long)]
    tasks: bool,
    /// Draw all rows of a large document, not only those around what is marked.
    #[arg(long)]
    whole: bool,
}

/// More tasks than this are drawn by operator.
const IN_DETAIL: usize = 200;
/// Of more rows than this only those around the marks are drawn.
const MANY_ROWS: usize = 60;
/// So many, on either side.
const AROUND: usize = 8;
/// Letters in a line of text.
const LETTERS: usize = 120;
/// Kinds of findings that are listed.
const LISTED: usize = 8;

/// Prints the picture.
pub(super) fn run(arguments: &Arguments, programs: &dyn Kind, companions: &[&Companion]) -> ExitCode {
    let drawn = draw(arguments, programs, companions);
    match drawn.and_then(|svg| terminal::print(&svg)) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => wrong(message),
    }
}

fn draw(arguments: &Arguments, programs: &dyn Kind, companions: &[&Companion]) -> Result<String, String> {
    let documents = replay::read(&arguments.files)?;
    let judged = replay::open(&arguments.files, &documents, programs, companions)?;
    let findings: Vec<Diagnostic> = judged.findings().into_iter().cloned().collect();
    let of_rule = |found: &&Diagnostic| arguments.rule.is_none_or(|rule| found.rule == rule);
    let finding = findings.iter().find(of_rule);
    let chart = judged.chart();
    let marks = finding.map(|finding| marks(&chart, finding)).unwrap_or_default();
    let names = replay::names(&arguments.files);
    let text = text(&names.join(" "), &chart, &findings, finding);
    let picture = Picture {
        chart: &chart,
        marks: &marks,
        text: &text,
        in_detail: arguments.tasks || chart.tasks.len() <= IN_DETAIL,
        around: (!arguments.whole).then_some(AROUND),
    };
    Ok(picture.svg())
}

/// What a finding is about.
fn marks(chart: &Chart, finding: &Diagnostic) -> Marks {
    let tasks: HashMap<TaskId, usize> =
        chart.tasks.iter().enumerate().map(|(index, task)| (task.id, index)).collect();
    let events: HashMap<CounterId, usize> =
        chart.events.iter().enumerate().map(|(index, event)| (event.id, index)).collect();
    let mut marks = Marks {
        tasks: finding.tasks.iter().filter_map(|task| tasks.get(task).copied()).collect(),
        events: finding.counters.iter().filter_map(|event| events.get(event).copied()).collect(),
        pairs: Vec::new(),
    };
    let pair = |one: TaskId, other: TaskId| Some([*tasks.get(&one)?, *tasks.get(&other)?]);
    match &finding.witness {
        Some(Witness::Unordered { first, second, .. } | Witness::Overlap { first, second, .. }) => {
            marks.pairs.extend(pair(first.task, second.task));
        }
        Some(Witness::Clobber { first, second, .. }) => marks.pairs.extend(pair(first.task, second.task)),
        Some(Witness::Cycle { steps }) => {
            for (step, next) in steps.iter().zip(steps.iter().cycle().skip(1)) {
                marks.pairs.extend(pair(step.task, next.task));
                marks.tasks.extend(tasks.get(&step.task));
            }
        }
        _ => {}
    }
    marks
}

/// The lines above the picture.
fn text(files: &str, chart: &Chart, findings: &[Diagnostic], finding: Option<&Diagnostic>) -> Vec<String> {
    let counts = [(chart.tasks.len(), "task"), (chart.events.len(), chart.between)];
    let mut text = vec![format!("{files}: {}", counts.map(|(number, what)| count(number, what)).join(", "))];
    let Some(finding) = finding else {
        text.push("nothing is marked: no finding about runs".to_owned());
        return text;
    };
    let rule = finding.rule;
    let marked = format!("marked: {rule} {}: {}", rule.slug(), finding.message);
    text.extend(wrapped(&marked).into_iter().map(|line| format!("!{line}")));
    let groups = groups(findings);
    for group in groups.iter().take(LISTED) {
        let Some(first) = findings.get(group.first()).filter(|first| *first != finding) else { continue };
        let said = format!("also, {} of this kind: {} {}", group.members.len(), first.rule, first.message);
        text.extend(wrapped(&said));
    }
    if groups.len() > LISTED {
        text.push(format!("and {} more kinds", groups.len() - LISTED));
    }
    text
}

/// A text in lines.
fn wrapped(text: &str) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let Some(line) = lines.last_mut() else { continue };
        match line.chars().count() + word.chars().count() < LETTERS || line.is_empty() {
            true => {
                if !line.is_empty() {
                    line.push(' ');
                }
                line.push_str(word);
            }
            false => lines.push(word.to_owned()),
        }
    }
    lines
}
