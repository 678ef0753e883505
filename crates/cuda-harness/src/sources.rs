//! The C++ sources of the kernels and of the host runner.

/// Path below `cuda/` and text of every source, by path.
pub const SOURCES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/sources.rs"));

/// Which of the sources make up the kernels of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kernels {
    /// All of them: what stands in for CUDA on the CPU is a part of what is judged there.
    Host,
    /// Those that a GPU runs.
    Gpu,
}

/// The option that has kernels use matrix units.
pub const TENSOR_CORES: &str = "-DAMK_TENSOR_CORES";

/// The options that decide what kernels compute.
pub fn options<'a>(always: &[&'a str], tensor_cores: bool) -> Vec<&'a str> {
    always.iter().copied().chain(tensor_cores.then_some(TENSOR_CORES)).collect()
}

/// Digest of a file as it was loaded: BLAKE3, in hexadecimal; none where it cannot be read.
pub(crate) fn of_file(path: &std::path::Path) -> Option<String> {
    Some(blake3::hash(&std::fs::read(path).ok()?).to_hex().to_string())
}

/// Digest of the kernels of a device as they are in this binary (clause CON-14): BLAKE3, in hexadecimal, of the sources, of the
/// options that decide what they compute, and of the files that replace some, by name. Neither the compiler nor the
/// architecture is in it: they are facts of their own, and the digest of a GPU's kernels is the same for every GPU.
pub fn digest(kernels: Kernels, options: &[&str], replaced: &[(String, Vec<u8>)]) -> String {
    let mut hash = blake3::Hasher::new();
    let mut part = |bytes: &[u8]| {
        hash.update(&(bytes.len() as u64).to_le_bytes());
        hash.update(bytes);
    };
    options.iter().for_each(|option| part(option.as_bytes()));
    // An empty part between the lists: none of their members is empty.
    part(&[]);
    for (path, text) in SOURCES {
        if kernels == Kernels::Host || !path.starts_with("host/") {
            part(path.as_bytes());
            part(text.as_bytes());
        }
    }
    part(&[]);
    for (name, bytes) in replaced {
        part(name.as_bytes());
        part(bytes);
    }
    hash.finalize().to_hex().to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_has_all_that_decides_what_is_computed() {
        let file = |name: &str, text: &str| vec![(name.to_owned(), text.as_bytes().to_vec())];
        let digests = [
            digest(Kernels::Host, &[], &[]),
            digest(Kernels::Gpu, &[], &[]),
            digest(Kernels::Gpu, &["--fmad=false"], &[]),
            digest(Kernels::Gpu, &[], &file("a.cu", "1")),
            digest(Kernels::Gpu, &[], &file("b.cu", "1")),
            digest(Kernels::Gpu, &[], &file("a.cu", "2")),
        ];
        for (n, one) in digests.iter().enumerate() {
            assert_eq!(one.len(), 64);
            assert!(!digests.iter().skip(n + 1).any(|other| one == other), "{n}");
        }
        assert_eq!(digest(Kernels::Gpu, &[], &[]), digests[1]);
    }

    #[test]
    fn the_header_is_the_generated_one() {
        let found = SOURCES.iter().find(|(path, _)| *path == "abi.h").map(|(_, text)| *text);
        assert_eq!(found, Some(megakernel_abi::header().as_str()));
    }
}
