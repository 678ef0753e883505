//! What evidence is about: the cases of a corpus that execute.

use std::collections::BTreeSet;

use megakernel_ir::protocol::{Accumulator, Profile};

use super::Cases;
use crate::case::Case;
use crate::execution::{Key, Session};
use crate::store::{Corpus, CorpusError};

/// The cases that execute: how many, a digest of them, and what they judge.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// Number and digest.
    pub cases: Cases,
    /// Each opcode, or none for programs of several, with each dtype that is judged of it.
    pub judged: BTreeSet<Key>,
}

impl Subject {
    /// Reads all that is sent and expected in the cases that execute.
    ///
    /// # Errors
    /// A file of the corpus cannot be read, or does not fit its case.
    pub fn new(corpus: &Corpus) -> Result<Subject, CorpusError> {
        let mut hash = blake3::Hasher::new();
        let mut subject =
            Subject { cases: Cases { cases: 0, digest: String::new() }, judged: BTreeSet::new() };
        for case in corpus.cases().iter().filter(|case| case.profiles.contains(&Profile::EXECUTE)) {
            subject.cases.cases += 1;
            let documents = corpus.launch_documents(case)?;
            hash.update(lines(corpus, case, &documents)?.as_bytes());
            let session = Session::new(corpus, case, &documents)?;
            subject.judged.extend(session.keys(&session.expectations(Accumulator::Binary32)?));
        }
        subject.cases.digest = hash.finalize().to_hex().to_string();
        Ok(subject)
    }
}

/// A line with the case's id, and one for each launch with the digests of the document, the inputs and the references.
fn lines(corpus: &Corpus, case: &Case, documents: &[Vec<u8>]) -> Result<String, CorpusError> {
    let mut text = format!("{}\n", case.id);
    let launches = case.execute.iter().flat_map(|execution| &execution.launches);
    for (launch, document) in launches.zip(documents) {
        text += &blake3::hash(document).to_hex();
        for path in launch.tensors.iter().chain([&launch.expected]) {
            text += " ";
            text += &blake3::hash(&corpus.file(path)?).to_hex();
        }
        text += "\n";
    }
    Ok(text)
}
