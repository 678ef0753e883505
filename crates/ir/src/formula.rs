//! Tensors that a formula gives (clause NUM-13): inputs of real sizes that take a line and not a file.

use std::collections::BTreeMap;

use megakernel_numerics::{DType, Stored, Tensor, TensorFile};
use serde::{Deserialize, Serialize};

use crate::prng::SplitMix64;

/// How the names of files of formulas end.
pub const SUFFIX: &str = ".formula.json";

/// A tensor has at most so many elements.
pub const MOST_ELEMENTS: u64 = 1 << 27;

/// The integers of an element lie below this in magnitude, so that every tool holds them.
const MOST: i128 = 1 << 53;

/// Exponents of 2 that keep every value exact in binary64.
const EXPONENTS: std::ops::RangeInclusive<i32> = -200..=200;

/// Tensors by name.
pub type Formulas = BTreeMap<String, Formula>;

/// A tensor: element `i` is `2^exponent` times the sum of the terms at `i`, cast to the dtype.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Formula {
    /// Element type.
    #[serde(with = "dtype_name")]
    pub dtype: DType,
    /// Extents, outermost first.
    pub shape: Vec<u64>,
    /// The power of 2 that all are multiplied by; 0 for integers.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub exponent: i32,
    /// What is added up.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub terms: Vec<Term>,
    /// Places that hold another integer, the last one counts.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub set: Vec<Set>,
}

/// An integer for each element `i`, from `j = i / every mod repeat`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Term {
    /// Drawn evenly.
    Draw(Draw),
    /// `start + step j`.
    Line(Line),
}

/// An integer from `low` to `high`, drawn by the value number `j` of the generator with this seed (clause CON-09).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Draw {
    /// The least.
    pub low: i64,
    /// The largest.
    pub high: i64,
    /// Seed of the generator.
    pub seed: u64,
    /// Elements that share a number.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub every: u64,
    /// After how many numbers they begin again; absent: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat: Option<u64>,
}

/// `start + step j`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Line {
    /// The integer at `j = 0`.
    pub start: i64,
    /// What each further one adds.
    pub step: i64,
    /// Elements that share a number.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub every: u64,
    /// After how many numbers they begin again; absent: never.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeat: Option<u64>,
}

/// The elements `first`, `first + stride`, ..., `count` of them, hold `value`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Set {
    /// The first one.
    pub first: u64,
    /// How many.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub count: u64,
    /// How far apart.
    #[serde(default = "one", skip_serializing_if = "is_one")]
    pub stride: u64,
    /// In place of the sum of the terms.
    pub value: i64,
}

fn one() -> u64 {
    1
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_one(n: &u64) -> bool {
    *n == 1
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
fn is_zero(n: &i32) -> bool {
    *n == 0
}

mod dtype_name {
    use megakernel_numerics::DType;
    use serde::{Deserialize, Deserializer, Serializer};

    #[allow(clippy::trivially_copy_pass_by_ref, reason = "serde calls it so")]
    pub fn serialize<S: Serializer>(dtype: &DType, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(dtype.name())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<DType, D::Error> {
        let name = String::deserialize(deserializer)?;
        DType::from_name(&name).ok_or_else(|| serde::de::Error::custom(format!("`{name}` is no dtype")))
    }
}

/// Whether the path is that of a file of formulas.
pub fn is_formula(path: &str) -> bool {
    path.ends_with(SUFFIX)
}

/// The tensor file (clause NUM-11) that a file of formulas stands for: the same bytes for the same formulas.
///
/// # Errors
/// It is no JSON of this form, or a tensor breaks a sentence of the clause.
pub fn expand(bytes: &[u8]) -> Result<Vec<u8>, String> {
    let formulas: Formulas = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    let mut tensors = BTreeMap::new();
    for (name, formula) in &formulas {
        let tensor = formula.tensor().map_err(|error| format!("`{name}`: {error}"))?;
        tensors.insert(name.clone(), Stored::Buffer(tensor));
    }
    TensorFile { tensors }.to_bytes().map_err(|error| error.to_string())
}

impl Formula {
    /// The tensor.
    ///
    /// # Errors
    /// It has too many elements, a period of 0, a range or a place that is empty or outside; or an integer is not one of the dtype,
    /// or beyond 2^53.
    pub fn tensor(&self) -> Result<Tensor, String> {
        let numbers = self.integers()?;
        let shape = self.shape.clone();
        let tensor = if self.dtype.is_float() {
            let unit = 2f64.powi(self.exponent);
            let reals: Vec<f64> = numbers.iter().map(|&n| n as f64 * unit).collect();
            Tensor::from_reals(self.dtype, shape, &reals)
        } else {
            Tensor::from_ints(self.dtype, shape, &numbers)
        };
        tensor.map_err(|error| error.to_string())
    }

    /// The integers of all elements, row-major, before they are multiplied by the power of 2.
    ///
    /// # Errors
    /// As [`Formula::tensor`].
    pub fn integers(&self) -> Result<Vec<i64>, String> {
        let numel = self.shape.iter().try_fold(1u64, |product, &extent| product.checked_mul(extent));
        let numel = numel.filter(|&n| (1..=MOST_ELEMENTS).contains(&n)).ok_or_else(|| {
            format!(
                "shape {:?} has no element or more than {MOST_ELEMENTS}, the most that a formula gives",
                self.shape
            )
        })?;
        if !EXPONENTS.contains(&self.exponent) || (self.exponent != 0 && !self.dtype.is_float()) {
            return Err(format!(
                "exponent {} of a tensor of {}; required -200 to 200, and 0 for integers",
                self.exponent, self.dtype
            ));
        }
        let mut numbers = vec![0i64; numel as usize];
        // The least and the largest sum that any element can have.
        let (mut least, mut largest) = (0i128, 0i128);
        for term in &self.terms {
            let (low, high) = term.range(numel)?;
            (least, largest) = (least + low, largest + high);
            if least <= -MOST || largest >= MOST {
                return Err("a sum of terms reaches 2^53".to_owned());
            }
            term.add(&mut numbers);
        }
        for set in &self.set {
            let last = set.count.checked_sub(1).and_then(|n| n.checked_mul(set.stride));
            let last =
                last.and_then(|n| n.checked_add(set.first)).filter(|&last| last < numel && set.stride > 0);
            if last.is_none() || i128::from(set.value).abs() >= MOST {
                return Err(format!(
                    "what is set from element {} on lies outside {numel} elements, or is 2^53 or more",
                    set.first
                ));
            }
            for slot in numbers
                .iter_mut()
                .skip(set.first as usize)
                .step_by(set.stride as usize)
                .take(set.count as usize)
            {
                *slot = set.value;
            }
        }
        Ok(numbers)
    }
}

impl Term {
    /// The least and the largest number that it gives to one of `numel` elements.
    fn range(&self, numel: u64) -> Result<(i128, i128), String> {
        let (every, repeat) = self.period();
        if every == 0 || repeat == Some(0) {
            return Err("`every` and `repeat` are at least 1".to_owned());
        }
        match self {
            Term::Draw(draw) if draw.low > draw.high => {
                Err(format!("no integer is from {} to {}", draw.low, draw.high))
            }
            Term::Draw(draw) => Ok((draw.low.into(), draw.high.into())),
            Term::Line(line) => {
                let most = i128::from(((numel - 1) / every).min(repeat.unwrap_or(u64::MAX) - 1));
                let (start, end) =
                    (i128::from(line.start), i128::from(line.start) + i128::from(line.step) * most);
                Ok((start.min(end), start.max(end)))
            }
        }
    }

    fn period(&self) -> (u64, Option<u64>) {
        match self {
            Term::Draw(draw) => (draw.every, draw.repeat),
            Term::Line(line) => (line.every, line.repeat),
        }
    }

    /// Adds its numbers to those of all elements; its range was found to be one of small numbers.
    fn add(&self, numbers: &mut [i64]) {
        let (every, repeat) = self.period();
        for (run, slots) in numbers.chunks_mut(usize::try_from(every).unwrap_or(usize::MAX)).enumerate() {
            let j = repeat.map_or(run as u64, |repeat| run as u64 % repeat);
            let number = match self {
                Term::Draw(draw) => {
                    let count = draw.high.abs_diff(draw.low).saturating_add(1);
                    draw.low.saturating_add_unsigned(SplitMix64::nth(draw.seed, j).below(count))
                }
                Term::Line(line) => line.start.saturating_add(line.step.saturating_mul(j as i64)),
            };
            slots.iter_mut().for_each(|slot| *slot += number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn formula(text: &str) -> Formula {
        serde_json::from_str(text).expect("a formula")
    }

    #[test]
    fn draws_are_those_of_the_generator() {
        let found =
            formula(r#"{"dtype":"I32","shape":[8],"terms":[{"low":0,"high":9,"seed":0}]}"#).integers();
        // Clause CON-09: with seed 0, below(10) yields these.
        assert_eq!(found, Ok(vec![8, 4, 0, 9, 1, 3, 1, 7]));
    }

    #[test]
    fn the_example_of_the_clause_comes_out() {
        let text = r#"{"dtype":"F16","shape":[2,5],"exponent":-1,
            "terms":[{"low":-2,"high":2,"seed":1,"repeat":5},{"start":10,"step":-10,"every":5}],
            "set":[{"first":4,"count":2,"stride":5,"value":100}]}"#;
        let found = formula(text);
        // With seed 1, below(5) yields 2, 3, 4, 2, 2, from the values that the clause lists.
        assert_eq!(found.integers(), Ok(vec![10, 11, 12, 10, 100, 0, 1, 2, 0, 100]));
        let reals = found.tensor().expect("a tensor").reals();
        assert_eq!(reals, [5.0, 5.5, 6.0, 5.0, 50.0, 0.0, 0.5, 1.0, 0.0, 50.0]);
    }

    #[test]
    fn a_file_of_formulas_is_a_file_of_tensors() {
        let text = br#"{"a":{"dtype":"I4","shape":[3],"terms":[{"start":1,"step":2}]},"b":{"dtype":"BOOL","shape":[2]}}"#;
        let file = TensorFile::read(&expand(text).expect("expands")).expect("a file of tensors");
        assert_eq!(file.buffer("a", DType::I4, &[3]).expect("a").ints(), [1, 3, 5]);
        assert_eq!(file.buffer("b", DType::Bool, &[2]).expect("b").ints(), [0, 0]);
    }

    #[test]
    fn what_breaks_the_clause_is_named() {
        let refused = |text: &str, why: &str| {
            let error = expand(format!("{{\"x\":{text}}}").as_bytes()).expect_err(why);
            assert!(error.contains(why), "no `{why}` in {error}");
        };
        refused(r#"{"dtype":"F64","shape":[1]}"#, "no dtype");
        refused(r#"{"dtype":"F32","shape":[1],"scale":1}"#, "unknown field");
        refused(r#"{"dtype":"F32","shape":[1],"terms":[{"low":0,"high":1}]}"#, "did not match");
        refused(r#"{"dtype":"F32","shape":[4294967296,4294967296]}"#, "more than");
        refused(r#"{"dtype":"F32","shape":[0]}"#, "no element");
        refused(r#"{"dtype":"F32","shape":[1],"exponent":201}"#, "exponent");
        refused(r#"{"dtype":"I32","shape":[1],"exponent":1}"#, "exponent");
        refused(r#"{"dtype":"F32","shape":[1],"terms":[{"low":1,"high":0,"seed":0}]}"#, "no integer");
        refused(
            r#"{"dtype":"F32","shape":[1],"terms":[{"low":0,"high":9223372036854775807,"seed":0}]}"#,
            "2^53",
        );
        refused(r#"{"dtype":"F32","shape":[9],"terms":[{"start":0,"step":9007199254740992}]}"#, "2^53");
        refused(r#"{"dtype":"F32","shape":[1],"terms":[{"start":0,"step":1,"every":0}]}"#, "at least 1");
        refused(r#"{"dtype":"F32","shape":[1],"terms":[{"start":0,"step":1,"repeat":0}]}"#, "at least 1");
        refused(
            r#"{"dtype":"F32","shape":[4],"set":[{"first":2,"count":2,"stride":2,"value":1}]}"#,
            "outside",
        );
        refused(r#"{"dtype":"F32","shape":[4],"set":[{"first":2,"stride":0,"value":1}]}"#, "outside");
        refused(r#"{"dtype":"F32","shape":[4],"set":[{"first":0,"count":0,"value":1}]}"#, "outside");
        refused(r#"{"dtype":"I8","shape":[1],"terms":[{"start":128,"step":0}]}"#, "128");
    }
}
