//! The command line of `megakernel-conform`, beyond what the snapshots show: shells as workers, files, the corpus of the repository.

use std::collections::BTreeSet;

use megakernel_numerics::TensorFile;
use megakernel_test_support::files;
use std::process::{Command, Output};

/// A worker for a shell: claims `format` and gives every request the answer `$1`, with `ID` replaced.
const WORKER: &str = r#"read hello
echo '{"type":"hello","protocol":"1.0","name":"sh","version":"1","profiles":["format"]}'
while read -r request; do
  id=${request#*\"id\":}; id=${id%%,*}
  echo "$1" | sed "s/ID/$id/"
done"#;

fn conform(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_megakernel-conform"))
        .arg("run")
        .args(arguments)
        .env_remove("NO_COLOR")
        .output()
        .expect("it starts")
}

/// The command line of [`WORKER`] with an answer.
fn worker(directory: &tempfile::TempDir, answer: &str) -> String {
    let script = directory.path().join("worker with spaces.sh");
    std::fs::write(&script, WORKER).expect("a file");
    format!("sh '{}' '{answer}'", script.display())
}

fn stdout(output: &Output) -> String {
    String::from_utf8(output.stdout.clone()).expect("UTF-8")
}

#[test]
fn a_worker_without_handshake_does_not_conform() {
    let output = conform(&["--impl", "echo hello", "--filter", "accept/record/*"]);
    assert_eq!(output.status.code(), Some(1));
    let text = stdout(&output);
    assert!(text.contains("no handshake: worker wrote a line that is no message of the protocol"), "{text}");
    let last = text.lines().last().expect("a last line");
    assert!(last.starts_with("0 passed, ") && last.ends_with(" failed, 0 skipped"), "{last}");
}

#[test]
fn a_worker_is_any_command_with_arguments() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let accepts = worker(&directory, r#"{"type":"response","id":ID,"outcome":"accept"}"#);
    let json = directory.path().join("report.json");
    let file = json.to_str().expect("UTF-8");
    let good =
        conform(&["--impl", &accepts, "--filter", "accept/record/*", "--profile", "format", "--json", file]);
    let text = stdout(&good);
    assert_eq!(good.status.code(), Some(3), "{text}");
    assert!(text.contains("  conforms in part: 0 of 22 rules, "), "{text}");
    assert!(text.starts_with("sh 1, claims format\n"), "{text}");
    assert!(text.lines().last().expect("a last line").ends_with(" passed, 0 failed, 0 skipped"));
    assert!(!text.contains('\x1b'), "colour, but no terminal");
    let report = std::fs::read_to_string(json).expect("the report was written");
    assert!(report.contains(r#""verdict": "conforms in part""#));

    let unclaimed = conform(&["--impl", &accepts, "--filter", "accept/record/*", "--profile", "launch"]);
    assert_eq!(unclaimed.status.code(), Some(1));
    assert!(stdout(&unclaimed).contains("asked for, but the worker does not claim it"));

    let rejects = worker(&directory, r#"{"type":"response","id":ID,"outcome":"reject","diagnostics":[]}"#);
    let bad = conform(&["--impl", &rejects, "--filter", "accept/record/*", "--limit", "1"]);
    assert_eq!(bad.status.code(), Some(1));
    assert!(stdout(&bad).contains("rerun     megakernel-conform run --impl "), "{}", stdout(&bad));
}

#[test]
fn a_report_that_cannot_be_kept_is_still_printed() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let accepts = worker(&directory, r#"{"type":"response","id":ID,"outcome":"accept"}"#);
    let file = directory.path().join("no/such/directory/report.json");
    let output = conform(&[
        "--impl",
        &accepts,
        "--filter",
        "structure/ids/*",
        "--timeout",
        "60",
        "--json",
        file.to_str().expect("UTF-8"),
    ]);
    assert_eq!(output.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&output.stderr).contains("report.json cannot be written"));
    let text = stdout(&output);
    assert!(text.contains(" --timeout 60 --profile format --filter structure/ids/"), "{text}");
    assert!(text.ends_with(" skipped\n"), "{text}");
}

#[test]
fn the_selection_can_be_listed() {
    let output = conform(&["--filter", "accept/*", "--profile", "launch", "--list"]);
    assert_eq!(output.status.code(), Some(0));
    let text = stdout(&output);
    assert!(!text.is_empty());
    assert!(text.lines().all(|line| line.starts_with("accept/") && line.ends_with(" launch")), "{text}");
}

fn command(arguments: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_megakernel-conform")).args(arguments).output().expect("it starts")
}

#[test]
fn the_document_of_a_case_is_printed_as_it_is_sent() {
    let case = "race/first-k-of-n/gemv-four-tiles-2-of-4";
    let output = command(&["document", case]);
    assert_eq!(output.status.code(), Some(0));
    let document: serde_json::Value = serde_json::from_slice(&output.stdout).expect("a JSON document");
    assert_eq!(document.pointer("/tasks/5/waits/0/threshold"), Some(&serde_json::json!(2)));
}

#[test]
fn the_corpus_may_be_named_by_the_environment() {
    let list = |corpus: &str| {
        Command::new(env!("CARGO_BIN_EXE_megakernel-conform"))
            .args(["list", "--filter", "accept/record/*", "--profile", "format"])
            .env("MEGAKERNEL_CORPUS", corpus)
            .output()
            .expect("it starts")
    };
    let found = list(concat!(env!("CARGO_MANIFEST_DIR"), "/../../corpus"));
    assert_eq!(found.status.code(), Some(0));
    assert!(stdout(&found).lines().all(|line| line.starts_with("accept/record/")));
    let none = list("/nonexistent");
    assert_eq!(none.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&none.stderr).contains("/nonexistent/cases"));
}

#[test]
fn exported_cases_are_whole() {
    let directory = tempfile::tempdir().expect("a temporary directory");
    let folder = directory.path().join("cases");
    let to = folder.to_str().expect("UTF-8");
    let output = command(&[
        "export",
        to,
        "--filter",
        "{accept/record/empty,numeric/copy/random/*,numeric/gemm-tile/mixed/*}",
    ]);
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    let empty = folder.join("accept/record/empty");
    let sent = command(&["document", "accept/record/empty"]).stdout;
    assert_eq!(std::fs::read(empty.join("document.json")).expect("a file"), sent);
    let case = std::fs::read(empty.join("case.json")).expect("a file");
    let original = concat!(env!("CARGO_MANIFEST_DIR"), "/../../corpus/cases/accept/record/empty.json");
    assert_eq!(case, std::fs::read(original).expect("a file"));
    let copies = files::below(&folder.join("numeric/copy"));
    let case = copies.iter().find(|path| path.ends_with("case.json")).expect("a case that executes");
    let copy = case.parent().expect("the folder of the case");
    assert!(copy.join("launches/0.json").is_file() && copy.join("tensors").is_dir());
    // Of a case with tensors of both kinds under one name, what the formula gives lies beside the others.
    let mixed = folder.join("numeric/gemm-tile/mixed/2x5x24-tiles-of-1x3-mixed-i4-f16-i4-f16-f8e4m3-to-f32");
    let inputs = mixed.join("tensors/numeric/gemm-tile/mixed");
    let named = |ending: &str| {
        inputs.join(format!("2x5x24-tiles-of-1x3-mixed-i4-f16-i4-f16-f8e4m3{ending}.safetensors"))
    };
    let (stored, formula) = (std::fs::read(named("")), std::fs::read(named(".formula")));
    let names =
        |file: &[u8]| TensorFile::read(file).expect("tensors").tensors.into_keys().collect::<BTreeSet<_>>();
    let (stored, formula) = (names(&stored.expect("a file")), names(&formula.expect("a file")));
    assert!(
        !stored.is_empty() && !formula.is_empty() && stored.is_disjoint(&formula),
        "{stored:?} {formula:?}"
    );
    let again = command(&["export", to]);
    assert_eq!(again.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&again.stderr).contains("is not empty"));
}

/// What bash offers for the last of the words, by the script that the program prints.
fn completed(words: &[&str]) -> Vec<String> {
    let script = r#"
source <("$1" completion bash); shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
registered=$(complete -p "$1"); function=${registered#*-F }
"${function%% *}" "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
printf '%s\n' "${COMPREPLY[@]}""#;
    let mut bash = Command::new("bash");
    bash.args(["-c", script, "bash", env!("CARGO_BIN_EXE_megakernel-conform"), "megakernel-conform"]);
    let output = bash.args(words).output().expect("bash");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    stdout(&output).lines().map(str::to_owned).collect()
}

#[test]
fn a_shell_completes_commands_options_and_shells() {
    assert_eq!(completed(&["stat"]), ["statement"]);
    assert_eq!(completed(&["run", "--known"]), ["--known-failures"]);
    assert_eq!(completed(&["completion", "zs"]), ["zsh"]);
    assert_eq!(completed(&["merge", "--shard"]), [""], "`merge` has no such option");
}

#[test]
fn each_command_has_a_manual_page_with_all_its_options() {
    let folder = tempfile::tempdir().expect("a temporary directory");
    let program = || Command::new(env!("CARGO_BIN_EXE_megakernel-conform"));
    let written = program().arg("manual").arg(folder.path()).output().expect("it starts");
    assert!(written.status.success(), "{written:?}");
    let help = stdout(&program().arg("-h").output().expect("it starts"));
    let commands = help.lines().skip_while(|line| *line != "Commands:").skip(1);
    let commands: Vec<&str> =
        commands.map_while(|line| line.split_whitespace().next()).filter(|&name| name != "help").collect();
    assert!(commands.contains(&"run") && commands.contains(&"evidence"), "{commands:?}");
    for command in commands {
        let page = folder.path().join(format!("megakernel-conform-{command}.1"));
        let page = std::fs::read_to_string(page).expect("a page").replace('\\', "");
        let help = stdout(&program().args([command, "-h"]).output().expect("it starts"));
        let options = help
            .lines()
            .filter_map(|line| line.trim_start().split([' ', ',']).find(|word| word.starts_with("--")));
        for option in options {
            assert!(page.contains(option), "the page of {command} does not name {option}");
        }
    }
    let nowhere = program().arg("manual").arg(folder.path().join("none")).output().expect("it starts");
    assert_eq!(nowhere.status.code(), Some(2));
    assert!(String::from_utf8_lossy(&nowhere.stderr).contains("none: No such file"), "{nowhere:?}");
}
