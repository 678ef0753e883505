//! The rules ER05, ER06 and ER08, piece by piece: the bytes between neighbouring ends of intervals.

use std::collections::BTreeSet;

use megakernel_ir::Rule;
use megakernel_schedule::{Init, Kind};

use crate::Findings;
use crate::order::Order;
use crate::parts::{Does, Storage, Touch, World};

/// What stands there when a launch begins (clause SCH-10).
#[derive(PartialEq)]
enum Begin {
    Nothing,
    /// What the host puts there for this launch.
    Fresh,
    /// What the launch before left.
    Kept,
}

fn begin(touch: &Touch) -> Begin {
    match (touch.kind, touch.init) {
        (Kind::Input, _) => Begin::Fresh,
        (Kind::Weight | Kind::Cache, _) | (Kind::Activation | Kind::Output, Init::Once) => Begin::Kept,
        (Kind::Activation | Kind::Output, Init::Launch) => Begin::Fresh,
        (Kind::Activation | Kind::Output, Init::Never) => Begin::Nothing,
    }
}

pub fn errors(world: &World<'_>, order: &Order, storage: Storage) -> Findings {
    let touches = world.touches(storage);
    let cuts: BTreeSet<i128> =
        touches.iter().flat_map(|(.., touch)| &touch.bytes).flatten().copied().collect();
    let mut found = Findings::new();
    for at in cuts {
        let covers = |touch: &Touch| touch.bytes.iter().any(|&[from, to]| from <= at && at < to);
        let here: Vec<_> = touches.iter().filter(|(.., touch)| covers(touch)).collect();
        for (phase, place, touch) in here.iter().filter(|(.., touch)| touch.does != Does::Write) {
            let changes = || here.iter().filter(|(.., other)| other.does != Does::Read);
            let earlier: Vec<_> =
                changes().filter(|(other, at, _)| order.earlier((*other, *at), (*phase, *place))).collect();
            let own = |other: &Touch| other.value == touch.value;
            let is_written = earlier.iter().any(|(.., other)| other.does == Does::Write && own(other));
            let begin = begin(touch);
            let is_volatile =
                touch.init == Init::Once && matches!(touch.kind, Kind::Activation | Kind::Output);
            let rule = if !is_written && begin == Begin::Nothing {
                Some(Rule::ER05)
            } else if !is_written && is_volatile && changes().any(|(.., other)| own(other)) {
                Some(Rule::ER06)
            } else if earlier.is_empty() {
                let is_lost = begin == Begin::Kept && changes().any(|(.., other)| !own(other));
                is_lost.then_some(Rule::ER08)
            } else {
                let is_last = |(one, at, _): &(usize, usize, &Touch)| {
                    !earlier.iter().any(|(other, place, _)| order.earlier((*one, *at), (*other, *place)))
                };
                earlier.iter().any(|one| is_last(one) && !own(one.2)).then_some(Rule::ER08)
            };
            found.extend(rule.map(|rule| (rule, touch.pointer.clone())));
        }
    }
    found
}
