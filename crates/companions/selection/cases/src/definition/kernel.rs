//! Kernels against regions (clauses SEL-13 to SEL-16).

use std::cmp::Ordering;

use megakernel_selection::{Activation, Flag, Kernel, Op, Rational, Term};

use super::matrix::{Matrix, below, fold};
use super::{Fault, Question};

/// The stages that the ops of a region take, if there is a walk.
pub fn walk(question: &Question<'_>, kernel: &Kernel, anchor: usize, last: usize) -> Option<Vec<usize>> {
    let mut taken: Vec<usize> = Vec::new();
    for op in anchor..=last {
        let from = taken.last().map_or(0, |stage| stage + 1);
        let mut stage = from;
        loop {
            let here = kernel.stages.get(stage)?;
            if here.class == question.ops.get(op)?.rows.class {
                break;
            }
            if !here.optional || question.is(Fault::OptionalRequired) {
                return None;
            }
            stage += 1;
        }
        if !matches(question, kernel, stage, anchor, op) {
            return None;
        }
        taken.push(stage);
    }
    Some(taken)
}

fn matches(question: &Question<'_>, kernel: &Kernel, stage: usize, anchor: usize, op: usize) -> bool {
    let (Some(stage), Some(at)) = (kernel.stages.get(stage), question.ops.get(op)) else {
        return false;
    };
    if stage.core.is_some() && stage.core != at.rows.core && !question.is(Fault::StageCoreIgnored) {
        return false;
    }
    let Some(wanted) = stage.chain.as_ref().filter(|_| !question.is(Fault::ChainIgnored)) else {
        return true;
    };
    let region = question.ops.get(anchor..op).unwrap_or_default();
    let written = |value: u32| region.iter().any(|op| op.writes.iter().any(|write| write.value == value));
    let mut positions = at.reads.iter().enumerate().map(|(position, value)| (position, written(*value)));
    let is_wanted = |position: usize| wanted.iter().any(|&wanted| usize::try_from(wanted) == Ok(position));
    wanted.iter().all(|&wanted| usize::try_from(wanted).is_ok_and(|wanted| wanted < at.reads.len()))
        && positions.all(|(position, written)| {
            is_wanted(position) == written || (question.is(Fault::ChainSubset) && written)
        })
}

/// Whether a kernel is viable for a region with this matrix.
pub fn viable(question: &Question<'_>, kernel: &Kernel, anchor: usize, last: usize, matrix: &Matrix) -> bool {
    let is = |fault| question.is(fault);
    let asked = &kernel.constraints;
    let one_of = |list: &Option<Vec<_>>, found: Option<_>| match (list, found) {
        (Some(list), Some(found)) => list.contains(&found),
        _ => true,
    };
    let shape = asked.shape.iter().all(|(role, range)| {
        let found = matrix.roles.get(role);
        if is(Fault::UnknownKills) && matrix.known(role).is_none() {
            return false;
        }
        let Some(extent) = found.and_then(|role| role.extent) else {
            return true;
        };
        let most = range.max.unwrap_or(i64::MAX);
        let fits = if is(Fault::MaxExclusive) { extent < most } else { extent <= most };
        let whole = extent % range.multiple.max(1) == 0 || is(Fault::MultipleIgnored);
        extent >= range.min && fits && whole
    });
    let acc = asked.acc.as_ref().is_none_or(|list| {
        matrix.acc.is_none_or(|acc| {
            list.iter()
                .any(|&high| if is(Fault::AccAtOnce) { high == acc } else { below(question, acc, high) })
        })
    });
    let layout = [&asked.order, &asked.pack, &asked.trans]
        .into_iter()
        .zip(&matrix.layout)
        .all(|(list, found)| one_of_text(list.as_ref(), found.as_ref()));
    let flags = asked.allow.as_ref().is_none_or(|allow| matrix.flags.iter().all(|flag| allow.contains(flag)));
    let activation = matrix.activation == Activation::None
        || asked.activation.as_ref().is_none_or(|list| list.contains(&matrix.activation));
    let out = !is(Fault::OutAtOnce) || one_of(&asked.dtype_out, matrix.chain.map(|chain| chain.1));
    walk(question, kernel, anchor, last).is_some()
        && shape
        && one_of(&asked.dtype_in, matrix.chain.map(|chain| chain.0))
        && one_of(&asked.weight, matrix.weight)
        && acc
        && layout
        && flags
        && activation
        && out
        && matrix.effects.iter().all(|flag: &Flag| asked.effects.contains(flag))
        && matrix.offered.is_none_or(|offered| aligned(question, kernel, matrix, offered) != Some(false))
        && (!asks_at_once(question) || stayed_viable(question, kernel, anchor, last))
}

/// Faults that lose a kernel too early: what is lost stays so.
fn asks_at_once(question: &Question<'_>) -> bool {
    [Fault::OutAtOnce, Fault::AccAtOnce, Fault::UnknownKills].into_iter().any(|fault| question.is(fault))
}

fn stayed_viable(question: &Question<'_>, kernel: &Kernel, anchor: usize, last: usize) -> bool {
    last == anchor
        || fold(question, anchor, last - 1)
            .is_ok_and(|matrix| viable(question, kernel, anchor, last - 1, &matrix))
}

fn one_of_text(list: Option<&Vec<String>>, found: Option<&String>) -> bool {
    match (list, found) {
        (Some(list), Some(found)) => list.contains(found),
        _ => true,
    }
}

/// Whether an alignment is what the kernel asks for; `None` if that cannot be told without the dtype.
fn aligned(question: &Question<'_>, kernel: &Kernel, matrix: &Matrix, offered: u64) -> Option<bool> {
    let asked = &kernel.constraints;
    if asked.align.is_some_and(|align| !offered.is_multiple_of(align.unsigned_abs().max(1))) {
        return Some(false);
    }
    let Some(vector) = asked.vector else {
        return Some(true);
    };
    let bits = if question.is(Fault::VectorBytes) { 8 } else { matrix.chain?.0.bits() };
    Some((8 * offered).is_multiple_of((vector.unsigned_abs() * bits).max(1)))
}

/// The cost of a kernel for a region that it is complete for; `None` if it is not.
pub fn complete(
    question: &Question<'_>,
    kernel: &Kernel,
    anchor: usize,
    last: usize,
    matrix: &Matrix,
) -> Option<Rational> {
    let is = |fault| question.is(fault);
    if !viable(question, kernel, anchor, last, matrix) {
        return None;
    }
    let stages = walk(question, kernel, anchor, last)?;
    let mut rest = kernel.stages.iter().skip(stages.last()? + 1);
    if rest.any(|stage| !stage.optional || is(Fault::OptionalTail)) {
        return None;
    }
    constraints(question, kernel, matrix).then_some(())?;
    for (op, stage) in (anchor..=last).zip(&stages) {
        let written = kernel.stages.get(*stage).is_some_and(|stage| stage.out);
        if !written && question.ops.get(op).is_some_and(|op| lost(question, op, last)) {
            return None;
        }
    }
    cost(question, kernel, matrix)
}

/// The right column of SEL-14.
fn constraints(question: &Question<'_>, kernel: &Kernel, matrix: &Matrix) -> bool {
    let is = |fault| question.is(fault);
    let asked = &kernel.constraints;
    let shape = asked.shape.keys().all(|role| is(Fault::UnknownSuffices) || matrix.known(role).is_some());
    let dtypes = [
        (&asked.dtype_in, matrix.chain.map(|chain| chain.0)),
        (&asked.dtype_out, matrix.chain.map(|chain| chain.1)),
        (&asked.acc, matrix.acc),
        (&asked.weight, matrix.weight),
    ];
    let dtypes = dtypes.iter().all(|(list, found)| match (list, found) {
        (None, _) => true,
        (Some(list), Some(found)) => list.contains(found),
        (Some(_), None) => false,
    });
    let [_, pack, trans] = &matrix.layout;
    let layout = (asked.pack.is_none() || pack.is_some()) && (asked.trans.is_none() || trans.is_some());
    let required = is(Fault::RequireIgnored) || asked.require.iter().all(|flag| matrix.flags.contains(flag));
    let activation = asked.activation.as_ref().is_none_or(|list| {
        list.contains(&matrix.activation)
            || (is(Fault::ActivationAllowed) && matrix.activation == Activation::None)
    });
    let offered = matrix.offered.unwrap_or(1);
    let alignment = (is(Fault::OfferedAbsent) && matrix.offered.is_none())
        || (aligned(question, kernel, matrix, offered) == Some(true)
            && matrix.required.is_none_or(|required| offered.is_multiple_of(required.max(1))));
    shape && dtypes && layout && required && activation && alignment
}

/// Whether an op writes what somebody beyond the region needs.
fn lost(question: &Question<'_>, op: &Op, last: usize) -> bool {
    let is = |fault| question.is(fault);
    if is(Fault::EscapeIgnored) {
        return false;
    }
    let stored = !op.rows.storage_writes.is_empty() && !is(Fault::EscapeStorage);
    let beyond = |reader: &i64| {
        let reader = usize::try_from(*reader).unwrap_or(0);
        reader > last || (is(Fault::EscapeLast) && reader == last) || is(Fault::EscapeAnyReader)
    };
    stored
        || op.writes.iter().any(|write| {
            let readers = if is(Fault::EscapeFirstReader) {
                write.readers.get(..1).unwrap_or(&write.readers)
            } else {
                &write.readers
            };
            (write.output && !is(Fault::EscapeOutput)) || readers.iter().any(beyond)
        })
}

fn cost(question: &Question<'_>, kernel: &Kernel, matrix: &Matrix) -> Option<Rational> {
    let is = |fault| question.is(fault);
    let number = |text: &String| Rational::parse(text);
    let sum = |terms: &[Term]| -> Option<Rational> {
        let mut sum = Rational::zero();
        for term in terms {
            let mut product = number(&term.times)?;
            for role in &term.dims {
                let unknown = is(Fault::CostUnknown).then_some(1);
                product = product.times(&Rational::of(matrix.known(role).or(unknown)?.unsigned_abs()));
            }
            sum = sum.plus(&product);
        }
        Some(sum)
    };
    let fixed = number(&kernel.cost.fixed)?;
    let (bytes, flops) = (sum(&kernel.cost.bytes)?, sum(&kernel.cost.flops)?);
    if kernel.cost.bytes.is_empty() && kernel.cost.flops.is_empty() {
        return Some(fixed);
    }
    let Some(machine) = question.machine else {
        return is(Fault::CostNoMachine).then_some(fixed);
    };
    let bytes = bytes.times(&Rational::of(1000)).divided_by(&number(&machine.gbs)?)?;
    let flops = flops.divided_by(&number(&machine.tflops)?)?;
    let time = match () {
        () if is(Fault::CostSum) => bytes.plus(&flops),
        () if is(Fault::CostFlops) => flops,
        () => bytes.max(flops),
    };
    Some(fixed.plus(&time))
}

/// The best of the kernels that are complete for a region, and its cost.
pub fn best<'a>(
    question: &Question<'a>,
    anchor: usize,
    last: usize,
    matrix: &Matrix,
) -> Option<(&'a Kernel, Rational)> {
    let is = |fault| question.is(fault);
    let kernels: Vec<(&Kernel, Rational)> = question
        .index
        .kernels
        .iter()
        .filter_map(|kernel| {
            if is(Fault::ViableIsComplete) {
                let cost = cost(question, kernel, matrix).or_else(|| Some(Rational::zero()))?;
                return viable(question, kernel, anchor, last, matrix).then_some((kernel, cost));
            }
            Some((kernel, complete(question, kernel, anchor, last, matrix)?))
        })
        .collect();
    let costs = |a: &Rational, b: &Rational| {
        if is(Fault::CostFloat) {
            (a.approximately() as f32).total_cmp(&(b.approximately() as f32))
        } else {
            a.cmp(b)
        }
    };
    kernels.into_iter().min_by(|(a, cost_a), (b, cost_b)| {
        let stages =
            if is(Fault::LongestStages) { b.stages.len().cmp(&a.stages.len()) } else { Ordering::Equal };
        let ids = match () {
            () if is(Fault::TieFirst) => Ordering::Equal,
            () if is(Fault::TieLast) => b.id.cmp(&a.id),
            () if is(Fault::TieLength) => a.id.len().cmp(&b.id.len()).then_with(|| a.id.cmp(&b.id)),
            () => a.id.as_bytes().cmp(b.id.as_bytes()),
        };
        stages.then_with(|| costs(cost_a, cost_b)).then(ids)
    })
}
