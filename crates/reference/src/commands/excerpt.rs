//! Diagnostics with the piece of the document that they are about.

use annotate_snippets::{AnnotationKind, Group, Level, Snippet};
use megakernel_ir::diagnostic::{AccessKind, Before, CycleStep, Event, Position, TileRegion, Witness};
use megakernel_ir::{CounterId, Diagnostic, Source, TaskId};

/// Longer lines are cut around the place: programs are often written on one line.
const LINE: usize = 160;
/// Values on more lines are shown by their first.
const LINES: usize = 8;
/// What stays on either side of a cut.
const AROUND: usize = 60;
/// Steps of a witness that are spelt out.
const SHOWN: usize = 24;

/// What tasks and counters are called. Those of several graphs are numbered on through them, and called by their numbers in each.
#[derive(Clone, Debug, Default)]
pub struct Numbering {
    /// The number of the first task of each rank; none for a document without ranks.
    pub tasks: Vec<TaskId>,
    /// Likewise of counters.
    pub counters: Vec<CounterId>,
    /// Whether counters are called events.
    pub is_of_events: bool,
}

impl Numbering {
    /// The rank of a task, if there are several, and its number there.
    pub fn place(&self, task: TaskId) -> (Option<usize>, u32) {
        local(&self.tasks, task)
    }

    /// A task in words.
    pub fn task(&self, task: TaskId) -> String {
        spelt("task", self.place(task))
    }

    /// A counter in words.
    pub fn counter(&self, counter: CounterId) -> String {
        spelt(if self.is_of_events { "event" } else { "counter" }, local(&self.counters, counter))
    }
}

fn local<Id: Copy + Ord + Into<u32>>(starts: &[Id], id: Id) -> (Option<usize>, u32) {
    let rank = starts.partition_point(|&start| start <= id).checked_sub(1);
    (rank, id.into() - rank.map_or(0, |rank| starts[rank].into()))
}

fn spelt(what: &str, (rank, number): (Option<usize>, u32)) -> String {
    let of = rank.map_or(String::new(), |rank| format!(" of rank {rank}"));
    format!("{what} {number}{of}")
}

/// What is said below a finding besides its witness.
#[derive(Debug, Default)]
pub struct Remarks {
    /// How tasks are called.
    pub numbering: Numbering,
    /// What else is to be known.
    pub notes: Vec<String>,
    /// What would repair it.
    pub help: Option<String>,
}

/// Renders diagnostics, with colour on a terminal.
pub struct Renderer(annotate_snippets::Renderer);

impl Renderer {
    /// With or without colour.
    pub fn new(colour: bool) -> Renderer {
        use annotate_snippets::Renderer as Annotations;
        Renderer(if colour { Annotations::styled() } else { Annotations::plain() })
    }

    /// The text of one diagnostic without a final line break.
    pub fn render(&self, file: &str, text: &str, source: &Source<'_>, diagnostic: &Diagnostic) -> String {
        self.render_with(file, text, source, diagnostic, &Remarks::default())
    }

    /// The same, with what else there is to say.
    pub fn render_with(
        &self,
        file: &str,
        text: &str,
        source: &Source<'_>,
        diagnostic: &Diagnostic,
        remarks: &Remarks,
    ) -> String {
        let rule = diagnostic.rule;
        let level = if diagnostic.is_error() { Level::ERROR } else { Level::WARNING };
        let id = format!("{rule} {}", rule.slug());
        let place = source.range(&diagnostic.pointer);
        let offset =
            place.as_ref().map(|range| range.start).or_else(|| offset_of(text, diagnostic.position?));
        let mut group = Group::with_title(level.primary_title(&diagnostic.message).id(&id));
        let position = offset.map(|offset| source.position_at(offset));
        let excerpt =
            offset.map(|offset| Excerpt::new(text, offset, place.map_or(offset, |range| range.end)));
        if let Some(excerpt) = &excerpt {
            // Where the line is cut, the renderer would count columns from the cut.
            let path = (!excerpt.is_cut).then_some(file);
            let snippet = Snippet::source(&*excerpt.text)
                .path(path)
                .line_start(position.map_or(1, |position| position.line))
                .annotation(AnnotationKind::Primary.span(excerpt.span.clone()).label(&diagnostic.pointer));
            group = group.element(snippet);
        }
        let witness = diagnostic.witness.as_ref().map(|witness| in_words(witness, &remarks.numbering));
        let mut notes: Vec<String> = witness.into_iter().collect();
        notes.extend(remarks.notes.iter().cloned());
        notes.push(format!("see {}#{}-{}", rule.clause().document, rule.id().to_lowercase(), rule.slug()));
        for note in &notes {
            group = group.element(Level::NOTE.message(note));
        }
        if let Some(help) = &remarks.help {
            group = group.element(Level::HELP.message(help));
        }
        let text = self.0.render(&[group]);
        match (&excerpt, position) {
            (Some(excerpt), _) if !excerpt.is_cut => text,
            (_, Some(Position { line, column })) => format!("{file}:{line}:{column}\n{text}"),
            (_, None) => format!("{file}\n{text}"),
        }
    }
}

/// The lines of a place, cut where they are many or long.
struct Excerpt {
    text: String,
    span: std::ops::Range<usize>,
    is_cut: bool,
}

impl Excerpt {
    /// The value from `start` to `end` if it stands on a few lines; else the line that holds `start`, of which the
    /// span ends with the line at the latest.
    fn new(text: &str, start: usize, end: usize) -> Excerpt {
        let start = start.min(text.len());
        // Beyond this there is no need to look: a document of a million tasks may be one line.
        let far = floor(text, start.saturating_sub(LINE + 1));
        let line_start = text[far..start].rfind('\n').map_or(far, |newline| far + newline + 1);
        let end_of_line = |offset: usize| {
            let rest = &text[offset..floor(text, (offset + LINE + 1).min(text.len()))];
            offset + rest.find('\n').unwrap_or(rest.len())
        };
        let value = text.get(start..end).unwrap_or_default();
        let is_short = value.len() <= LINE && value.lines().count() <= LINES;
        let line_end = end_of_line(if is_short { end.clamp(start, text.len()) } else { start });
        let end = end.clamp(start, line_end);
        let is_near = start - line_start <= LINE;
        if line_end - line_start <= LINE || is_short && is_near && value.contains('\n') {
            let span = start - line_start..end - line_start;
            return Excerpt { text: text[line_start..line_end].to_owned(), span, is_cut: false };
        }
        let from = floor(text, start.saturating_sub(AROUND).max(line_start));
        let until = floor(text, (start + 2 * AROUND).min(line_end)).max(start);
        let before = if from > line_start { "... " } else { "" };
        let after = if until < line_end { " ..." } else { "" };
        let span = before.len() + start - from..before.len() + end.min(until) - from;
        Excerpt { text: format!("{before}{}{after}", &text[from..until]), span, is_cut: true }
    }
}

/// The last character boundary at or before an offset.
fn floor(text: &str, offset: usize) -> usize {
    (0..=offset).rev().find(|&offset| text.is_char_boundary(offset)).unwrap_or(0)
}

fn offset_of(text: &str, position: Position) -> Option<usize> {
    let line_start = match position.line {
        1 => 0,
        line => text.match_indices('\n').nth(line.checked_sub(2)?)?.0 + 1,
    };
    let line = &text[line_start..];
    let within =
        line.char_indices().nth(position.column.checked_sub(1)?).map_or(line.len(), |(offset, _)| offset);
    Some(line_start + within)
}

/// A witness in words.
pub fn in_words(witness: &Witness, numbering: &Numbering) -> String {
    let task = |task: TaskId| numbering.task(task);
    match witness {
        Witness::Cycle { steps } => {
            let step = |step: &CycleStep| match step.then {
                Before::Counter(counter) => {
                    format!("{} before the waiters of {}: ", task(step.task), numbering.counter(counter))
                }
                Before::Queue(sm) => format!("{} before the rest of SM {sm}'s queue: ", task(step.task)),
            };
            let cycle: String = steps.iter().take(SHOWN).map(step).collect();
            let more = if steps.len() > SHOWN { "...: " } else { "" };
            format!("{cycle}{more}{} again", task(steps.first().map_or(TaskId::default(), |step| step.task)))
        }
        Witness::Unordered { first, second, buffer, region } => format!(
            "no chain of waits orders {} and {} on buffer {buffer}, elements {region:?}",
            task(first.task),
            task(second.task)
        ),
        Witness::Schedule { events, then } => {
            let event = |event: &Event| match event {
                Event::Start(started) => format!("start {}", task(*started)),
                Event::Finish(finished) => format!("finish {}", task(*finished)),
            };
            let shown: Vec<String> = events.iter().take(SHOWN).map(event).collect();
            let more = if events.len() > shown.len() { ", ..." } else { "" };
            let schedule = if shown.is_empty() { "whatever runs".to_owned() } else { shown.join(", ") };
            format!("{schedule}{more}: {then}")
        }
        Witness::Clobber { page, first, second } => format!(
            "on page {page}, nothing makes {} (buffer {}) come before {} (buffer {})",
            task(first.task),
            first.buffer,
            task(second.task),
            second.buffer
        ),
        Witness::Unwritten { task: reader, buffer, region } => {
            format!("{} reads elements {region:?} of buffer {buffer} that nobody has written", task(*reader))
        }
        Witness::Overlap { first, second, rank, tensor, region, next_iteration } => {
            let when = if *next_iteration { " of the next iteration" } else { "" };
            let where_ = match region {
                TileRegion::Box { strides, r#box } => {
                    format!("elements {box:?} along strides {strides:?}", box = r#box)
                }
                TileRegion::Bytes { bytes: [from, to] } => format!("bytes {from} to {to}"),
            };
            format!(
                "{} ({}) and {}{when} ({}) both access {where_} of `{tensor}` on rank {rank}",
                task(first.task),
                access(first.access),
                task(second.task),
                access(second.access)
            )
        }
        Witness::Choice { ops, kernels } => {
            let ids = |noun: &str, ids: Vec<String>| {
                let more = if ids.len() > SHOWN { ", ..." } else { "" };
                let shown = ids.get(..SHOWN).unwrap_or(&ids).join(", ");
                (!ids.is_empty()).then(|| format!("{noun} {shown}{more}"))
            };
            let ops = ids("ops", ops.iter().map(u64::to_string).collect());
            let kernels = ids("kernels", kernels.iter().map(|kernel| format!("`{kernel}`")).collect());
            ops.into_iter().chain(kernels).collect::<Vec<_>>().join("; ")
        }
    }
}

fn access(kind: AccessKind) -> &'static str {
    match kind {
        AccessKind::Read => "read",
        AccessKind::Write => "write",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_cut_around_the_place() {
        let text = format!("{}é\"here\"{}", "a".repeat(500), "b".repeat(500));
        let start = text.find('"').expect("there");
        let excerpt = Excerpt::new(&text, start, start + 6);
        assert_eq!(&excerpt.text[excerpt.span.clone()], "\"here\"");
        assert!(excerpt.text.starts_with("... ") && excerpt.text.ends_with(" ..."));
        assert!(excerpt.text.len() < LINE + 60);
    }

    #[test]
    fn positions_find_their_offset() {
        let text = "ab\ncé d";
        for offset in [0, 1, 3, 4, 6, 7] {
            assert_eq!(offset_of(text, Position::of_offset(text, offset)), Some(offset));
        }
    }
}
