//! The versions that the text states are those of the code. docs/versioning.md says what each of them is about.

use std::collections::BTreeMap;

use super::tree::Files;

/// A version: its name, where the code has it, and the sentences that state it, with `{}` in its place.
struct Version {
    name: &'static str,
    source: (&'static str, &'static str),
    stated: &'static [(&'static str, &'static str)],
}

/// The page with a row for each version.
const PAGE: &str = "docs/versioning.md";

const VERSIONS: &[Version] = &[
    Version {
        name: "suite",
        source: ("Cargo.toml", "version = "),
        stated: &[
            ("CHANGELOG.md", "\n## {}"),
            (PAGE, "| suite | `{}` |"),
            ("adapters/python/pyproject.toml", "\nversion = \"{}\""),
            ("adapters/python/src/megakernel_adapter/__init__.py", "\n__version__ = \"{}\""),
            ("adapters/cpp/megakernel_adapter.hpp", "\n// Version {}. "),
            ("adapters/go/adapter.go", "\nconst Version = \"{}\""),
            ("adapters/rust/Cargo.toml", "\nversion = \"{}\""),
        ],
    },
    Version {
        name: "ir",
        source: ("crates/ir/src/read/versions.rs", "pub const IR_VERSION: &str = "),
        stated: &[
            ("spec/README.md", "describes format version `{}`"),
            ("spec/README.md", "*Megakernel IR {}, R01*"),
            ("spec/data-model.md", "| `ir_version` | text | version of the format, `{}` here."),
            ("spec/format.md", "This specification describes `ir_version` `{}`"),
            ("spec/conformance.md", "\"document\":\"{\\\"ir_version\\\":\\\"{}\\\","),
            ("docs/implementing.md", "\"document\":\"{\\\"ir_version\\\":\\\"{}\\\","),
            ("CHANGELOG.md", "for IR {}, ABI "),
            (PAGE, "| ir | `{}` |"),
        ],
    },
    Version {
        name: "abi",
        source: ("crates/ir/src/read/versions.rs", "pub const ABI_VERSION: &str = "),
        stated: &[
            ("spec/README.md", "and ABI version `{}`."),
            ("spec/data-model.md", "| `abi_version` | text | version of the device records, `{}` here"),
            ("spec/format.md", "and `abi_version` `{}`."),
            ("spec/abi.md", "This version describes ABI `{}`."),
            ("CHANGELOG.md", ", ABI {} and protocol "),
            (PAGE, "| abi | `{}` |"),
        ],
    },
    Version {
        name: "protocol",
        source: ("crates/ir/src/protocol/mod.rs", "pub const PROTOCOL: &str = "),
        stated: &[
            ("spec/conformance.md", "\n{\"type\":\"hello\",\"protocol\":\"{}\"}"),
            ("spec/conformance.md", "\n{\"type\":\"hello\",\"protocol\":\"{}\",\"name\""),
            ("spec/conformance.md", "that the worker speaks; this chapter is `{}`."),
            ("docs/implementing.md", "\n{\"type\":\"hello\",\"protocol\":\"{}\"}"),
            ("CHANGELOG.md", " and protocol {}."),
            (PAGE, "| protocol | `{}` |"),
            ("adapters/python/src/megakernel_adapter/worker.py", "\nPROTOCOL = \"{}\""),
            ("adapters/cpp/megakernel_adapter.hpp", "char* protocol = \"{}\";"),
            ("adapters/go/adapter.go", "\nconst Protocol = \"{}\""),
            ("adapters/rust/src/lib.rs", "PROTOCOL: &str = \"{}\";"),
        ],
    },
    Version {
        name: "oracle",
        source: ("crates/ir/src/protocol/oracle.rs", "pub const ORACLE: &str = "),
        stated: &[
            ("docs/oracle.md", "`{\"type\":\"hello\",\"oracle\":\"{}\"}`"),
            (PAGE, "| oracle | `{}` |"),
        ],
    },
    Version {
        name: "report",
        source: ("crates/conformance/src/report/mod.rs", "pub const FORMAT: &str = "),
        stated: &[
            ("spec/conformance.md", "Its member `report` is the version of its form, `{}`:"),
            ("schemas/report.schema.json", "\"report\": { \"type\": \"string\", \"const\": \"{}\""),
            (PAGE, "| report | `{}` |"),
        ],
    },
    Version {
        name: "statement",
        source: ("crates/conformance/src/statement.rs", "pub const FORMAT: &str = "),
        stated: &[
            ("spec/conformance.md", "| `statement` | version of this form: `{}` |"),
            ("schemas/statement.schema.json", "\"statement\": { \"type\": \"string\", \"const\": \"{}\""),
            (PAGE, "| statement | `{}` |"),
        ],
    },
    Version {
        name: "evidence",
        source: ("crates/conformance/src/evidence/mod.rs", "pub const FORMAT: &str = "),
        stated: &[
            ("spec/executions.md", "| `evidence` | version of this form: `{}` |"),
            ("schemas/evidence.schema.json", "\"evidence\": { \"type\": \"string\", \"enum\": [\"{}\""),
            (PAGE, "| evidence | `{}` |"),
        ],
    },
    Version {
        name: "target record",
        // No program of ours reads these records whole; their schema is what holds them to a form.
        source: ("schemas/target-record.schema.json", "\"record\": { \"type\": \"string\", \"const\": "),
        stated: &[
            ("spec/target-and-config.md", "| `record` | version of this form: `{}` |"),
            (PAGE, "| target record | `{}` |"),
        ],
    },
    Version {
        name: "generator",
        source: ("crates/corpus/src/families/sink.rs", "pub const GENERATOR: &str = "),
        stated: &[("corpus/manifest.json", "\"generator\": \"{}\""), (PAGE, "| generator | `{}` |")],
    },
];

/// The versions in the code, by name.
///
/// # Errors
/// A constant is not where it was.
pub fn read(files: &Files) -> Result<BTreeMap<String, String>, String> {
    let found = |version: &Version| {
        let (path, before) = version.source;
        let text = files.text(path)?;
        let after = text.split_once(&format!("{before}\"")).map(|(_, after)| after);
        let value = after.and_then(|after| after.split_once('"')).map(|(value, _)| value.to_owned());
        let value = value.ok_or_else(|| {
            format!("{path}: there is no `{before}\"...\"`, the version `{}`: see {PAGE}", version.name)
        });
        Ok((version.name.to_owned(), value?))
    };
    VERSIONS.iter().map(found).collect()
}

/// Sentences that state another version than the code has, and `$id`s that are not of the suite's major and minor part.
///
/// # Errors
/// A constant is not where it was.
pub fn unlike(files: &Files) -> Result<Vec<String>, String> {
    let versions = read(files)?;
    let mut problems = Vec::new();
    for Version { name, source, stated } in VERSIONS {
        let value = versions.get(*name).map(String::as_str).unwrap_or_default();
        for (path, sentence) in *stated {
            let wanted = fill(sentence, value);
            if files.text(path).is_ok_and(|text| format!("\n{text}").contains(&wanted)) {
                continue;
            }
            problems.push(format!(
                "{path}: does not say `{}`, and {} has version {value} of `{name}`: make them agree",
                wanted.trim(),
                source.0
            ));
        }
    }
    let suite = versions.get("suite").map(String::as_str).unwrap_or_default();
    if versions.get("generator").is_some_and(|generator| generator != suite) {
        problems.push(format!(
            "crates/corpus/src/families/sink.rs: the generator's version is not {suite}, that of the suite in Cargo.toml"
        ));
    }
    let series: Vec<&str> = suite.split('.').take(2).collect();
    for (path, text) in files.texts().filter(|(path, _)| schema(path)) {
        let name = path.trim_start_matches("schemas/");
        let wanted = format!(
            "\"$id\": \"https://megakernel-conformance.invalid/schemas/{}/{name}\"",
            series.join(".")
        );
        if !text.contains(&wanted) {
            problems
                .push(format!("{path}: has no `{wanted}`: the `$id` has major and minor part of the suite"));
        }
    }
    Ok(problems)
}

/// The sentence with the version in the place of the last `{}`.
fn fill(sentence: &str, value: &str) -> String {
    match sentence.rsplit_once("{}") {
        Some((before, after)) => format!("{before}{value}{after}"),
        None => sentence.to_owned(),
    }
}

/// Whether a file is a schema, and not one of its tests.
pub fn schema(path: &str) -> bool {
    path.strip_prefix("schemas/").is_some_and(|name| name.ends_with(".schema.json") && !name.contains('/'))
}
