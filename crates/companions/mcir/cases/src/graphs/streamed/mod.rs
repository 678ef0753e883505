//! Graphs of which every node has tiles, for passes that make documents.

use serde_json::{Value, json};

use super::{Draft, Plan};

mod rounded;
mod rows;

/// A graph that becomes a document: its name, what it is, the graph, and the bytes of shared memory and registers that a block has.
type Streamed = (&'static str, &'static str, Value, Option<[i64; 2]>);

/// What there is where tiles of 16 rows and 16 columns do not fit, and smaller ones do.
const FEW: Option<[i64; 2]> = Some([1536, 2560]);

/// Graphs of which every node has tiles.
pub fn streamed() -> Vec<Streamed> {
    let mut all = Vec::new();
    attended(&mut all);
    multiplied(&mut all);
    rows::along_rows(&mut all);
    rounded::rounded(&mut all);
    all
}

fn attended(all: &mut Vec<Streamed>) {
    let mut put = |name, summary, target, change: &dyn Fn(&mut Plan)| {
        let mut plan = Plan { by: None, ..Plan::of(21, 37, 8) };
        change(&mut plan);
        let mut draft = Draft::default();
        plan.inputs(&mut draft);
        let mut more = json!({});
        if let Some(by) = plan.by {
            more["by"] = json!(by);
        }
        if let Some(mask) = &plan.mask {
            more["mask"] = mask.clone();
        }
        draft.push(
            "attention",
            &["Q", "K", "V"],
            "O",
            (&plan.shape(true, plan.rows, plan.wide), plan.dtype),
            &more,
        );
        draft.output("O");
        all.push((name, summary, draft.graph(), target));
    };
    put("attention", "attention in streams of a few keys", FEW, &|_| ());
    put("attention whole", "attention on a target without limits", None, &|_| ());
    put("scaled", "attention with a scale", FEW, &|plan| plan.by = Some([3, 8]));
    put("negative", "attention with a scale below 0", FEW, &|plan| plan.by = Some([-1, 2]));
    put("negative deep", "attention with a scale far below 0", FEW, &|plan| {
        (plan.by, plan.dtype) = (Some([-2, 1]), "F32");
    });
    put("negative heads", "two heads with a scale below 0", FEW, &|plan| {
        (plan.by, plan.heads) = (Some([-1, 1]), Some((2, 2)));
    });
    put("causal", "causal attention", FEW, &|plan| plan.mask = Some(json!({})));
    put("shifted", "causal attention behind earlier tokens", FEW, &|plan| {
        plan.mask = Some(json!({"offset": 16}))
    });
    put("hidden", "causal attention in which the first rows see nothing", FEW, &|plan| {
        plan.mask = Some(json!({"offset": -3}));
    });
    put("window", "attention in a window", FEW, &|plan| plan.mask = Some(json!({"offset": 4, "window": 7})));
    put("narrow window", "attention to one key of each query", FEW, &|plan| {
        (plan.mask, plan.by) = (Some(json!({"window": 1})), Some([1, 2]));
    });
    put("beyond", "a window that leaves the keys", FEW, &|plan| {
        (plan.rows, plan.keys) = (40, 19);
        plan.mask = Some(json!({"window": 5}));
    });
    put("decode", "one query", FEW, &|plan| plan.rows = 1);
    put("one key", "one key", FEW, &|plan| plan.keys = 1);
    put("tail of 1", "a last tile of one key", FEW, &|plan| plan.keys = 33);
    put("wide", "values wider than keys", FEW, &|plan| (plan.depth, plan.wide) = (3, 11));
    put("bfloat", "attention in BF16", FEW, &|plan| plan.dtype = "BF16");
    put("single", "attention in F32, where nothing is rounded", FEW, &|plan| plan.dtype = "F32");
    put("heads", "attention of three heads", FEW, &|plan| plan.heads = Some((3, 3)));
    put("grouped", "six heads of queries, two of keys", FEW, &|plan| {
        (plan.rows, plan.heads, plan.mask) = (13, Some((6, 2)), Some(json!({"offset": 20})));
    });
    put("grouped single", "four heads of queries, two of keys, in F32", FEW, &|plan| {
        (plan.rows, plan.heads, plan.dtype) = (9, Some((4, 2)), "F32");
    });
    put("grouped decode", "one query of each of eight heads, and two heads of keys", FEW, &|plan| {
        (plan.rows, plan.heads, plan.by) = (1, Some((8, 2)), Some([1, 2]));
    });
    put("multi-query", "three heads of queries, one of keys", FEW, &|plan| {
        (plan.rows, plan.heads) = (5, Some((3, 1)));
    });
}

fn multiplied(all: &mut Vec<Streamed>) {
    let mut put = |name, summary, target, draft: Draft| all.push((name, summary, draft.graph(), target));

    let mut draft = Draft::default();
    draft.input("X", &[19, 23], "F16");
    draft.input("W", &[23, 9], "F16");
    draft.node("matmul", &["X", "W"], "O", &[19, 9], "F16");
    draft.output("O");
    put("product", "a product of matrices", FEW, draft);

    let mut draft = Draft::default();
    draft.input("X", &[4, 9, 17], "BF16");
    draft.input("W", &[2, 17, 5], "BF16");
    draft.node("matmul", &["X", "W"], "O", &[4, 9, 5], "F32");
    draft.output("O");
    put("products", "four matrices, times two", FEW, draft);

    let mut draft = Draft::default();
    draft.input("X", &[18, 12], "F16");
    draft.input("W1", &[12, 20], "F16");
    draft.input("B1", &[20], "F16");
    draft.input("W2", &[20, 12], "F16");
    draft.node("matmul", &["X", "W1"], "h", &[18, 20], "F32");
    draft.node("add", &["h", "B1"], "hb", &[18, 20], "F32");
    draft.node("gelu", &["hb"], "g", &[18, 20], "F16");
    draft.node("matmul", &["g", "W2"], "y", &[18, 12], "F32");
    draft.node("add", &["y", "X"], "O", &[18, 12], "F16");
    draft.output("O");
    put("mlp", "product, bias, GELU, product, residual", FEW, draft);

    for (name, summary, mask) in [
        ("written out", "attention that is written out", None),
        ("written out causal", "the same, causal", Some(json!({"offset": 2}))),
        ("written out window", "the same, in a window", Some(json!({"window": 6}))),
    ] {
        let plan = Plan { mask, ..Plan::of(18, 20, 6) };
        put(name, summary, FEW, plan.draft());
    }

    let mut draft = Draft::default();
    draft.input("X", &[3, 10, 12], "F32");
    draft.input("Y", &[3, 10, 12], "F32");
    draft.input("B", &[12], "F32");
    draft.node("silu", &["X"], "a", &[3, 10, 12], "F32");
    draft.node("mul", &["a", "Y"], "b", &[3, 10, 12], "F16");
    draft.node("neg", &["b"], "c", &[3, 10, 12], "F32");
    draft.node("max", &["c", "B"], "d", &[3, 10, 12], "F32");
    draft.node("transpose", &["d"], "O", &[3, 12, 10], "BF16");
    draft.output("O");
    draft.output("b");
    put("elements", "functions of elements, and a transposition", FEW, draft);

    let mut draft = Draft::default();
    draft.input("X", &[50], "F16");
    draft.node("exp", &["X"], "e", &[50], "F32");
    draft.node("sub", &["e", "X"], "O", &[50], "F32");
    draft.output("O");
    put("row", "values of one axis", Some([64, 128]), draft);

    let mut draft = Draft::default();
    let plan = Plan { by: None, ..Plan::of(17, 17, 6) };
    plan.inputs(&mut draft);
    let more = json!({"by": [1, 2], "mask": {}});
    draft.push("attention", &["Q", "K", "V"], "A", (&[17, 6], "F16"), &more);
    draft.push("attention", &["A", "K", "V"], "O", (&[17, 6], "F16"), &more);
    draft.output("O");
    put("layers", "attention whose queries come from attention", FEW, draft);
}
