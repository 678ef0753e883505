//! The commands of the page `examples/mcir/README.md`, as they stand there, and what it says of a decoder layer.

use std::path::Path;
use std::process::Command;

use megakernel_numerics::{DType, decode};
use megakernel_test_support::tools::{Tool, require};
use megakernel_test_support::{files, root};
use serde_json::Value;

/// The commands of a block of the page, which is named by a line of it.
fn commands(page: &str, line: &str) -> Vec<String> {
    let blocks = page.split("```console\n").skip(1).filter_map(|rest| rest.split("```").next());
    let block = blocks.into_iter().find(|block| block.contains(line)).expect("a block of commands");
    block.lines().map(|line| line.strip_prefix("$ ").expect("a command").to_owned()).collect()
}

/// What a line of a shell prints in a folder, where `command` of the page stands for it.
fn shell(folder: &Path, command: &str, line: &str) -> String {
    let output =
        Command::new("/bin/sh").args(["-c", line]).current_dir(folder).output().expect("the shell starts");
    assert!(output.status.success(), "{command}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// Runs a command of the reference in a folder, and gives back what it prints.
fn run(folder: &Path, command: &str) -> String {
    let rest = command.strip_prefix("megakernel-reference ").expect("a command of the reference");
    shell(folder, command, &format!("'{}' {rest}", env!("CARGO_BIN_EXE_megakernel-reference")))
}

/// The same of a command of the page that may be a script in Python.
fn printed(folder: &Path, command: &str) -> Option<Value> {
    let program = env!("CARGO_BIN_EXE_megakernel-reference");
    let text = match command.strip_prefix("python3 ") {
        None => run(folder, command),
        Some(rest) => {
            let rest = rest.replace("target/debug/megakernel-reference", program);
            shell(folder, command, &format!("{} {rest}", require(Tool::Python)))
        }
    };
    (!text.is_empty()).then(|| serde_json::from_str(&text).expect("JSON"))
}

/// A folder in which the corpus and the examples are found.
fn folder() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for name in ["corpus", "examples", "targets"] {
        std::os::unix::fs::symlink(root().join(name), folder.path().join(name)).expect("a link");
    }
    folder
}

#[test]
fn a_decoder_layer_becomes_the_program_that_the_page_tells() {
    let page = files::text(&root().join("examples/mcir/README.md"));
    let folder = folder();
    let mut last = String::new();
    for command in commands(&page, "layer.json") {
        last = run(folder.path(), &command);
    }
    assert!(last.contains("program.json: accepted, 0 errors"));
    let program = files::json(&folder.path().join("program.json"));
    let binding = files::json(&folder.path().join("binding.json"));
    assert_eq!(binding["logits"]["tensor"], "logits");
    // Those that the page runs on the kernels, in a test of theirs.
    let kept = |name: &str| files::json(&root().join("examples/mcir/layer").join(name));
    assert!(
        program == kept("program.json") && binding == kept("binding.json"),
        "other files than those kept"
    );
    let tasks: Vec<&Value> = program["tasks"].as_array().expect("tasks").iter().collect();
    let numbers = [(1, "one"), (2, "two"), (3, "three"), (10, "ten")];
    let counted = |op: &str| {
        let count = tasks.iter().filter(|task| task["op"] == op).count();
        let number = numbers.iter().find(|&&(number, _)| number == count).map_or("?", |&(_, number)| number);
        format!("{number} {op}")
    };
    let [gemm, attention, norm, add, copy, silu] =
        ["GEMM_TILE", "ATTENTION_TILE", "RMSNORM", "ADD", "COPY", "SILU_MUL"].map(counted);
    let sentence = format!("The program has {gemm}, {attention}, {norm}, {add}, {copy} and {silu}.");
    assert!(page.contains(&sentence), "the page lacks: {sentence}");
    assert_eq!(tasks.len(), 10 + 2 + 3 + 3 + 2 + 1, "no other tasks");
}

/// Runs a row of commands over kernel selection and task graphs, whose plan has the kernels that the page tells.
fn over_selection(graph: &str) -> tempfile::TempDir {
    let page = files::text(&root().join("examples/mcir/README.md"));
    let folder = folder();
    let all: Vec<String> = commands(&page, graph);
    let printed: Vec<String> = all.iter().map(|command| run(folder.path(), command)).collect();
    for (what, said) in
        [(" validate-task-graph ", "accepted, 0 errors"), (" validate ", "accepted, 0 errors")]
    {
        let place = all.iter().position(|command| command.contains(what)).expect("a command");
        assert!(printed[place].contains(said), "{}: {}", all[place], printed[place]);
    }
    let plan = files::json(&folder.path().join("plan.json"));
    let regions = plan["regions"].as_array().expect("regions");
    let kernels: Vec<&str> = regions.iter().filter_map(|region| region["kernel"].as_str()).collect();
    let sentence = format!("Its regions become the kernels `{}`.", kernels.join("`, `"));
    assert!(page.contains(&sentence), "the page lacks: {sentence}");
    folder
}

#[test]
fn a_block_goes_over_selection_and_task_graphs_as_the_page_tells() {
    over_selection("block.json");
}

#[test]
fn a_decoder_layer_goes_over_task_types_to_the_tokens_of_a_program_by_hand() {
    let folder = over_selection("mcir/decoder.json");
    for name in ["graph", "program", "binding"] {
        let kept = root().join("examples/mcir/decoder").join(name).with_extension("json");
        let made = folder.path().join(name).with_extension("json");
        assert!(files::json(&made) == files::json(&kept), "{} is another one", kept.display());
    }
    let page = files::text(&root().join("examples/mcir/README.md"));
    let of_vm =
        |line: &&str| line.contains("--kernel-graph") && line.contains("'megakernel-reference worker'");
    let line = page.lines().find(of_vm).and_then(|line| line.strip_prefix("$ python3 ")).expect("a command");
    let worker = format!("{} worker", env!("CARGO_BIN_EXE_megakernel-reference"));
    let rest = line.replace("megakernel-reference worker", &worker);
    let tokens = shell(folder.path(), line, &format!("{} {rest}", require(Tool::Python)));
    let tokens: Value = serde_json::from_str(&tokens).expect("JSON");
    assert_eq!(tokens, files::json(&root().join("examples/mcir/decoder/data.json"))["tokens"]);
    assert_eq!(tokens.as_array().map(Vec::len), Some(6));
}

#[test]
fn attention_goes_from_its_graph_to_a_program_and_to_the_least_that_it_moves() {
    let page = files::text(&root().join("examples/mcir/README.md"));
    let folder = folder();
    for command in commands(&page, "generate-mcir") {
        let made = run(folder.path(), &command);
        // The measures of the document, whose scores are stored nowhere.
        if command.contains("measure-mcir") {
            let measures: Value = serde_json::from_str(&made).expect("JSON");
            assert_eq!(measures["materialized"], Value::Array(Vec::new()));
        }
    }
    let ways: Vec<Value> =
        commands(&page, "data-mcir").iter().filter_map(|command| printed(folder.path(), command)).collect();
    let (interpreter, others) = ways.split_first().expect("the interpreter comes first");
    let numbers = |answer: &Value| -> Vec<f64> {
        let bits = answer["data"]["O"].as_array().expect("an output").iter();
        bits.map(|bits| decode(DType::F16, u32::try_from(bits.as_u64().expect("bits")).expect("16 of them")))
            .collect()
    };
    let wanted = numbers(interpreter);
    assert!(wanted.iter().any(|number| number.abs() > 0.1), "{wanted:?}");
    assert_eq!(others.len(), 2, "by its generated code and as a program");
    for other in others.iter().map(numbers) {
        assert_eq!(other.len(), wanted.len());
        let is_near = |(a, b): (&f64, &f64)| (a - b).abs() <= a.abs() / 512.0;
        assert!(wanted.iter().zip(&other).all(is_near), "{wanted:?} and {other:?}");
    }
    let families: Vec<Value> = commands(&page, "family-mcir")
        .iter()
        .map(|command| serde_json::from_str(&run(folder.path(), command)).expect("JSON"))
        .collect();
    let [all, busy] = families.as_slice() else { unreachable!("{families:?}") };
    // Twelve queries and ten keys are one tile, and no 132 blocks.
    assert_eq!(all["members"].as_array().map(Vec::len), Some(1));
    assert_eq!(all["least"], all["members"][0]);
    assert_eq!((&all["least"]["queries"], &all["least"]["keys"]), (&Value::from(12), &Value::from(10)));
    assert_eq!((&busy["members"], &busy["least"]), (&all["members"], &Value::Null));
}
