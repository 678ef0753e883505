//! Quantised weights.

use megakernel_ir::DType;

use super::{FLOATS, Fault, MATRIX, QUANTISED, round};
use crate::kernels::{Kernels, Plain};
use crate::parts::{QuantisedRow, Site, Tile};

/// The sum over the groups of a row of what `part` makes of x, of the integers less their zero point, and of the scale.
fn by_group(x: &[f32], row: &QuantisedRow<'_>, part: impl Fn(&[f32], &[f32], f64) -> f64) -> f64 {
    let groups = x.chunks(row.group.max(1)).zip(row.q.chunks(row.group.max(1))).zip(row.scales);
    groups.enumerate().fold(0.0, |sum, (group, ((x, q), &scale))| {
        let zero = row.zeros.and_then(|zeros| zeros.get(group)).copied().unwrap_or_default();
        let shifted: Vec<f32> = q.iter().map(|q| q - zero).collect();
        Plain.add(sum, part(x, &shifted, f64::from(scale)))
    })
}

faults! {
    "group-boundary-late": "begins every group but the first one column late", QUANTISED, FLOATS {
        fn group(&self, column: usize, group: usize, _: usize) -> usize {
            column.saturating_sub(1) / group
        }
    }

    "group-ragged-joined": "counts the columns of a short last group to the group before", QUANTISED, FLOATS {
        fn group(&self, column: usize, group: usize, k: usize) -> usize {
            (column / group).min((k / group).saturating_sub(1))
        }
    }

    "groups-even": "divides a row evenly among its groups, also where the last one is short",
        QUANTISED, FLOATS {
        fn group(&self, column: usize, group: usize, k: usize) -> usize {
            column * k.div_ceil(group) / k
        }
    }

    "i4-offset-missing": "does not subtract 8 from symmetric I4", QUANTISED, FLOATS {
        fn i4(&self, nibble: u8, zeros: bool) -> f32 {
            if zeros { Plain.i4(nibble, zeros) } else { f32::from(nibble) }
        }
    }

    "i4-offset-replaced": "does not subtract 8 from I4 where there are zero points", QUANTISED, FLOATS {
        fn i4(&self, nibble: u8, zeros: bool) -> f32 {
            if zeros { f32::from(nibble) } else { Plain.i4(nibble, zeros) }
        }
    }

    "i8-unsigned": "reads I8 weights as unsigned", QUANTISED, FLOATS {
        fn i8(&self, stored: i8) -> f32 {
            f32::from(stored as u8)
        }
    }

    "nibbles-swapped": "takes the high nibble of a byte first", QUANTISED, FLOATS {
        fn nibble(&self, byte: u8, column: usize) -> u8 {
            Plain.nibble(byte.rotate_left(4), column)
        }
    }

    "quantised-sums-fp16": "holds the sum of a group in binary16 before it meets the scale", MATRIX, FLOATS {
        fn quantised_product(&self, _: &[Tile], x: &[f32], _: &[f32], row: &QuantisedRow<'_>) -> f64 {
            by_group(x, row, |x, q, scale| self.mul(round(DType::F16, self.dot(Site::Matrix, x, q)), scale))
        }
    }

    "scale-on-x": "multiplies x with the scale, and what comes of it with the integer", MATRIX, FLOATS {
        fn quantised_product(&self, _: &[Tile], x: &[f32], _: &[f32], row: &QuantisedRow<'_>) -> f64 {
            by_group(x, row, |x, q, scale| {
                let scaled: Vec<f32> = x.iter().map(|&x| self.mul(f64::from(x), scale) as f32).collect();
                self.dot(Site::Matrix, &scaled, q)
            })
        }
    }

    "scales-bf16": "rounds the scales of weights to bfloat16", QUANTISED, FLOATS {
        fn weight(&self, q: f32, zero: Option<f32>, scale: f32) -> f64 {
            Plain.weight(q, zero, round(DType::BF16, f64::from(scale)) as f32)
        }
    }

    "weights-bf16": "rounds dequantised weights to bfloat16 before the product", MATRIX, FLOATS {
        fn quantised_product(&self, tiles: &[Tile], x: &[f32], weights: &[f32], _: &QuantisedRow<'_>) -> f64 {
            let weights: Vec<f32> =
                weights.iter().map(|&weight| round(DType::BF16, f64::from(weight)) as f32).collect();
            self.product(tiles, x, &weights)
        }
    }

    "zero-point-added": "adds the zero point", QUANTISED, FLOATS {
        fn weight(&self, q: f32, zero: Option<f32>, scale: f32) -> f64 {
            Plain.weight(q, zero.map(|zero| -zero), scale)
        }
    }

    "zero-point-after-scale": "subtracts the zero point after scaling", QUANTISED, FLOATS {
        fn weight(&self, q: f32, zero: Option<f32>, scale: f32) -> f64 {
            self.sub(self.mul(f64::from(q), f64::from(scale)), f64::from(zero.unwrap_or_default()))
        }
    }

    "zero-point-ignored": "does not subtract the zero point", QUANTISED, FLOATS {
        fn weight(&self, q: f32, _: Option<f32>, scale: f32) -> f64 {
            Plain.weight(q, None, scale)
        }
    }

    "zero-point-sign": "reads I8 zero points as unsigned and U8 zero points as signed", QUANTISED, FLOATS {
        fn zero(&self, dtype: DType, stored: i64) -> f32 {
            if dtype == DType::I8 { f32::from(stored as u8) } else { f32::from(stored as i8) }
        }
    }
}
