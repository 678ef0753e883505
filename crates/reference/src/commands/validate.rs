//! The driver of `validate`: files are read, judged, and what was found is shown in them.

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use megakernel_ir::{Diagnostic, Source, terminal};
use megakernel_order::Verdict;
use serde_json::{Map, Value, json};

use super::{Renderer, count, finished, read_file};

/// A kind of documents, as `validate` judges it.
pub trait Kind {
    /// Whether the files are the parts of one document. Else each is judged by itself.
    const TOGETHER: bool;

    /// The verdict about the documents in these files; of a kind that is judged file by file, about one.
    ///
    /// # Errors
    /// Why there is none: what is wrong with the usage, a line each.
    fn judge(&self, files: &[PathBuf], documents: &[Vec<u8>]) -> Result<Verdict, Vec<String>>;

    /// The file that a pointer of the verdict leads into, and the pointer there.
    fn place<'p>(&self, _files: usize, pointer: &'p str) -> (usize, &'p str) {
        (0, pointer)
    }
}

/// Judges the files, and shows what was found in text or as one JSON object for each verdict. Exit code 2, where something
/// cannot be read or the usage is wrong, outweighs 1, a rejection, which outweighs 0.
pub fn run<K: Kind>(kind: &K, files: &[PathBuf], json: bool) -> ExitCode {
    let mut code = 0;
    let written = judge_all(kind, files, json, &mut code, &mut io::stdout().lock());
    finished(written, code)
}

fn judge_all<K: Kind>(
    kind: &K,
    files: &[PathBuf],
    json: bool,
    code: &mut u8,
    out: &mut dyn Write,
) -> io::Result<()> {
    let renderer = Renderer::new(terminal::colours(&io::stdout()));
    let (mut accepted, mut rejected, mut unreadable) = (0, 0, 0);
    for files in files.chunks(if K::TOGETHER { files.len().max(1) } else { 1 }) {
        let read = files.iter().map(|file| read_file(file)).collect::<Result<Vec<_>, _>>();
        let judged = read.map_err(|message| vec![message]).and_then(|documents| {
            let verdict = kind.judge(files, &documents)?;
            Ok((documents, verdict))
        });
        let (documents, verdict) = match judged {
            Ok(judged) => judged,
            Err(messages) => {
                messages.iter().for_each(|message| eprintln!("error: {message}"));
                unreadable += 1;
                continue;
            }
        };
        *(if verdict.accepts() { &mut accepted } else { &mut rejected }) += 1;
        let shown = Shown { kind, files, documents: &documents, verdict: &verdict };
        if json { shown.write_json(out)? } else { shown.write_text(out, &renderer)? }
    }
    if !json && !K::TOGETHER && files.len() > 1 {
        writeln!(out, "{accepted} accepted, {rejected} rejected, {unreadable} unreadable")?;
    }
    *code = if unreadable > 0 { 2 } else { u8::from(rejected > 0) };
    Ok(())
}

/// A verdict about some files.
struct Shown<'s, K> {
    kind: &'s K,
    files: &'s [PathBuf],
    documents: &'s [Vec<u8>],
    verdict: &'s Verdict,
}

impl<K: Kind> Shown<'_, K> {
    fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        let texts: Vec<&str> =
            self.documents.iter().map(|document| std::str::from_utf8(document).unwrap_or_default()).collect();
        let sources = self.sources(&texts);
        let diagnostics: Vec<Value> = self
            .verdict
            .diagnostics
            .iter()
            .map(|diagnostic| {
                let (index, pointer) = self.kind.place(self.files.len(), &diagnostic.pointer);
                let source = sources.get(index).and_then(Option::as_ref);
                let position = diagnostic.position.or_else(|| source?.position(pointer));
                let mut value = json!(Diagnostic { position, ..diagnostic.clone() });
                if self.files.len() > 1 && index < self.files.len() {
                    value["file"] = json!(self.name(index));
                }
                value
            })
            .collect();
        let suppressed: Map<_, _> = self
            .verdict
            .suppressed
            .iter()
            .map(|(rule, count)| (rule.id().to_owned(), json!(count)))
            .collect();
        let mut line = Map::new();
        match K::TOGETHER {
            true => {
                line.insert("files".into(), (0..self.files.len()).map(|index| self.name(index)).collect())
            }
            false => line.insert("file".into(), self.name(0).into()),
        };
        line.insert("verdict".into(), json!(if self.verdict.accepts() { "accept" } else { "reject" }));
        line.insert("diagnostics".into(), json!(diagnostics));
        line.insert("suppressed".into(), json!(suppressed));
        writeln!(out, "{}", Value::Object(line))
    }

    fn write_text(&self, out: &mut dyn Write, renderer: &Renderer) -> io::Result<()> {
        let texts: Vec<_> = self.documents.iter().map(|document| String::from_utf8_lossy(document)).collect();
        let texts: Vec<&str> = texts.iter().map(|text| &**text).collect();
        let sources = self.sources(&texts);
        for diagnostic in &self.verdict.diagnostics {
            let (index, pointer) = self.kind.place(self.files.len(), &diagnostic.pointer);
            if let (Some(text), Some(Some(source))) = (texts.get(index), sources.get(index)) {
                let own = Diagnostic { pointer: pointer.to_owned(), ..diagnostic.clone() };
                writeln!(out, "{}\n", renderer.render(&self.name(index), text, source, &own))?;
            }
        }
        let all = (0..self.files.len()).map(|index| self.name(index)).collect::<Vec<_>>().join(" ");
        for (rule, count) in &self.verdict.suppressed {
            writeln!(
                out,
                "{all}: {count} or more further diagnostics of {rule} {} are not shown",
                rule.slug()
            )?;
        }
        let word = if self.verdict.accepts() { "accepted" } else { "rejected" };
        let errors = self.verdict.diagnostics.iter().filter(|diagnostic| diagnostic.is_error()).count();
        let warnings = self.verdict.diagnostics.len() - errors;
        writeln!(out, "{all}: {word}, {} and {}", count(errors, "error"), count(warnings, "warning"))
    }

    fn name(&self, index: usize) -> String {
        self.files.get(index).map(|file| file.display().to_string()).unwrap_or_default()
    }

    /// What finds places in each text; nothing where no diagnostic needs it.
    fn sources<'t>(&self, texts: &[&'t str]) -> Vec<Option<Source<'t>>> {
        let mut is_needed = vec![false; texts.len()];
        for diagnostic in &self.verdict.diagnostics {
            if let Some(needed) = is_needed.get_mut(self.kind.place(texts.len(), &diagnostic.pointer).0) {
                *needed = true;
            }
        }
        texts.iter().zip(is_needed).map(|(text, needed)| needed.then(|| Source::new(text))).collect()
    }
}
