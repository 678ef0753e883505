//! Other people's programs and graphs: `fixtures/`, of which its README says where they come from.

use std::path::PathBuf;

use serde_json::Value;

use crate::{files, root};

/// Where a fixture is, by its path below `fixtures/`.
#[track_caller]
pub fn path(name: &str) -> PathBuf {
    let path = root().join("fixtures").join(name);
    assert!(path.is_file(), "there is no fixture `{name}`: {} is missing", path.display());
    path
}

/// The bytes of a fixture.
#[track_caller]
pub fn bytes(name: &str) -> Vec<u8> {
    files::bytes(&path(name))
}

/// The text of a fixture.
#[track_caller]
pub fn text(name: &str) -> String {
    files::text(&path(name))
}

/// The JSON of a fixture.
#[track_caller]
pub fn json(name: &str) -> Value {
    files::json(&path(name))
}
