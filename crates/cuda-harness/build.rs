//! Lists the C++ sources, so that the binary carries them: where it runs, there need be no copy of the repository.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default()).join("cuda");
    println!("cargo::rerun-if-changed=cuda");
    let mut names = Vec::new();
    list(&root, "", &mut names)?;
    names.sort();
    let mut out = String::from("&[\n");
    for name in names {
        let path = root.join(&name);
        let _ = writeln!(out, "({name:?}, include_str!({:?})),", path.display().to_string());
    }
    out.push_str("]\n");
    fs::write(Path::new(&env::var_os("OUT_DIR").unwrap_or_default()).join("sources.rs"), out)
}

/// The sources below a folder, by their paths below the root, with `/`.
fn list(folder: &Path, prefix: &str, names: &mut Vec<String>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let name = format!("{prefix}{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            list(&entry.path(), &format!("{name}/"), names)?;
        // Headers of libcu++ have no suffix.
        } else if [".h", ".hpp", ".cuh", ".cpp", ".cu", "/atomic", "/barrier", "/pipeline"]
            .iter()
            .any(|suffix| name.ends_with(suffix))
        {
            names.push(name);
        }
    }
    Ok(())
}
