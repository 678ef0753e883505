//! Decode steps as compilers write them: embedding, layers, logits, greedy token.

use super::Base;
use crate::builder::{
    Attention, DType, Dims, ProgramBuilder, Space, Weights, config, decode_step, laptop, server,
};
use megakernel_ir::rule::clause;

/// One layer with a small vocabulary.
fn layer(dims: Dims) -> ProgramBuilder {
    decode_step("decoder", dims, 1, 64)
}

pub fn bases() -> Vec<Base> {
    let whole = &[clause::DAT_04, clause::EXE_09, clause::OPC_02, clause::OPC_08, clause::OPC_17][..];
    let mut bases = Vec::new();
    let small = Dims::SMALL;
    for (name, summary, dims) in [
        ("mha", "one layer, every query head with its own key head", Dims { kv_heads: 4, ..small }),
        ("gqa", "one layer, two query heads to a key head", small),
        ("mqa", "one layer, one key head for all query heads", Dims { kv_heads: 1, ..small }),
        (
            "bf16",
            "one layer in BF16",
            Dims { act: DType::BF16, weights: Weights::Float(DType::BF16), ..small },
        ),
        (
            "fp8-weights",
            "one layer in F16 with F8E4M3 weights",
            Dims { act: DType::F16, weights: Weights::Float(DType::F8E4M3), ..small },
        ),
        (
            "split-kv",
            "one layer with attention in 4 windows",
            Dims { attention: Attention::Split(4), ..small },
        ),
        ("ragged-tiles", "one layer cut into tiles of 20", Dims { tile: 20, ..small }),
        (
            "i8",
            "one layer with I8 weights in groups of 16",
            Dims { weights: Weights::I8 { group: 16, zeros: None }, ..small },
        ),
        (
            "i4-bytes",
            "one layer with packed 4-bit weights and zeros",
            Dims { weights: Weights::I4Bytes { group: 8, zeros: Some(DType::U8) }, ..small },
        ),
        (
            "i4",
            "one layer with I4 weights whose last group is short",
            Dims { weights: Weights::I4 { group: 20, zeros: None }, ..small },
        ),
        ("batch-2", "one layer for 2 sequences", Dims { batch: Some(2), ..small }),
        (
            "batch-3-split",
            "one layer for 3 sequences, attention in 2 windows",
            Dims { batch: Some(3), attention: Attention::Split(2), ..small },
        ),
        ("first-token", "one layer at position 0", Dims { pos: 0, ..small }),
        ("full-cache", "one layer at the last row of its caches", Dims { pos: 31, ..small }),
    ] {
        bases.push(Base::new(format!("decoder/{name}"), summary, whole, layer(dims)));
    }
    let two = Dims { inner: 64, head_dim: 16, max_seq: 64, pos: 33, ..small };
    let mut p = decode_step("decoder", two, 2, 128);
    p.target(server());
    p.config(config());
    bases.push(Base::new("decoder/two-layers", "two layers, with target and config", whole, p));
    for (name, sms) in [("round-robin", 4), ("three-sms", 3), ("one-sm", 1)] {
        let mut p = layer(small);
        p.target(laptop());
        p.assign(|task| Some(task % sms));
        bases.push(Base::new(
            format!("decoder/placed-{name}"),
            format!("one layer on {sms} SMs"),
            &[clause::EXE_02],
            p,
        ));
    }
    let mut p = layer(small);
    p.target(laptop());
    p.assign(|task| (task % 2 == 0).then_some(task / 8 % 4));
    let summary = "one layer of which every second task has an SM";
    bases.push(Base::new("decoder/placed-half", summary, &[clause::EXE_02], p));
    let mut p = decode_step("decoder", Dims { inner: 32, ..small }, 2, 64);
    p.page_activations(Space::Hbm, |name| {
        name.split_once('.').map_or(name.to_owned(), |(_, rest)| rest.to_owned())
    });
    let summary = "two layers, whose buffers of equal name share a page";
    bases.push(Base::new("decoder/paged", summary, &[clause::PAG_01, clause::PAG_02], p));
    bases
}
