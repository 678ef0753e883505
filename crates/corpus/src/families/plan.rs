//! A case that is executed, before the oracle has filled in what it expects.

use std::collections::BTreeMap;
use std::sync::Arc;

use megakernel_ir::rule::Clause;
use serde_json::Value;

use super::numeric::{Operand, Values};
use crate::builder::Program;

/// A tensor file of inputs: buffers by name.
pub type Inputs = BTreeMap<String, Operand>;

/// A case that is executed: a program, what each launch binds, and what is known of the results beforehand.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Id of the case.
    pub id: String,
    /// The family it belongs to, which starts the id.
    pub family: String,
    /// What the case shows.
    pub summary: String,
    /// The clauses that it tests.
    pub clauses: Vec<Clause>,
    /// Path of the program file, relative to the corpus.
    pub path: String,
    /// The program.
    pub program: Arc<Program>,
    /// One session, in order.
    pub launches: Vec<Launch>,
    /// The set of random weights that it has, perhaps with others, where another draw of them would do as well.
    pub weights: Option<&'static str>,
}

/// How often a set of random weights has been drawn anew, by its name.
pub type Draws = BTreeMap<&'static str, u64>;

/// One launch of a plan.
#[derive(Clone, Debug, Default)]
pub struct Launch {
    /// RFC 6902, on top of the program.
    pub edit: Vec<Value>,
    /// The tensor files, by path relative to the corpus.
    pub files: Vec<(String, Arc<Inputs>)>,
    /// Inputs that are results of earlier launches.
    pub feeds: Vec<Feed>,
    /// Results that follow from how the inputs were made. The oracle has to agree, exactly.
    pub known: BTreeMap<String, Values>,
    /// The buffers that are judged; without it every IO_OUTPUT and KV_CACHE.
    pub judged: Option<Vec<String>>,
    /// Of float buffers with many elements, by name: the places of those that are judged, ascending.
    pub sampled: BTreeMap<String, Vec<u64>>,
    /// Of float buffers whose contents are known, by name: the places that no clause specifies.
    pub open: BTreeMap<String, Vec<u64>>,
}

/// An IO_INPUT that holds what an earlier launch wrote: the token that was picked in the step before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Feed {
    /// Index of the earlier launch.
    pub launch: usize,
    /// The integer buffer that it wrote.
    pub from: String,
    /// The input to fill.
    pub to: String,
}

impl Launch {
    /// A launch that binds one file.
    pub fn of(path: &str, inputs: Inputs) -> Self {
        Self { files: vec![(path.to_owned(), Arc::new(inputs))], ..Self::default() }
    }
}

/// Whether two files hold the same buffers, bit for bit: a NaN equals itself, and a zero no zero of the other sign.
pub fn same(a: &Inputs, b: &Inputs) -> bool {
    a.len() == b.len()
        && a.iter().zip(b).all(|((a_name, a), (b_name, b))| {
            let values = match (&a.values, &b.values) {
                (Values::Reals(a), Values::Reals(b)) => {
                    a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.to_bits() == b.to_bits())
                }
                (a, b) => a == b,
            };
            a_name == b_name && a.dtype == b.dtype && a.shape == b.shape && values
        })
}
