//! Programs that another project's compiler wrote, read and written back byte for byte.

use megakernel_ir::{Layout, read, write};
use megakernel_test_support::fixtures;

fn round_trip(name: &str, layout: Layout) {
    let text = fixtures::text(name);
    let program = read(text.as_bytes()).expect("a real program reads");
    let written = write(&program, layout);
    assert!(written.trim_end() == text.trim_end(), "{name} is written back with other bytes");
}

#[test]
fn toy_decoder_round_trips() {
    round_trip("amk/toy_decoder.json", Layout::Indent(1));
}

#[test]
fn llama_decode_step_round_trips() {
    round_trip("amk/llama32_1b_decode.json", Layout::Compact);
}
