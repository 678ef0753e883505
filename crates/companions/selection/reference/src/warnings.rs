//! The rules KW.

use std::collections::{BTreeMap, BTreeSet, HashSet, VecDeque};

use megakernel_ir::Rule;
use megakernel_selection::{Fault, Index, Kernel, Rational};

use crate::kernels::reachable;

/// KW of an index that breaks no rule.
pub fn warnings(index: &Index, at: &str, found: &mut Vec<Fault>) {
    for (number, kernel) in index.kernels.iter().enumerate() {
        let at = format!("{at}/kernels/{number}");
        if !reachable(&kernel.stages) {
            let message = format!("the cores of the stages of `{}` do not compose", kernel.id);
            found.push(Fault::new(Rule::KW01, &*at, message).shown_by([], [&*kernel.id]));
        }
        if let Some(other) = index.kernels.iter().find(|other| dominates(other, kernel)) {
            let message = format!("`{}` does all that `{}` does, for no more", other.id, kernel.id);
            found.push(Fault::new(Rule::KW02, &*at, message).shown_by([], [&*kernel.id, &*other.id]));
        }
    }
    if let Some((word, begin)) = hole(index) {
        let message = format!("some kernel begins with {}, and none does just that", word.join(", "));
        found.push(Fault::new(Rule::KW03, format!("{at}/kernels"), message).shown_by([], begin));
    }
    let mut seen = HashSet::new();
    for (number, kernel) in index.kernels.iter().enumerate() {
        for (place, stage) in kernel.stages.iter().enumerate() {
            if seen.insert(&stage.class) && !index.kernels.iter().any(|kernel| is_unit(kernel, &stage.class))
            {
                let message = format!("no kernel does `{}` alone", stage.class);
                let at = format!("{at}/kernels/{number}/stages/{place}");
                found.push(Fault::new(Rule::KW04, at, message).shown_by([], [&*kernel.id]));
            }
        }
    }
}

/// Whether the class alone is a word of the kernel: it has a stage of it, and all others are optional.
fn is_unit(kernel: &Kernel, class: &str) -> bool {
    let required = kernel.stages.iter().filter(|stage| !stage.optional).count();
    kernel.stages.iter().any(|stage| stage.class == class && required == usize::from(!stage.optional))
}

fn subset<T: PartialEq>(few: Option<&Vec<T>>, many: Option<&Vec<T>>) -> bool {
    many.is_none_or(|many| few.is_some_and(|few| few.iter().all(|one| many.contains(one))))
}

fn dominates(a: &Kernel, b: &Kernel) -> bool {
    let fixed = |kernel: &Kernel| -> Option<Rational> {
        let terms = kernel.cost.bytes.len() + kernel.cost.flops.len();
        if terms == 0 { Rational::parse(&kernel.cost.fixed) } else { None }
    };
    let (Some(cost_a), Some(cost_b)) = (fixed(a), fixed(b)) else {
        return false;
    };
    let (of_a, of_b) = (&a.constraints, &b.constraints);
    (cost_a, &a.id) < (cost_b, &b.id)
        && a.stages.len() == b.stages.len()
        && a.stages.iter().zip(&b.stages).all(|(a, b)| {
            let chain = |chain: &Option<Vec<i64>>| {
                chain.as_ref().map(|chain| chain.iter().copied().collect::<BTreeSet<_>>())
            };
            (&a.class, a.core, a.rounds) == (&b.class, b.core, b.rounds)
                && chain(&a.chain) == chain(&b.chain)
                && (a.optional || !b.optional)
                && (a.out || !b.out)
        })
        && of_a.shape.iter().all(|(role, wide)| {
            of_b.shape.get(role).is_some_and(|narrow| {
                narrow.min >= wide.min
                    && wide.max.is_none_or(|wide| narrow.max.is_some_and(|narrow| narrow <= wide))
                    && narrow.multiple % wide.multiple.max(1) == 0
            })
        })
        && subset(of_b.dtype_in.as_ref(), of_a.dtype_in.as_ref())
        && subset(of_b.dtype_out.as_ref(), of_a.dtype_out.as_ref())
        && subset(of_b.acc.as_ref(), of_a.acc.as_ref())
        && subset(of_b.weight.as_ref(), of_a.weight.as_ref())
        && subset(of_b.order.as_ref(), of_a.order.as_ref())
        && subset(of_b.pack.as_ref(), of_a.pack.as_ref())
        && subset(of_b.trans.as_ref(), of_a.trans.as_ref())
        && subset(of_b.activation.as_ref(), of_a.activation.as_ref())
        && subset(of_b.allow.as_ref(), of_a.allow.as_ref())
        && of_a.require.iter().all(|flag| of_b.require.contains(flag))
        && of_b.effects.iter().all(|flag| of_a.effects.contains(flag))
        && [(of_a.align, of_b.align), (of_a.vector, of_b.vector)].into_iter().all(|(wide, narrow)| {
            wide.is_none_or(|wide| narrow.is_some_and(|narrow| narrow % wide.max(1) == 0))
        })
}

/// The shortest word that is a beginning of a word of a kernel and no kernel's word, and of those the bytewise first; and the
/// kernels that begin with it.
fn hole(index: &Index) -> Option<(Vec<&str>, Vec<&str>)> {
    // Where each kernel that begins like the word has come to.
    let mut seen: HashSet<Vec<(usize, usize)>> = HashSet::new();
    let mut queue = VecDeque::from([(
        Vec::new(),
        (0..index.kernels.len()).map(|kernel| (kernel, 0)).collect::<Vec<_>>(),
    )]);
    while let Some((word, places)) = queue.pop_front() {
        let mut steps: BTreeMap<&str, Vec<(usize, usize)>> = BTreeMap::new();
        for &(number, from) in &places {
            let stages =
                index.kernels.get(number).map(|kernel| kernel.stages.get(from..).unwrap_or_default());
            let stages = stages.unwrap_or_default();
            let optional = stages.iter().take_while(|stage| stage.optional).count();
            for (ahead, stage) in stages.iter().enumerate().take(optional + 1) {
                steps.entry(&stage.class).or_default().push((number, from + ahead + 1));
            }
        }
        for (class, places) in steps {
            let mut word: Vec<&str> = Vec::clone(&word);
            word.push(class);
            let ends = |&(number, from): &(usize, usize)| {
                index
                    .kernels
                    .get(number)
                    .is_some_and(|kernel| kernel.stages.iter().skip(from).all(|stage| stage.optional))
            };
            if !places.iter().any(ends) {
                let kernels: BTreeSet<usize> = places.iter().map(|&(kernel, _)| kernel).collect();
                let ids = kernels.into_iter().filter_map(|kernel| index.kernels.get(kernel));
                return Some((word, ids.map(|kernel| &*kernel.id).collect()));
            }
            if seen.insert(places.clone()) {
                queue.push_back((word, places));
            }
        }
    }
    None
}
