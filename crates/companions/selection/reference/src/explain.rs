//! What the walk tried, step by step (clause SEL-24).

use serde_json::{Value, json};

use megakernel_selection::Reason;

use crate::kernels::Kernels;
use crate::plan::{Region, attrs};
use crate::stream::{Attempt, Listener};

/// Writes an explanation while the walk goes on.
pub struct Explainer<'a> {
    kernels: &'a Kernels,
    /// The steps.
    pub steps: Vec<Value>,
    /// The regions.
    pub regions: Vec<Region>,
}

impl<'a> Explainer<'a> {
    /// One without steps.
    pub fn new(kernels: &'a Kernels) -> Explainer<'a> {
        Explainer { kernels, steps: Vec::new(), regions: Vec::new() }
    }
}

impl Listener for Explainer<'_> {
    fn closed(&mut self, region: Region) {
        self.regions.push(region);
    }

    fn explains(&self) -> bool {
        true
    }

    fn attempted(&mut self, attempt: Attempt<'_>) {
        let step = match attempt {
            Attempt::Joined { start, op, node, escaping, word } => {
                let viable: Vec<_> = node.viable.iter().map(|walk| self.kernels.id(walk.kernel)).collect();
                let hint = node.complete(escaping).next().map(|ready| ready.cost.to_string());
                let mut complete: Vec<_> =
                    node.complete(escaping).map(|ready| self.kernels.id(ready.kernel)).collect();
                complete.sort_unstable();
                json!({
                    "action": if start { "start" } else { "join" },
                    "op": op,
                    "viable": viable,
                    "complete": complete,
                    "score_hint": hint,
                    "attrs": attrs(&node.matrix, word.into_iter()),
                })
            }
            Attempt::Flushed { op, region, rewound } => json!({
                "action": "flush",
                "op": op,
                "trigger": region.trigger.name(),
                "reason": region.reason.map(Reason::name),
                "anchor": region.anchor,
                "last": region.last,
                "kernel": self.kernels.id(region.kernel),
                "rewound": rewound,
            }),
        };
        self.steps.push(step);
    }
}
