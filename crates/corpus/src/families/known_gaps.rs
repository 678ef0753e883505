//! Programs that an existing validator is known to judge wrongly, in the form in which they were found, and rules that
//! reject more than can go wrong (clause EXE-11). Both are easily lost in a reimplementation.

use megakernel_ir::rule::{Rule, clause};
use serde_json::json;

use super::accept::large::TILES;
use super::library::Library;
use super::sink::Sink;
use crate::builder::Result;
use crate::edit::{self, Edit};

/// More tasks than the limit above which the race checks of an existing validator are skipped.
pub fn large(library: &Library, sink: &mut Sink) -> Result<()> {
    let base = library.get("large/one-buffer")?;
    let last = TILES - 1;
    for (what, task, key, value, later) in [
        ("tile-8100-on-8099", 8100, "n_off", 8099, 8100),
        ("tile-0-on-the-last", 0, "n_off", last, last),
        ("tile-4000-two-wide", 4000, "N_tile", 2, 4001),
    ] {
        let pointer = format!("/tasks/{task}/params/{key}");
        let edit = Edit::breaking(Rule::R04, format!("{key} of task {task} is {value}"));
        let edit =
            edit.clause(clause::EXE_07).at(format!("/tasks/{later}/outputs/0")).replace(pointer, value);
        sink.reject(base, what, &edit)?;
    }
    let wait = format!("/tasks/{TILES}/waits/0");
    let edit = Edit::breaking(Rule::R01, "the reader goes on when one producer is not done");
    sink.reject(base, "all-but-one", &edit.at(wait.clone()).replace(format!("{wait}/threshold"), last))?;
    let edit = Edit::breaking(Rule::D02, "the reader waits for one increment too many");
    sink.reject(
        base,
        "one-too-many",
        &edit.at(wait.clone()).replace(format!("{wait}/threshold"), TILES + 1),
    )?;
    let reader = format!("/tasks/{TILES}/inputs/0");
    let edit = Edit::breaking(Rule::R02, "the reader waits for nothing").at(reader.clone());
    sink.reject(base, "no-wait", &edit.remove(wait))?;
    let edit = Edit::breaking(Rule::M05, "one element is written by nobody").at(reader);
    sink.reject(base, "element-5000-unwritten", &edit.replace("/tasks/5000/params/n_off", 4999))?;
    let edit =
        Edit::breaking(Rule::M03, "the last tile is two wide").at(format!("/tasks/{last}/params/n_off"));
    sink.reject(base, "last-tile-two-wide", &edit.replace(format!("/tasks/{last}/params/N_tile"), 2))
}

/// The known gaps, one case each.
pub fn gaps(library: &Library, sink: &mut Sink) -> Result<()> {
    let base = library.get("placed/ring-2")?;
    let edit = edit::add_wait(&base.program, "a0", "b1", Rule::D06)?.clause(clause::EXE_06).at("/tasks/0");
    sink.reject(base, "queues-block-each-other", &edit)?;
    let base = library.get("chain/gelu-2")?;
    let edit =
        Edit::breaking(Rule::S17, "the wait passes before its producer has run").at("/counters/0/init");
    sink.reject(base, "counter-starts-at-one", &edit.replace("/counters/0/init", 1))?;
    let base = library.get("gemv/four-tiles")?;
    let at = edit::task_pointer(&base.program, "source", "outputs/0")?;
    let edit = Edit::breaking(Rule::S18, "a task writes the weight that others read").at(at.clone());
    sink.reject(base, "weight-is-written", &edit.replace(at, base.program.buffer("w")?))?;
    for (what, key, value, rule) in
        [("k-beyond-shapes", "K", 64, Rule::M02), ("n-tile-beyond-shapes", "N_tile", 4096, Rule::M03)]
    {
        let edit = edit::set_param(&base.program, "tile[t3]", key, json!(value), rule)?;
        sink.reject(base, what, &edit)?;
    }
    let base = library.get("paged/turns-4-2")?;
    let edit =
        Edit::breaking(Rule::P02, "a page that is smaller than its buffers").at("/pages/buffer_to_page/1");
    sink.reject(base, "small-page", &edit.replace("/pages/pages/0/nbytes", 16))?;
    let edit = Edit::breaking(Rule::P03, "a mapping to no page").at("/pages/buffer_to_page/1");
    sink.reject(base, "mapping-to-no-page", &edit.replace("/pages/buffer_to_page/1", 7))?;
    let edit = Edit::breaking(Rule::P03, "a mapping of no buffer").at("/pages/buffer_to_page/99");
    sink.reject(base, "mapping-of-no-buffer", &edit.insert("/pages/buffer_to_page/99", 0))?;
    let base = library.get("fan-in/shared-3")?;
    let edit = Edit::breaking(Rule::S08, "the tasks 0 and 1 have each other's id").at("/tasks/0/id");
    sink.reject(base, "ids-out-of-order", &edit.replace("/tasks/0/id", 1).replace("/tasks/1/id", 0))?;
    let base = library.get("gemv/two-tiles")?;
    let edit = edit::to_nop(&base.program, "tile[t1]", Rule::M05)?;
    sink.reject(
        base,
        "half-written-whole-read",
        &edit.at(edit::task_pointer(&base.program, "reader", "inputs/0")?),
    )
}

/// Programs that cannot go wrong under the semantics, and that every implementation rejects all the same.
pub fn conservative(library: &Library, sink: &mut Sink) -> Result<()> {
    let base = library.get("chain/one-sm-5")?;
    let edit =
        edit::drop_wait(&base.program, "t1", "t0", Rule::R02)?.clause(clause::EXE_11).clause(clause::EXE_02);
    sink.reject(base, "queue-order-orders-nothing", &edit.at("/tasks/1/inputs/0"))?;
    let base = library.get("fan-in/nops-3")?;
    let edit = edit::weaken(&base.program, "join", "n0", 2)?.clause(clause::EXE_11);
    sink.reject(base, "partial-wait-on-what-is-not-read", &edit)?;
    let base = library.get("reuse/writers-2")?;
    let edit = edit::drop_wait(&base.program, "w1", "w0", Rule::R04)?.clause(clause::EXE_11);
    sink.reject(base, "two-writers-of-one-value", &edit.at("/tasks/1/outputs/0"))?;
    let base = library.get("attention/old-rows-first")?;
    let edit = edit::set_param(&base.program, "k_append", "pos", json!(0), Rule::R06)?.clause(clause::EXE_11);
    sink.reject(base, "row-overwritten-after-its-reader", &edit.at("/tasks/0/inputs/1"))?;
    let base = library.get("paged/twice")?;
    let edit =
        edit::move_to_page(&base.program, "b", 0, Rule::P01)?.clause(clause::EXE_11).clause(clause::PAG_02);
    sink.reject(base, "page-back-and-forth", &edit.at("/pages/buffer_to_page/2"))?;
    let base = library.get("paged/unread-half")?;
    let edit = Edit::breaking(Rule::P02, "a page as large as the part that is used").clause(clause::EXE_11);
    let edit = edit.at("/pages/buffer_to_page/1").replace("/pages/pages/0/nbytes", 16);
    sink.reject(base, "page-of-the-used-part", &edit)?;
    let base = library.get("on-chip/smem")?;
    let edit =
        Edit::breaking(Rule::P06, "two pages that are used one after the other").clause(clause::EXE_11);
    sink.reject(base, "pages-add-up", &edit.at("/pages/pages").replace("/pages/pages/1/nbytes", 8200))?;
    let base = library.get("on-chip/no-pages")?;
    let edit = edit::set_sm(&base.program, "read2", 3, Rule::R07)?.clause(clause::EXE_11);
    sink.reject(base, "neighbouring-sms", &edit.at(format!("/buffers/{}", base.program.buffer("hot2")?)))?;
    let base = library.get("chain/gelu-2")?;
    let edit = Edit::breaking(Rule::S17, "a counter starts at 1, and its wait allows for that")
        .clause(clause::EXE_11);
    let edit =
        edit.at("/counters/0/init").replace("/counters/0/init", 1).replace("/tasks/1/waits/0/threshold", 2);
    sink.reject(base, "init-with-higher-threshold", &edit)?;
    let edit = Edit::breaking(Rule::S18, "a CONST is written before all its readers").clause(clause::EXE_11);
    let edit =
        edit.at("/tasks/0/outputs/0").replace(edit::buffer_pointer(&base.program, "a0", "kind")?, "CONST");
    sink.reject(base, "const-written-first", &edit)?;
    let base = library.get("gemv/output-4")?;
    let edit = edit::to_nop(&base.program, "tile[t0]", Rule::M06)?.clause(clause::EXE_11);
    sink.reject(base, "output-that-the-host-may-ignore", &edit.at("/buffers/1"))?;
    let base = library.get("reuse/in-place-1")?;
    let edit = Edit::breaking(Rule::M07, "a SOFTMAX in place")
        .clause(clause::EXE_11)
        .clause(clause::EXE_10)
        .at("/tasks/1/outputs/0");
    let edit =
        edit.replace("/tasks/1/op", "SOFTMAX").replace("/tasks/1/inputs", json!([base.program.buffer("a")?]));
    sink.reject(base, "softmax-in-place", &edit)?;
    // A self-wait on a shared counter that the other producers would satisfy.
    let base = library.get("gemv/two-tiles")?;
    let counter = base.program.out_counter(base.program.task("tile[t1]")?)?;
    let edit = Edit::breaking(Rule::D03, "a tile waits for one of the two increments of its counter")
        .clause(clause::EXE_11);
    let pointer = edit::task_pointer(&base.program, "tile[t1]", "waits/-")?;
    let edit = edit.at(edit::task_pointer(&base.program, "tile[t1]", "waits/1")?);
    sink.reject(
        base,
        "self-wait-that-others-satisfy",
        &edit.insert(pointer, json!({"counter": counter, "threshold": 1})),
    )
}
