//! Somebody's source with all that it includes, for whoever has to know whether it is still the same.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A file and, whatever folder they lie in, the files that it includes, directly or not: names relative to its own folder,
/// itself first, or relative to the folder of headers in which they lie. What is found in none of these, in the including file's folder or
/// in the first one's, belongs to the compiler or to this harness. Conditions are not followed, so that there may be files too many; where a
/// macro names the file, all sources of the folder count.
///
/// # Errors
/// A file cannot be read.
pub fn closure(path: &Path, folders: &[PathBuf]) -> io::Result<Vec<(String, Vec<u8>)>> {
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
                    let mut places = [folder, &home].into_iter().chain(folders.iter().map(PathBuf::as_path));
                    if let Some(place) =
                        places.find_map(|place| Some(place.join(&name)).filter(|place| place.is_file()))
                    {
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
        let of_headers = || folders.iter().find_map(|folder| file.strip_prefix(folder).ok());
        if let (Err(_), Some(rest)) = (file.strip_prefix(&home), of_headers()) {
            return rest.to_string_lossy().into_owned();
        }
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
        let found = closure(&folder.path().join(file), &[]).unwrap_or_else(|cause| unreachable!("{cause}"));
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
    fn headers_are_named_from_their_folder_wherever_that_lies() {
        let [one, two] =
            [(); 2].map(|()| folder(&[("inc/lib/x.h", "#include <lib/y.h>\n"), ("inc/lib/y.h", "")]));
        let own = folder(&[("a.cu", "#include <lib/x.h>\n")]);
        let named = |headers: &tempfile::TempDir| {
            let folders = [headers.path().join("inc").canonicalize()];
            let folders: Vec<PathBuf> = folders.into_iter().flatten().collect();
            let found =
                closure(&own.path().join("a.cu"), &folders).unwrap_or_else(|cause| unreachable!("{cause}"));
            found.into_iter().map(|(name, _)| name).collect::<Vec<_>>()
        };
        assert_eq!(named(&one), ["a.cu", "lib/x.h", "lib/y.h"]);
        assert_eq!(named(&one), named(&two));
        assert_eq!(names(&own, "a.cu"), ["a.cu"]);
    }

    #[test]
    fn where_a_macro_says_what_is_included_all_sources_beside_count() {
        let folder = folder(&[("a.cu", "#include WHAT\n"), ("b.cuh", ""), ("c.txt", "")]);
        assert_eq!(names(&folder, "a.cu"), ["a.cu", "b.cuh"]);
    }
}
