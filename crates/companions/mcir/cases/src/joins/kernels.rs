//! Regions of a few tiles, which several documents have.

use serde_json::{Value, json};

use crate::build::{Draft, Kernel, Tile};

/// A function of elements, in tiles of two axes.
#[derive(Clone, Copy, Debug)]
pub struct Map<'s> {
    pub id: &'s str,
    pub from: &'s str,
    pub to: &'s str,
    pub function: &'s str,
    /// The body of its nodes.
    pub body: usize,
    pub axes: [&'s str; 2],
    pub step: [i64; 2],
    /// Whether tiles are loaded, and stored, across the diagonal; they are transposed once then.
    pub is_turned: [bool; 2],
    /// A second operand.
    pub other: Option<&'s str>,
    pub is_other_turned: bool,
    /// A row for all rows.
    pub bias: Option<&'s str>,
}

impl<'s> Map<'s> {
    /// Tiles of four rows and four columns.
    pub fn of(id: &'s str, from: &'s str, to: &'s str, function: &'s str) -> Map<'s> {
        Map {
            id,
            from,
            to,
            function,
            body: 0,
            axes: ["i", "j"],
            step: [4, 4],
            is_turned: [false, false],
            other: None,
            is_other_turned: false,
            bias: None,
        }
    }

    /// Adds the region.
    pub fn push(self, draft: &mut Draft) {
        let [first, second] = self.axes;
        let [high, wide] = self.step;
        let shape = draft.shape(self.to);
        let extents = if self.is_turned[1] { [shape[1], shape[0]] } else { [shape[0], shape[1]] };
        let mut kernel = Kernel::new(self.id, &[(first, extents[0], high), (second, extents[1], wide)]);
        (0..self.body).for_each(|body| if body == 0 { kernel.each() } else { kernel.end() });
        let name = |what: &str| format!("{} {what}", self.id);
        let at = |is_turned: bool| if is_turned { json!([second, first]) } else { json!([first, second]) };
        let [tile, across] = [[high, wide], [wide, high]];
        let load = |kernel: &mut Kernel, draft: &mut Draft, what: &str, tensor: &str, is_turned: bool| {
            let tile_name = name(what);
            let dtype = draft.dtype(tensor);
            let shape = if is_turned { across } else { tile };
            draft.tiles(&[Tile(&tile_name, &shape, &dtype, "shared", "node")]);
            kernel.load(&format!("load {what}"), tensor, &tile_name, at(is_turned));
            if !is_turned {
                return tile_name;
            }
            let turned = format!("{tile_name} turned");
            draft.tiles(&[Tile(&turned, &tile, &dtype, "register", "node")]);
            kernel.compute(&format!("turn {what}"), "transpose", &[&tile_name], &turned, json!({}));
            turned
        };
        let x = load(&mut kernel, draft, "x", self.from, self.is_turned[0]);
        let mut ins = vec![x];
        let mut more = json!({});
        if let Some(other) = self.other {
            ins.push(load(&mut kernel, draft, "other", other, self.is_other_turned));
        }
        if let Some(bias) = self.bias {
            let (row, dtype) = (name("row"), draft.dtype(bias));
            draft.tiles(&[Tile(&row, &[wide], &dtype, "shared", "node")]);
            kernel.load("load row", bias, &row, json!([second]));
            ins.push(row);
            more = json!({"along": "columns"});
        }
        let dtype = draft.dtype(self.to);
        let mut made = name("y");
        draft.tiles(&[Tile(&made, &tile, &dtype, "register", "node")]);
        let ins: Vec<&str> = ins.iter().map(String::as_str).collect();
        kernel.compute("compute", self.function, &ins, &made, more);
        if self.is_turned[1] {
            let turned = name("y turned");
            draft.tiles(&[Tile(&turned, &across, &dtype, "register", "node")]);
            kernel.compute("turn", "transpose", &[&made], &turned, json!({}));
            made = turned;
        }
        kernel.store("store", &made, self.to, at(self.is_turned[1]));
        draft.push(kernel);
    }
}

/// A product of matrices, in tiles of four by four and three.
#[derive(Clone, Copy, Debug)]
pub struct Product<'s> {
    pub id: &'s str,
    pub x: &'s str,
    pub w: &'s str,
    pub y: &'s str,
    pub ahead: i64,
}

impl<'s> Product<'s> {
    /// Without loads that begin ahead.
    pub fn of(id: &'s str, x: &'s str, w: &'s str, y: &'s str) -> Product<'s> {
        Product { id, x, w, y, ahead: 0 }
    }

    /// Adds the region. A result in F32 is stored as it was summed up.
    pub fn push(self, draft: &mut Draft) {
        let (rows, inner) = (draft.shape(self.x)[0], draft.shape(self.x)[1]);
        let columns = draft.shape(self.w)[1];
        let [x, w, part, sum, y] = ["x", "w", "part", "sum", "y"].map(|what| format!("{} {what}", self.id));
        let (dtypes, dtype) = ([self.x, self.w].map(|name| draft.dtype(name)), draft.dtype(self.y));
        let lifetime = if self.ahead > 0 { "iteration" } else { "node" };
        draft.tiles(&[
            Tile(&x, &[4, 3], &dtypes[0], "shared", lifetime),
            Tile(&w, &[3, 4], &dtypes[1], "shared", lifetime),
            Tile(&part, &[4, 4], "F32", "register", "node"),
            Tile(&sum, &[4, 4], "F32", "register", "block"),
        ]);
        let mut kernel = Kernel::new(self.id, &[("m", rows, 4), ("n", columns, 4)]);
        // The axis of the stream is called as block axes are elsewhere.
        kernel.stream("i", 3, None, json!([inner]));
        kernel.state(&sum, json!(0));
        let [left, right] = [json!(["m", "i"]), json!(["i", "n"])];
        if self.ahead > 0 {
            draft.buffers(&x, 2);
            draft.buffers(&w, 2);
            kernel.prefetch("first x", self.x, &x, left.clone(), 0);
            kernel.prefetch("first w", self.w, &w, right.clone(), 0);
            kernel.each();
            kernel.prefetch("next x", self.x, &x, left, 1);
            kernel.prefetch("next w", self.w, &w, right, 1);
            kernel.wait("wait", json!([[x, 0], [w, 0]]));
        } else {
            kernel.each();
            kernel.load("load x", self.x, &x, left);
            kernel.load("load w", self.w, &w, right);
        }
        kernel.compute("multiply", "matmul_nn", &[&x, &w], &part, json!({}));
        kernel.update("add", "add", &[&sum, &part], &[&sum]);
        kernel.end();
        let made = if dtype == "F32" {
            sum
        } else {
            draft.tiles(&[Tile(&y, &[4, 4], &dtype, "register", "node")]);
            kernel.compute("cast", "copy", &[&sum], &y, json!({}));
            y
        };
        kernel.store("store", &made, self.y, json!(["m", "n"]));
        draft.push(kernel);
    }
}

/// Rows divided by the root of the sum of their squares. With a state, the sum is added to what the state begins with.
pub fn norm(draft: &mut Draft, id: &str, from: &str, to: &str, rows: i64, is_kept: bool) {
    let shape = draft.shape(from);
    let [x, xx, sum, kept, root, y] =
        ["x", "xx", "sum", "kept", "root", "y"].map(|what| format!("{id} {what}"));
    let (dtype, made) = (draft.dtype(from), draft.dtype(to));
    draft.tiles(&[
        Tile(&x, &[rows, shape[1]], &dtype, "shared", "iteration"),
        Tile(&xx, &[rows, shape[1]], "F32", "register", "iteration"),
        Tile(&sum, &[rows], "F32", "register", "iteration"),
        Tile(&root, &[rows], "F32", "register", "iteration"),
        Tile(&y, &[rows, shape[1]], &made, "register", "iteration"),
    ]);
    let mut kernel = Kernel::new(id, &[("row", shape[0], rows)]);
    if is_kept {
        draft.tiles(&[Tile(&kept, &[rows], "F32", "register", "block")]);
        kernel.state(&kept, json!(1));
    }
    kernel.each();
    kernel.load("load", from, &x, json!(["row", 0]));
    kernel.compute("square", "mul", &[&x, &x], &xx, json!({}));
    kernel.reduce("sum", "sum", 1, &xx, &sum);
    let total = if is_kept {
        kernel.update("keep", "add", &[&kept, &sum], &[&kept]);
        kept
    } else {
        sum
    };
    kernel.compute("root", "rsqrt", &[&total], &root, json!({}));
    kernel.compute("norm", "mul", &[&x, &root], &y, json!({"along": "rows"}));
    kernel.store("store", &y, to, json!(["row", 0]));
    draft.push(kernel);
}

/// Attention of `Q`, `K` and `V` to `O`, with queries that are loaded in this body; causal where the rows of a mask and the end of the stream are given.
pub fn attention(draft: &mut Draft, [rows, keys]: [i64; 2], body: usize, causal: Option<(Value, Value)>) {
    let lifetime = if body == 0 { "block" } else { "node" };
    draft.tiles(&[
        Tile("q", &[3, 4], "F16", "shared", lifetime),
        Tile("k", &[4, 4], "F16", "shared", "node"),
        Tile("v", &[4, 4], "F16", "shared", "node"),
        Tile("s", &[3, 4], "F32", "register", "node"),
        Tile("p", &[3, 4], "F32", "register", "node"),
        Tile("r", &[3], "F32", "register", "node"),
        Tile("pv", &[3, 4], "F32", "register", "node"),
        Tile("top", &[3], "F32", "register", "block"),
        Tile("l", &[3], "F32", "register", "block"),
        Tile("acc", &[3, 4], "F32", "register", "block"),
        Tile("o", &[3, 4], "F16", "register", "node"),
    ]);
    let mut kernel = Kernel::new("attention", &[("q", rows, 3)]);
    let (mask, end) = causal.map_or((None, json!([keys])), |(rows, end)| (Some(rows), end));
    kernel.stream("i", 4, None, end);
    for (name, init) in [("top", json!("-inf")), ("l", json!(0)), ("acc", json!(0))] {
        kernel.state(name, init);
    }
    if body > 0 {
        kernel.each();
    }
    kernel.load("load", "Q", "q", json!(["q", 0]));
    kernel.each();
    kernel.load("keys", "K", "k", json!(["i", 0]));
    kernel.compute("score", "matmul_nt", &["q", "k"], "s", json!({}));
    let mut scores = "s";
    if let Some(rows) = mask {
        draft.tiles(&[Tile("kept", &[3, 4], "F32", "register", "node")]);
        kernel.compute("mask", "mask", &["s"], "kept", json!({"rows": rows, "columns": "i"}));
        scores = "kept";
    }
    kernel.update("weigh", "online_softmax", &[scores, "top", "l"], &["top", "l", "p", "r"]);
    kernel.load("values", "V", "v", json!(["i", 0]));
    kernel.compute("multiply", "matmul_nn", &["p", "v"], "pv", json!({}));
    kernel.update("keep", "scale_add", &["acc", "r", "pv"], &["acc"]);
    kernel.end();
    kernel.compute("divide", "div", &["acc", "l"], "o", json!({"along": "rows"}));
    kernel.store("store", "o", "O", json!(["q", 0]));
    draft.push(kernel);
}

/// A map that runs through rows, four columns at once.
pub fn stream(draft: &mut Draft, id: &str, from: &str, to: &str, rows: i64) {
    let shape = draft.shape(from);
    draft.tiles(&[
        Tile("stream x", &[rows, 4], "F16", "shared", "node"),
        Tile("stream y", &[rows, 4], "F16", "register", "node"),
    ]);
    let mut kernel = Kernel::new(id, &[("i", shape[0], rows)]);
    kernel.stream("j", 4, None, json!([shape[1]]));
    kernel.each();
    kernel.load("load", from, "stream x", json!(["i", "j"]));
    kernel.compute("compute", "neg", &["stream x"], "stream y", json!({}));
    kernel.store("store", "stream y", to, json!(["i", "j"]));
    draft.push(kernel);
}

/// A map of four matrices, in so many groups.
pub fn heads(draft: &mut Draft, id: &str, from: &str, to: &str, groups: i64, function: &str) {
    let shape = draft.shape(from);
    let [x, y] = ["x", "y"].map(|what| format!("{id} {what}"));
    let whole = [shape[1], shape[2]];
    draft.tiles(&[Tile(&x, &whole, "F16", "shared", "node"), Tile(&y, &whole, "F16", "register", "node")]);
    let each = shape[0] / groups;
    let [group, head] = ["group", "head"].map(|what| format!("{id} {what}"));
    let mut axes = vec![(group.as_str(), groups, 1)];
    let mut index = vec![json!([each, group])];
    if each > 1 {
        axes.push((&head, each, 1));
        index.push(json!(head));
    }
    let at: Value = json!([index, 0, 0]);
    let mut kernel = Kernel::new(id, &axes);
    kernel.load("load", from, &x, at.clone());
    kernel.compute("compute", function, &[&x], &y, json!({}));
    kernel.store("store", &y, to, at);
    draft.push(kernel);
}
