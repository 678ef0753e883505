//! Boxes and lines as SVG.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::chart::{Boxes, Chart};

/// What is marked in a picture.
#[derive(Debug, Default)]
pub struct Marks {
    /// Tasks, by index.
    pub tasks: BTreeSet<usize>,
    /// Events, by index.
    pub events: BTreeSet<usize>,
    /// Pairs of tasks with a line between them.
    pub pairs: Vec<[usize; 2]>,
}

/// A picture to be.
pub struct Picture<'c> {
    /// What is drawn.
    pub chart: &'c Chart,
    /// What is marked in it.
    pub marks: &'c Marks,
    /// Lines above it: the first is a heading, those that begin with a `!` are what is wrong.
    pub text: &'c [String],
    /// Whether every task and event has a place of its own.
    pub in_detail: bool,
    /// Of many rows, those on either side of the ones with marks that are drawn; all if none are marked, or nothing is said.
    pub around: Option<usize>,
}

const CELL: [i64; 2] = [34, 18];
const CELLS_A_LINE: usize = 16;
const LETTER: i64 = 7;
const BOLD: i64 = 9;
const LINE: i64 = 15;
const GAP: i64 = 28;
const MARGIN: i64 = 24;

/// A box with a place.
#[derive(Clone, Copy, Debug, Default)]
struct Placed {
    x: i64,
    y: i64,
    width: i64,
    height: i64,
}

impl Placed {
    fn centre(&self) -> i64 {
        self.x + self.width / 2
    }
}

/// One end of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct End {
    x: i64,
    y: i64,
}

impl Picture<'_> {
    /// The SVG.
    pub fn svg(&self) -> String {
        let boxes = self.chart.boxes();
        let shown = self.rows(&boxes);
        let top = MARGIN + LINE * (self.text.len() as i64 + 1);
        let (placed, lanes, height) = self.place(&boxes, &shown, top);
        let width = lanes.iter().map(|&[_, end]| end).max().unwrap_or(0) + MARGIN;
        // Room for the lines around the boxes, and for the text.
        let text = self.text.iter().map(|line| LETTER * line.chars().count() as i64).max().unwrap_or(0);
        let width = (width + 3 * GAP).max(text + 2 * MARGIN);
        let mut out = head(width, height);
        for (index, line) in self.text.iter().enumerate() {
            let (fill, weight) = match line.strip_prefix('!') {
                Some(_) => ("#c0182b", "normal"),
                None => ("#222222", if index == 0 { "bold" } else { "normal" }),
            };
            let line = line.trim_start_matches('!');
            let y = MARGIN + LINE * index as i64;
            let _ = writeln!(
                out,
                "<text x=\"{MARGIN}\" y=\"{y}\" fill=\"{fill}\" font-weight=\"{weight}\">{}</text>",
                escaped(line)
            );
        }
        for (name, [start, end]) in self.chart.lanes.iter().zip(&lanes).filter(|(name, _)| !name.is_empty()) {
            let (x, y) = ((start + end) / 2, top - 8);
            let _ = writeln!(
                out,
                "<text x=\"{x}\" y=\"{y}\" text-anchor=\"middle\" font-weight=\"bold\" fill=\"#555555\">{}</text>",
                escaped(name)
            );
        }
        self.gaps(&shown, &boxes, &placed, width, &mut out);
        self.lines(&boxes, &placed, &mut out);
        for (index, place) in placed.iter().enumerate() {
            if let Some(place) = place {
                self.node(&boxes, index, *place, &mut out);
            }
        }
        self.pairs(&boxes, &placed, &mut out);
        out.push_str("</svg>\n");
        out
    }

    /// The rows that are drawn.
    fn rows(&self, boxes: &Boxes) -> BTreeSet<usize> {
        let all: BTreeSet<usize> = boxes.nodes.iter().map(|node| node.row).collect();
        let many = all.last().is_some_and(|&row| row > super::MANY_ROWS);
        let Some(around) = self.around.filter(|_| many) else { return all };
        let marked: BTreeSet<usize> = boxes
            .nodes
            .iter()
            .enumerate()
            .filter(|(index, _)| self.is_marked(boxes, *index))
            .map(|(_, node)| node.row)
            .collect();
        if marked.is_empty() {
            return all;
        }
        let is_near = |row: &usize| marked.iter().any(|near| near.abs_diff(*row) <= around);
        all.into_iter().filter(is_near).collect()
    }

    fn is_marked(&self, boxes: &Boxes, index: usize) -> bool {
        let Some(node) = boxes.nodes.get(index) else { return false };
        let marks = if node.is_of_events { &self.marks.events } else { &self.marks.tasks };
        node.members.iter().any(|member| marks.contains(member))
    }

    /// How large a box is.
    fn size(&self, boxes: &Boxes, index: usize) -> [i64; 2] {
        let Some(node) = boxes.nodes.get(index) else { return [0, 0] };
        let lines = self.words(boxes, index);
        let letter = |line: usize| if line == 0 && !node.is_of_events { BOLD } else { LETTER };
        let wide = lines.iter().enumerate().map(|(at, line)| line.chars().count() as i64 * letter(at));
        let text = wide.max().unwrap_or(0);
        let mut height = LINE * lines.len() as i64;
        let mut width = text;
        if self.in_detail {
            let a_line = node.members.len().min(CELLS_A_LINE) as i64;
            width = width.max(a_line * CELL[0]);
            height += CELL[1] * node.members.len().div_ceil(CELLS_A_LINE) as i64 + 4;
        }
        [width + 14, height + 8]
    }

    /// What stands in a box.
    fn words(&self, boxes: &Boxes, index: usize) -> Vec<String> {
        let Some(node) = boxes.nodes.get(index) else { return Vec::new() };
        let mut lines = node.lines.clone();
        if !self.in_detail {
            let (what, numbers): (&str, Vec<u32>) = match node.is_of_events {
                true => (
                    self.chart.between,
                    node.members.iter().map(|&event| self.chart.events[event].number).collect(),
                ),
                false => ("task", node.members.iter().map(|&task| self.chart.tasks[task].number).collect()),
            };
            let (low, high) = (numbers.iter().min().copied(), numbers.iter().max().copied());
            let (low, high) = (low.unwrap_or_default(), high.unwrap_or_default());
            lines.push(match numbers.len() {
                1 => format!("{what} {low}"),
                count => format!("{count} {what}s, {low} to {high}"),
            });
        }
        lines
    }

    /// Places for boxes: row below row, each as near as can be to what leads to it. And where lanes begin and end, and the height.
    fn place(
        &self,
        boxes: &Boxes,
        rows: &BTreeSet<usize>,
        top: i64,
    ) -> (Vec<Option<Placed>>, Vec<[i64; 2]>, i64) {
        let before = self.before(boxes);
        let sizes: Vec<[i64; 2]> = (0..boxes.nodes.len()).map(|index| self.size(boxes, index)).collect();
        let mut in_row: BTreeMap<(usize, usize), Vec<usize>> = BTreeMap::new();
        for (index, node) in boxes.nodes.iter().enumerate().filter(|(_, node)| rows.contains(&node.row)) {
            in_row.entry((node.row, node.lane)).or_default().push(index);
        }
        let mut placed: Vec<Option<Placed>> = vec![None; boxes.nodes.len()];
        let mut y = top;
        let mut last_row = None;
        for &row in rows {
            // A wider gap where rows are left out.
            if last_row.is_some_and(|last: usize| row > last + 1) {
                y += GAP;
            }
            last_row = Some(row);
            let mut tallest = 0;
            for lane in 0..self.chart.lanes.len() {
                let Some(nodes) = in_row.get(&(row, lane)) else { continue };
                let wish = |node: usize| -> i64 {
                    let near: Vec<i64> = before
                        .get(&node)
                        .into_iter()
                        .flatten()
                        .filter(|&&other| boxes.nodes.get(other).is_some_and(|other| other.lane == lane))
                        .filter_map(|&other| placed.get(other).copied().flatten())
                        .map(|other| other.centre())
                        .collect();
                    if near.is_empty() { 0 } else { near.iter().sum::<i64>() / near.len() as i64 }
                };
                let mut wishes: Vec<(i64, usize)> = nodes.iter().map(|&node| (wish(node), node)).collect();
                wishes.sort_unstable();
                let mut end = i64::MIN / 2;
                let mut error = 0;
                for &(wish, node) in &wishes {
                    let [width, height] = sizes[node];
                    let x = (wish - width / 2).max(end);
                    end = x + width + 16;
                    error += x + width / 2 - wish;
                    tallest = tallest.max(height);
                    placed[node] = Some(Placed { x, y, width, height });
                }
                let shift = error / wishes.len() as i64;
                for &(_, node) in &wishes {
                    if let Some(place) = placed.get_mut(node).and_then(Option::as_mut) {
                        place.x -= shift;
                    }
                }
            }
            y += tallest + GAP;
        }
        let mut lanes = Vec::new();
        let mut left = MARGIN;
        for lane in 0..self.chart.lanes.len() {
            let own = || (0..placed.len()).filter(|&index| boxes.nodes[index].lane == lane);
            let low = own().filter_map(|index| Some(placed[index]?.x)).min().unwrap_or(0);
            let high = own().filter_map(|index| placed[index].map(|at| at.x + at.width)).max().unwrap_or(0);
            for index in own() {
                if let Some(place) = placed[index].as_mut() {
                    place.x += left - low;
                }
            }
            lanes.push([left, left + high - low]);
            left += high - low + 4 * GAP;
        }
        (placed, lanes, y)
    }

    /// Which boxes have a line to each.
    fn before(&self, boxes: &Boxes) -> BTreeMap<usize, BTreeSet<usize>> {
        let mut before: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
        for (task, &node) in self.chart.tasks.iter().zip(&boxes.of_task) {
            for event in task.waits.iter().filter_map(|&event| boxes.of_event.get(event).copied().flatten()) {
                before.entry(node).or_default().insert(event);
            }
            let triggered = task.triggers.and_then(|event| boxes.of_event.get(event).copied().flatten());
            if let Some(event) = triggered {
                before.entry(event).or_default().insert(node);
            }
        }
        before
    }

    /// The place of one task or event in its box.
    fn cell(&self, boxes: &Boxes, index: usize, member: usize, place: Placed) -> Placed {
        let Some(node) = boxes.nodes.get(index) else { return place };
        if !self.in_detail {
            return place;
        }
        let at = node.members.binary_search(&member).unwrap_or(0);
        let in_line = node.members.len().min(CELLS_A_LINE) as i64;
        let (column, line) = ((at % CELLS_A_LINE) as i64, (at / CELLS_A_LINE) as i64);
        let above = LINE * node.lines.len() as i64 + 5;
        Placed {
            x: place.x + (place.width - in_line * CELL[0]) / 2 + column * CELL[0] + 1,
            y: place.y + above + line * CELL[1] + 1,
            width: CELL[0] - 2,
            height: CELL[1] - 2,
        }
    }

    fn lines(&self, boxes: &Boxes, placed: &[Option<Placed>], out: &mut String) {
        // The same line once; marked if any of those that it stands for is.
        let mut lines: BTreeMap<(End, End), (bool, bool)> = BTreeMap::new();
        // From a place in one box to a place in another: lines end at the edges of the boxes.
        let mut draw = |from: (usize, Placed), to: (usize, Placed), is_marked: bool, is_across: bool| {
            if let (Some(above), Some(below)) = (placed[from.0], placed[to.0]) {
                let from = End { x: from.1.centre(), y: above.y + above.height };
                let to = End { x: to.1.centre(), y: below.y };
                let line = lines.entry((from, to)).or_default();
                line.0 |= is_marked;
                line.1 |= is_across;
            }
        };
        let around = self.chart.around();
        for (event, [producers, dependents]) in around.iter().enumerate() {
            let Some(node) = boxes.of_event.get(event).copied().flatten() else { continue };
            let Some(own) = placed[node].map(|place| (node, self.cell(boxes, node, event, place))) else {
                continue;
            };
            let is_marked =
                |task: usize| self.marks.events.contains(&event) && self.marks.tasks.contains(&task);
            for (tasks, into) in [(producers, true), (dependents, false)] {
                let mut by_box: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
                tasks.iter().for_each(|&task| by_box.entry(boxes.of_task[task]).or_default().push(task));
                for (other, some) in by_box {
                    let Some(place) = placed[other] else { continue };
                    let is_across = boxes.nodes[other].lane != boxes.nodes[node].lane;
                    let mut line = |end: Placed, is_marked: bool| {
                        let (from, to) = if into { ((other, end), own) } else { (own, (other, end)) };
                        draw(from, to, is_marked, is_across);
                    };
                    // All tasks of an operator: one line for all.
                    if some.len() == boxes.nodes[other].members.len() {
                        line(place, some.iter().any(|&task| is_marked(task)));
                    } else {
                        some.iter()
                            .for_each(|&task| line(self.cell(boxes, other, task, place), is_marked(task)));
                    }
                }
            }
        }
        let mut lines: Vec<_> = lines.into_iter().collect();
        // Marked ones on top.
        lines.sort_by_key(|(_, (is_marked, _))| *is_marked);
        for ((from, to), (is_marked, is_across)) in lines {
            let stroke = match (is_marked, is_across) {
                (true, _) => "#c0182b",
                (false, true) => "#2a6fbb",
                (false, false) => "#9aa3ad",
            };
            let width = if is_marked { 2 } else { 1 };
            let bend = (to.y - from.y).abs().max(30) / 2;
            let _ = writeln!(
                out,
                "<path d=\"M{} {} C{} {} {} {} {} {}\" fill=\"none\" stroke=\"{stroke}\" stroke-width=\"{width}\"/>",
                from.x,
                from.y,
                from.x,
                from.y + bend,
                to.x,
                to.y - bend,
                to.x,
                to.y
            );
        }
    }

    fn node(&self, boxes: &Boxes, index: usize, place: Placed, out: &mut String) {
        let Some(node) = boxes.nodes.get(index) else { return };
        let marked = if node.is_of_events { &self.marks.events } else { &self.marks.tasks };
        let is_marked = self.is_marked(boxes, index);
        let (fill, round) = if node.is_of_events { ("#f4f1e4", 10) } else { ("#e7eff7", 3) };
        let (stroke, width) = if is_marked { ("#c0182b", 2) } else { ("#7d8894", 1) };
        let Placed { x, y, width: w, height: h } = place;
        let _ = writeln!(
            out,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" rx=\"{round}\" fill=\"{fill}\" stroke=\"{stroke}\" stroke-width=\"{width}\"/>"
        );
        for (number, line) in self.words(boxes, index).iter().enumerate() {
            let weight = if number == 0 && !node.is_of_events { "bold" } else { "normal" };
            let (x, y) = (place.centre(), place.y + LINE * (number as i64 + 1));
            let _ = writeln!(
                out,
                "<text x=\"{x}\" y=\"{y}\" text-anchor=\"middle\" font-weight=\"{weight}\">{}</text>",
                escaped(line)
            );
        }
        if !self.in_detail {
            return;
        }
        for &member in &node.members {
            let cell = self.cell(boxes, index, member, place);
            let is_marked = marked.contains(&member);
            let (fill, ink) = if is_marked { ("#c0182b", "#ffffff") } else { ("#ffffff", "#222222") };
            let round = if node.is_of_events { cell.height / 2 } else { 2 };
            let number = match node.is_of_events {
                true => self.chart.events[member].number,
                false => self.chart.tasks[member].number,
            };
            let Placed { x, y, width: w, height: h } = cell;
            let _ = writeln!(
                out,
                "<rect x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\" rx=\"{round}\" fill=\"{fill}\" stroke=\"#7d8894\"/><text x=\"{}\" y=\"{}\" text-anchor=\"middle\" font-size=\"10\" fill=\"{ink}\">{number}</text>",
                cell.centre(),
                y + 12
            );
        }
    }

    /// Lines between tasks that something is wrong with, over everything else.
    fn pairs(&self, boxes: &Boxes, placed: &[Option<Placed>], out: &mut String) {
        let at = |task: usize| {
            let node = *boxes.of_task.get(task)?;
            let place = placed.get(node).copied().flatten()?;
            Some((place.x + place.width, self.cell(boxes, node, task, place)))
        };
        for &[one, other] in &self.marks.pairs {
            let (Some((one_edge, one)), Some((other_edge, other))) = (at(one), at(other)) else { continue };
            let middle = |place: Placed| End { x: place.x + place.width, y: place.y + place.height / 2 };
            let (from, to) = (middle(one), middle(other));
            // Around the boxes, so that they stay legible.
            let bend = one_edge.max(other_edge) + 90;
            let _ = writeln!(
                out,
                "<path d=\"M{} {} C{bend} {} {bend} {} {} {}\" fill=\"none\" stroke=\"#c0182b\" stroke-width=\"2.5\" stroke-dasharray=\"7 4\"/>",
                from.x, from.y, from.y, to.y, to.x, to.y
            );
        }
    }

    /// Where rows are left out.
    fn gaps(
        &self,
        shown: &BTreeSet<usize>,
        boxes: &Boxes,
        placed: &[Option<Placed>],
        width: i64,
        out: &mut String,
    ) {
        let rows: Vec<usize> = shown.iter().copied().collect();
        for pair in rows.windows(2).filter(|pair| pair[1] > pair[0] + 1) {
            let top = boxes.nodes.iter().zip(placed).filter(|(node, _)| node.row == pair[1]);
            let Some(y) = top.filter_map(|(_, place)| Some((*place)?.y)).min() else { continue };
            let y = y - GAP;
            let end = width - MARGIN;
            let _ = writeln!(
                out,
                "<path d=\"M{MARGIN} {y} H{end}\" stroke=\"#9aa3ad\" stroke-dasharray=\"2 6\"/><text x=\"{MARGIN}\" y=\"{}\" fill=\"#777777\">{} rows left out</text>",
                y - 4,
                pair[1] - pair[0] - 1
            );
        }
    }
}

/// The beginning of a picture: its size, and a white ground.
pub fn head(width: i64, height: i64) -> String {
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" font-size=\"12\">\n<rect width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\n"
    )
}

/// A text as XML has it, which has no place for the characters that are no text.
pub fn escaped(text: &str) -> String {
    let is_text =
        |letter: char| letter == '\n' || !(letter.is_control() || matches!(letter, '\u{fffe}' | '\u{ffff}'));
    let text: String = text.chars().map(|letter| if is_text(letter) { letter } else { '\u{fffd}' }).collect();
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
