//! Documents as programs of opcodes: the VM runs them to what the documents compute, within the bounds of the case; and where there is no program, the reason says what is missing.

use std::collections::{BTreeMap, BTreeSet};

use megakernel_mcir_reference::{NoProgram, program, run_program};
use megakernel_test_support::{files, root};
use serde_json::{Map, Value, json};

use super::plays::{Play, computing, lowering, wrong};

/// The opcodes of a program.
fn opcodes(text: &str) -> BTreeSet<String> {
    let value: Value = serde_json::from_str(text).expect("JSON");
    let tasks = value["tasks"].as_array().expect("tasks");
    tasks.iter().map(|task| task["op"].as_str().expect("an opcode").to_owned()).collect()
}

/// What is expected, without elements that are NaN: what is behind a mask and no finite number counts in a document, times 0, and not in ATTENTION_TILE.
fn without_nan(play: &Play) -> Map<String, Value> {
    let mut outputs = play.outputs.clone();
    for output in outputs.values_mut() {
        let values = output["values"].as_array().expect("values").clone();
        let mut bounds = output["bounds"].as_array().cloned().unwrap_or_else(|| vec![json!(0); values.len()]);
        for (bound, value) in bounds.iter_mut().zip(&values) {
            if value == "nan" {
                *bound = json!("inf");
            }
        }
        output["bounds"] = json!(bounds);
    }
    outputs
}

#[test]
fn programs_compute_what_their_documents_do() {
    let plays: Vec<Play> = computing().into_iter().chain(lowering()).collect();
    let mut count: BTreeMap<String, usize> = BTreeMap::new();
    let mut reasons: BTreeMap<String, usize> = BTreeMap::new();
    let mut found = Vec::new();
    for play in &plays {
        match program(play.document.to_string().as_bytes()) {
            Ok(made) => {
                opcodes(&made.program).into_iter().for_each(|op| *count.entry(op).or_default() += 1);
                let is_masked = made.program.contains("\"BOOL\"");
                let expected = if is_masked { without_nan(play) } else { play.outputs.clone() };
                let judged =
                    Play { name: play.name.clone(), document: play.document.clone(), outputs: expected };
                for schedule in [0, 7] {
                    let answer = run_program(&made, &play.document["data"], schedule);
                    let answer = answer.unwrap_or_else(|error| unreachable!("{}: {error}", play.name));
                    found.extend(wrong(&judged, &answer));
                }
            }
            Err(NoProgram::Refused(pointer, reason)) => {
                assert!(pointer.starts_with("/regions/"), "{}: {pointer} {reason}", play.name);
                *reasons.entry(reason).or_default() += 1;
            }
            Err(NoProgram::Rejected(rejected)) => unreachable!("{}: {rejected:?}", play.name),
        }
    }
    assert!(
        reasons.keys().all(|reason| reason.contains("opcode") || reason.contains("_TILE")),
        "{reasons:?}"
    );
    assert_eq!(found, Vec::<String>::new());
    for (op, least) in [("GEMM_TILE", 20), ("ATTENTION_TILE", 20), ("GELU", 3), ("COPY", 3)] {
        assert!(count.get(op).is_some_and(|&count| count >= least), "{op}: {count:?}");
    }
}

/// A document of one region without a stream, of tiles and the nodes between their loads and the store of `y`.
fn document(tiles: &[(&str, &[i64], &str)], loads: &[(&str, &str)], nodes: &[Value]) -> Value {
    let mut values = json!({});
    let (mut inputs, mut body) = (Vec::new(), Vec::new());
    let mut all = Vec::new();
    for (name, shape, dtype) in tiles {
        values[*name] = json!({"shape": shape, "dtype": dtype, "residency": "shared"});
        all.push(*name);
    }
    for (tile, tensor) in loads {
        let mut value = values[*tile].clone();
        value["residency"] = json!("global");
        let rank = value["shape"].as_array().expect("a shape").len();
        values[*tensor] = value;
        inputs.push(*tensor);
        let at = vec![0; rank];
        body.push(
            json!({"id": format!("load {tile}"), "op": "LoadTile", "in": [tensor], "out": [tile], "at": at}),
        );
    }
    body.extend(nodes.iter().enumerate().map(|(number, node)| {
        let mut node = node.clone();
        node["id"] = json!(format!("node {number}"));
        node
    }));
    let mut value = values["y"].clone();
    value["residency"] = json!("global");
    let rank = value["shape"].as_array().expect("a shape").len();
    values["Y"] = value;
    body.push(json!({"id": "store", "op": "StoreTile", "in": ["y"], "out": ["Y"], "at": vec![0; rank]}));
    json!({
        "values": values, "inputs": inputs, "outputs": ["Y"], "boundaries": [{"value": "Y"}],
        "residency": [{"memory": "shared", "values": all, "lifetime": "block"}],
        "regions": [{"id": "r", "inputs": inputs, "outputs": ["Y"], "streaming": {"tile": {"tile_shape": {}, "begin": body}}}],
    })
}

fn binary(function: &str, along: Option<&str>, a: &str, b: &str, out: &str) -> Value {
    let mut node = json!({"op": "Compute", "fn": function, "in": [a, b], "out": [out]});
    if let Some(along) = along {
        node["along"] = json!(along);
    }
    node
}

fn unary(function: &str, a: &str, out: &str) -> Value {
    json!({"op": "Compute", "fn": function, "in": [a], "out": [out]})
}

/// The mean of the rows of a tile.
fn mean(of: &str, sum: &str, out: &str, width: i64) -> [Value; 2] {
    [
        json!({"op": "Reduce", "fn": "sum", "axis": 1, "in": [of], "out": [sum]}),
        json!({"op": "Compute", "fn": "scale", "by": [1, width], "in": [sum], "out": [out]}),
    ]
}

/// A norm of rows of 8, with the mean taken off or not; what is normed has a dtype.
fn norm(is_layer: bool, dtype: &str) -> Value {
    let whole: &[i64] = &[3, 8];
    let mut tiles: Vec<(&str, &[i64], &str)> = vec![
        ("x", whole, "F16"),
        ("w", &[8], "F16"),
        ("y", whole, "BF16"),
        ("xx", whole, "F32"),
        ("sum", &[3], "F32"),
        ("var", &[3], "F32"),
        ("root", &[3], "F32"),
        ("n", whole, dtype),
    ];
    let mut loads = vec![("x", "X"), ("w", "W")];
    let mut nodes = Vec::new();
    let centred = if is_layer {
        tiles.extend([
            ("b", &[8_i64] as &[i64], "F32"),
            ("s", &[3], "F32"),
            ("mu", &[3], "F32"),
            ("c", whole, "F32"),
            ("z", whole, "F32"),
        ]);
        loads.push(("b", "B"));
        nodes.extend(mean("x", "s", "mu", 8));
        nodes.push(binary("sub", Some("rows"), "x", "mu", "c"));
        "c"
    } else {
        "x"
    };
    nodes.push(binary("mul", None, centred, centred, "xx"));
    nodes.extend(mean("xx", "sum", "var", 8));
    nodes.push(unary("rsqrt", "var", "root"));
    nodes.push(binary("mul", Some("rows"), centred, "root", "n"));
    if is_layer {
        nodes.push(binary("mul", Some("columns"), "n", "w", "z"));
        nodes.push(binary("add", Some("columns"), "z", "b", "y"));
    } else {
        nodes.push(binary("mul", Some("columns"), "n", "w", "y"));
    }
    document(&tiles, &loads, &nodes)
}

/// A document as a program: its opcodes, after what it computes has been judged.
fn judged(name: &str, document: &Value) -> BTreeSet<String> {
    let (document, outputs) = megakernel_mcir_cases::families::compute::drawn(document, 5);
    let made =
        program(document.to_string().as_bytes()).unwrap_or_else(|none| unreachable!("{name}: {none:?}"));
    let play = Play { name: name.to_owned(), document, outputs };
    let answer = run_program(&made, &play.document["data"], 0).expect("it runs");
    assert_eq!(wrong(&play, &answer), None);
    opcodes(&made.program)
}

fn refused(document: &Value) -> (String, String) {
    match program(document.to_string().as_bytes()) {
        Err(NoProgram::Refused(pointer, reason)) => (pointer, reason),
        other => unreachable!("{other:?}"),
    }
}

#[test]
fn norms_and_functions_have_opcodes() {
    let only = |op: &str| BTreeSet::from([op.to_owned()]);
    assert_eq!(judged("rms", &norm(false, "F32")), only("RMSNORM"));
    assert_eq!(judged("layer", &norm(true, "F32")), only("LAYERNORM"));
    let tiles: [(&str, &[i64], &str); 4] =
        [("a", &[2, 5], "F16"), ("b", &[2, 5], "BF16"), ("s", &[2, 5], "F32"), ("y", &[2, 5], "F16")];
    let loads = [("a", "A"), ("b", "B")];
    for (function, op) in [("add", "ADD"), ("mul", "MUL")] {
        let made =
            document(&tiles[..], &loads, &[unary("copy", "a", "s"), binary(function, None, "s", "b", "y")]);
        assert_eq!(judged(function, &made), BTreeSet::from(["COPY".to_owned(), op.to_owned()]));
    }
    let gated = document(&tiles[..], &loads, &[unary("silu", "a", "s"), binary("mul", None, "b", "s", "y")]);
    assert_eq!(judged("gated", &gated), only("SILU_MUL"));
    let row: [(&str, &[i64], &str); 3] =
        [("x", &[1, 6], "F16"), ("w", &[4, 6], "F16"), ("y", &[1, 4], "F16")];
    let product = |function: &str, w: &[i64]| {
        let mut tiles = row;
        tiles[1].1 = w;
        document(&tiles[..], &[("x", "X"), ("w", "W")], &[binary(function, None, "x", "w", "y")])
    };
    assert_eq!(judged("one row", &product("matmul_nt", &[4, 6])), only("GEMV_TILE"));
    // What stands wrong, or has no opcode, is named.
    let (pointer, reason) = refused(&product("matmul_nn", &[6, 4]));
    assert_eq!(pointer, "/regions/0/streaming/tile/begin/2");
    assert!(reason.contains("`w` stands the wrong way round") && reason.contains("GEMM_TILE"), "{reason}");
    let (pointer, reason) = refused(&norm(false, "F16"));
    assert!(reason.contains("`mul` along `columns`"), "{reason}");
    assert_eq!(pointer, "/regions/0/streaming/tile/begin/7");
    let negative =
        document(&tiles[..], &loads, &[unary("neg", "a", "s"), binary("add", None, "s", "b", "y")]);
    assert!(refused(&negative).1.contains("no opcode computes `neg`"));
}

/// A norm whose eps comes from a state that begins with 7 and is divided by 3; what each of three iterations adds to it, nodes make as the tile `more`.
fn norm_over_a_stream(more: &[Value], tiles: &[(&'static str, &'static [i64], &'static str)]) -> Value {
    let whole: &[i64] = &[3, 8];
    let mut all = vec![("x", whole, "F16"), ("w", &[8_i64] as &[i64], "F16"), ("y", whole, "BF16")];
    all.extend([("xx", whole, "F32"), ("n", whole, "F32")]);
    all.extend(["sum", "more", "kept", "var", "root"].map(|row| (row, &[3_i64] as &[i64], "F32")));
    all.extend(tiles);
    let mut begin = vec![binary("mul", None, "x", "x", "xx")];
    begin.push(json!({"op": "Reduce", "fn": "sum", "axis": 1, "in": ["xx"], "out": ["sum"]}));
    begin.extend_from_slice(more);
    let third = json!({"op": "Compute", "fn": "scale", "by": [1, 3], "in": ["kept"], "out": ["eps"]});
    let is_apart = tiles.iter().any(|&(name, ..)| name == "eps");
    let mut end = if is_apart {
        vec![third, binary("add", None, "mean", "eps", "var")]
    } else {
        vec![json!({"op": "Compute", "fn": "scale", "by": [1, 3], "in": ["kept"], "out": ["var"]})]
    };
    end.extend([unary("rsqrt", "var", "root"), binary("mul", Some("rows"), "x", "root", "n")]);
    end.push(binary("mul", Some("columns"), "n", "w", "y"));
    let nodes = [begin, end].concat();
    let mut made = document(&all, &[("x", "X"), ("w", "W")], &nodes);
    let streaming = &mut made["regions"][0]["streaming"];
    streaming["stream"] = json!({"axis": "k", "to": [3]});
    streaming["state"] = json!([{"value": "kept", "init": 7}]);
    let tile = &mut streaming["tile"];
    tile["tile_shape"] = json!({"k": 1});
    let body = tile["begin"].as_array_mut().expect("nodes");
    let end = body.split_off(4 + more.len());
    let add = json!({"id": "add", "op": "UpdateState", "fn": "add", "in": ["kept", "more"], "out": ["kept"]});
    (tile["each"], tile["end"]) = (json!([add]), json!(end));
    made
}

#[test]
fn an_eps_is_the_same_in_every_iteration_or_there_is_no_norm() {
    // The mean, which a stream of one iteration would add once.
    let times = json!({"op": "Compute", "fn": "scale", "by": [3, 8], "in": ["sum"], "out": ["more"]});
    let (pointer, reason) = refused(&norm_over_a_stream(&[times], &[]));
    assert_eq!(pointer, "/regions/0/streaming/tile/end/3");
    assert!(reason.contains("no opcode computes `mul` along `columns`"), "{reason}");
    let mean = json!({"op": "Compute", "fn": "scale", "by": [1, 8], "in": ["sum"], "out": ["mean"]});
    let nothing = |rows: Value, columns: i64| {
        [
            mean.clone(),
            json!({"op": "Compute", "fn": "mask", "rows": rows, "columns": columns, "in": ["x"], "out": ["none"]}),
            json!({"op": "Reduce", "fn": "max", "axis": 1, "in": ["none"], "out": ["least"]}),
            unary("exp", "least", "more"),
        ]
    };
    let tiles: [(&str, &[i64], &str); 4] =
        [("mean", &[3], "F32"), ("eps", &[3], "F32"), ("none", &[3, 8], "F32"), ("least", &[3], "F32")];
    let right = norm_over_a_stream(&nothing(json!(-3), 0), &tiles);
    assert_eq!(judged("an eps over a stream", &right), BTreeSet::from(["RMSNORM".to_owned()]));
    // Of the last row something is kept.
    for (rows, columns) in [(json!(-2), 0), (json!(0), 2)] {
        let (_, reason) = refused(&norm_over_a_stream(&nothing(rows, columns), &tiles));
        assert!(reason.contains("no opcode computes `mul` along `columns`"), "{reason}");
    }
}

/// A document of the corpus, with an edit.
fn edited(name: &str, edit: impl FnOnce(&mut Value)) -> Value {
    let mut document = files::json(&root().join(format!("corpus/programs/mcir/{name}.json")));
    edit(&mut document);
    document
}

#[test]
fn documents_that_compute_less_than_an_opcode_are_refused() {
    let steps = |step: i64, axis: &'static str| {
        move |document: &mut Value| {
            document["regions"][0]["streaming"]["tile"]["tile_shape"][axis] = json!(step);
        }
    };
    // Between the tiles of the stream there is a gap, or they overlap.
    for step in [2, 5] {
        let (pointer, reason) = refused(&edited("small-product", steps(step, "k")));
        assert_eq!(pointer, "/regions/0/streaming/tile/each/3", "{reason}");
        assert!(reason.contains("GEMM_TILE sums up whole rows"), "{reason}");
        let (pointer, reason) = refused(&edited("small-attention", steps(step, "j")));
        assert_eq!(pointer, "/regions/0/streaming/tile/each/6", "{reason}");
        assert!(reason.contains("one key after the other"), "{reason}");
    }
    // Scores of the first half of what queries and keys have.
    let (_, reason) = refused(&edited("small-attention", |document| {
        for tile in ["q", "k"] {
            document["values"][tile]["shape"] = json!([4, 4]);
        }
    }));
    assert!(reason.contains("ATTENTION_TILE takes whole rows of queries"), "{reason}");
    // Queries that are a sum over the stream as well: scores of an iteration are those of a part of it.
    let (_, reason) = refused(&edited("small-attention", |document| {
        let values = &mut document["values"];
        for (name, shape, dtype, residency) in [
            ("X", [6, 10], "F16", "global"),
            ("W", [8, 10], "F16", "global"),
            ("x", [4, 4], "F16", "shared"),
            ("w", [8, 4], "F16", "shared"),
            ("part", [4, 8], "F32", "register"),
            ("q", [4, 8], "F32", "register"),
        ] {
            values[name] = json!({"shape": shape, "dtype": dtype, "residency": residency});
        }
        values.as_object_mut().expect("values").shift_remove("Q");
        let inputs = json!(["X", "W", "K", "V"]);
        (document["inputs"], document["regions"][0]["inputs"]) = (inputs.clone(), inputs);
        document["residency"][0] = json!({"memory": "shared", "values": ["x", "w"], "lifetime": "iteration"});
        for (place, tile) in [(2, "part"), (3, "q")] {
            document["residency"][place]["values"].as_array_mut().expect("values").push(json!(tile));
        }
        document.as_object_mut().expect("a document").shift_remove("target");
        let streaming = &mut document["regions"][0]["streaming"];
        streaming["state"].as_array_mut().expect("states").push(json!({"value": "q", "init": 0}));
        streaming["tile"]["begin"].as_array_mut().expect("nodes").remove(0);
        let each = streaming["tile"]["each"].as_array_mut().expect("nodes");
        for node in [
            json!({"id": "uq", "op": "UpdateState", "fn": "add", "in": ["q", "part"], "out": ["q"]}),
            json!({"id": "xw", "op": "Compute", "fn": "matmul_nt", "in": ["x", "w"], "out": ["part"]}),
            json!({"id": "lw", "op": "LoadTile", "in": ["W"], "out": ["w"], "at": [0, "j"]}),
            json!({"id": "lx", "op": "LoadTile", "in": ["X"], "out": ["x"], "at": ["i", "j"]}),
        ] {
            each.insert(0, node);
        }
    }));
    assert!(reason.contains("`q` is read before the stream ends"), "{reason}");
    // Attention as an operand of a product: what it leaves out depends on the columns of the product.
    for (rows, to) in [(json!(["i", "n"]), json!([6])), (json!(["i", 99]), json!([6, ["n", 1]]))] {
        let (_, reason) = refused(&edited("small-attention-causal", |document| {
            let values = document["values"].as_object_mut().expect("values");
            values.shift_remove("O");
            for (name, shape, residency) in [
                ("W", [8, 8], "global"),
                ("Y", [6, 8], "global"),
                ("w", [4, 8], "shared"),
                ("y", [4, 4], "register"),
            ] {
                let value = json!({"shape": shape, "dtype": "F16", "residency": residency});
                values.insert(name.to_owned(), value);
            }
            for (memory, tile) in [("shared", "w"), ("register", "y")] {
                let one = json!({"memory": memory, "values": [tile], "lifetime": "node"});
                document["residency"].as_array_mut().expect("residency").push(one);
            }
            document.as_object_mut().expect("a document").shift_remove("target");
            document["boundaries"] = json!([{"value": "Y"}]);
            for at in ["", "/regions/0"] {
                let holder = document.pointer_mut(at).expect("a document and a region");
                holder["inputs"].as_array_mut().expect("inputs").push(json!("W"));
                holder["outputs"] = json!(["Y"]);
            }
            let streaming = &mut document["regions"][0]["streaming"];
            streaming["stream"]["to"] = to;
            let tile = &mut streaming["tile"];
            (tile["tile_shape"]["n"], tile["blocks"]["n"]) = (json!(4), json!(8));
            let each = tile["each"].as_array_mut().expect("nodes");
            each.iter_mut().find(|node| node["id"] == "mk").expect("a mask")["rows"] = rows;
            let end = tile["end"].as_array_mut().expect("nodes");
            end.truncate(1);
            end.extend([
                json!({"id": "lw", "op": "LoadTile", "in": ["W"], "out": ["w"], "at": ["n", 0]}),
                json!({"id": "mm", "op": "Compute", "fn": "matmul_nt", "in": ["o", "w"], "out": ["y"]}),
                json!({"id": "so", "op": "StoreTile", "in": ["y"], "out": ["Y"], "at": ["i", "n"]}),
            ]);
        }));
        assert!(reason.contains("ATTENTION_TILE has one mask"), "{reason}");
    }
}
