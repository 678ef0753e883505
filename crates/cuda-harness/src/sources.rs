//! The C++ sources of the kernels and of the host runner.

/// Path below `cuda/` and text of every source, by path.
pub const SOURCES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/sources.rs"));

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_header_is_the_generated_one() {
        let found = SOURCES.iter().find(|(path, _)| *path == "abi.h").map(|(_, text)| *text);
        assert_eq!(found, Some(megakernel_ir::abi::header().as_str()));
    }
}
