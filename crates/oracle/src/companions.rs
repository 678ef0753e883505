//! The companions whose references the program is composed of.

use megakernel_reference::commands::Companion;

/// A line each.
pub static COMPANIONS: &[&Companion] = &[&megakernel_task_graph_reference::COMPANION];
