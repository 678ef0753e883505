//! Names that nothing else has.

use std::collections::{HashMap, HashSet};

/// Names that are taken.
#[derive(Clone, Debug, Default)]
pub struct Names {
    taken: HashSet<String>,
    /// How often a name was wanted that was taken.
    again: HashMap<String, u64>,
}

impl FromIterator<String> for Names {
    fn from_iter<I: IntoIterator<Item = String>>(names: I) -> Names {
        Names { taken: names.into_iter().collect(), again: HashMap::new() }
    }
}

impl Names {
    /// Takes a name, or the first one of it with `'`, `'2`, `'3` and so on that nobody has.
    pub fn free(&mut self, of: &str) -> String {
        let mut name = of.to_owned();
        while !self.taken.insert(name.clone()) {
            let again = self.again.entry(of.to_owned()).or_default();
            *again += 1;
            name = if *again == 1 { format!("{of}'") } else { format!("{of}'{again}") };
        }
        name
    }
}
