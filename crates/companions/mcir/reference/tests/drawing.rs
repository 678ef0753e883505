//! Pictures of documents. `PICTURES=overwrite cargo test -p megakernel-mcir-reference --test drawing` writes down the ones that are compared.

use std::fs;
use std::path::{Path, PathBuf};

use megakernel_mcir_reference::{picture, read_document};
use megakernel_test_support::root;
use serde_json::{Value, json};

fn drawn(document: &str, heading: &str) -> String {
    let document = read_document(document.as_bytes()).expect("a document");
    picture(&document, heading).expect("a document that breaks no rule")
}

fn of_corpus(name: &str) -> String {
    let path = root().join("corpus/programs/mcir").join(format!("{name}.json"));
    fs::read_to_string(path).expect("a file of the corpus")
}

fn kept(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/pictures").join(format!("{name}.svg"))
}

/// How often something stands in a text.
fn count(text: &str, what: &str) -> usize {
    text.matches(what).count()
}

#[test]
fn pictures_are_what_has_been_looked_at() {
    for name in ["small-attention", "attention-naive"] {
        let svg = drawn(&of_corpus(name), name);
        if std::env::var_os("PICTURES").is_some_and(|what| what == "overwrite") {
            fs::create_dir_all(kept(name).parent().expect("a folder")).expect("a folder");
            fs::write(kept(name), &svg).expect("a file");
        }
        let wanted = fs::read_to_string(kept(name)).expect("a picture");
        assert!(
            svg == wanted,
            "{name}: another picture; the first lines of this test say how to write it down"
        );
    }
}

#[test]
fn the_order_of_members_is_no_matter() {
    let document: Value = serde_json::from_str(&of_corpus("small-attention")).expect("JSON");
    let members = document.as_object().expect("an object");
    let text = |first: &str| {
        let (before, behind): (Vec<_>, Vec<_>) = members.iter().partition(|(name, _)| *name == first);
        let all = before.into_iter().chain(behind).map(|(name, member)| format!("{}: {member}", json!(name)));
        format!("{{{}}}", all.collect::<Vec<_>>().join(", "))
    };
    let usual = drawn(&of_corpus("small-attention"), "");
    for first in members.keys() {
        assert_eq!(drawn(&text(first), ""), usual, "{first} first");
    }
}

#[test]
fn pictures_say_what_measures_say() {
    // Blocks of 4 queries of 6, and of 4 keys of 10, of 8 numbers of 2 bytes: keys are loaded by both blocks.
    let svg = drawn(&of_corpus("small-attention"), "");
    for text in [
        "2 blocks: i to 6 by 4",
        "stream j from 0 to 10 by 4; state m = -inf, l = 0, acc = 0",
        ">load Q<",
        ">96<",
        ">320<",
        ">store O<",
        "kn: Prefetch +1 K → k at [j, 0]",
        "b: Barrier k +0, v +0",
    ] {
        assert!(svg.contains(text), "{text} in {svg}");
    }
    assert_eq!(
        [count(&svg, ">320<"), count(&svg, ">96<")],
        [2, 2],
        "keys and values; queries and the result"
    );
}

fn copies(regions: usize, nodes: usize) -> Value {
    let tensor = json!({"shape": [4], "dtype": "F32", "residency": "global"});
    let mut document = json!({"values": {"X": tensor}, "inputs": ["X"], "outputs": [], "boundaries": [], "residency": [], "regions": []});
    let mut tiles = Vec::new();
    for region in 0..regions {
        let output = format!("Y{region}");
        let mut all = Vec::new();
        for node in 0..nodes {
            let tile = format!("{region}.{node}");
            document["values"][&tile] = json!({"shape": [4], "dtype": "F32", "residency": "register"});
            all.push(match node {
                0 => json!({"id": tile, "op": "LoadTile", "in": ["X"], "out": [tile], "at": [0]}),
                _ => json!({"id": tile, "op": "Compute", "fn": "neg", "in": [format!("{region}.{}", node - 1)], "out": [tile]}),
            });
            tiles.push(json!(tile));
        }
        all.push(json!({"id": "store", "op": "StoreTile", "in": [format!("{region}.{}", nodes - 1)], "out": [output], "at": [0]}));
        document["values"][&output] = tensor.clone();
        for (list, entry) in [
            ("outputs", json!(output)),
            ("boundaries", json!({"value": output})),
            (
                "regions",
                json!({"id": format!("r{region}"), "inputs": ["X"], "outputs": [output], "streaming": {"tile": {"tile_shape": {}, "each": all}}}),
            ),
        ] {
            document[list].as_array_mut().expect("an array").push(entry);
        }
    }
    document["residency"] = json!([{"memory": "register", "values": tiles, "lifetime": "node"}]);
    document
}

#[test]
fn large_documents_are_summarised_and_counted() {
    let few = drawn(&copies(2, 3).to_string(), "few");
    assert_eq!(count(&few, " more<"), 0);
    assert_eq!(count(&few, "execution region"), 2);
    let many = drawn(&copies(2, 500).to_string(), "many");
    assert_eq!([count(&many, "and 481 nodes more<"), count(&many, "and 476 tiles more<")], [2, 2]);
    let regions = drawn(&copies(300, 2).to_string(), "regions");
    assert_eq!([count(&regions, "and 276 regions more<"), count(&regions, "execution region")], [1, 24]);
    assert!(many.len() < 40_000 && regions.len() < 120_000, "{}, {}", many.len(), regions.len());
}

#[test]
fn names_are_texts_and_nothing_else() {
    let mut document = copies(1, 2);
    document["regions"][0]["id"] = json!("</text><script>&\"'\u{1}");
    let svg = drawn(&document.to_string(), "a<b>\n&c");
    assert!(svg.contains("execution region &lt;/text&gt;&lt;script&gt;&amp;&quot;'\u{fffd}<"), "{svg}");
    assert!(svg.contains(">a&lt;b&gt;\u{fffd}&amp;c<") && !svg.contains("<script"), "{svg}");
}

#[test]
fn what_is_rejected_is_not_drawn() {
    let mut document = copies(1, 2);
    document["outputs"] = json!(["nobody"]);
    let read = read_document(document.to_string().as_bytes()).expect("a document");
    let found = picture(&read, "").expect_err("an unknown output");
    assert_eq!(found.iter().map(|found| found.rule.id()).collect::<Vec<_>>(), ["IS02"]);
}
