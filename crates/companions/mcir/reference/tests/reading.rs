//! Two readers of a document: in one pass over its text, and as a tree of its values, which alone says what is wrong.

use std::collections::BTreeMap;
use std::path::PathBuf;

use megakernel_ir::{MAX_DEPTH, read_value};
use megakernel_mcir::{Document, Function, Index, Op, Term, is_graph, read, read_text};
use megakernel_test_support::{cases, files, root};
use serde_json::json;

/// A document with all members, each of which counts.
const WHOLE: &str = r#"{"extra": [{"a": 1}], "values": {"t": {"shape": [4, 2], "dtype": "F16", "residency": "global"},
    "a/b": {"shape": [], "dtype": "F32", "residency": "shared", "buffers": 2, "more": null}}, "inputs": ["t"], "outputs": ["u", "t"],
    "boundaries": [{"value": "t", "location": "global"}, {"value": "u"}],
    "residency": [{"memory": "register", "values": ["a/b"], "lifetime": "iteration"}], "target": {"shared_bytes": 9, "register_bytes": null},
    "regions": [{"id": "r", "inputs": ["t"], "outputs": [], "streaming": {
        "stream": {"axis": "j", "from": [0, "i"], "to": [[4, "i", [-2, "i"]]]},
        "state": [{"value": "s", "init": "-inf"}, {"value": "s", "init": "inf"}, {"value": "t", "init": -1}],
        "tile": {"tile_shape": {"j": 1, "i": 2}, "blocks": {"i": 8},
            "begin": [{"id": "a", "op": "Prefetch", "in": ["t"], "out": ["a/b"], "at": ["j", [], 3], "version": 1}],
            "each": [{"op": "Barrier", "id": "b", "wait": [["a/b", 0], ["t", -1]]},
                {"id": "c", "op": "Compute", "fn": "mask", "rows": "i", "columns": ["j", 1], "window": null},
                {"id": "d", "op": "Compute", "fn": "scale", "by": [1, 3]}, {"id": "e", "fn": "matmul_nt", "op": "Compute"},
                {"id": "f", "op": "Compute", "fn": "max", "along": "rows"}, {"id": "g", "op": "Compute", "fn": "transp\u006fse"},
                {"id": "h", "op": "Reduce", "fn": "sum", "axis": 1}, {"id": "i", "op": "UpdateState", "fn": "online_softmax"}],
            "end": [{"id": "k", "op": "LoadTile", "at": []}, {"id": "l", "op": "StoreTile", "at": [[7, [1, "i"]]]}]}}},
        {"id": "s", "inputs": [], "outputs": [], "streaming": {"stream": null, "tile": {"tile_shape": {}}}}]}"#;

/// What may stand where something else is expected.
const TOKENS: [&str; 24] = [
    "null",
    "true",
    "[]",
    "{}",
    "[1]",
    r#"["i", "i"]"#,
    "0",
    "-0",
    "01",
    "-",
    "1.",
    "1.5",
    "1e3",
    "1e999",
    "9223372036854775808",
    r#""x""#,
    r#""values""#,
    r#""\u0074""#,
    r#""\u0000""#,
    r#""\ud800""#,
    "\"\u{1}\"",
    "\"\n\"",
    "x",
    "",
];

/// Whether both readers read a text, which have to say the same of it.
fn is_read(text: &str) -> bool {
    let value = read_value(text.as_bytes()).ok().filter(|value| !is_graph(value));
    let (slow, quick) = (value.and_then(|value| read(&value).ok()), read_text(text));
    assert_eq!(slow.is_some(), quick.is_some(), "{text}");
    let both = slow.zip(quick).map(|(slow, quick)| {
        let of = |document: &Document| document.names.clone();
        let all = (0..).zip(of(&slow).into_iter().chain(of(&quick)));
        let numbers: BTreeMap<String, u32> = all.map(|(number, name)| (name, number)).collect();
        assert_eq!(numbered(slow, &numbers), numbered(quick, &numbers), "{text}");
    });
    both.is_some()
}

/// A document as text, with the same number for the same name whatever number the reader gave it.
fn numbered(mut document: Document, numbers: &BTreeMap<String, u32>) -> String {
    let names = std::mem::take(&mut document.names);
    let number = |id: &mut u32| *id = numbers[&names[*id as usize]];
    let indices = |indices: &mut [Index]| {
        for term in indices.iter_mut().flat_map(|index| index.terms.iter_mut()) {
            match term {
                Term::Axis(axis) | Term::Scaled(_, axis) => number(axis),
                Term::Number(_) => {}
            }
        }
    };
    document.values.iter_mut().for_each(|value| number(&mut value.name));
    document.inputs.iter_mut().chain(&mut document.outputs).for_each(number);
    document.boundaries.iter_mut().for_each(|boundary| number(&mut boundary.value));
    document.residency.iter_mut().flat_map(|residency| &mut residency.values).for_each(number);
    for region in &mut document.regions {
        number(&mut region.id);
        region.inputs.iter_mut().chain(&mut region.outputs).for_each(number);
        region.state.iter_mut().for_each(|state| number(&mut state.value));
        if let Some(stream) = &mut region.stream {
            number(&mut stream.axis);
            indices(&mut stream.from);
            indices(&mut stream.to);
        }
        region.tile.shape.iter_mut().chain(&mut region.tile.blocks).for_each(|(axis, _)| number(axis));
        for node in region.tile.bodies.iter_mut().flatten() {
            number(&mut node.id);
            node.ins.iter_mut().chain(&mut node.outs).for_each(number);
            match &mut node.op {
                Op::LoadTile(at) | Op::StoreTile(at) | Op::Prefetch(at, _) => indices(at),
                Op::Barrier(waits) => waits.iter_mut().for_each(|(value, _)| number(value)),
                Op::Compute(Function::Mask(mask)) => {
                    indices(std::slice::from_mut(&mut mask.rows));
                    indices(std::slice::from_mut(&mut mask.columns));
                }
                _ => {}
            }
        }
    }
    format!("{document:?}")
}

/// Two readers say the same of each text of the corpus, of a document of each kind of fault, and of each text cut short.
#[test]
fn a_text_is_read_in_one_pass_as_it_is_as_a_value() {
    let whole = files::json_below(&root().join("corpus/cases/mcir"));
    let text = |case: PathBuf| files::json(&case)["document"]["text"].as_str().map(str::to_owned);
    let mut texts: Vec<String> = whole.into_iter().filter_map(text).collect();
    texts.extend(cases::documents("mcir").into_iter().map(|found| found.text));
    let of_corpus = texts.iter().filter(|text| is_read(text)).count();
    assert!(of_corpus > 300, "{of_corpus} of {}", texts.len());

    assert!(is_read(WHOLE));
    texts = (0..=WHOLE.len()).map(|end| WHOLE[..end].to_owned()).collect();
    // Each value, and each name of a member, is taken for another.
    let places: Vec<usize> =
        WHOLE.char_indices().filter(|(_, c)| "[{,: ".contains(*c)).map(|(at, _)| at + 1).collect();
    for &at in &places {
        let rest = &WHOLE[at..];
        let end = rest.find([',', ']', '}', ':']).unwrap_or(rest.len());
        texts.extend(TOKENS.iter().map(|token| format!("{}{token}{}", &WHOLE[..at], &rest[end..])));
        texts.push(format!("{}{}, {rest}", &WHOLE[..at], &rest[..end]));
    }
    // A member that stands there already, by its name and by an escape.
    for name in ["values", r"value\u0073"] {
        texts.push(WHOLE.replacen('{', &format!(r#"{{"{name}": {{}}, "#), 1));
    }
    for after in [" ", "\n\t", "x", "{}", ",", "]", "\0", "\u{a0}"] {
        texts.push(format!("{WHOLE}{after}"));
        texts.push(format!("{after}{WHOLE}"));
    }
    let both = texts.iter().filter(|text| is_read(text)).count();
    assert!(both > 500 && texts.len() - both > 3000, "{both} of {}", texts.len());
}

#[test]
fn a_member_that_counts_for_nothing_may_be_anything() {
    let document = json!({"values": {}, "inputs": [], "outputs": [], "regions": [{"id": "r", "inputs": [], "outputs": [],
        "streaming": {"tile": {"tile_shape": {}, "each": [{"id": "a", "op": "LoadTile", "at": [], "version": "none"}]}}}]});
    assert!(is_read(&document.to_string()));
    // But not where it counts, and not twice.
    let text = document.to_string();
    assert!(!is_read(&text.replace("LoadTile", "Prefetch")));
    let binary = text.replace(r#""LoadTile""#, r#""Compute","fn":"add""#);
    assert!(is_read(&binary) && !is_read(&binary.replace("version", "along")));
    let masked = text.replace(r#""LoadTile""#, r#""Compute","fn":"mask","rows":0,"columns":0"#);
    assert!(is_read(&masked) && !is_read(&masked.replace("version", "window")));
    for (other, twice) in [("1", "\"none\""), ("\"none\"", "1"), ("[]", "{}")] {
        let members = format!(r#""version":{other},"version":{twice}"#);
        assert!(!is_read(&text.replace(r#""version":"none""#, &members)));
    }
    let read = megakernel_mcir_reference::read_document(document.to_string().as_bytes());
    assert_eq!(read.expect("a document").regions.len(), 1);
}

#[test]
fn both_readers_read_values_of_the_same_depth() {
    for place in [r#""extra": "#, r#""more": "#] {
        let (before, behind) = WHOLE.split_once(place).expect("an unknown member");
        let end = if place.contains("extra") { behind.find(", \"values\"") } else { behind.find('}') };
        let behind = &behind[end.expect("another member, or the end")..];
        let depths = MAX_DEPTH - 4..=MAX_DEPTH + 1;
        let read: Vec<bool> = depths
            .map(|depth| {
                is_read(&format!("{before}{place}{}{}{behind}", "[".repeat(depth), "]".repeat(depth)))
            })
            .collect();
        assert!(read[0] && !read[read.len() - 1], "{place}{read:?}");
    }
}
