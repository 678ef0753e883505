//! S01 to S05: texts, members and names.

use megakernel_corpus::builder::Result;
use megakernel_corpus::families::{Library, Sink};
use serde_json::{Value, json};

use super::text_case;

const GOOD: &str = r##"{"values": {"X": {"shape": [8, 8], "dtype": "F16", "residency": "global"}, "Y": {"shape": [8], "dtype": "F32", "residency": "global"}, "x": {"shape": [4, 2], "dtype": "F16", "residency": "shared", "buffers": 2}, "u": {"shape": [4, 2], "dtype": "F32", "residency": "register"}, "v": {"shape": [4, 2], "dtype": "F32", "residency": "register"}, "p": {"shape": [4], "dtype": "F32", "residency": "register"}, "s": {"shape": [4], "dtype": "F32", "residency": "register"}}, "inputs": ["X"], "outputs": ["Y"], "boundaries": [{"value": "Y", "location": "global"}], "residency": [{"memory": "shared", "values": ["x"], "lifetime": "iteration"}, {"memory": "register", "values": ["u", "v", "p"], "lifetime": "node"}, {"memory": "register", "values": ["s"], "lifetime": "block"}], "target": {"shared_bytes": 1024, "register_bytes": null}, "regions": [{"id": "r", "inputs": ["X"], "outputs": ["Y"], "streaming": {"stream": {"axis": "j", "from": [0], "to": [8, [[1, "i"], 8]]}, "state": [{"value": "s", "init": "-inf"}], "tile": {"tile_shape": {"i": 4, "j": 2}, "blocks": {"i": 8}, "begin": [{"id": "a", "op": "Prefetch", "in": ["X"], "out": ["x"], "at": ["i", "j"], "version": 0}], "each": [{"id": "b", "op": "Prefetch", "in": ["X"], "out": ["x"], "at": ["i", "j"], "version": 1}, {"id": "c", "op": "Barrier", "wait": [["x", 0]]}, {"id": "d", "op": "Compute", "fn": "scale", "by": [1, 8], "in": ["x"], "out": ["u"]}, {"id": "e", "op": "Compute", "fn": "mask", "rows": "i", "columns": "j", "window": 8, "in": ["u"], "out": ["v"]}, {"id": "f", "op": "Reduce", "fn": "max", "axis": 1, "in": ["v"], "out": ["p"]}, {"id": "g", "op": "UpdateState", "fn": "max", "in": ["s", "p"], "out": ["s"]}], "end": [{"id": "h", "op": "StoreTile", "in": ["s"], "out": ["Y"], "at": ["i"]}]}}}]}"##;

/// S01 and S02.
pub fn texts(_: &Library, sink: &mut Sink) -> Result<()> {
    let accept = json!({"verdict": "accept", "warnings": []});
    let all = ["MCI-01"];
    text_case(sink, "good", "a document with every member", &all, GOOD, accept.clone(), None)?;
    let spaced = format!("\r\n\t{GOOD} \n");
    text_case(sink, "white-space", "white space around it", &all, &spaced, accept.clone(), None)?;
    let least = r#"{"values": {}, "inputs": [], "outputs": [], "regions": []}"#;
    text_case(sink, "nothing", "no region", &all, least, accept.clone(), None)?;
    let nulls =
        GOOD.replacen("\"target\": {\"shared_bytes\": 1024,", "\"target\": {\"shared_bytes\": null,", 1);
    text_case(sink, "null", "null where there is nothing", &all, &nulls, accept.clone(), None)?;
    let cut = GOOD.get(..GOOD.len() - 1).unwrap_or_default();
    // A member that nobody knows, with so many arrays in each other.
    let nested = format!("{cut}, \"z\": {}{}}}", "[".repeat(127), "]".repeat(127));
    text_case(sink, "nested", "128 levels in each other", &["FMT-01", "MCI-01"], &nested, accept, None)?;
    for (name, rule, summary, document) in [
        ("cut", "S01", "the last brace is missing", cut.to_owned()),
        ("behind", "S01", "there is more behind it", format!("{GOOD}]")),
        ("empty", "S01", "no text at all", String::new()),
        ("comment", "S01", "a comment", GOOD.replacen('{', "{ // tiles\n", 1)),
        ("comma", "S01", "a comma too many", GOOD.replacen("[8, 8]", "[8, 8,]", 1)),
        ("nan", "S01", "an extent that is NaN", GOOD.replacen("[8, 8]", "[8, NaN]", 1)),
        ("inf", "S01", "an infinity without quotes", GOOD.replacen("\"-inf\"", "-inf", 1)),
        ("twice", "S02", "regions twice", format!("{cut}, \"regions\": []}}")),
        ("twice-value", "S02", "a value twice", GOOD.replacen("{\"X\":", "{\"X\": {}, \"X\":", 1)),
        ("twice-axis", "S02", "a block axis twice", GOOD.replacen("{\"i\": 8}", "{\"i\": 8, \"i\": 8}", 1)),
        ("twice-in", "S02", "operands twice", GOOD.replacen("\"in\":", "\"in\": [], \"in\":", 1)),
        ("array", "S04", "an array", format!("[{GOOD}]")),
        ("null-root", "S04", "null", "null".to_owned()),
    ] {
        let expect = json!({"verdict": "reject", "rules": [rule]});
        text_case(sink, name, summary, &[rule, "MCI-01"], &document, expect, Some("good"))?;
    }
    let float = GOOD.replacen("[8, 8]", "[8, 8.0]", 1);
    let either = json!({"verdict": "either", "rules": ["S04"]});
    text_case(
        sink,
        "float",
        "an extent of 8.0, which a reader may take for 8",
        &["S04"],
        &float,
        either,
        None,
    )
}

/// S03 to S05.
#[rustfmt::skip] // a table
pub fn members(_: &Library, sink: &mut Sink) -> Result<()> {
    let accept = json!({"verdict": "accept", "warnings": []});
    text_case(sink, "good", "a document with every member", &["MCI-01"], GOOD, accept, None)?;
    let tile = "/regions/0/streaming/tile";
    let at = |place: &str| if let Some(rest) = place.strip_prefix('~') { format!("{tile}{rest}") } else { place.to_owned() };
    for (name, rule, place, from, to) in [
        ("no values", "S03", "", "\"values\": {\"X\"", "\"value\": {\"X\""),
        ("no inputs", "S03", "", "\"inputs\": [\"X\"], \"outputs\": [\"Y\"], \"boundaries\"", "\"outputs\": [\"Y\"], \"boundaries\""),
        ("no outputs", "S03", "", "\"outputs\": [\"Y\"], \"boundaries\"", "\"boundaries\""),
        ("no regions", "S03", "", "\"regions\":", "\"region\":"),
        ("a value without a shape", "S03", "/values/X", "\"shape\": [8, 8], ", ""),
        ("a value without a dtype", "S03", "/values/X", "\"dtype\": \"F16\", ", ""),
        ("a value without a residency", "S03", "/values/X", ", \"residency\": \"global\"", ""),
        ("a boundary without a value", "S03", "/boundaries/0", "{\"value\": \"Y\", \"location\"", "{\"location\""),
        ("a residency region without a memory", "S03", "/residency/0", "\"memory\": \"shared\", ", ""),
        ("a residency region without values", "S03", "/residency/0", "\"values\": [\"x\"], ", ""),
        ("a residency region without a lifetime", "S03", "/residency/0", ", \"lifetime\": \"iteration\"", ""),
        ("a region without an id", "S03", "/regions/0", "\"id\": \"r\", ", ""),
        ("a region without inputs", "S03", "/regions/0", "\"id\": \"r\", \"inputs\": [\"X\"], ", "\"id\": \"r\", "),
        ("a region without a streaming region", "S03", "/regions/0", "\"streaming\":", "\"stream\":"),
        ("a streaming region without a tile region", "S03", "/regions/0/streaming", "\"tile\": {", "\"tiles\": {"),
        ("a stream without an axis", "S03", "/regions/0/streaming/stream", "\"axis\": \"j\", ", ""),
        ("a stream without an end", "S03", "/regions/0/streaming/stream", "\"to\": [8", "\"until\": [8"),
        ("a state without a value", "S03", "/regions/0/streaming/state/0", "\"value\": \"s\", ", ""),
        ("a state without an initial value", "S03", "/regions/0/streaming/state/0", ", \"init\": \"-inf\"", ""),
        ("a tile region without steps", "S03", "~", "\"tile_shape\": {\"i\": 4, \"j\": 2}, ", ""),
        ("a node without an id", "S03", "~/begin/0", "\"id\": \"a\", ", ""),
        ("a node without an op", "S03", "~/begin/0", "\"op\": \"Prefetch\", ", ""),
        ("a Prefetch without indices", "S03", "~/begin/0", "\"at\": [\"i\", \"j\"], \"version\": 0", "\"version\": 0"),
        ("a Prefetch without a version", "S03", "~/begin/0", ", \"version\": 0", ""),
        ("a StoreTile without indices", "S03", "~/end/0", ", \"at\": [\"i\"]", ""),
        ("a Barrier that does not wait", "S03", "~/each/1", ", \"wait\": [[\"x\", 0]]", ""),
        ("a Compute without a function", "S03", "~/each/2", "\"fn\": \"scale\", ", ""),
        ("a scale without a fraction", "S03", "~/each/2", "\"by\": [1, 8], ", ""),
        ("a mask without rows", "S03", "~/each/3", "\"rows\": \"i\", ", ""),
        ("a mask without columns", "S03", "~/each/3", "\"columns\": \"j\", ", ""),
        ("a Reduce without an axis", "S03", "~/each/4", "\"axis\": 1, ", ""),
        ("a Reduce without a function", "S03", "~/each/4", "\"fn\": \"max\", \"axis\"", "\"axis\""),
        ("an UpdateState without a function", "S03", "~/each/5", "\"fn\": \"max\", \"in\"", "\"in\""),
        ("values in an array", "S04", "/boundaries", "\"boundaries\": [{\"value\": \"Y\", \"location\": \"global\"}]", "\"boundaries\": {}"),
        ("an extent in quotes", "S04", "/values/X/shape/1", "[8, 8]", "[8, \"8\"]"),
        ("a shape of null", "S04", "/values/X/shape", "[8, 8]", "null"),
        ("an extent of one and a half", "S04", "/values/X/shape/0", "[8, 8]", "[1.5, 8]"),
        ("an extent beyond 64 bits", "S04", "/values/X/shape/0", "[8, 8]", "[9223372036854775808, 8]"),
        ("slots that are true", "S04", "/values/x/buffers", "\"buffers\": 2", "\"buffers\": true"),
        ("slots of null", "S04", "/values/x/buffers", "\"buffers\": 2", "\"buffers\": null"),
        ("a dtype by number", "S04", "/values/X/dtype", "\"dtype\": \"F16\"", "\"dtype\": 16"),
        ("an input by number", "S04", "/inputs/0", "\"inputs\": [\"X\"], \"outputs\": [\"Y\"], \"b", "\"inputs\": [0], \"outputs\": [\"Y\"], \"b"),
        ("a target in quotes", "S04", "/target/shared_bytes", "1024", "\"1024\""),
        ("a target of null", "S04", "/target", "\"target\": {\"shared_bytes\": 1024, \"register_bytes\": null}", "\"target\": null"),
        ("a stream that is an array", "S04", "/regions/0/streaming/stream", "{\"axis\": \"j\", \"from\": [0], \"to\": [8, [[1, \"i\"], 8]]}", "[\"j\"]"),
        ("an end that is no array", "S04", "/regions/0/streaming/stream/to", "[8, [[1, \"i\"], 8]]", "8"),
        ("an index that is true", "S04", "~/begin/0/at/0", "[\"i\", \"j\"], \"version\": 0", "[true, \"j\"], \"version\": 0"),
        ("an index of one and a half", "S04", "~/begin/0/at/0", "[\"i\", \"j\"], \"version\": 0", "[1.5, \"j\"], \"version\": 0"),
        ("a term of three", "S04", "/regions/0/streaming/stream/to/1/0", "[1, \"i\"]", "[1, \"i\", 1]"),
        ("a term the other way round", "S04", "/regions/0/streaming/stream/to/1/0/0", "[1, \"i\"]", "[\"i\", \"i\"]"),
        ("a term within a term", "S04", "/regions/0/streaming/stream/to/1/0/1", "[1, \"i\"]", "[1, [\"i\"]]"),
        ("an initial value of null", "S04", "/regions/0/streaming/state/0/init", "\"-inf\"", "null"),
        ("an initial value of one half", "S04", "/regions/0/streaming/state/0/init", "\"-inf\"", "0.5"),
        ("a step in quotes", "S04", "~/tile_shape/i", "{\"i\": 4,", "{\"i\": \"4\","),
        ("a version in quotes", "S04", "~/begin/0/version", "\"version\": 0", "\"version\": \"0\""),
        ("a wait without its version", "S04", "~/each/1/wait/0", "[[\"x\", 0]]", "[\"x\"]"),
        ("a wait for a number", "S04", "~/each/1/wait/0/0", "[[\"x\", 0]]", "[[0, 0]]"),
        ("a version that is true", "S04", "~/begin/0/version", "\"version\": 0", "\"version\": true"),
        ("a wait of three", "S04", "~/each/1/wait/0", "[[\"x\", 0]]", "[[\"x\", 0, 0]]"),
        ("a fraction of three numbers", "S04", "~/each/2/by", "[1, 8]", "[1, 8, 1]"),
        ("a fraction of one number", "S04", "~/each/2/by", "[1, 8]", "[8]"),
        ("a fraction that is a number", "S04", "~/each/2/by", "\"by\": [1, 8]", "\"by\": 8"),
        ("a window in quotes", "S04", "~/each/3/window", "\"window\": 8", "\"window\": \"8\""),
        ("an axis by name", "S04", "~/each/4/axis", "\"axis\": 1", "\"axis\": \"j\""),
        ("a node that is a name", "S04", "~/end/0", "\"end\": [{", "\"end\": [\"h\", {"),
        ("a dtype that is none", "S05", "/values/X/dtype", "\"dtype\": \"F16\"", "\"dtype\": \"fp16\""),
        ("a dtype of integers", "S05", "/values/X/dtype", "\"dtype\": \"F16\"", "\"dtype\": \"I32\""),
        ("a dtype in small letters", "S05", "/values/X/dtype", "\"dtype\": \"F16\"", "\"dtype\": \"f16\""),
        ("a lifetime in capitals", "S05", "/residency/0/lifetime", "\"lifetime\": \"iteration\"", "\"lifetime\": \"Iteration\""),
        ("a function in capitals", "S05", "~/each/2/fn", "\"fn\": \"scale\"", "\"fn\": \"Scale\""),
        ("a residency that is none", "S05", "/values/x/residency", "\"residency\": \"shared\"", "\"residency\": \"smem\""),
        ("a residency in capitals", "S05", "/values/x/residency", "\"residency\": \"shared\"", "\"residency\": \"Shared\""),
        ("a residency region in global memory", "S05", "/residency/0/memory", "\"memory\": \"shared\"", "\"memory\": \"global\""),
        ("a boundary on chip", "S05", "/boundaries/0/location", "\"location\": \"global\"", "\"location\": \"shared\""),
        ("a lifetime that is none", "S05", "/residency/0/lifetime", "\"lifetime\": \"iteration\"", "\"lifetime\": \"tile_iteration\""),
        ("an initial value that is not a number", "S05", "/regions/0/streaming/state/0/init", "\"-inf\"", "\"nan\""),
        ("an op that is none", "S05", "~/begin/0/op", "\"op\": \"Prefetch\"", "\"op\": \"CopyAsync\""),
        ("an op in small letters", "S05", "~/begin/0/op", "\"op\": \"Prefetch\"", "\"op\": \"prefetch\""),
        ("a function that is none", "S05", "~/each/2/fn", "\"fn\": \"scale\"", "\"fn\": \"softmax\""),
        ("a reduction that is none", "S05", "~/each/4/fn", "\"fn\": \"max\", \"axis\"", "\"fn\": \"mean\", \"axis\""),
        ("an update that is none", "S05", "~/each/5/fn", "\"fn\": \"max\", \"in\"", "\"fn\": \"set\", \"in\""),
    ] {
        let document = GOOD.replacen(from, to, 1);
        let id = megakernel_corpus::families::words(name);
        let expect: Value = json!({"verdict": "reject", "rules": [rule], "at": at(place)});
        text_case(sink, &id, name, &[rule, "MCI-01"], &document, expect, Some("good"))?;
    }
    Ok(())
}
