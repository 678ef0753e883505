//! The runner's own judge of passes (clauses MCI-20 to MCI-26). It takes nothing from the reference but how graphs and documents are read.

pub(crate) mod aims;
mod bounds;
pub mod evaluate;
mod field;
mod patterns;
pub(crate) mod side;
mod stays;
mod valid;

use megakernel_ir::prng::{SplitMix64, fnv1a64};
use megakernel_ir::{Diagnostic, read_value};
use megakernel_mcir::read_transform;

use self::aims::Aim;
use self::bounds::{Bounded, Bounds, Look};
use self::evaluate::{Held, Scores};
use self::field::{Field, Residues};
use self::side::Side;

/// What was expected, and what is there.
pub type Wrong = (String, String);

/// How often finite fields are drawn.
const TRIALS: u64 = 3;

/// The most operations of a request, and of an answer: so many for each of the request, and so many more.
pub(crate) const MOST: u64 = 1 << 22;
pub(crate) const TIMES: u64 = 16;
pub(crate) const MORE: u64 = 1 << 20;

/// How many columns of scores the largest one is directed into, at most.
const COLUMNS: usize = 64;

/// What an answer has to be.
fn valid(found: String) -> Wrong {
    ("an answer that breaks no rule (MCI-20)".to_owned(), found)
}

/// What is wrong with a text that is no record.
pub(crate) fn first_fault<F: Into<Diagnostic>>(faults: Vec<F>) -> String {
    let first: Option<Diagnostic> = faults.into_iter().next().map(Into::into);
    first.map(|fault| format!("{} ({})", fault.message, fault.rule)).unwrap_or_default()
}

/// Judges what a pass answers to a request.
///
/// # Errors
/// What was expected, and what is there.
pub fn judge(request: &[u8], answer: &str) -> Result<(), Wrong> {
    let of_case = |what: String| ("an accepted request in the case".to_owned(), what);
    let value = read_value(request).map_err(|_| of_case(String::new()))?;
    let request_read = read_transform(&value).map_err(|faults| of_case(first_fault(faults)))?;
    let pass = request_read.pass;
    let before = Side::of(request_read.source, MOST).map_err(of_case)?;
    let counted = before.counted().map_err(of_case)?;
    let value = read_value(answer.as_bytes()).map_err(|found| valid(first_fault(found)))?;
    let after = pass.read_answer(&value).map_err(|faults| valid(first_fault(faults)))?;
    let after = Side::of(after, counted.work.saturating_mul(TIMES).saturating_add(MORE)).map_err(valid)?;
    for (which, first, second) in [
        ("inputs", before.interface(before.inputs()), after.interface(after.inputs())),
        ("outputs", before.interface(before.outputs()), after.interface(after.outputs())),
    ] {
        if first != second {
            return Err((format!("the {which} {first:?}"), format!("{second:?}")));
        }
    }
    let aim = Aim::of(pass, &before, request_read.target, counted);
    aim.before_it_runs(&after)?;
    let seed = fnv1a64(request);
    in_fields(&before, &after, &aim, seed)?;
    within_bounds(&before, &after, before.outputs(), seed)
}

/// Compares what two sides compute of the same inputs, in values that both have.
fn compare<N: Copy + std::fmt::Debug>(
    side: &Side,
    names: &[u32],
    [first, second]: [&Held<N>; 2],
    agree: fn(N, N) -> bool,
    how: &str,
) -> Result<(), Wrong> {
    for &value in names {
        let name = side.name(value);
        let of = |held: &'_ Held<N>| held.get(name).cloned().unwrap_or_default();
        let (first, second) = (of(first), of(second));
        if first.len() != second.len() {
            return Err((format!("{} elements of `{name}`", first.len()), format!("{}", second.len())));
        }
        for (at, (&wanted, &found)) in first.iter().zip(&second).enumerate() {
            if !agree(wanted, found) {
                return Err((format!("`{name}` at {at}, {how}: {wanted:?} (MCI-21)"), format!("{found:?}")));
            }
        }
    }
    Ok(())
}

pub(crate) fn in_fields(before: &Side, after: &Side, aim: &Aim, seed: u64) -> Result<(), Wrong> {
    for trial in 0..TRIALS {
        let mut draws = SplitMix64::for_family(&format!("mcir/transform/field/{trial}"), seed);
        let field = Field::new(&mut draws);
        let mut inputs = Held::new();
        for (name, shape, dtype) in before.interface(before.inputs()) {
            let numbers = (0..shape.iter().product()).map(|_| Field::draw(&mut draws, dtype)).collect();
            inputs.insert(name.to_owned(), numbers);
        }
        let mut scores = Scores::new();
        let (first, _) = before.evaluate(&field, &inputs, Some(&mut scores)).map_err(valid)?;
        let (second, counted) = after.evaluate(&field, &inputs, None).map_err(valid)?;
        compare(before, aim.compared(before), [&first, &second], field::agree, "in a finite field")?;
        if trial == 0 {
            aim.after_it_ran(before, after, [&first, &second], counted)?;
            directed(before, after, &field, &inputs, &scores)?;
        }
    }
    Ok(())
}

/// The same with the largest score of each row in one column after the other; and with scores that rise from each column to the next, so that the largest so far
/// changes in every tile, and that fall.
fn directed(
    before: &Side,
    after: &Side,
    field: &Field,
    inputs: &Held<Residues>,
    scores: &Scores<Residues>,
) -> Result<(), Wrong> {
    let columns = scores.iter().map(|(wide, _)| *wide).max().unwrap_or(0);
    let with = |height: &dyn Fn(usize) -> usize, how: &str| {
        let of = |(wide, all): &'_ (usize, Vec<Residues>)| -> Vec<(Residues, usize)> {
            all.iter().enumerate().map(|(at, &score)| (score, height(at % (*wide).max(1)))).collect()
        };
        let field = field.raising(scores.iter().flat_map(of).filter(|(_, height)| *height > 0));
        let (first, _) = before.evaluate(&field, inputs, None).map_err(valid)?;
        let (second, _) = after.evaluate(&field, inputs, None).map_err(valid)?;
        let how = format!("in a finite field with {how}");
        compare(before, before.outputs(), [&first, &second], field::agree, &how)
    };
    if columns > 0 {
        with(&|column| 1 + column, "scores that rise")?;
        with(&|column| columns - column, "scores that fall")?;
    }
    for column in (0..columns).step_by(columns.div_ceil(COLUMNS).max(1)) {
        with(&|other| usize::from(other == column), &format!("the largest score in column {column}"))?;
    }
    Ok(())
}

pub(crate) fn within_bounds(before: &Side, after: &Side, names: &[u32], seed: u64) -> Result<(), Wrong> {
    let interface = before.interface(before.inputs());
    let rows = interface.iter().filter_map(|(_, shape, _)| shape.iter().rev().nth(1)).max().copied();
    for look in Look::all(rows.unwrap_or(1).min(64)) {
        let mut draws = SplitMix64::for_family(&format!("mcir/transform/{look:?}"), seed);
        let mut inputs = Held::new();
        for (name, shape, dtype) in &interface {
            let mut element = |at: usize| {
                let drawn = draws.below(1 << 40) as f64 / (1_u64 << 39) as f64 - 1.0;
                bounds::held(*dtype, look.element(shape, at, drawn))
            };
            let numbers: Vec<Bounded> = (0..shape.iter().product()).map(&mut element).collect();
            inputs.insert((*name).to_owned(), numbers);
        }
        let (first, _) = before.evaluate(&Bounds, &inputs, None).map_err(valid)?;
        let (second, _) = after.evaluate(&Bounds, &inputs, None).map_err(valid)?;
        compare(before, names, [&first, &second], bounds::agree, &format!("with the inputs {look:?}"))?;
    }
    Ok(())
}
