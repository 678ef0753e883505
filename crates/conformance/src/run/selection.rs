//! Which cases a run plays, and under which profiles.

use megakernel_ir::protocol::Profile;
use megakernel_ir::registry;
use megakernel_ir::shard::Shard;
use megakernel_ir::{DType, Opcode};

use super::{RunError, Unit};
use crate::case::Case;
use crate::execution::used;
use crate::store::{Corpus, Filter};

/// What was asked for. By default all.
#[derive(Clone, Debug, Default)]
pub struct Selection {
    /// The profiles asked for; none: all that the worker claims.
    pub profiles: Vec<Profile>,
    /// Cases whose id matches.
    pub filter: Option<Filter>,
    /// Cases whose id matches none of these.
    pub exclude: Vec<Filter>,
    /// Cases that cite one of these rules and clauses; none: whatever they cite.
    pub clauses: Vec<String>,
    /// Cases that execute a task of one of these; none: whatever they execute, if anything.
    pub opcodes: Vec<Opcode>,
    /// Cases that execute a program with a buffer of one of these; none: whatever they execute, if anything.
    pub dtypes: Vec<DType>,
    /// A part of all that.
    pub shard: Option<Shard>,
}

impl Selection {
    /// Whether cases are left out of the profiles asked for, so that the run is about a part of them.
    pub fn narrows(&self) -> bool {
        let Selection { profiles: _, filter, exclude, clauses, opcodes, dtypes, shard } = self;
        let lists = exclude.is_empty() && clauses.is_empty() && opcodes.is_empty() && dtypes.is_empty();
        filter.is_some() || !lists || shard.is_some()
    }

    /// The units, in order of case and profile.
    ///
    /// # Errors
    /// There are none, or none for a profile that was asked for.
    pub fn units<'a>(&self, corpus: &'a Corpus) -> Result<Vec<Unit<'a>>, RunError> {
        let asked = |profile: &Profile| self.profiles.is_empty() || self.profiles.contains(profile);
        let cases: Vec<&Case> = corpus
            .cases()
            .iter()
            .filter(|case| case.profiles.iter().any(asked) && self.selects(corpus, case))
            .collect();
        let nothing = |whose: String| {
            RunError::NothingSelected(format!("the corpus has no case{}{whose}", self.in_words()))
        };
        if let Some(profile) =
            self.profiles.iter().find(|profile| !cases.iter().any(|case| case.profiles.contains(profile)))
        {
            return Err(nothing(format!(" for profile {profile}")));
        }
        if cases.is_empty() {
            return Err(nothing(String::new()));
        }
        let cases = match self.shard {
            Some(shard) => shard.part(&cases).ok_or_else(|| {
                let (of, count) = (shard.of(), cases.len());
                RunError::NothingSelected(format!(
                    "{count} cases cannot be shared by {of} shards; take at most {count}"
                ))
            })?,
            None => cases,
        };
        let mut units = Vec::new();
        for case in cases {
            let profiles = registry::profiles().filter(|profile| case.profiles.contains(profile));
            units.extend(profiles.filter(asked).map(|profile| Unit { case, profile }));
        }
        Ok(units)
    }

    fn selects(&self, corpus: &Corpus, case: &Case) -> bool {
        if self.filter.as_ref().is_some_and(|filter| !filter.matches(&case.id))
            || self.exclude.iter().any(|filter| filter.matches(&case.id))
            || !(self.clauses.is_empty() || self.clauses.iter().any(|clause| case.clauses.contains(clause)))
        {
            return false;
        }
        if self.opcodes.is_empty() && self.dtypes.is_empty() {
            return true;
        }
        let (opcodes, dtypes) = used(corpus, case);
        (self.opcodes.is_empty() || self.opcodes.iter().any(|opcode| opcodes.contains(opcode)))
            && (self.dtypes.is_empty() || self.dtypes.iter().any(|dtype| dtypes.contains(dtype)))
    }

    /// What is asked of a case, for a message that there is none.
    fn in_words(&self) -> String {
        let or = |names: Vec<String>| names.join(" or ");
        let globs =
            |filters: &[Filter]| or(filters.iter().map(|glob| format!("`{}`", glob.as_str())).collect());
        let mut asked = Vec::new();
        if let Some(filter) = &self.filter {
            asked.push(format!("matches `{}`", filter.as_str()));
        }
        if !self.exclude.is_empty() {
            asked.push(format!("does not match {}", globs(&self.exclude)));
        }
        if !self.clauses.is_empty() {
            asked.push(format!("cites {}", or(self.clauses.clone())));
        }
        if !self.opcodes.is_empty() {
            let names = self.opcodes.iter().map(|opcode| opcode.name().to_owned()).collect();
            asked.push(format!("executes {}", or(names)));
        }
        if !self.dtypes.is_empty() {
            let names = self.dtypes.iter().map(|dtype| dtype.name().to_owned()).collect();
            asked.push(format!("executes a program with a buffer of {}", or(names)));
        }
        if asked.is_empty() { String::new() } else { format!(" that {}", asked.join(" and ")) }
    }
}
