//! Element types on both sides.

use megakernel_ir::DType;

/// The type that holds the elements of a task graph's tensor. Ids of 64 bits become I32, which holds every row of a table
/// that fits a device.
pub(super) fn dtype(code: i64) -> Option<DType> {
    Some(match code {
        925 => DType::I4,
        930 => DType::F8E4M3,
        931 => DType::F8E5M2,
        935 => DType::I8,
        936 => DType::U8,
        937 => DType::Bool,
        940 => DType::F16,
        941 => DType::BF16,
        950 => DType::F32,
        955 | 965 => DType::I32,
        _ => return None,
    })
}

/// The code under which a buffer's elements are exported.
pub(super) fn code(dtype: DType) -> i64 {
    match dtype {
        DType::I4 => 925,
        DType::F8E4M3 => 930,
        DType::F8E5M2 => 931,
        DType::I8 => 935,
        DType::U8 => 936,
        DType::Bool => 937,
        DType::F16 => 940,
        DType::BF16 => 941,
        DType::F32 => 950,
        DType::I32 => 955,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_type_comes_back() {
        for name in ["F32", "F16", "BF16", "F8E4M3", "F8E5M2", "I32", "I8", "I4", "U8", "BOOL"] {
            let of_name = DType::ALL.iter().copied().find(|dtype| dtype.name() == name).expect("a type");
            assert_eq!(dtype(code(of_name)), Some(of_name), "{name}");
        }
        assert_eq!((dtype(965), dtype(920), dtype(0)), (Some(DType::I32), None, None));
    }
}
