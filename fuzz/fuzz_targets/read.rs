//! The reader on any bytes: it never panics, what it reads it writes stably, and a refusal always says where.
#![no_main]

use libfuzzer_sys::fuzz_target;
use megakernel_ir::{Layout, Source, read, write};

fuzz_target!(|bytes: &[u8]| match read(bytes) {
    Ok(program) => {
        let once = write(&program, Layout::Compact);
        let again = read(once.as_bytes()).expect("what was written reads");
        assert_eq!(once, write(&again, Layout::Compact));
        let indented = write(&program, Layout::Indent(1));
        let again = read(indented.as_bytes()).expect("what was written reads");
        assert_eq!(once, write(&again, Layout::Compact));
    }
    Err(diagnostics) => {
        assert!(diagnostics.iter().any(|diagnostic| diagnostic.is_error()));
        let source = std::str::from_utf8(bytes).map(Source::new);
        for diagnostic in &diagnostics {
            // An empty pointer is the whole document: fine for S01 and a root of the wrong type, but a sign elsewhere
            // that the two readers disagree.
            let disagree = diagnostic.pointer.is_empty() && diagnostic.message.contains(" at line ");
            assert!(!disagree, "{diagnostic:?}");
            if let Ok(source) = &source {
                let _ = source.position(&diagnostic.pointer);
            }
        }
    }
});
