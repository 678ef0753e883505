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

/// Graphs of the generator of spring 2026 that are safe alone: one token on one GPU, eight requests, experts, and a gate in parts.
const NOW_ALONE: [&str; 4] =
    ["now_q06_2l_cc90.json", "now_q06_2l_cc90_b8.json", "now_moe30b_2l_t1.json", "now_moe30b_2l_splitk.json"];

fn pair(names: [&str; 2], judge: impl FnOnce(&[TaskGraph<'_>])) {
    let files = names.map(file);
    let ranks: Vec<TaskGraph<'_>> =
        files.iter().map(|bytes| read_task_graph(bytes).expect("a graph")).collect();
    judge(&ranks);
}

#[test]
fn current_graphs_of_one_rank_are_accepted() {
    for name in NOW_ALONE {
        assert_eq!(validate(&file(name)).diagnostics, [], "{name}");
    }
}

/// Every layer has two collectives, and each uses the other buffer: nothing is reused before everybody has read it.
#[test]
fn ranks_that_meet_are_accepted() {
    pair(["now_q06_tp2_tile_r0.json", "now_q06_tp2_tile_r1.json"], |ranks| {
        assert_eq!(validate_graphs(Graphs::System(ranks, None)).diagnostics, []);
        // One collective of rank 1 is another task: those of rank 0 wait for ever.
        let mut broken = ranks.to_vec();
        let last = broken[1].all_tasks.iter().rposition(|task| task.task_type == 302).expect("a collective");
        broken[1].all_tasks[last].task_type = 121;
        assert_eq!(broken_rules(Graphs::System(&broken, None)), [Rule::TX05]);
        // Both sums of the last layer in one buffer.
        let mut broken = ranks.to_vec();
        for task in broken.iter_mut().flat_map(|graph| &mut graph.all_tasks) {
            for tile in task.inputs.iter_mut().chain(&mut task.outputs).flatten() {
                if &*tile.base_ptr == "mlp_out" {
                    tile.base_ptr = "attn_proj_out".into();
                }
            }
        }
        assert_eq!(broken_rules(Graphs::System(&broken, None)), [Rule::TX03]);
    });
}

/// Puts and reductions as Ampere gets them: the own partial sums, the one buffer of all exchanges, and everything else before an
/// exchange race with what follows it on the same rank.
#[test]
fn ranks_that_put_without_a_put_of_their_own_race() {
    pair(["now_q06_tp2_ag_r0.json", "now_q06_tp2_ag_r1.json"], |ranks| {
        let verdict = validate_graphs(Graphs::System(ranks, None));
        let rules = broken_rules(Graphs::System(ranks, None));
        assert_eq!(rules, [Rule::TR02, Rule::TR03, Rule::TR04, Rule::TX03]);
        let named = |rule: Rule, tensor: &str, kind: &str| {
            verdict.diagnostics.iter().any(|found| {
                found.rule == rule
                    && found.message.contains(&format!("`{tensor}`"))
                    && found.message.contains(&format!("({kind})"))
            })
        };
        for tensor in ["attn_proj_out", "mlp_out"] {
            assert!(named(Rule::TR03, tensor, "LINEAR_WITH_RESIDUAL"), "{tensor}");
        }
        assert!(named(Rule::TX03, "all_reduce_buf", "NVSHMEM_ALLGATHER_STRIDED_PUT"));
        assert!(named(Rule::TR02, "rmsnorm_out", "RMS_NORM") && named(Rule::TR04, "rmsnorm_out", "RMS_NORM"));
    });
    for name in ["now_q06_tp2_ag_r0.json", "now_q06_tp2_tile_r1.json"] {
        let rules: Vec<Rule> = validate(&file(name)).diagnostics.iter().map(|found| found.rule).collect();
        assert_eq!(rules, [Rule::TW04], "{name}");
    }
}

/// What the requests, the experts and the parts of a sum say is needed: without it, the same graphs are races.
#[test]
fn without_metadata_the_same_graphs_race() {
    for (name, kind, tensor) in [
        ("now_q06_2l_cc90_b8.json", 153, "layer_0_k_cache"),
        ("now_moe30b_2l_t1.json", 254, "mlp_mid"),
        ("now_moe30b_2l_t1.json", 255, "mlp_out"),
    ] {
        let bytes = file(name);
        let mut graph = read_task_graph(&bytes).expect("a graph");
        for task in graph.all_tasks.iter_mut().filter(|task| task.task_type == kind) {
            for member in
                [&mut task.request_id, &mut task.kv_idx, &mut task.expert_offset, &mut task.task_offset]
            {
                member.0 = Some(0);
            }
        }
        let verdict = validate_graphs(Graphs::Bare(&graph, None));
        let races = verdict.diagnostics.iter().filter(|found| found.rule == Rule::TR04);
        assert!(races.clone().count() > 0 && races.clone().all(|f| !f.message.contains("`x`")), "{name}");
        assert!(races.into_iter().any(|found| found.message.contains(&format!("`{tensor}`"))), "{name}");
    }
    let bytes = file("now_moe30b_2l_splitk.json");
    let mut graph = read_task_graph(&bytes).expect("a graph");
    for task in graph.all_tasks.iter_mut().filter(|task| task.task_type == 251) {
        task.task_type = 253;
    }
    assert_eq!(broken_rules(Graphs::Bare(&graph, None)), [Rule::TR04]);
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
