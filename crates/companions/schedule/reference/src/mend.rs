//! The commands of schedules that say what to change: `repair-schedule` and `minimise-schedule`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use megakernel_ir::terminal;
use megakernel_reference::commands::{Command, describe, options, read_file, wrong};
use megakernel_schedule::Schedule;
use serde_json::json;

use crate::minimise::{minimal, pointer};
use crate::repair::{Missing, repair};
use crate::validate::accepts;

/// Waits that are missing.
pub const REPAIR: Command = Command {
    describe: || describe::<Repair>("repair-schedule"),
    run: |matches, _| options(matches).map_or_else(|code| code, |options: Repair| repair_it(&options)),
};

/// Waits that can go.
pub const MINIMISE: Command = Command {
    describe: || describe::<Minimise>("minimise-schedule"),
    run: |matches, _| options(matches).map_or_else(|code| code, |options: Minimise| minimise_it(&options)),
};

/// Say which waits a schedule lacks that races, each at the place where it costs least.
///
/// A wait is for an event that is signalled already; what it costs is how much longer the longest path of phases becomes. Exits 0 if the
/// schedule does not race or would not with these waits, 1 if no such waits would do, 2 if the file cannot be read or the usage is wrong.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  megakernel-reference repair-schedule schedule.json\n  megakernel-reference repair-schedule --patch schedule.json > patch.json"
)]
struct Repair {
    /// A schedule in the JSON format of spec/companions/schedule/format.md.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Print a JSON Patch (RFC 6902) that adds the waits.
    #[arg(long)]
    patch: bool,
}

/// Say which waits of a schedule can go without a rule being broken, and which of these are implied by what stays.
///
/// Exits 0, or 1 if the schedule is rejected, or 2 if the file cannot be read or the usage is wrong.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  megakernel-reference minimise-schedule schedule.json\n\nClause SCH-14 in spec/companions/schedule/execution.md says what is right."
)]
struct Minimise {
    /// A schedule in the JSON format of spec/companions/schedule/format.md.
    #[arg(value_name = "FILE")]
    file: PathBuf,
}

/// Reads a file, or says why not.
fn load(file: &Path) -> Result<Schedule, ExitCode> {
    let document = read_file(file).map_err(wrong)?;
    crate::validate::load(&document).map_err(|_| {
        wrong(format_args!("{}: this is no schedule; validate-schedule says why", file.display()))
    })
}

/// Prints a text; a reader that has seen enough is no failure.
fn say(text: &str) -> ExitCode {
    terminal::print(text).map_or_else(wrong, |()| ExitCode::SUCCESS)
}

fn name(schedule: &Schedule, task: usize) -> String {
    match schedule.tasks.get(task).map_or("", |task| task.name.as_str()) {
        "" => format!("task {task}"),
        name => format!("task {task} (`{name}`)"),
    }
}

fn repair_it(options: &Repair) -> ExitCode {
    let schedule = match load(&options.file) {
        Ok(schedule) => schedule,
        Err(code) => return code,
    };
    let Some(missing) = repair(&schedule) else {
        eprintln!(
            "{}: no waits for what is signalled already would make it safe; validate-schedule says what is wrong",
            options.file.display()
        );
        return ExitCode::from(1);
    };
    say(&if options.patch { patch(&schedule, &missing) } else { told(&schedule, &missing) })
}

/// The waits in words: those that are alike once, with how many tasks lack them.
fn told(schedule: &Schedule, missing: &[Missing]) -> String {
    if missing.is_empty() {
        return "nothing races: no wait is missing\n".to_owned();
    }
    let mut alike: BTreeMap<(&str, u64, usize, &[String]), Vec<usize>> = BTreeMap::new();
    for Missing { task, phase, event, count, instead, .. } in missing {
        alike.entry((event, *count, *phase, instead)).or_default().push(*task);
    }
    let mut out = String::new();
    for ((event, count, phase, instead), tasks) in alike {
        let _ = write!(
            out,
            "wait for `{event}` to reach {count} in phase {phase} of {}",
            name(schedule, tasks[0])
        );
        let _ = match tasks.len() {
            1 => writeln!(out),
            many => writeln!(out, " and {} more tasks", many - 1),
        };
        if !instead.is_empty() {
            let others: Vec<String> = instead.iter().map(|event| format!("`{event}`")).collect();
            let _ = writeln!(out, "  or for all of {}", others.join(" or "));
        }
    }
    let _ = match missing.len() {
        1 => writeln!(out, "with this wait no rule is broken"),
        many => writeln!(out, "with these {many} waits no rule is broken"),
    };
    out
}

fn patch(schedule: &Schedule, missing: &[Missing]) -> String {
    let mut operations = Vec::new();
    let mut made = std::collections::BTreeSet::new();
    for Missing { task, phase, event, count, raises, .. } in missing {
        if let Some(place) = raises {
            let path = format!("/tasks/{task}/phases/{phase}/waits/{place}/1");
            operations.push(json!({"op": "replace", "path": path, "value": count}));
            continue;
        }
        let has = schedule.tasks.get(*task).and_then(|task| task.phases.get(*phase));
        let list = format!("/tasks/{task}/phases/{phase}/waits");
        // The member may be left out where it is empty.
        if has.is_some_and(|phase| phase.waits.is_empty()) && made.insert(list.clone()) {
            operations.push(json!({"op": "add", "path": list, "value": []}));
        }
        operations.push(json!({"op": "add", "path": format!("{list}/-"), "value": [event, count]}));
    }
    format!("{}\n", json!(operations))
}

fn minimise_it(options: &Minimise) -> ExitCode {
    let schedule = match load(&options.file) {
        Ok(schedule) => schedule,
        Err(code) => return code,
    };
    if !accepts(&schedule) {
        eprintln!("{}: it is rejected; validate-schedule says why", options.file.display());
        return ExitCode::from(1);
    }
    let dropped = minimal(&schedule);
    let implied = dropped.iter().filter(|dropped| dropped.implied).count();
    let mut out = String::new();
    for each in &dropped {
        let [task, phase, place] = each.wait;
        let wait = schedule.tasks.get(task).and_then(|task| task.phases.get(phase)?.waits.get(place));
        let Some(wait) = wait else { continue };
        let event = schedule.name(wait.event);
        let why = match each.implied {
            true => "what comes before it otherwise has seen to it",
            false => "it orders nothing that conflicts",
        };
        let _ = writeln!(
            out,
            "{}: {} waits for `{event}` to reach {}: {why}",
            pointer(&each.wait),
            name(&schedule, task),
            wait.number
        );
    }
    let _ = writeln!(
        out,
        "{} waits can go: {implied} are implied, {} order nothing that conflicts",
        dropped.len(),
        dropped.len() - implied
    );
    say(&out)
}
