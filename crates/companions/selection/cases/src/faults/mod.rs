//! How many cases reject each faulty selector.

use megakernel_corpus::builder::Result;
use megakernel_selection::read_request;
use serde_json::Value;

use crate::definition::{self, Fault, Kind, Question};
use crate::families::all;
use crate::item::{Expect, Item};

/// Largest sequences that faults are measured on: what they are rejected by is small.
const MOST_OPS: usize = 64;

/// A request, and what is expected of it.
struct Measured {
    id: String,
    method: &'static str,
    document: Value,
    /// The document of the answer; none where there is no plan.
    expected: Option<Value>,
}

/// The requests of all families that faults are measured on.
fn measured() -> Result<Vec<Measured>> {
    let is_asked = |item: &Item| {
        item.method != "validate" && matches!(item.expect, Expect::Answer(_) | Expect::Stuck(_))
    };
    let mut found = Vec::new();
    for (family, item) in all().into_iter().filter(|(_, item)| is_asked(item)) {
        let document = item.document()?;
        let ops = document.pointer("/sequence/ops").and_then(Value::as_array).map_or(0, Vec::len);
        if ops > MOST_OPS {
            continue;
        }
        let expected = item.expectation()?.get("document").cloned();
        found.push(Measured {
            id: format!("{family}/{}", item.name),
            method: item.method,
            document,
            expected,
        });
    }
    Ok(found)
}

/// Each fault with the ids of the first cases that reject it, at most `enough`.
///
/// # Errors
/// A case that cannot be made.
pub fn rejections(enough: usize) -> Result<Vec<(Fault, Vec<String>)>> {
    let cases = measured()?;
    let rejects = |fault: Fault, case: &Measured| {
        // Explanations are of plans too, but a fault that shows in explanations alone is asked for there.
        if (fault.kind() == Kind::Explanation) != (case.method == "explain") {
            return false;
        }
        let Ok(request) = read_request(&case.document) else {
            return false;
        };
        let question = Question::of(&request).with(fault);
        let answer = if case.method == "explain" {
            definition::explanation(&question)
        } else {
            definition::plan(&question)
        };
        answer.ok() != case.expected
    };
    let of = |fault: Fault| {
        let found = cases.iter().filter(|case| rejects(fault, case)).take(enough);
        (fault, found.map(|case| case.id.clone()).collect())
    };
    Ok(Fault::ALL.iter().map(|&fault| of(fault)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_faulty_selector_is_rejected_by_three_cases() {
        let found = rejections(3).expect("the cases can be made");
        let weak: Vec<_> =
            found.iter().filter(|(_, by)| by.len() < 3).map(|(fault, by)| (fault.slug(), by)).collect();
        assert!(found.len() >= 40 && weak.is_empty(), "rejected by fewer than three cases: {weak:?}");
    }
}
