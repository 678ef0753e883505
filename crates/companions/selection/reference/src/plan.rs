//! Plans, and how they are written (clause SEL-23).

use std::collections::BTreeMap;
use std::sync::Arc;

use megakernel_selection::document::EPILOGUE;
use megakernel_selection::{Flag, Rational, Reason, Rows, Trigger};
use num_bigint::BigUint;
use serde_json::{Map, Value, json};

use crate::rows::Matrix;
use crate::shape::Shown;

/// A closed region.
#[derive(Clone, Debug)]
pub struct Region {
    /// First op.
    pub anchor: usize,
    /// Last op.
    pub last: usize,
    /// The kernel, by its position in the order of ids.
    pub kernel: u32,
    /// What stopped its growth.
    pub trigger: Trigger,
    /// The reason of the trigger.
    pub reason: Option<Reason>,
    /// The cost of the kernel for it.
    pub cost: Arc<Rational>,
    /// Its matrix.
    pub matrix: Arc<Matrix>,
    /// The rows of its ops, for their classes.
    pub ops: Vec<Arc<Rows>>,
}

/// The sum of many costs: a numerator for each denominator, since few of them differ.
#[derive(Clone, Debug, Default)]
pub struct Sum(BTreeMap<BigUint, BigUint>);

impl Sum {
    /// Adds a cost.
    pub fn add(&mut self, cost: &Rational) {
        match self.0.get_mut(cost.denominator()) {
            Some(sum) => *sum += cost.numerator(),
            None => {
                self.0.insert(cost.denominator().clone(), cost.numerator().clone());
            }
        }
    }

    /// The sum.
    pub fn total(&self) -> Rational {
        let parts = self.0.iter().filter_map(|(by, sum)| Rational::new(sum.clone(), by.clone()));
        parts.fold(Rational::zero(), |sum, part| sum.plus(&part))
    }
}

/// A plan as its document.
pub fn document(regions: &[Region], name: &dyn Fn(u32) -> String) -> Value {
    let mut cost = Sum::default();
    regions.iter().for_each(|region| cost.add(&region.cost));
    let regions: Vec<Value> = regions.iter().map(|region| region.document(name)).collect();
    json!({"regions": regions, "cost": cost.total().to_string()})
}

impl Region {
    /// The region as its document.
    pub fn document(&self, name: &dyn Fn(u32) -> String) -> Value {
        json!({
            "anchor": self.anchor,
            "last": self.last,
            "kernel": name(self.kernel),
            "trigger": self.trigger.name(),
            "reason": self.reason.map(Reason::name),
            "cost": self.cost.to_string(),
            "attrs": attrs(&self.matrix, self.ops.iter().map(|rows| rows.class.as_str())),
        })
    }
}

/// The matrix of a region as its document.
pub fn attrs<'a>(matrix: &Matrix, word: impl Iterator<Item = &'a str>) -> Value {
    let mut rows = Map::new();
    let mut row = |name: &str, members: Vec<(&str, Option<Value>)>| {
        let members: Map<String, Value> =
            members.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?))).collect();
        if !members.is_empty() {
            rows.insert(name.to_owned(), Value::Object(members));
        }
    };
    let list = |entries: Vec<&str>| (!entries.is_empty()).then(|| json!(entries));
    row(
        "sig",
        vec![
            ("word", Some(json!(word.collect::<Vec<_>>()))),
            ("core", matrix.core.map(|core| json!(core.name()))),
            ("linearity", matrix.linearity.map(|linearity| json!(linearity.name()))),
        ],
    );
    let shown = matrix.shape.shown();
    let extent = |shown: &Shown<'_>| match shown {
        Shown::Extent(extent) => json!(extent),
        Shown::Symbol(symbol) => json!(symbol),
        Shown::Unknown => json!("?"),
    };
    row("shape", shown.iter().map(|(role, shown)| (*role, Some(extent(shown)))).collect());
    let (first, last) = matrix.chain.unzip();
    let dtypes = [("in", first), ("out", last), ("acc", matrix.acc), ("weight", matrix.weight)];
    row("dtype", dtypes.map(|(name, dtype)| (name, dtype.map(|dtype| json!(dtype.name())))).into());
    let layouts = [("order", &matrix.order), ("pack", &matrix.pack), ("trans", &matrix.trans)];
    row("layout", layouts.map(|(name, layout)| (name, layout.as_ref().map(|layout| json!(layout)))).into());
    let flags = EPILOGUE.into_iter().zip(matrix.epilogue);
    let mut epilogue: Vec<_> = flags.map(|(name, set)| (name, set.then(|| json!(true)))).collect();
    epilogue.push(("activation", matrix.activation.map(|activation| json!(activation.name()))));
    row("epilogue", epilogue);
    let mut flags: Vec<&str> = matrix.flags.iter().map(Flag::name).collect();
    flags.sort_unstable();
    row(
        "effects",
        vec![
            ("flags", list(flags)),
            ("reads", list(matrix.storage_reads.iter().map(String::as_str).collect())),
            ("writes", list(matrix.storage_writes.iter().map(String::as_str).collect())),
        ],
    );
    let required = matrix.required.map(|required| json!(required));
    row(
        "requirements",
        vec![("required", required), ("offered", matrix.offered.map(|offered| json!(offered)))],
    );
    Value::Object(rows)
}
