//! The formulas of the pages of opcodes, typeset as MathML, which browsers show without a script. The text stays below: it is what
//! binds, and this is a reading of it. What this reader does not take for a formula stays text.

mod parse;

use std::fmt::Write as _;

use megakernel_codegen::markdown::code_blocks;

use parse::{Node, Range};

/// The page with each block of formulas typeset, above its text, which can be unfolded.
pub fn typeset(page: &str) -> String {
    let lines: Vec<&str> = page.lines().collect();
    let mut out = String::new();
    let mut done = 0;
    for block in code_blocks(page).into_iter().filter(|block| block.info == "text") {
        let length = block.text.lines().count();
        let Some(source) = lines.get(block.line - 1..block.line + length + 1) else { continue };
        let before = lines.get(done..block.line - 1).unwrap_or_default();
        before.iter().for_each(|line| out += &format!("{line}\n"));
        // A line that is empty would end the HTML.
        out += "<div class=\"formulas\">\n";
        for line in block.text.lines().filter(|line| !line.trim().is_empty()) {
            let indent = line.len() - line.trim_start().len();
            let _ = writeln!(out, "<div style=\"padding-left: {}ch\">{}</div>", indent, html(line.trim()));
        }
        out += "</div>\n<details><summary>the same as text</summary>\n\n";
        source.iter().for_each(|line| out += &format!("{line}\n"));
        out += "\n</details>\n\n";
        done = block.line + length + 1;
    }
    lines.get(done..).unwrap_or_default().iter().for_each(|line| out += &format!("{line}\n"));
    out
}

/// A line: formulas, and words between them.
fn html(line: &str) -> String {
    let parts = segments(line);
    parts.iter().map(|segment| part(segment)).collect::<Vec<_>>().join("&emsp;")
}

/// The parts of a line that stand apart: by two spaces, behind a semicolon, behind a colon.
fn segments(line: &str) -> Vec<String> {
    // Signs of equality stand below each other, so behind many spaces.
    let mut line = line.to_owned();
    for sign in ["=", "+="] {
        while let Some(at) = line.find(&format!("  {sign} ")) {
            line.remove(at);
        }
    }
    let line = line.replace("; ", ";  ").replace(": ", ":  ");
    line.split("  ").map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned).collect()
}

fn part(segment: &str) -> String {
    let (body, end) = match segment.strip_suffix([';', ':']) {
        Some(body) => (body, &segment[body.len()..]),
        None => (segment, ""),
    };
    if let Some(ranges) = parse::loops(body) {
        return format!("{} {}{end}", word("for"), math(&comma(ranges.iter().map(looped))));
    }
    // Words may stand before a formula, and behind it.
    let mut words = 0;
    loop {
        let rest = body.get(words..).unwrap_or_default();
        if let Some((formula, length)) = parse::relation(rest) {
            let (before, after) =
                (body.get(..words).unwrap_or_default(), rest.get(length..).unwrap_or_default());
            let before = if before.is_empty() { String::new() } else { word(before.trim_end()) + " " };
            let after = if after.is_empty() { String::new() } else { word(after) };
            return before + &math(&mathml(&formula)) + &after + end;
        }
        match rest.find(' ') {
            Some(at) if rest.get(..at).is_some_and(|word| word.chars().all(char::is_alphabetic)) => {
                words += at + 1
            }
            _ => return word(segment),
        }
    }
}

fn word(text: &str) -> String {
    format!("<span>{}</span>", escape(text))
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

fn math(content: &str) -> String {
    format!("<math displaystyle=\"true\">{content}</math>")
}

fn comma(parts: impl Iterator<Item = String>) -> String {
    parts.collect::<Vec<_>>().join(&sign(","))
}

fn sign(text: &str) -> String {
    format!("<mo>{}</mo>", escape(text))
}

fn row(parts: &[&str]) -> String {
    format!("<mrow>{}</mrow>", parts.concat())
}

fn brackets(open: &str, content: &str, close: &str) -> String {
    // Without a font for formulas, browsers stretch brackets too far: only what is high needs it.
    let high = ["<mfrac", "<munder"].iter().any(|high| content.contains(high));
    let bracket = |text: &str| format!("<mo stretchy=\"{high}\">{text}</mo>");
    row(&[&bracket(open), content, &bracket(close)])
}

/// `i in a .. b`, as it is written.
fn looped(range: &Range) -> String {
    let name = mathml(&range.name);
    match &range.bounds {
        None => name,
        Some((from, to)) => row(&[&name, &sign("∈"), &mathml(from), "<mo>‥</mo>", &mathml(to)]),
    }
}

/// The same below a sign: the end is no part of the interval.
fn below(ranges: &[Range]) -> String {
    let one = |range: &Range| {
        let name = mathml(&range.name);
        match &range.bounds {
            None => name,
            Some((from, to)) => row(&[&mathml(from), &sign("≤"), &name, &sign("<"), &mathml(to)]),
        }
    };
    row(&[&comma(ranges.iter().map(one))])
}

/// A name: Greek letters, and what stands behind an underscore below a single letter.
fn name(name: &str) -> String {
    let greek = match name {
        "theta" => "θ",
        "pi" => "π",
        "inf" => "∞",
        name => name,
    };
    match greek.split_once('_') {
        Some((base, below)) if base.chars().count() == 1 => {
            format!("<msub><mi>{base}</mi><mi>{below}</mi></msub>")
        }
        _ => format!("<mi>{greek}</mi>"),
    }
}

/// Whether an index can stand below the line: names of one letter, and numbers.
fn small(node: &Node) -> bool {
    matches!(node, Node::Name(name) if name.chars().count() == 1) || matches!(node, Node::Number(_))
}

fn mathml(node: &Node) -> String {
    match node {
        Node::Name(text) => name(text),
        Node::Number(text) => format!("<mn>{text}</mn>"),
        Node::Dots => "<mo>‥</mo>".to_owned(),
        Node::Group(inner) => brackets("(", &mathml(inner), ")"),
        Node::Negative(inner) => row(&[&sign("−"), &mathml(inner)]),
        // A sum takes the exponent for one of its term.
        Node::Power(base, exponent) => {
            let shown = mathml(base);
            let sum = matches!(&**base, Node::Call(function, _, _) if function == "sum");
            let shown = if sum { brackets("(", &shown, ")") } else { row(&[&shown]) };
            format!("<msup>{shown}{}</msup>", flat(exponent))
        }
        Node::Index(base, index) => match &**base {
            Node::Name(plain) if !plain.contains('_') && index.iter().all(small) => {
                format!("<msub>{}{}</msub>", name(plain), row(&[&comma(index.iter().map(mathml))]))
            }
            base => row(&[&mathml(base), &brackets("[", &comma(index.iter().map(flat)), "]")]),
        },
        Node::Call(function, arguments, ranges) => call(function, arguments, ranges),
        Node::Binary("/", above, below) => format!("<mfrac>{}{}</mfrac>", bare(above), bare(below)),
        Node::Binary(operator, left, right) => {
            row(&[&factor(operator, left), &operation(operator), &mathml(right)])
        }
    }
}

/// The left side of an operator. A sum takes all factors behind it, so it is bracketed where some follow.
fn factor(operator: &str, left: &Node) -> String {
    let open = matches!(left, Node::Call(function, _, _) if function == "sum")
        || matches!(left, Node::Binary("*" | " ", _, right) if matches!(&**right, Node::Call(function, _, _) if function == "sum"));
    if open && matches!(operator, "*" | " ") { brackets("(", &mathml(left), ")") } else { mathml(left) }
}

/// What needs no brackets above or below a line.
fn bare(node: &Node) -> String {
    match node {
        Node::Group(inner) => row(&[&mathml(inner)]),
        other => row(&[&mathml(other)]),
    }
}

/// In one line, for exponents and indices.
fn flat(node: &Node) -> String {
    match node {
        Node::Group(inner) => flat(inner),
        Node::Binary("/", above, below) => row(&[&mathml(above), &sign("/"), &mathml(below)]),
        other => row(&[&mathml(other)]),
    }
}

fn operation(operator: &str) -> String {
    match operator {
        "*" => sign("·"),
        " " => "<mo>&#x2062;</mo><mspace width=\"0.17em\"/>".to_owned(),
        "-" => sign("−"),
        "or" => "<mtext>&#xa0;or&#xa0;</mtext>".to_owned(),
        "==" => sign("="),
        other => sign(other),
    }
}

fn call(function: &str, arguments: &[Node], ranges: &[Range]) -> String {
    let inner = comma(arguments.iter().map(mathml));
    let under = |what: String| {
        if ranges.is_empty() { what } else { format!("<munder>{what}{}</munder>", below(ranges)) }
    };
    match (function, arguments) {
        ("sqrt", [argument]) => format!("<msqrt>{}</msqrt>", bare(argument)),
        ("abs", [_]) => brackets("|", &inner, "|"),
        ("sum", [argument]) => {
            let terms = matches!(argument, Node::Binary("+" | "-" | "or", _, _));
            let inner = if terms { brackets("(", &inner, ")") } else { inner };
            row(&[&under("<mo movablelimits=\"false\">∑</mo>".to_owned()), &inner])
        }
        _ => row(&[&under(name(function)), "<mo>&#x2061;</mo>", &brackets("(", &inner, ")")]),
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use megakernel_test_support::root;

    use super::*;

    /// The characters of a formula, with its structure in brackets.
    fn plain(line: &str) -> String {
        let mut text = html(line);
        for (from, to) in
            [("<mfrac>", "{"), ("</mfrac>", "}"), ("<msup>", "^{"), ("</msup>", "}"), ("<msub>", "_{")]
        {
            text = text.replace(from, to);
        }
        for (from, to) in
            [("</msub>", "}"), ("<munder>", "{"), ("</munder>", "}"), ("<msqrt>", "√{"), ("</msqrt>", "}")]
        {
            text = text.replace(from, to);
        }
        let mut out = String::new();
        let mut tag = false;
        for c in text.chars() {
            match c {
                '<' => tag = true,
                '>' => tag = false,
                c if !tag => out.push(c),
                _ => {}
            }
        }
        let signs = [
            ("&lt;", "<"),
            ("&gt;", ">"),
            ("&#x2061;", ""),
            ("&#x2062;", " "),
            ("&#xa0;", " "),
            ("&emsp;", " "),
        ];
        signs.iter().fold(out, |out, (from, to)| out.replace(from, to))
    }

    #[test]
    fn formulas_become_fractions_roots_and_sums() {
        for (line, shown) in [
            ("y[i] = cast(a[i] + b[i])", "_{yi}=cast(_{ai}+_{bi})"),
            (
                "s = 1 / sqrt(sum(x[r, i]^2 for i in 0 .. hidden) / hidden + eps)",
                "s={1√{{{∑0≤i<hidden}^{_{xr,i}2}hidden}+eps}}",
            ),
            (
                "y[i] = cast(x[i] / 2 * (1 + erf(x[i] / sqrt(2))))",
                "_{yi}=cast({_{xi}2}·(1+erf({_{xi}√{2}})))",
            ),
            ("angle = positions[s] * theta^(-i / half)", "angle=_{positionss}·^{θ−i/half}"),
            ("s[j] += mask[.., j]", "_{sj}+=mask[‥,j]"),
            ("g = h / (n_heads / n_kv_heads), rounded down", "g={h{_{nheads}_{nkv_heads}}}, rounded down"),
            (
                "s[j] = scale * sum(q[d] * k[j] for d) for j in 0 .. n",
                "_{sj}=scale·{∑d}_{qd}·_{kj} for j in 0 .. n",
            ),
            ("y = x^(-(a + b))", "y=^{x−(a+b)}"),
            ("s = sum(x)^2", "s=^{(∑x)2}"),
            ("e = sum(a) b + 2^-150 n", "e=(∑a) b+^{2−150} n"),
            (
                "for i in 0 .. n, g:     c[pos + i, g] = cast(d[(i * h + g) * e])",
                "for i∈0‥n,g: c[pos+i,g]=cast(d[(i·h+g)·e])",
            ),
            (
                "w_p = exp(m_p[r] - m)  if l_p[r] > 0,  0 otherwise",
                "_{wp}=exp(_{mp}[r]−m) if _{lp}[r]>0, 0 otherwise",
            ),
            ("v = c + (zeros[r, k / group] or 0)", "v=c+(zeros[r,k/group] or 0)"),
        ] {
            assert_eq!(plain(line), shown, "{line}");
        }
    }

    #[test]
    fn what_is_no_formula_stays_text() {
        for line in [
            "for each row r, with partials p holding a_p[r, d]:",
            "ids[r] = the smallest i with logits[r, i] == max(logits[r, j] for j in 0 .. V)",
            "n: the number of terms other than 0",
            "y = f(a",
            "y = a +",
            "a <b> & c",
            "= = =",
        ] {
            assert!(!html(line).contains("<math "), "{line}: {}", html(line));
            assert_eq!(
                plain(line).replace("  ", " "),
                line.replace("&", "&amp;").replace("  ", " "),
                "{line}"
            );
        }
    }

    #[test]
    fn a_page_keeps_its_text() {
        let page = "# A\n\n```text\nfor i in 0 .. n:\n    y[i] = x[i] / 2\n```\n\n```json\n{}\n```\nend\n";
        let directly = "```text\ny = x / 2\n```\n# B\n";
        assert!(typeset(directly).ends_with("</details>\n\n# B\n"), "{}", typeset(directly));
        let shown = typeset(page);
        assert!(shown.contains("<mfrac>") && shown.contains("padding-left: 4ch"), "{shown}");
        for line in page.lines().filter(|line| !line.is_empty()) {
            assert!(shown.lines().any(|shown| shown == line), "{line} is lost in {shown}");
        }
        assert_eq!(typeset("# A\n\ntext\n"), "# A\n\ntext\n");
    }

    /// Of the pages that there are: which lines of theirs are not typeset.
    #[test]
    fn nearly_all_formulas_of_the_opcodes_are_read() {
        let mut left = Vec::new();
        let mut typeset = 0;
        for entry in fs::read_dir(root().join("spec/opcodes")).expect("pages") {
            let path = entry.expect("a page").path();
            if path.extension().is_some_and(|end| end == "md") {
                let page = fs::read_to_string(&path).expect("a page");
                for line in code_blocks(&page)
                    .iter()
                    .filter(|block| block.info == "text")
                    .flat_map(|b| b.text.lines())
                {
                    let parts = segments(line.trim());
                    let unread = parts
                        .iter()
                        .filter(|part| part.contains(" = ") && !super::part(part).contains("<math "));
                    left.extend(unread.cloned());
                    typeset += parts.iter().filter(|part| super::part(part).contains("<math ")).count();
                }
            }
        }
        left.sort();
        assert!(typeset > 50, "{typeset}");
        let words = [
            "ids[r] = the smallest i with logits[r, i] == max(logits[r, j] for j in 0 .. V)",
            "where x[i] = m = 0 and neither carries an error",
        ];
        assert_eq!(left, words);
    }
}
