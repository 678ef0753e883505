//! Writes the C header of the device ABI to standard output.

use std::io::{self, Write as _};

fn main() -> io::Result<()> {
    io::stdout().write_all(megakernel_abi::header().as_bytes())
}
