//! What the validator says of a small system beside what its executions show, and whether the two agree.

use std::collections::BTreeSet;

use megakernel_ir::Rule;
use megakernel_ir::rule::Class;

use crate::explore::{End, explore};
use crate::small::Small;

/// Why a rule rejects, by name: what it forbids is there.
pub const REASONS: [&str; 1] = ["shown"];

/// What the executions show.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Faults {
    /// The rules whose sentence is true of them.
    pub shown: BTreeSet<Rule>,
    /// What of the clauses COL-11 to COL-13 does not hold.
    torn: Option<&'static str>,
}

/// Executes a system as it is, with a slot more, and with room for all messages.
pub fn explored(small: &Small) -> Option<Faults> {
    let capacities = [small.capacity, small.capacity + 1, small.messages().max(small.capacity + 1)];
    let ends: Vec<End> = capacities.iter().map(|&capacity| explore(small, capacity)).collect();
    let (shown, torn) = shown(small, &ends)?;
    Some(Faults { shown, torn })
}

/// What goes wrong and no broken rule is about.
pub fn missed(rules: &[Rule], faults: &Faults) -> Option<&'static str> {
    let Faults { shown, torn } = faults;
    if torn.is_some() {
        return *torn;
    }
    let is_deadlock = |rule: &&Rule| rule.class() == Class::COLLECTIVE_DEADLOCK;
    if shown.iter().any(|rule| is_deadlock(&rule)) {
        // What counts tell comes before what cycles tell.
        let mut named = shown.iter().filter(is_deadlock).filter(|rule| !rules.contains(rule));
        return named.next().map(|_| "a deadlock or a message that is left");
    }
    shown.iter().any(|rule| !rules.contains(rule)).then_some("a wrong result, or different bits")
}

/// Which rules the executions break, by their sentences; and what of the clauses COL-11 and COL-13 does not hold.
fn shown(small: &Small, ends: &[End]) -> Option<(BTreeSet<Rule>, Option<&'static str>)> {
    let (first, last) = (ends.first()?, ends.last()?);
    if ends.iter().any(|end| end.is_torn) {
        return Some((BTreeSet::new(), Some("that executions end in different states (COL-11)")));
    }
    if ends.windows(2).any(|pair| pair[0].is_done && !pair[1].is_done) {
        return Some((BTreeSet::new(), Some("that a larger capacity does not complete (COL-13)")));
    }
    let mut shown = BTreeSet::new();
    let counts = counts(small);
    for (sent, received) in &counts {
        if received > sent {
            shown.insert(Rule::CD01);
        }
        if sent > received {
            shown.insert(Rule::CD02);
        }
    }
    // With room for all messages, who is stuck waits for a message that never comes.
    if shown.contains(&Rule::CD01) && last.is_done
        || shown.contains(&Rule::CD02) && last.is_done && !last.has_left
    {
        return Some((BTreeSet::new(), Some("that counts do not say what becomes of messages (COL-12)")));
    }
    if !shown.is_empty() {
        return Some((shown, None));
    }
    if !first.is_done {
        shown.insert(if last.is_done { Rule::CD03 } else { Rule::CD04 });
        return Some((shown, None));
    }
    let elements = small.logs.len();
    let wanted: Vec<u32> = (0..elements).map(|other| u32::from(small.is_sum || other == 0)).collect();
    for holds in &first.state.holds {
        if holds.tile.count == wanted {
            continue;
        }
        if !holds.stored {
            shown.insert(Rule::CT01);
            continue;
        }
        if holds.before.iter().any(|number| number.count == wanted) {
            shown.insert(Rule::CT05);
            continue;
        }
        for (&count, &wanted) in holds.tile.count.iter().zip(&wanted) {
            if count < wanted {
                shown.insert(Rule::CT02);
            }
            if count > 1 {
                shown.insert(Rule::CT03);
            }
            if wanted == 0 && count > 0 {
                shown.insert(Rule::CT04);
            }
        }
    }
    let bits: Vec<&Vec<u32>> = first.state.holds.iter().map(|holds| &holds.tile.bits).collect();
    if shown.is_empty() && small.is_sum && bits.windows(2).any(|pair| pair[0] != pair[1]) {
        shown.insert(Rule::CB01);
    }
    Some((shown, None))
}

/// Sends and receives of each queue.
fn counts(small: &Small) -> Vec<(usize, usize)> {
    use crate::small::{Step, Way};
    let all = small.logs.len();
    let mut counts = vec![(0, 0); 2 * all];
    for (element, steps) in small.logs.iter().enumerate() {
        for step in steps {
            match *step {
                Step::Send(way) | Step::SendOwn(way) | Step::SendLast(way) => {
                    counts[2 * way.of(element, all) + usize::from(way == Way::Next)].0 += 1;
                }
                Step::Add(way) | Step::Take(way) => {
                    counts[2 * element + usize::from(way == Way::Before)].1 += 1
                }
                Step::Store | Step::StoreOwn => {}
            }
        }
    }
    counts
}
