//! The driver of `validate`: files are read, judged, and what was found is shown in them, one finding for each cause.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use megakernel_ir::{Diagnostic, Rule, Source, TaskId, terminal};
use megakernel_order::{KEPT_PER_RULE, Verdict};
use serde_json::{Map, Value, json};

use super::groups::{Group, groups, places};
use super::{Numbering, Remarks, Renderer, count, finished, read_file};

/// A kind of documents, as `validate` judges it.
pub trait Kind {
    /// Whether the files are the parts of one document. Else each is judged by itself.
    const TOGETHER: bool;

    /// What is said of the documents in these files; of a kind that is judged file by file, of one.
    ///
    /// # Errors
    /// Why there is nothing to say: what is wrong with the usage, a line each.
    fn judge(&self, files: &[PathBuf], documents: &[Vec<u8>]) -> Result<Judged, Vec<String>>;

    /// The file that a pointer of the verdict leads into, and the pointer there.
    fn place<'p>(&self, _files: usize, pointer: &'p str) -> (usize, &'p str) {
        (0, pointer)
    }
}

/// A verdict, for people.
#[derive(Debug)]
pub struct Judged {
    /// The verdict.
    pub verdict: Verdict,
    /// Its findings by cause.
    pub groups: Vec<Group>,
    /// What tasks are called.
    pub numbering: Numbering,
}

impl From<Verdict> for Judged {
    fn from(verdict: Verdict) -> Judged {
        Judged { groups: groups(&verdict.diagnostics), verdict, numbering: Numbering::default() }
    }
}

/// What was found in a document whose kind counts nothing beyond.
impl From<Vec<Diagnostic>> for Judged {
    fn from(found: Vec<Diagnostic>) -> Judged {
        Verdict::of_unread(found).into()
    }
}

/// How much is shown.
#[derive(Clone, Copy, Debug)]
pub struct Form {
    /// One JSON object for each verdict in place of text.
    pub json: bool,
    /// Every finding in place of one for each cause.
    pub all: bool,
}

/// Judges the files, and shows what was found in text or as one JSON object for each verdict. Exit code 2, where something
/// cannot be read or the usage is wrong, outweighs 1, a rejection, which outweighs 0.
pub fn run<K: Kind>(kind: &K, files: &[PathBuf], form: Form) -> ExitCode {
    let mut code = 0;
    let written = judge_all(kind, files, form, &mut code, &mut io::stdout().lock());
    finished(written, code)
}

fn judge_all<K: Kind>(
    kind: &K,
    files: &[PathBuf],
    form: Form,
    code: &mut u8,
    out: &mut dyn Write,
) -> io::Result<()> {
    let renderer = Renderer::new(terminal::colours(&io::stdout()));
    let (mut accepted, mut rejected, mut unreadable) = (0, 0, 0);
    for files in files.chunks(if K::TOGETHER { files.len().max(1) } else { 1 }) {
        let read = files.iter().map(|file| read_file(file)).collect::<Result<Vec<_>, _>>();
        let judged = read.map_err(|message| vec![message]).and_then(|documents| {
            let judged = kind.judge(files, &documents)?;
            Ok((documents, judged))
        });
        let (documents, judged) = match judged {
            Ok(judged) => judged,
            Err(messages) => {
                messages.iter().for_each(|message| eprintln!("error: {message}"));
                unreadable += 1;
                continue;
            }
        };
        *(if judged.verdict.accepts() { &mut accepted } else { &mut rejected }) += 1;
        let shown = Shown { kind, files, documents: &documents, judged: &judged };
        if form.json { shown.write_json(out)? } else { shown.write_text(form.all, out, &renderer)? }
    }
    if !form.json && !K::TOGETHER && files.len() > 1 {
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
    judged: &'s Judged,
}

impl<K: Kind> Shown<'_, K> {
    /// The indices of the findings that are given one by one: of each rule the first hundred, and the first of each cause. And
    /// how many of each rule are not among them.
    fn given(&self) -> (Vec<usize>, BTreeMap<Rule, u64>) {
        let Judged { verdict, groups, .. } = self.judged;
        let firsts: std::collections::BTreeSet<usize> = groups.iter().map(Group::first).collect();
        let (mut given, mut left) = (Vec::new(), verdict.suppressed.clone());
        let mut seen = BTreeMap::<Rule, u64>::new();
        for (index, diagnostic) in verdict.diagnostics.iter().enumerate() {
            let seen = seen.entry(diagnostic.rule).or_default();
            *seen += 1;
            match *seen <= KEPT_PER_RULE || firsts.contains(&index) {
                true => given.push(index),
                false => *left.entry(diagnostic.rule).or_default() += 1,
            }
        }
        (given, left)
    }

    fn write_json(&self, out: &mut dyn Write) -> io::Result<()> {
        let Judged { verdict, groups, numbering } = self.judged;
        let texts: Vec<&str> =
            self.documents.iter().map(|document| std::str::from_utf8(document).unwrap_or_default()).collect();
        let sources = self.sources(&texts);
        let (given, left) = self.given();
        let diagnostics =
            given.iter().filter_map(|&index| verdict.diagnostics.get(index)).map(|diagnostic| {
                let (index, pointer) = self.kind.place(self.files.len(), &diagnostic.pointer);
                let source = sources.get(index).and_then(Option::as_ref);
                let position = diagnostic.position.or_else(|| source?.position(pointer));
                let mut value = json!(Diagnostic { position, ..diagnostic.clone() });
                if self.files.len() > 1 && index < self.files.len() {
                    value["file"] = json!(self.name(index));
                }
                if !numbering.tasks.is_empty() && !diagnostic.tasks.is_empty() {
                    let place = |&task: &TaskId| {
                        let (rank, task) = numbering.place(task);
                        json!({"rank": rank, "task": task})
                    };
                    value["places"] = diagnostic.tasks.iter().map(place).collect();
                }
                value
            });
        let causes = groups.iter().map(|group| {
            let mut cause = json!({
                "rule": group.rule.id(),
                "count": group.members.len(),
                "first": given.binary_search(&group.first()).unwrap_or_default(),
                "places": self.places(group),
            });
            if let Some(repair) = &group.repair {
                cause["repair"] = json!(repair);
            }
            cause
        });
        let suppressed: Map<_, _> =
            left.iter().map(|(rule, count)| (rule.id().to_owned(), json!(count))).collect();
        let mut line = Map::new();
        match K::TOGETHER {
            true => {
                line.insert("files".into(), (0..self.files.len()).map(|index| self.name(index)).collect())
            }
            false => line.insert("file".into(), self.name(0).into()),
        };
        line.insert("verdict".into(), json!(if verdict.accepts() { "accept" } else { "reject" }));
        line.insert("diagnostics".into(), diagnostics.collect());
        line.insert("groups".into(), causes.collect());
        line.insert("suppressed".into(), json!(suppressed));
        writeln!(out, "{}", Value::Object(line))
    }

    fn write_text(&self, all: bool, out: &mut dyn Write, renderer: &Renderer) -> io::Result<()> {
        let Judged { verdict, groups, numbering } = self.judged;
        let texts: Vec<_> = self.documents.iter().map(|document| String::from_utf8_lossy(document)).collect();
        let texts: Vec<&str> = texts.iter().map(|text| &**text).collect();
        let sources = self.sources(&texts);
        let (given, left) = self.given();
        let firsts: BTreeMap<usize, &Group> = groups.iter().map(|group| (group.first(), group)).collect();
        for index in given {
            let group = firsts.get(&index).filter(|_| !all);
            let Some(diagnostic) = verdict.diagnostics.get(index).filter(|_| all || group.is_some()) else {
                continue;
            };
            let mut remarks = Remarks { numbering: numbering.clone(), ..Remarks::default() };
            remarks.help = firsts.get(&index).and_then(|group| group.repair.clone());
            if let Some(group) = group.filter(|group| group.members.len() > 1) {
                let others = count(group.members.len() - 1, "further finding");
                let of = if group.members.len() > 2 { "say" } else { "says" };
                remarks.notes.push(format!("{others} {of} the same; all are at {}", self.places(group)));
            }
            let (file, pointer) = self.kind.place(self.files.len(), &diagnostic.pointer);
            if let (Some(text), Some(Some(source))) = (texts.get(file), sources.get(file)) {
                let own = Diagnostic { pointer: pointer.to_owned(), ..diagnostic.clone() };
                writeln!(out, "{}\n", renderer.render_with(&self.name(file), text, source, &own, &remarks))?;
            }
        }
        let files = (0..self.files.len()).map(|index| self.name(index)).collect::<Vec<_>>().join(" ");
        for (rule, count) in if all { &left } else { &verdict.suppressed } {
            let slug = rule.slug();
            writeln!(out, "{files}: {count} or more further diagnostics of {rule} {slug} are not shown")?;
        }
        let word = if verdict.accepts() { "accepted" } else { "rejected" };
        let number = |is_error: bool, what: &str| {
            let all = verdict.diagnostics.iter().filter(|found| found.is_error() == is_error).count();
            let causes = groups.iter().filter(|group| {
                verdict.diagnostics.get(group.first()).is_some_and(|found| found.is_error() == is_error)
            });
            match causes.count() {
                causes if causes < all => format!("{} of {}", count(all, what), count(causes, "kind")),
                _ => count(all, what),
            }
        };
        writeln!(out, "{files}: {word}, {} and {}", number(true, "error"), number(false, "warning"))
    }

    /// Where the findings of a group are.
    fn places(&self, group: &Group) -> String {
        let found = group.members.iter().filter_map(|&index| self.judged.verdict.diagnostics.get(index));
        places(found.map(|diagnostic| &*diagnostic.pointer))
    }

    fn name(&self, index: usize) -> String {
        self.files.get(index).map(|file| file.display().to_string()).unwrap_or_default()
    }

    /// What finds places in each text; nothing where no diagnostic needs it.
    fn sources<'t>(&self, texts: &[&'t str]) -> Vec<Option<Source<'t>>> {
        let mut is_needed = vec![false; texts.len()];
        for diagnostic in &self.judged.verdict.diagnostics {
            if let Some(needed) = is_needed.get_mut(self.kind.place(texts.len(), &diagnostic.pointer).0) {
                *needed = true;
            }
        }
        texts.iter().zip(is_needed).map(|(text, needed)| needed.then(|| Source::new(text))).collect()
    }
}
