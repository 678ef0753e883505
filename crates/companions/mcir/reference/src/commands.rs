//! The commands of memory-centric IR: `validate-mcir`, `measure-mcir`, `family-mcir`, `transform-mcir`, `lower-mcir`, `generate-mcir`, `program-mcir`, `operators-mcir`, `draw-mcir`, `data-mcir` and `compute-mcir`.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use megakernel_ir::Diagnostic;
use megakernel_mcir::{Pass, Target};
use megakernel_reference::commands::{
    Command, Companion, describe, finished, options, read_file, validate, wrong,
};
use serde_json::{Value, json};

use crate::measure::measure_document;
use crate::validate::read_document;
use crate::{
    Blocks, Choices, Instructions, Landing, MOST_DATA, Mcir, Member, NoCode, NoData, NoProgram, NotMade,
    Programmed, Refused, THREADS, compute_text, family, lowered, operators, picture, run_program,
    transform_text, with_data,
};

/// What this companion adds to the reference of programs.
pub static COMPANION: Companion =
    Companion { reference: || Box::new(Mcir), commands: COMMANDS, replay: None };

const COMMANDS: &[Command] = &[
    Command {
        describe: || describe::<Validate>("validate-mcir"),
        run: |matches, _| {
            options(matches).map_or_else(
                |code| code,
                |Validate { files, json, all }: Validate| {
                    validate::run(&Mcir, &files, validate::Form { json, all })
                },
            )
        },
    },
    Command {
        describe: || describe::<Measure>("measure-mcir"),
        run: |matches, _| options(matches).map_or_else(|code| code, |options: Measure| measure(&options)),
    },
    Command {
        describe: || describe::<Tiles>("family-mcir"),
        run: |matches, _| options(matches).map_or_else(|code| code, |options: Tiles| tiles(&options)),
    },
    Command {
        describe: || describe::<Transform>("transform-mcir"),
        run: |matches, _| options(matches).map_or_else(|code| code, |options: Transform| transform(&options)),
    },
    Command {
        describe: || describe::<Lower>("lower-mcir"),
        run: |matches, _| options(matches).map_or_else(|code| code, |options: Lower| lower(&options)),
    },
    Command {
        describe: || describe::<Generate>("generate-mcir"),
        run: |matches, _| options(matches).map_or_else(|code| code, |options: Generate| generate(&options)),
    },
    Command {
        describe: || describe::<Program>("program-mcir"),
        run: |matches, _| options(matches).map_or_else(|code| code, |options: Program| program(&options)),
    },
    Command {
        describe: || describe::<Operators>("operators-mcir"),
        run: |matches, _| options(matches).map_or_else(|code| code, |options: Operators| sequence(&options)),
    },
    Command {
        describe: || describe::<Draw>("draw-mcir"),
        run: |matches, _| options(matches).map_or_else(|code| code, |options: Draw| draw(&options)),
    },
    Command {
        describe: || describe::<Data>("data-mcir"),
        run: |matches, _| options(matches).map_or_else(|code| code, |options: Data| data(&options)),
    },
    Command {
        describe: || describe::<Compute>("compute-mcir"),
        run: |matches, _| options(matches).map_or_else(|code| code, |options: Compute| compute(&options)),
    },
];

/// Judge memory-centric IR: tiles, streams, prefetches, residency and what is stored.
///
/// Exits 0 if every document is accepted, 1 if one is rejected, 2 if a file cannot be read or the usage is wrong.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  megakernel-reference validate-mcir attention.json\n  megakernel-reference validate-mcir --json attention.json | jq .verdict\n\nEvery rule is explained, with a smallest failing document, in spec/companions/mcir/rules.md."
)]
struct Validate {
    /// The documents, in the JSON format of spec/companions/mcir/format.md
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Print one JSON object for each document instead of text: files, verdict, diagnostics, groups, suppressed
    #[arg(long)]
    json: bool,
    /// Show every finding, not only the first of those that say the same of other places
    #[arg(long)]
    all: bool,
}

/// Print what a document of memory-centric IR moves, computes and holds on chip (companion specification, MCI-15).
#[derive(Args)]
struct Measure {
    /// The document
    file: PathBuf,
}

/// Print what attention moves with every size of tiles that fits, and the least of it.
///
/// Queries of a block and keys of an iteration are multiples of 16, or all there are. A size fits if the document of StreamingConversionPass with it is
/// accepted; what is printed is measured after TileSchedulingPass and ResidencyAssignmentPass.
/// Exits 0 with an object: `compulsory` and `least`, null where nothing fits, and `members`, each with its tiles, blocks, iterations, bytes moved, and peaks.
#[derive(Args)]
#[command(
    after_help = "Example:\n  megakernel-reference transform-mcir AttentionPatternPass graph.json > attention.json\n  megakernel-reference family-mcir attention.json --shared-bytes 232448 --register-bytes 262144 | jq .least"
)]
struct Tiles {
    /// The semantic graph: one node, `attention`
    file: PathBuf,
    /// What a block may hold in shared memory
    #[arg(long)]
    shared_bytes: i64,
    /// What a block may hold in registers
    #[arg(long)]
    register_bytes: i64,
    /// For `least`, only sizes with at least so many blocks
    #[arg(long, default_value_t = 1)]
    blocks: i64,
}

/// Apply a pass to a semantic graph or a document of memory-centric IR, and print what it makes (companion specification, MCI-20).
#[derive(Args)]
#[command(
    after_help = "Examples:\n  megakernel-reference transform-mcir AttentionPatternPass graph.json > attention.json\n  megakernel-reference transform-mcir StreamingConversionPass --shared-bytes 232448 attention.json > streams.json\n  megakernel-reference transform-mcir MaterializationEliminationPass streams.json > joined.json\n  megakernel-reference transform-mcir TileSchedulingPass joined.json"
)]
struct Transform {
    /// The pass: AttentionPatternPass or StreamingConversionPass, of a graph; MaterializationEliminationPass, TileSchedulingPass or ResidencyAssignmentPass, of a document
    #[arg(value_parser = pass)]
    pass: Pass,
    /// The graph or the document
    file: PathBuf,
    /// What a block may hold in shared memory, for StreamingConversionPass
    #[arg(long)]
    shared_bytes: Option<i64>,
    /// What a block may hold in registers, for StreamingConversionPass
    #[arg(long)]
    register_bytes: Option<i64>,
}

fn pass(name: &str) -> Result<Pass, String> {
    let found = Pass::ALL.iter().copied().find(|pass| pass.name() == name);
    found.ok_or_else(|| {
        let known: Vec<&str> = Pass::ALL.iter().map(|pass| pass.name()).collect();
        format!("known are {}", known.join(", "))
    })
}

/// Print the Kernel IR of a document of memory-centric IR: a loop nest for each region (companion specification, MCI-27).
#[derive(Args)]
#[command(after_help = "Example:\n  megakernel-reference lower-mcir attention.json > kernels.json")]
struct Lower {
    /// The document
    file: PathBuf,
}

/// Print CUDA C++ of Kernel IR, as `lower-mcir` prints it: a kernel for each kernel, and a function that launches them.
///
/// What is in shared memory is dynamic shared memory, of which a table says the bytes; it takes more than the document where threads exchange what they hold in registers.
/// Kernel IR that is not sound (companion specification, MCI-30) gives code without a meaning. Exits 0 with the code on standard output, 1 if the document is no Kernel IR, 2
/// if there is no code for it or the file cannot be read.
#[derive(Args)]
#[command(
    after_help = "Example:\n  megakernel-reference lower-mcir attention.json > kernels.json\n  megakernel-reference generate-mcir kernels.json > kernels.cuh\n\nHow it is compiled and run, on a GPU and on a CPU: examples/mcir/README.md."
)]
struct Generate {
    /// The Kernel IR
    file: PathBuf,
    /// The threads of a block
    #[arg(long, default_value_t = THREADS)]
    threads: u32,
}

/// Print the program of opcodes that a document of memory-centric IR becomes, where there are opcodes for what its blocks compute.
///
/// A product is a GEMM_TILE or GEMV_TILE for each tile that blocks store, with a bias or without; attention of one query row after the other an ATTENTION_TILE with rows as
/// heads; norms RMSNORM and LAYERNORM; and ADD, MUL, GELU, SILU_MUL and COPY what they say, each of all blocks. Values between opcodes are rounded where the document rounds
/// them. Exits 0 with the program, 1 if the document is rejected, 2 with the node and the missing opcode, or the operand that stands wrong, where there is no program.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  megakernel-reference program-mcir attention.json --binding binding.json > program.json\n  megakernel-reference validate program.json\n\n`compute-mcir --program` runs it in the VM on the data of the document."
)]
struct Program {
    /// The document
    file: PathBuf,
    /// Write here for each buffer that the host fills or reads which tensor it holds, or which values
    #[arg(long)]
    binding: Option<PathBuf>,
}

/// Print the operator sequence of a document of memory-centric IR, as `select` takes it: what its regions compute, opcode by opcode.
///
/// No kernel goes across the border of a region: a marker stands there. What a boundary lets be stored is an output, which a kernel has to write; what stands between two
/// opcodes of one region may vanish in a kernel. Exits 0 with the sequence, 1 if the document is rejected, 2 where `program-mcir` refuses it.
#[derive(Args)]
#[command(
    after_help = "Example:\n  megakernel-reference operators-mcir document.json > sequence.json\n  megakernel-reference select sequence.json --index examples/selection/indices/amk.json --target targets/h100.json"
)]
struct Operators {
    /// The document
    file: PathBuf,
    /// Merge operators as the task types of MPK take them: the products of queries, keys and values, attention with a cache, gate and up
    #[arg(long)]
    task_types: bool,
}

/// Draw a document of memory-centric IR as SVG on standard output: regions one in the other, which tiles are on chip at which node, and what is moved.
///
/// Of a large document, the first regions, nodes, tiles and tensors are drawn, and the others counted.
#[derive(Args)]
#[command(after_help = "Example:\n  megakernel-reference draw-mcir attention.json > attention.svg")]
struct Draw {
    /// The document
    file: PathBuf,
}

/// Print a document of memory-centric IR with random data for its inputs, as `compute-mcir` takes it.
///
/// Numbers are multiples of 1/64 from -1 to 1. Exits 1 if the file is no document, 2 if it cannot be read or its inputs have too many elements.
#[derive(Args)]
#[command(
    after_help = "Example:\n  megakernel-reference data-mcir document.json > with-data.json\n  megakernel-reference compute-mcir with-data.json"
)]
struct Data {
    /// The document
    file: PathBuf,
    /// What the numbers are drawn from
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

/// Run a document of memory-centric IR on the data that it carries, and print what its outputs are (companion specification, MCI-17).
#[derive(Args)]
struct Compute {
    /// The document, with the bits of its inputs in the member `data`
    file: PathBuf,
    /// Run the blocks of each region in the opposite order
    #[arg(long)]
    descending: bool,
    /// Let each prefetch land when a barrier waits for it, instead of at once
    #[arg(long)]
    late: bool,
    /// Run the program of opcodes that the document becomes, in the VM
    #[arg(long, conflicts_with_all = ["descending", "late"])]
    program: bool,
}

impl validate::Kind for Mcir {
    const TOGETHER: bool = false;

    fn judge(&self, _: &[PathBuf], documents: &[Vec<u8>]) -> Result<validate::Judged, Vec<String>> {
        Ok(crate::validate(documents.first().map(Vec::as_slice).unwrap_or_default()).into())
    }
}

fn measure(options: &Measure) -> ExitCode {
    let text = match read_file(&options.file) {
        Ok(text) => text,
        Err(message) => return wrong(message),
    };
    let (found, measures) = match read_document(&text) {
        Ok(document) => measure_document(&document),
        Err(found) => (found, None),
    };
    print_found(&options.file, &found);
    match measures {
        Some(Err(reason)) => wrong(format!("{}: {reason}", options.file.display())),
        Some(Ok(measures)) => {
            finished(std::io::stdout().lock().write_all(format!("{measures}\n").as_bytes()), 0)
        }
        None => ExitCode::from(1),
    }
}

/// Says what was found on standard error.
fn print_found(file: &Path, found: &[Diagnostic]) {
    for found in found {
        let severity = if found.is_error() { "error" } else { "warning" };
        eprintln!(
            "{severity}[{}]: {}\n  --> {} {}",
            found.rule,
            found.message,
            file.display(),
            found.pointer
        );
    }
}

/// Says why nothing was made.
fn not_made(file: &Path, none: NotMade) -> ExitCode {
    match none {
        NotMade::Rejected(found) => {
            print_found(file, &found);
            ExitCode::from(1)
        }
        NotMade::Unsupported(reason) => wrong(format!("{}: {reason}", file.display())),
    }
}

fn transform(options: &Transform) -> ExitCode {
    let text = match read_file(&options.file) {
        Ok(text) => text,
        Err(message) => return wrong(message),
    };
    let target = Target { shared: options.shared_bytes, register: options.register_bytes };
    match transform_text(options.pass, &text, target) {
        Ok((made, stays)) => {
            for (tensor, reason) in stays {
                eprintln!("`{tensor}` stays: {reason}");
            }
            finished(std::io::stdout().lock().write_all(format!("{made}\n").as_bytes()), 0)
        }
        Err(none) => not_made(&options.file, none),
    }
}

fn tiles(options: &Tiles) -> ExitCode {
    let text = match read_file(&options.file) {
        Ok(text) => text,
        Err(message) => return wrong(message),
    };
    match family(&text, options.shared_bytes, options.register_bytes) {
        Ok(found) => {
            let members: Vec<Value> = found.members.iter().map(Member::json).collect();
            let least = found.least(options.blocks).map(Member::json);
            let answer = json!({"compulsory": found.compulsory, "least": least, "members": members});
            finished(std::io::stdout().lock().write_all(format!("{answer}\n").as_bytes()), 0)
        }
        Err(none) => not_made(&options.file, none),
    }
}

fn lower(options: &Lower) -> ExitCode {
    let text = match read_file(&options.file) {
        Ok(text) => text,
        Err(message) => return wrong(message),
    };
    match lowered(&text) {
        Ok((found, made)) => {
            print_found(&options.file, &found);
            finished(std::io::stdout().lock().write_all(format!("{made}\n").as_bytes()), 0)
        }
        Err(none) => not_made(&options.file, none),
    }
}

fn generate(options: &Generate) -> ExitCode {
    let text = match read_file(&options.file) {
        Ok(text) => text,
        Err(message) => return wrong(message),
    };
    match crate::generate(&text, options.threads) {
        Ok(code) => finished(std::io::stdout().lock().write_all(code.as_bytes()), 0),
        Err(NoCode::Rejected(found)) => {
            print_found(&options.file, &found);
            ExitCode::from(1)
        }
        Err(NoCode::Refused(pointer, reason)) => {
            wrong(format!("{} {pointer}: {reason}", options.file.display()))
        }
    }
}

/// Says why there is no program.
fn no_program(file: &Path, none: NoProgram) -> ExitCode {
    match none {
        NoProgram::Rejected(found) => {
            print_found(file, &found);
            ExitCode::from(1)
        }
        NoProgram::Refused(pointer, reason) => wrong(format!("{} {pointer}: {reason}", file.display())),
    }
}

/// The program of a document, or the exit code after what is wrong has been said.
fn programmed(file: &Path, text: &[u8]) -> Result<Programmed, ExitCode> {
    let made = crate::program(text).map_err(|none| no_program(file, none))?;
    print_found(file, &made.warnings);
    Ok(made)
}

fn sequence(options: &Operators) -> ExitCode {
    let text = match read_file(&options.file) {
        Ok(text) => text,
        Err(message) => return wrong(message),
    };
    let instructions = if options.task_types { Instructions::TaskTypes } else { Instructions::Opcodes };
    match operators(&text, instructions) {
        Ok((sequence, made)) => {
            print_found(&options.file, &made.warnings);
            finished(std::io::stdout().lock().write_all(format!("{sequence}\n").as_bytes()), 0)
        }
        Err(none) => no_program(&options.file, none),
    }
}

fn program(options: &Program) -> ExitCode {
    let text = match read_file(&options.file) {
        Ok(text) => text,
        Err(message) => return wrong(message),
    };
    let made = match programmed(&options.file, &text) {
        Ok(made) => made,
        Err(code) => return code,
    };
    if let Some(file) = &options.binding
        && let Err(error) = std::fs::write(file, format!("{}\n", made.binding))
    {
        return wrong(format!("cannot write {}: {error}", file.display()));
    }
    finished(std::io::stdout().lock().write_all(format!("{}\n", made.program.trim_end()).as_bytes()), 0)
}

fn compute_by_program(file: &Path, text: &[u8]) -> ExitCode {
    let made = match programmed(file, text) {
        Ok(made) => made,
        Err(code) => return code,
    };
    // What is read twice is read once more: the document is accepted, so its text is JSON.
    let value: Value = serde_json::from_slice(text).unwrap_or_default();
    match run_program(&made, &value["data"], 0) {
        Ok(answer) => finished(std::io::stdout().lock().write_all(format!("{answer}\n").as_bytes()), 0),
        Err(message) => wrong(format!("{}: {message}", file.display())),
    }
}

fn draw(options: &Draw) -> ExitCode {
    let text = match read_file(&options.file) {
        Ok(text) => text,
        Err(message) => return wrong(message),
    };
    let heading = options.file.file_name().map(|name| name.to_string_lossy()).unwrap_or_default();
    match read_document(&text).and_then(|document| picture(&document, &heading)) {
        Ok(svg) => finished(std::io::stdout().lock().write_all(svg.as_bytes()), 0),
        Err(found) => {
            print_found(&options.file, &found);
            ExitCode::from(1)
        }
    }
}

fn data(options: &Data) -> ExitCode {
    let text = match read_file(&options.file) {
        Ok(text) => text,
        Err(message) => return wrong(message),
    };
    match with_data(&text, options.seed) {
        Ok(document) => finished(std::io::stdout().lock().write_all(format!("{document}\n").as_bytes()), 0),
        Err(NoData::Rejected(found)) => {
            print_found(&options.file, &found);
            ExitCode::from(1)
        }
        Err(NoData::TooLarge(count)) => wrong(format!(
            "{}: an input has {count} elements, and all may have {MOST_DATA}",
            options.file.display()
        )),
    }
}

fn compute(options: &Compute) -> ExitCode {
    let text = match read_file(&options.file) {
        Ok(text) => text,
        Err(message) => return wrong(message),
    };
    if options.program {
        return compute_by_program(&options.file, &text);
    }
    let choices = Choices {
        blocks: if options.descending { Blocks::Descending } else { Blocks::Ascending },
        landing: if options.late { Landing::Late } else { Landing::Early },
    };
    match compute_text(&text, choices) {
        Ok((found, answer)) => {
            print_found(&options.file, &found);
            finished(std::io::stdout().lock().write_all(format!("{answer}\n").as_bytes()), 0)
        }
        Err(Refused::Rejected(found)) => {
            print_found(&options.file, &found);
            ExitCode::from(1)
        }
        Err(Refused::TooLarge) => wrong(format!("{}: it would take too long", options.file.display())),
        Err(Refused::Data(message)) => wrong(format!("{}: {message}", options.file.display())),
    }
}
