//! The runner for a machine without Rust: two programs that need nothing of the system, and what they read.

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

use super::archive::{Packing, gather, pack};
use super::{VERSION, create, succeed, write};

/// What the programs are built for. Named, so that flags of static programs reach no build script and no macro.
const TARGET: &str = "x86_64-unknown-linux-gnu";

/// The programs: the runner, and the reference, which it takes for a worker and an oracle where it lies beside it.
const PROGRAMS: [(&str, &str); 2] =
    [("megakernel-conformance", "megakernel-conform"), ("megakernel-oracle", "megakernel-reference")];

/// What lies beside them. The runner finds `corpus` beside itself, and `spec` beside that.
const BESIDE: [&str; 8] =
    ["CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT", "corpus", "docs", "examples", "schemas", "spec"];

/// Builds the programs and packs them: the path of the archive.
///
/// # Errors
/// They do not build, or are not static; or nothing can be packed.
pub fn make(root: &Path, stage: &Path, out: &Path) -> Result<PathBuf, String> {
    let folder = stage.join(format!("megakernel-conformance-{VERSION}-x86_64-linux"));
    create(&folder)?;
    let own = own_paths(root)?;
    let built = build(root, &own)?;
    for (_, name) in PROGRAMS {
        let bytes = fs::read(built.join(name)).map_err(|cause| format!("{name}: {cause}"))?;
        match interpreter(&bytes) {
            Ok(None) => {}
            Ok(Some(interpreter)) => return Err(format!("{name} is not static: it asks for {interpreter}")),
            Err(cause) => return Err(format!("{name}: {cause}")),
        }
        if let Some(own) = held(&bytes, &own) {
            return Err(format!("{name} holds the path {own} of this machine"));
        }
        fs::copy(built.join(name), folder.join(name)).map_err(|cause| format!("{name}: {cause}"))?;
    }
    gather(root, &BESIDE, &folder)?;
    write(&folder.join("README.txt"), include_str!("README.txt").replace("@VERSION@", VERSION))?;
    write(&folder.join("THIRD-PARTY.txt"), third_parties(root)?)?;
    pack(&folder, out, Packing::Gzip)
}

/// The folder that everything is built in.
fn target() -> Result<PathBuf, String> {
    let own = std::env::current_exe().map_err(|cause| format!("the path of xtask is unknown: {cause}"))?;
    let target = own.parent().and_then(Path::parent).ok_or("xtask is in no directory")?;
    Ok(target.to_owned())
}

/// Folders of this machine that sources are compiled from, and what stands for each in a program.
fn own_paths(root: &Path) -> Result<Vec<(String, &'static str)>, String> {
    let home = std::env::var_os("CARGO_HOME").map(PathBuf::from);
    let home = home.or_else(|| Some(PathBuf::from(std::env::var_os("HOME")?).join(".cargo")));
    // The compiler takes the last that fits, and the folder of what is built mostly lies in the repository.
    let folders = [(Some(root.to_owned()), "."), (home, "cargo"), (Some(target()?), "target")];
    let named = folders.into_iter().filter_map(|(folder, name)| Some((folder?, name)));
    // Neither an empty path nor the root of all tells anything from the rest.
    let named = named.filter(|(folder, _)| folder.file_name().is_some());
    Ok(named.map(|(folder, name)| (folder.display().to_string(), name)).collect())
}

/// Which of the folders a program names something in.
fn held<'p>(bytes: &[u8], own: &'p [(String, &str)]) -> Option<&'p str> {
    let holds = |folder: &str| {
        let path = format!("{folder}/");
        bytes.windows(path.len()).any(|part| part == path.as_bytes())
    };
    own.iter().map(|(folder, _)| folder.as_str()).find(|folder| holds(folder))
}

/// Builds the programs without debugging information, and without paths of this machine: their folder.
fn build(root: &Path, own: &[(String, &str)]) -> Result<PathBuf, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let target = target()?;
    let mut flags = vec!["-Ctarget-feature=+crt-static".to_owned()];
    flags.extend(own.iter().map(|(folder, name)| format!("--remap-path-prefix={folder}={name}")));
    let mut command = Command::new(cargo);
    command.args(["build", "--locked", "--release", "--target", TARGET, "--target-dir"]).arg(&target);
    for (package, program) in PROGRAMS {
        command.args(["--package", package, "--bin", program]);
    }
    // Separated so, paths may have spaces.
    command.env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}")).env_remove("RUSTC_WORKSPACE_WRAPPER");
    command.env("CARGO_PROFILE_RELEASE_DEBUG", "none").env("CARGO_PROFILE_RELEASE_STRIP", "symbols");
    // By this, a program is told that it will not find the repository where it was built.
    command.env("MEGAKERNEL_PUBLISHED", "1");
    succeed(
        command.current_dir(root),
        "needed are a Rust toolchain for this target and the static library of glibc: libc6-dev on Debian, glibc-static on Fedora",
    )?;
    Ok(target.join(TARGET).join("release"))
}

/// The dynamic linker that a program asks for; a static one asks for none.
///
/// # Errors
/// It is no 64-bit ELF program of little-endian order.
fn interpreter(bytes: &[u8]) -> Result<Option<String>, String> {
    let no_elf = || "is no 64-bit ELF program".to_owned();
    if bytes.get(..6) != Some(b"\x7fELF\x02\x01") {
        return Err(no_elf());
    }
    let number = |at: usize, size: usize| {
        let bytes = bytes.get(at..at.checked_add(size)?)?;
        let value = bytes.iter().rev().fold(0, |value: u64, &byte| value << 8 | u64::from(byte));
        usize::try_from(value).ok()
    };
    // e_phoff, e_phentsize and e_phnum; then p_type, p_offset and p_filesz of each entry.
    let header = || Some((number(32, 8)?, number(54, 2)?, number(56, 2)?));
    let (table, size, count) = header().ok_or_else(no_elf)?;
    for n in 0..count {
        let entry = || {
            let at = table.checked_add(n.checked_mul(size)?)?;
            Some((number(at, 4)?, number(at.checked_add(8)?, 8)?, number(at.checked_add(32)?, 8)?))
        };
        let (kind, offset, length) = entry().ok_or_else(no_elf)?;
        const PT_INTERP: usize = 3;
        if kind == PT_INTERP {
            let path = bytes.get(offset..offset.saturating_add(length)).ok_or_else(no_elf)?;
            return Ok(Some(String::from_utf8_lossy(path).trim_end_matches('\0').to_owned()));
        }
    }
    Ok(None)
}

/// What cargo says of packages.
#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    workspace_members: Vec<String>,
    resolve: Resolve,
}

#[derive(Deserialize)]
struct Package {
    id: String,
    name: String,
    version: String,
    license: Option<String>,
    manifest_path: PathBuf,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    pkg: String,
    dep_kinds: Vec<Kind>,
}

#[derive(Deserialize)]
struct Kind {
    kind: Option<String>,
}

/// The licences of what is linked into the programs, with their texts.
fn third_parties(root: &Path) -> Result<String, String> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo
        .args(["metadata", "--locked", "--format-version", "1", "--filter-platform", TARGET])
        .current_dir(root);
    let said = succeed(&mut cargo, "a Rust toolchain has to be installed")?;
    let metadata: Metadata =
        serde_json::from_slice(&said).map_err(|cause| format!("cargo metadata: {cause}"))?;
    let mut text = "What is linked into the programs or writes code of theirs, with its licences. The programs also hold Rust's standard library (MIT OR \
                    Apache-2.0)\nand the GNU C Library (LGPL-2.1-or-later), unchanged; the sources of the programs, from which they are linked \
                    anew, are\nthose of the suite.\n"
        .to_owned();
    // glibc asks that its licence goes with what it is linked into; no package of cargo holds it.
    let _ = write!(text, "\n==== glibc: LGPL-2.1-or-later\n\n{}\n", include_str!("LGPL-2.1.txt").trim_end());
    for package in linked(&metadata) {
        let license = package.license.as_deref().unwrap_or("see its text");
        let _ = write!(text, "\n==== {} {}: {license}\n", package.name, package.version);
        for (name, content) in license_texts(package)? {
            let _ = write!(text, "\n---- {name}\n\n{}\n", content.trim_end());
        }
    }
    Ok(text)
}

/// Packages of others that the programs depend on, by name and version.
fn linked(metadata: &Metadata) -> Vec<&Package> {
    let named = |package: &&Package| PROGRAMS.iter().any(|(name, _)| *name == package.name);
    let mut seen: Vec<&str> =
        metadata.packages.iter().filter(named).map(|package| package.id.as_str()).collect();
    let mut next = 0;
    while let Some(id) = seen.get(next) {
        next += 1;
        let node = metadata.resolve.nodes.iter().find(|node| node.id == *id);
        for dependency in node.into_iter().flat_map(|node| &node.deps) {
            let linked = dependency.dep_kinds.iter().any(|kind| kind.kind.is_none());
            if linked && !seen.contains(&dependency.pkg.as_str()) {
                seen.push(&dependency.pkg);
            }
        }
    }
    let foreign = |package: &&Package| {
        seen.contains(&package.id.as_str()) && !metadata.workspace_members.contains(&package.id)
    };
    let mut packages: Vec<&Package> = metadata.packages.iter().filter(foreign).collect();
    packages.sort_by_key(|package| (&package.name, &package.version));
    packages
}

/// The texts of licences that lie in a package: names and contents. Not every package has one.
fn license_texts(package: &Package) -> Result<Vec<(String, String)>, String> {
    let folder = package.manifest_path.parent().unwrap_or(&package.manifest_path);
    let failed = |cause: std::io::Error| format!("{}: {cause}", folder.display());
    let mut texts = Vec::new();
    for entry in fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let upper = name.to_uppercase();
        let is = ["LICENSE", "LICENCE", "COPYING", "NOTICE", "UNLICENSE"]
            .iter()
            .any(|start| upper.starts_with(start));
        if is && path.is_file() {
            texts.push((name, fs::read_to_string(&path).map_err(failed)?));
        }
    }
    texts.sort();
    Ok(texts)
}

#[cfg(test)]
mod tests {
    use megakernel_test_support::root;

    use super::*;

    /// A program with a header and one entry of the given kind, at whose end `path` stands.
    fn elf(kind: u8, path: &[u8]) -> Vec<u8> {
        let mut bytes = vec![0; 64 + 56];
        bytes[..6].copy_from_slice(b"\x7fELF\x02\x01");
        (bytes[32], bytes[54], bytes[56]) = (64, 56, 1);
        (bytes[64], bytes[64 + 8], bytes[64 + 32]) = (kind, 120, path.len() as u8);
        bytes.extend(path);
        bytes
    }

    #[test]
    fn programs_that_ask_for_a_dynamic_linker_are_told_from_static_ones() {
        let own = fs::read(std::env::current_exe().expect("a path")).expect("a program");
        assert!(interpreter(&own).is_ok_and(|found| found.is_some_and(|path| path.contains("ld-"))));
        assert_eq!(interpreter(&elf(3, b"/ld.so\0")), Ok(Some("/ld.so".to_owned())));
        assert_eq!(interpreter(&elf(1, b"")), Ok(None));
        for cut in [0, 5, 60, 100] {
            assert!(interpreter(&elf(1, b"")[..cut]).is_err(), "{cut}");
        }
        assert!(interpreter(&elf(3, b"/ld.so\0")[..122]).is_err());
    }

    #[test]
    fn programs_that_hold_a_path_of_this_machine_are_told_from_others() {
        let own = [("/x/suite", "."), ("/x/.cargo", "cargo")].map(|(path, name)| (path.to_owned(), name));
        assert_eq!(held(b"\0/x/suite/crates/a\0", &own), Some("/x/suite"));
        assert_eq!(held(b"a/x/.cargo/registry", &own), Some("/x/.cargo"));
        assert_eq!(held(b"/x/suite/", &own), Some("/x/suite"));
        for other in [&b"\0./crates/a\0cargo/registry\0"[..], b"/x/suites/a", b"/x/suite", b""] {
            assert_eq!(held(other, &own), None, "{other:?}");
        }
        // A debug build holds them: where this package lies.
        let program = fs::read(std::env::current_exe().expect("a path")).expect("a program");
        let here = own_paths(&root()).expect("paths");
        assert!(held(&program, &here).is_some(), "{here:?}");
    }

    #[test]
    fn licences_of_what_is_linked_are_there_and_of_nothing_else() {
        let text = third_parties(&root()).expect("licences");
        let has = |name: &str| text.contains(&format!("\n==== {name} "));
        assert!(has("serde_json") && has("clap") && has("blake3"), "{}", text.len());
        // Only tests, and xtask, use these; and what is ours has the suite's licence.
        assert!(!has("trycmd") && !has("pulldown-cmark") && !has("megakernel-ir"));
        assert!(text.contains("Permission is hereby granted") && text.contains("Apache License"));
        assert!(text.contains("\n==== glibc: ") && text.contains("GNU LESSER GENERAL PUBLIC LICENSE"));
    }
}
