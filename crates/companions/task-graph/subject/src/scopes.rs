//! What is enumerated: the families of each scope.

use megakernel_prove::Scope;

use super::family::{Family, Orders, Ranks};
use super::stage::{Action, COPY, Part};

/// Every scope, smallest first.
pub fn all() -> Vec<Scope<Family>> {
    vec![
        Scope { name: "task-graph-quick", about: "seconds; for tests", families: quick() },
        Scope {
            name: "task-graph-ci",
            about: "some minutes on 2 cores; part of `cargo xtask release-gate`",
            families: ci(),
        },
        Scope { name: "task-graph-large", about: "up to an hour; five tasks with tiles", families: large() },
    ]
}

const NOTHING: Action = Action { kind: 101, reads: &[], writes: &[] };

const fn action(reads: &'static [Part], writes: &'static [Part]) -> Action {
    Action { kind: 101, reads, writes }
}

// A tensor of two rows and two columns, in parts.
const TOP: Part = ("x", 0, &[1, 2], &[2, 1]);
const BOTTOM: Part = ("x", 2, &[1, 2], &[2, 1]);
const ALL: Part = ("x", 0, &[2, 2], &[2, 1]);
const COLUMN: Part = ("x", 1, &[2, 1], &[2, 1]);
const CORNER: Part = ("x", 3, &[1, 1], &[2, 1]);
const LEFT: Part = ("x", 0, &[2, 1], &[2, 1]);
/// Of another layout: every third element. Its hull meets that of a column, which it does not.
const ODD: Part = ("x", 1, &[2, 1], &[3, 1]);
const OTHER: Part = ("y", 0, &[2, 2], &[2, 1]);

/// Rows of one tensor.
fn rows() -> Vec<Action> {
    vec![
        NOTHING,
        action(&[], &[TOP]),
        action(&[], &[BOTTOM]),
        action(&[], &[ALL]),
        action(&[TOP], &[]),
        action(&[BOTTOM], &[]),
        action(&[ALL], &[]),
        action(&[ALL], &[ALL]),
    ]
}

/// One tensor as a whole.
fn whole() -> Vec<Action> {
    vec![NOTHING, action(&[], &[ALL]), action(&[ALL], &[]), action(&[ALL], &[ALL])]
}

/// Rows, columns and single elements, and an attention task, which writes its second input.
fn parts() -> Vec<Action> {
    let mut all = rows();
    all.extend([
        action(&[], &[COLUMN]),
        action(&[COLUMN], &[]),
        action(&[CORNER], &[]),
        action(&[], &[CORNER]),
        action(&[COLUMN], &[CORNER]),
        Action { kind: 103, reads: &[OTHER, COLUMN], writes: &[] },
    ]);
    all
}

/// Two tensors.
fn two() -> Vec<Action> {
    let mut all = whole();
    all.extend([
        action(&[], &[OTHER]),
        action(&[OTHER], &[]),
        action(&[OTHER], &[ALL]),
        action(&[ALL], &[OTHER]),
        action(&[OTHER], &[OTHER]),
    ]);
    all
}

/// Tiles that no common layout has.
fn mixed() -> Vec<Action> {
    vec![
        NOTHING,
        action(&[], &[ODD]),
        action(&[ODD], &[]),
        action(&[], &[LEFT]),
        action(&[LEFT], &[]),
        action(&[ALL], &[]),
    ]
}

const PART: Part = ("part", 0, &[1, 2], &[2, 1]);
const SLOTS: Part = ("slots", 0, &[2, 1, 2], &[2, 2, 1]);
const MORE: Part = ("more", 0, &[2, 1, 2], &[2, 2, 1]);
const SUM: Part = ("sum", 0, &[1, 2], &[2, 1]);

/// What tasks of several ranks do to each other.
fn exchange() -> Vec<Action> {
    vec![
        NOTHING,
        action(&[], &[PART]),
        Action { kind: 107, reads: &[PART, SLOTS], writes: &[SUM] },
        action(&[MORE], &[]),
        Action { kind: COPY, reads: &[PART], writes: &[SLOTS] },
        Action { kind: COPY, reads: &[PART], writes: &[MORE] },
    ]
}

const SLOTS_OF_THREE: Part = ("slots", 0, &[3, 1, 2], &[2, 2, 1]);

/// What tasks of three ranks do to each other.
fn exchange_of_three() -> Vec<Action> {
    vec![
        action(&[], &[PART]),
        Action { kind: 107, reads: &[PART, SLOTS_OF_THREE], writes: &[SUM] },
        Action { kind: COPY, reads: &[PART], writes: &[SLOTS_OF_THREE] },
    ]
}

/// Copies that are no more than triggers.
fn signals() -> Vec<Action> {
    vec![NOTHING, Action { kind: COPY, reads: &[], writes: &[] }]
}

fn family(
    name: &'static str,
    (tasks, events): (usize, usize),
    orders: Orders,
    ranks: Ranks,
    actions: Vec<Action>,
) -> Family {
    Family { name, tasks, events, orders, ranks, actions }
}

fn quick() -> Vec<Family> {
    use {Orders::*, Ranks::*};
    vec![
        family("counts", (2, 2), Any, One, vec![NOTHING]),
        family("orders", (3, 3), Full, One, vec![NOTHING]),
        family("rows", (3, 2), Sound, One, rows()),
        family("rows-in-any-order", (2, 2), Full, One, rows()),
        family("mixed-layouts", (3, 2), Sound, One, mixed()),
        family("signals", (3, 2), Full, Twins, signals()),
        family("ranks", (2, 2), Full, Twins, exchange()),
        family("exchange", (3, 2), Sound, Twins, exchange()),
        family("signals-of-three", (2, 1), Full, Ring, signals()),
    ]
}

fn ci() -> Vec<Family> {
    use {Orders::*, Ranks::*};
    vec![
        family("counts", (3, 3), Any, One, vec![NOTHING]),
        family("counts-of-four", (4, 2), Any, One, vec![NOTHING]),
        family("orders-of-four", (4, 3), Full, One, vec![NOTHING]),
        family("orders-of-five", (5, 3), Full, One, vec![NOTHING]),
        family("rows", (4, 3), Sound, One, rows()),
        family("rows-in-any-order", (3, 2), Full, One, rows()),
        family("five-tasks", (5, 3), Sound, One, whole()),
        family("parts", (3, 2), Sound, One, parts()),
        family("two-tensors", (4, 3), Sound, One, two()),
        family("mixed-layouts", (4, 3), Sound, One, mixed()),
        family("signals", (3, 2), Full, Twins, signals()),
        family("signals-of-a-pair", (2, 2), Full, Pair, signals()),
        family("ranks", (2, 2), Full, Twins, exchange()),
        family("exchange", (4, 3), Sound, Twins, exchange()),
        family("exchange-of-a-pair", (2, 1), Sound, Pair, exchange()),
        family("signals-of-three", (2, 2), Full, Ring, signals()),
        family("exchange-of-three", (3, 2), Sound, Ring, exchange_of_three()),
    ]
}

fn large() -> Vec<Family> {
    use {Orders::*, Ranks::*};
    vec![
        family("counts-of-four", (4, 3), Any, One, vec![NOTHING]),
        family("rows-of-five", (5, 3), Sound, One, rows()),
        family("exchange-of-a-pair", (3, 2), Sound, Pair, exchange()),
    ]
}
