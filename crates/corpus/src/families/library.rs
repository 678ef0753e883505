//! The accepted programs, by name.

use std::collections::BTreeMap;

use megakernel_ir::rule::Clause;

use crate::builder::{Error, Program, ProgramBuilder, Result};

/// An accepted program that cases are made from.
#[derive(Clone, Debug)]
pub struct Base {
    /// Family and name, such as `gemv/four-tiles`.
    pub name: String,
    /// One line on what the program is.
    pub summary: String,
    /// Clauses that accepting the program depends on.
    pub clauses: Vec<Clause>,
    /// The program.
    pub program: Program,
}

impl Base {
    /// Names a finished program.
    pub fn new(
        name: impl Into<String>,
        summary: impl Into<String>,
        clauses: &[Clause],
        p: ProgramBuilder,
    ) -> Self {
        Self { name: name.into(), summary: summary.into(), clauses: clauses.to_vec(), program: p.finish() }
    }

    /// The family part of the name.
    pub fn family(&self) -> &str {
        self.name.split('/').next().unwrap_or_default()
    }

    /// The name with dashes, for use within a case name.
    pub fn slug(&self) -> String {
        self.name.replace('/', "-")
    }

    /// Path of the program file, relative to the corpus.
    pub fn path(&self) -> String {
        format!("programs/{}.json", self.slug())
    }

    /// Id of the case that accepts the program.
    pub fn case_id(&self) -> String {
        format!("accept/{}", self.name)
    }
}

/// Every accepted program.
#[derive(Default)]
pub struct Library {
    bases: BTreeMap<String, Base>,
}

impl Library {
    /// Collects bases; names must be unique.
    pub fn new(bases: impl IntoIterator<Item = Base>) -> Result<Self> {
        let mut library = Self::default();
        for base in bases {
            if let Some(twice) = library.bases.insert(base.name.clone(), base) {
                return Err(Error(format!("two bases are named `{}`", twice.name)));
            }
        }
        Ok(library)
    }

    /// The base with this name.
    pub fn get(&self, name: &str) -> Result<&Base> {
        self.bases.get(name).ok_or_else(|| Error(format!("no base is named `{name}`")))
    }

    /// Every base, in the order of the names.
    pub fn iter(&self) -> impl Iterator<Item = &Base> {
        self.bases.values()
    }

    /// The bases whose name starts with `prefix`.
    pub fn starting<'a>(&'a self, prefix: &'a str) -> impl Iterator<Item = &'a Base> {
        self.iter().filter(move |base| base.name.starts_with(prefix))
    }
}
