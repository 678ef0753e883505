//! The runner's own judge of what documents of memory-centric IR compute (clause MCI-17), elements against references and bounds that
//! the case holds, by clause NUM-10; and of what passes make of semantic graphs and documents (clauses MCI-20 to MCI-26), and of what documents are lowered to (MCI-27 to MCI-30).

mod document;
mod kernel;
mod transform;

pub use kernel::judge as judge_lowering;
pub use transform::judge as judge_transform;

use megakernel_ir::DType;
use megakernel_ir::companion::{Ask, Checker, Question, Unanswered, Wrong};
use megakernel_ir::protocol::{FromWorker, Method};
use megakernel_numerics::interval;
use serde_json::{Map, Value};

/// Judges `expect.outputs`, `expect.equivalent` and `expect.lowered`.
#[derive(Clone, Copy, Debug)]
pub struct Mcir;

/// For the runner's list.
pub static CHECKER: Mcir = Mcir;

/// What an output has to be.
struct Expected {
    dtype: DType,
    /// References, each with its bound.
    elements: Vec<(f64, f64)>,
}

/// A number, or the name of one that JSON does not have.
fn real(value: &Value) -> Option<f64> {
    match value {
        Value::String(name) => match name.as_str() {
            "nan" => Some(f64::NAN),
            "inf" => Some(f64::INFINITY),
            "-inf" => Some(f64::NEG_INFINITY),
            _ => None,
        },
        other => other.as_f64(),
    }
}

fn reals(value: &Value) -> Option<Vec<f64>> {
    value.as_array()?.iter().map(real).collect()
}

fn expected(value: &Value) -> Result<Expected, String> {
    let named = value["dtype"].as_str().and_then(DType::from_name);
    let dtype = named.filter(|dtype| matches!(dtype, DType::F32 | DType::F16 | DType::BF16));
    let dtype = dtype.ok_or("`dtype` is F32, F16 or BF16")?;
    let values = reals(&value["values"]).ok_or("`values` has numbers, \"nan\", \"inf\" and \"-inf\"")?;
    let bounds = match value.get("bounds") {
        None => vec![0.0; values.len()],
        Some(bounds) => reals(bounds).ok_or("`bounds` has numbers and \"inf\"")?,
    };
    if bounds.len() != values.len() || bounds.iter().any(|bound| bound.is_nan() || *bound < 0.0) {
        return Err("`bounds` has a number for each value, none of them negative".to_owned());
    }
    if values.is_empty() || bounds.iter().all(|bound| bound.is_infinite()) {
        return Err("no element is specified, so that nothing would be judged".to_owned());
    }
    Ok(Expected { dtype, elements: values.into_iter().zip(bounds).collect() })
}

/// Compares an answer with the outputs of a case.
///
/// # Errors
/// What was expected, and what is there.
fn judge(outputs: &Map<String, Value>, answer: &str) -> Result<(), (String, String)> {
    let answer: Value = serde_json::from_str(answer)
        .map_err(|error| ("an object with the member `data`".to_owned(), error.to_string()))?;
    for (name, value) in outputs {
        let Expected { dtype, elements } = expected(value).map_err(|wrong| (wrong, String::new()))?;
        let wanted = format!("`{name}`: {} elements, the bits of {dtype} each", elements.len());
        let Some(found) = answer["data"][name.as_str()].as_array() else {
            return Err((wanted, "no such array".to_owned()));
        };
        if found.len() != elements.len() {
            return Err((wanted, format!("{} elements", found.len())));
        }
        let limit = if dtype == DType::F32 { u64::from(u32::MAX) } else { 0xFFFF };
        for (at, (&(reference, bound), bits)) in elements.iter().zip(found).enumerate() {
            let number = bits.as_u64().filter(|&number| number <= limit);
            let Some(number) = number.and_then(|number| u32::try_from(number).ok()) else {
                return Err((wanted, format!("{bits} at {at}")));
            };
            let admitted = interval(dtype, reference, bound);
            if !admitted.admits(number) {
                let expected =
                    format!("`{name}` at {at}: {admitted} (reference {reference:?}, bound {bound:?})");
                let got = megakernel_numerics::decode(dtype, number);
                return Err((expected, format!("{got:?} (bits {number:#x})")));
            }
        }
    }
    Ok(())
}

impl Checker for Mcir {
    fn checks(&self) -> &[&'static str] {
        &["equivalent", "lowered", "outputs"]
    }

    fn well_formed(
        &self,
        method: Method,
        _: Option<&Value>,
        expect: &Map<String, Value>,
    ) -> Result<(), String> {
        for (member, of) in [("equivalent", Method::TRANSFORM), ("lowered", Method::LOWER)] {
            let Some(value) = expect.get(member) else { continue };
            let is_alone = ["equivalent", "lowered", "outputs"]
                .iter()
                .all(|other| *other == member || !expect.contains_key(*other));
            if method != of || *value != Value::Bool(true) || !is_alone {
                return Err(format!("`expect.{member}` is true, and for the method `{of}` alone"));
            }
            return Ok(());
        }
        if method != Method::COMPUTE {
            return Err(format!("`expect.outputs` is for the method `compute`, not for `{method}`"));
        }
        let outputs = expect.get("outputs").and_then(Value::as_object).filter(|outputs| !outputs.is_empty());
        let outputs = outputs.ok_or("`expect.outputs` has a record for each output")?;
        outputs.iter().try_for_each(|(name, value)| {
            expected(value).map(drop).map_err(|wrong| format!("`expect.outputs`, `{name}`: {wrong}"))
        })
    }

    fn judge(
        &self,
        question: &Question<'_>,
        expect: &Map<String, Value>,
        answer: &FromWorker,
        _: &mut Ask<'_>,
    ) -> Result<Result<(), Wrong>, Unanswered> {
        let outputs = expect.get("outputs").and_then(Value::as_object);
        let judged = match (outputs, &answer.document) {
            (Some(outputs), Some(document)) => judge(outputs, document),
            (None, Some(document)) if expect.contains_key("equivalent") => {
                transform::judge(question.document, document)
            }
            (None, Some(document)) if expect.contains_key("lowered") => {
                kernel::judge(question.document, document)
            }
            (_, None) => Err(("a document".to_owned(), "accept without `document`".to_owned())),
            (None, _) => Err(("`expect.outputs`".to_owned(), "a case without it".to_owned())),
        };
        Ok(judged.map_err(|(expected, actual)| Wrong { expected, actual }))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn outcome(output: Value, bits: &Value) -> Result<(), (String, String)> {
        let outputs = Map::from_iter([("Y".to_owned(), output)]);
        judge(&outputs, &json!({"data": {"Y": bits}}).to_string())
    }

    #[test]
    fn an_element_passes_if_rounding_can_give_it_of_a_number_within_the_bound() {
        // The example of NUM-10: numbers of F16 near 1000.3 are 0.5 apart; 0x63d0 is 1000, and 0x63d1 is 1000.5.
        let of = |bound: f64| json!({"dtype": "F16", "values": [1000.3], "bounds": [bound]});
        assert_eq!(outcome(of(0.06), &json!([0x63d0])), Ok(()));
        assert_eq!(outcome(of(0.01), &json!([0x63d1])), Ok(()));
        let (expected, actual) = outcome(of(0.01), &json!([0x63d0])).expect_err("too far");
        assert!(expected.contains("1000.5") && actual.contains("1000.0"), "{expected}, {actual}");
        let exact = json!({"dtype": "F32", "values": ["nan", "-inf", 1.0, 3.0], "bounds": [0, 0, 0, "inf"]});
        assert_eq!(outcome(exact.clone(), &json!([0x7fc0_0001, 0xff80_0000u32, 0x3f80_0000, 7])), Ok(()));
        assert!(outcome(exact.clone(), &json!([0, 0xff80_0000u32, 0x3f80_0000, 7])).is_err());
        assert!(outcome(exact, &json!([0x7fc0_0001, 0xff80_0000u32, 0x3f80_0001, 7])).is_err());
    }

    #[test]
    fn what_is_no_tensor_fails() {
        let output = json!({"dtype": "BF16", "values": [0.5, 0.5]});
        assert_eq!(outcome(output.clone(), &json!([0x3f00, 0x3f00])), Ok(()));
        for bits in
            [json!([0x3f00]), json!([0x3f00, -1]), json!([0x3f00, 0x1_3f00]), json!(["", 0]), json!(7)]
        {
            assert!(outcome(output.clone(), &bits).is_err(), "{bits}");
        }
        assert!(judge(&Map::from_iter([("Y".to_owned(), output)]), "none").is_err());
    }

    #[test]
    fn a_case_that_judges_nothing_is_refused() {
        let formed = |method, outputs: Value| {
            CHECKER.well_formed(method, None, &Map::from_iter([("outputs".to_owned(), outputs)]))
        };
        let of = |output: Value| json!({"Y": output});
        assert_eq!(formed(Method::COMPUTE, of(json!({"dtype": "F32", "values": [1]}))), Ok(()));
        for output in [
            json!({"dtype": "F8E4M3", "values": [1]}),
            json!({"dtype": "F32", "values": []}),
            json!({"dtype": "F32", "values": ["one"]}),
            json!({"dtype": "F32", "values": [1], "bounds": [-1]}),
            json!({"dtype": "F32", "values": [1, 2], "bounds": [0]}),
            json!({"dtype": "F32", "values": [1], "bounds": ["inf"]}),
        ] {
            assert!(formed(Method::COMPUTE, of(output.clone())).is_err(), "{output}");
        }
        assert!(formed(Method::COMPUTE, json!({})).is_err());
        let equivalent = |method, is: bool| {
            CHECKER.well_formed(method, None, &Map::from_iter([("equivalent".to_owned(), json!(is))]))
        };
        let lowered = |method, more: Value| {
            let mut expect = Map::from_iter([("lowered".to_owned(), json!(true))]);
            expect.extend(more.as_object().cloned().unwrap_or_default());
            CHECKER.well_formed(method, None, &expect)
        };
        assert_eq!(lowered(Method::LOWER, json!({})), Ok(()));
        assert!(lowered(Method::TRANSFORM, json!({})).is_err());
        assert!(lowered(Method::LOWER, json!({"outputs": {"Y": 1}})).is_err());
        assert!(lowered(Method::LOWER, json!({"lowered": false})).is_err());
        assert_eq!(equivalent(Method::TRANSFORM, true), Ok(()));
        assert!(equivalent(Method::TRANSFORM, false).is_err() && equivalent(Method::COMPUTE, true).is_err());
        assert!(formed(Method::MEASURE, of(json!({"dtype": "F32", "values": [1]}))).is_err());
    }
}
