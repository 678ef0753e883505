//! The ledger: a file with a line for everything that others rely on.

use std::collections::BTreeMap;

use megakernel_codegen::declaration::Declaration;
use megakernel_codegen::spec::Spec;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::changelog::{self, CHANGELOG, Section};
use super::clauses::Clause;
use super::{PATH, digest, schemas};
use crate::tidy::tree::Files;
use crate::tidy::versions;

/// Version of the form.
pub const FORM: &str = "1.0";

/// What others rely on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Ledger {
    /// [`FORM`].
    pub ledger: String,
    /// Whether the version of the suite was released, or is the one that comes first.
    pub released: bool,
    /// By name, as docs/versioning.md has them; the suite's own among them.
    pub versions: BTreeMap<String, String>,
    /// What the items of this version's section in the changelog name.
    #[serde(skip)]
    pub named: Vec<String>,
    /// By id.
    pub cases: BTreeMap<String, Case>,
    /// Ids that were given up, and are not used again.
    pub gone: Vec<String>,
    /// By id, rules among them.
    pub clauses: BTreeMap<String, Clause>,
    /// By path, without annotations.
    pub schemas: BTreeMap<String, Value>,
    /// By path, digests of target records, licences, and records of evidence of GPUs, which not everybody can make anew.
    pub files: BTreeMap<String, String>,
    /// By version and beginning, the digests of the entries of the changelog.
    pub changelog: BTreeMap<String, String>,
}

/// A case.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Case {
    /// The declared verdict.
    pub verdict: String,
    /// The rules of a rejection, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rules: Vec<String>,
    /// The warnings, in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// That of the manifest, or of a case that names files, of the manifest's digests of case and files.
    pub digest: String,
}

#[derive(Deserialize)]
struct Manifest {
    cases: Vec<Entry>,
    programs: Vec<Entry>,
    tensors: Vec<Entry>,
}

#[derive(Deserialize)]
struct Entry {
    id: String,
    blake3: String,
}

impl Ledger {
    /// The ledger of the repository as it is.
    ///
    /// # Errors
    /// What cannot be read, and where.
    pub fn of(files: &Files, declarations: Vec<Declaration>) -> Result<Ledger, String> {
        let versions = versions::read(files)?;
        let suite = versions.get("suite").cloned().unwrap_or_default();
        let sections = changelog::sections(files.text(CHANGELOG)?);
        let own = sections.iter().find(|section| section.version == suite);
        let own = own.ok_or_else(|| format!("{CHANGELOG} has no section `## {suite}`"))?;
        Ok(Ledger {
            ledger: FORM.to_owned(),
            released: own.released,
            versions,
            named: own.named(),
            cases: cases(files)?,
            gone: gone(files)?,
            clauses: clauses(files, declarations),
            schemas: shapes(files)?,
            files: digests(files)?,
            changelog: sections.iter().flat_map(Section::lines).collect(),
        })
    }

    /// Reads a ledger.
    ///
    /// # Errors
    /// It is none, or of another form.
    pub fn read(text: &str) -> Result<Ledger, String> {
        let ledger: Ledger = serde_json::from_str(text).map_err(|cause| format!("{PATH}: {cause}"))?;
        if ledger.ledger != FORM {
            return Err(format!("{PATH}: `ledger` is `{}`, and this program reads {FORM}", ledger.ledger));
        }
        Ok(ledger)
    }

    /// Keeps the ids that the last ledger says are gone, and those that went since.
    pub fn remember(&mut self, last: &Ledger) {
        let lost = last.cases.keys().chain(&last.gone).filter(|id| !self.cases.contains_key(*id));
        self.gone.extend(lost.cloned());
        self.gone.sort();
        self.gone.dedup();
    }

    /// The text of the file: one line for each entry, so that a difference is read as such.
    ///
    /// # Errors
    /// None that a ledger can cause; they are passed on rather than hidden.
    pub fn to_text(&self) -> Result<String, String> {
        let value = serde_json::to_value(self).map_err(|cause| cause.to_string())?;
        let members = value.as_object().into_iter().flatten();
        let of = |(name, value): (&String, &Value)| match value {
            Value::Object(entries) if !entries.is_empty() => {
                let lines: Vec<String> = entries
                    .iter()
                    .map(|(key, entry)| format!("{}: {entry}", Value::from(key.as_str())))
                    .collect();
                format!("\"{name}\": {{\n{}\n}}", lines.join(",\n"))
            }
            Value::Array(entries) if !entries.is_empty() => {
                let lines: Vec<String> = entries.iter().map(Value::to_string).collect();
                format!("\"{name}\": [\n{}\n]", lines.join(",\n"))
            }
            other => format!("\"{name}\": {other}"),
        };
        Ok(format!("{{\n{}\n}}\n", members.map(of).collect::<Vec<_>>().join(",\n")))
    }
}

fn cases(files: &Files) -> Result<BTreeMap<String, Case>, String> {
    const MANIFEST: &str = "corpus/manifest.json";
    let manifest: Manifest =
        serde_json::from_str(files.text(MANIFEST)?).map_err(|cause| format!("{MANIFEST}: {cause}"))?;
    let others: BTreeMap<&str, &str> = manifest
        .programs
        .iter()
        .chain(&manifest.tensors)
        .map(|entry| (entry.id.as_str(), entry.blake3.as_str()))
        .collect();
    let read = |entry: &Entry| {
        let path = format!("corpus/cases/{}.json", entry.id);
        let text = files.text(&path)?;
        let case: crate::tidy::cases::Case =
            serde_json::from_str(text).map_err(|cause| format!("{path}: {cause}"))?;
        // Names of files stand in quotes, and nothing else does that the manifest has a digest of.
        let named = text.split('"').filter_map(|part| others.get(part));
        let parts: Vec<&str> = std::iter::once(entry.blake3.as_str()).chain(named.copied()).collect();
        let digest = if let [own] = parts.as_slice() { (*own).to_owned() } else { digest(&parts.join(" ")) };
        let crate::tidy::cases::Expect { verdict, mut rules, mut warnings } = case.expect;
        rules.sort();
        warnings.sort();
        Ok((entry.id.clone(), Case { verdict, rules, warnings, digest }))
    };
    manifest.cases.iter().map(read).collect()
}

fn gone(files: &Files) -> Result<Vec<String>, String> {
    const RETIRED: &str = crate::tidy::vanished::RETIRED;
    let retired: BTreeMap<String, String> =
        serde_json::from_str(files.text(RETIRED)?).map_err(|cause| format!("{RETIRED}: {cause}"))?;
    Ok(retired.into_keys().collect())
}

fn clauses(files: &Files, declarations: Vec<Declaration>) -> BTreeMap<String, Clause> {
    let text = |path: &str| path.starts_with("spec/") && path.ends_with(".md");
    let pages: Vec<(String, String)> = files
        .texts()
        .filter(|(path, _)| text(path))
        .map(|(path, text)| (path.to_owned(), text.to_owned()))
        .collect();
    let spec = Spec::from_files(&pages, declarations);
    spec.definitions.iter().map(|definition| (definition.id.clone(), Clause::of(definition))).collect()
}

fn shapes(files: &Files) -> Result<BTreeMap<String, Value>, String> {
    let of = |(path, text): (&str, &str)| {
        let schema = serde_json::from_str(text).map_err(|cause| format!("{path}: {cause}"))?;
        Ok((path.to_owned(), schemas::shape(&schema)))
    };
    files.texts().filter(|(path, _)| versions::schema(path)).map(of).collect()
}

fn digests(files: &Files) -> Result<BTreeMap<String, String>, String> {
    #[derive(Deserialize)]
    struct Record {
        device: Device,
    }
    #[derive(Deserialize)]
    struct Device {
        target: String,
    }
    let mut digests = BTreeMap::new();
    for (path, text) in files.texts() {
        let target = path.starts_with("targets/") && path.ends_with(".json");
        let licence = path.starts_with("LICENSE");
        let record = path.starts_with("evidence/") && path.ends_with(".json");
        let record = if record {
            let record: Record = serde_json::from_str(text).map_err(|cause| format!("{path}: {cause}"))?;
            record.device.target != "host"
        } else {
            false
        };
        if target || licence || record {
            digests.insert(path.to_owned(), digest(text));
        }
    }
    Ok(digests)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ledger() -> Ledger {
        let case = |digest: &str| Case {
            verdict: "reject".to_owned(),
            rules: vec!["R01".to_owned()],
            warnings: Vec::new(),
            digest: digest.to_owned(),
        };
        Ledger {
            ledger: FORM.to_owned(),
            cases: [("a/1".to_owned(), case("1")), ("a/2".to_owned(), case("2"))].into(),
            gone: vec!["a/0".to_owned()],
            changelog: [("0.1.0: - One".to_owned(), "3".to_owned())].into(),
            ..Ledger::default()
        }
    }

    #[test]
    fn a_ledger_is_read_as_it_was_written_one_line_for_each_entry() {
        let text = ledger().to_text().expect("a text");
        assert_eq!(Ledger::read(&text), Ok(ledger()));
        assert!(
            text.contains("\n\"a/2\": {\"verdict\":\"reject\",\"rules\":[\"R01\"],\"digest\":\"2\"}\n"),
            "{text}"
        );
        assert!(
            Ledger::read(&text.replace("\"1.0\"", "\"2.0\"")).is_err_and(|why| why.contains("reads 1.0"))
        );
        assert!(Ledger::read(&text.replace("\"gone\"", "\"went\"")).is_err());
    }

    #[test]
    fn ids_that_went_are_remembered() {
        let mut now =
            Ledger { cases: [ledger().cases.pop_last().expect("a case")].into(), ..Ledger::default() };
        now.remember(&ledger());
        assert_eq!(now.gone, ["a/0", "a/1"]);
    }
}
