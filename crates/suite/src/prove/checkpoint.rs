//! How far a run has come, on disk.

use std::collections::BTreeMap;
use std::path::PathBuf;

use megakernel_ir::Rule;
use megakernel_reference::agreement::Reason;
use serde_json::{Value, json};

use super::Args;
use super::scopes::Scope;
use super::tally::Tally;

/// The counts of a run, and which pieces of work they are of: all before number `done`.
pub struct Checkpoint {
    path: Option<PathBuf>,
    /// What was asked for: a checkpoint of another question is of no use.
    question: Value,
    /// Number of pieces that are done without a gap.
    pub done: usize,
    /// By family.
    pub tallies: Vec<Tally>,
    /// Pieces that are done beyond the first gap.
    ahead: BTreeMap<usize, (usize, Tally)>,
}

impl Checkpoint {
    /// The checkpoint that the arguments name, or a fresh one.
    ///
    /// # Errors
    /// The file cannot be read, or is of another run.
    pub fn open(args: &Args, scope: &Scope, pieces: usize) -> Result<Checkpoint, String> {
        let question = json!({
            "scope": scope.name,
            "family": args.family,
            "shard": args.shard.map(|shard| format!("{}/{}", shard.part, shard.of)),
            "without": args.without.map(Rule::id),
            "pieces": pieces,
            "version": env!("CARGO_PKG_VERSION"),
        });
        let tallies = vec![Tally::default(); scope.families.len()];
        let mut checkpoint =
            Checkpoint { path: args.checkpoint.clone(), question, done: 0, tallies, ahead: BTreeMap::new() };
        if let Some(path) = &args.checkpoint
            && path.exists()
        {
            let text =
                std::fs::read_to_string(path).map_err(|cause| format!("{}: {cause}", path.display()))?;
            let found: Value =
                serde_json::from_str(&text).map_err(|cause| format!("{}: {cause}", path.display()))?;
            let loaded =
                (found["question"] == checkpoint.question).then(|| checkpoint.load(&found)).flatten();
            if loaded.is_none() {
                return Err(format!(
                    "{} is a checkpoint of another run, {}; remove it, or name another file",
                    path.display(),
                    found["question"]
                ));
            }
        }
        Ok(checkpoint)
    }

    fn load(&mut self, found: &Value) -> Option<()> {
        self.done = usize::try_from(found["done"].as_u64()?).ok()?;
        for (tally, found) in self.tallies.iter_mut().zip(found["families"].as_array()?) {
            *tally = tally_of(found)?;
        }
        Some(())
    }

    /// Takes in a piece.
    pub fn add(&mut self, index: usize, family: usize, tally: Tally) {
        self.ahead.insert(index, (family, tally));
        while let Some((family, tally)) = self.ahead.remove(&self.done) {
            self.tallies[family].add(&tally);
            self.done += 1;
        }
    }

    /// Writes the file, if there is to be one.
    ///
    /// # Errors
    /// It cannot be written.
    pub fn save(&self) -> Result<(), String> {
        let Some(path) = &self.path else { return Ok(()) };
        let families: Vec<Value> = self.tallies.iter().map(value_of).collect();
        let value = json!({"question": self.question, "done": self.done, "families": families});
        // A run that is stopped while it writes must not lose the checkpoint before.
        let fresh = path.with_extension("new");
        std::fs::write(&fresh, value.to_string())
            .and_then(|()| std::fs::rename(&fresh, path))
            .map_err(|cause| format!("{} cannot be written: {cause}", path.display()))
    }
}

fn value_of(tally: &Tally) -> Value {
    json!([tally.programs, tally.accepted, tally.shown, tally.conservative, tally.rules])
}

fn tally_of(value: &Value) -> Option<Tally> {
    let number = |index: usize| value[index].as_u64();
    let mut rules = Vec::new();
    for row in value[4].as_array()? {
        let mut counts = [0; Reason::ALL.len()];
        for (count, value) in counts.iter_mut().zip(row.as_array()?) {
            *count = value.as_u64()?;
        }
        rules.push(counts);
    }
    Some(Tally {
        programs: number(0)?,
        accepted: number(1)?,
        shown: number(2)?,
        conservative: number(3)?,
        rules,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_survive_the_file() {
        let mut tally = Tally { programs: 9, accepted: 4, shown: 3, conservative: 2, rules: Vec::new() };
        tally.rules.resize(Rule::ALL.len(), Default::default());
        tally.rules[Rule::R01 as usize][Reason::AllJoin as usize] = 2;
        assert_eq!(tally_of(&value_of(&tally)), Some(tally));
    }
}
