//! `megakernel-reference validate`.

use std::io::{self, IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use megakernel_ir::protocol::Profile;
use megakernel_ir::{Diagnostic, Source};
use megakernel_reference::validate::{Classes, Verdict, validate};
use serde_json::json;

use crate::cli::excerpt::Renderer;

/// What the command line says.
#[derive(Args)]
#[command(
    after_help = "Examples:\n  megakernel-reference validate program.json\n  megakernel-reference validate --json a.json b.json | jq .verdict\n\nEvery rule is explained, with a smallest failing program, in spec/rules/."
)]
pub struct Arguments {
    /// Programs in the JSON format of spec/format.md.
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Print one JSON object a file instead of text: file, verdict, diagnostics, suppressed.
    #[arg(long)]
    json: bool,
    /// Judge by the rules of one profile only: format, validate, memory-safety or launch.
    #[arg(long, value_name = "PROFILE")]
    profile: Option<Profile>,
}

/// Judges every file. Exit code 2 outweighs 1, which outweighs 0.
pub fn run(arguments: &Arguments) -> ExitCode {
    match judge(arguments, &mut io::stdout().lock()) {
        Ok(code) => ExitCode::from(code),
        // Whoever read the output has seen enough.
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: cannot write to standard output: {error}");
            ExitCode::from(2)
        }
    }
}

fn judge(arguments: &Arguments, out: &mut dyn Write) -> io::Result<u8> {
    let colour = io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let classes = arguments.profile.map_or(Classes::ALL, Classes::of_profile);
    let (mut accepted, mut rejected, mut unreadable) = (0, 0, 0);
    for file in &arguments.files {
        let bytes = match std::fs::read(file) {
            Ok(bytes) => bytes,
            Err(error) => {
                eprintln!("error: cannot read {}: {error}", file.display());
                unreadable += 1;
                continue;
            }
        };
        let verdict = validate(&bytes, classes);
        *(if verdict.accepts() { &mut accepted } else { &mut rejected }) += 1;
        if arguments.json {
            write_json(out, file, &bytes, verdict)?;
        } else {
            write_text(out, file, &bytes, &verdict, &Renderer::new(colour))?;
        }
    }
    if !arguments.json && arguments.files.len() > 1 {
        writeln!(out, "{accepted} accepted, {rejected} rejected, {unreadable} unreadable")?;
    }
    Ok(if unreadable > 0 { 2 } else { u8::from(rejected > 0) })
}

fn write_json(out: &mut dyn Write, file: &Path, bytes: &[u8], verdict: Verdict) -> io::Result<()> {
    let accepts = verdict.accepts();
    let text = std::str::from_utf8(bytes).unwrap_or_default();
    let source = (!verdict.diagnostics.is_empty()).then(|| Source::new(text));
    let place = |diagnostic: Diagnostic| Diagnostic {
        position: diagnostic.position.or_else(|| source.as_ref()?.position(&diagnostic.pointer)),
        ..diagnostic
    };
    let diagnostics: Vec<Diagnostic> = verdict.diagnostics.into_iter().map(place).collect();
    let suppressed: serde_json::Map<_, _> =
        verdict.suppressed.iter().map(|(rule, count)| (rule.id().to_owned(), json!(count))).collect();
    let line = json!({
        "file": file.display().to_string(),
        "verdict": if accepts { "accept" } else { "reject" },
        "diagnostics": diagnostics,
        "suppressed": suppressed,
    });
    writeln!(out, "{line}")
}

fn write_text(
    out: &mut dyn Write,
    file: &Path,
    bytes: &[u8],
    verdict: &Verdict,
    renderer: &Renderer,
) -> io::Result<()> {
    let name = file.display().to_string();
    if !verdict.diagnostics.is_empty() {
        let text = String::from_utf8_lossy(bytes);
        let source = Source::new(&text);
        for diagnostic in &verdict.diagnostics {
            writeln!(out, "{}\n", renderer.render(&name, &text, &source, diagnostic))?;
        }
    }
    for (rule, count) in &verdict.suppressed {
        writeln!(out, "{name}: {count} or more further diagnostics of {rule} {} are not shown", rule.slug())?;
    }
    let word = if verdict.accepts() { "accepted" } else { "rejected" };
    let errors = verdict.diagnostics.iter().filter(|diagnostic| diagnostic.is_error()).count();
    let warnings = verdict.diagnostics.len() - errors;
    writeln!(out, "{name}: {word}, {} and {}", count(errors, "error"), count(warnings, "warning"))
}

/// A number and what it counts.
pub(super) fn count(number: usize, what: &str) -> String {
    format!("{number} {what}{}", if number == 1 { "" } else { "s" })
}
