//! The metadata word of tasks in the current version (clause TGR-24).

use megakernel_ir::model::Given;
use megakernel_task_graph::Task;

use super::plan::Block;

/// Writes the word of a block into its task.
pub fn write(task: &mut Task<'_>, [x, y, z]: Block, grid: Block) {
    let mut views = Views { request: x, kv: None, merge: None };
    match task.task_type {
        164 | 263 | 264 => (views.kv, views.merge) = (Some(z), Some(y)),
        266 | 269 | 270 | 288 | 290 | 292 => views = Views { request: y, kv: Some(x), merge: Some(z) },
        267 => views.merge = Some(z),
        268 => views = Views { request: z, kv: Some(y), merge: Some(x) },
        295 => (views.kv, views.merge) = (Some(y), Some(z)),
        287 | 289 | 291 => views = Views { request: y, kv: Some(x), merge: None },
        161 | 162 | 248 | 249 | 254 | 255 => return put(task, x as u64 & LOW | !LOW),
        302 => return put(task, (x + y * grid[0] + z * grid[0] * grid[1]) as u64 & LOW | !LOW),
        _ => {}
    }
    let part = |value: Option<i64>, mask: u64| value.map_or(mask, |value| value as u64 & mask);
    let low = part(Some(views.request), 0xffff) | part(views.kv, 0xffff) << 16;
    put(task, low | part(views.merge, LOW) << 32);
}

/// Writes a word that nobody has touched: of tasks 0 and 1, where `kv_idx` is written as a signed number.
pub fn untouched(task: &mut Task<'_>) {
    put(task, u64::MAX);
    task.kv_idx = Given(Some(-1));
}

const LOW: u64 = 0xffff_ffff;

struct Views {
    request: i64,
    kv: Option<i64>,
    merge: Option<i64>,
}

fn put(task: &mut Task<'_>, word: u64) {
    let low = i64::from(word as u32 as i32);
    task.request_id = Given(Some(i64::from(word as u16 as i16)));
    task.kv_idx = Given(Some(i64::from((word >> 16) as u16)));
    task.merge_task_offset = Given(Some(i64::from((word >> 32) as u32 as i32)));
    (task.expert_offset, task.task_offset) = (Given(Some(low)), Given(Some(low)));
}
