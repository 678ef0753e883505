//! `megakernel-reference draw-schedule`: workers as lanes, their tasks in the order of the queues, events between them, and what is wrong.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use megakernel_ir::diagnostic::Witness;
use megakernel_ir::{Diagnostic, Rule, TaskId, terminal};
use megakernel_reference::commands::draw::{escaped, head};
use megakernel_reference::commands::{Command, describe, options, read_file, replay, wrong};

use crate::ids::{EventId, PhaseId};
use crate::replay::Machine;
use crate::validate::{load, validate_schedule, world};
use crate::world::World;

/// The picture.
pub const DRAW: Command = Command {
    describe: || describe::<Arguments>("draw-schedule"),
    run: |matches, _| options(matches).map_or_else(|code| code, |options: Arguments| run(&options)),
};

/// Draw a schedule as SVG on standard output: each worker a lane, its tasks in order, events between them, a finding marked.
///
/// Of a large schedule, what stands around the finding. Exits 0 if the picture is drawn, whatever was found, 2 if the file holds no schedule
/// that could run.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  megakernel-reference draw-schedule schedule.json > schedule.svg\n  megakernel-reference draw-schedule --rule ER03 schedule.json > race.svg"
)]
struct Arguments {
    /// A schedule in the JSON format of spec/companions/schedule/format.md.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Mark the first finding of this rule, such as ER03; without it, the first of all.
    #[arg(long, value_name = "RULE", value_parser = replay::rule)]
    rule: Option<Rule>,
    /// Draw all tasks of a large schedule, not only those around what is marked.
    #[arg(long)]
    whole: bool,
}

/// More tasks than this are not drawn, but those around the finding.
const MANY: usize = 60;
/// Tasks on either side in a queue.
const AROUND: usize = 2;
/// Tasks that signal an event, of those that are drawn for it.
const SIGNALLERS: usize = 3;
/// Letters of a name.
const LETTERS: usize = 24;

const BOX: [i64; 2] = [172, 38];
const GAP: [i64; 2] = [44, 26];
const LEFT: i64 = 110;
const TOP: i64 = 70;

fn run(arguments: &Arguments) -> ExitCode {
    let drawn = read_file(&arguments.file).and_then(|document| {
        let file = arguments.file.display();
        let refused = || format!("{file} is no schedule that could run; validate-schedule says why");
        let schedule = load(&document).map_err(|_| refused())?;
        let found = validate_schedule(&schedule).diagnostics;
        let world = world(&schedule).ok_or_else(refused)?;
        let of_rule = |found: &&Diagnostic| arguments.rule.is_none_or(|rule| found.rule == rule);
        let finding = found.iter().filter(|found| !found.tasks.is_empty()).find(of_rule);
        terminal::print(&picture(&world, &file.to_string(), finding, arguments.whole))
    });
    drawn.map_or_else(wrong, |()| ExitCode::SUCCESS)
}

/// The SVG.
pub fn picture(world: &World<'_>, file: &str, finding: Option<&Diagnostic>, whole: bool) -> String {
    let marked = finding.map_or(&[][..], |found| &found.tasks);
    let is_all = whole || world.tasks.len() <= MANY;
    let shown: BTreeSet<TaskId> = match is_all {
        true => world.task_ids().collect(),
        false if marked.is_empty() => around(world, &[TaskId::at(0)]),
        false => around(world, marked),
    };
    Drawing::new(world, shown).svg(file, finding, marked)
}

/// Tasks beside these in their queues, and some that signal what they wait for.
fn around(world: &World<'_>, marked: &[TaskId]) -> BTreeSet<TaskId> {
    let mut queues: BTreeMap<i128, Vec<TaskId>> = BTreeMap::new();
    for (id, task) in world.tasks_by_id() {
        if let Some(queue) = task.queue {
            queues.entry(queue).or_default().push(id);
        }
    }
    let mut signallers: BTreeMap<EventId, Vec<TaskId>> = BTreeMap::new();
    for phase in world.phase_ids() {
        for signal in world.signals.of(phase) {
            let tasks = signallers.entry(signal.event).or_default();
            if tasks.len() < SIGNALLERS {
                tasks.push(world.task_of[phase.index()]);
            }
        }
    }
    let mut shown = BTreeSet::new();
    for &task in marked.iter().take(4) {
        let Some(at) = world.tasks.get(task.index()) else { continue };
        let queue = at.queue.and_then(|queue| queues.get(&queue));
        if let Some((queue, place)) = queue.and_then(|queue| Some((queue, queue.binary_search(&task).ok()?)))
        {
            shown.extend(&queue[place.saturating_sub(AROUND)..(place + AROUND + 1).min(queue.len())]);
        }
        shown.insert(task);
        for wait in at.each_phase().flat_map(|phase| world.waits.of(phase)) {
            shown.extend(signallers.get(&wait.event).into_iter().flatten());
        }
    }
    shown
}

struct Drawing<'w> {
    world: &'w World<'w>,
    shown: BTreeSet<TaskId>,
    /// Where tasks stand: column and lane.
    places: BTreeMap<TaskId, [i64; 2]>,
    lanes: Vec<String>,
}

impl Drawing<'_> {
    fn new<'w>(world: &'w World<'w>, shown: BTreeSet<TaskId>) -> Drawing<'w> {
        let depths = depths(world);
        let mut queues: BTreeSet<i128> = BTreeSet::new();
        queues.extend(shown.iter().filter_map(|&task| world.tasks[task.index()].queue));
        let queues: Vec<i128> = queues.into_iter().collect();
        let mut lanes: Vec<String> = queues
            .iter()
            .map(|queue| {
                let any = if world.any_order.contains(queue) { ", any order" } else { "" };
                format!("worker {queue}{any}")
            })
            .collect();
        let columns: BTreeSet<u32> = shown.iter().map(|&task| depths[task.index()]).collect();
        let columns: Vec<u32> = columns.into_iter().collect();
        let mut places: BTreeMap<TaskId, [i64; 2]> = BTreeMap::new();
        let mut ends: Vec<i64> = vec![0; lanes.len()];
        // Of a lane, one task to a column: what would stand in one that is taken goes into the next.
        let mut order: Vec<TaskId> = shown.iter().copied().collect();
        order.sort_by_key(|&task| (world.tasks[task.index()].queue.is_none(), depths[task.index()], task));
        for task in order {
            let wish = columns.binary_search(&depths[task.index()]).unwrap_or(0) as i64;
            let lane = match world.tasks[task.index()].queue.map(|queue| queues.binary_search(&queue)) {
                Some(Ok(lane)) => lane,
                // Tasks of workers of their own share lanes as they have room.
                _ => match (queues.len()..ends.len()).find(|&lane| ends[lane] <= wish) {
                    Some(lane) => lane,
                    None => {
                        ends.push(0);
                        lanes.push("a worker each".to_owned());
                        ends.len() - 1
                    }
                },
            };
            let column = wish.max(ends[lane]);
            ends[lane] = column + 1;
            places.insert(task, [column, lane as i64]);
        }
        Drawing { world, shown, places, lanes }
    }

    fn at(&self, task: TaskId) -> Option<[i64; 2]> {
        let [column, lane] = *self.places.get(&task)?;
        Some([LEFT + column * (BOX[0] + GAP[0]), TOP + lane * (BOX[1] + GAP[1])])
    }

    fn svg(&self, file: &str, finding: Option<&Diagnostic>, marked: &[TaskId]) -> String {
        let columns = self.places.values().map(|place| place[0]).max().unwrap_or(0) + 1;
        let heading = format!("{file}: {} of {} tasks", self.shown.len(), self.world.tasks.len());
        let said = finding.map_or_else(
            || "nothing is marked: no finding about tasks".to_owned(),
            |finding| format!("{} {}: {}", finding.rule, finding.rule.slug(), finding.message),
        );
        let letters = heading.chars().count().max(said.chars().count()) as i64;
        let width = (LEFT + columns * (BOX[0] + GAP[0])).max(24 + 7 * letters);
        let height = TOP + self.lanes.len() as i64 * (BOX[1] + GAP[1]) + 10;
        let mut out = head(width, height);
        let fill = if finding.is_some() { "#c0182b" } else { "#222222" };
        let _ = writeln!(out, "<text x=\"12\" y=\"20\" font-weight=\"bold\">{}</text>", escaped(&heading));
        let _ = writeln!(out, "<text x=\"12\" y=\"40\" fill=\"{fill}\">{}</text>", escaped(&said));
        for (lane, name) in self.lanes.iter().enumerate() {
            let y = TOP + lane as i64 * (BOX[1] + GAP[1]) + BOX[1] / 2;
            let _ = writeln!(
                out,
                "<line x1=\"{LEFT}\" y1=\"{y}\" x2=\"{width}\" y2=\"{y}\" stroke=\"#dddddd\"/>\n<text x=\"12\" y=\"{}\">{}</text>",
                y + 4,
                escaped(name)
            );
        }
        self.events(&mut out);
        for &task in &self.shown {
            self.task(task, marked.contains(&task), &mut out);
        }
        if let Some(finding) = finding {
            self.pairs(finding, &mut out);
        }
        out.push_str("</svg>\n");
        out
    }

    /// Lines from who signals to who waits. Each event is written once.
    fn events(&self, out: &mut String) {
        let mut signallers: BTreeMap<EventId, BTreeSet<TaskId>> = BTreeMap::new();
        for &task in &self.shown {
            for phase in self.world.tasks[task.index()].each_phase() {
                let signals = self.world.signals.of(phase);
                signals.iter().for_each(|signal| {
                    signallers.entry(signal.event).or_default().insert(task);
                });
            }
        }
        let mut written = BTreeSet::new();
        for &task in &self.shown {
            let phases = self.world.tasks[task.index()].each_phase();
            let waits = phases.flat_map(|phase| self.world.waits.of(phase));
            let counts: BTreeMap<EventId, u64> = waits.map(|wait| (wait.event, wait.number)).collect();
            for (event, count) in counts {
                for &from in signallers.get(&event).into_iter().flatten().filter(|&&from| from != task) {
                    let (Some([x1, y1]), Some([x2, y2])) = (self.at(from), self.at(task)) else { continue };
                    let [x1, y1, y2] = [x1 + BOX[0], y1 + BOX[1] / 2, y2 + BOX[1] / 2];
                    // Back in time, under the boxes.
                    let (bend, down) = if x2 < x1 { (24, BOX[1]) } else { ((x2 - x1) / 2, 0) };
                    let name = escaped(&self.world.events[event.index()]);
                    let _ = writeln!(
                        out,
                        "<path d=\"M{x1} {y1} C{} {} {} {} {x2} {y2}\" fill=\"none\" stroke=\"#4a6fa5\" stroke-opacity=\"0.7\"><title>{name}</title></path>",
                        x1 + bend,
                        y1 + down,
                        x2 - bend,
                        y2 + down
                    );
                    if written.insert((event, task)) {
                        let _ = writeln!(
                            out,
                            "<text x=\"{}\" y=\"{}\" text-anchor=\"end\" font-size=\"10\" fill=\"#4a6fa5\">{name} &gt;= {count}</text>",
                            x2 - 4,
                            y2 - BOX[1] / 2 - 4
                        );
                    }
                }
            }
        }
    }

    fn task(&self, task: TaskId, is_marked: bool, out: &mut String) {
        let Some([x, y]) = self.at(task) else { return };
        let (stroke, fill, wide) =
            if is_marked { ("#c0182b", "#fdecee", 2) } else { ("#888888", "#f6f6f6", 1) };
        let name = self.world.task_name(task);
        let (number, title) = name.split_once(" (").map_or((&*name, ""), |(number, rest)| (number, rest));
        let title = title.trim_end_matches(')').replace('`', "");
        let mut short: String = title.chars().take(LETTERS).collect();
        if short.len() < title.len() {
            short.push('…');
        }
        let _ = writeln!(
            out,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{}\" height=\"{}\" rx=\"3\" fill=\"{fill}\" stroke=\"{stroke}\" stroke-width=\"{wide}\"><title>{}</title></rect>\n<text x=\"{}\" y=\"{}\" font-weight=\"bold\">{}</text>\n<text x=\"{}\" y=\"{}\" font-size=\"11\">{}</text>",
            BOX[0],
            BOX[1],
            escaped(&self.about(task)),
            x + 6,
            y + 15,
            escaped(number),
            x + 6,
            y + 30,
            escaped(&short)
        );
    }

    /// What a task does, as far as a few lines tell.
    fn about(&self, task: TaskId) -> String {
        let own = self.world.accesses_of(&self.world.tasks[task.index()]).iter();
        let lines: Vec<String> = own.take(12).map(|access| self.world.access_text(access)).collect();
        format!("{}\n{}", self.world.task_name(task), lines.join("\n"))
    }

    /// A line between the two tasks of a race.
    fn pairs(&self, finding: &Diagnostic, out: &mut String) {
        let Some(Witness::Overlap { first, second, .. }) = &finding.witness else { return };
        let [one, other] = [first.task, second.task];
        let (Some([x1, y1]), Some([x2, y2])) = (self.at(one), self.at(other)) else { return };
        let [x1, x2] = [x1, x2].map(|x| x + BOX[0] / 2);
        let down = y2 >= y1;
        // In one lane, a bow under the boxes.
        let bow = if y1 == y2 { GAP[1] - 8 } else { 0 };
        let y1 = if down { y1 + BOX[1] } else { y1 };
        let y2 = if down && bow == 0 { y2 } else { y2 + BOX[1] };
        let _ = writeln!(
            out,
            "<path d=\"M{x1} {y1} C{x1} {} {x2} {} {x2} {y2}\" fill=\"none\" stroke=\"#c0182b\" stroke-width=\"2\" stroke-dasharray=\"6 4\"/>\n<text x=\"{}\" y=\"{}\" fill=\"#c0182b\">not ordered</text>",
            y1 + bow,
            y2 + bow,
            (x1 + x2) / 2 + 8,
            (y1 + y2) / 2 + bow
        );
    }
}

/// How many phases come before each task, in a run that goes as far as it can; what never runs stands behind all.
fn depths(world: &World<'_>) -> Vec<u32> {
    let mut machine = Machine::new(world);
    machine.run(|_| false);
    let mut of_phase = vec![u32::MAX; world.phases()];
    let mut of_event = vec![0u32; world.events.len()];
    let mut of_queue: BTreeMap<i128, u32> = BTreeMap::new();
    let mut most = 0;
    for &step in &machine.steps {
        let task = world.of_phase(step);
        let before = match world.place(step).checked_sub(1) {
            Some(before) => of_phase[task.phase(before).index()],
            None => task.queue.and_then(|queue| of_queue.get(&queue)).copied().unwrap_or(0),
        };
        let waits = world.waits.of(step).iter().map(|wait| of_event[wait.event.index()]);
        let depth = waits.max().unwrap_or(0).max(before) + 1;
        of_phase[step.index()] = depth;
        most = most.max(depth);
        for signal in world.signals.of(step) {
            let event = &mut of_event[signal.event.index()];
            *event = (*event).max(depth);
        }
        if let Some(queue) = task.queue {
            of_queue.insert(queue, depth);
        }
    }
    let depth = |phase: PhaseId| of_phase.get(phase.index()).copied().unwrap_or(0);
    let first = |task: &crate::world::TaskAt| match task.phases.is_empty() {
        true => 0,
        false => depth(task.phases.start).min(most + 1),
    };
    world.tasks.iter().map(first).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A chain of stages on three workers, and a reader of the first stage behind it that races with a late writer.
    fn stages(count: usize) -> String {
        let stage = |number: usize| {
            format!(
                r#"{{"queue": {}, "name": "stage <{number}>", "phases": [{{"waits": [["e{number}", 1]], "signals": [["e{}", 1]]}}]}}"#,
                number % 3,
                number + 1
            )
        };
        let stages: Vec<String> = (1..count).map(stage).collect();
        format!(
            r#"{{"tensors": {{"x": {{"shape": [4], "init": true}}}}, "tasks": [{{"queue": 0, "phases": [{{"signals": [["e1", 1]]}}]}}, {},
                {{"queue": 7, "phases": [{{"waits": [["e{count}", 1]], "reads": [["x", null]]}}]}},
                {{"queue": 8, "phases": [{{"writes": [["x", null]]}}]}}]}}"#,
            stages.join(",")
        )
    }

    fn drawn(document: &str, whole: bool) -> String {
        let schedule = load(document.as_bytes()).expect("a schedule");
        let found = validate_schedule(&schedule).diagnostics;
        picture(&world(&schedule).expect("tasks"), "file", found.first(), whole)
    }

    #[test]
    fn a_large_schedule_is_drawn_around_the_finding() {
        let document = stages(300);
        let svg = drawn(&document, false);
        assert!(svg.contains("file: 3 of 302 tasks") && svg.contains("ER01 read-write-race"), "{svg}");
        assert_eq!(svg.matches("not ordered").count(), 1);
        // The reader, the writer, and who signals what the reader waits for, in the lanes of their workers.
        for lane in ["worker 2", "worker 7", "worker 8"] {
            assert_eq!(svg.matches(lane).count(), 1, "{lane}");
        }
        assert!(!svg.contains("worker 0") && svg.contains("e300 &gt;= 1"), "{svg}");
        assert_eq!(svg.matches("<rect x=").count(), 3);
        assert_eq!(drawn(&document, true).matches("<rect x=").count(), 302);
    }

    #[test]
    fn a_small_one_is_drawn_whole_and_names_are_text() {
        let svg = drawn(&stages(9), false);
        assert!(
            svg.contains("file: 11 of 11 tasks")
                && svg.contains("stage &lt;8&gt;")
                && !svg.contains("stage <"),
            "{svg}"
        );
        // Tasks of one worker stand beside each other.
        let places: BTreeSet<&str> =
            svg.split("<rect ").skip(2).map(|rest| &rest[..rest.find("width").unwrap_or(0)]).collect();
        assert_eq!(places.len(), 11);
    }
}
