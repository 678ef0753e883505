//! Sums of named integers with factors, as Kernel IR writes them (clause MCI-28).

use std::collections::BTreeMap;

use megakernel_mcir::Index;
use serde_json::{Value as Json, json};

use crate::axes::{Affine, Axes};
use crate::producers::added;

/// An index of Kernel IR.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Form {
    /// Names with their factors, none of which is 0.
    factors: BTreeMap<String, i64>,
    number: i64,
}

impl Form {
    /// An integer.
    pub fn number(number: i64) -> Form {
        Form { number, ..Form::default() }
    }

    /// A name.
    pub fn name(name: &str) -> Form {
        Form { factors: [(name.to_owned(), 1)].into(), number: 0 }
    }

    /// An index of a document.
    pub fn of(names: &[String], index: &Index) -> Form {
        let (factors, number) = added(index);
        let named = |(name, factor): (u32, i64)| (names[name as usize].clone(), factor);
        Form { factors: factors.into_iter().filter(|(_, factor)| *factor != 0).map(named).collect(), number }
    }

    /// An affine form of the axes of a region.
    pub fn of_affine(names: &[String], axes: &Axes, affine: &Affine) -> Form {
        let mut form = Form::number(affine.number);
        for &(place, factor) in &affine.factors {
            if let Some(axis) = axes.axis(place) {
                form.add(&Form::name(&names[axis.name as usize]), factor);
            }
        }
        form
    }

    fn add(&mut self, other: &Form, times: i64) {
        for (name, factor) in &other.factors {
            let own = self.factors.entry(name.clone()).or_default();
            *own = own.saturating_add(factor.saturating_mul(times));
        }
        self.factors.retain(|_, factor| *factor != 0);
        self.number = self.number.saturating_add(other.number.saturating_mul(times));
    }

    /// The sum with an integer.
    pub fn plus(mut self, number: i64) -> Form {
        self.number = self.number.saturating_add(number);
        self
    }

    /// The difference.
    pub fn minus(mut self, other: &Form) -> Form {
        self.add(other, -1);
        self
    }

    /// With another form where a name stands.
    pub fn with(mut self, name: &str, by: &Form) -> Form {
        if let Some(factor) = self.factors.remove(name) {
            self.add(by, factor);
        }
        self
    }

    /// Whether a name stands in it.
    pub fn has(&self, name: &str) -> bool {
        self.factors.contains_key(name)
    }

    /// The integer that it is, if it is one.
    pub fn as_number(&self) -> Option<i64> {
        self.factors.is_empty().then_some(self.number)
    }

    /// As Kernel IR writes it.
    pub fn json(&self) -> Json {
        let mut terms: Vec<Json> = Vec::new();
        for (name, &factor) in &self.factors {
            terms.push(if factor == 1 { json!(name) } else { json!([factor, name]) });
        }
        match (terms.as_slice(), self.number) {
            ([], number) => return json!(number),
            ([name], 0) if name.is_string() => return name.clone(),
            (_, 0) => {}
            (_, number) => terms.push(json!(number)),
        }
        json!(terms)
    }
}
