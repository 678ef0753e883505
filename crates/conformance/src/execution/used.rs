//! What a case that executes is made of.

use std::collections::BTreeSet;

use megakernel_ir::{DType, Opcode, read};

use crate::case::Case;
use crate::store::Corpus;

/// The opcodes of the tasks and the dtypes of the buffers of the programs that a case executes; none for another case. Programs
/// that cannot be read are left out, since they are not played either.
pub fn used(corpus: &Corpus, case: &Case) -> (BTreeSet<Opcode>, BTreeSet<DType>) {
    let (mut opcodes, mut dtypes) = (BTreeSet::new(), BTreeSet::new());
    for document in corpus.launch_documents(case).unwrap_or_default() {
        let Ok(program) = read(&document) else { continue };
        opcodes.extend(program.tasks.iter().map(|task| task.op));
        dtypes.extend(program.buffers.iter().map(|buffer| buffer.dtype));
    }
    (opcodes, dtypes)
}
