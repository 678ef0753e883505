//! The commands, and what they share.

pub mod compare;
pub mod completion;
pub mod document;
pub mod evidence;
pub mod explain;
pub mod export;
pub mod list;
pub mod manual;
pub mod merge;
pub mod repro;
pub mod run;
pub mod statement;
pub mod verify;
pub mod watch;
pub mod worker;

use std::path::{Path, PathBuf};

use megakernel_conformance::case::Case;
use megakernel_conformance::report::Report;
use megakernel_conformance::run::{self as runner, Unit};
use megakernel_conformance::store::{Corpus, Filter};
use megakernel_ir::protocol::Profile;
use megakernel_ir::registry;
use megakernel_ir::shard::Shard;
use megakernel_ir::terminal::print_bytes;
use megakernel_ir::{DType, Opcode, input};

/// The exit code of a command, or why it could not be done.
pub type Done = Result<u8, String>;

/// The environment variable that names the corpus.
const CORPUS: &str = "MEGAKERNEL_CORPUS";

/// Where the corpus is.
#[derive(clap::Args)]
pub struct Place {
    /// The directory of the corpus; without it the environment variable MEGAKERNEL_CORPUS, or a place that `--help` of the
    /// program itself lists
    #[arg(long, value_name = "DIRECTORY")]
    pub corpus: Option<PathBuf>,

    /// The largest file of the corpus that is read, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = input::LIMIT)]
    pub max_size: u64,
}

impl Place {
    /// Where it is.
    ///
    /// # Errors
    /// There is none.
    pub fn directory(&self) -> Result<PathBuf, String> {
        let named = self.corpus.clone().or_else(|| std::env::var_os(CORPUS).map(PathBuf::from));
        named.or_else(found).ok_or_else(|| {
            format!(
                "no corpus of cases is found; name its directory with --corpus or the environment variable {CORPUS}, or \
                 put it beside this program as `corpus`. It is the directory `corpus` of the suite's repository"
            )
        })
    }

    /// Reads the corpus.
    ///
    /// # Errors
    /// There is none, or it cannot be read.
    pub fn load(&self) -> Result<Corpus, String> {
        let directory = self.directory()?;
        input::set_limit(self.max_size);
        let corpus =
            Corpus::load(&directory).map_err(|cause| format!("the corpus cannot be used: {cause}"))?;
        if corpus.manifest().is_none() {
            return Err(format!(
                "the corpus cannot be used: {} is missing; without its digests nothing tells whether the cases are the suite's",
                directory.join("manifest.json").display()
            ));
        }
        Ok(corpus)
    }
}

/// The folder of this package where it was built, but for a program that is published: other machines do not have it.
const BUILT: Option<&str> =
    if option_env!("MEGAKERNEL_PUBLISHED").is_some() { None } else { Some(env!("CARGO_MANIFEST_DIR")) };

/// The corpus where it is looked for without being named.
fn found() -> Option<PathBuf> {
    let own = std::env::current_exe().ok();
    let beside = own.iter().filter_map(|own| own.parent());
    let beside = beside.flat_map(|folder| [folder.join("corpus"), folder.join("../share/megakernel/corpus")]);
    let here = std::env::current_dir().ok();
    let above = here.iter().flat_map(|here| here.ancestors()).map(|folder| folder.join("corpus"));
    let built = BUILT.map(|folder| Path::new(folder).join("../../corpus"));
    // Any folder might be called so.
    beside.chain(above).chain(built).find(|folder| folder.join("cases").is_dir())
}

/// Which cases are meant.
#[derive(clap::Args)]
pub struct Selection {
    /// This profile only; may be repeated
    #[arg(long = "profile", value_name = "PROFILE", hide_possible_values = true, help = profiles_help())]
    pub profiles: Vec<Profile>,

    /// The cases whose id matches only; `*` crosses slashes
    #[arg(long, value_name = "GLOB", value_parser = Filter::new)]
    pub filter: Option<Filter>,

    /// But for the cases whose id matches; may be repeated
    #[arg(long, value_name = "GLOB", value_parser = Filter::new)]
    pub exclude: Vec<Filter>,

    /// The cases that cite this rule or clause only; may be repeated
    #[arg(long = "rule", value_name = "ID", value_parser = clause)]
    pub clauses: Vec<String>,

    /// The cases that execute a task of this opcode only; may be repeated
    #[arg(long = "opcode", value_name = "NAME", value_parser = opcode)]
    pub opcodes: Vec<Opcode>,

    /// The cases that execute a program with a buffer of this dtype only; may be repeated
    #[arg(long = "dtype", value_name = "NAME", value_parser = dtype)]
    pub dtypes: Vec<DType>,

    /// Of all that, part I of N, counted from 1; `auto`, or `auto/N` where that does not tell N: as the environment of a Slurm array,
    /// of an indexed job of Kubernetes, or of a parallel job of GitLab, CircleCI or Buildkite says
    #[arg(long, value_name = "I/N", value_parser = Shard::of_command_line)]
    pub shard: Option<Shard>,
}

fn clause(id: &str) -> Result<String, String> {
    registry::heading(id)
        .map(|clause| clause.id.to_owned())
        .ok_or_else(|| format!("no rule and no clause has the id `{id}`, such as R01 or EXE-07"))
}

fn opcode(name: &str) -> Result<Opcode, String> {
    let names = || Opcode::ALL.iter().map(|opcode| opcode.name()).collect::<Vec<_>>().join(", ");
    Opcode::from_name(name)
        .ok_or_else(|| format!("no opcode is called `{name}`; the opcodes are {}", names()))
}

fn dtype(name: &str) -> Result<DType, String> {
    let names = || DType::ALL.iter().map(|dtype| dtype.name()).collect::<Vec<_>>().join(", ");
    DType::from_name(name).ok_or_else(|| format!("no dtype is called `{name}`; the dtypes are {}", names()))
}

fn profiles_help() -> String {
    let names: Vec<&str> = registry::profiles().map(Profile::name).collect();
    format!("This profile only; may be repeated [{}]", names.join(", "))
}

impl Selection {
    /// What is selected.
    pub fn asked(&self) -> runner::Selection {
        runner::Selection {
            profiles: self.profiles.clone(),
            filter: self.filter.clone(),
            exclude: self.exclude.clone(),
            clauses: self.clauses.clone(),
            opcodes: self.opcodes.clone(),
            dtypes: self.dtypes.clone(),
            shard: self.shard,
        }
    }

    /// The selected cases, each under each of its profiles.
    ///
    /// # Errors
    /// There is none.
    pub fn of<'a>(&self, corpus: &'a Corpus) -> Result<Vec<Unit<'a>>, String> {
        self.asked().units(corpus).map_err(|cause| cause.to_string())
    }
}

/// The case with an id.
///
/// # Errors
/// There is none.
pub fn find<'a>(corpus: &'a Corpus, id: &str) -> Result<&'a Case, String> {
    corpus.case(id).ok_or_else(|| {
        format!("the corpus has no case `{id}`; `megakernel-conform list --filter GLOB` lists ids")
    })
}

/// The bytes of a file.
///
/// # Errors
/// It cannot be read.
pub fn bytes(path: &Path) -> Result<Vec<u8>, String> {
    input::read(path).map_err(|cause| format!("{}: {cause}", path.display()))
}

/// Reads a report.
///
/// # Errors
/// There is none in the file.
pub fn report(path: &Path) -> Result<Report, String> {
    let failed = |why: String| format!("{}: {why}", path.display());
    let text = std::fs::read_to_string(path).map_err(|cause| failed(cause.to_string()))?;
    Report::read(&text).map_err(failed)
}

/// The cases as lines: id and profile.
pub fn lines(units: &[Unit<'_>]) -> String {
    units.iter().map(|unit| format!("{} {}\n", unit.case.id, unit.profile)).collect()
}

/// Writes to standard output. A reader that has seen enough, such as `head`, does not change the result.
///
/// # Errors
/// It cannot be written.
pub fn print(bytes: impl AsRef<[u8]>) -> Result<(), String> {
    print_bytes(bytes.as_ref())
}
