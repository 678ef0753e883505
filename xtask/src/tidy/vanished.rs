//! Case ids that were there before and are gone. Somebody's list of known failures has them, so an id is never removed in
//! passing: `corpus/retired.json` says of each that is, why.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// Ids that were given up on purpose, each with the reason.
pub const RETIRED: &str = "corpus/retired.json";

const MANIFEST: &str = "corpus/manifest.json";

/// The commits to compare with: the last one, in whose place the working tree may come, and the one before it. A tag of a
/// release is compared with too.
fn revisions(root: &Path) -> Vec<String> {
    let mut found = vec!["HEAD".to_owned(), "HEAD~1".to_owned()];
    found.extend(last_release(root));
    found
}

/// The tag of the last release, if the clone has one.
pub fn last_release(root: &Path) -> Option<String> {
    let tag = git(root, &["describe", "--tags", "--abbrev=0", "--match", "v*"])?;
    Some(tag.trim().to_owned())
}

/// What git answers, or nothing where it has no answer: a clone of one commit has none before it.
pub fn git(root: &Path, arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).current_dir(root).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned())
}

/// Ids that are in a manifest of before, and neither in today's nor retired.
///
/// # Errors
/// Today's manifest or the list of retired ids cannot be read.
pub fn vanished(root: &Path) -> Result<Vec<String>, String> {
    let text = |path: &str| {
        std::fs::read_to_string(root.join(path)).map_err(|cause| format!("{path} cannot be read: {cause}"))
    };
    let today = ids(&text(MANIFEST)?).ok_or_else(|| format!("{MANIFEST} is no manifest"))?;
    let retired = retired(&text(RETIRED)?)?;
    let mut problems = reused(&today, &retired);
    for revision in revisions(root) {
        let before = git(root, &["show", &format!("{revision}:{MANIFEST}")]);
        let Some(before) = before.as_deref().and_then(ids) else { continue };
        problems.extend(gone(&before, &today, &retired, &revision));
    }
    problems.sort();
    problems.dedup();
    Ok(problems)
}

fn gone(
    before: &BTreeSet<String>,
    today: &BTreeSet<String>,
    retired: &BTreeMap<String, String>,
    revision: &str,
) -> Vec<String> {
    let lost = before.difference(today).filter(|id| !retired.contains_key(*id));
    lost.map(|id| {
        format!("case `{id}` of {revision} is gone: bring it back, or give the reason in {RETIRED}")
    })
    .collect()
}

fn reused(today: &BTreeSet<String>, retired: &BTreeMap<String, String>) -> Vec<String> {
    let again = retired.keys().filter(|id| today.contains(*id));
    again
        .map(|id| format!("case `{id}` is in use, but {RETIRED} retires it: give the new case another id"))
        .collect()
}

fn ids(manifest: &str) -> Option<BTreeSet<String>> {
    let manifest: Value = serde_json::from_str(manifest).ok()?;
    manifest["cases"].as_array()?.iter().map(|entry| Some(entry["id"].as_str()?.to_owned())).collect()
}

fn retired(text: &str) -> Result<BTreeMap<String, String>, String> {
    let list: BTreeMap<String, String> = serde_json::from_str(text)
        .map_err(|cause| format!("{RETIRED} has to map ids to reasons: {cause}"))?;
    match list.iter().find(|(_, reason)| reason.trim().is_empty()) {
        Some((id, _)) => Err(format!("{RETIRED} gives no reason for `{id}`")),
        None => Ok(list),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn manifest(ids: &[&str]) -> String {
        let cases: Vec<Value> = ids.iter().map(|id| serde_json::json!({"id": id, "blake3": ""})).collect();
        serde_json::json!({"cases": cases}).to_string()
    }

    fn set(ids_: &[&str]) -> BTreeSet<String> {
        ids(&manifest(ids_)).expect("a manifest")
    }

    #[test]
    fn an_id_that_is_gone_is_named_unless_it_is_retired() {
        let (before, today) = (set(&["a", "b", "c"]), set(&["a", "d"]));
        let list = retired(r#"{"c": "cited a clause that is gone"}"#).expect("a list");
        assert_eq!(
            gone(&before, &today, &list, "HEAD~1"),
            ["case `b` of HEAD~1 is gone: bring it back, or give the reason in corpus/retired.json"]
        );
    }

    #[test]
    fn a_retired_id_is_not_used_again_and_has_a_reason() {
        let list = retired(r#"{"a": "was about two rules"}"#).expect("a list");
        assert_eq!(reused(&set(&["a", "b"]), &list).len(), 1);
        assert!(retired(r#"{"a": " "}"#).is_err());
        assert!(retired("[]").is_err());
    }
}
