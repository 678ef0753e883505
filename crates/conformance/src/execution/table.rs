//! What was executed, counted by opcode and dtype, and within these by size.

use std::collections::{BTreeMap, BTreeSet};

use megakernel_ir::{DType, Opcode};

/// A line of the table: an opcode, or none for programs of several, and the dtype of what was judged.
pub type Key = (Option<Opcode>, DType);

/// Where a fault counts: in a line, and there under a class of sizes.
pub type Place = (Key, Class);

/// A class of sizes (clause CON-14), by the largest size in it: a power of 16.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Class(u64);

impl Class {
    /// The class of a size.
    pub fn of(size: u64) -> Class {
        let mut up_to: u64 = 16;
        while up_to < size {
            up_to = up_to.saturating_mul(16);
        }
        Class(up_to)
    }

    /// The largest size in it.
    pub fn up_to(self) -> u64 {
        self.0
    }
}

/// The counts of a line, or of one of its classes.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Counts {
    /// Cases that have to do with it.
    pub cases: usize,
    /// Those that failed because of it.
    pub failed: usize,
    /// The largest share of its bound that an admitted element used; nothing where only integers were judged.
    pub share: Option<f64>,
}

impl Counts {
    /// Adds a case.
    fn add(&mut self, &(failed, share): &(bool, Option<f64>)) {
        self.cases += 1;
        self.failed += usize::from(failed);
        self.share = larger(self.share, share);
    }
}

/// A line, and what of it is of each class of sizes. A case may have to do with several classes, and counts once in the line.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Row {
    /// All of it.
    pub whole: Counts,
    /// By class.
    pub sizes: BTreeMap<Class, Counts>,
}

/// All lines.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Table(BTreeMap<Key, Row>);

impl Table {
    /// Adds a case.
    pub fn add(&mut self, touched: &Touched) {
        let mut lines: BTreeMap<Key, (bool, Option<f64>)> = BTreeMap::new();
        for (&(key, class), seen) in &touched.0 {
            self.0.entry(key).or_default().sizes.entry(class).or_default().add(seen);
            let line = lines.entry(key).or_default();
            *line = (line.0 || seen.0, larger(line.1, seen.1));
        }
        for (key, seen) in &lines {
            self.0.entry(*key).or_default().whole.add(seen);
        }
    }

    /// The lines by opcode, programs of several last.
    pub fn rows(&self) -> impl Iterator<Item = (Key, &Row)> {
        let (none, some): (Vec<_>, Vec<_>) =
            self.0.iter().map(|(key, row)| (*key, row)).partition(|((opcode, _), _)| opcode.is_none());
        some.into_iter().chain(none)
    }
}

/// The lines and classes that one case has to do with.
#[derive(Clone, Debug, Default)]
pub struct Touched(BTreeMap<Place, (bool, Option<f64>)>);

impl Touched {
    /// Those that the case belongs to, whatever happens.
    pub fn new(keys: &BTreeSet<Key>, class: Class) -> Touched {
        Touched(keys.iter().map(|key| ((*key, class), (false, None))).collect())
    }

    /// Notes the share of a bound that was used.
    pub fn used(&mut self, place: Place, share: Option<f64>) {
        let entry = self.0.entry(place).or_default();
        entry.1 = larger(entry.1, share);
    }

    /// Notes a failure: in one place, or of the case as a whole.
    pub fn failed(&mut self, place: Option<Place>) {
        match place {
            Some(place) => self.0.entry(place).or_default().0 = true,
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_end_at_powers_of_16() {
        let ends = [(0, 16), (1, 16), (16, 16), (17, 256), (256, 256), (257, 4096), (1 << 20, 1 << 20)];
        for (size, end) in ends {
            assert_eq!(Class::of(size).up_to(), end, "{size}");
        }
        assert_eq!(Class::of(u64::MAX).up_to(), u64::MAX);
    }

    #[test]
    fn a_case_counts_once_in_its_line_and_once_in_each_class() {
        let key = (Some(Opcode::Add), DType::F32);
        let [small, large] = [3, 300].map(Class::of);
        let mut table = Table::default();
        let mut one = Touched::new(&BTreeSet::from([key]), small);
        one.used((key, small), Some(0.5));
        one.used((key, large), Some(0.25));
        one.failed(Some((key, large)));
        table.add(&one);
        let mut two = Touched::new(&BTreeSet::from([key]), small);
        two.used((key, small), Some(0.125));
        table.add(&two);
        let counts = |cases, failed, share| Counts { cases, failed, share: Some(share) };
        let row = Row {
            whole: counts(2, 1, 0.5),
            sizes: BTreeMap::from([(small, counts(2, 0, 0.5)), (large, counts(1, 1, 0.25))]),
        };
        assert_eq!(table.rows().collect::<Vec<_>>(), [(key, &row)]);
        let mut three = Touched::new(&BTreeSet::from([key]), large);
        three.failed(None);
        table.add(&three);
        let row = table.rows().next().map(|(_, row)| (row.whole.failed, row.sizes.get(&large)));
        assert_eq!(row, Some((2, Some(&counts(2, 2, 0.25)))));
    }
}
