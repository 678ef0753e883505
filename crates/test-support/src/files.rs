//! Files of the repository.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::Value;
use walkdir::WalkDir;

/// The bytes of a file.
#[track_caller]
pub fn bytes(path: &Path) -> Vec<u8> {
    fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The text of a file.
#[track_caller]
pub fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// The JSON of a file.
#[track_caller]
pub fn json(path: &Path) -> Value {
    serde_json::from_str(&text(path)).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

/// Every file below a folder, sorted; at least one.
#[track_caller]
pub fn below(folder: &Path) -> Vec<PathBuf> {
    let found: Vec<PathBuf> = WalkDir::new(folder)
        .sort_by_file_name()
        .into_iter()
        .map(|entry| entry.unwrap_or_else(|error| panic!("{}: {error}", folder.display())))
        .filter(|entry| entry.file_type().is_file())
        .map(walkdir::DirEntry::into_path)
        .collect();
    assert!(!found.is_empty(), "{} holds no file", folder.display());
    found
}

/// Every file below a folder whose name ends in `.json`, sorted; at least one.
#[track_caller]
pub fn json_below(folder: &Path) -> Vec<PathBuf> {
    let mut found = below(folder);
    found.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    assert!(!found.is_empty(), "{} holds no JSON", folder.display());
    found
}

/// The files of a folder itself whose names end in `.json`, sorted; at least one.
#[track_caller]
pub fn json_in(folder: &Path) -> Vec<PathBuf> {
    let mut found = json_below(folder);
    found.retain(|path| path.parent() == Some(folder));
    assert!(!found.is_empty(), "{} itself holds no JSON", folder.display());
    found
}
