//! TS08 capacity, TS09 tensor-record.

use megakernel_ir::Rule;
use megakernel_order::Findings;
use megakernel_task_graph::{MAX_DIMS, MAX_INPUTS, MAX_OUTPUTS, MAX_OUTPUTS_EARLIER, Tile, element_bits};

use crate::validate::rank::Rank;

/// The element type of a tensor that is not there.
const UNKNOWN_TYPE: i64 = 999;

pub(super) fn check(rank: &Rank<'_, '_>, findings: &mut Findings) {
    let most_outputs = if rank.is_extended() { MAX_OUTPUTS } else { MAX_OUTPUTS_EARLIER };
    for (index, task) in rank.graph.all_tasks.iter().enumerate() {
        for (list, tiles, most) in
            [("inputs", task.inputs(), MAX_INPUTS), ("outputs", task.outputs(), most_outputs)]
        {
            if tiles.len() > most {
                let version =
                    if rank.is_extended() { "" } else { " in the earlier version, without metadata" };
                let message =
                    format!("task {index} has {} {list}, required at most {most}{version}", tiles.len());
                findings.broken(Rule::TS08, rank.at(&format!("/all_tasks/{index}/{list}")), message);
            }
            for (position, tile) in tiles.iter().enumerate() {
                let place = || rank.at(&format!("/all_tasks/{index}/{list}/{position}"));
                let axes = tile.dims.len().max(tile.strides.len());
                if axes > MAX_DIMS {
                    let message = format!("found {axes} axes, required at most {MAX_DIMS}");
                    findings.broken(Rule::TS08, place() + "/dims", message);
                }
                if let Some(message) = wrong(tile) {
                    findings.broken(Rule::TS09, place(), message);
                }
            }
        }
    }
}

fn wrong(tile: &Tile<'_>) -> Option<String> {
    let is_known = element_bits(tile.data_type).is_some();
    if tile.is_null() {
        if tile.offset != 0 || !tile.dims.is_empty() || !tile.strides.is_empty() {
            return Some("a null tensor has offset 0, no dims and no strides".to_owned());
        }
        return (!is_known && tile.data_type != UNKNOWN_TYPE).then(|| {
            format!("element type {} is unknown; a null tensor has 999 or a known one", tile.data_type)
        });
    }
    let (dims, strides) = (&tile.dims, &tile.strides);
    if dims.len() != strides.len() || dims.is_empty() {
        return Some(format!(
            "found {} dims and {} strides, required as many of one as of the other, and at least 1",
            dims.len(),
            strides.len()
        ));
    }
    if let Some(extent) = dims.iter().find(|&&extent| extent < 1) {
        return Some(format!("found the extent {extent}, required at least 1"));
    }
    if let Some(stride) = strides.iter().find(|&&stride| stride < 0) {
        return Some(format!("found the stride {stride}, required at least 0"));
    }
    (!is_known).then(|| {
        format!("element type {} is unknown; known are 920 to 969 (4, 8, 16, 32 and 64 bits)", tile.data_type)
    })
}
