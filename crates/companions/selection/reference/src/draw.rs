//! Explanations for people: as lines of text, and as a drawing.

use megakernel_reference::commands::draw::escaped;
use serde_json::Value;

fn word<'v>(value: &'v Value, name: &str) -> &'v str {
    value.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn number(value: &Value, name: &str) -> usize {
    value.get(name).and_then(Value::as_u64).and_then(|number| usize::try_from(number).ok()).unwrap_or(0)
}

fn names(value: &Value, name: &str) -> Vec<String> {
    let list = value.get(name).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    list.iter().filter_map(|one| one.as_str().map(str::to_owned)).collect()
}

fn steps(explanation: &Value) -> &[Value] {
    explanation.get("steps").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}

fn class(request: &Value, op: usize) -> String {
    let class = request.pointer(&format!("/sequence/ops/{op}/sig/class")).and_then(Value::as_str);
    class.unwrap_or_default().to_owned()
}

/// What stopped a region, in words.
fn stopped(step: &Value) -> String {
    match (word(step, "trigger"), word(step, "reason")) {
        (trigger, "") => trigger.to_owned(),
        (trigger, reason) => format!("{trigger}, {reason}"),
    }
}

/// One line a step.
pub fn text(request: &Value, explanation: &Value) -> String {
    let mut out = String::new();
    for step in steps(explanation) {
        if word(step, "action") == "flush" {
            let op = step.get("op").and_then(Value::as_u64);
            let at = op.map_or("the end".to_owned(), |op| format!("op {op} {}", class(request, op as usize)));
            let rewound = match number(step, "rewound") {
                0 => String::new(),
                n => format!("; {n} fed again"),
            };
            out.push_str(&format!(
                "  => [{}..{}] {}   ({} at {at}{rewound})\n",
                number(step, "anchor"),
                number(step, "last"),
                word(step, "kernel"),
                stopped(step),
            ));
        } else {
            let op = number(step, "op");
            let complete = names(step, "complete");
            let viable: Vec<String> = names(step, "viable")
                .into_iter()
                .map(|kernel| if complete.contains(&kernel) { format!("{kernel}*") } else { kernel })
                .collect();
            let mark = if word(step, "action") == "start" { "op" } else { " +" };
            out.push_str(&format!("{mark} {op:<3} {:<12} {}\n", class(request, op), viable.join(" | ")));
        }
    }
    out
}

/// Height of a line, and width of a character.
const ROW: usize = 24;
const CHARACTER: usize = 8;
/// So many characters of candidates are shown; the others are counted.
const SHOWN: usize = 64;
/// Where the columns begin, and how much lies between them.
const LEFT: usize = 16;
const GAP: usize = 28;

/// A line of text in a column.
struct Line {
    row: usize,
    /// Its class of style, and the text, in parts.
    parts: Vec<(&'static str, String)>,
}

impl Line {
    fn new(row: usize, style: &'static str, text: String) -> Line {
        Line { row, parts: vec![(style, text)] }
    }

    fn width(&self) -> usize {
        self.parts.iter().map(|(_, text)| text.chars().count() * CHARACTER).sum()
    }
}

/// Where the text of a row stands.
fn baseline(row: usize) -> usize {
    16 + row * ROW
}

/// A column of lines from `x` on; gives where it ends.
fn column(out: &mut String, x: usize, lines: &[Line]) -> usize {
    for line in lines {
        let part =
            |(style, text): &(&str, String)| format!("<tspan class=\"{style}\">{}</tspan>", escaped(text));
        let parts: String = line.parts.iter().map(part).collect();
        out.push_str(&format!("<text x=\"{x}\" y=\"{}\">{parts}</text>\n", baseline(line.row)));
    }
    x + lines.iter().map(Line::width).max().unwrap_or(0)
}

/// The candidates of a step: complete ones are set off, and of very many the first.
fn candidates(row: usize, step: &Value) -> Line {
    let (complete, viable) = (names(step, "complete"), names(step, "viable"));
    let (mut parts, mut length) = (Vec::new(), 0);
    for (at, kernel) in viable.iter().enumerate() {
        length += kernel.chars().count() + 3;
        if length > SHOWN && at > 0 {
            parts.push(("t", format!(" and {} more", viable.len() - at)));
            break;
        }
        if at > 0 {
            parts.push(("t", " · ".to_owned()));
        }
        parts.push((if complete.contains(kernel) { "b" } else { "t" }, kernel.clone()));
    }
    Line { row, parts }
}

/// The ops from top to bottom; beside them the regions as bars, with the kernel of each and what stopped it, and the candidates when
/// the op joined.
pub fn svg(request: &Value, explanation: &Value) -> String {
    let ops = request.pointer("/sequence/ops").and_then(Value::as_array).map_or(0, Vec::len);
    let mut named = vec![Line::new(0, "b", "op".to_owned())];
    named.extend((0..ops).map(|op| Line::new(op + 1, "o", format!("{op} {}", class(request, op)))));
    let mut chosen = vec![Line::new(0, "b", "kernel".to_owned())];
    let mut stops = vec![Line::new(0, "b", "what stopped the region".to_owned())];
    let mut left = vec![Line::new(0, "b", "candidates left (complete ones dark)".to_owned())];
    // The last time that an op joined is the one that counts: earlier ones were fed again.
    let mut joined: Vec<Option<&Value>> = vec![None; ops];
    let mut regions = Vec::new();
    for step in steps(explanation) {
        if word(step, "action") != "flush" {
            if let Some(slot) = joined.get_mut(number(step, "op")) {
                *slot = Some(step);
            }
            continue;
        }
        let (anchor, last) = (number(step, "anchor"), number(step, "last"));
        regions.push((anchor, last));
        chosen.push(Line::new(anchor + 1, "b", word(step, "kernel").to_owned()));
        let at = match step.get("op").and_then(Value::as_u64) {
            Some(op) => format!(" at op {op}"),
            None => String::new(),
        };
        let rewound = match number(step, "rewound") {
            0 => String::new(),
            n => format!("; {n} fed again"),
        };
        stops.push(Line::new(anchor + 1, "t", format!("{}{at}{rewound}", stopped(step))));
    }
    left.extend(joined.iter().enumerate().filter_map(|(op, step)| Some(candidates(op + 1, (*step)?))));
    let mut text = String::new();
    let bar = column(&mut text, LEFT, &named) + GAP;
    let end = column(&mut text, bar + GAP, &chosen) + GAP;
    let end = column(&mut text, end, &stops) + GAP;
    let width = column(&mut text, end, &left) + LEFT;
    let height = baseline(ops) + LEFT;
    let mut shapes = String::new();
    for (anchor, last) in regions {
        let (top, height) = (baseline(anchor + 1) - 16, (last + 1 - anchor) * ROW - 4);
        shapes.push_str(&format!("<line x1=\"{LEFT}\" y1=\"{0}\" x2=\"{width}\" y2=\"{0}\"/>\n", top - 2));
        shapes.push_str(&format!(
            "<rect class=\"r\" x=\"{bar}\" y=\"{top}\" width=\"8\" height=\"{height}\" rx=\"3\"/>\n"
        ));
    }
    let style = "text{font:13px sans-serif}.o,.b{fill:#222}.t{fill:#667}.b{font-weight:bold}.r{fill:#4a7}line{stroke:#ddd}";
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\">\n\
         <style>{style}</style>\n<rect width=\"{width}\" height=\"{height}\" fill=\"#fff\"/>\n{shapes}{text}</svg>\n"
    )
}
