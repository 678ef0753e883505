//! Task graphs that MPK itself has written: which are accepted, what is wrong with the others, and that every one survives
//! reading and writing.

use std::collections::BTreeMap;

use megakernel_ir::{Layout, Rule, write_record};
use megakernel_task_graph::{TaskGraph, read_task_graph};
use megakernel_task_graph_reference::validate;
use megakernel_task_graph_reference::validate::{Graphs, broken_rules, validate_graphs};
use megakernel_test_support::fixtures;
use serde_json::Value;

const ALONE: [&str; 5] =
    ["fork_point.json", "old_qwen3_06b_2l.json", "qwen3_06b_2l.json", "qwen3_mlp.json", "rmsnorm.json"];
const PAIR: [&str; 2] = ["old_tp2_r0.json", "old_tp2_r1.json"];

fn file(name: &str) -> Vec<u8> {
    fixtures::bytes(&format!("mpk/{name}"))
}

#[test]
fn graphs_of_one_rank_are_accepted() {
    for name in ALONE {
        let document = file(name);
        assert_eq!(validate(&document).diagnostics, [], "{name}");
    }
}

#[test]
fn a_rank_alone_is_told_to_be_incomplete() {
    for name in PAIR {
        let document = file(name);
        let verdict = validate(&document);
        let rules: Vec<Rule> = verdict.diagnostics.iter().map(|diagnostic| diagnostic.rule).collect();
        assert_eq!(rules, [Rule::TW04], "{name}");
    }
}

/// REDUCE reads the partial sum of its own rank without waiting for it. Seen from one tile: the sum of layer 0 is read by the
/// REDUCE of layer 0, which may come before it is written or after that of layer 1; and so on. With 16 tiles and two layers
/// that makes, on each of two tensors and each of two ranks, 48 pairs with the writer first in the queue (TR02) and 16 with
/// the reader first (TR03): 128 pairs a tensor.
#[test]
fn local_sums_of_the_pair_race() {
    let (first, second) = (file(PAIR[0]), file(PAIR[1]));
    let ranks: Vec<TaskGraph<'_>> =
        [&first, &second].into_iter().map(|bytes| read_task_graph(bytes).expect("a graph")).collect();
    let verdict = validate_graphs(Graphs::System(&ranks, None));
    let mut tiles = BTreeMap::<(Rule, String), usize>::new();
    for diagnostic in &verdict.diagnostics {
        if let Some((_, pairs)) = diagnostic.message.split_once("; of ") {
            *tiles.entry((diagnostic.rule, pairs.to_owned())).or_default() += 1;
        }
        if matches!(diagnostic.rule, Rule::TR02 | Rule::TR03) {
            assert!(diagnostic.message.contains("(REDUCE)"), "{}", diagnostic.message);
            assert!(diagnostic.message.contains("LINEAR_WITH_RESIDUAL)"), "{}", diagnostic.message);
        }
    }
    for tensor in ["attn_proj_out", "mlp_out"] {
        for rank in 0..2 {
            for (rule, pairs) in [(Rule::TR02, 48), (Rule::TR03, 16)] {
                let said = format!("`{tensor}` on rank {rank}, {pairs} pairs of accesses break this rule");
                assert!(tiles.contains_key(&(rule, said.clone())), "{rule}: {said}: {tiles:?}");
            }
        }
    }
    // The peer may also send for the next all-reduce before this one is read.
    assert_eq!(broken_rules(Graphs::System(&ranks, None)), [Rule::TR02, Rule::TR03, Rule::TX03]);
    // In the other order the ranks are wrong, and nothing is said between them.
    let swapped: Vec<TaskGraph<'_>> = ranks.into_iter().rev().collect();
    assert_eq!(broken_rules(Graphs::System(&swapped, None)), [Rule::TX01]);
}

#[test]
fn every_graph_is_written_as_it_was_read() {
    for name in ALONE.into_iter().chain(PAIR) {
        let document = file(name);
        let graph = read_task_graph(&document).expect("a graph");
        let before: Value = serde_json::from_slice(&document).expect("JSON");
        for layout in [Layout::Compact, Layout::Indent(2)] {
            let text = write_record(&graph, layout);
            assert_eq!(serde_json::from_str::<Value>(&text).expect("JSON"), before, "{name}");
        }
        let compact = write_record(&graph, Layout::Compact);
        assert_eq!(compact.as_bytes(), document.trim_ascii_end(), "{name}: even the same bytes");
    }
}
