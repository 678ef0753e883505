//! Somebody's source with all that it includes, for whoever has to know whether it is still the same.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A file and, whatever folder they lie in, the files that it includes, directly or not: names relative to its own folder,
/// itself first. What is found in neither the including file's folder nor the first one's belongs to the compiler or to this
/// harness. Conditions are not followed, so that there may be files too many; where a macro names the file, all sources of the
/// folder count.
///
/// # Errors
/// A file cannot be read.
pub fn closure(path: &Path) -> io::Result<Vec<(String, Vec<u8>)>> {
    let path = path.canonicalize()?;
    let home = path.parent().unwrap_or(&path).to_path_buf();
    let mut found: BTreeMap<PathBuf, Vec<u8>> = BTreeMap::new();
    let mut open = vec![path.clone()];
    while let Some(file) = open.pop() {
        if found.contains_key(&file) {
            continue;
        }
        let text = fs::read(&file)?;
        let folder = file.parent().unwrap_or(&home);
        for line in text.split(|byte| *byte == b'\n') {
            match included(&String::from_utf8_lossy(line)) {
                None => {}
                Some(Some(name)) => {
                    let places = [folder.join(&name), home.join(&name)];
                    if let Some(place) = places.iter().find(|place| place.is_file()) {
                        open.push(place.canonicalize()?);
                    }
                }
                Some(None) => open.extend(sources(folder)?),
            }
        }
        found.insert(file, text);
    }
    // As the first file could include it: the same wherever the tree lies.
    let name = |file: &Path| {
        let mut above = home.ancestors().enumerate();
        let found = above.find_map(|(up, folder)| Some((up, file.strip_prefix(folder).ok()?)));
        let (up, rest) = found.unwrap_or((0, file));
        "../".repeat(up) + &rest.to_string_lossy()
    };
    let own = found.remove(&path).map(|text| (name(&path), text));
    let mut others: Vec<_> = found.into_iter().map(|(file, text)| (name(&file), text)).collect();
    others.sort();
    Ok(own.into_iter().chain(others).collect())
}

/// Whether a line includes something, and what, unless a macro says it.
fn included(line: &str) -> Option<Option<String>> {
    let rest = line.trim_start().strip_prefix('#')?.trim_start().strip_prefix("include")?;
    let rest = rest.strip_prefix("_next").unwrap_or(rest);
    if rest.starts_with(|next: char| next.is_alphanumeric() || next == '_') {
        return None;
    }
    let rest = rest.trim_start();
    let close = match rest.chars().next() {
        Some('"') => '"',
        Some('<') => '>',
        _ => return Some(None),
    };
    let name = rest.get(1..).and_then(|rest| rest.split_once(close));
    Some(name.map(|(name, _)| name.to_owned()))
}

fn sources(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let source = path.extension().and_then(|extension| extension.to_str());
        if source.is_some_and(|end| ["cu", "cuh", "h", "hpp", "inc"].contains(&end)) && path.is_file() {
            files.push(path.canonicalize()?);
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap_or_else(|cause| unreachable!("{cause}"));
        for (name, text) in files {
            let path = folder.path().join(name);
            let made =
                fs::create_dir_all(path.parent().unwrap_or(&path)).and_then(|()| fs::write(&path, text));
            made.unwrap_or_else(|cause| unreachable!("{cause}"));
        }
        folder
    }

    fn names(folder: &tempfile::TempDir, file: &str) -> Vec<String> {
        let found = closure(&folder.path().join(file)).unwrap_or_else(|cause| unreachable!("{cause}"));
        found.into_iter().map(|(name, _)| name).collect()
    }

    #[test]
    fn what_is_included_counts_wherever_it_lies_and_nothing_else() {
        let folder = folder(&[
            (
                "a.cu",
                "#include \"deep/one.cuh\"\n  #  include <two.h>\n#include <cuda_fp16.h>\n#included \"b.cu\"\n",
            ),
            ("b.cu", "#include \"two.h\"\n"),
            ("two.h", "#include \"a.cu\"\n"),
            ("deep/one.cuh", "#include \"three.inc\"\n#include \"two.h\"\n"),
            ("deep/three.inc", ""),
            ("deep/four.h", ""),
        ]);
        assert_eq!(names(&folder, "a.cu"), ["a.cu", "deep/one.cuh", "deep/three.inc", "two.h"]);
        assert_eq!(names(&folder, "b.cu"), ["b.cu", "a.cu", "deep/one.cuh", "deep/three.inc", "two.h"]);
    }

    #[test]
    fn files_above_are_named_from_the_first_one() {
        let folder = folder(&[("k/a.cu", "#include_next \"../common/x.cuh\"\n"), ("common/x.cuh", "")]);
        assert_eq!(names(&folder, "k/a.cu"), ["a.cu", "../common/x.cuh"]);
    }

    #[test]
    fn where_a_macro_says_what_is_included_all_sources_beside_count() {
        let folder = folder(&[("a.cu", "#include WHAT\n"), ("b.cuh", ""), ("c.txt", "")]);
        assert_eq!(names(&folder, "a.cu"), ["a.cu", "b.cuh"]);
    }
}
