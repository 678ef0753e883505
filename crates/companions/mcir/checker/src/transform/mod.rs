//! The runner's own judge of passes on semantic graphs (clauses MCI-20 to MCI-22). It takes nothing from the reference but how graphs are read.

mod bounds;
mod evaluate;
mod field;
mod patterns;
mod valid;

use std::collections::HashMap;

use megakernel_ir::prng::{SplitMix64, fnv1a64};
use megakernel_ir::read_value;
use megakernel_mcir::{Dtype, Graph, Pass, read_graph, read_transform};

use self::bounds::{Bounds, Look};
use self::evaluate::{Held, evaluate};
use self::field::Field;
use self::valid::{Shapes, shapes};

/// How often finite fields are drawn.
const TRIALS: u64 = 3;

/// A graph with its shapes.
struct Side {
    graph: Graph,
    shapes: Shapes,
}

type Name<'g> = &'g str;

impl Side {
    fn of(graph: Graph) -> Result<Side, String> {
        let shapes = shapes(&graph)?;
        Ok(Side { graph, shapes })
    }

    fn name(&self, name: u32) -> Name<'_> {
        &self.graph.names[name as usize]
    }

    /// Names, shapes and dtypes of inputs or outputs.
    fn interface(&self, names: &[u32]) -> Vec<(Name<'_>, Vec<usize>, Dtype)> {
        let dtypes: HashMap<u32, Dtype> =
            self.graph.values.iter().map(|value| (value.name, value.dtype)).collect();
        let one = |name: &u32| {
            let shape = self.shapes.get(name).cloned().unwrap_or_default();
            (self.name(*name), shape, dtypes.get(name).copied().unwrap_or(Dtype::F32))
        };
        names.iter().map(one).collect()
    }
}

/// Judges the graph that a pass answers to a request.
///
/// # Errors
/// What was expected, and what is there.
pub fn judge(request: &[u8], answer: &str) -> Result<(), (String, String)> {
    let wrong = |what: &str| (what.to_owned(), String::new());
    let value = read_value(request).map_err(|_| wrong("a request, and the case has none"))?;
    let (pass, graph) = read_transform(&value).map_err(|_| wrong("a request, and the case has none"))?;
    let before = Side::of(graph).map_err(|what| ("an accepted graph in the case".to_owned(), what))?;
    let valid = || "a graph that breaks no rule (MCI-20)".to_owned();
    let told = |rule: String, message: String| (valid(), format!("{message} ({rule})"));
    let value = read_value(answer.as_bytes()).map_err(|found| {
        found
            .into_iter()
            .next()
            .map_or((valid(), String::new()), |found| told(found.rule.to_string(), found.message))
    })?;
    let graph = read_graph(&value).map_err(|faults| {
        faults
            .into_iter()
            .next()
            .map_or((valid(), String::new()), |fault| told(fault.rule.to_string(), fault.message))
    })?;
    let after = Side::of(graph).map_err(|what| (valid(), what))?;
    for (which, first, second) in [
        ("inputs", before.interface(&before.graph.inputs), after.interface(&after.graph.inputs)),
        ("outputs", before.interface(&before.graph.outputs), after.interface(&after.graph.outputs)),
    ] {
        if first != second {
            return Err((format!("the {which} {first:?}"), format!("{second:?}")));
        }
    }
    match pass {
        Pass::AttentionPattern => {
            let (most, patterns) = patterns::allowed(&before.graph, &before.shapes);
            let found = patterns::between(&after.graph, &after.shapes);
            if found > most {
                let expected = format!(
                    "at most {most} bytes between inputs and outputs, for {patterns} patterns (MCI-22)"
                );
                return Err((expected, format!("{found} bytes")));
            }
        }
    }
    let seed = fnv1a64(request);
    in_fields(&before, &after, seed)?;
    within_bounds(&before, &after, seed)
}

/// Compares what two graphs compute of the same inputs.
fn compare<N: evaluate::Numbers>(
    [before, after]: [&Side; 2],
    numbers: &N,
    inputs: &Held<N::Number>,
    agree: fn(N::Number, N::Number) -> bool,
    how: &str,
) -> Result<(), (String, String)>
where
    N::Number: std::fmt::Debug,
{
    let [first, second] = [before, after].map(|side| evaluate(&side.graph, &side.shapes, numbers, inputs));
    for &output in &before.graph.outputs {
        let name = before.name(output);
        let of = |held: &'_ Held<N::Number>| held.get(name).cloned().unwrap_or_default();
        let (first, second) = (of(&first), of(&second));
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

fn in_fields(before: &Side, after: &Side, seed: u64) -> Result<(), (String, String)> {
    for trial in 0..TRIALS {
        let mut draws = SplitMix64::for_family(&format!("mcir/transform/field/{trial}"), seed);
        let field = Field::new(&mut draws);
        let mut inputs = Held::new();
        for (name, shape, dtype) in before.interface(&before.graph.inputs) {
            let numbers = (0..shape.iter().product()).map(|_| Field::draw(&mut draws, dtype)).collect();
            inputs.insert(name.to_owned(), numbers);
        }
        compare([before, after], &field, &inputs, field::agree, "in a finite field")?;
    }
    Ok(())
}

fn within_bounds(before: &Side, after: &Side, seed: u64) -> Result<(), (String, String)> {
    let interface = before.interface(&before.graph.inputs);
    let rows = interface.iter().filter_map(|(_, shape, _)| shape.iter().rev().nth(1)).max().copied();
    for look in Look::all(rows.unwrap_or(1).min(64)) {
        let mut draws = SplitMix64::for_family(&format!("mcir/transform/{look:?}"), seed);
        let mut inputs = Held::new();
        for (name, shape, dtype) in &interface {
            let mut element = |at: usize| {
                let drawn = draws.below(1 << 40) as f64 / (1_u64 << 39) as f64 - 1.0;
                bounds::held(*dtype, look.element(shape, at, drawn))
            };
            let numbers = (0..shape.iter().product()).map(&mut element).collect();
            inputs.insert((*name).to_owned(), numbers);
        }
        compare([before, after], &Bounds, &inputs, bounds::agree, &format!("with the inputs {look:?}"))?;
    }
    Ok(())
}
