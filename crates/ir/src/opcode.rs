//! What the table of opcodes says of one: `spec/opcodes/opcodes.json`.

use crate::{DType, Param};

/// A row of the table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OpcodeRecord {
    /// Fewest and most.
    pub inputs: [usize; 2],
    /// How many.
    pub outputs: usize,
    /// What its operands take, where that depends on nothing but their place.
    pub dtypes: Option<Dtypes>,
    /// Parameters that rule S13 demands.
    pub required: &'static [Param],
    /// Parameters that its page names beside those.
    pub optional: &'static [Param],
    /// What differs where `qdtype` is given.
    pub quantised: Option<Quantised>,
    /// Whether an input may be the output.
    pub in_place: InPlace,
}

/// The dtypes that operands take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dtypes {
    /// By input; the last stands for all that follow.
    pub inputs: &'static [&'static [DType]],
    /// Of the output, if there is one.
    pub output: &'static [DType],
}

impl Dtypes {
    /// What an input takes.
    pub fn input(&self, index: usize) -> &'static [DType] {
        self.inputs.get(index).or(self.inputs.last()).copied().unwrap_or_default()
    }
}

/// The quantised form of an opcode.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantised {
    /// Fewest and most.
    pub inputs: [usize; 2],
    /// Required beside the others.
    pub required: &'static [Param],
}

/// Whether a task may list one buffer both as input and as output (clause EXE-10).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InPlace {
    /// No input.
    Forbidden,
    /// Any input.
    Allowed,
    /// This input has to be the output.
    Required(usize),
}

impl OpcodeRecord {
    /// Fewest and most inputs, plain or quantised.
    pub fn inputs(&self, quantised: bool) -> [usize; 2] {
        self.quantised.filter(|_| quantised).map_or(self.inputs, |form| form.inputs)
    }

    /// What rule S13 demands, plain or quantised.
    pub fn required(&self, quantised: bool) -> impl Iterator<Item = Param> {
        let more = self.quantised.filter(|_| quantised).map_or(&[][..], |form| form.required);
        self.required.iter().chain(more).copied()
    }
}
