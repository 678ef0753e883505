//! Doing all operations (clauses COL-11 to COL-13): CD03 and CD04.

use std::collections::{BTreeMap, HashMap, VecDeque};

use megakernel_ir::Rule;

use crate::Broken;
use crate::logs::{Act, Logs};
use crate::place::Queue;

/// What is done beside the order. Messages are numbered.
pub trait Work {
    /// An operation of an element that is no message.
    fn act(&mut self, element: usize, act: &Act);
    /// What an element sends, by its handle.
    fn send(&mut self, element: usize, of: usize) -> usize;
    /// A message arrives.
    fn receive(&mut self, element: usize, to: usize, message: usize);
}

struct Nothing;

impl Work for Nothing {
    fn act(&mut self, _: usize, _: &Act) {}
    fn send(&mut self, _: usize, _: usize) -> usize {
        0
    }
    fn receive(&mut self, _: usize, _: usize, _: usize) {}
}

/// How many operations each element gets done, in turns, where each queue holds at least `least` messages.
pub fn run(logs: &Logs, least: i64, work: &mut dyn Work) -> Vec<usize> {
    let mut done = vec![0; logs.acts.len()];
    let mut on_the_way: HashMap<&Queue, VecDeque<usize>> = HashMap::new();
    let mut moved = true;
    while std::mem::take(&mut moved) {
        for (element, (acts, done)) in logs.acts.iter().zip(&mut done).enumerate() {
            while let Some(act) = acts.get(*done) {
                match act {
                    Act::Send { of, queue } => {
                        let capacity =
                            logs.queues.get(queue).map_or(0, |traffic| traffic.capacity.max(least));
                        let messages = on_the_way.entry(queue).or_default();
                        if i64::try_from(messages.len()).unwrap_or(i64::MAX) >= capacity {
                            break;
                        }
                        messages.push_back(work.send(element, *of));
                    }
                    Act::Recv { to, queue } => {
                        let Some(message) = on_the_way.entry(queue).or_default().pop_front() else { break };
                        work.receive(element, *to, message);
                    }
                    other => work.act(element, other),
                }
                *done += 1;
                moved = true;
            }
        }
    }
    done
}

/// CD03 and CD04, where sends and receives match.
pub fn deadlock(logs: &Logs) -> Vec<Broken> {
    let stuck = |least: i64| -> BTreeMap<usize, usize> {
        let done = run(logs, least, &mut Nothing);
        let all = done.into_iter().zip(&logs.acts).enumerate();
        all.filter(|(_, (done, acts))| *done < acts.len())
            .map(|(element, (done, _))| (element, done))
            .collect()
    };
    let found = stuck(1);
    let Some((element, at)) = found.first_key_value() else { return Vec::new() };
    let most = logs.queues.values().map(|traffic| traffic.sent.len()).max().unwrap_or(0);
    let most = i64::try_from(most).unwrap_or(i64::MAX);
    let what =
        format!("{} elements stand still, such as element {element} at its operation {at}", found.len());
    if stuck(most).is_empty() {
        // What completes with a capacity completes with a larger one (COL-13).
        let (mut too_few, mut least) = (1, most);
        while too_few + 1 < least {
            let middle = i64::midpoint(too_few, least);
            if stuck(middle).is_empty() { least = middle } else { too_few = middle }
        }
        return vec![Broken { rule: Rule::CD03, what: format!("{what}; a capacity of {least} is enough") }];
    }
    vec![Broken { rule: Rule::CD04, what: format!("{what}; no capacity helps") }]
}
