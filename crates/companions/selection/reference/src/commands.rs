//! The commands of kernel selection: `select`, `explain`, `plan-kernel-graph` and `validate-selection`.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use megakernel_ir::read_value;
use megakernel_reference::commands::{
    Command, Companion, Numbering, describe, finished, in_words, options, wrong,
};
use megakernel_selection::{Document, Fault, Rational, Request, read};
use serde_json::value::RawValue;
use serde_json::{Value, json};

use crate::answer::{Answered, Method, answer, kernels, plan};
use crate::draw::{svg, text};
use crate::kernel_graph::{Setting, kernel_graph};
use crate::optimum::optimum;
use crate::plan::Region;
use crate::serve::diagnostic;

/// What this companion adds to the reference of programs.
pub static COMPANION: Companion =
    Companion { reference: || Box::new(crate::serve::Selections), commands: COMMANDS, replay: None };

const COMMANDS: &[Command] = &[
    Command {
        describe: || describe::<Select>("select"),
        run: |matches, _| options(matches).map_or_else(|code| code, |options: Select| select(&options)),
    },
    Command {
        describe: || describe::<Explain>("explain"),
        run: |matches, _| options(matches).map_or_else(|code| code, |options: Explain| explain(&options)),
    },
    Command {
        describe: || describe::<Graph>("plan-kernel-graph"),
        run: |matches, _| options(matches).map_or_else(|code| code, |options: Graph| graph(&options)),
    },
    Command {
        describe: || describe::<Validate>("validate-selection"),
        run: |matches, _| options(matches).map_or_else(|code| code, |options: Validate| validate(&options)),
    },
];

/// What to select for.
#[derive(clap::Args)]
struct Asked {
    /// The request; with --index, the sequence
    file: PathBuf,
    /// The kernels to choose from
    #[arg(long, value_name = "FILE")]
    index: Option<PathBuf>,
    /// Compute costs for the bandwidth and the matrix units of this target record
    #[arg(long, value_name = "FILE", requires = "index")]
    target: Option<PathBuf>,
}

/// The two figures of a target record that costs depend on, as they are written.
#[derive(serde::Deserialize)]
struct Record {
    target: Figures,
}

#[derive(serde::Deserialize)]
struct Figures {
    hbm_bandwidth_gbs: Box<RawValue>,
    fp16_tflops: Box<RawValue>,
}

impl Asked {
    fn request(&self) -> Result<Value, ExitCode> {
        let document = load(&self.file)?;
        let Some(index) = &self.index else {
            return Ok(document);
        };
        let mut options = json!({});
        if let Some(file) = &self.target {
            let shown = file.display();
            let bytes = fs::read(file).map_err(|error| wrong(format_args!("{shown}: {error}")))?;
            let record: Record = serde_json::from_slice(&bytes)
                .map_err(|error| wrong(format_args!("{shown}: no target record: {error}")))?;
            let Figures { hbm_bandwidth_gbs, fp16_tflops } = record.target;
            options = json!({"machine": {"gbs": hbm_bandwidth_gbs.get(), "tflops": fp16_tflops.get()}});
        }
        Ok(json!({"sequence": document, "index": load(index)?, "options": options}))
    }
}

/// Choose kernels for the operators of a request (companion specification, SEL-20), and print the plan as JSON.
#[derive(clap::Args)]
struct Select {
    #[command(flatten)]
    asked: Asked,
    /// Print what the plan costs beside the plan of least cost, in place of the plan
    #[arg(long)]
    compare_optimal: bool,
}

/// Say step by step how kernels are chosen (companion specification, SEL-24).
#[derive(clap::Args)]
struct Explain {
    #[command(flatten)]
    asked: Asked,
    /// Print the explanation as JSON
    #[arg(long, conflicts_with = "svg")]
    json: bool,
    /// Write a drawing of it to this file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

/// Choose kernels over the task types of MPK, and print the kernel graph that has an operator for each region.
#[derive(clap::Args)]
struct Graph {
    #[command(flatten)]
    asked: Asked,
    /// Rows of the caches and of the tables of the rotation
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u64).range(1..=1 << 31))]
    positions: u64,
    /// Columns of a product that a task computes, where they divide its width
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u64).range(1..=1 << 31))]
    columns: u64,
}

/// Judge operator sequences, indices of kernels, requests and plans.
#[derive(clap::Args)]
struct Validate {
    /// The documents
    #[arg(required = true)]
    files: Vec<PathBuf>,
}

fn load(file: &Path) -> Result<Value, ExitCode> {
    let bytes = fs::read(file).map_err(|error| wrong(format_args!("{}: {error}", file.display())))?;
    read_value(&bytes).map_err(|found| {
        found.iter().for_each(|found| eprintln!("error[{}]: {}", found.rule, found.message));
        ExitCode::from(1)
    })
}

fn print(text: &str) -> ExitCode {
    finished(std::io::stdout().lock().write_all(text.as_bytes()), 0)
}

fn accepted(method: Method, value: &Value, file: &Path) -> Result<Option<Value>, ExitCode> {
    match answer(method, value) {
        Answered::Accept { warnings, document } => {
            warnings.into_iter().for_each(|fault| say("warning", fault, file));
            Ok(document)
        }
        Answered::Reject(faults) => {
            faults.into_iter().for_each(|fault| say("error", fault, file));
            Err(ExitCode::from(1))
        }
    }
}

fn say(severity: &str, fault: Fault, file: &Path) {
    let found = diagnostic(fault);
    eprintln!("{severity}[{}]: {}\n  --> {} {}", found.rule, found.message, file.display(), found.pointer);
    if let Some(witness) = &found.witness {
        eprintln!("  = note: {}", in_words(witness, &Numbering::default()));
    }
}

fn select(options: &Select) -> ExitCode {
    let file = &options.asked.file;
    let value = match options.asked.request() {
        Ok(value) => value,
        Err(code) => return code,
    };
    if options.compare_optimal {
        return match accepted(Method::Validate, &value, file) {
            Ok(_) => match read(&value) {
                Ok(Document::Request(request)) => print(&compared(&request)),
                _ => wrong(format_args!(
                    "{}: no request; required one, or a sequence with --index",
                    file.display()
                )),
            },
            Err(code) => code,
        };
    }
    match accepted(Method::Select, &value, file) {
        Ok(plan) => print(&format!("{}\n", plan.unwrap_or_default())),
        Err(code) => code,
    }
}

/// The plan of the request beside the optimum.
fn compared(request: &Request) -> String {
    let kernels = kernels(request);
    let limit = usize::try_from(request.options.limit).unwrap_or(1);
    let cost =
        |regions: &[Region]| regions.iter().fold(Rational::zero(), |sum, region| sum.plus(&region.cost));
    let line = |name: &str, found: Result<Vec<Region>, crate::stream::Stuck>| match found {
        Ok(regions) => {
            let cost = cost(&regions);
            let text = format!(
                "{name:<9} {:>6} regions, cost {cost} (about {:.6e})\n",
                regions.len(),
                cost.approximately()
            );
            (text, Some(cost))
        }
        Err(stuck) => (format!("{name:<9} no plan: stuck at op {}\n", stuck.op), None),
    };
    let (chosen, greedy) = line("chosen", plan(request, &kernels));
    let (best, least) = line("optimum", optimum(&kernels, &request.sequence, limit));
    let gap = match (greedy, least) {
        (Some(greedy), Some(least)) if !least.is_zero() => {
            let ratio = greedy.divided_by(&least).map_or(0.0, |ratio| ratio.approximately());
            format!("the plan costs {ratio:.4} times the optimum\n")
        }
        (None, Some(_)) => "infeasible for the walk, feasible for the optimum\n".to_owned(),
        _ => String::new(),
    };
    format!("{chosen}{best}{gap}")
}

fn explain(options: &Explain) -> ExitCode {
    let explained = options.asked.request().and_then(|value| {
        accepted(Method::Explain, &value, &options.asked.file).map(|steps| (value, steps.unwrap_or_default()))
    });
    let (value, steps) = match explained {
        Ok(explained) => explained,
        Err(code) => return code,
    };
    if let Some(file) = &options.svg {
        return match fs::write(file, svg(&value, &steps)) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => wrong(format_args!("{}: {error}", file.display())),
        };
    }
    if options.json { print(&format!("{steps}\n")) } else { print(&text(&value, &steps)) }
}

fn graph(options: &Graph) -> ExitCode {
    let file = &options.asked.file;
    let selected =
        options.asked.request().and_then(|value| Ok((accepted(Method::Select, &value, file)?, value)));
    let (plan, value) = match selected {
        Ok((plan, value)) => (plan.unwrap_or_default(), value),
        Err(code) => return code,
    };
    let tasks =
        |columns: u64| if columns.is_multiple_of(options.columns) { columns / options.columns } else { 1 };
    // Weights that the sequence says how to put together of others.
    let tensors = value.pointer("/sequence/tensors").and_then(Value::as_array).cloned().unwrap_or_default();
    let setting = Setting {
        tensors: &tensors,
        positions: options.positions,
        tasks: &tasks,
        eps: 1e-6,
        theta: 10_000.0,
    };
    match kernel_graph(&value, &plan, &setting) {
        Ok(graph) => print(&format!("{graph}\n")),
        Err(why) => wrong(format_args!("{}: {why}", file.display())),
    }
}

fn validate(options: &Validate) -> ExitCode {
    let mut worst = ExitCode::SUCCESS;
    for file in &options.files {
        match load(file).and_then(|value| accepted(Method::Validate, &value, file)) {
            Ok(_) => eprintln!("{}: accepted", file.display()),
            Err(code) => worst = code,
        }
    }
    worst
}
