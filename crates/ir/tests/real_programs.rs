//! Programs that another project's compiler wrote, read and written back byte for byte.

use std::path::PathBuf;

use megakernel_ir::{Layout, read, write};

fn round_trip(name: &str, layout: Layout) {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data/amk").join(name);
    let Ok(bytes) = std::fs::read(&path) else {
        println!("skipped: {} is not there", path.display());
        return;
    };
    let program = read(&bytes).expect("a real program reads");
    let written = write(&program, layout);
    let text = std::str::from_utf8(&bytes).expect("UTF-8");
    assert!(written.trim_end() == text.trim_end(), "{name} is written back with other bytes");
}

#[test]
fn toy_decoder_round_trips() {
    round_trip("toy_decoder.json", Layout::Indent(1));
}

#[test]
fn llama_decode_step_round_trips() {
    round_trip("llama32_1b_decode.json", Layout::Compact);
}
