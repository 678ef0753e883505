//! Which changes of the reference's validators the corpus rejects: see `checks/README.md`.

mod list;
mod schemata;
mod tree;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use list::Mutant;
use schemata::Refused;
use tree::Tree;

const USAGE: &str = "usage:
  megakernel-check-mutants build
      list the mutants, and make a program that has them all
  megakernel-check-mutants play [--mutants TEXT]... [--status TEXT]... [--filter GLOB] [--corpus FOLDER] [--budget SECONDS] [--jobs N]
      play the cases that match to the mutants whose number is, or whose name contains, one of the texts (all), and whose
      status so far is one of these (all); the results are kept unless there is a filter or another corpus
  megakernel-check-mutants show TEXT...
      what is known of these mutants, and what they change
  megakernel-check-mutants report
      write survivors.json and survivors.txt, and print a table";

/// What was built.
#[derive(Serialize, Deserialize)]
struct Built {
    mutants: Vec<Mutant>,
    refused: BTreeSet<u32>,
    /// Not made: in places that this program does not know.
    unknown: BTreeSet<u32>,
}

type Results = BTreeMap<u32, Map<String, Value>>;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let done = match arguments.split_first() {
        Some((command, rest)) => match command.as_str() {
            "build" => build(),
            "play" => play(rest),
            "show" => show(rest),
            "report" => report(),
            _ => Err(USAGE.to_owned()),
        },
        None => Err(USAGE.to_owned()),
    };
    done.map_or_else(
        |error| {
            eprintln!("{error}");
            ExitCode::from(2)
        },
        |()| ExitCode::SUCCESS,
    )
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn folder() -> PathBuf {
    root().join("target/mutants")
}

fn tree() -> Tree {
    Tree { root: root(), tree: folder().join("tree") }
}

fn read<T: for<'d> Deserialize<'d>>(name: &str) -> Result<T, String> {
    let path = folder().join(name);
    let text =
        fs::read(&path).map_err(|cause| format!("{}: {cause}; `build` comes first", path.display()))?;
    serde_json::from_slice(&text).map_err(|cause| format!("{}: {cause}", path.display()))
}

fn write(name: &str, text: impl AsRef<[u8]>) -> Result<(), String> {
    let path = folder().join(name);
    fs::create_dir_all(folder())
        .and_then(|()| fs::write(&path, text))
        .map_err(|cause| format!("{}: {cause}", path.display()))
}

fn to_json(value: &impl Serialize) -> Result<Vec<u8>, String> {
    serde_json::to_vec_pretty(value).map_err(|cause| cause.to_string())
}

fn build() -> Result<(), String> {
    let mutants = list::list(&root())?;
    eprintln!("{} mutants", mutants.len());
    // What the compiler refused of the same list before, it refuses again.
    let known: Option<(Vec<Mutant>, Refused)> = read("refused.json").ok();
    let mut refused =
        known.filter(|(list, _)| *list == mutants).map(|(_, refused)| refused).unwrap_or_default();
    let unknown = tree().build(&mutants, &mut refused)?;
    write("refused.json", to_json(&(&mutants, &refused))?)?;
    eprintln!("{} do not compile, {} were not made", refused.mutants.len(), unknown.len());
    write("results.json", "{}")?;
    write("mutants.json", to_json(&Built { mutants, refused: refused.mutants, unknown })?)
}

fn selects(texts: &[String], mutant: &Mutant) -> bool {
    let one = |text: &String| text.parse() == Ok(mutant.id) || mutant.name.contains(text.as_str());
    texts.is_empty() || texts.iter().any(one)
}

fn play(arguments: &[String]) -> Result<(), String> {
    let mut options: BTreeMap<&str, Vec<String>> = BTreeMap::new();
    for pair in arguments.chunks(2) {
        let [name, value] = pair else { return Err(USAGE.to_owned()) };
        options.entry(name).or_default().push(value.clone());
    }
    let one = |name: &str, default: &str| {
        options.get(name).and_then(|values| values.last()).cloned().unwrap_or_else(|| default.to_owned())
    };
    let many = |name: &str| options.get(name).cloned().unwrap_or_default();
    let (filter, corpus) =
        (one("--filter", "*"), one("--corpus", &root().join("corpus").display().to_string()));
    let keeps = !options.contains_key("--filter") && !options.contains_key("--corpus");
    let built: Built = read("mutants.json")?;
    let results: Results = read("results.json")?;
    let mut found = Results::new();
    let status = |mutant: &Mutant| {
        results.get(&mutant.id).map_or("", |result| result["status"].as_str().unwrap_or(""))
    };
    let (texts, wanted) = (many("--mutants"), many("--status"));
    let mut lines = String::new();
    for mutant in &built.mutants {
        let is_made = !built.refused.contains(&mutant.id) && !built.unknown.contains(&mutant.id);
        let is_asked = wanted.is_empty() || wanted.iter().any(|wanted| wanted == status(mutant));
        if is_made && is_asked && selects(&texts, mutant) {
            let reads = if mutant.function == "validate" { "reads" } else { "" };
            let _ = writeln!(lines, "{}\t{}\t{reads}", mutant.id, mutant.file);
        }
    }
    if lines.is_empty() {
        return Err("no mutant that was made is selected".to_owned());
    }
    // Several may play at a time.
    let selected = format!("selected-{}.txt", std::process::id());
    write(&selected, lines)?;
    let mut player = Command::new(tree().player());
    player
        .args([&corpus, &filter, &one("--budget", "20"), &one("--jobs", "1")])
        .arg(folder().join(&selected));
    let mut child = player.stdout(Stdio::piped()).spawn().map_err(|cause| format!("the player: {cause}"))?;
    let mut count = 0;
    for line in child.stdout.take().map(BufReader::new).into_iter().flat_map(BufRead::lines) {
        let line = line.map_err(|cause| cause.to_string())?;
        let result: Map<String, Value> =
            serde_json::from_str(&line).map_err(|cause| format!("{cause}: {line}"))?;
        let Some(id) = result.get("id").and_then(Value::as_u64) else {
            eprintln!("{line}");
            continue;
        };
        if texts.is_empty() {
            count += 1;
            if count % 50 == 0 {
                eprintln!("{count} mutants are judged");
            }
        } else {
            let name = built.mutants.get(id as usize).map_or("", |mutant| &mutant.name);
            println!("{name}: {line}");
        }
        found.insert(id as u32, result);
    }
    let _ = fs::remove_file(folder().join(&selected));
    if keeps {
        let mut results: Results = read("results.json")?;
        results.extend(found);
        write("results.json", to_json(&results)?)?;
    }
    match child.wait() {
        Ok(status) if status.success() => Ok(()),
        other => Err(format!("the player failed: {other:?}")),
    }
}

fn show(texts: &[String]) -> Result<(), String> {
    let built: Built = read("mutants.json")?;
    let results: Results = read("results.json")?;
    for mutant in built.mutants.iter().filter(|mutant| selects(texts, mutant)) {
        println!("{} {}\n{}", mutant.id, mutant.name, mutant.diff);
        println!("{} {}\n", status(mutant, &built, &results), json!(results.get(&mutant.id)));
    }
    Ok(())
}

/// What is known of a mutant.
fn status<'r>(mutant: &Mutant, built: &Built, results: &'r Results) -> &'r str {
    if built.unknown.contains(&mutant.id) {
        return "not made";
    }
    if built.refused.contains(&mutant.id) {
        return "does not compile";
    }
    let status = results.get(&mutant.id).and_then(|result| result["status"].as_str()).unwrap_or("not judged");
    if status != "rejected" && mutant.is_about_words() { "of words" } else { status }
}

fn report() -> Result<(), String> {
    const COLUMNS: [&str; 9] = [
        "not made",
        "does not compile",
        "rejected",
        "of words",
        "not reached",
        "same value",
        "survives",
        "survives a part",
        "not judged",
    ];
    let built: Built = read("mutants.json")?;
    let results: Results = read("results.json")?;
    let mut table: BTreeMap<&str, [usize; 9]> = BTreeMap::new();
    let (mut survivors, mut text) = (Vec::new(), String::new());
    for mutant in &built.mutants {
        let status = status(mutant, &built, &results);
        let column = COLUMNS.iter().position(|name| *name == status).unwrap_or(8);
        table.entry(&mutant.file).or_default()[column] += 1;
        if matches!(status, "rejected" | "does not compile") {
            continue;
        }
        let result = results.get(&mutant.id).cloned().unwrap_or_default();
        let number = |key: &str| result.get(key).and_then(Value::as_u64).unwrap_or_default();
        let other = result.get("other").and_then(Value::as_str).unwrap_or("nothing");
        let _ = writeln!(
            text,
            "{:4} {status}, other {other}; reached in {}, may differ in {}, played {}: {}",
            mutant.id,
            number("reached"),
            number("cases"),
            number("played"),
            mutant.name
        );
        survivors.push(json!({
            "id": mutant.id, "status": status, "file": mutant.file, "function": mutant.function, "line": mutant.line,
            "name": mutant.name, "reached": number("reached"), "cases": number("cases"), "played": number("played"),
            "other": other, "examples": result.get("examples"), "diff": mutant.diff,
        }));
    }
    println!("{}, all | file", COLUMNS.join(", "));
    let mut sum = [0; 9];
    for (file, counts) in &table {
        counts.iter().zip(&mut sum).for_each(|(count, sum)| *sum += count);
        println!("{counts:4?} {:4} {file}", counts.iter().sum::<usize>());
    }
    println!("{sum:4?} {:4} all", sum.iter().sum::<usize>());
    write("survivors.txt", text)?;
    write("survivors.json", to_json(&survivors)?)
}
