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
        Scope {
            name: "task-graph-current",
            about: "a minute on 2 cores; sums, selections and meetings; part of `cargo xtask release-gate`",
            families: current(),
        },
        Scope { name: "task-graph-large", about: "up to an hour; five tasks with tiles", families: large() },
    ]
}

const NOTHING: Action = Action { kind: 101, reads: &[], writes: &[], word: 0 };

const fn action(reads: &'static [Part], writes: &'static [Part]) -> Action {
    Action { kind: 101, reads, writes, word: 0 }
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
        Action { kind: 103, reads: &[OTHER, COLUMN], writes: &[], word: 0 },
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
        Action { kind: 107, reads: &[PART, SLOTS], writes: &[SUM], word: 0 },
        action(&[MORE], &[]),
        Action { kind: COPY, reads: &[PART], writes: &[SLOTS], word: 0 },
        Action { kind: COPY, reads: &[PART], writes: &[MORE], word: 0 },
    ]
}

const SLOTS_OF_THREE: Part = ("slots", 0, &[3, 1, 2], &[2, 2, 1]);

/// What tasks of three ranks do to each other.
fn exchange_of_three() -> Vec<Action> {
    vec![
        action(&[], &[PART]),
        Action { kind: 107, reads: &[PART, SLOTS_OF_THREE], writes: &[SUM], word: 0 },
        Action { kind: COPY, reads: &[PART], writes: &[SLOTS_OF_THREE], word: 0 },
    ]
}

/// Copies that are no more than triggers.
fn signals() -> Vec<Action> {
    vec![NOTHING, Action { kind: COPY, reads: &[], writes: &[], word: 0 }]
}

/// What adds to a tensor, sets it, and reads it.
fn sums() -> Vec<Action> {
    let add = |writes| Action { kind: 251, reads: &[], writes, word: 0 };
    vec![
        NOTHING,
        action(&[], &[ALL]),
        action(&[ALL], &[]),
        add(&[ALL]),
        add(&[TOP]),
        Action { kind: 260, reads: &[ALL], writes: &[], word: 0 },
    ]
}

/// Experts that begin at 0, at 1, and a stride further; a request; and what knows neither.
fn selections() -> Vec<Action> {
    let experts = |word| Action { kind: 254, reads: &[], writes: &[ALL], word };
    vec![
        NOTHING,
        action(&[], &[ALL]),
        action(&[ALL], &[]),
        experts(0),
        experts(1),
        experts(10),
        Action { kind: 274, reads: &[OTHER, OTHER, ALL], writes: &[], word: 1 },
    ]
}

/// Collectives of two teams, and what writes and reads their operands.
fn meetings() -> Vec<Action> {
    let meet = |reads, word| Action { kind: 302, reads, writes: &[SUM], word };
    vec![
        NOTHING,
        action(&[], &[PART]),
        action(&[], &[MORE]),
        meet(&[PART], 0),
        meet(&[MORE], 0),
        meet(&[PART], 1),
    ]
}

/// The same in few.
fn few_meetings() -> Vec<Action> {
    let meet = |reads, writes, word| Action { kind: 302, reads, writes, word };
    vec![
        action(&[], &[PART]),
        meet(&[PART], &[SUM], 0),
        meet(&[MORE], &[OTHER], 0),
        meet(&[MORE], &[OTHER], 1),
    ]
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
        family("sums", (3, 2), Sound, One, sums()),
        family("selections", (2, 1), Sound, One, selections()),
        family("meetings", (2, 1), Full, Twins, few_meetings()),
        family("meetings-of-a-pair", (2, 1), Sound, Pair, few_meetings()),
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

fn current() -> Vec<Family> {
    use {Orders::*, Ranks::*};
    vec![
        family("sums", (4, 3), Sound, One, sums()),
        family("selections", (3, 2), Sound, One, selections()),
        family("meetings", (3, 2), Sound, Twins, meetings()),
        family("meetings-in-any-order", (2, 2), Full, Twins, few_meetings()),
        family("meetings-of-a-pair", (2, 1), Sound, Pair, meetings()),
        family("meetings-of-three", (2, 1), Sound, Ring, few_meetings()),
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
