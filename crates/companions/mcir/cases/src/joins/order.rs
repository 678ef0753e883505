//! Documents about the order of regions, and about several tensors between two of them.

use serde_json::json;

use super::Case;
use super::kernels::Map;
use crate::build::{Draft, Kernel, Tile};

/// A region that adds up the tensors that it loads, the last one perhaps turned, and stores functions of the sum.
fn several(draft: &mut Draft, id: &str, from: &[&str], to: &[(&str, &str)], is_turned: bool) {
    let mut kernel = Kernel::new(id, &[("r", 8, 4), ("c", 8, 4)]);
    let name = |what: &str| format!("{id} {what}");
    let mut sum = String::new();
    for (place, tensor) in from.iter().enumerate() {
        let is_turned = is_turned && place + 1 == from.len();
        let tensor_place = format!("{tensor}{place}");
        let tile = name(&tensor_place);
        draft.tiles(&[Tile(&tile, &[4, 4], "F16", "shared", "block")]);
        kernel.load(
            &format!("load {tensor_place}"),
            tensor,
            &tile,
            if is_turned { json!(["c", "r"]) } else { json!(["r", "c"]) },
        );
        let mut last = tile;
        if is_turned {
            let turned = name(&format!("{tensor_place} turned"));
            draft.tiles(&[Tile(&turned, &[4, 4], "F16", "register", "block")]);
            kernel.compute(&format!("turn {tensor_place}"), "transpose", &[&last], &turned, json!({}));
            last = turned;
        }
        sum = if sum.is_empty() {
            last
        } else {
            let next = name(&format!("with {tensor_place}"));
            draft.tiles(&[Tile(&next, &[4, 4], "F32", "register", "block")]);
            kernel.compute(&format!("add {tensor_place}"), "add", &[&sum, &last], &next, json!({}));
            next
        };
    }
    for (tensor, function) in to {
        let tile = name(tensor);
        draft.tiles(&[Tile(&tile, &[4, 4], "F16", "register", "block")]);
        kernel.compute(&format!("make {tensor}"), function, &[&sum], &tile, json!({}));
        kernel.store(&format!("store {tensor}"), &tile, tensor, json!(["r", "c"]));
    }
    draft.push(kernel);
}

/// The documents.
pub fn all(all: &mut Vec<Case>) {
    let mut put = |name, summary, draft| all.push(Case { name, summary, draft });
    let start = |inner: &[&str], outputs: &[&str]| {
        let mut draft = Draft::default();
        draft.input("X", &[8, 8], "F16");
        inner.iter().for_each(|name| draft.stored(name, &[8, 8], "F16"));
        outputs.iter().for_each(|name| draft.output(name, &[8, 8], "F16"));
        draft
    };

    let mut draft = start(&["T", "U"], &["Y"]);
    several(&mut draft, "a", &["X"], &[("T", "exp"), ("U", "gelu")], false);
    several(&mut draft, "b", &["T", "U"], &[("Y", "neg")], false);
    put("two between", "two tensors from one region to another", draft);

    let mut draft = start(&["T", "U"], &["Y"]);
    several(&mut draft, "a", &["X"], &[("T", "exp"), ("U", "gelu")], false);
    several(&mut draft, "b", &["T", "U"], &[("Y", "neg")], true);
    put("two between, one turned", "two tensors, of which one is loaded across the diagonal", draft);

    let mut draft = start(&["T", "U", "V"], &["Y"]);
    several(&mut draft, "a", &["X"], &[("T", "exp"), ("U", "gelu")], false);
    several(&mut draft, "b", &["U"], &[("V", "silu")], false);
    several(&mut draft, "c", &["T", "V"], &[("Y", "neg")], false);
    put("a way around", "a tensor that is used at once, and by way of another region", draft);

    let mut draft = start(&["T", "U", "V"], &["Y"]);
    several(&mut draft, "a", &["X"], &[("T", "exp"), ("U", "gelu")], false);
    several(&mut draft, "b", &["U", "U"], &[("V", "silu")], true);
    several(&mut draft, "c", &["T", "V", "V"], &[("Y", "neg")], true);
    put("a way around, turned", "the same by way of a region that loads other tiles", draft);

    let mut draft = start(&["T", "U"], &["V", "Y"]);
    several(&mut draft, "a", &["X"], &[("T", "exp"), ("U", "gelu")], false);
    several(&mut draft, "b", &["U", "U"], &[("V", "silu")], true);
    several(&mut draft, "c", &["T"], &[("Y", "neg")], false);
    put("earlier", "a region that has to stand before the one between", draft);

    let mut draft = start(&["T", "V"], &["Y"]);
    several(&mut draft, "a", &["X"], &[("T", "exp")], false);
    several(&mut draft, "b", &["X", "X"], &[("V", "silu")], true);
    several(&mut draft, "c", &["T", "V", "V"], &[("Y", "neg")], true);
    put("later", "a region that has to stand behind the one between", draft);

    let mut draft = start(&["T"], &["U", "Y"]);
    several(&mut draft, "a", &["X"], &[("T", "exp"), ("U", "gelu")], false);
    several(&mut draft, "b", &["T", "U"], &[("Y", "neg")], false);
    put("an output between", "two tensors, of which one is asked for", draft);

    let mut draft = start(&["T"], &["U", "Y"]);
    several(&mut draft, "a", &["X"], &[("T", "exp"), ("U", "gelu")], false);
    several(&mut draft, "b", &["T", "U", "U"], &[("Y", "neg")], true);
    put("an output between, turned", "the same, where the output is loaded across the diagonal too", draft);

    let mut draft = start(&["T", "U"], &["V", "Y"]);
    several(&mut draft, "a", &["X"], &[("T", "exp"), ("U", "gelu")], false);
    several(&mut draft, "b", &["T", "U"], &[("V", "neg")], false);
    Map::of("c", "U", "Y", "silu").push(&mut draft);
    put("one of two", "two tensors, of which one has another reader", draft);

    let mut draft = start(&["T", "U", "V", "W"], &["Y"]);
    several(&mut draft, "a", &["X"], &[("T", "exp")], false);
    several(&mut draft, "b", &["X"], &[("U", "gelu")], false);
    several(&mut draft, "c", &["T", "U", "U"], &[("V", "silu")], true);
    several(&mut draft, "d", &["V"], &[("W", "exp")], false);
    several(&mut draft, "e", &["W"], &[("Y", "neg")], false);
    put("five regions", "five regions, of which two load other tiles", draft);
}
