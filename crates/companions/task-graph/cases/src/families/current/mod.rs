//! Graphs as the current generator writes them: types that write their inputs, requests and experts, sums in parts, and both
//! collectives.

pub mod collectives;
pub mod meetings;
pub mod operands;
pub mod puts;
pub mod selections;
pub mod sums;

use megakernel_corpus::builder::Result;
use megakernel_corpus::edit::Edit;

use super::base::GraphBase;
use crate::build::metadata;

/// The accepted graphs.
pub fn bases() -> Result<Vec<GraphBase>> {
    let mut all = operands::bases()?;
    all.extend(selections::bases()?);
    all.extend(sums::bases()?);
    all.extend(collectives::bases()?);
    all.extend(puts::bases()?);
    Ok(all)
}

/// An edit that also gives a task this metadata word.
fn with_word(edit: Edit, base: &GraphBase, task: &str, word: [i64; 2]) -> Result<Edit> {
    let mut edit = edit;
    for (member, value) in metadata(word) {
        let at = base.at(task, member)?;
        if base.int(&at)? != value {
            edit = edit.replace(at, value);
        }
    }
    Ok(edit)
}

/// An edit that also gives a task this type.
fn with_type(edit: Edit, base: &GraphBase, task: &str, code: i64) -> Result<Edit> {
    Ok(edit.replace(base.at(task, "task_type")?, code))
}
