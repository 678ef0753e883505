//! Experts whose rows the run says.

use megakernel_task_graph::{EVENT_INVALID, Mode};
use serde_json::{Value, json};

use super::super::graphs::{imported, kernel, tensor, translated};
use super::{
    F32, I32, Matrices, SPLIT_K, assert_near, assert_sound, dot, launch, norm, of_type, on_grid, refused,
    softmax,
};
use crate::bridge::{Options, Run};

const CHOOSE: i64 = 260;
const UP: i64 = 254;
const DOWN: i64 = 255;

/// Experts of four tokens, three each of 12, with the gate in two parts of K.
fn experts() -> String {
    let tensors = [
        tensor("x", F32, &[4, 8], "torch"),
        tensor("n", F32, &[8], "torch"),
        tensor("h", F32, &[4, 8], "cuda"),
        tensor("gate", F32, &[12, 8], "torch"),
        tensor("logits", F32, &[4, 12], "cuda"),
        tensor("weights", F32, &[4, 3], "cuda"),
        tensor("routing", I32, &[12, 4], "cuda"),
        tensor("mask", I32, &[13], "cuda"),
        tensor("up", F32, &[12, 8, 8], "torch"),
        tensor("middle", F32, &[4, 3, 8], "cuda"),
        tensor("active", F32, &[4, 3, 4], "cuda"),
        tensor("down", F32, &[12, 8, 4], "torch"),
        tensor("rows", F32, &[4, 3, 8], "cuda"),
        tensor("y", F32, &[4, 8], "torch"),
    ];
    let (whole, first) = ([-1, -1, -1], [0, -1, -1]);
    let operators = [
        on_grid(154, [4, 1, 1], &[("x", first), ("n", whole)], &[("h", first)], json!({"eps": 1e-6})),
        on_grid(
            SPLIT_K,
            [1, 2, 1],
            &[("h", [-1, 1, -1]), ("gate", [0, 1, -1])],
            &[("logits", [1, -1, -1])],
            json!({}),
        ),
        on_grid(
            CHOOSE,
            [1, 1, 1],
            &[("logits", first)],
            &[("weights", first), ("routing", whole), ("mask", whole)],
            json!({}),
        ),
        on_grid(
            UP,
            [10, 2, 1],
            &[("h", whole), ("up", [-1, 1, -1]), ("routing", whole), ("mask", whole)],
            &[("middle", [-1, 2, -1])],
            json!({}),
        ),
        on_grid(118, [4, 3, 1], &[("middle", [0, 1, -1])], &[("active", [0, 1, -1])], json!({})),
        on_grid(
            DOWN,
            [8, 2, 1],
            &[("active", whole), ("down", [-1, 1, -1]), ("routing", whole), ("mask", whole)],
            &[("rows", [-1, 2, -1])],
            json!({}),
        ),
        on_grid(
            261,
            [1, 2, 1],
            &[("rows", [0, 2, -1]), ("weights", first), ("x", [0, 1, -1])],
            &[("y", [0, 1, -1])],
            json!({}),
        ),
    ];
    kernel(&tensors, &operators)
}

/// All twelve experts have rows, so that tasks of offsets 0 and 1 have two; and one has rows of two tokens.
fn routing() -> Vec<Vec<i64>> {
    vec![vec![3, 0, 7], vec![1, 11, 3], vec![9, 4, 10], vec![5, 2, 8]]
}

/// The same, token by token.
fn routed(matrices: &Matrices, routing: &[Vec<i64>]) -> Vec<f64> {
    let mut out = Vec::new();
    for (token, chosen) in routing.iter().enumerate() {
        let x = matrices.row("x", token);
        let h = norm(x, matrices.row("n", 0), 1e-6);
        let logits: Vec<f64> = chosen.iter().map(|&e| dot(&h, matrices.row("gate", e as usize))).collect();
        let mut y = x.to_vec();
        for (&expert, weight) in chosen.iter().zip(softmax(&logits)) {
            let expert = expert as usize;
            let up = |column: usize| dot(&h, matrices.row("up", expert * 8 + column));
            let active: Vec<f64> = (0..4).map(|i| up(i) / (1.0 + (-up(i)).exp()) * up(4 + i)).collect();
            for (column, y) in y.iter_mut().enumerate() {
                *y += weight * dot(&active, matrices.row("down", expert * 8 + column));
            }
        }
        out.extend(y);
    }
    out
}

#[test]
fn experts_with_known_rows_are_products_of_these_rows() {
    let mut matrices = Matrices::new(&[
        ("x", &[4, 8]),
        ("n", &[8]),
        ("gate", &[12, 8]),
        ("up", &[12, 8, 8]),
        ("down", &[12, 8, 4]),
    ]);
    // What the iteration before left.
    matrices.all.insert("logits".to_owned(), (vec![4, 12], vec![0.0; 48]));
    let kernel = experts();
    let graph = &translated(&kernel, 1, Mode::ExactCurrent)[0];
    assert_sound(graph);
    let import = |graph: &Value, routing: &[Vec<Vec<i64>>]| {
        let run = Run { routing: routing.to_vec(), ..Run::default() };
        imported(graph, &kernel, &Options { run, ..Options::default() })
    };
    let found = import(graph, &[routing()]).expect("no refusal");
    assert_near(&launch(&found, &matrices, &[]), &routed(&matrices, &routing()));
    assert!(found.binding.unused.iter().any(|name| name == "routing"));

    refused(import(graph, &[]), "give the routing");
    refused(import(graph, &[routing(), routing()]), "routes 2 tasks of type 260, and there are 1");
    refused(import(graph, &[routing()[..3].to_vec()]), "routes 3 rows; required: 4");
    let mut twice = routing();
    twice[1][1] = 1;
    refused(import(graph, &[twice]), "row 1 to the experts [1, 1, 3]");
    // A task begins with another one's expert, and the rows of its own are written by none.
    let mut other = graph.clone();
    of_type(&mut other, UP).into_iter().take(2).for_each(|task| {
        for member in ["expert_offset", "task_offset", "request_id"] {
            task[member] = json!(1);
        }
    });
    refused(import(&other, &[routing()]), "none writes");
    // The experts begin before they are chosen.
    let mut early = graph.clone();
    of_type(&mut early, UP).into_iter().for_each(|task| task["dependent_event"] = json!(EVENT_INVALID));
    refused(import(&early, &[routing()]), "which chooses the experts");
}
