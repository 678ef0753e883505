//! Other ways to find the candidates of a region, which have to find the same.

use std::cell::RefCell;
use std::collections::HashMap;

use megakernel_selection::Kernel;

use super::Question;
use super::matrix::fold;
use super::walk::found_anew;

/// The candidates of regions, by first and last op, as positions in the index.
#[derive(Debug)]
pub struct Table {
    ahead: bool,
    known: RefCell<HashMap<(usize, usize), Vec<usize>>>,
}

impl Table {
    /// Candidates are those of the region without its last op, less those that cannot take that one.
    pub fn lists() -> Table {
        Table { ahead: false, known: RefCell::default() }
    }

    /// All regions are tabulated before the walk, the last ones first.
    pub fn ahead() -> Table {
        Table { ahead: true, known: RefCell::default() }
    }

    /// What is tabulated before the walk.
    pub fn prepare(&self, question: &Question<'_>) {
        if !self.ahead {
            return;
        }
        for anchor in (0..question.ops.len()).rev() {
            for last in anchor..question.ops.len().min(anchor + question.limit) {
                let Ok(matrix) = fold(question, anchor, last) else { break };
                let all = 0..question.index.kernels.len();
                let found = found_anew(question, anchor, last, &matrix, all);
                let is_empty = found.is_empty();
                self.known.borrow_mut().insert((anchor, last), found);
                if is_empty {
                    break;
                }
            }
        }
    }

    /// The candidates of a region that composes.
    pub fn candidates<'a>(
        &self,
        question: &Question<'a>,
        anchor: usize,
        last: usize,
        matrix: &super::Matrix,
    ) -> Vec<&'a Kernel> {
        let kernels =
            |found: &Vec<usize>| found.iter().filter_map(|&at| question.index.kernels.get(at)).collect();
        if let Some(known) = self.known.borrow().get(&(anchor, last)) {
            return kernels(known);
        }
        let all = || (0..question.index.kernels.len()).collect();
        let before =
            last.checked_sub(1).and_then(|before| self.known.borrow().get(&(anchor, before)).cloned());
        let found = found_anew(question, anchor, last, matrix, before.unwrap_or_else(all).into_iter());
        let candidates = kernels(&found);
        self.known.borrow_mut().insert((anchor, last), found);
        candidates
    }
}
