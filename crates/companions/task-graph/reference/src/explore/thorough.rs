//! The same faults, found from every interleaving of starts and finishes, with a clock for every task: whom it acquired
//! from when it started. Slow, and without a thought.

use std::collections::HashSet;

use super::compact::{Compact, Instances, MAX_INSTANCES};
use super::faults::Faults;

#[derive(Clone, PartialEq, Eq, Hash)]
struct State {
    started: Instances,
    finished: Instances,
    /// For each started task: whom it acquired from.
    clocks: Vec<Instances>,
}

/// All faults but dead writes, which are told from several runs together.
pub fn explore(system: &Compact) -> Faults {
    let mut faults = Faults { queues: system.queues, ..Faults::default() };
    let n = system.instances;
    let first = State { started: 0, finished: 0, clocks: vec![0; n] };
    let (mut seen, mut stack) = (HashSet::from([first.clone()]), vec![first]);
    while let Some(state) = stack.pop() {
        let mut enabled = false;
        let mut next = Vec::new();
        for i in 0..n {
            let bit = 1 << i;
            if state.started & bit == 0 && system.needs[i].iter().all(|need| need.is_met(state.finished)) {
                enabled = true;
                let acquired = system.acquired(i, state.finished);
                let clock = (0..n)
                    .filter(|&j| acquired & 1 << j != 0)
                    .fold(acquired, |clock, j| clock | state.clocks[j]);
                for j in (0..n).filter(|&j| state.started & 1 << j != 0 && clock & 1 << j == 0) {
                    // They race, whether or not the other one has finished: nobody has seen it finish.
                    if system.reads[i] & system.writes[j] != 0 {
                        faults.read_write[i] |= 1 << j;
                    }
                    if system.reads[j] & system.writes[i] != 0 {
                        faults.read_write[j] |= bit;
                    }
                    if system.writes[i] & system.writes[j] & !(system.adds[i] & system.adds[j]) != 0 {
                        faults.write_write[i] |= 1 << j;
                        faults.write_write[j] |= bit;
                    }
                }
                let mut clocks = state.clocks.clone();
                clocks[i] = clock;
                next.push(State { started: state.started | bit, clocks, ..state });
            }
            if state.started & !state.finished & bit != 0 {
                enabled = true;
                next.push(State { finished: state.finished | bit, ..state.clone() });
            }
        }
        for i in (0..n).filter(|&i| state.finished & 1 << i == 0 && system.can_start(i, state.finished)) {
            let others = (0..n)
                .filter(|&j| j != i && state.finished & 1 << j == 0 && system.can_start(j, state.finished));
            faults.at_once[i] |= others.fold(0, |set: Instances, j| set | 1 << j) & system.rivals[i];
        }
        for (iteration, ends) in system.ends.iter().enumerate() {
            let mine = ((1 << system.tasks) - 1) << (iteration * system.tasks);
            if ends.iter().all(|end| end.is_met(state.finished)) {
                faults.lost |= mine & !state.finished;
            } else if !enabled {
                faults.endless = true;
            }
        }
        for i in (0..n).filter(|&i| state.finished & 1 << i == 0) {
            faults.without[i] |= state.started & !(1 << i);
        }
        if !enabled {
            faults.stuck |= ((1_u64 << n) - 1) as Instances & !state.started;
        }
        for state in next {
            if seen.insert(state.clone()) {
                stack.push(state);
            }
        }
    }
    assert!(n <= MAX_INSTANCES);
    faults
}
