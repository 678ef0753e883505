//! The 16-bit floats against the crate `half`, which knows nothing of ours: what every element stands for, and what binary32 numbers
//! round to. (`checks/conversions.py` compares all dtypes with other people's code, and needs numpy.)

use half::{bf16, f16};
use megakernel_numerics::DType::{self, BF16, F16};
use megakernel_numerics::{decode, encode, encode_f32, is_nan};

/// What `half` says of a dtype: the number of an element, and the element of a number.
struct Opinion {
    dtype: DType,
    number: fn(u16) -> f64,
    element: fn(f32) -> u16,
}

const OPINIONS: [Opinion; 2] = [
    Opinion {
        dtype: F16,
        number: |bits| f16::from_bits(bits).to_f64(),
        element: |number| f16::from_f32(number).to_bits(),
    },
    Opinion {
        dtype: BF16,
        number: |bits| bf16::from_bits(bits).to_f64(),
        element: |number| bf16::from_f32(number).to_bits(),
    },
];

/// Both round the number to the same element, or to NaN.
fn assert_rounds(opinion: &Opinion, number: f32) {
    let dtype = opinion.dtype;
    let required = u32::from((opinion.element)(number));
    for found in [encode_f32(dtype, number), encode(dtype, f64::from(number))] {
        let both = is_nan(dtype, found) && is_nan(dtype, required);
        assert!(both || found == required, "{dtype} of {number:?}: {found:#x}, and half says {required:#x}");
    }
}

#[test]
fn every_element_stands_for_the_same_number() {
    for opinion in OPINIONS {
        for bits in 0..=u16::MAX {
            let (found, required) = (decode(opinion.dtype, u32::from(bits)), (opinion.number)(bits));
            let both = found.is_nan() && required.is_nan();
            assert!(both || found.to_bits() == required.to_bits(), "{} {bits:#x}: {found:?}", opinion.dtype);
        }
    }
}

/// Every element's number, the point half way to the next one, and their neighbours; and numbers all over binary32.
#[test]
fn binary32_rounds_to_the_same_element() {
    for opinion in OPINIONS {
        for bits in 0..u16::MAX {
            let (here, next) = ((opinion.number)(bits), (opinion.number)(bits + 1));
            // What lies between two elements of 16 bits is a binary32 number.
            for number in [here as f32, ((here + next) / 2.0) as f32] {
                for number in [number.next_down(), number, number.next_up()] {
                    assert_rounds(&opinion, number);
                }
            }
        }
        for bits in (0..=u32::MAX).step_by(65_521) {
            assert_rounds(&opinion, f32::from_bits(bits));
        }
    }
}
