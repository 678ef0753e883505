//! Batches of requests, each with a text of its own.

use megakernel_task_graph::Mode;
use serde_json::json;

use super::super::graphs::{imported, kernel, tensor, translated};
use super::{F32, Matrices, assert_near, assert_sound, dot, launch, norm, on_grid, refused, softmax};
use crate::bridge::{Options, Request, Run};

const PAGED: i64 = 116;
/// Two groups of two heads of q and one of k and of v each, of four elements.
const HEAD: usize = 4;

/// A projection, attention of three requests over pages of four tokens, and another projection.
fn batch(rows: i64) -> String {
    let tensors = [
        tensor("x", F32, &[rows, 8], "torch"),
        tensor("w", F32, &[32, 8], "torch"),
        tensor("qkv", F32, &[rows, 32], "cuda"),
        tensor("k_pages", F32, &[6, 4, 2, 4], "torch"),
        tensor("v_pages", F32, &[6, 4, 2, 4], "torch"),
        tensor("q_norm", F32, &[4], "torch"),
        tensor("k_norm", F32, &[4], "torch"),
        tensor("cos", F32, &[32, 4], "torch"),
        tensor("sin", F32, &[32, 4], "torch"),
        tensor("o", F32, &[rows, 16], "cuda"),
        tensor("v", F32, &[8, 16], "torch"),
        tensor("y", F32, &[rows, 8], "torch"),
    ];
    let whole = [-1, -1, -1];
    let operators = [
        on_grid(120, [4, 1, 1], &[("x", whole), ("w", [0, -1, -1])], &[("qkv", [1, -1, -1])], json!({})),
        on_grid(
            PAGED,
            [3, 2, 1],
            &[
                ("qkv", [-1, 1, -1]),
                ("k_pages", [-1, 2, -1]),
                ("v_pages", [-1, 2, -1]),
                ("q_norm", whole),
                ("k_norm", whole),
                ("cos", whole),
                ("sin", whole),
            ],
            &[("o", [-1, 1, -1])],
            json!({"eps": 1e-6, "theta": 100.0}),
        ),
        on_grid(120, [2, 1, 1], &[("o", whole), ("v", [0, -1, -1])], &[("y", [1, -1, -1])], json!({})),
    ];
    kernel(&tensors, &operators)
}

fn requests() -> Vec<Request> {
    let request = |tokens, position, pages: &[i64]| Request { tokens, position, pages: pages.to_vec() };
    // Over the end of a page; the first token of a text; a second page, and one in reserve.
    vec![request(2, 3, &[4, 1]), request(1, 0, &[0]), request(1, 6, &[5, 2, 3])]
}

fn rotated(x: &[f64], position: i64) -> Vec<f64> {
    let half = x.len() / 2;
    let angle = |i: usize| position as f64 * 100f64.powf(-(i as f64) / half as f64);
    let first = (0..half).map(|i| x[i] * angle(i).cos() - x[half + i] * angle(i).sin());
    let second = (0..half).map(|i| x[half + i] * angle(i).cos() + x[i] * angle(i).sin());
    first.chain(second).collect()
}

/// The same without tasks or pages: texts are lists of keys and values.
fn attended(matrices: &Matrices, requests: &[Request]) -> Vec<f64> {
    let (mut out, mut row) = (Vec::new(), 0);
    for request in requests {
        for token in 0..request.tokens {
            let x = matrices.row("x", row);
            let qkv: Vec<f64> = (0..32).map(|column| dot(x, matrices.row("w", column))).collect();
            let mut heads = Vec::new();
            for group in 0..2 {
                let part = |head: usize| &qkv[group * 16 + head * HEAD..][..HEAD];
                // Keys of new tokens are those of their rows.
                let text = |position: i64| -> (Vec<f64>, Vec<f64>) {
                    if position < request.position {
                        let page = request.pages[position as usize / 4] as usize;
                        let place = (page * 4 + position as usize % 4) * 2 + group;
                        return (
                            matrices.row("k_pages", place).to_vec(),
                            matrices.row("v_pages", place).to_vec(),
                        );
                    }
                    let x = matrices.row("x", row - token as usize + (position - request.position) as usize);
                    let at = |head: usize| -> Vec<f64> {
                        (0..HEAD).map(|i| dot(x, matrices.row("w", group * 16 + head * HEAD + i))).collect()
                    };
                    (rotated(&norm(&at(2), matrices.row("k_norm", 0), 1e-6), position), at(3))
                };
                let position = request.position + token;
                for head in 0..2 {
                    let query = rotated(&norm(part(head), matrices.row("q_norm", 0), 1e-6), position);
                    let all: Vec<(Vec<f64>, Vec<f64>)> = (0..=position).map(text).collect();
                    let scores: Vec<f64> = all.iter().map(|(key, _)| dot(&query, key) / 2.0).collect();
                    let weights = softmax(&scores);
                    heads.extend((0..HEAD).map(|i| {
                        weights.iter().zip(&all).map(|(weight, (_, value))| weight * value[i]).sum::<f64>()
                    }));
                }
            }
            out.extend((0..8).map(|column| dot(&heads, matrices.row("v", column))));
            row += 1;
        }
    }
    out
}

#[test]
fn requests_of_a_batch_attend_over_their_own_pages() {
    let matrices = Matrices::new(&[
        ("x", &[4, 8]),
        ("w", &[32, 8]),
        ("k_pages", &[6, 4, 2, 4]),
        ("v_pages", &[6, 4, 2, 4]),
        ("q_norm", &[4]),
        ("k_norm", &[4]),
        ("v", &[8, 16]),
    ]);
    let kernel = batch(4);
    let graph = &translated(&kernel, 1, Mode::ExactCurrent)[0];
    assert_sound(graph);
    let import = |requests: &[Request]| {
        let run = Run { requests: requests.to_vec(), ..Run::default() };
        imported(graph, &kernel, &Options { run, ..Options::default() })
    };
    let found = import(&requests()).expect("no refusal");
    assert!(found.program.contains("ATTENTION_COMBINE"));
    assert_eq!(found.binding.row_positions.len(), 4);
    assert_near(&launch(&found, &matrices, &requests()), &attended(&matrices, &requests()));

    refused(import(&[]), "give the requests");
    refused(import(&requests()[..2]), "the requests have 3 new tokens");
    let mut short = requests();
    short[0].pages.truncate(1);
    refused(import(&short), "1 pages of 4 for 5 tokens; required: 2");
    short[0].pages.push(6);
    refused(import(&short), "page 6");
    let request =
        |position, pages: std::ops::Range<i64>| Request { tokens: 4, position, pages: pages.collect() };
    refused(import(&[request(0, 0..1)]), "and 1 are given");
}

#[test]
fn attention_made_for_a_position_is_refused_at_any_other_one() {
    let with = |position: serde_json::Value| {
        let mut kernel: serde_json::Value = serde_json::from_str(&batch(2)).expect("JSON");
        kernel["operators"][1]["grid"] = json!([1, 2, 1]);
        kernel["operators"][1]["params"]["position"] = position;
        kernel.to_string()
    };
    let import = |kernel: &str, position: i64| {
        let requests = vec![Request { tokens: 2, position, pages: vec![1, 2] }];
        let graph = &translated(kernel, 1, Mode::ExactCurrent)[0];
        let run = Run { requests, ..Run::default() };
        // The position of the import is none of a request's.
        imported(graph, kernel, &Options { run, position: 1, ..Options::default() })
    };
    for position in [0, 3] {
        assert!(import(&with(json!(position)), position).is_ok());
        let reason = format!("its operator has the position {position}, and the run 2");
        refused(import(&with(json!(position)), 2), &reason);
    }
    refused(import(&with(json!("0")), 0), "its operator has the position \"0\", and the run 0");
}
