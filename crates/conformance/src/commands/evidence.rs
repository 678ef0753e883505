//! `megakernel-conform evidence`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use megakernel_conformance::evidence::{Evidence, Kernels, Subject};
use serde_json::{Value, json};

use super::{Done, Place, print};

/// Compare records of runs on devices with the corpus and the kernels as they are (clause CON-14)
///
/// Prints a JSON object with a member for each `.json` file of the folder: what is `wrong` with the record, why it is `stale`,
/// `notes`, and the `device` that it is about; or the `problem` because of which it is no record.
#[derive(clap::Args)]
#[command(
    after_help = "Exit code: 0 if every file is a record, neither stale nor wrong; 1 if one is not; 2 if that cannot be told."
)]
pub struct Args {
    /// The folder of the records
    folder: PathBuf,

    /// Digest of the kernels as the host runs them
    #[arg(long, value_name = "DIGEST")]
    host_kernels: String,

    /// Digest of the kernels as GPUs run them
    #[arg(long, value_name = "DIGEST")]
    gpu_kernels: String,

    /// Digest of the kernels as GPUs run them with their matrix units
    #[arg(long, value_name = "DIGEST", default_value = "")]
    tensor_core_kernels: String,

    #[command(flatten)]
    place: Place,
}

/// Runs the command.
pub fn run(args: &Args) -> Done {
    let corpus = args.place.load()?;
    let subject = Subject::new(&corpus).map_err(|cause| format!("the corpus cannot be used: {cause}"))?;
    let kernels = Kernels {
        host: args.host_kernels.clone(),
        gpu: args.gpu_kernels.clone(),
        tensor_cores: args.tensor_core_kernels.clone(),
    };
    let mut good = true;
    let mut findings = BTreeMap::new();
    for (name, record) in read(&args.folder)? {
        let found = match record {
            Err(problem) => json!({ "problem": problem }),
            Ok(record) => {
                let found = record.examine(&subject, &kernels);
                let device = json!({ "name": record.device.name, "target": record.device.target, "date": record.date });
                json!({ "device": device, "stale": found.stale, "wrong": found.wrong, "notes": found.notes })
            }
        };
        let empty = |member: &str| found[member].as_array().is_some_and(Vec::is_empty);
        good &= empty("stale") && empty("wrong");
        findings.insert(name, found);
    }
    let all: Value = findings.into_iter().collect();
    print(format!("{all:#}\n"))?;
    Ok(u8::from(!good))
}

type Records = BTreeMap<String, Result<Evidence, String>>;

/// The records of a folder by file name; those that are none with what is wrong.
fn read(folder: &Path) -> Result<Records, String> {
    let failed = |cause| format!("{}: {cause}", folder.display());
    let mut records = BTreeMap::new();
    for entry in std::fs::read_dir(folder).map_err(failed)? {
        let path = entry.map_err(failed)?.path();
        if path.extension().is_some_and(|extension| extension == "json") {
            let text = std::fs::read_to_string(&path).map_err(|cause| cause.to_string());
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            records.insert(name, text.and_then(|text| Evidence::read(&text)));
        }
    }
    Ok(records)
}
