//! Judges the document that an accepting answer carries, where one document is right.

use megakernel_ir::protocol::FromWorker;
use serde_json::{Number, Value};

use super::{Mismatch, cause, json};
use crate::case::Case;
use crate::text::excerpt;

/// Compares the returned document with the declared one. `sent` are the bytes of the request.
///
/// # Errors
/// They differ; the message names the first place.
pub fn compare_documents(case: &Case, sent: &[u8], answer: &FromWorker) -> Result<(), Mismatch> {
    let sent = std::str::from_utf8(sent).ok().and_then(|text| json::parse(text).ok());
    compare(case, sent.as_ref(), answer, "the document written back")
}

/// Compares the returned document with the declared one; no member may be missing, and none more be there.
///
/// # Errors
/// They differ; the message names the first place.
pub fn compare_exactly(case: &Case, answer: &FromWorker) -> Result<(), Mismatch> {
    compare(case, None, answer, "a document")
}

fn compare(case: &Case, sent: Option<&Value>, answer: &FromWorker, what: &str) -> Result<(), Mismatch> {
    let failed = |expected: &str, actual: String| Mismatch::new(expected, actual);
    let Some(text) = &answer.document else {
        return Err(failed(&format!("accept, and {what}"), "accept without `document`".to_owned()));
    };
    let document = json::parse(text)
        .map_err(|cause| failed("a JSON text without duplicate members", format!("{cause} in `document`")))?;
    let Some(declared) = &case.expect.document else {
        return Ok(());
    };
    same(declared, &document, sent, &mut String::new())
}

/// Compares what came back from the second trip with what was sent on it.
///
/// # Errors
/// A byte differs, or the worker does not accept what it wrote itself.
pub fn compare_second(first: &str, answer: &FromWorker) -> Result<(), Mismatch> {
    let failed = |actual: String| {
        Err(Mismatch::new("the document that was written, sent again, comes back byte by byte", actual))
    };
    match (answer.kind.as_str(), answer.outcome.as_deref(), &answer.document) {
        ("response", Some("accept"), Some(second)) if second == first => Ok(()),
        ("response", Some("accept"), Some(second)) => {
            let at = first.bytes().zip(second.bytes()).take_while(|(a, b)| a == b).count();
            let show = |text: &str| {
                excerpt(text.as_bytes().get(at..at.saturating_add(40).min(text.len())).unwrap_or(&[]))
            };
            failed(format!("byte {at} differs: first `{}`, then `{}`", show(first), show(second)))
        }
        ("response", Some("accept"), None) => failed("accept without `document`".to_owned()),
        ("response", Some(outcome), _) => {
            failed(format!("{} of its own document", excerpt(outcome.as_bytes())))
        }
        _ => failed("no outcome for its own document".to_owned()),
    }
}

/// `sent` is the value at the same place of the request, if there is one: only it can bring an undeclared member.
fn same(declared: &Value, found: &Value, sent: Option<&Value>, at: &mut String) -> Result<(), Mismatch> {
    match (declared, found) {
        (Value::Object(declared), Value::Object(found)) => {
            let sent = sent.and_then(Value::as_object);
            for (name, value) in declared {
                let length = enter(at, name);
                let other =
                    found.get(name).ok_or_else(|| differ(at, show(value), "no such member".to_owned()))?;
                same(value, other, sent.and_then(|sent| sent.get(name)), at)?;
                at.truncate(length);
            }
            for (name, value) in found.iter().filter(|(name, _)| !declared.contains_key(*name)) {
                let length = enter(at, name);
                match sent.and_then(|sent| sent.get(name)) {
                    Some(brought) => same(brought, value, Some(brought), at)?,
                    None if sent.is_some() && is_default(at, value) => {}
                    None => {
                        let required = "no member that the input did not have".to_owned();
                        return Err(differ(at, required, show(value)));
                    }
                }
                at.truncate(length);
            }
            Ok(())
        }
        (Value::Array(declared), Value::Array(found)) => {
            if declared.len() != found.len() {
                return Err(differ(
                    at,
                    format!("{} elements", declared.len()),
                    format!("{} elements", found.len()),
                ));
            }
            let sent = sent.and_then(Value::as_array);
            for (i, (value, other)) in declared.iter().zip(found).enumerate() {
                let length = enter(at, &i.to_string());
                same(value, other, sent.and_then(|sent| sent.get(i)), at)?;
                at.truncate(length);
            }
            Ok(())
        }
        (Value::Number(a), Value::Number(b)) if equal(a, b) => Ok(()),
        (a, b) if a == b => Ok(()),
        (a, b) => Err(differ(at, show(a), show(b))),
    }
}

/// Whether this is a member that a writer need not write where it was absent, with the default that it may write
/// (clause FMT-03): there is one.
fn is_default(at: &str, value: &Value) -> bool {
    at == "/target/measured_bw_gbs" && value.as_f64() == Some(0.0)
}

/// Appends a step to a JSON pointer and returns the length to go back to.
fn enter(at: &mut String, step: &str) -> usize {
    let length = at.len();
    at.push('/');
    at.push_str(&megakernel_ir::diagnostic::pointer_token(step));
    length
}

fn differ(at: &str, declared: String, found: String) -> Mismatch {
    let place = if at.is_empty() { "the document".to_owned() } else { excerpt(at.as_bytes()) };
    // Whatever stands there.
    let cause = format!("another document than is expected, at {}", cause::plain(&place));
    Mismatch::because(cause, format!("{place}: {declared}"), format!("{place}: {found}"))
}

fn show(value: &Value) -> String {
    excerpt(value.to_string().as_bytes())
}

/// Whether two numbers have one value, whatever their text. Zero has no sign here, and integers that no member can
/// hold may have been rounded to binary64.
fn equal(a: &Number, b: &Number) -> bool {
    match (integer(a), integer(b)) {
        (Some(a), Some(b)) => a == b,
        (None, None) => a.as_f64() == b.as_f64(),
        // One of them has a fraction, or is out of the range of the other.
        _ => false,
    }
}

/// The value, if it is an integer of 64 bits with sign.
fn integer(number: &Number) -> Option<i64> {
    const LIMIT: f64 = 9_223_372_036_854_775_808.0;
    if number.is_u64() || number.is_i64() {
        return number.as_i64();
    }
    let value = number.as_f64()?;
    // Within these bounds an integral value converts exactly.
    (value.fract() == 0.0 && (-LIMIT..LIMIT).contains(&value)).then_some(value as i64)
}
