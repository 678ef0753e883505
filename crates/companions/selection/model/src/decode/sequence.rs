//! Operator sequences.

use std::collections::BTreeMap;
use std::sync::Arc;

use megakernel_ir::decode::{Decode, Place};
use serde_json::Value;

use super::Decoder;
use crate::document::{EPILOGUE, Extent, Op, Rows, Sequence, Write};
use crate::names::Activation;

impl Decoder {
    pub(super) fn sequence(&mut self, at: &Place<'_>) -> Option<Sequence> {
        self.object(at)?;
        let ops = self.required(at, "ops", |decoder, at| decoder.array(at, Decoder::op));
        let mut values = vec![String::new(); self.values.len()];
        for (name, id) in self.values.drain() {
            if let Some(value) = values.get_mut(id as usize) {
                *value = name;
            }
        }
        Some(Sequence { ops: ops?, values })
    }

    fn value_name(&mut self, at: &Place<'_>) -> Option<u32> {
        let Value::String(name) = at.value else {
            self.wrong_type(at, "a string");
            return None;
        };
        if let Some(&known) = self.values.get(name) {
            return Some(known);
        }
        let id = u32::try_from(self.values.len()).ok()?;
        self.values.insert(name.clone(), id);
        Some(id)
    }

    fn op(&mut self, at: &Place<'_>) -> Option<Op> {
        self.object(at)?;
        let reads = self.required(at, "reads", |decoder, at| decoder.array(at, Decoder::value_name));
        let writes = self.required(at, "writes", |decoder, at| decoder.array(at, Decoder::write));
        let marker = self.nullable(at, "marker", Decoder::marker);
        self.optional(at, "label", Decoder::text);
        let rows = self.rows(at);
        let rows = rows.map(|rows| match self.rows.get(&rows) {
            Some(known) => Arc::clone(known),
            None => {
                let rows = Arc::new(rows);
                self.rows.insert(Arc::clone(&rows));
                rows
            }
        });
        Some(Op { reads: reads?, writes: writes?, marker, rows: rows? })
    }

    fn write(&mut self, at: &Place<'_>) -> Option<Write> {
        self.object(at)?;
        let value = self.required(at, "value", Decoder::value_name);
        let readers = self.required(at, "readers", |decoder, at| decoder.array(at, Decoder::integer));
        let output = self.optional(at, "output", Decoder::boolean);
        Some(Write { value: value?, readers: readers?, output: output.unwrap_or(false) })
    }

    fn rows(&mut self, at: &Place<'_>) -> Option<Rows> {
        let mut rows = self.required(at, "sig", |decoder, at| {
            decoder.object(at)?;
            let class = decoder.required(at, "class", Decoder::text);
            let core = decoder.optional(at, "core", Decoder::core);
            let linearity = decoder.optional(at, "linearity", Decoder::linearity);
            Some(Rows { core, linearity, ..Rows::of_class(&class?) })
        });
        // The other rows are read even where the first is wrong, so that every fault is found.
        let mut nothing = Rows::of_class("");
        let rows_read = rows.as_mut().unwrap_or(&mut nothing);
        rows_read.shape = self.row(at, "shape", Decoder::extents);
        [rows_read.dtype_in, rows_read.dtype_out, rows_read.acc, rows_read.weight] =
            self.row(at, "dtype", |decoder, at| {
                decoder.object(at)?;
                Some(["in", "out", "acc", "weight"].map(|name| decoder.optional(at, name, Decoder::dtype)))
            });
        let [order, pack, trans] = self.row(at, "layout", |decoder, at| {
            decoder.object(at)?;
            Some(["order", "pack", "trans"].map(|name| decoder.optional(at, name, Decoder::text)))
        });
        rows_read.order = order.filter(|order| order != "any");
        (rows_read.pack, rows_read.trans) = (pack, trans);
        (rows_read.epilogue, rows_read.activation) = self.row(at, "epilogue", |decoder, at| {
            decoder.object(at)?;
            let flags = EPILOGUE.map(|name| decoder.optional(at, name, Decoder::boolean).unwrap_or(false));
            let activation = decoder.optional(at, "activation", Decoder::activation);
            Some((flags, activation.filter(|&activation| activation != Activation::None)))
        });
        (rows_read.flags, rows_read.storage_reads, rows_read.storage_writes) =
            self.row(at, "effects", |decoder, at| {
                decoder.object(at)?;
                let flags = decoder.row(at, "flags", Decoder::op_flags);
                let reads = decoder.row(at, "reads", Decoder::texts);
                Some((flags, reads, decoder.row(at, "writes", Decoder::texts)))
            });
        [rows_read.required, rows_read.offered] = self.row(at, "requirements", |decoder, at| {
            decoder.object(at)?;
            Some(["required", "offered"].map(|name| decoder.optional(at, name, Decoder::integer)))
        });
        rows
    }

    fn extents(&mut self, at: &Place<'_>) -> Option<BTreeMap<String, Extent>> {
        let mut extents = BTreeMap::new();
        for (role, value) in self.object(at)? {
            let place = at.member(role, value);
            let extent = match value {
                Value::String(text) if text == "?" => Extent::Unknown,
                Value::String(text) => Extent::Symbol(text.clone()),
                Value::Number(number) if number.as_i64().is_some() => {
                    Extent::Known(number.as_i64().unwrap_or_default())
                }
                _ => {
                    self.wrong_type(&place, "an integer or a string");
                    continue;
                }
            };
            extents.insert(role.clone(), extent);
        }
        Some(extents)
    }
}
