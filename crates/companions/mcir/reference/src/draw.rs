//! Pictures of documents: regions nested, which tiles are on chip at which node, and what is moved.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use megakernel_ir::Diagnostic;
use megakernel_mcir::{Body, Document, Index, Init, Memory, Term};
use megakernel_order::Findings;
use megakernel_reference::commands::draw::{escaped, head};

use crate::measure::{MOST, moved};
use crate::residency::{Lifetimes, bytes, peaks, span, uses};
use crate::shapes::Shaped;
use crate::validate::judge;
use crate::world::{Site, World, nodes};

/// The most regions, nodes of a body, tiles and tensors that are drawn one by one.
const REGIONS: usize = 24;
const NODES: usize = 20;
const TILES: usize = 24;
const TENSORS: usize = 8;
/// The most letters of a line.
const LETTERS: usize = 74;

const LINE: i64 = 15;
const LEFT: i64 = 20;
const WIDE: i64 = 560;
const RIGHT: i64 = 610;
const NAMES: i64 = 190;
const CHART: i64 = 320;
const WIDTH: i64 = RIGHT + NAMES + CHART + 140;
const INK: &str = "#222222";
const GREY: &str = "#666666";
const COLOURS: [&str; 2] = ["#4c78a8", "#f2a14a"];
const MOVES: [&str; 2] = ["#54a24b", "#b279a2"];

/// The picture of a document.
///
/// # Errors
/// What is wrong with it.
pub fn picture(document: &Document, heading: &str) -> Result<String, Vec<Diagnostic>> {
    let world = World::new(document);
    let mut findings = Findings::default();
    let Some((regions, lifetimes)) = judge(&world, &mut findings) else {
        return Err(findings.into_parts().0);
    };
    let mut left = MOST;
    let all: Vec<Traffic> = regions.iter().map(|shaped| traffic(&world, shaped, &mut left)).collect();
    let is_counted = left >= 0;
    let most = all.iter().flat_map(BTreeMap::values).flatten().copied().max().unwrap_or(0);
    let mut drawing = Drawing { world: &world, lifetimes: &lifetimes, out: String::new(), y: 30 };
    drawing.text(LEFT, heading, INK, true);
    drawing.y += LINE;
    drawing.text(LEFT, legend(is_counted), GREY, false);
    drawing.y += LINE;
    for (shaped, traffic) in regions.iter().zip(&all).take(REGIONS) {
        drawing.region(shaped, traffic, if is_counted { most } else { 0 });
    }
    if let Some(more) = regions.len().checked_sub(REGIONS + 1) {
        drawing.text(LEFT, &format!("and {} regions more", more + 1), GREY, false);
        drawing.y += LINE;
    }
    let height = drawing.y + 10;
    Ok(format!("{}{}</svg>\n", head(WIDTH, height), drawing.out))
}

fn legend(is_counted: bool) -> &'static str {
    if is_counted {
        "shared memory blue, registers orange; loads green, stores purple"
    } else {
        "shared memory blue, registers orange; what is moved is too much to count"
    }
}

/// By the place of a tensor among the values: the bytes that a region loads of it, and those that it stores.
type Traffic = BTreeMap<usize, [i64; 2]>;

fn traffic(world: &World<'_>, shaped: &Shaped<'_>, left: &mut i64) -> Traffic {
    let mut all = Traffic::new();
    for site in nodes(shaped.number, shaped.region) {
        if let Some((of, bytes)) = moved(world, shaped, &site, left) {
            all.entry(world.place(of.tensor)).or_default()[usize::from(of.stores)] += bytes;
        }
    }
    all
}

struct Drawing<'w, 'd> {
    world: &'w World<'d>,
    lifetimes: &'w Lifetimes,
    out: String,
    /// Where the next line stands.
    y: i64,
}

impl Drawing<'_, '_> {
    fn text(&mut self, x: i64, text: &str, fill: &str, is_bold: bool) {
        let weight = if is_bold { " font-weight=\"bold\"" } else { "" };
        let (y, text) = (self.y, escaped(&short(text, LETTERS).replace('\n', "\u{fffd}")));
        let _ = writeln!(self.out, "<text x=\"{x}\" y=\"{y}\" fill=\"{fill}\"{weight}>{text}</text>");
    }

    fn bar(&mut self, x: i64, width: i64, fill: &str) {
        let (y, height) = (self.y - 10, LINE - 4);
        let width = width.max(1);
        let _ = writeln!(
            self.out,
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"{fill}\"/>"
        );
    }

    /// A frame around what stands from a line to this one.
    fn frame(&self, inner: i64, from: i64, fill: &str) -> String {
        let (x, width, height) = (LEFT + inner, WIDE - 2 * inner, self.y - from + LINE + 4);
        let y = from - LINE + 1;
        format!(
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" rx=\"4\" fill=\"{fill}\" stroke=\"#999999\"/>\n"
        )
    }

    fn name(&self, name: u32) -> &str {
        self.world.name(name)
    }

    fn region(&mut self, shaped: &Shaped<'_>, traffic: &Traffic, most: i64) {
        self.y += LINE;
        let top = self.y;
        let before = std::mem::take(&mut self.out);
        let frames = self.nested(shaped);
        let nested = std::mem::replace(&mut self.out, before);
        self.out.push_str(&frames);
        self.out.push_str(&nested);
        let bottom = std::mem::replace(&mut self.y, top);
        self.residency(shaped);
        self.moved(traffic, most);
        self.y = self.y.max(bottom) + LINE;
    }

    /// The region, its stream, its blocks and its bodies, one in the other: the text is written, and the frames are answered, outer ones first.
    fn nested(&mut self, shaped: &Shaped<'_>) -> String {
        let region = shaped.region;
        let outer = self.y;
        let id = self.name(region.id).to_owned();
        self.text(LEFT + 8, &format!("execution region {id}"), INK, true);
        self.y += LINE + 4;
        let stream = self.y;
        let text = self.stream(shaped);
        self.text(LEFT + 18, &text, INK, false);
        self.y += LINE + 4;
        let tile = self.y;
        let steps =
            |axis: u32| region.tile.shape.iter().find(|(known, _)| *known == axis).map_or(1, |of| of.1);
        let axes = region
            .tile
            .blocks
            .iter()
            .map(|&(axis, extent)| format!("{} to {extent} by {}", self.name(axis), steps(axis)));
        let axes = axes.collect::<Vec<_>>().join(", ");
        let blocks = shaped.axes.count_blocks();
        let blocks = if blocks == 1 { "1 block".to_owned() } else { format!("{blocks} blocks") };
        let text = if axes.is_empty() { blocks } else { format!("{blocks}: {axes}") };
        self.text(LEFT + 28, &text, INK, false);
        self.y += LINE + 4;
        let mut inner = String::new();
        let mut last = tile;
        for body in Body::ALL {
            let all: Vec<Site<'_>> = nodes(shaped.number, region).filter(|site| site.body == *body).collect();
            if all.is_empty() {
                continue;
            }
            let from = self.y;
            self.text(LEFT + 38, body.name(), GREY, false);
            self.y += LINE;
            for site in all.iter().take(NODES) {
                let text = self.node(site);
                self.text(LEFT + 50, &text, INK, false);
                self.y += LINE;
            }
            if let Some(more) = all.len().checked_sub(NODES + 1) {
                self.text(LEFT + 50, &format!("and {} nodes more", more + 1), GREY, false);
                self.y += LINE;
            }
            self.y -= LINE;
            last = self.y;
            inner.push_str(&self.frame(30, from, "#ffffff"));
            self.y += LINE + 10;
        }
        self.y = last + 6;
        let tile = self.frame(20, tile, "#f4f7f4");
        self.y += 6;
        let stream = self.frame(10, stream, "#f0f3fa");
        self.y += 6;
        let outer = self.frame(0, outer, "#fafafa");
        self.y += LINE;
        format!("{outer}{stream}{tile}{inner}")
    }

    fn stream(&self, shaped: &Shaped<'_>) -> String {
        let region = shaped.region;
        let mut text = match &region.stream {
            None => "no stream".to_owned(),
            Some(stream) => {
                let list = |all: &[Index], of: &str| match all {
                    [one] => self.index(one),
                    all => {
                        let all: Vec<String> = all.iter().map(|index| self.index(index)).collect();
                        format!("{of}({})", all.join(", "))
                    }
                };
                let from = if stream.from.is_empty() { "0".to_owned() } else { list(&stream.from, "max") };
                let step =
                    region.tile.shape.iter().find(|(axis, _)| *axis == stream.axis).map_or(1, |of| of.1);
                format!(
                    "stream {} from {from} to {} by {step}",
                    self.name(stream.axis),
                    list(&stream.to, "min")
                )
            }
        };
        for (place, state) in region.state.iter().enumerate() {
            let init = match state.init {
                Init::Number(number) => number.to_string(),
                Init::Least => "-inf".to_owned(),
                Init::Most => "inf".to_owned(),
            };
            let lead = if place == 0 { "; state" } else { "," };
            let _ = write!(text, "{lead} {} = {init}", self.name(state.value));
        }
        text
    }

    fn index(&self, index: &Index) -> String {
        let mut text = String::new();
        for term in &index.terms {
            let (number, axis) = match *term {
                Term::Number(number) => (number, None),
                Term::Axis(axis) => (1, Some(axis)),
                Term::Scaled(factor, axis) => (factor, Some(axis)),
            };
            let size = number.unsigned_abs();
            let sign = match (text.is_empty(), number < 0) {
                (true, true) => "-",
                (true, false) => "",
                (false, true) => " - ",
                (false, false) => " + ",
            };
            let _ = match axis {
                None => write!(text, "{sign}{size}"),
                Some(axis) if size == 1 => write!(text, "{sign}{}", self.name(axis)),
                Some(axis) => write!(text, "{sign}{size} {}", self.name(axis)),
            };
        }
        if text.is_empty() { "0".to_owned() } else { text }
    }

    fn node(&self, site: &Site<'_>) -> String {
        let node = site.node;
        let list = |all: &[u32]| all.iter().map(|&name| self.name(name)).collect::<Vec<_>>().join(", ");
        let mut text = format!("{}: {}", self.name(node.id), node.op.name());
        if let Some(function) = function(&node.op) {
            let _ = write!(text, " {function}");
        }
        if let megakernel_mcir::Op::Prefetch(_, version) = node.op {
            let _ = write!(text, " +{version}");
        }
        for (place, (tile, version)) in node.op.waits().iter().enumerate() {
            let _ = write!(text, "{} {} +{version}", if place == 0 { "" } else { "," }, self.name(*tile));
        }
        if !node.ins.is_empty() {
            let _ = write!(text, " {} → {}", list(&node.ins), list(&node.outs));
        }
        if let Some(at) = node.op.at() {
            let at: Vec<String> = at.iter().map(|index| self.index(index)).collect();
            let _ = write!(text, " at [{}]", at.join(", "));
        }
        text
    }

    /// A row for each tile, with a bar from the first node at which it takes memory to the last one.
    fn residency(&mut self, shaped: &Shaped<'_>) {
        let bodies = shaped.region.tile.bodies.each_ref().map(Vec::len);
        let count = i64::try_from(bodies.iter().sum::<usize>()).unwrap_or(0).max(1);
        let place = |position: usize| i64::try_from(position).unwrap_or(0) * CHART / count;
        let [shared, register] = peaks(self.world, shaped, self.lifetimes);
        let text = format!(
            "on chip, node by node; at most {} bytes shared and {} in registers",
            shared.bytes, register.bytes
        );
        self.text(RIGHT, &text, INK, false);
        self.y += LINE + 2;
        let x = RIGHT + NAMES;
        let mut from = 0;
        for (body, length) in Body::ALL.iter().zip(bodies).filter(|(_, length)| *length > 0) {
            self.text(x + place(from), body.name(), GREY, false);
            from += length;
        }
        self.y += LINE;
        let all = uses(self.world, shaped);
        for (tile, used) in all.iter().take(TILES) {
            let value = self.world.value(*tile);
            let slots = if value.buffers == 1 { String::new() } else { format!(" x {}", value.buffers) };
            let label = short(&format!("{}{slots}", self.name(*tile)), 14);
            let size = bytes(self.world, *tile);
            self.text(RIGHT, &format!("{label}: {size}"), INK, false);
            let (first, end) = span(shaped, self.lifetimes.of(*tile), used);
            let colour = COLOURS[usize::from(value.memory == Memory::Register)];
            self.bar(x + place(first), place(end) - place(first) - 1, colour);
            self.y += LINE;
        }
        if let Some(more) = all.len().checked_sub(TILES + 1) {
            self.text(RIGHT, &format!("and {} tiles more", more + 1), GREY, false);
            self.y += LINE;
        }
        self.y += LINE;
    }

    /// Two bars for each tensor.
    fn moved(&mut self, traffic: &Traffic, most: i64) {
        self.text(RIGHT, "moved, in bytes, by all blocks", INK, false);
        self.y += LINE + 2;
        for (&place, bytes) in traffic.iter().take(TENSORS) {
            for ((bytes, colour), what) in bytes.iter().zip(MOVES).zip(["load", "store"]) {
                if *bytes == 0 {
                    continue;
                }
                let label = short(self.name(self.world.document.values[place].name), 14);
                self.text(RIGHT, &format!("{what} {label}"), INK, false);
                if most > 0 {
                    let width = i128::from(*bytes) * i128::from(CHART) / i128::from(most);
                    let width = i64::try_from(width).unwrap_or(CHART);
                    self.bar(RIGHT + NAMES, width, colour);
                    self.text(RIGHT + NAMES + width + 6, &bytes.to_string(), GREY, false);
                }
                self.y += LINE;
            }
        }
        if let Some(more) = traffic.len().checked_sub(TENSORS + 1) {
            self.text(RIGHT, &format!("and {} tensors more", more + 1), GREY, false);
            self.y += LINE;
        }
    }
}

/// The first letters of a name.
fn short(name: &str, letters: usize) -> String {
    let short: String = name.chars().take(letters).collect();
    if short.len() < name.len() { format!("{short}…") } else { short }
}

/// The name of what a node computes.
fn function(op: &megakernel_mcir::Op) -> Option<&'static str> {
    use megakernel_mcir::{Function, Op};
    Some(match op {
        Op::Reduce(fold, _) => fold.name(),
        Op::UpdateState(update) => update.name(),
        Op::Compute(function) => match function {
            Function::Matmul(false) => "matmul_nn",
            Function::Matmul(true) => "matmul_nt",
            Function::Transpose => "transpose",
            Function::Unary(unary) => unary.name(),
            Function::Scale(..) => "scale",
            Function::Binary(binary, _) => binary.name(),
            Function::Mask(..) => "mask",
        },
        _ => return None,
    })
}
