//! What was executed, counted by opcode and dtype.

use std::collections::{BTreeMap, BTreeSet};

use megakernel_ir::{DType, Opcode};

/// A line of the table: an opcode, or none for programs of several, and the dtype of what was judged.
pub type Key = (Option<Opcode>, DType);

/// The counts of a line.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Row {
    /// Cases that have to do with it.
    pub cases: usize,
    /// Those that failed because of it.
    pub failed: usize,
    /// The largest share of its bound that an admitted element used; nothing where only integers were judged.
    pub share: Option<f64>,
}

/// All lines.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table(BTreeMap<Key, Row>);

impl Table {
    /// Adds a case.
    pub fn add(&mut self, touched: &Touched) {
        for (key, &(failed, share)) in &touched.0 {
            let row = self.0.entry(*key).or_default();
            row.cases += 1;
            row.failed += usize::from(failed);
            row.share = larger(row.share, share);
        }
    }

    /// The lines by opcode, programs of several last.
    pub fn rows(&self) -> impl Iterator<Item = (Key, Row)> {
        let (none, some): (Vec<_>, Vec<_>) =
            self.0.iter().map(|(key, row)| (*key, *row)).partition(|((opcode, _), _)| opcode.is_none());
        some.into_iter().chain(none)
    }
}

/// The lines that one case has to do with.
#[derive(Clone, Debug, Default)]
pub struct Touched(BTreeMap<Key, (bool, Option<f64>)>);

impl Touched {
    /// The lines that the case belongs to, whatever happens.
    pub fn new(keys: &BTreeSet<Key>) -> Touched {
        Touched(keys.iter().map(|key| (*key, (false, None))).collect())
    }

    /// Notes the share of a bound that was used.
    pub fn used(&mut self, key: Key, share: Option<f64>) {
        let entry = self.0.entry(key).or_default();
        entry.1 = larger(entry.1, share);
    }

    /// Notes a failure: of one line, or of the case as a whole.
    pub fn failed(&mut self, key: Option<Key>) {
        match key {
            Some(key) => self.0.entry(key).or_default().0 = true,
            None => self.0.values_mut().for_each(|entry| entry.0 = true),
        }
    }
}

fn larger(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    match (a, b) {
        (Some(a), Some(b)) => Some(a.max(b)),
        (one, None) | (None, one) => one,
    }
}
