//! What the core and the companions declare: `spec/core.json` and `spec/companions/<name>/companion.json`
//! (`schemas/companion.schema.json`).

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::Deserialize;

/// One declaration.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Declaration {
    /// `core`, or the folder below `spec/companions`.
    pub name: String,
    /// In a sentence.
    pub summary: String,
    /// In the order of reports.
    pub profiles: Vec<Profile>,
    /// Prefixes of the ids of its clauses.
    pub clauses: Vec<String>,
    /// Its classes of rules, in the order in which they are listed.
    pub classes: Vec<Class>,
    /// What its requests ask for, beside the methods of the core.
    pub methods: Vec<Method>,
    /// Kinds of documents.
    pub documents: Vec<Document>,
    /// Members of `expect` that its checker judges.
    pub checks: Vec<Named>,
    /// Data that its model has as constants.
    #[serde(default)]
    pub tables: Vec<DataTable>,
    /// For editors.
    #[serde(rename = "$schema", default)]
    _schema: Option<String>,
}

/// A profile.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// As in messages.
    pub name: String,
    /// In a sentence.
    pub summary: String,
    /// Letters of the classes that it judges.
    pub classes: Vec<String>,
}

/// A class of rules.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Class {
    /// Before the digits of its rules.
    pub letters: String,
    /// In code.
    pub name: String,
    /// What its rules protect.
    pub title: String,
    /// Of its diagnostics.
    pub severity: Severity,
}

/// Whether rules of a class reject.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// They do.
    Error,
    /// They do not.
    Warning,
}

/// A method.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Method {
    /// As in messages.
    pub name: String,
    /// In a sentence.
    pub summary: String,
    /// What an accepting answer carries.
    pub answer: Carries,
}

/// What an accepting answer carries beside its diagnostics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Carries {
    /// Nothing.
    Verdict,
    /// A document.
    Document,
    /// Files that the request names.
    Files,
}

/// A kind of document.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Document {
    /// The kind.
    pub name: String,
    /// A file in `schemas/`.
    pub schema: String,
}

/// A file of data in the folder of the companion.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataTable {
    /// Its name.
    pub file: String,
    /// The lists in it.
    pub lists: Vec<DataList>,
    /// By member: what the records that stand there are called in code.
    pub records: BTreeMap<String, String>,
    /// By member: the enum of the names that stand there.
    pub names: BTreeMap<String, String>,
}

/// A list of records.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct DataList {
    /// Where it stands in the file.
    pub member: String,
    /// The constant.
    pub name: String,
    /// What its records are called.
    pub record: String,
    /// In a sentence.
    pub summary: String,
}

/// Something with a name and a sentence.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Named {
    /// The name.
    pub name: String,
    /// The sentence.
    pub summary: String,
}

impl Declaration {
    /// Reads the core's and every companion's, the core first and the companions by name.
    ///
    /// # Errors
    /// A file that cannot be read, or names that clash.
    pub fn read_all(root: &Path) -> Result<Vec<Declaration>, String> {
        let mut found = vec![Declaration::read(root, "spec/core.json", "core")?];
        let folder = root.join("spec/companions");
        let mut names = Vec::new();
        if folder.is_dir() {
            for entry in
                fs::read_dir(&folder).map_err(|e| format!("spec/companions: cannot be listed: {e}"))?
            {
                let entry = entry.map_err(|e| format!("spec/companions: cannot be listed: {e}"))?;
                if entry.path().is_dir() {
                    names.push(entry.file_name().to_string_lossy().into_owned());
                }
            }
        }
        names.sort();
        for name in names {
            found.push(Declaration::read(root, &format!("spec/companions/{name}/companion.json"), &name)?);
        }
        check(&found)?;
        Ok(found)
    }

    fn read(root: &Path, path: &str, name: &str) -> Result<Declaration, String> {
        let text = fs::read_to_string(root.join(path)).map_err(|e| format!("{path}: cannot be read: {e}"))?;
        let found: Declaration = serde_json::from_str(&text).map_err(|e| format!("{path}: {e}"))?;
        if found.name != name {
            return Err(format!("{path}: `name` is `{}`, required is `{name}`", found.name));
        }
        Ok(found)
    }

    /// The file, relative to the repository.
    pub fn path(&self) -> String {
        match self.name.as_str() {
            "core" => "spec/core.json".to_owned(),
            name => format!("spec/companions/{name}/companion.json"),
        }
    }

    /// Whether a file of the specification is this declaration's.
    pub fn owns(&self, path: &str) -> bool {
        match path.strip_prefix("spec/companions/") {
            Some(rest) => rest.split('/').next() == Some(&self.name),
            None => self.is_core(),
        }
    }

    /// Whether it is no companion's.
    pub fn is_core(&self) -> bool {
        self.name == "core"
    }
}

/// Names are unique over all declarations, and profiles judge classes that there are.
fn check(all: &[Declaration]) -> Result<(), String> {
    let mut seen: BTreeMap<(&str, &str), &str> = BTreeMap::new();
    for declaration in all {
        let names = (declaration.profiles.iter().map(|each| ("profile", each.name.as_str())))
            .chain(declaration.clauses.iter().map(|each| ("clause prefix", each.as_str())))
            .chain(declaration.classes.iter().map(|each| ("class", each.letters.as_str())))
            .chain(declaration.classes.iter().map(|each| ("name of a class", each.name.as_str())))
            .chain(declaration.methods.iter().map(|each| ("method", each.name.as_str())))
            .chain(declaration.checks.iter().map(|each| ("check", each.name.as_str())));
        for (what, name) in names {
            if let Some(first) = seen.insert((what, name), &declaration.name) {
                return Err(format!("{}: {what} `{name}` is declared by `{first}` too", declaration.path()));
            }
        }
    }
    for declaration in all {
        for profile in &declaration.profiles {
            if let Some(letters) =
                profile.classes.iter().find(|letters| !seen.contains_key(&("class", letters)))
            {
                return Err(format!(
                    "{}: profile `{}` judges class `{letters}`, which nothing declares",
                    declaration.path(),
                    profile.name
                ));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_repository_declares_the_core_first() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let all = Declaration::read_all(&root).expect("declarations");
        assert_eq!(all[0].name, "core");
        assert!(all[0].owns("spec/rules/race.md") && !all[0].owns("spec/companions/task-graph/rules.md"));
        let twice = [all[0].clone(), all[0].clone()];
        assert!(check(&twice).expect_err("clash").contains("profile `format` is declared by `core` too"));
        let mut lacking = all[0].clone();
        lacking.profiles[0].classes.push("QQ".to_owned());
        assert!(check(&[lacking]).expect_err("no class").contains("class `QQ`, which nothing declares"));
    }
}
