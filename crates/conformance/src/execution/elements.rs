//! How far off the elements of a tensor are that failed, for a picture.

use megakernel_numerics::{Tensor, share};
use serde::Serialize;

use crate::oracle::Expected;
use crate::text::excerpt;

/// The most rows and columns of a picture.
const MOST: usize = 64;

/// Without measure: NaN, infinite, or off where the bound is 0.
const UNMEASURED: u8 = 255;

/// The errors of a tensor as shares of their bounds, by rows, each the largest of the elements that it stands for.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Elements {
    /// Whose elements they are.
    pub name: String,
    /// Their dtype.
    pub dtype: &'static str,
    /// The shape of the tensor.
    pub shape: Vec<u64>,
    /// How many levels a row has.
    pub columns: usize,
    /// 0: exact; to 100: hundredths of the bound; from 101 on: as many quarters of a doubling beyond it; 255: no number.
    pub levels: Vec<u8>,
}

impl Elements {
    /// The picture of a tensor, which is as long as what is expected.
    pub fn of(name: &str, tensor: &Tensor, expected: &Expected) -> Elements {
        let width = tensor.shape.last().and_then(|&extent| usize::try_from(extent).ok()).unwrap_or(1).max(1);
        let rows = expected.len().div_ceil(width);
        let (across, down) = (width.div_ceil(MOST).max(1), rows.div_ceil(MOST).max(1));
        let columns = width.div_ceil(across);
        let mut levels = vec![0; columns * rows.div_ceil(down)];
        for (index, level) in of_each(tensor, expected).into_iter().enumerate() {
            let cell = index / width / down * columns + index % width / across;
            if let Some(largest) = levels.get_mut(cell) {
                *largest = level.max(*largest);
            }
        }
        let (dtype, shape) = (tensor.dtype.name(), tensor.shape.clone());
        Elements { name: excerpt(name.as_bytes()), dtype, shape, columns, levels }
    }
}

fn of_each(tensor: &Tensor, expected: &Expected) -> Vec<u8> {
    match expected {
        Expected::Ints(required) => {
            let same = tensor.ints().into_iter().zip(required).map(|(found, required)| found == *required);
            same.map(|same| if same { 0 } else { UNMEASURED }).collect()
        }
        Expected::Reals { values, bounds } => {
            let pairs = tensor.elements().into_iter().zip(values.iter().zip(bounds));
            let level = |(bits, (&value, &bound)): (u32, (&f64, &f64))| {
                level(share(tensor.dtype, bits, value, bound))
            };
            pairs.map(level).collect()
        }
    }
}

fn level(share: f64) -> u8 {
    if share <= 1.0 {
        // At most 100.
        (share.max(0.0) * 100.0).ceil() as u8
    } else if share.is_finite() {
        // At most 4 for each of the 1024 doublings of a double, cut off.
        (101.0 + (4.0 * share.log2()).floor()).min(254.0) as u8
    } else {
        UNMEASURED
    }
}

#[cfg(test)]
mod tests {
    use megakernel_numerics::DType;

    use super::*;

    #[test]
    fn an_element_is_as_far_off_as_its_share_of_the_bound() {
        assert_eq!([0.0, 0.001, 0.5, 1.0].map(level), [0, 1, 50, 100]);
        assert_eq!(
            [1.0 + 1e-12, 2.0, 4.0, 1e300, f64::INFINITY, f64::NAN].map(level),
            [101, 105, 109, 254, 255, 255]
        );
    }

    #[test]
    fn a_cell_shows_the_worst_of_its_elements() {
        let mut found = vec![1.0; 130 * 2];
        found[131] = 3.5;
        let tensor = Tensor::from_reals(DType::F32, vec![2, 130], &found).expect("as many as the shape says");
        let expected = Expected::Reals { values: vec![1.0; 260], bounds: vec![0.5; 260] };
        let picture = Elements::of("y", &tensor, &expected);
        assert_eq!((picture.columns, picture.levels.len()), (44, 88));
        // Off by five bounds, which is between nine and ten quarters of a doubling, in the first cell of the second row.
        let wrong: Vec<_> = picture.levels.iter().enumerate().filter(|(_, level)| **level > 0).collect();
        assert_eq!(wrong, [(44, &110)]);
        let ints = Tensor::from_ints(DType::I32, vec![3], &[1, 2, 3]).expect("as many as the shape says");
        assert_eq!(Elements::of("n", &ints, &Expected::Ints(vec![1, 5, 3])).levels, [0, 255, 0]);
    }
}
