//! One request: the reference, the definitions, and the laws.

use megakernel_selection::{
    Constraints, GivenPlan, GivenRegion, Index, Op, Options, Rational, Request, Review, Sequence,
};
use megakernel_selection_cases::definition::{self, Question};
use megakernel_selection_reference::beam::beam;
use megakernel_selection_reference::explain::Explainer;
use megakernel_selection_reference::kernels::Kernels;
use megakernel_selection_reference::optimum::optimum;
use megakernel_selection_reference::plan::{Region, document};
use megakernel_selection_reference::review;
use megakernel_selection_reference::stream::{Selector, Stuck};
use serde_json::{Value, json};

use crate::scope::Scope;

/// How many requests were compared, and what came of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Count {
    /// Requests.
    pub requests: u64,
    /// With a plan.
    pub planned: u64,
    /// Where some flush rewinds.
    pub rewound: u64,
    /// Without a plan, though there is one.
    pub stuck: u64,
    /// With a plan that costs more than the optimum.
    pub dearer: u64,
}

impl Count {
    /// Adds another one.
    pub fn add(&mut self, other: &Count) {
        self.requests += other.requests;
        self.planned += other.planned;
        self.rewound += other.rewound;
        self.stuck += other.stuck;
        self.dearer += other.dearer;
    }
}

/// Where two of them say different things, or a law is broken.
#[derive(Clone, Debug)]
pub struct Disagreement {
    /// What.
    pub what: String,
    /// The number of the sequence in the scope.
    pub sequence: usize,
    /// The number of the index.
    pub index: usize,
    /// The limit.
    pub limit: usize,
}

/// Compares all requests of a scope whose sequence has one of these numbers.
///
/// # Errors
/// The first disagreement.
pub fn run(scope: &Scope, sequences: impl Iterator<Item = usize>) -> Result<Count, Box<Disagreement>> {
    let mut count = Count::default();
    let indices: Vec<(usize, Index)> = scope.indices().map(|number| (number, scope.index(number))).collect();
    let kernels: Vec<Kernels> = indices.iter().map(|(_, index)| Kernels::new(index, None)).collect();
    for number in sequences {
        let sequence = scope.sequence(number);
        for ((at, index), kernels) in indices.iter().zip(&kernels) {
            for &limit in &scope.limits {
                compare(&sequence, index, kernels, limit, &mut count)
                    .map_err(|what| Box::new(Disagreement { what, sequence: number, index: *at, limit }))?;
            }
        }
    }
    Ok(count)
}

/// The walk of the reference.
fn walk(sequence: &Sequence, kernels: &Kernels, limit: usize) -> Result<(Vec<Region>, Vec<Value>), Stuck> {
    let mut explainer = Explainer::new(kernels);
    let mut selector = Selector::new(kernels, limit);
    for op in &sequence.ops {
        selector.push(op, &mut explainer)?;
        if selector.held() > limit + 1 {
            return Err(Stuck { op: usize::MAX, begins: false });
        }
    }
    selector.end(&mut explainer)?;
    Ok((explainer.regions, explainer.steps))
}

fn cost(regions: &[Region]) -> Rational {
    regions.iter().fold(Rational::zero(), |sum, region| sum.plus(&region.cost))
}

/// One request, under all laws.
///
/// # Errors
/// What disagrees.
pub fn compare(
    sequence: &Sequence,
    index: &Index,
    kernels: &Kernels,
    limit: usize,
    count: &mut Count,
) -> Result<(), String> {
    count.requests += 1;
    let question =
        Question { ops: &sequence.ops, index, machine: None, limit, beam: 1, fault: None, table: None };
    let name = |kernel: u32| kernels.id(kernel).to_owned();
    let found = walk(sequence, kernels, limit);
    let defined = definition::explanation(&question);
    match (&found, &defined) {
        (Ok((regions, steps)), Ok(wanted)) => {
            let steps = json!({"steps": steps});
            if steps != *wanted {
                return Err(format!("explanations differ:\n{steps}\n{wanted}"));
            }
            let (plan, wanted) = (document(regions, &name), definition::plan(&question).ok());
            if Some(&plan) != wanted.as_ref() {
                return Err(format!("plans differ:\n{plan}\n{wanted:?}"));
            }
            laws(sequence, index, kernels, limit, regions, &steps)?;
        }
        (Err(found), Err(wanted)) if found.op == wanted.0 => {
            if sequence.ops.iter().all(|op| has_unit(index, op)) {
                return Err("each op has a kernel of its own, and there is no plan".to_owned());
            }
        }
        (found, wanted) => return Err(format!("one has a plan: {:?} {wanted:?}", found.as_ref().err())),
    }
    let best = definition::best(&question);
    let ends = |regions: &[Region]| {
        regions.iter().map(|region| (region.last, kernels.id(region.kernel).to_owned())).collect::<Vec<_>>()
    };
    let wanted = best
        .map(|regions| regions.into_iter().map(|region| (region.last, region.kernel)).collect::<Vec<_>>());
    for width in [2, limit.max(2)] {
        let question = Question { beam: width, ..question };
        let found = beam(kernels, sequence, limit, width).map(|regions| document(&regions, &name));
        let defined = definition::plan(&question);
        if found.as_ref().ok() != defined.as_ref().ok() {
            return Err(format!("beams of {width} differ:\n{found:?}\n{defined:?}"));
        }
        if width >= limit.min(sequence.ops.len()) {
            let wide = beam(kernels, sequence, limit, width).ok();
            if wide.as_deref().map(&ends) != wanted {
                return Err(format!("a beam of {width} is not the optimum: {wide:?} {wanted:?}"));
            }
        }
    }
    let found = optimum(kernels, sequence, limit).ok();
    if found.as_deref().map(&ends) != wanted {
        return Err(format!("the optimum differs: {:?} {wanted:?}", found.as_deref().map(&ends)));
    }
    tally(
        found.as_deref(),
        defined.ok().as_ref(),
        count,
        walk(sequence, kernels, limit).ok().map(|(regions, _)| cost(&regions)),
    );
    Ok(())
}

fn tally(
    optimum: Option<&[Region]>,
    explanation: Option<&Value>,
    count: &mut Count,
    greedy: Option<Rational>,
) {
    count.planned += u64::from(greedy.is_some());
    count.stuck += u64::from(greedy.is_none() && optimum.is_some());
    let steps = explanation.and_then(|explanation| explanation.get("steps")?.as_array());
    let rewinds =
        |step: &Value| step.get("rewound").and_then(Value::as_u64).is_some_and(|rewound| rewound > 0);
    count.rewound += u64::from(steps.is_some_and(|steps| steps.iter().any(rewinds)));
    if let (Some(greedy), Some(optimum)) = (greedy, optimum) {
        count.dearer += u64::from(greedy > cost(optimum));
    }
}

/// Whether a kernel of one stage does this op whatever the op asks for, and writes out what it writes: the condition of law 4.
fn has_unit(index: &Index, op: &Op) -> bool {
    let asks = Constraints { effects: op.rows.flags.clone(), ..Constraints::default() };
    index.kernels.iter().any(|kernel| {
        let stage = kernel.stages.first().filter(|_| kernel.stages.len() == 1);
        stage.is_some_and(|stage| {
            stage.class == op.rows.class && stage.core.is_none() && stage.chain.is_none() && stage.out
        }) && op.rows.flags.iter().all(|flag| kernel.constraints.effects.contains(flag))
            && Constraints { effects: asks.effects.clone(), ..kernel.constraints.clone() } == asks
            && op.rows.required.is_none_or(|required| op.rows.offered.unwrap_or(1) % required == 0)
    })
}

/// The laws of SEL-26 for a plan with one state.
fn laws(
    sequence: &Sequence,
    index: &Index,
    kernels: &Kernels,
    limit: usize,
    regions: &[Region],
    steps: &Value,
) -> Result<(), String> {
    // 1. It is a plan, by the rules.
    let given = regions.iter().map(|region| GivenRegion {
        anchor: i64::try_from(region.anchor).unwrap_or(-1),
        last: i64::try_from(region.last).unwrap_or(-1),
        kernel: kernels.id(region.kernel).to_owned(),
        given: Vec::new(),
    });
    let options = Options { limit: i64::try_from(limit).unwrap_or(1), ..Options::default() };
    let request = Request { sequence: sequence.clone(), index: index.clone(), options };
    let plan = GivenPlan { regions: given.collect(), cost: None };
    let faults = review(&Review { request, plan }, kernels);
    if !faults.is_empty() {
        return Err(format!("the plan breaks {faults:?}"));
    }
    // 2. The regions of a prefix before its end are regions of the whole.
    for length in 0..sequence.ops.len() {
        let ops = sequence.ops.get(..length).unwrap_or_default().to_vec();
        let Ok((prefix, _)) = walk(&Sequence { ops, values: Vec::new() }, kernels, limit) else {
            continue;
        };
        let before_end = prefix.iter().take_while(|region| region.trigger.name() != "end");
        for (part, whole) in before_end.zip(regions) {
            if (part.last, part.kernel) != (whole.last, whole.kernel) {
                return Err(format!("the first {length} ops have another region at op {}", part.anchor));
            }
        }
    }
    // 3. Viable only shrinks.
    let mut before: Vec<Value> = Vec::new();
    for step in steps.get("steps").and_then(Value::as_array).unwrap_or(&Vec::new()) {
        let viable = step.get("viable").and_then(Value::as_array).cloned();
        let joins = step.get("action").and_then(Value::as_str) == Some("join");
        if let Some(viable) = viable {
            if joins && !viable.iter().all(|kernel| before.contains(kernel)) {
                return Err("a kernel has become viable while a region grew".to_owned());
            }
            before = viable;
        }
    }
    Ok(())
}
