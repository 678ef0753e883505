//! The C++ sources of the kernels and of the host runner.

use megakernel_ir::protocol::SourceFile;
use sha2::{Digest, Sha256};

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

/// Path and text of those that make up the kernels of a device.
fn of(kernels: Kernels) -> impl Iterator<Item = &'static (&'static str, &'static str)> {
    SOURCES.iter().filter(move |(path, _)| kernels == Kernels::Host || !path.starts_with("host/"))
}

/// Each file that the digest of the kernels is of, with one of its own, so that whoever compares two records sees which has changed.
pub fn files(kernels: Kernels, replaced: &[(String, Vec<u8>)]) -> Vec<SourceFile> {
    let file = |name: &str, bytes: &[u8], given| {
        let sha256 = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
        SourceFile { name: name.to_owned(), sha256, given }
    };
    let ours = of(kernels).map(|(path, text)| file(path, text.as_bytes(), false));
    ours.chain(replaced.iter().map(|(name, bytes)| file(name, bytes, true))).collect()
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
    for (path, text) in of(kernels) {
        part(path.as_bytes());
        part(text.as_bytes());
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
    fn each_file_has_a_digest_that_other_tools_compute() {
        let given = [("a.cu".to_owned(), b"abc".to_vec())];
        let (gpu, host) = (files(Kernels::Gpu, &given), files(Kernels::Host, &given));
        // Of the standard (FIPS 180-4).
        let sha256 = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad".to_owned();
        assert_eq!(gpu.last(), Some(&SourceFile { name: "a.cu".to_owned(), sha256, given: true }));
        assert_eq!(host.len(), SOURCES.len() + 1);
        let on_host: Vec<_> = host.iter().filter(|file| !gpu.contains(file)).collect();
        assert!(
            !on_host.is_empty() && on_host.iter().all(|file| file.name.starts_with("host/")),
            "{on_host:?}"
        );
    }

    #[test]
    fn the_header_is_the_generated_one() {
        let found = SOURCES.iter().find(|(path, _)| *path == "abi.h").map(|(_, text)| *text);
        assert_eq!(found, Some(megakernel_abi::header().as_str()));
    }
}
