//! TB, and TW03.

use megakernel_ir::Rule;
use megakernel_task_graph::{KernelGraph, TensorDecl, element_bits};

use super::access::{Access, Storages, mixed};
use super::{Findings, Subject};

/// TB01 to TB03.
pub fn errors(subject: &Subject<'_>, accesses: &[Access]) -> Findings {
    let mut found = Findings::new();
    for access in accesses {
        if !access.aligned() {
            found.insert((Rule::TB02, format!("{}/offset", access.at)));
            continue;
        }
        let mut outside = folds(access);
        if let Some(graph) = subject.kernel_graph {
            match declared(graph, &access.storage.1) {
                Some(tensor) if tensor.data_type == access.dtype => outside |= leaves(access, tensor),
                _ => {
                    found.insert((Rule::TB03, access.at.clone()));
                }
            }
        }
        if outside {
            found.insert((Rule::TB01, access.at.clone()));
        }
    }
    found
}

fn declared<'a>(graph: &'a KernelGraph<'a>, name: &str) -> Option<&'a TensorDecl<'a>> {
    graph.tensors.iter().find(|tensor| &*tensor.name == name)
}

/// Whether the tile runs into itself: it wraps within its own strides, or writes an element twice.
fn folds(access: &Access) -> bool {
    let axes = || access.strides.iter().zip(&access.dims).filter(|&(_, &extent)| extent > 1);
    let repeats = access.writes && axes().any(|(&stride, _)| stride == 0);
    let mut strides: Vec<i64> = axes().map(|(&stride, _)| stride).filter(|&stride| stride > 0).collect();
    strides.sort_unstable();
    let twice = strides.windows(2).any(|pair| matches!(pair, [a, b] if a == b));
    repeats || twice || access.wraps(&strides)
}

/// Whether the tile ends behind the tensor, or, where it lies as the tensor does, beside it.
fn leaves(access: &Access, tensor: &TensorDecl<'_>) -> bool {
    let bits = element_bits(tensor.data_type).unwrap_or(8);
    let elements: i64 = tensor.dims.iter().product();
    let (_, last) = access.hull();
    if (last + 1).saturating_mul(bits) > elements.saturating_mul(bits) {
        return true;
    }
    let mut strides = Vec::new();
    let mut stride = 1;
    for extent in tensor.dims.iter().rev() {
        strides.push(stride);
        stride *= extent;
    }
    strides.reverse();
    let real = |d: usize| access.dims.get(d).is_some_and(|&extent| extent > 1);
    let agree = access.dims.len() == strides.len()
        && (0..strides.len()).all(|d| !real(d) || access.strides.get(d) == strides.get(d));
    if !agree {
        return false;
    }
    let mut rest = access.first();
    strides.iter().zip(&tensor.dims).zip(&access.dims).any(|((stride, whole), extent)| {
        let at = rest / stride;
        rest %= stride;
        at + extent > *whole
    })
}

/// TW03: at the first tile that makes its storage irregular.
pub fn warnings(storages: &Storages, accesses: &[Access]) -> Findings {
    let mut found = Findings::new();
    for name in storages.keys() {
        let tiles: Vec<(usize, &Access)> =
            accesses.iter().enumerate().filter(|(_, access)| access.storage == *name).collect();
        let first = (0..tiles.len()).find(|&n| tiles.get(..=n).is_some_and(mixed));
        if let Some((_, access)) = first.and_then(|n| tiles.get(n)) {
            found.insert((Rule::TW03, access.at.clone()));
        }
    }
    found
}
