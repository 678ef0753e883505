//! Indices of kernels.

use std::collections::BTreeMap;

use megakernel_ir::decode::{Decode, Place};

use super::Decoder;
use crate::document::{Constraints, Cost, Index, Kernel, RoleRange, Stage, Term};

impl Decoder {
    pub(super) fn index(&mut self, at: &Place<'_>) -> Option<Index> {
        self.object(at)?;
        let kernels = self.required(at, "kernels", |decoder, at| decoder.array(at, Decoder::kernel));
        Some(Index { kernels: kernels? })
    }

    fn kernel(&mut self, at: &Place<'_>) -> Option<Kernel> {
        self.object(at)?;
        let id = self.required(at, "id", Decoder::text);
        let stages = self.required(at, "stages", |decoder, at| decoder.array(at, Decoder::stage));
        let mut constraints = Constraints {
            shape: self.row(at, "shape", Decoder::ranges),
            effects: self.row(at, "effects", Decoder::flags),
            ..Constraints::default()
        };
        [constraints.dtype_in, constraints.dtype_out, constraints.acc, constraints.weight] =
            self.row(at, "dtype", |decoder, at| {
                decoder.object(at)?;
                Some(["in", "out", "acc", "weight"].map(|name| decoder.nullable(at, name, Decoder::dtypes)))
            });
        [constraints.order, constraints.pack, constraints.trans] = self.row(at, "layout", |decoder, at| {
            decoder.object(at)?;
            Some(["order", "pack", "trans"].map(|name| decoder.nullable(at, name, Decoder::texts)))
        });
        (constraints.allow, constraints.require, constraints.activation) =
            self.row(at, "epilogue", |decoder, at| {
                decoder.object(at)?;
                let allow = decoder.nullable(at, "allow", Decoder::epilogue_flags);
                let require = decoder.row(at, "require", Decoder::epilogue_flags);
                Some((allow, require, decoder.nullable(at, "activation", Decoder::activations)))
            });
        [constraints.align, constraints.vector] = self.row(at, "requirements", |decoder, at| {
            decoder.object(at)?;
            Some(["align", "vector"].map(|name| decoder.nullable(at, name, Decoder::integer)))
        });
        let cost = self.required(at, "cost", Decoder::cost);
        self.optional(at, "note", Decoder::text);
        Some(Kernel { id: id?, stages: stages?, constraints, cost: cost? })
    }

    fn stage(&mut self, at: &Place<'_>) -> Option<Stage> {
        self.object(at)?;
        let class = self.required(at, "class", Decoder::text);
        let core = self.nullable(at, "core", Decoder::core);
        let chain = self.nullable(at, "chain", |decoder, at| decoder.array(at, Decoder::integer));
        let [optional, out] = ["optional", "out"].map(|name| self.optional(at, name, Decoder::boolean));
        let rounds = self.optional(at, "rounds", Decoder::boolean);
        Some(Stage {
            class: class?,
            core,
            optional: optional.unwrap_or(false),
            chain,
            out: out.unwrap_or(false),
            rounds: rounds.unwrap_or(true),
        })
    }

    fn ranges(&mut self, at: &Place<'_>) -> Option<BTreeMap<String, RoleRange>> {
        let mut ranges = BTreeMap::new();
        for (role, value) in self.object(at)? {
            let place = at.member(role, value);
            if self.object(&place).is_none() {
                continue;
            }
            let [min, multiple] =
                ["min", "multiple"].map(|name| self.optional(&place, name, Decoder::integer).unwrap_or(1));
            let max = self.nullable(&place, "max", Decoder::integer);
            ranges.insert(role.clone(), RoleRange { min, max, multiple });
        }
        Some(ranges)
    }

    fn cost(&mut self, at: &Place<'_>) -> Option<Cost> {
        self.object(at)?;
        let fixed = self.optional(at, "fixed", Decoder::text).unwrap_or_else(|| "0".to_owned());
        let [bytes, flops] = ["bytes", "flops"].map(|name| self.row(at, name, Decoder::terms));
        Some(Cost { fixed, bytes, flops })
    }

    fn terms(&mut self, at: &Place<'_>) -> Option<Vec<Term>> {
        self.array(at, |decoder, at| {
            decoder.object(at)?;
            let times = decoder.optional(at, "times", Decoder::text).unwrap_or_else(|| "1".to_owned());
            Some(Term { times, dims: decoder.row(at, "dims", Decoder::texts) })
        })
    }
}
