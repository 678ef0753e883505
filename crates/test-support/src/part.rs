//! How much of a long list a test goes through: a part, or all of it where the variable `MEGAKERNEL_TESTS` is `whole`, as it is in the
//! release gate. What a part leaves out is like what it has: seeds, and members of one family.

use std::collections::BTreeMap;

/// Whether all is asked for.
pub fn is_whole() -> bool {
    std::env::var_os("MEGAKERNEL_TESTS").is_some_and(|what| what == "whole")
}

/// Each of a list, or the first of every `of`. Families vary dtypes, shapes and modes by twos, threes and fives, which should not divide it.
pub fn one_in<I: Iterator>(of: usize, all: I) -> impl Iterator<Item = I::Item> {
    all.step_by(if is_whole() { 1 } else { of })
}

/// The first of every `of` of each kind, and so at least one of every kind.
pub fn one_in_each<T, K: Ord>(of: usize, all: impl Iterator<Item = T>, kind: impl Fn(&T) -> K) -> Vec<T> {
    let of = if is_whole() { 1 } else { of };
    let mut seen = BTreeMap::<K, usize>::new();
    all.filter(|each| {
        let count = seen.entry(kind(each)).or_default();
        *count += 1;
        (*count - 1).is_multiple_of(of)
    })
    .collect()
}

/// How often something is tried, or checked to have been seen: a number, or its part.
pub fn share<N: std::ops::Div<Output = N>>(of: N, all: N) -> N {
    if is_whole() { all } else { all / of }
}
