//! Tensors in memory and in files (clause NUM-11).

use std::collections::BTreeMap;

use megakernel_numerics::DType::{self, Bool, F8E4M3, F16, F32, I4, I8, I32, U8};
use megakernel_numerics::element;
use megakernel_numerics::{Stored, Tensor, TensorError, TensorFile};
use proptest::prelude::*;

fn file(tensors: impl IntoIterator<Item = (&'static str, Stored)>) -> TensorFile {
    TensorFile { tensors: tensors.into_iter().map(|(name, tensor)| (name.to_owned(), tensor)).collect() }
}

fn two_tensors() -> TensorFile {
    let y =
        Tensor::from_reals(F16, vec![2, 3], &[0.0, -0.0, 1.0, 2.5, f64::INFINITY, 1e-7]).expect("a tensor");
    let bound = Stored::F64 { shape: vec![2], values: vec![0.5, f64::INFINITY] };
    file([("y", Stored::Buffer(y)), ("y.bound", bound)])
}

/// A file with this header, and as many bytes of data.
fn bytes_of(header: &str, data: usize) -> Vec<u8> {
    let mut bytes = (header.len() as u64).to_le_bytes().to_vec();
    bytes.extend_from_slice(header.as_bytes());
    bytes.resize(bytes.len() + data, 0);
    bytes
}

#[track_caller]
fn assert_refused(bytes: &[u8], why: &str) {
    let error = TensorFile::read(bytes).expect_err("a broken file").to_string();
    assert!(error.contains(why), "`{error}` does not say `{why}`");
}

#[test]
fn a_file_is_laid_out_as_the_format_says() {
    let y = Tensor::from_ints(I4, vec![3], &[1, -2, 15]).expect("a tensor");
    let x = Tensor::from_reals(F32, vec![], &[1.5]).expect("a tensor");
    let bytes = file([("a", Stored::Buffer(y)), ("b", Stored::Buffer(x))]).to_bytes().expect("a file");
    let header = r#"{"b":{"dtype":"F32","shape":[],"data_offsets":[0,4]},"a":{"dtype":"U8","shape":[2],"data_offsets":[4,6]}}"#;
    let padded = format!("{header:<width$}", width = header.len().next_multiple_of(8));
    let mut required = bytes_of(&padded, 0);
    // 1.5, then the nibbles 1, 14 and 15, the even one low, and a nibble of padding.
    required.extend_from_slice(&[0, 0, 0xc0, 0x3f, 0xe1, 0x0f]);
    assert_eq!(bytes, required);
}

#[test]
fn elements_of_every_type_survive() {
    for &dtype in DType::ALL {
        let (tensor, values) = if dtype.is_float() {
            let values = [0.0, 1.0, -2.0, 0.25, 224.0];
            (Tensor::from_reals(dtype, vec![1, 5], &values).expect("a tensor"), values.to_vec())
        } else {
            let ints = [0, 1, 1, 0, 1];
            (
                Tensor::from_ints(dtype, vec![1, 5], &ints).expect("a tensor"),
                ints.map(|int| int as f64).to_vec(),
            )
        };
        assert_eq!(tensor.nbytes() as u128, dtype.nbytes(5));
        assert_eq!((tensor.numel(), tensor.reals()), (5, values));
        let each: Vec<u32> = (0..5).map_while(|n| element(dtype, &tensor.bytes, n)).collect();
        assert_eq!(each, tensor.elements());
        assert_eq!(element(dtype, &tensor.bytes, 6).or(element(dtype, &tensor.bytes, usize::MAX)), None);
        let bytes = file([("t", Stored::Buffer(tensor.clone()))]).to_bytes().expect("a file");
        let read = TensorFile::read(&bytes).expect("a file");
        assert_eq!(*read.buffer("t", dtype, &[1, 5]).expect("the tensor"), tensor, "{dtype}");
    }
    let extremes = [i64::from(i32::MIN), -1, i64::from(i32::MAX)];
    assert_eq!(Tensor::from_ints(I32, vec![3], &extremes).expect("a tensor").ints(), extremes);
    assert_eq!(Tensor::from_ints(I8, vec![2], &[-128, 127]).expect("a tensor").ints(), [-128, 127]);
    assert_eq!(Tensor::from_ints(U8, vec![1], &[255]).expect("a tensor").ints(), [255]);
    assert_eq!(Tensor::from_ints(I4, vec![3], &[-8, 7, 15]).expect("a tensor").ints(), [8, 7, 15]);
}

#[test]
fn values_that_do_not_fit_are_refused() {
    assert!(matches!(
        Tensor::from_ints(I8, vec![1], &[128]),
        Err(TensorError::OutOfRange { value: 128, .. })
    ));
    assert!(matches!(Tensor::from_ints(Bool, vec![1], &[2]), Err(TensorError::OutOfRange { .. })));
    assert!(matches!(Tensor::from_ints(F16, vec![1], &[1]), Err(TensorError::NotInteger { dtype: F16 })));
    assert!(matches!(Tensor::from_reals(U8, vec![1], &[1.0]), Err(TensorError::NotFloat { dtype: U8 })));
    assert!(matches!(
        Tensor::from_reals(F16, vec![2, 2], &[1.0; 3]),
        Err(TensorError::Count { found: 3, required: 4, .. })
    ));
    assert!(matches!(
        Tensor::new(F16, vec![3], vec![0; 5]),
        Err(TensorError::Size { found: 5, required: 6, .. })
    ));
    for shape in [vec![u64::MAX, 2], vec![1 << 62]] {
        assert!(matches!(Tensor::zeros(F16, shape), Err(TensorError::TooLarge { .. })));
    }
    // Two wrongs that multiply to something right: the product wraps around to 0.
    assert!(Tensor::from_reals(F16, vec![1 << 32, 1 << 32], &[]).is_err());
}

#[test]
fn a_file_that_ends_early_is_refused_wherever_it_ends() {
    let bytes = two_tensors().to_bytes().expect("a file");
    assert!(TensorFile::read(&bytes).is_ok());
    for end in 0..bytes.len() {
        let error = TensorFile::read(&bytes[..end]).expect_err("a file cut short");
        let what = error.to_string();
        assert!(
            matches!(error, TensorError::Truncated { .. } | TensorError::DataSize { .. }),
            "cut to {end} bytes: {what}"
        );
    }
    let mut longer = bytes;
    longer.push(0);
    assert_refused(&longer, "29 bytes of data, its header says 28");
}

#[test]
fn a_malformed_header_is_refused() {
    assert_refused(&bytes_of("{", 0), "the header");
    assert_refused(&bytes_of("[]", 0), "the header");
    assert_refused(&bytes_of(r#"{"a":1}"#, 0), "the header");
    assert_refused(&bytes_of("{} {}", 0), "the header");
    let mut not_utf8 = bytes_of("{} ", 0);
    not_utf8[10] = 0xff;
    assert_refused(&not_utf8, "not UTF-8");
    assert_refused(&u64::MAX.to_le_bytes(), "ends in its header");
    let u8s = |shape: &str, start: u64, end: u64| {
        format!(r#"{{"dtype":"U8","shape":{shape},"data_offsets":[{start},{end}]}}"#)
    };
    assert_refused(&bytes_of(&format!(r#"{{"a":{}}}"#, u8s("[3]", 0, 4)), 4), "shape");
    assert_refused(&bytes_of(&format!(r#"{{"a":{}}}"#, u8s("[4]", 1, 5)), 5), "offset");
    assert_refused(&bytes_of(&format!(r#"{{"a":{}}}"#, u8s("[-1]", 0, 1)), 1), "the header");
    let twice = format!(r#"{{"a":{0},"a":{0}}}"#, u8s("[1]", 0, 1));
    assert_refused(&bytes_of(&twice, 1), "tensor `a` twice");
    assert_refused(
        &bytes_of(r#"{"a":{"dtype":"I64","shape":[1],"data_offsets":[0,8]}}"#, 8),
        "tensor `a` has type I64",
    );
    // Sizes that add up to more than a number holds.
    let huge = u64::MAX / 8;
    let parts: Vec<String> =
        (0..8).map(|n| format!(r#""{n}":{}"#, u8s(&format!("[{huge}]"), n * huge, (n + 1) * huge))).collect();
    assert_refused(&bytes_of(&format!("{{{}}}", parts.join(",")), 0), "0 bytes of data");
    assert_refused(&bytes_of(&format!(r#"{{"a":{}}}"#, u8s("[4294967296,4294967296]", 0, 0)), 0), "overflow");
    assert_refused(&bytes_of(&"[".repeat(100_000), 0), "the header");
}

#[test]
fn a_tensor_is_found_by_name_dtype_and_shape() {
    let file = two_tensors();
    let message =
        |dtype, shape: &[u64]| file.buffer("y", dtype, shape).expect_err("another tensor").to_string();
    assert!(file.buffer("y", F16, &[2, 3]).is_ok());
    assert_eq!(message(F32, &[2, 3]), "tensor `y` is F16 [2, 3], required is F32 [2, 3]");
    assert_eq!(message(F16, &[6]), "tensor `y` is F16 [2, 3], required is F16 [6]");
    assert_eq!(message(I4, &[9]), "tensor `y` is F16 [2, 3], required is I4 [9] as U8 [5]");
    let packed = Tensor::zeros(U8, vec![2, 1]).expect("a tensor");
    assert_eq!(
        self::file([("q", Stored::Buffer(packed))]).buffer("q", I4, &[4]).expect_err("rank 2").to_string(),
        "tensor `q` is U8 [2, 1], required is I4 [4] as U8 [2]"
    );
    assert_eq!(
        file.buffer("z", F16, &[6]).expect_err("no tensor").to_string(),
        "tensor `z` is missing: the file has `y`, `y.bound`"
    );
    assert_eq!(
        file.buffer("y.bound", F8E4M3, &[2]).expect_err("no buffer").to_string(),
        "tensor `y.bound` is F64 [2], required is F8E4M3 [2]"
    );
    assert_eq!(file.f64s("y.bound").expect("a bound"), (&[2][..], &[0.5, f64::INFINITY][..]));
    assert!(file.f64s("y").is_err());
}

#[test]
fn fields_that_contradict_each_other_do_no_harm() {
    let broken = Tensor { dtype: F32, shape: vec![u64::MAX, u64::MAX], bytes: vec![1, 2, 3, 4, 5] };
    assert_eq!((broken.elements().len(), broken.nbytes()), (1, 5));
    assert!(file([("a", Stored::Buffer(broken))]).to_bytes().is_err());
    let broken = Tensor { dtype: I4, shape: vec![3], bytes: vec![1] };
    assert!(file([("a", Stored::Buffer(broken))]).to_bytes().is_err());
    let broken = Stored::F64 { shape: vec![3], values: vec![1.0] };
    assert!(file([("a", broken)]).to_bytes().is_err());
}

#[test]
fn the_name_that_the_format_keeps_for_itself_is_refused() {
    let tensor = Tensor::zeros(F16, vec![1]).expect("a tensor");
    let error = file([("__metadata__", Stored::Buffer(tensor))]).to_bytes().expect_err("a reserved name");
    assert!(error.to_string().contains("`__metadata__`"));
}

fn any_file() -> impl Strategy<Value = TensorFile> {
    let tensor = (0..DType::ALL.len(), prop::collection::vec(0u64..4, 0..4), any::<u8>());
    let tensor = tensor.prop_map(|(dtype, shape, fill)| {
        let mut tensor = Tensor::zeros(DType::ALL[dtype], shape).expect("a tensor");
        tensor.bytes.iter_mut().enumerate().for_each(|(n, byte)| *byte = fill.wrapping_mul(n as u8));
        Stored::Buffer(tensor)
    });
    let reals = prop::collection::vec(-1e300..1e300, 0..4)
        .prop_map(|values| Stored::F64 { shape: vec![values.len() as u64], values });
    let tensors = prop::collection::btree_map(".{0,6}", prop_oneof![6 => tensor, 1 => reals], 0..6);
    tensors.prop_map(|tensors: BTreeMap<String, Stored>| TensorFile { tensors })
}

proptest! {
    #![proptest_config(crate::cases(500))]

    #[test]
    fn files_survive(file in any_file()) {
        let bytes = file.to_bytes().expect("a file");
        let read = TensorFile::read(&bytes).expect("the same file");
        prop_assert_eq!(&read.to_bytes().expect("a file"), &bytes);
        prop_assert_eq!(read.tensors.len(), file.tensors.len());
        for (name, stored) in &file.tensors {
            match stored {
                Stored::Buffer(tensor) => {
                    let found = read.buffer(name, tensor.dtype, &tensor.shape).expect("the tensor");
                    prop_assert_eq!(&*found, tensor);
                }
                Stored::F64 { .. } => prop_assert_eq!(&read.tensors[name], stored),
            }
        }
    }

    #[test]
    fn no_bytes_panic(file in any_file(), at in any::<prop::sample::Index>(), to in any::<u8>(), cut in any::<u16>()) {
        let mut bytes = file.to_bytes().expect("a file");
        let at = at.index(bytes.len());
        bytes[at] = to;
        bytes.truncate(usize::from(cut) % (4 * bytes.len()));
        if let Ok(read) = TensorFile::read(&bytes) {
            prop_assert!(read.to_bytes().is_ok());
        }
    }
}
