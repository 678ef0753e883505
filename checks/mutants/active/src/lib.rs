//! Which mutant is active, and where mutants make a difference. The mutated crates ask it.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};

/// No mutant is active.
pub const NONE: u32 = u32::MAX;
/// No mutant is active, and what mutants would do is written down.
pub const PROBE: u32 = u32::MAX - 1;

const WORDS: usize = 64;

static ACTIVE: AtomicU32 = AtomicU32::new(NONE);
static REACHED: [AtomicU64; WORDS] = [const { AtomicU64::new(0) }; WORDS];
static DIFFERS: [AtomicU64; WORDS] = [const { AtomicU64::new(0) }; WORDS];

/// Makes a mutant the active one.
pub fn activate(id: u32) {
    ACTIVE.store(id, Relaxed);
}

/// Which mutants were reached since the last call, and which of them may have another value there.
pub fn take() -> ([u64; WORDS], [u64; WORDS]) {
    (
        std::array::from_fn(|n| REACHED[n].swap(0, Relaxed)),
        std::array::from_fn(|n| DIFFERS[n].swap(0, Relaxed)),
    )
}

#[cold]
fn note(id: u32, differs: bool) {
    let (word, bit) = (id as usize / 64, 1 << (id % 64));
    if REACHED[word].load(Relaxed) & bit == 0 {
        REACHED[word].fetch_or(bit, Relaxed);
    }
    if differs && DIFFERS[word].load(Relaxed) & bit == 0 {
        DIFFERS[word].fetch_or(bit, Relaxed);
    }
}

/// Whether the mutant is the active one. Where it is, it makes a difference.
#[inline(always)]
pub fn on(id: u32) -> bool {
    ret(id, false)
}

/// The same where it is known whether the mutant would make a difference.
#[inline(always)]
pub fn ret(id: u32, same: bool) -> bool {
    let active = ACTIVE.load(Relaxed);
    if active == PROBE {
        note(id, !same);
    }
    active == id
}

/// A value, or that of the mutant.
#[inline(always)]
pub fn or(value: bool, id: u32, other: impl FnOnce() -> bool) -> bool {
    let active = ACTIVE.load(Relaxed);
    if active == id {
        return other();
    }
    if active == PROBE {
        note(id, other() != value);
    }
    value
}

/// Whether the right side is evaluated, after a left side of this value, of `&&` (`needs` is true) or `||`.
#[inline(always)]
pub fn goes_on(id: u32, needs: bool, left: bool) -> bool {
    let active = ACTIVE.load(Relaxed);
    if active == PROBE {
        // What the right side is, where it is not evaluated, nobody knows.
        note(id, left != needs);
    }
    (left == needs) != (active == id)
}

/// The right side. The mutant has the value of the left side where the right side was evaluated.
#[inline(always)]
pub fn right(id: u32, left: bool, right: bool) -> bool {
    if ACTIVE.load(Relaxed) == PROBE {
        note(id, left != right);
    }
    right
}

/// One iterator or the other.
pub enum Either<L, R> {
    /// That of a mutant.
    Left(L),
    /// The other.
    Right(R),
}

impl<L: Iterator<Item = R::Item>, R: Iterator> Iterator for Either<L, R> {
    type Item = R::Item;

    fn next(&mut self) -> Option<R::Item> {
        match self {
            Either::Left(left) => left.next(),
            Either::Right(right) => right.next(),
        }
    }
}
