//! `megakernel-conform export`.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use megakernel_conformance::case::{Case, Document};
use megakernel_conformance::store::Corpus;

use megakernel_ir::formula::SUFFIX;

use super::{Done, Place, Selection, print};

const LAYOUT: &str = "\
Each case gets a folder of its own, named by its id:
  case.json                the case: profiles, method, clauses, the declared answer in `expect`, its twin
  document.json            the document with the edit of the case applied, byte for byte what a worker is sent;
                           `document.bin` where it is not UTF-8
  launches/N.json          of a case that executes, the program of launch N
  tensors/...              the tensor files that its launches name in `execute`, inputs and expected values; what
                           NAME.formula.json stands for lies in NAME.formula.safetensors

Compare the verdict with `expect.verdict`, and the rules of a rejection with `expect.rules`: at least one of them has to be
named. spec/conformance.md says the rest (CON-05 to CON-12). Where you can, write a worker instead and have
`megakernel-conform run` do the comparing: it also checks how an implementation ends, recovers and answers twice.";

/// Write cases as plain files that need no runner
///
/// For the unit tests of an implementation, for bindings where a worker process is too much, and for looking at cases with the
/// tools of one's choice. The runner itself does not read them.
#[derive(clap::Args)]
#[command(after_help = LAYOUT)]
pub struct Args {
    /// The directory to write to: new, or empty
    directory: PathBuf,
    #[command(flatten)]
    selection: Selection,
    #[command(flatten)]
    place: Place,
}

/// Runs the command.
pub fn run(args: &Args) -> Done {
    let corpus = args.place.load()?;
    let units = args.selection.of(&corpus)?;
    let directory = &args.directory;
    empty(directory)?;
    let mut written = BTreeSet::new();
    for unit in units {
        // Under several profiles it is one case all the same.
        if written.insert(&unit.case.id) {
            export(&corpus, unit.case, &directory.join(&unit.case.id))?;
        }
    }
    print(format!("{}: {} cases\n", directory.display(), written.len()))?;
    Ok(0)
}

/// Refuses a directory with something in it.
pub(super) fn empty(directory: &Path) -> Result<(), String> {
    if directory.read_dir().is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(format!("{} is not empty; name a new directory", directory.display()));
    }
    Ok(())
}

/// Writes the files of a case.
pub(super) fn export(corpus: &Corpus, case: &Case, folder: &Path) -> Result<(), String> {
    let unreadable = |cause: megakernel_conformance::store::CorpusError| cause.to_string();
    let text = corpus.file(&format!("cases/{}.json", case.id)).map_err(unreadable)?;
    write(&folder.join("case.json"), &text)?;
    let name = match case.document {
        Document::Base64 { .. } => "document.bin",
        Document::Base { .. } | Document::Text { .. } => "document.json",
    };
    write(&folder.join(name), &corpus.document(case).map_err(unreadable)?)?;
    let Some(execution) = &case.execute else { return Ok(()) };
    for (n, document) in corpus.launch_documents(case).map_err(unreadable)?.iter().enumerate() {
        write(&folder.join(format!("launches/{n}.json")), document)?;
    }
    for path in execution.launches.iter().map(|launch| &launch.expected).collect::<BTreeSet<_>>() {
        write(&folder.join(path), &corpus.file(path).map_err(unreadable)?)?;
    }
    for path in execution.launches.iter().flat_map(|launch| &launch.tensors).collect::<BTreeSet<_>>() {
        // What a formula gives is written out: who debugs reads one kind of file. A launch may have a file of tensors of that name too.
        let name = path
            .strip_suffix(SUFFIX)
            .map_or_else(|| path.clone(), |name| format!("{name}.formula.safetensors"));
        write(&folder.join(name), &corpus.inputs(path).map_err(unreadable)?)?;
    }
    Ok(())
}

pub(super) fn write(path: &Path, bytes: &[u8]) -> Result<(), String> {
    let failed = |cause: std::io::Error| format!("{} cannot be written: {cause}", path.display());
    path.parent().map_or(Ok(()), std::fs::create_dir_all).map_err(failed)?;
    std::fs::write(path, bytes).map_err(failed)
}
