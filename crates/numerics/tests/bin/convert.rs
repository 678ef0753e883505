//! Converts numbers from standard input to standard output, for checks by other programs.
//!
//! ```console
//! $ convert encode BF16 < binary64 > elements       # little-endian; an element is 32 bits wide, whatever its dtype
//! $ convert encode_f32 BF16 < binary32 > elements
//! $ convert decode BF16 < elements > binary64
//! ```

use std::io::{self, Read, Write};
use std::process::ExitCode;

use megakernel_numerics::DType;
use megakernel_numerics::{decode, encode, encode_f32};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let convert: fn(DType, &[u8]) -> Vec<u8> = match arguments.first() {
        Some(&"encode") => |dtype, bytes| map(bytes, |x| encode(dtype, f64::from_le_bytes(x)).to_le_bytes()),
        Some(&"encode_f32") => {
            |dtype, bytes| map(bytes, |x| encode_f32(dtype, f32::from_le_bytes(x)).to_le_bytes())
        }
        Some(&"decode") => |dtype, bytes| map(bytes, |x| decode(dtype, u32::from_le_bytes(x)).to_le_bytes()),
        _ => return usage(),
    };
    let Some(dtype) = arguments.get(1).and_then(|name| DType::from_name(name)) else { return usage() };
    let mut input = Vec::new();
    let done =
        io::stdin().read_to_end(&mut input).and_then(|_| io::stdout().write_all(&convert(dtype, &input)));
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Converts each number of N bytes into one of M.
fn map<const N: usize, const M: usize>(bytes: &[u8], convert: impl Fn([u8; N]) -> [u8; M]) -> Vec<u8> {
    bytes.as_chunks::<N>().0.iter().flat_map(|&number| convert(number)).collect()
}

fn usage() -> ExitCode {
    eprintln!("usage: convert encode|encode_f32|decode DTYPE");
    ExitCode::from(2)
}
