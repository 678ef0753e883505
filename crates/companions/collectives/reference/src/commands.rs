//! The commands of collective algorithms: judging, simulating, analysing, making and importing them.

use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use megakernel_ir::{Diagnostic, read_value};
use megakernel_reference::commands::{
    Command, Companion, describe, finished, options, read_file, validate, wrong,
};

use megakernel_reference::validate::{Classes, validate as programs};

use megakernel_collectives::read_algorithm;
use serde_json::json;

use crate::algorithms::{ALGORITHMS, Algorithm, named};
use crate::analysis::{Costs, figures, picture, report};
use crate::answer::{Answered, Method, answer, judged};
use crate::bridge::{Order, lower, splice};
use crate::import::{Form, Imported, msccl};
use crate::launch;
use crate::network::Network;
use crate::program::Program;

/// What this companion adds to the reference of programs. All executions of an algorithm end alike: there is nothing to replay.
pub static COMPANION: Companion =
    Companion { reference: || Box::new(crate::serve::Collectives), commands: COMMANDS, replay: None };

const COMMANDS: &[Command] = &[
    Command {
        describe: || describe::<Validate>("validate-collective"),
        run: |matches, _| {
            options(matches).map_or_else(
                |code| code,
                |Validate { files, json, all }: Validate| {
                    validate::run(&Documents, &files, validate::Form { json, all })
                },
            )
        },
    },
    Command {
        describe: || describe::<Simulate>("simulate-collective"),
        run: |matches, _| options(matches).map_or_else(|code| code, |options: Simulate| simulate(&options)),
    },
    Command {
        describe: || describe::<Analyse>("analyse-collective"),
        run: |matches, _| options(matches).map_or_else(|code| code, |options: Analyse| analyse(&options)),
    },
    Command {
        describe: || describe::<Lower>("lower-collective"),
        run: |matches, _| options(matches).map_or_else(|code| code, |options: Lower| lowered(&options)),
    },
    Command {
        describe: || describe::<Make>("make-collective"),
        run: |matches, _| options(matches).map_or_else(|code| code, |options: Make| make(&options)),
    },
    Command {
        describe: || describe::<Import>("import-collective"),
        run: |matches, _| options(matches).map_or_else(|code| code, |options: Import| import(&options)),
    },
];

/// Judge collective algorithms and descriptions of their modules (companion specification, COL-01).
///
/// Exits 0 if every document is accepted, 1 if one is rejected, 2 if a file cannot be read or the usage is wrong.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  megakernel-reference validate-collective ring.json\n  megakernel-reference validate-collective --json ring.json | jq .verdict\n\nEvery rule is explained, with a smallest failing algorithm, in spec/companions/collectives/rules.md."
)]
struct Validate {
    /// The documents, in the JSON format of spec/companions/collectives/format.md or modules.md
    #[arg(required = true)]
    files: Vec<PathBuf>,
    /// Print one JSON object for each document instead of text: files, verdict, diagnostics, groups, suppressed
    #[arg(long)]
    json: bool,
    /// Show every finding, not only the first of those that say the same of other places
    #[arg(long)]
    all: bool,
}

/// Run a collective algorithm on the tiles that it carries, and print those at the end (companion specification, COL-20).
#[derive(clap::Args)]
struct Simulate {
    /// The algorithm
    file: PathBuf,
}

/// Say what a collective algorithm costs, beside what it costs at least (companion specification, COL-24 and COL-25).
///
/// Exits 0 if it is accepted, 1 if it is rejected, 2 if the file cannot be read or the usage is wrong.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  megakernel-reference analyse-collective --alpha 2 --beta 0.01 --picture ring.svg ring.json"
)]
struct Analyse {
    /// The algorithm
    file: PathBuf,
    /// What each message costs, in any unit of time
    #[arg(long, default_value_t = 1.0)]
    alpha: f64,
    /// What each byte of a message costs
    #[arg(long, default_value_t = 0.001)]
    beta: f64,
    /// Write who sends what when to this file, as SVG
    #[arg(long, value_name = "SVG")]
    picture: Option<PathBuf>,
}

/// Write a collective algorithm of the reference, for a topology.
///
/// Exits 0 if there is one, 2 if it does not run there or the usage is wrong. Without a name, `--list` says which there are.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  megakernel-reference make-collective ring --ranks 4 --n-elem 8 > ring.json\n  megakernel-reference make-collective torus-quarters --topology torus_2d --grid 4x4 --cubes 4x4 > torus.json"
)]
struct Make {
    /// The algorithm
    #[arg(required_unless_present = "list", default_value = "")]
    name: String,
    /// List the algorithms
    #[arg(long)]
    list: bool,
    /// How devices are connected: ring_1d, torus_2d or mesh_2d_no_wrap
    #[arg(long, default_value = "ring_1d")]
    topology: String,
    /// Devices of a ring
    #[arg(long, default_value_t = 4)]
    ranks: i64,
    /// Columns and rows of a torus or mesh
    #[arg(long, value_name = "WxH")]
    grid: Option<Extents>,
    /// Columns and rows of the cubes of a device
    #[arg(long, value_name = "WxH", default_value = "1x1")]
    cubes: Extents,
    /// Positions of a tile
    #[arg(long, default_value_t = 8)]
    n_elem: i64,
    /// Messages that a queue holds
    #[arg(long, default_value_t = 4)]
    capacity: i64,
    /// The rank that a broadcast starts from
    #[arg(long, default_value_t = 0)]
    root: i64,
}

/// Write a collective algorithm as a program: each element an SM, each slot of a queue a buffer (companion specification, COL-26).
///
/// Exits 0 if it is accepted, 1 if it is rejected, 2 if a file cannot be read or the usage is wrong.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  megakernel-reference lower-collective ring.json > program.json\n  megakernel-reference lower-collective ring.json --into decoder.json > program.json"
)]
struct Lower {
    /// The algorithm
    file: PathBuf,
    /// Keep the operations of an element in order by counters, and not by the queue of an SM
    #[arg(long)]
    counters: bool,
    /// Write this program with the algorithm in place of each ALLREDUCE_SHARD over as many buffers as it has elements
    #[arg(long, value_name = "PROGRAM", conflicts_with = "counters")]
    into: Option<PathBuf>,
}

/// Write an algorithm of MSCCL, read from its XML, as a collective algorithm.
///
/// Exits 0 if it was read, 2 if not. What is wrong with the algorithm, `validate-collective` says. One thing a document cannot say: in
/// MSCCL, a step that receives and sends keeps the slot of what came until it has sent. Where queues are too small for that, a
/// warning says how large they have to be.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  megakernel-reference import-collective --capacity 2 all-gather.xml > algorithm.json"
)]
struct Import {
    /// The XML
    file: PathBuf,
    /// Positions of a chunk
    #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(i64).range(1..=4096))]
    chunk: i64,
    /// Messages that a queue holds
    #[arg(long, default_value_t = 4, value_parser = clap::value_parser!(i64).range(1..=65536))]
    capacity: i64,
}

/// Columns and rows.
#[derive(Clone, Copy)]
struct Extents(i64, i64);

impl std::str::FromStr for Extents {
    type Err = String;

    fn from_str(text: &str) -> Result<Extents, String> {
        let parts = text.split_once('x').and_then(|(w, h)| Some((w.parse().ok()?, h.parse().ok()?)));
        parts
            .map(|(w, h)| Extents(w, h))
            .ok_or_else(|| "required two numbers with an `x` between them".to_owned())
    }
}

/// Judges each file by itself.
struct Documents;

impl validate::Kind for Documents {
    const TOGETHER: bool = false;

    fn judge(&self, _: &[PathBuf], documents: &[Vec<u8>]) -> Result<validate::Judged, Vec<String>> {
        let document = documents.first().map(Vec::as_slice).unwrap_or_default();
        let found = match read_value(document).map(|value| answer(Method::Validate, &value)) {
            Err(found) => found,
            Ok(Answered::Accept { warnings: found, .. } | Answered::Reject(found)) => {
                found.into_iter().map(Diagnostic::from).collect()
            }
        };
        Ok(found.into())
    }
}

fn simulate(options: &Simulate) -> ExitCode {
    let document = match read_file(&options.file) {
        Ok(document) => document,
        Err(message) => return wrong(message),
    };
    let answered = read_value(&document).map(|value| answer(Method::Simulate, &value));
    let (severity, found, simulated) = match answered {
        Err(found) => ("error", found, None),
        Ok(Answered::Reject(found)) => ("error", found.into_iter().map(Diagnostic::from).collect(), None),
        Ok(Answered::Accept { warnings, document }) => {
            ("warning", warnings.into_iter().map(Diagnostic::from).collect(), document)
        }
    };
    for Diagnostic { rule, message, pointer, .. } in &found {
        eprintln!("{severity}[{rule}]: {message}\n  --> {} {pointer}", options.file.display());
    }
    match simulated {
        Some(tiles) => finished(std::io::stdout().lock().write_all(format!("{tiles}\n").as_bytes()), 0),
        None => ExitCode::from(1),
    }
}

fn print(text: &str) -> ExitCode {
    finished(std::io::stdout().lock().write_all(text.as_bytes()), 0)
}

/// An algorithm that breaks no rule, from a file.
fn accepted(file: &Path) -> Result<(Program, megakernel_collectives::Algorithm), ExitCode> {
    let document = read_file(file).map_err(wrong)?;
    let read = read_value(&document).and_then(|value| {
        let algorithm = read_algorithm(&value);
        let judged = algorithm.and_then(|algorithm| Ok((judged(&algorithm, false)?.0, algorithm)));
        judged.map_err(|found| found.into_iter().map(Diagnostic::from).collect())
    });
    read.map_err(|found| {
        for Diagnostic { rule, message, pointer, .. } in &found {
            eprintln!("error[{rule}]: {message}\n  --> {} {pointer}", file.display());
        }
        ExitCode::from(1)
    })
}

fn lowered(options: &Lower) -> ExitCode {
    let (program, algorithm) = match accepted(&options.file) {
        Ok(accepted) => accepted,
        Err(code) => return code,
    };
    let order = if options.counters { Order::Counters } else { Order::Queues };
    let made = match options.into.as_deref().map(sound) {
        None => lower(&algorithm, &program, order),
        Some(into) => into.and_then(|into| splice(&algorithm, &program, &into)).and_then(|made| {
            // What queues of SMs order, nothing orders with the tasks of an algorithm; and a task has few waits.
            breaks_none("the program with the algorithm", made.to_string().as_bytes())?;
            Ok(made)
        }),
    };
    match made {
        Ok(program) => print(&format!("{program}\n")),
        Err(message) => wrong(message),
    }
}

/// A program that breaks no rule, from a file.
fn sound(file: &Path) -> Result<serde_json::Value, String> {
    let document = read_file(file)?;
    breaks_none(&file.display().to_string(), &document)?;
    read_value(&document).map_err(|_| format!("{}: no JSON", file.display()))
}

/// Says which rule a program breaks first.
fn breaks_none(name: &str, document: &[u8]) -> Result<(), String> {
    match programs(document, Classes::ALL).diagnostics.into_iter().find(Diagnostic::is_error) {
        Some(Diagnostic { rule, pointer, message, .. }) => {
            Err(format!("{name} breaks {rule} at `{pointer}`: {message}"))
        }
        None => Ok(()),
    }
}

fn analyse(options: &Analyse) -> ExitCode {
    let costs = Costs { alpha: options.alpha, beta: options.beta };
    if [costs.alpha, costs.beta].iter().any(|cost| !cost.is_finite() || *cost < 0.0) {
        return wrong("`--alpha` and `--beta` are numbers from 0 on");
    }
    let (program, algorithm) = match accepted(&options.file) {
        Ok(accepted) => accepted,
        Err(code) => return code,
    };
    let network = Network::new(&algorithm.topology);
    let Some(found) = figures(&program, &network, costs) else {
        return wrong("the algorithm does not complete");
    };
    if let Some(file) = &options.picture {
        let written = picture(&program, &network, &found).and_then(|svg| {
            std::fs::write(file, svg).map_err(|cause| format!("{}: {cause}", file.display()))
        });
        if let Err(message) = written {
            return wrong(message);
        }
    }
    print(&report(&algorithm, &network, &program, &found, costs))
}

fn make(options: &Make) -> ExitCode {
    if options.list {
        let line = |algorithm: &Algorithm| {
            format!("{:<22} {}: {}\n", algorithm.name, algorithm.kind.name(), algorithm.about)
        };
        return print(&ALGORITHMS.iter().map(line).collect::<String>());
    }
    let Some(algorithm) = named(&options.name) else {
        return wrong(format!("no algorithm is called `{}`; `--list` says which there are", options.name));
    };
    let Extents(cube_w, cube_h) = options.cubes;
    let mut topology = json!({"kind": options.topology, "ranks": options.ranks, "cube_w": cube_w, "cube_h": cube_h,
                              "capacity": options.capacity});
    if let Some(Extents(w, h)) = options.grid {
        topology["ranks"] = json!(w.saturating_mul(h));
        (topology["w"], topology["h"]) = (json!(w), json!(h));
    }
    let bits = if algorithm.identical { "identical" } else { "per_element" };
    let collective = json!({"kind": algorithm.kind.name(), "root": options.root, "bits": bits});
    let request = json!({"topology": topology, "n_elem": options.n_elem, "collective": collective});
    match launch::setting(&request) {
        Ok(setting) if algorithm.serves(&setting) => {
            print(&format!("{}\n", algorithm.document(&setting, &topology, &collective)))
        }
        Ok(_) => wrong(format!("`{}` does not run on this topology", algorithm.name)),
        Err(found) => wrong(found.into_iter().map(|fault| fault.message).collect::<Vec<_>>().join("; ")),
    }
}

fn import(options: &Import) -> ExitCode {
    let form = Form { chunk: options.chunk, capacity: options.capacity };
    let text = read_file(&options.file).and_then(|text| {
        String::from_utf8(text).map_err(|_| format!("{}: no UTF-8", options.file.display()))
    });
    match text
        .and_then(|text| msccl(&text, form).map_err(|cause| format!("{}: {cause}", options.file.display())))
    {
        Ok(Imported { document, kept }) => {
            if let Some(least) = kept {
                eprintln!(
                    "warning: with queues of {} this hangs in MSCCL, where a step that receives and sends keeps its slot until it has \
                     sent; {least} is enough",
                    form.capacity
                );
            }
            print(&format!("{document}\n"))
        }
        Err(message) => wrong(message),
    }
}
