//! Texts that are no JSON, and unusual ones that are, each in several places of a document.

use megakernel_ir::rule::{Rule, clause};

use crate::builder::Result;
use crate::families::library::Library;
use crate::families::sink::Sink;
use crate::families::texts::BROKEN;

/// More values that are no JSON.
const MORE: [(&str, &str); 14] = [
    ("raw-nul", "\"a\u{0}b\""),
    ("single-quotes", "'a'"),
    ("bare-name", "{a:1}"),
    ("comma-before-bracket", "[1,]"),
    ("comma-before-brace", "{\"a\":1,}"),
    ("line-comment", "// none\n1"),
    ("block-comment", "/* none */ 1"),
    ("form-feed", "\u{c}1"),
    ("vertical-tab", "1\u{b}"),
    ("no-break-space", "\u{a0}1"),
    ("capital-true", "True"),
    ("capital-null", "NULL"),
    ("none", "None"),
    ("capital-false", "FALSE"),
];

/// Values that every reader takes.
const GOOD: [(&str, &str); 12] = [
    ("surrogate-pair", r#""\ud83d\ude00""#),
    ("capital-digits", r#""\u00C9\uD83D\uDE00""#),
    ("escaped-slash", r#""a\/b""#),
    ("delete", "\"\u{7f}\""),
    ("nul", r#""\u0000""#),
    ("raw-unicode", "\"é 漢字 😀\""),
    ("capital-exponent", "1E5"),
    ("exponent-with-plus", "1e+5"),
    ("tabs", "\t[\t1\t]\t"),
    ("returns", "\r[\r1\r]\r"),
    ("names-in-two-cases", r#"{"id":1,"ID":2,"Id":3}"#),
    (
        "deep",
        "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]]",
    ),
];

/// Documents with a place for a value.
const PLACES: [(&str, &str); 3] = [
    (
        "in-an-array",
        r#"{"ir_version":"0.2.0","abi_version":"0.2","meta":{"list":[0,@]},"buffers":[],"counters":[],"tasks":[]}"#,
    ),
    (
        "deep-in-an-object",
        r#"{"meta":{"a":{"b":{"c":@,"d":1}}},"ir_version":"0.2.0","abi_version":"0.2","buffers":[],"counters":[],"tasks":[]}"#,
    ),
    (
        "at-the-end",
        r#"{"tasks":[],"counters":[],"buffers":[],"abi_version":"0.2","ir_version":"0.2.0","meta":{"gpu":@}}"#,
    ),
];

/// S01 and what it allows, at each place.
pub fn values(_: &Library, sink: &mut Sink) -> Result<()> {
    for (place, document) in PLACES {
        let summary = format!("a document with a value {}", place.replace('-', " "));
        sink.accept_text(place, &summary, &[clause::FMT_01], &document.replace('@', "1"))?;
        for (name, value) in BROKEN.into_iter().chain(MORE) {
            let summary = format!("`{name}` {}", place.replace('-', " "));
            let text = document.replace('@', value);
            sink.reject_text(&format!("{place}-{name}"), &summary, &[Rule::S01], place, &text)?;
        }
        for (name, value) in GOOD {
            let summary = format!("`{name}` {}", place.replace('-', " "));
            let clauses = [clause::FMT_01, clause::FMT_04];
            sink.accept_text(&format!("{place}-{name}"), &summary, &clauses, &document.replace('@', value))?;
        }
    }
    Ok(())
}

/// S01: the text begins or ends otherwise than it has to.
pub fn ends(library: &Library, sink: &mut Sink) -> Result<()> {
    for name in ["record/every-record", "fan-in/shared-3", "record/empty"] {
        let text = library.get(name)?.program.value().to_string();
        let twin = name.replace('/', "-");
        sink.accept_text(&twin, "the text that the other cases damage", &[clause::FMT_01], &text)?;
        for (what, broken) in [
            ("mark-before", format!("\u{feff}{text}")),
            ("line-comment-behind", format!("{text}\n// end")),
            ("block-comment-before", format!("/**/{text}")),
            ("form-feed-behind", format!("{text}\u{c}")),
            ("no-break-space-before", format!("\u{a0}{text}")),
            ("brace-missing", text.get(..text.len() - 1).unwrap_or_default().to_owned()),
            ("word-behind", format!("{text}null")),
            ("text-twice", format!("{text}{text}")),
            ("comma-before-brace", format!("{},}}", text.get(..text.len() - 1).unwrap_or_default())),
            ("bare-name", text.replacen("\"ir_version\"", "ir_version", 1)),
            ("quoted-name", text.replacen("\"ir_version\"", "'ir_version'", 1)),
        ] {
            let summary = format!("{}, in `{name}`", what.replace('-', " "));
            sink.reject_text(&format!("{twin}-{what}"), &summary, &[Rule::S01], &twin, &broken)?;
        }
    }
    Ok(())
}
