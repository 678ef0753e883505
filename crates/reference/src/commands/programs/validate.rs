//! `megakernel-reference validate`.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use megakernel_ir::protocol::Profile;
use megakernel_ir::{Diagnostic, read};

use crate::commands::validate::{self, Form, Judged, Kind};
use crate::commands::{Companion, wrong};
use crate::validate::{Classes, repairs, validate, validate_program};

/// Judge programs and show what is wrong with them, with the place in the file.
///
/// Exits 0 if every file is accepted, 1 if any is rejected, 2 if one cannot be read or the usage is wrong.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  megakernel-reference validate program.json\n  megakernel-reference validate --json a.json b.json | jq .verdict\n\nEvery rule is explained, with a smallest failing program, in spec/rules/."
)]
pub struct Arguments {
    /// Programs in the JSON format of spec/format.md.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Print one JSON object a file instead of text: file, verdict, diagnostics, groups, suppressed.
    #[arg(long)]
    json: bool,
    /// Show every finding, not only the first of those that say the same of other tasks.
    #[arg(long)]
    all: bool,
    /// Judge by the rules of one profile only: format, validate, memory-safety or launch.
    #[arg(long, value_name = "PROFILE")]
    profile: Option<Profile>,
}

/// Programs, each judged by itself.
struct Programs {
    classes: Classes,
}

impl Kind for Programs {
    const TOGETHER: bool = false;

    fn judge(&self, _: &[PathBuf], documents: &[Vec<u8>]) -> Result<Judged, Vec<String>> {
        let document = documents.first().map(Vec::as_slice).unwrap_or_default();
        let Ok(program) = read(document) else { return Ok(validate(document, self.classes).into()) };
        let mut judged = Judged::from(validate_program(&program, self.classes));
        let firsts: Vec<&Diagnostic> =
            judged.groups.iter().filter_map(|group| judged.verdict.diagnostics.get(group.first())).collect();
        let repairs = repairs(&program, &firsts);
        for (group, repair) in judged.groups.iter_mut().zip(repairs) {
            group.repair = repair.map(|(_, words)| words);
        }
        Ok(judged)
    }
}

/// The classes by whose rules a profile judges programs.
///
/// # Errors
/// What the profile is about instead, and what to do.
fn classes_of(profile: Profile, companions: &[&Companion]) -> Result<Classes, String> {
    if Profile::STATIC.contains(&profile) {
        return Ok(Classes::of_profile(profile));
    }
    let Some(companion) =
        companions.iter().find(|companion| (companion.reference)().profiles().contains(&profile))
    else {
        return Err(format!(
            "profile `{profile}` is about running programs and has no rules; leave `--profile` out to judge by the rules of all profiles"
        ));
    };
    let mut names = companion.commands.iter().map(|command| (command.describe)().get_name().to_owned());
    let instead =
        names.find(|name| name.starts_with("validate-")).map(|name| format!("; `{name}` judges these"));
    Err(format!(
        "profile `{profile}` is about documents of a companion, not about programs{}",
        instead.unwrap_or_default()
    ))
}

/// Judges every file.
pub fn run(arguments: &Arguments, companions: &[&Companion]) -> ExitCode {
    let classes = arguments.profile.map_or(Ok(Classes::ALL), |profile| classes_of(profile, companions));
    let classes = match classes {
        Ok(classes) => classes,
        Err(message) => return wrong(message),
    };
    let form = Form { json: arguments.json, all: arguments.all };
    validate::run(&Programs { classes }, &arguments.files, form)
}
