//! The validator on any bytes: a verdict, never a panic.
#![no_main]

use libfuzzer_sys::fuzz_target;
use megakernel_reference::validate::{Classes, validate};

fuzz_target!(|bytes: &[u8]| {
    let verdict = validate(bytes, Classes::ALL);
    assert_eq!(verdict.accepts(), verdict.diagnostics.iter().all(|diagnostic| !diagnostic.is_error()));
});
