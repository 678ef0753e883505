//! Explanations for people: as lines of text, and as a drawing.

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

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// The ops from top to bottom, each with the candidates when it joined; the regions as bars beside them.
pub fn svg(request: &Value, explanation: &Value) -> String {
    const ROW: usize = 24;
    let ops = request.pointer("/sequence/ops").and_then(Value::as_array).map_or(0, Vec::len);
    let mut body = String::new();
    let y = |op: usize| 40 + op * ROW;
    let mut line = |x: usize, y: usize, class: &str, text: &str| {
        body.push_str(&format!("<text x=\"{x}\" y=\"{y}\" class=\"{class}\">{}</text>\n", escaped(text)));
    };
    line(16, 20, "h", "op");
    line(170, 20, "h", "candidates (complete ones in bold)");
    line(640, 20, "h", "kernel, and what stopped the region");
    for op in 0..ops {
        line(16, y(op) + 15, "o", &format!("{op} {}", class(request, op)));
    }
    // The last time that an op joined is the one that counts: earlier ones were fed again.
    let mut joined: Vec<Option<&Value>> = vec![None; ops];
    let mut bars = String::new();
    for step in steps(explanation) {
        if word(step, "action") != "flush" {
            if let Some(slot) = joined.get_mut(number(step, "op")) {
                *slot = Some(step);
            }
            continue;
        }
        let (anchor, last) = (number(step, "anchor"), number(step, "last"));
        let height = (last + 1 - anchor) * ROW - 4;
        bars.push_str(&format!(
            "<rect x=\"620\" y=\"{}\" width=\"8\" height=\"{height}\" rx=\"3\"/>\n",
            y(anchor) + 2
        ));
        line(640, y(anchor) + 15, "k", word(step, "kernel"));
        if last > anchor {
            line(640, y(anchor) + 15 + ROW, "t", &stopped(step));
        } else {
            line(880, y(anchor) + 15, "t", &stopped(step));
        }
    }
    for (op, step) in joined.iter().enumerate() {
        let Some(step) = step else { continue };
        let complete = names(step, "complete");
        let spans: Vec<String> = names(step, "viable")
            .iter()
            .map(|kernel| {
                let weight = if complete.contains(kernel) { " class=\"c\"" } else { "" };
                format!("<tspan{weight}>{}</tspan>", escaped(kernel))
            })
            .collect();
        bars.push_str(&format!(
            "<text x=\"170\" y=\"{}\" class=\"v\">{}</text>\n",
            y(op) + 15,
            spans.join(" · ")
        ));
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"1100\" height=\"{}\" viewBox=\"0 0 1100 {0}\">\n<style>text{{font:13px sans-serif;fill:#222}}.h{{font-weight:bold}}.t{{fill:#777}}.v{{fill:#777}}.c{{font-weight:bold;fill:#222}}.k{{font-weight:bold}}rect{{fill:#4a7}}</style>\n{body}{bars}</svg>\n",
        y(ops) + 16
    )
}
