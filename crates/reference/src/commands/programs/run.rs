//! `megakernel-reference run`.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::commands::{read_file, wrong};
use crate::vm::files::{fill_random, read_tensors, write_outputs, write_trace};
use crate::vm::steps::{advance, greedy, position_inputs};
use crate::vm::{
    Finished, LaunchError, Loaded, MOST_ELEMENTS, Output, Reference, Schedule, Session, Settings,
};
use clap::{Args, ValueEnum};
use megakernel_ir::model::Program;
use megakernel_ir::protocol::Accumulator;
use megakernel_ir::{BufferKind, Diagnostic, read, terminal};
use megakernel_numerics::Tensor;

/// Run a program on tensors from files or random ones, in any order that its counters and queues allow.
///
/// Exits 0 if it ran to its end, 1 if it is rejected or something went wrong while running, 2 if a file or a tensor is
/// missing or wrong.
#[derive(Args)]
#[command(after_help = "\
Buffers are bound by name: WEIGHT and CONST by their `source`, or by `name` without one; IO_INPUT by `name`; KV_CACHE by
`name` in the first launch, or else zeros. ACTIVATION and IO_OUTPUT begin as zeros.

With --steps, each launch continues the one before: caches are kept, KV_APPEND moves on by the rows that it has appended,
windows of ATTENTION_TILE that end there grow by as many, and so do the positions that ROPE reads from an IO_INPUT.
--feed gives an output of one launch to an input of the next: the elements of an integer output, or of each row of a
float output the index of the largest, which is greedy sampling.

Examples:
  megakernel-reference run mlp.json --tensors weights.safetensors --tensors x.safetensors --output y.safetensors
  megakernel-reference run mlp.json --random 1 --schedule 7
  megakernel-reference run toy_decoder.json --random 1 --steps 8 --feed logits=token_id
  megakernel-reference run large.json --dry-run --schedule 7
  megakernel-reference run broken.json --dry-run --unchecked --schedule 7")]
pub struct Arguments {
    /// A program in the JSON format of spec/format.md.
    #[arg(value_name = "PROGRAM")]
    program: PathBuf,
    /// Bind buffers to the tensors of this safetensors file. May be given several times.
    #[arg(long, value_name = "FILE")]
    tensors: Vec<PathBuf>,
    /// Bind the buffers that no file binds to random tensors: reals between -1 and 1, divided by the root of the row
    /// length; any integers; zeros for I32.
    #[arg(long, value_name = "SEED")]
    random: Option<u64>,
    /// Write every IO_OUTPUT and KV_CACHE to this safetensors file. With --steps, the number of the step goes before the
    /// extension.
    #[arg(long, value_name = "FILE")]
    output: Option<PathBuf>,
    /// Write what each task wrote to this safetensors file, by the task's id. With --steps as --output.
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,
    /// The most elements that the buffers may have together. A program with more is refused before anything is allocated; an
    /// element takes 8 to 32 bytes of memory.
    #[arg(long, value_name = "N", default_value_t = MOST_ELEMENTS)]
    max_elements: u64,
    /// In which order to take the steps that counters and queues allow. 0 is list order; every other seed draws an
    /// unlikely one.
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    schedule: u64,
    /// How many launches, one position after the other.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..))]
    steps: u32,
    /// Give an output to an input of the next launch.
    #[arg(long, value_name = "OUTPUT=INPUT", value_parser = feed)]
    feed: Vec<(String, String)>,
    /// What the bounds on other implementations allow for in long sums.
    #[arg(long, value_enum, default_value_t = Sums::Binary32)]
    accumulator: Sums,
    /// Run a program that rules reject, until something goes wrong. It has to break no S rule.
    #[arg(long)]
    unchecked: bool,
    /// Take all steps and check all accesses, but compute nothing: needs no tensors.
    #[arg(long)]
    dry_run: bool,
}

/// The accumulators of clause NUM-06.
#[derive(Clone, Copy, ValueEnum)]
enum Sums {
    /// Additions are rounded to binary32, or better.
    Binary32,
    /// Addends are aligned and truncated, as tensor cores do it.
    Truncating,
}

fn feed(text: &str) -> Result<(String, String), String> {
    let (output, input) = text.split_once('=').ok_or("required: OUTPUT=INPUT")?;
    Ok((output.to_owned(), input.to_owned()))
}

/// Why there is no result.
enum Failure {
    /// The program is rejected, or its run ends in a fault: exit code 1.
    Program(String),
    /// A file or the usage is wrong: exit code 2.
    Use(String),
}

/// Runs a program. 0: to its end; 1: it is rejected or something went wrong; 2: a file or a tensor is missing or wrong.
pub fn run(arguments: &Arguments) -> ExitCode {
    match run_program(arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(Failure::Program(message)) => {
            eprintln!("{message}");
            ExitCode::from(1)
        }
        Err(Failure::Use(message)) => wrong(message),
    }
}

fn run_program(arguments: &Arguments) -> Result<(), Failure> {
    let usage = |error: &dyn std::fmt::Display| Failure::Use(error.to_string());
    let bytes = read_file(&arguments.program).map_err(Failure::Use)?;
    let mut program = read(&bytes).map_err(|diagnostics| rejected(arguments, &diagnostics))?;
    let mut tensors = read_tensors(&arguments.tensors).map_err(|error| usage(&error))?;
    if let (Some(seed), false) = (arguments.random, arguments.dry_run) {
        fits(&program, arguments.max_elements)?;
        fill_random(&program, &mut tensors, seed).map_err(|error| usage(&error))?;
    }
    let mut session = Session::new();
    for step in 0..arguments.steps {
        let loaded = load(arguments, &program).map_err(|diagnostics| rejected(arguments, &diagnostics))?;
        let schedule = Schedule::seeded(arguments.schedule);
        let habit = schedule.habit();
        let head = format!("step {step}: {} tasks, schedule {habit}", program.tasks.len());
        if arguments.dry_run {
            let failed = |fault: crate::vm::Fault| {
                Failure::Program(format!("step {step}: {} at {}", fault.explain(&program), fault.pointer()))
            };
            loaded.rehearse(schedule).map_err(failed)?;
            print(&format!("{head}: no fault\n"))?;
        } else {
            let settings = Settings {
                schedule,
                accumulator: match arguments.accumulator {
                    Sums::Binary32 => Accumulator::Binary32,
                    Sums::Truncating => Accumulator::Truncating,
                },
                trace: arguments.trace.is_some(),
                most_elements: arguments.max_elements,
            };
            let finished = session.launch(&loaded, &tensors, &settings).map_err(|error| match error {
                LaunchError::Fault(fault) => Failure::Program(format!(
                    "step {step}: {} at {}",
                    fault.explain(&program),
                    fault.pointer()
                )),
                other => Failure::Use(format!("step {step}: {other}")),
            })?;
            let mut text = format!("{head}\n");
            finished.outputs.iter().for_each(|output| describe(&program, output, &mut text));
            if let Some(path) = &arguments.output {
                write_outputs(&numbered(path, step, arguments.steps), &finished.outputs)
                    .map_err(|error| usage(&error))?;
            }
            if let Some(path) = &arguments.trace {
                write_trace(&numbered(path, step, arguments.steps), &finished)
                    .map_err(|error| usage(&error))?;
            }
            for (output, input) in &arguments.feed {
                let fed = pass_on(&program, &finished, output, input, &mut tensors);
                let _ = writeln!(text, "  {output} -> {input}: {}", fed.map_err(Failure::Use)?);
            }
            print(&text)?;
        }
        move_positions(&program, &mut tensors);
        advance(&mut program);
    }
    Ok(())
}

/// Whether the buffers may have as many elements as they have.
fn fits(program: &Program<'_>, most: u64) -> Result<(), Failure> {
    let sizes = program.buffers.iter().map(|buffer| buffer.numel().unwrap_or(u64::MAX));
    let elements = sizes.fold(0, u64::saturating_add);
    if elements <= most {
        return Ok(());
    }
    Err(Failure::Use(format!(
        "the buffers of the program have {elements} elements together, and at most {most} are taken; --max-elements sets another \
         limit, and --dry-run runs the program without values"
    )))
}

fn load<'p>(arguments: &Arguments, program: &'p Program<'p>) -> Result<Loaded<'p>, Vec<Diagnostic>> {
    if arguments.unchecked { Loaded::load_unchecked(program) } else { Loaded::load(program) }
}

fn rejected(arguments: &Arguments, diagnostics: &[Diagnostic]) -> Failure {
    let file = arguments.program.display();
    let mut text = format!("{file} is rejected; `megakernel-reference validate` shows the places");
    for diagnostic in diagnostics.iter().take(5) {
        let (rule, pointer, message) = (diagnostic.rule, &diagnostic.pointer, &diagnostic.message);
        let _ = write!(text, "\n  {rule} {} at {pointer}: {message}", rule.slug());
    }
    if diagnostics.len() > 5 {
        let _ = write!(text, "\n  and {} more", diagnostics.len() - 5);
    }
    Failure::Program(text)
}

/// Prints; where nobody reads on, the files are still to be written.
fn print(text: &str) -> Result<(), Failure> {
    terminal::print(text).map_err(Failure::Use)
}

/// `y.safetensors` as `y.3.safetensors`, where there is more than one step.
fn numbered(path: &Path, step: u32, steps: u32) -> PathBuf {
    if steps == 1 {
        return path.to_path_buf();
    }
    match path.extension() {
        Some(extension) => path.with_extension(format!("{step}.{}", extension.to_string_lossy())),
        None => path.with_extension(step.to_string()),
    }
}

/// One line for an output: what it is, between which values, and how far others may lie from them.
fn describe(program: &Program<'_>, output: &Output, text: &mut String) {
    let kind = program.buffers.get(output.buffer.index()).map_or(BufferKind::IoOutput, |buffer| buffer.kind);
    let _ = write!(text, "  {kind} `{}` {} {:?}: ", output.name, output.tensor.dtype, output.tensor.shape);
    let range = |values: &mut dyn Iterator<Item = f64>| {
        values
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), value| (low.min(value), high.max(value)))
    };
    let _ = match &output.reference {
        Reference::Reals { values, bounds } => {
            let (low, high) = range(&mut values.iter().copied());
            let (_, bound) = range(&mut bounds.iter().copied());
            writeln!(text, "from {low:.6} to {high:.6}, bound at most {bound:.1e}")
        }
        Reference::Ints(values) => {
            let (low, high) = range(&mut values.iter().flatten().map(|&value| value as f64));
            writeln!(text, "from {low} to {high}")
        }
    };
}

/// Binds an input of the next launch to an output of this one. Gives back what it holds, in words.
fn pass_on(
    program: &Program<'_>,
    finished: &Finished,
    output: &str,
    input: &str,
    tensors: &mut BTreeMap<String, Tensor>,
) -> Result<String, String> {
    let found = finished.output(output).ok_or_else(|| format!("there is no output `{output}`"))?;
    let buffer = program
        .buffers
        .iter()
        .find(|buffer| buffer.kind == BufferKind::IoInput && *buffer.name == *input)
        .ok_or_else(|| format!("there is no input `{input}`"))?;
    let width = found.tensor.shape.last().copied().unwrap_or(1);
    let picked = greedy(&found.reference, usize::try_from(width).unwrap_or(usize::MAX));
    let ids: Vec<i64> = picked.iter().map(|&(id, _)| id).collect();
    let shape = buffer.shape.iter().map(|&extent| extent.max(0) as u64).collect();
    let tensor = Tensor::from_ints(buffer.dtype, shape, &ids)
        .map_err(|error| format!("`{output}` does not fit `{input}`: {error}"))?;
    tensors.insert(input.to_owned(), tensor);
    let words =
        picked.iter().map(
            |(id, is_certain)| {
                if *is_certain { id.to_string() } else { format!("{id} (others may differ)") }
            },
        );
    Ok(words.collect::<Vec<_>>().join(", "))
}

/// The next position in every input that holds some.
fn move_positions(program: &Program<'_>, tensors: &mut BTreeMap<String, Tensor>) {
    for buffer in position_inputs(program) {
        let Some(name) = program.buffers.get(buffer.index()).map(|buffer| buffer.name.to_string()) else {
            continue;
        };
        let Some(tensor) = tensors.get(&name) else { continue };
        let moved: Vec<i64> = tensor.ints().iter().map(|position| position + 1).collect();
        if let Ok(next) = Tensor::from_ints(tensor.dtype, tensor.shape.clone(), &moved) {
            tensors.insert(name, next);
        }
    }
}
