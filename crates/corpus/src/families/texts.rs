//! Documents as text: rules S01 and S02, and what every reader has to accept.

use megakernel_ir::rule::{Rule, clause};
use serde_json::{Value, json};

use super::library::Library;
use super::sink::Sink;
use crate::builder::Result;

/// The text that most cases of this file damage.
fn plain_text(library: &Library) -> Result<String> {
    Ok(library.get("chain/gelu-2")?.program.value().to_string())
}

/// A program that consists of `meta` alone, with `inside` in it.
fn with_meta(inside: &str) -> String {
    format!(
        r#"{{"ir_version":"0.2.0","abi_version":"0.2","meta":{{"x":{inside}}},"buffers":[],"counters":[],"tasks":[]}}"#
    )
}

/// Arrays nested so that the whole document is `depth` deep: root, meta, then arrays.
fn nested(depth: usize) -> String {
    with_meta(&format!("{}{}", "[".repeat(depth - 2), "]".repeat(depth - 2)))
}

/// Values that are no JSON, for every place that takes a value.
pub const BROKEN: [(&str, &str); 12] = [
    ("nan", "NaN"),
    ("infinity", "Infinity"),
    ("minus-infinity", "-Infinity"),
    ("plus-sign", "+1"),
    ("leading-zero", "01"),
    ("leading-point", ".5"),
    ("trailing-point", "1."),
    ("empty-exponent", "1e"),
    ("raw-newline", "\"a\nb\""),
    ("unknown-escape", "\"\\x41\""),
    ("lone-high-surrogate", "\"\\ud83d\""),
    ("lone-low-surrogate", "\"\\ude00\""),
];

/// S01: texts that are not one JSON value in UTF-8.
pub fn not_json(library: &Library, sink: &mut Sink) -> Result<()> {
    let text = plain_text(library)?;
    sink.accept_text("plain", "the text that the other cases damage", &[clause::FMT_01], &text)?;
    sink.accept_text("meta-plain", "a program of a meta member alone", &[clause::FMT_01], &with_meta("1"))?;
    let half = &text[..text.len() / 2];
    let most = &text[..text.len() - 1];
    let broken: Vec<(&str, &str, String)> = vec![
        ("empty", "no text", String::new()),
        ("white-space", "white space and no value", " \n\t".to_owned()),
        ("half", "the text ends in the middle", half.to_owned()),
        ("no-last-brace", "the last brace is missing", most.to_owned()),
        ("second-value", "a second value after the first", format!("{text}{{}}")),
        ("second-number", "a number after the value", format!("{text} 0")),
        ("trailing-comma", "a comma after the value", format!("{text},")),
        ("trailing-word", "a word after the value", format!("{text}\nend")),
        ("null-byte", "a NUL after the value", format!("{text}\u{0}")),
        ("comma-before-brace", "a comma before the last brace", format!("{most},}}")),
        (
            "comma-before-bracket",
            "a comma before a bracket",
            text.replacen("[1,24]", "[1,24,]", 1).replacen("[1,33]", "[1,33,]", 1),
        ),
        ("line-comment", "a line comment", format!("// program\n{text}")),
        ("block-comment", "a block comment", format!("/* program */{text}")),
        ("hash-comment", "a hash comment", format!("{text}\n# end")),
        ("single-quotes", "a name in single quotes", text.replacen("\"tasks\"", "'tasks'", 1)),
        ("bare-name", "a name without quotes", text.replacen("\"tasks\"", "tasks", 1)),
        ("equals-sign", "an equals sign for a colon", text.replacen("\"tasks\":", "\"tasks\"=", 1)),
        ("no-comma", "a missing comma", text.replacen(",\"tasks\"", "\"tasks\"", 1)),
        ("no-colon", "a missing colon", text.replacen("\"tasks\":", "\"tasks\"", 1)),
        ("byte-order-mark", "a byte order mark", format!("\u{feff}{text}")),
        (
            "no-break-space",
            "a no-break space between members",
            text.replacen(",\"tasks\"", ",\u{a0}\"tasks\"", 1),
        ),
        ("form-feed", "a form feed between members", text.replacen(",\"tasks\"", ",\u{c}\"tasks\"", 1)),
        ("yaml", "the same program as YAML", "ir_version: 0.2.0\nabi_version: 0.2\n".to_owned()),
        ("literal-capital", "`Null` for `null`", text.replacen("null", "Null", 1)),
        ("undefined", "`undefined` for `null`", text.replacen("null", "undefined", 1)),
    ];
    for (name, summary, text) in broken {
        sink.reject_text(name, summary, &[Rule::S01], "plain", &text)?;
    }
    let more = [
        ("hexadecimal", "0x10"),
        ("underscore", "1_000"),
        ("lone-minus", "-"),
        ("open-string", "\"text"),
        ("raw-tab", "\"a\tb\""),
        ("short-unicode-escape", "\"\\u12\""),
        ("surrogates-in-wrong-order", "\"\\ude00\\ud83d\""),
        ("high-surrogate-and-letter", "\"\\ud83da\""),
        ("high-surrogate-twice", "\"\\ud83d\\ud83d\""),
        ("unclosed-array", "[1, 2"),
        ("wrong-bracket", "[1, 2}"),
        ("two-commas", "[1,,2]"),
    ];
    for (name, inside) in BROKEN.into_iter().chain(more) {
        sink.reject_text(
            name,
            &format!("`{name}` inside meta"),
            &[Rule::S01],
            "meta-plain",
            &with_meta(inside),
        )?;
    }
    not_utf8(sink)
}

fn not_utf8(sink: &mut Sink) -> Result<()> {
    let wrap = |inside: &[u8]| [b"\"".as_slice(), inside, b"\""].concat();
    for (name, bytes) in [
        ("latin-1", &b"caf\xe9"[..]),
        ("continuation-alone", b"a\x80b"),
        ("overlong-slash", b"\xc0\xaf"),
        ("encoded-surrogate", b"\xed\xa0\xbd"),
        ("beyond-unicode", b"\xf4\x90\x80\x80"),
        ("cut-sequence", b"\xe2\x82"),
    ] {
        let text = with_meta("@");
        let mut document = Vec::new();
        for byte in text.bytes() {
            if byte == b'@' { document.extend(wrap(bytes)) } else { document.push(byte) }
        }
        sink.reject_bytes(name, "bytes that are not UTF-8", &[Rule::S01], "meta-plain", &document)?;
    }
    let utf16: Vec<u8> = with_meta("1").encode_utf16().flat_map(u16::to_le_bytes).collect();
    sink.reject_bytes("utf-16", "the text as UTF-16", &[Rule::S01], "meta-plain", &utf16)
}

/// S02: two members of one name in an object.
pub fn duplicate_members(library: &Library, sink: &mut Sink) -> Result<()> {
    let full = library.get("record/every-record")?.program.value().to_string();
    sink.accept_text("plain", "the text that the other cases damage", &[clause::FMT_01], &full)?;
    for (name, member, twice) in [
        ("root", "\"meta\":", "\"counters\":[],\"meta\":"),
        ("root-last", "\"ir_version\":", "\"config\":null,\"ir_version\":"),
        ("buffer", "\"kind\":\"WEIGHT\"", "\"kind\":\"CONST\",\"kind\":\"WEIGHT\""),
        ("counter", "\"init\":0", "\"init\":1,\"init\":0"),
        ("task", "\"op\":\"GEMV_TILE\"", "\"op\":\"GEMM_TILE\",\"op\":\"GEMV_TILE\""),
        ("wait-same-value", "\"threshold\":1", "\"threshold\":1,\"threshold\":1"),
        ("wait", "\"threshold\":1", "\"threshold\":2,\"threshold\":1"),
        ("params", "\"N_tile\":16,\"n_off\":0", "\"N_tile\":16,\"n_off\":0,\"N_tile\":8"),
        ("buffer-to-page", "\"3\":0", "\"3\":0,\"3\":1"),
        ("page", "\"live_end\":-1", "\"live_end\":-1,\"live_end\":-1"),
        ("target", "\"sm_arch\":90", "\"sm_arch\":80,\"sm_arch\":90"),
        ("config", "\"pipelining_depth\":3", "\"pipelining_depth\":3,\"pipelining_depth\":3"),
        ("tiling", "\"kv_block\":128", "\"kv_block\":128,\"kv_block\":64"),
        ("sm-assignment", "\"0\":1,", "\"0\":1,\"0\":0,"),
        ("meta", "\"regime\":\"decode\"", "\"regime\":\"decode\",\"regime\":\"prefill\""),
        ("escaped-name", "\"regime\":\"decode\"", "\"regime\":\"decode\",\"r\\u0065gime\":1"),
        ("deep-in-meta", "\"deep\":", "\"deep\":null,\"deep\":"),
        ("unknown-member", "\"meta\":", "\"extra\":{\"a\":1,\"b\":2,\"a\":3},\"meta\":"),
        ("unknown-member-alike", "\"meta\":", "\"extra\":{\"a\":1,\"a\":1},\"meta\":"),
        ("unknown-member-deeper", "\"meta\":", "\"extra\":{\"a\":{\"b\":1,\"b\":2}},\"meta\":"),
        ("below-an-unknown-array", "\"meta\":", "\"extra\":[{\"a\":1,\"a\":2}],\"meta\":"),
        ("below-two-unknown-arrays", "\"meta\":", "\"extra\":[0,[1,{\"a\":1,\"a\":1}]],\"meta\":"),
        (
            "below-an-unknown-array-of-a-task",
            "\"op\":\"GEMV_TILE\"",
            "\"more\":[{\"a\":1,\"a\":2}],\"op\":\"GEMV_TILE\"",
        ),
        ("params-alike", "\"N_tile\":16,\"n_off\":0", "\"N_tile\":16,\"N_tile\":16,\"n_off\":0"),
        ("params-unknown", "\"N_tile\":16,\"n_off\":0", "\"N_tile\":16,\"n_off\":0,\"speed\":1,\"speed\":2"),
        ("buffer-to-page-alike", "\"3\":0", "\"3\":0,\"3\":0"),
        ("buffer-to-page-around", "\"3\":0,\"4\":1", "\"4\":1,\"3\":0,\"4\":0"),
        ("sm-assignment-alike", "\"0\":1,", "\"0\":1,\"0\":1,"),
    ] {
        let text = full.replacen(member, twice, 1);
        sink.reject_text(name, &format!("a member twice, in `{name}`"), &[Rule::S02], "plain", &text)?;
    }
    // Names that differ in case or in normal form are different names.
    let close = with_meta(r#"{"A":1,"a":2,"\u00e9":3,"e\u0301":4,"":5," ":6}"#);
    sink.accept_text("names-that-differ", "names that only look alike", &[clause::FMT_01], &close)
}

/// Texts that every reader accepts, whatever they look like.
pub fn accepted(library: &Library, sink: &mut Sink) -> Result<()> {
    let value = library.get("record/every-record")?.program.value().clone();
    let pretty = serde_json::to_string_pretty(&value).unwrap_or_default();
    sink.accept_text("pretty", "a program with a member a line", &[clause::FMT_01, clause::FMT_06], &pretty)?;
    let windows = pretty.replace('\n', "\r\n").replace("  ", "\t");
    sink.accept_text("windows-lines", "lines that end in CR LF, tabs", &[clause::FMT_01], &windows)?;
    let spaced = format!("\n\t \r\n{}\r\n\t \n", value);
    sink.accept_text(
        "white-space-around",
        "white space before and after the value",
        &[clause::FMT_01],
        &spaced,
    )?;
    sink.accept_text(
        "reversed-members",
        "members in reverse order",
        &[clause::FMT_01, clause::FMT_03],
        &reversed(&value).to_string(),
    )?;
    let escaped =
        value.to_string().replace("\"tasks\"", "\"\\u0074asks\"").replace("GEMV_TILE", "GEMV\\u005FTILE");
    sink.accept_text(
        "escaped-names",
        "member names and opcodes written with escapes",
        &[clause::FMT_01, clause::FMT_02],
        &escaped,
    )?;
    for depth in [64, 127, 128] {
        let summary = format!("a document nested {depth} deep");
        sink.accept_text(&format!("nested-{depth}"), &summary, &[clause::FMT_01], &nested(depth))?;
    }
    for (name, inside) in [
        ("surrogate-pair", r#""\ud83d\ude00""#),
        ("raw-unicode", "\"é 漢字 😀 \u{7f}\u{2028}\""),
        ("every-escape", r#""\"\\\/\b\f\n\r\t\u0000""#),
        ("byte-order-mark-in-text", "\"\u{feff}\""),
        ("integers-at-the-limits", "[9223372036854775807,-9223372036854775808,0,-0]"),
        ("integer-beyond-int64", "[9223372036854775808,18446744073709551616,123456789012345678901234567890]"),
        ("floats", "[1e-06,1E+5,-0.0,5e-324,1.7976931348623157e308,0.1e1,2.2250738585072011e-308]"),
        ("float-that-rounds-to-zero", "1e-400"),
        ("long-fraction", "0.1000000000000000055511151231257827021181583404541015625"),
        ("empty-names", r#"{"":{"":[]}}"#),
        ("all-types", r#"[null,true,false,0,"",[],{}]"#),
    ] {
        sink.accept_text(
            name,
            &format!("`{name}` inside meta"),
            &[clause::FMT_01, clause::FMT_04],
            &with_meta(inside),
        )?;
    }
    Ok(())
}

/// Texts on which implementations may differ, and floats that no binary64 holds.
pub fn undecided(_: &Library, sink: &mut Sink) -> Result<()> {
    for depth in [129, 200, 1000, 20_000] {
        let summary = format!("a document nested {depth} deep");
        sink.either_text(&format!("nested-{depth}"), &summary, Rule::S01, &[clause::FMT_01], &nested(depth))?;
    }
    sink.accept_text("plain", "a float that binary64 holds", &[clause::FMT_04], &with_meta("1e308"))?;
    for (name, inside) in
        [("overflow", "1e309"), ("overflow-negative", "-1e400"), ("overflow-deep", "[[1e999]]")]
    {
        let summary = "a float that rounds to infinity, inside meta";
        sink.reject_text(name, summary, &[Rule::S01, Rule::S04], "plain", &with_meta(inside))?;
    }
    let program = |eps: &str| {
        format!(
            r#"{{"ir_version":"0.2.0","abi_version":"0.2","buffers":[],"counters":[{{"id":0}}],"tasks":[{{"id":0,"op":"NOP","inputs":[],"outputs":[],"out_counter":0,"params":{{"eps":{eps}}}}}]}}"#
        )
    };
    sink.accept_text(
        "parameter",
        "a small float parameter",
        &[clause::FMT_04, clause::DAT_08],
        &program("1e-06"),
    )?;
    let summary = "a float parameter that rounds to infinity";
    sink.reject_text("parameter-overflow", summary, &[Rule::S01, Rule::S14], "parameter", &program("1e999"))?;
    let minus = program("1E-06").replace("{\"id\":0}", "{\"id\":-0}");
    sink.either_text("integer-minus-zero", "an id written `-0`", Rule::S04, &[clause::FMT_04], &minus)?;
    let exponent = program("1E-06").replace("\"id\":0,\"op\"", "\"id\":0e0,\"op\"");
    sink.either_text("integer-with-exponent", "an id written `0e0`", Rule::S04, &[clause::FMT_04], &exponent)
}

/// Which stage comes first, where a reader might not get to the end of the text, or might think so.
pub fn stages(_: &Library, sink: &mut Sink) -> Result<()> {
    let deep = nested(128);
    sink.accept_text("nested-128", "a document nested 128 deep", &[clause::FMT_01], &deep)?;
    for (name, rule, text) in [
        ("without-tasks", Rule::S03, deep.replacen(",\"tasks\":[]", "", 1)),
        ("tasks-of-another-type", Rule::S04, deep.replacen("\"tasks\":[]", "\"tasks\":{}", 1)),
        ("another-version", Rule::S06, deep.replacen("0.2.0", "1.2.0", 1)),
        ("tasks-twice", Rule::S02, deep.replacen("\"tasks\":[]", "\"tasks\":[],\"tasks\":[]", 1)),
    ] {
        let summary = format!("a document nested 128 deep that breaks {rule}");
        sink.reject_text(&format!("nested-128-{name}"), &summary, &[rule], "nested-128", &text)?;
    }
    let program = |threshold: &str, label: &str| {
        format!(
            r#"{{"ir_version":"0.2.0","abi_version":"0.2","buffers":[],"counters":[{{"id":0}},{{"id":1}}],"tasks":[{{"id":0,"op":"NOP","inputs":[],"outputs":[],"out_counter":0}},{{"id":1,"op":"NOP","inputs":[],"outputs":[],"out_counter":1,"waits":[{{"counter":0,"threshold":{threshold}}}],"label":"{label}"}}]}}"#
        )
    };
    sink.accept_text("threshold", "a wait for one task", &[clause::DAT_07], &program("1", r"\\udc00"))?;
    for (name, threshold) in [
        ("beyond-32-bits", "4294967296"),
        ("beyond-64-bits", "18446744073709551616"),
        ("far-beyond-64-bits", "123456789012345678901234567890"),
        ("below-64-bits", "-9223372036854775809"),
    ] {
        let summary = format!("a threshold of {threshold}");
        sink.reject_text(
            &format!("threshold-{name}"),
            &summary,
            &[Rule::S16],
            "threshold",
            &program(threshold, ""),
        )?;
        let summary = format!("a threshold of {threshold}, and half of a surrogate pair behind it");
        let text = program(threshold, r"\udc00");
        sink.reject_text(
            &format!("threshold-{name}-before-half-a-pair"),
            &summary,
            &[Rule::S01],
            "threshold",
            &text,
        )?;
    }
    for (name, threshold) in [("1e999", "1e999"), ("minus-1e400", "-1e400")] {
        let summary = format!("a threshold of {threshold}, which binary64 does not hold");
        let text = program(threshold, "");
        sink.reject_text(
            &format!("threshold-{name}"),
            &summary,
            &[Rule::S16, Rule::S01],
            "threshold",
            &text,
        )?;
        let summary = format!("a threshold of {threshold}, and half of a surrogate pair behind it");
        let text = program(threshold, r"\ud83d");
        sink.reject_text(
            &format!("threshold-{name}-before-half-a-pair"),
            &summary,
            &[Rule::S01],
            "threshold",
            &text,
        )?;
    }
    Ok(())
}

/// Roots that are JSON and no object.
pub fn roots(_: &Library, sink: &mut Sink) -> Result<()> {
    sink.accept_text(
        "object",
        "the smallest program",
        &[clause::FMT_01, clause::DAT_01],
        &json!({"ir_version": "0.2.0", "abi_version": "0.2", "buffers": [], "counters": [], "tasks": []})
            .to_string(),
    )?;
    for (name, text) in [
        ("array", "[]"),
        ("null", "null"),
        ("null-behind-a-space", " null"),
        ("null-on-a-line", "null\n"),
        ("null-between-blanks", "\r\n\tnull \n"),
        ("string", "\"program\""),
        ("number", "0"),
        ("true", "true"),
        ("array-of-program", "[{}]"),
    ] {
        sink.reject_text(name, "a root that is no object", &[Rule::S04], "object", text)?;
    }
    sink.reject_text("empty-object", "a root without members", &[Rule::S03], "object", "{}")
}

fn reversed(value: &Value) -> Value {
    match value {
        Value::Object(map) => {
            let mut members: Vec<(String, Value)> =
                map.iter().map(|(k, v)| (k.clone(), reversed(v))).collect();
            members.reverse();
            Value::Object(members.into_iter().collect())
        }
        Value::Array(items) => Value::Array(items.iter().map(reversed).collect()),
        other => other.clone(),
    }
}
