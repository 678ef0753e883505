//! A decoder of two layers over 64 launches that leaves nothing to rounding: the longest program of the corpus by what it
//! runs. Each launch continues with the token that the one before picked, and reads rows of the caches that the seven
//! before appended, so that a wrong bit anywhere changes what follows.
//!
//! What makes it exact: matrices of 1 and -1 with few of them in a row, queries of zeros, whose attention is the mean of a
//! window of 8 rows, and values that are multiples of 8. Norms and the gate of the MLP, which could not be exact, are a
//! product with a vector of signs, and a sum.

use super::super::plan::Plan;
use super::arrange::Form;
use super::exact::mixing;
use super::ledger::{Heads, Known, Ledger, session};
use crate::builder::{Buf, Ctr, DType, Result};
use megakernel_ir::prng::SplitMix64;
use megakernel_ir::rule::clause;

use DType::{BF16, F32};

const STEPS: usize = 64;
const HIDDEN: u64 = 16;
const INNER: u64 = 24;
const VOCABULARY: u64 = 37;
const HEADS: Heads = Heads { heads: 4, kv_heads: 2, head_dim: 4 };

/// Rows of the window.
const WINDOW: u64 = 8;

/// The cases.
pub fn plans() -> Result<Vec<Plan>> {
    let about = "64 launches of a decoder of two layers in which all is exact, each fed the token that the one before picked";
    let clauses = &[
        clause::EXE_03,
        clause::EXE_08,
        clause::EXE_09,
        clause::OPC_02,
        clause::OPC_05,
        clause::OPC_07,
        clause::OPC_16,
        clause::OPC_17,
        clause::OPC_18,
    ];
    let plan = |form| {
        session(("exact", "decoder"), about, clauses, form, STEPS, |l, launch| {
            decoder(l, launch as u64);
            // The caches at the end have every row.
            if launch + 1 < STEPS {
                l.judge(&["logits", "next_token"]);
            }
            Ok(())
        })
    };
    [Form::Plain, Form::Placed].into_iter().map(plan).collect()
}

/// Signs with one 1 or -1 in a row, and `more` others; times `scale`.
fn matrix(l: &mut Ledger, name: &str, (n, k): (u64, u64), more: usize, scale: f64) -> Known {
    let mut prng = SplitMix64::for_family(&format!("execution/exact/decoder/{name}"), 0);
    let rows = mixing(&mut prng, n as usize, k as usize, more);
    let rows = rows.into_iter().map(|row| row.into_iter().map(|value| value * scale).collect()).collect();
    l.matrix(name, BF16, rows)
}

fn decoder(l: &mut Ledger, launch: u64) {
    let token = l.fed("token_id", "next_token", &[1], vec![5.0]);
    let table = (0..VOCABULARY * HIDDEN).map(|i| ((i * 11 + i / HIDDEN * 5) % 19) as f64 - 9.0).collect();
    let table = l.weight("embed", BF16, &[VOCABULARY, HIDDEN], table);
    let x = l.act("x", F32, &[1, HIDDEN]);
    let done = l.embed("embed", token, table, x, &[]);
    let (x, done) = layer(l, 0, launch, x, done);
    let (x, done) = layer(l, 1, launch, x, done);
    let head = matrix(l, "head", (VOCABULARY, HIDDEN), 3, 1.0);
    let logits = l.output("logits", F32, &[1, VOCABULARY]);
    let next = l.output("next_token", DType::I32, &[1]);
    let done = l.product("head", x, &head, logits, 8.into(), &[done]);
    l.argmax("pick", logits, next, &[done]);
}

fn layer(l: &mut Ledger, index: usize, launch: u64, x: Buf, ready: Ctr) -> (Buf, Ctr) {
    let name = |what: &str| format!("l{index}.{what}");
    let kv = HEADS.kv_heads * HEADS.head_dim;
    let act = |l: &mut Ledger, what: &str, shape: &[u64]| l.act(&name(what), F32, shape);

    let signs =
        (0..HIDDEN).map(|i| if (i * 7 + index as u64).is_multiple_of(3) { -1.0 } else { 1.0 }).collect();
    let signs = l.weight(&name("norm"), F32, &[1, HIDDEN], signs);
    let normed = act(l, "normed", &[1, HIDDEN]);
    let normed_done = l.mul(&name("norm"), x, signs, normed, &[ready]);

    let q = act(l, "q", &[1, HIDDEN]);
    let nothing = l.matrix(&name("q.weight"), BF16, vec![vec![0.0; HIDDEN as usize]; HIDDEN as usize]);
    let q_done = l.product(&name("q"), normed, &nothing, q, 8.into(), &[normed_done]);
    let mut caches = Vec::new();
    let mut appended = vec![q_done];
    for (what, scale) in [("k", 1.0), ("v", WINDOW as f64)] {
        let w = matrix(l, &name(&format!("{what}.weight")), (kv, HIDDEN), 0, scale);
        let flat = act(l, &format!("{what}.flat"), &[1, kv]);
        let row = act(l, what, &[1, HEADS.kv_heads, HEADS.head_dim]);
        // A window that slides: its first 7 rows are zeros at first.
        let rows = STEPS as u64 + WINDOW - 1;
        let cache =
            l.cache(&name(&format!("{what}_cache")), F32, &[rows, HEADS.kv_heads, HEADS.head_dim], None);
        let done = l.product(&name(what), normed, &w, flat, 4.into(), &[normed_done]);
        let done = l.copy(&name(&format!("{what}.view")), flat, row, &[done]);
        appended.push(l.append(&name(&format!("{what}.append")), row, cache, launch + WINDOW - 1, &[done]));
        caches.push(cache);
    }
    let mixed = act(l, "mixed", &[1, HIDDEN]);
    let (k, v) = match caches[..] {
        [k, v] => (k, v),
        _ => (x, x),
    };
    let attended = if index == 0 {
        l.mean(&name("attention"), [q, k, v, mixed], HEADS, (launch, WINDOW), &appended)
    } else {
        let shape = [HEADS.heads, HEADS.head_dim + 2];
        let partials = ["partial0", "partial1"].map(|what| act(l, what, &shape));
        let windows = [(launch, WINDOW / 2), (launch + WINDOW / 2, WINDOW / 2)];
        l.merged_mean(&name("attention"), [q, k, v, mixed], &partials, HEADS, &windows, &appended)
    };
    let w = matrix(l, &name("o.weight"), (HIDDEN, HIDDEN), 1, 1.0);
    let o = act(l, "o", &[1, HIDDEN]);
    let done = l.product(&name("o"), mixed, &w, o, 8.into(), &[attended]);
    let between = act(l, "between", &[1, HIDDEN]);
    let done = l.add(&name("attention.residual"), x, o, between, &[done]);

    let mut wide = Vec::new();
    let mut wide_done = Vec::new();
    for what in ["gate", "up"] {
        let w = matrix(l, &name(&format!("{what}.weight")), (INNER, HIDDEN), 0, 1.0);
        let y = act(l, what, &[1, INNER]);
        wide_done.push(l.product(&name(what), between, &w, y, 8.into(), &[done]));
        wide.push(y);
    }
    let both = act(l, "both", &[1, INNER]);
    let done = l.sum(&name("mlp"), &wide, both, &wide_done);
    let w = matrix(l, &name("down.weight"), (HIDDEN, INNER), 0, 1.0);
    let down = act(l, "down", &[1, HIDDEN]);
    let done = l.product(&name("down"), both, &w, down, 8.into(), &[done]);
    let after = act(l, "after", &[1, HIDDEN]);
    let done = l.add(&name("mlp.residual"), between, down, after, &[done]);
    (after, done)
}
