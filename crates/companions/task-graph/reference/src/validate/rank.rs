//! The graph of one rank among those that are judged.

use megakernel_task_graph::{EVENT_INVALID, EventId, TaskGraph};

use crate::types;
use crate::validate::Graphs;

/// A graph and where it stands.
pub struct Rank<'g, 'a> {
    /// The graph.
    pub graph: &'g TaskGraph<'a>,
    /// What JSON pointers into it begin with.
    prefix: String,
    /// The rank in its event ids, as task 1's trigger has it.
    pub declared: u16,
    /// The rank: its place in a system; of a bare graph the declared one.
    pub number: usize,
}

impl<'g, 'a> Rank<'g, 'a> {
    /// The graphs of a document.
    pub fn of(graphs: &Graphs<'g, 'a>) -> Vec<Rank<'g, 'a>> {
        match *graphs {
            Graphs::Bare(graph, _) => {
                let declared = declared(graph);
                vec![Rank { graph, prefix: String::new(), declared, number: usize::from(declared) }]
            }
            Graphs::System(ranks, _) => {
                let rank = |(number, graph)| Rank {
                    graph,
                    prefix: format!("/ranks/{number}"),
                    declared: declared(graph),
                    number,
                };
                ranks.iter().enumerate().map(rank).collect()
            }
        }
    }

    /// JSON pointer of a place in the graph.
    pub fn at(&self, pointer: &str) -> String {
        format!("{}{pointer}", self.prefix)
    }

    /// Whether the graph stands in a system.
    pub fn is_in_system(&self) -> bool {
        !self.prefix.is_empty()
    }

    /// The graph that a tagged id with this rank leads to, if it is in the document.
    pub fn named<'r>(ranks: &'r [Rank<'g, 'a>], rank: u16) -> Option<&'r Rank<'g, 'a>> {
        ranks.iter().find(|one| one.number == usize::from(rank))
    }

    /// Whether some task writes to another rank, or meets its tasks.
    pub fn reaches_others(&self) -> bool {
        self.graph.all_tasks.iter().skip(2).any(|task| {
            let id = EventId::from_bits(task.trigger_event);
            types::is_collective(task.task_type)
                || id.is_some_and(|id| id.nvshmem && id.rank != self.declared)
        })
    }

    /// Whether its tasks have the metadata members.
    pub fn is_extended(&self) -> bool {
        self.graph.all_tasks.first().is_some_and(|task| {
            super::structure::metadata_members(task).iter().any(|(_, value)| value.is_some())
        })
    }
}

fn declared(graph: &TaskGraph<'_>) -> u16 {
    match graph.all_tasks.get(1).map(|task| task.trigger_event) {
        None | Some(EVENT_INVALID) => 0,
        Some(bits) => (bits >> 32) as u16,
    }
}
