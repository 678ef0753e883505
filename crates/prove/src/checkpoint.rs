//! How far a run has come, on disk.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use megakernel_ir::Rule;
use serde_json::{Map, Value, json};

use crate::{Options, Scope, Shard, Subject, Tally, Weakness};

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
    /// The checkpoint that the options name, or a fresh one.
    ///
    /// # Errors
    /// The file cannot be read, or is of another run.
    pub fn open<S: Subject>(
        options: &Options,
        scope: &Scope<S::Family>,
        pieces: usize,
    ) -> Result<Checkpoint, String> {
        let question = json!({
            "scope": scope.name,
            "family": options.family,
            "shard": options.shard.map(|shard| shard.to_string()),
            "without": options.without.map(Weakness::name),
            "pieces": pieces,
            "version": env!("CARGO_PKG_VERSION"),
        });
        let tallies = vec![Tally::default(); scope.families.len()];
        let mut checkpoint = Checkpoint {
            path: options.checkpoint.clone(),
            question,
            done: 0,
            tallies,
            ahead: BTreeMap::new(),
        };
        if let Some(path) = &options.checkpoint
            && path.exists()
        {
            let found = read(path)?;
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

/// [`crate::run::merged`], of a run of so many pieces.
pub fn merged<S: Subject>(
    options: &Options,
    scope: &Scope<S::Family>,
    pieces: usize,
) -> Result<Vec<Tally>, String> {
    let mut shards = BTreeMap::new();
    for path in &options.merge {
        let found = read(path)?;
        let shard: Option<Shard> = found["question"]["shard"].as_str().and_then(|text| text.parse().ok());
        let Some(shard) = shard else {
            return Err(format!("{} is a checkpoint of no shard", path.display()));
        };
        let asked = Options { shard: Some(shard), checkpoint: Some(path.clone()), ..options.clone() };
        let of_shard = pieces.saturating_sub(shard.index() - 1).div_ceil(shard.of());
        let checkpoint = Checkpoint::open::<S>(&asked, scope, of_shard)?;
        if checkpoint.done < of_shard {
            return Err(format!(
                "{} has come to {} of the {of_shard} pieces of shard {shard}; let that go on to its end first, with --shard {shard} \
                 --checkpoint {}",
                path.display(),
                checkpoint.done,
                path.display()
            ));
        }
        if let Some((_, other)) = shards.insert(shard, (checkpoint, path)) {
            return Err(format!("{} and {} are both of shard {shard}", other.display(), path.display()));
        }
    }
    let of = shards.first_key_value().map_or(0, |(shard, _)| shard.of());
    if let Some((shard, (_, path))) = shards.iter().find(|(shard, _)| shard.of() != of) {
        return Err(format!("{} is of shard {shard}, where others are of {of}", path.display()));
    }
    let is_there = |index: &usize| shards.keys().any(|shard| shard.index() == *index);
    if let Some(index) = (1..=of).find(|index| !is_there(index)) {
        return Err(format!("the checkpoint of shard {index}/{of} is missing"));
    }
    let mut tallies = vec![Tally::default(); scope.families.len()];
    for (checkpoint, _) in shards.values() {
        for (all, part) in tallies.iter_mut().zip(&checkpoint.tallies) {
            all.add(part);
        }
    }
    Ok(tallies)
}

fn read(path: &Path) -> Result<Value, String> {
    let text = std::fs::read_to_string(path).map_err(|cause| format!("{}: {cause}", path.display()))?;
    serde_json::from_str(&text).map_err(|cause| format!("{}: {cause}", path.display()))
}

fn value_of(tally: &Tally) -> Value {
    let rules: Map<String, Value> =
        tally.rules.iter().map(|(rule, counts)| (rule.id().to_owned(), json!(counts))).collect();
    json!([tally.documents, tally.accepted, tally.shown, tally.conservative, rules])
}

fn tally_of(value: &Value) -> Option<Tally> {
    let number = |index: usize| value[index].as_u64();
    let rule = |(id, counts): (&String, &Value)| {
        let counts: Option<Vec<u64>> = counts.as_array()?.iter().map(Value::as_u64).collect();
        Some((Rule::from_id(id)?, counts?))
    };
    let rules: Option<BTreeMap<Rule, Vec<u64>>> = value[4].as_object()?.iter().map(rule).collect();
    Some(Tally {
        documents: number(0)?,
        accepted: number(1)?,
        shown: number(2)?,
        conservative: number(3)?,
        rules: rules?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_survive_the_file() {
        let rules = [(Rule::R01, vec![0, 2]), (Rule::D03, vec![1, 0])].into();
        let tally = Tally { documents: 9, accepted: 4, shown: 3, conservative: 2, rules };
        assert_eq!(tally_of(&value_of(&tally)), Some(tally));
    }
}
