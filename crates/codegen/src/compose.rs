//! What is composed of the parts of companions: a list in each crate that does so, and the lines of its dependencies. The parts are
//! the folders below `crates/companions/<name>`.

use std::fs;
use std::path::Path;

use crate::declaration::Declaration;

/// The parts of a companion: folder below its own, what its package is called beyond the companion, and what the lists name of it.
const PARTS: [(&str, &str, &str); 5] = [
    ("model", "", ""),
    ("reference", "-reference", "&{}::COMPANION"),
    ("checker", "-checker", "&{}::CHECKER"),
    ("cases", "-cases", "{}::COMPANION"),
    ("subject", "-subject", "&{}::SUBJECT"),
];

/// A file of lists, with the file that has the dependencies.
struct Composition {
    file: &'static str,
    manifest: &'static str,
    head: &'static str,
    /// Part, its documentation, name and type.
    lists: &'static [(&'static str, &'static str, &'static str, &'static str)],
}

const COMPOSITIONS: [Composition; 3] = [
    Composition {
        file: "crates/conformance/src/companions.rs",
        manifest: "crates/conformance/Cargo.toml",
        head: "//! The checkers of the companions.\n\nuse megakernel_ir::companion::Checker;\n",
        lists: &[("checker", "In order of name.", "CHECKERS", "&dyn Checker")],
    },
    Composition {
        file: "crates/oracle/src/companions.rs",
        manifest: "crates/oracle/Cargo.toml",
        head: "//! The references of the companions.\n\nuse megakernel_reference::commands::Companion;\n",
        lists: &[("reference", "In order of name.", "COMPANIONS", "&Companion")],
    },
    Composition {
        file: "crates/suite/src/companions.rs",
        manifest: "crates/suite/Cargo.toml",
        head: "//! What a spec author runs of the companions.\n\nuse megakernel_corpus::companion::Companion;\n\
               use megakernel_prove::Provable;\nuse megakernel_reference::commands;\n",
        lists: &[
            ("cases", "Their cases.", "CASES", "Companion"),
            ("reference", "Their references.", "REFERENCES", "&commands::Companion"),
            ("subject", "What `prove` proves of them.", "SUBJECTS", "&(dyn Provable + Sync)"),
        ],
    },
];

const WORKSPACE: &str = "Cargo.toml";
const BEGIN: &str = "# Of companions; written by `cargo xtask codegen`.\n";
const END: &str = "# To here.\n";

/// The files with what they should say; Rust still without layout.
///
/// # Errors
/// A manifest cannot be read or lacks its markers, or a companion that is declared has no part at all.
pub fn files(root: &Path, declarations: &[Declaration]) -> Result<Vec<(&'static str, String)>, String> {
    let names: Vec<&str> =
        declarations.iter().map(|each| each.name.as_str()).filter(|&name| name != "core").collect();
    let has = |name: &str, part: &str| {
        root.join("crates/companions").join(name).join(part).join("Cargo.toml").is_file()
    };
    for Composition { file, lists, .. } in &COMPOSITIONS {
        let lacks = |declaration: &&Declaration| {
            // Where one answer alone is right, there is nothing to check.
            let needed = |part: &str| part != "checker" || !declaration.checks.is_empty();
            declaration.name != "core"
                && lists.iter().any(|(part, ..)| needed(part))
                && !lists.iter().any(|(part, ..)| has(&declaration.name, part))
        };
        if let Some(Declaration { name, .. }) = declarations.iter().find(lacks) {
            let parts: Vec<&str> = lists.iter().map(|(part, ..)| *part).collect();
            return Err(format!(
                "{file} has no line for the companion `{name}`: there is no crate in crates/companions/{name}/{{{}}}",
                parts.join(",")
            ));
        }
    }
    let mut out = Vec::new();
    for Composition { file, manifest, head, lists } in &COMPOSITIONS {
        let mut text = (*head).to_owned();
        let mut lines = String::new();
        for (part, documentation, list, kind) in *lists {
            let Some((_, end, line)) = PARTS.iter().find(|(folder, ..)| folder == part) else { continue };
            let mut members = String::new();
            for name in names.iter().filter(|name| has(name, part)) {
                let package = format!("megakernel-{name}{end}");
                members.push_str(&format!("    {},\n", line.replace("{}", &package.replace('-', "_"))));
                lines.push_str(&format!("{package}.workspace = true\n"));
            }
            text.push_str(&format!(
                "\n/// {documentation}\npub static {list}: &[{kind}] = &[\n{members}];\n"
            ));
        }
        out.push((*file, text));
        out.push((*manifest, between(root, manifest, &sorted(&lines))?));
    }
    let mut lines = String::new();
    for name in &names {
        for (part, end, _) in PARTS.iter().filter(|(part, ..)| has(name, part)) {
            let path = format!("crates/companions/{name}/{part}");
            lines.push_str(&format!("megakernel-{name}{end} = {{ path = \"{path}\" }}\n"));
        }
    }
    out.push((WORKSPACE, between(root, WORKSPACE, &sorted(&lines))?));
    Ok(out)
}

fn sorted(lines: &str) -> String {
    let mut lines: Vec<&str> = lines.lines().collect();
    lines.sort_unstable();
    lines.iter().map(|line| format!("{line}\n")).collect()
}

/// A manifest with these lines between its markers.
fn between(root: &Path, file: &str, lines: &str) -> Result<String, String> {
    let text = fs::read_to_string(root.join(file)).map_err(|cause| format!("{file}: {cause}"))?;
    let cut = text.split_once(BEGIN).and_then(|(before, rest)| Some((before, rest.split_once(END)?.1)));
    let (before, after) = cut.ok_or_else(|| {
        format!("{file} lacks the lines `{}` and `{}` around its companions", BEGIN.trim(), END.trim())
    })?;
    Ok(format!("{before}{BEGIN}{lines}{END}{after}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_declared_companion_needs_a_part_everywhere() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let mut all = Declaration::read_all(&root).expect("declarations");
        let files_of = files(&root, &all).expect("the repository is composed");
        assert!(files_of.iter().any(|(path, text)| path.ends_with("suite/src/companions.rs")
            && text.contains("megakernel_task_graph_cases::COMPANION")));
        // One that declares checks, so that it needs a checker.
        let checked = all.iter_mut().find(|one| one.name == "task-graph").expect("task graphs");
        checked.name = "nobody".to_owned();
        let problem = files(&root, &all).expect_err("it has no crate");
        assert!(problem.contains("crates/conformance/src/companions.rs") && problem.contains("`nobody`"));
    }
}
