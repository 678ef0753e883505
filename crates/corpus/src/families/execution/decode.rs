//! Decoders over several launches: positions advance, caches fill, and each launch continues with the token that the
//! one before picked.
//!
//! Which token that is must not depend on rounding. With some weights it does: the oracle refuses them, and the generator
//! asks for another draw.

use super::super::plan::{Draws, Inputs, Plan};
use super::arrange::Form;
use super::contents::{caches, integers, redrawn, weights};
use super::session::{SessionBuilder, Step};
use crate::builder::{Attention, DType, Dims, ProgramBuilder, Result, Weights, decode_step};
use megakernel_ir::rule::{Clause, clause};

/// Rows of the vocabulary.
const VOCABULARY: u64 = 64;

/// Clauses that every decoder tests.
const CLAUSES: &[Clause] = &[
    clause::EXE_08,
    clause::EXE_09,
    clause::NUM_08,
    clause::OPC_02,
    clause::OPC_03,
    clause::OPC_05,
    clause::OPC_17,
];

struct Decoder {
    name: &'static str,
    /// Programs with the same weights share a file, and are drawn anew together.
    set: &'static str,
    about: &'static str,
    dims: Dims,
    layers: usize,
    /// Position of the first launch. If it is not 0 the caches have contents from before.
    start: u64,
    steps: u64,
}

impl Decoder {
    fn program(&self, step: u64) -> ProgramBuilder {
        let dims = Dims { pos: self.start + step, ..self.dims };
        decode_step(self.name, dims, self.layers, VOCABULARY)
    }

    /// The rotations of the sequences of a batch differ.
    fn positions(&self, step: u64) -> (String, Inputs) {
        let (pos, rows) = ((self.start + step) as i64, self.dims.rows() as i64);
        let positions: Vec<i64> = (0..rows).map(|row| pos + 5 * row).collect();
        (format!("decode/positions-{rows}-{pos}"), integers("pos", &positions))
    }

    fn tokens(&self) -> (String, Inputs) {
        let rows = self.dims.rows() as i64;
        let tokens: Vec<i64> = (0..rows).map(|row| 7 + 19 * row).collect();
        (format!("decode/tokens-{rows}"), integers("token_id", &tokens))
    }

    fn session(&self, form: Form, seed: u64, draws: &Draws) -> Result<Plan> {
        let seed = redrawn(seed, draws.get(self.set).copied().unwrap_or(0));
        let mut clauses = CLAUSES.to_vec();
        clauses.extend(match self.dims.attention {
            Attention::Whole => [clause::OPC_07, clause::OPC_16].iter(),
            Attention::Split(_) => [clause::OPC_07, clause::OPC_16, clause::OPC_18].iter(),
        });
        let summary = format!("{} launches of a decoder: {}", self.steps, self.about);
        let mut session =
            SessionBuilder::new(("decode", self.name), summary, &clauses, form, self.program(0))?;
        let contents = weights(session.program(), seed)?;
        let preset = caches(session.program(), seed)?;
        session = session.weights(self.set).shared(&format!("decode/weights-{}", self.set), contents);
        for step in 0..self.steps {
            let (name, positions) = self.positions(step);
            let mut launch = Step::default().file(&name, positions);
            launch = match step.checked_sub(1) {
                None => {
                    let (name, tokens) = self.tokens();
                    launch.file(&name, tokens)
                }
                Some(before) => launch.feed(before as usize, "next_token", "token_id"),
            };
            if step == 0 && self.start != 0 {
                launch = launch.file(&format!("decode/caches-{}", self.name), preset.clone());
            }
            // The caches at the end have every row.
            if step + 1 < self.steps {
                launch = launch.judge(&["logits", "next_token"]);
            }
            session = session.launch_of(self.program(step), launch)?;
        }
        Ok(session.plan())
    }
}

/// The cases.
pub fn plans(seed: u64, draws: &Draws) -> Result<Vec<Plan>> {
    use Form::{HalfPlaced, Paged, PagedReversed, Placed, Plain, Reversed, Shuffled};
    let small = Dims { max_seq: 12, pos: 0, ..Dims::SMALL };
    let float = |dtype| Weights::Float(dtype);
    let decoder =
        |name, set, about, dims, layers, steps| Decoder { name, set, about, dims, layers, start: 0, steps };
    let two = "two layers with grouped heads";
    let mut all: Vec<(Decoder, &[Form])> = vec![
        (
            decoder("two-layers", "two-layers", two, small, 2, 8),
            &[Plain, Reversed, Shuffled, Placed, HalfPlaced, Paged, PagedReversed],
        ),
        (
            Decoder {
                start: 4,
                ..decoder(
                    "continued",
                    "two-layers",
                    "two layers, over caches with 4 rows from before; the last launch fills the last row",
                    small,
                    2,
                    8,
                )
            },
            &[Plain, PagedReversed],
        ),
        (
            decoder(
                "split",
                "two-layers",
                "two layers, attention in 4 windows that are merged; at first some are empty",
                Dims { attention: Attention::Split(4), ..small },
                2,
                8,
            ),
            &[Plain, Shuffled],
        ),
        (
            decoder(
                "batch",
                "two-layers-batched",
                "two layers, 2 sequences at a time",
                Dims { batch: Some(2), ..small },
                2,
                8,
            ),
            &[Plain, PagedReversed],
        ),
        (
            decoder(
                "batch-split",
                "one-layer-batched",
                "one layer, 3 sequences at a time, attention in 2 windows that are merged",
                Dims { batch: Some(3), attention: Attention::Split(2), ..small },
                1,
                4,
            ),
            &[Reversed],
        ),
        (
            decoder(
                "one-key-head",
                "one-key-head",
                "one key head for all query heads",
                Dims { kv_heads: 1, ..small },
                1,
                12,
            ),
            &[Plain],
        ),
        (
            decoder(
                "key-head-each",
                "key-head-each",
                "every query head with its own key head",
                Dims { kv_heads: 4, ..small },
                1,
                8,
            ),
            &[Plain],
        ),
        (
            decoder(
                "ragged-tiles",
                "one-layer",
                "one layer cut into tiles of 20 columns",
                Dims { tile: 20, ..small },
                1,
                8,
            ),
            &[Shuffled],
        ),
        (
            decoder(
                "bf16-weights",
                "bf16-matrices",
                "one layer with BF16 matrices",
                Dims { weights: float(DType::BF16), ..small },
                1,
                8,
            ),
            &[Plain],
        ),
        (
            decoder(
                "fp8-weights",
                "fp8",
                "one layer with F8E4M3 matrices",
                Dims { weights: float(DType::F8E4M3), ..small },
                1,
                8,
            ),
            &[Plain],
        ),
    ];
    for (name, about, act, batch) in [
        ("bf16", "one layer in BF16", DType::BF16, None),
        ("f16", "one layer in F16", DType::F16, None),
        ("f16-batch", "one layer in F16, 2 sequences at a time", DType::F16, Some(2)),
    ] {
        let dims = Dims { act, batch, weights: float(act), ..small };
        all.push((decoder(name, name, about, dims, 1, 8), &[Plain]));
    }
    for (name, about, weights) in [
        ("i8", "one layer with I8 weights in groups of 16", Weights::I8 { group: 16, zeros: None }),
        (
            "i8-zeros",
            "one layer with I8 weights and zero points in groups of 8",
            Weights::I8 { group: 8, zeros: Some(DType::I8) },
        ),
        (
            "i4-bytes",
            "one layer with packed 4-bit weights and zero points",
            Weights::I4Bytes { group: 8, zeros: Some(DType::U8) },
        ),
        ("i4", "one layer with I4 weights whose last group is short", Weights::I4 { group: 20, zeros: None }),
    ] {
        all.push((decoder(name, name, about, Dims { weights, ..small }, 1, 8), &[Plain]));
    }
    let mut plans = Vec::new();
    for (decoder, forms) in &all {
        for form in *forms {
            plans.push(decoder.session(*form, seed, draws)?);
        }
    }
    Ok(plans)
}
