//! What `docs/implementing.md` and `adapters/README.md` say about the libraries: code is that of the files, and commands are run.

use std::path::Path;
use std::process::Command;

use megakernel_test_support::tools::{Tool, require};
use megakernel_test_support::{files, root};

use super::languages::Language;

const PAGE: &str = "docs/implementing.md";

/// The section of a language.
fn section(page: &str, language: Language) -> String {
    let text = files::text(&root().join(page));
    let heading = match language {
        Language::Python => "\n### In Python\n",
        Language::Cpp => "\n### In C++\n",
        Language::Go => "\n### In Go\n",
        Language::Rust => "\n### In Rust\n",
    };
    let (_, after) = text.split_once(heading).expect(heading);
    // The code has lines that begin with one `#`.
    let section = after.split("\n### ").next().and_then(|text| text.split("\n## ").next());
    section.expect("a section").to_owned() + "\n"
}

/// The text of the one block of a kind.
fn block(section: &str, kind: &str) -> String {
    let fence = format!("```{kind}\n");
    let mut blocks = section.split(&fence).skip(1);
    let text =
        blocks.next().and_then(|rest| rest.split_once("\n```\n")).expect("a block").0.to_owned() + "\n";
    assert!(blocks.next().is_none(), "one block of {kind}");
    text
}

#[test]
fn the_page_shows_the_minimal_workers_as_they_are() {
    for (language, kind) in
        [(Language::Python, "python"), (Language::Cpp, "cpp"), (Language::Go, "go"), (Language::Rust, "rust")]
    {
        let shown = block(&section(PAGE, language), kind);
        assert_eq!(
            shown,
            files::text(&language.source("minimal")),
            "{PAGE} shows another worker in {language:?}"
        );
    }
}

#[test]
fn the_commands_of_the_readme_are_those_of_the_page() {
    let (readme, page) = (files::text(&root().join("adapters/README.md")), files::text(&root().join(PAGE)));
    let commands: Vec<&str> = readme.lines().filter(|line| line.starts_with("$ ")).collect();
    assert_eq!(commands.len(), 7, "{commands:#?}");
    for command in commands {
        assert!(
            page.lines().any(|line| line == command),
            "{PAGE} has no `{command}`, so that nobody runs it"
        );
    }
}

/// Runs the commands of a language's section, with what is built in a folder of its own, and compares the last line of each output that is
/// shown.
fn run(page: &str, language: Language) {
    let built = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("page-{language:?}"));
    std::fs::create_dir_all(&built).expect("a folder");
    let mut shown: Vec<(String, Option<String>)> = Vec::new();
    for line in block(&section(page, language), "console").lines() {
        match line.strip_prefix("$ ") {
            Some(command) => shown.push((command.to_owned(), None)),
            None => shown.last_mut().expect("a command comes first").1 = Some(line.to_owned()),
        }
    }
    assert!(shown.iter().any(|(_, last)| last.is_some()), "{page}: no output is shown for {language:?}");
    for (command, last) in shown {
        let (runner, folder) = (env!("CARGO_BIN_EXE_megakernel-conform"), built.display().to_string());
        let told = command
            .replace("cargo xtask conform", &format!("{runner} run"))
            .replace("../../target/", &format!("{folder}/"))
            .replace(" target/", &format!(" {folder}/"))
            .replace("'python3 ", &format!("'{} ", require(Tool::Python)));
        let told = match told.strip_prefix("go ") {
            Some(rest) => format!("{} {rest}", require(Tool::Go)),
            None => told,
        };
        let cache = Path::new(env!("CARGO_TARGET_TMPDIR")).join("go-cache");
        let output = Command::new("sh")
            .args(["-c", &told])
            .current_dir(root())
            .env("CARGO_TARGET_DIR", &built)
            .env("GOCACHE", cache)
            .envs([("GOPROXY", "off"), ("GOTOOLCHAIN", "local")])
            .output()
            .expect("a shell");
        let (out, said) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
        match last {
            // A part of the corpus conforms in part.
            Some(last) => {
                assert_eq!(output.status.code(), Some(3), "{command}\n{out}{said}");
                assert_eq!(
                    out.lines().last(),
                    Some(last.as_str()),
                    "{command} says something else in {page}"
                );
            }
            None => assert!(output.status.success(), "{command}\n{out}{said}"),
        }
    }
}

#[test]
#[ignore = "needs minutes; the release gate runs it"]
fn minutes_the_commands_for_python_cpp_and_rust_do_what_the_page_shows() {
    run(PAGE, Language::Python);
    run(PAGE, Language::Cpp);
    run(PAGE, Language::Rust);
}

#[test]
#[ignore = "needs Go, which checks/run --prepare installs"]
fn the_commands_for_go_do_what_the_page_shows() {
    run(PAGE, Language::Go);
}
