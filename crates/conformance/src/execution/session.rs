//! A case that executes, ready to be sent.

use std::collections::{BTreeMap, BTreeSet};

use megakernel_ir::model::Program;
use megakernel_ir::protocol::{Accumulator, Hello};
use megakernel_ir::{BufferKind, DType, Opcode, read};
use megakernel_numerics::{Tensor, TensorFile};

use super::expect::shape;
use super::{Class, Expectation, Key, expectations, size};
use crate::case::{Case, LaunchCase};
use crate::store::{Corpus, CorpusError};

/// The launches of a case. `documents` are those of [`Corpus::launch_documents`].
pub struct Session<'a> {
    corpus: &'a Corpus,
    case: &'a Case,
    /// In order.
    pub launches: Vec<Prepared<'a>>,
}

/// One launch.
pub struct Prepared<'a> {
    /// What the case says about it.
    pub case: &'a LaunchCase,
    /// The program's text.
    pub document: &'a str,
    /// The program.
    pub program: Program<'a>,
}

/// What the files of a launch bind, by the name under which a buffer is bound.
#[derive(Debug, Default)]
pub struct Bound {
    /// Weights, constants and inputs.
    pub tensors: BTreeMap<String, Tensor>,
    /// Caches. One may have the name by which a buffer of another kind is bound.
    pub caches: BTreeMap<String, Tensor>,
}

impl<'a> Session<'a> {
    /// Reads the programs of a case.
    ///
    /// # Errors
    /// A document is no program, so that the case cannot be about executing it.
    pub fn new(
        corpus: &'a Corpus,
        case: &'a Case,
        documents: &'a [Vec<u8>],
    ) -> Result<Session<'a>, CorpusError> {
        let path = format!("cases/{}.json", case.id);
        let cases = case.execute.iter().flat_map(|execution| &execution.launches);
        let mut launches = Vec::new();
        for (n, (launch, bytes)) in cases.zip(documents).enumerate() {
            let failed = |cause: String| corpus.error(&path, format!("the document of launch {n}: {cause}"));
            let document = std::str::from_utf8(bytes).map_err(|cause| failed(cause.to_string()))?;
            let program = read(bytes).map_err(|found| {
                failed(found.first().map_or_else(String::new, |diagnostic| diagnostic.message.clone()))
            })?;
            launches.push(Prepared { case: launch, document, program });
        }
        Ok(Session { corpus, case, launches })
    }

    /// Why the worker is not asked, if its claims of opcodes and dtypes leave something out.
    pub fn skip(&self, hello: &Hello) -> Option<String> {
        let programs = || self.launches.iter().map(|launch| &launch.program);
        let opcodes: BTreeSet<Opcode> =
            programs().flat_map(|program| &program.tasks).map(|task| task.op).collect();
        let dtypes: BTreeSet<DType> =
            programs().flat_map(|program| &program.buffers).map(|buffer| buffer.dtype).collect();
        lacking("opcode", opcodes.iter().map(|opcode| opcode.name()), &hello.opcodes)
            .or_else(|| lacking("dtype", dtypes.iter().map(|dtype| dtype.name()), &hello.dtypes))
    }

    /// What each launch has to leave behind.
    ///
    /// # Errors
    /// A file of references cannot be read, or does not fit its program.
    pub fn expectations(&self, accumulator: Accumulator) -> Result<Vec<Vec<Expectation>>, CorpusError> {
        let read = |launch: &Prepared<'_>| {
            let path = &launch.case.expected;
            let file =
                TensorFile::read(&self.corpus.file(path)?).map_err(|cause| self.corpus.error(path, cause))?;
            expectations(&launch.program, &file, accumulator)
                .map_err(|cause| self.corpus.error(path, format!("does not fit `{}`: {cause}", self.case.id)))
        };
        self.launches.iter().map(read).collect()
    }

    /// The lines of the table that the case belongs to: the dtypes that are judged, under the only opcode that the
    /// programs have besides NOP, or under none.
    pub fn keys(&self, expectations: &[Vec<Expectation>]) -> BTreeSet<Key> {
        let opcode = self.opcode();
        expectations.iter().flatten().map(|expectation| (opcode, expectation.dtype)).collect()
    }

    /// The only opcode that the programs have besides NOP.
    pub fn opcode(&self) -> Option<Opcode> {
        let tasks = self.launches.iter().flat_map(|launch| &launch.program.tasks);
        let opcodes: BTreeSet<Opcode> =
            tasks.map(|task| task.op).filter(|&opcode| opcode != Opcode::Nop).collect();
        opcodes.first().copied().filter(|_| opcodes.len() == 1)
    }

    /// The class of the case as a whole: of its largest task, or, where it has no one opcode, of how many tasks it has.
    pub fn class(&self) -> Class {
        let tasks = self.launches.iter().flat_map(|Prepared { program, .. }| {
            program.tasks.iter().filter(|task| task.op != Opcode::Nop).map(move |task| (program, task))
        });
        Class::of(match self.opcode() {
            Some(_) => tasks.map(|(program, task)| size(program, task)).max().unwrap_or(0),
            None => tasks.count() as u64,
        })
    }

    /// What the files of a launch bind.
    ///
    /// # Errors
    /// A file cannot be read, or binds a buffer to a tensor of another dtype or shape.
    pub fn bound(&self, launch: &Prepared<'_>) -> Result<Bound, CorpusError> {
        let mut bound = Bound::default();
        let is_first = self.launches.first().is_some_and(|first| std::ptr::eq(first, launch));
        for path in &launch.case.tensors {
            let failed = |cause| self.corpus.error(path, cause);
            let file = TensorFile::read(&self.corpus.inputs(path)?).map_err(failed)?;
            for buffer in &launch.program.buffers {
                let name: &str = match (buffer.kind, &buffer.source) {
                    (BufferKind::Weight | BufferKind::Const, Some(source)) => source,
                    (BufferKind::Activation | BufferKind::IoOutput, _) => continue,
                    _ => &buffer.name,
                };
                if let (true, Some(shape)) = (file.tensors.contains_key(name), shape(buffer)) {
                    let is_cache = buffer.kind == BufferKind::KvCache;
                    let tensor = match file.buffer(name, buffer.dtype, &shape) {
                        // Caches are bound in the first launch only (EXE-08): here the name is another buffer's.
                        Err(_) if is_cache && !is_first => continue,
                        tensor => tensor.map_err(failed)?,
                    };
                    let into = if is_cache { &mut bound.caches } else { &mut bound.tensors };
                    into.insert(name.to_owned(), tensor.into_owned());
                }
            }
        }
        Ok(bound)
    }
}

fn lacking<'n>(what: &str, used: impl Iterator<Item = &'n str>, claimed: &[String]) -> Option<String> {
    let lacking: Vec<&str> =
        used.filter(|&name| !claimed.is_empty() && claimed.iter().all(|claim| claim != name)).collect();
    match lacking.as_slice() {
        [] => None,
        [name] => Some(format!("{what} {name} is not claimed")),
        names => Some(format!("{what}s {} are not claimed", names.join(", "))),
    }
}
