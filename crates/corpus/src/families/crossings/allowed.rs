//! What a sentence of the specification allows and a validator may be tempted to refuse. The name of a case begins with the sentence.

use megakernel_ir::rule::{Clause, Rule, clause};
use serde_json::{Value, json};

use super::operands::{everywhere, op_pointer};
use crate::builder::{Op, Result, clause_of, laptop, server};
use crate::edit::{self, Edit};
use crate::families::accept::pairs::{ROWS, RULES, WAITERS};
use crate::families::library::{Base, Library};
use crate::families::sink::{Sink, words};

/// Accepts a base with values put in places.
fn allow(
    sink: &mut Sink,
    base: &Base,
    (sentence, clause): (&str, Clause),
    values: &[(String, Value)],
) -> Result<()> {
    let what: Vec<String> = values.iter().map(|(at, value)| format!("`{at}` is {value}")).collect();
    let mut edit = Edit::harmless(what.join(", ")).clause(clause);
    for (at, value) in values {
        // Adding a member that is there replaces it; adding an element of a list moves the others.
        let is_there = base.program.at(at).is_ok();
        edit = if is_there { edit.replace(at, value.clone()) } else { edit.insert(at, value.clone()) };
    }
    let last = values.last().map(|(_, value)| value.to_string()).unwrap_or_default();
    let last = last.replace('-', "minus").replace('.', "point");
    let last = if last.len() > 24 { String::new() } else { last };
    sink.accept(base, &words(&format!("{sentence} {} {last}", base.slug())), &edit)
}

/// Parameters without effect, and operands in any of the forms that a page names.
pub fn operands(library: &Library, sink: &mut Sink) -> Result<()> {
    const LARGEST: f64 = 3.402_823_5e38;
    everywhere(library, &mut |unit, base, number| {
        let at = |key: &str| op_pointer(base, &format!("params/{key}"));
        let of = |buffer: &str, rest: &str| edit::buffer_pointer(&base.program, buffer, rest);
        let clause = clause_of(unit.op);
        let mut set = |sentence: &str, key: &str, value: Value| {
            allow(sink, base, (sentence, clause), &[(at(key)?, value)])
        };
        match unit.op {
            Op::Rope => set("heads without effect", "n_heads", json!(7))?,
            Op::Embed => set("a hint that is tied to nothing", "hidden", json!(7))?,
            Op::AttentionCombine => {
                set("heads without effect", "n_heads", json!(5))?;
                set("heads without effect in length", "head_dim", json!(99))?;
            }
            Op::Mul if unit.name == "two" => set("scale without effect", "scale", json!(0))?,
            Op::AttentionTile => {
                let partial = unit.name.contains("partial");
                set("causal without effect", "flags", json!(if partial { 3 } else { 1 }))?;
                set("any scale", "scale", json!([0.0, -1.5, 1e-30][number]))?;
            }
            Op::GemvTile | Op::GemmTile if number == 0 => {
                set("extents that are optional", "N", json!(1))?;
                set("extents that are optional in rows", "M", json!(1))?;
            }
            _ => {}
        }
        let float = match unit.op {
            Op::RmsNorm | Op::LayerNorm => Some("eps"),
            Op::Rope => Some("theta"),
            Op::AttentionTile if unit.name == "plain" => Some("scale"),
            Op::Mul if unit.name == "scale" => Some("scale"),
            _ => None,
        };
        if let Some(key) = float {
            let sentence = ("finite after rounding", clause::DAT_08);
            allow(sink, base, sentence, &[(at(key)?, json!(LARGEST))])?;
            let edit = Edit::breaking(Rule::S14, format!("`{key}` is infinite once it is rounded"));
            let edit = edit.clause(clause::DAT_08).at(at(key)?).replace(at(key)?, 3.402_823_6e38);
            sink.reject_as(base, &format!("{key}-infinite-after-rounding"), &edit)?;
        }
        if unit.op == Op::LayerNorm {
            let mut values = vec![(at("hidden")?, json!(4))];
            for (input, buffers) in [["i0", "s0"], ["y", "z"], ["i1", "s1"], ["i2", "s2"]].iter().enumerate()
            {
                if input == 3 && unit.inputs.len() < 3 {
                    continue;
                }
                for buffer in buffers {
                    values.push((of(buffer, "shape")?, if input < 2 { json!([2, 2]) } else { json!([4]) }));
                }
            }
            allow(sink, base, ("a run over several axes", clause), &values)?;
        }
        let is_elementwise = Op::IN_PLACE.contains(&unit.op);
        if is_elementwise || unit.op == Op::KvAppend {
            let mut values = Vec::new();
            for input in 0..unit.inputs.len().min(if is_elementwise { 8 } else { 1 }) {
                values.push((of(&format!("i{input}"), "shape")?, json!([])));
                values.push((of(&format!("s{input}"), "shape")?, json!([])));
            }
            if is_elementwise {
                values.push((of("y", "shape")?, json!([])));
                values.push((of("z", "shape")?, json!([])));
            }
            allow(sink, base, ("a scalar", clause::DAT_03), &values)?;
        }
        if unit.op == Op::KvAppend {
            for dtype in ["F8E4M3", "F8E5M2"] {
                let values = [(of("y", "dtype")?, json!(dtype)), (of("z", "dtype")?, json!(dtype))];
                allow(sink, base, ("a cache of any float dtype", clause), &values)?;
            }
        }
        let first = unit.inputs.first();
        let alike = match unit.op {
            Op::AttentionTile => Some((1, 3)),
            Op::KvAppend => None,
            _ if unit.inputs.len() > 1 && unit.inputs.iter().all(|input| Some(input) == first) => {
                Some((0, unit.inputs.len()))
            }
            _ => None,
        };
        if let Some((from, to)) = alike {
            let buffer = base.program.int(&op_pointer(base, &format!("inputs/{from}"))?)?;
            let values: Result<Vec<_>> = (from + 1..to)
                .map(|input| Ok((op_pointer(base, &format!("inputs/{input}"))?, json!(buffer))))
                .collect();
            allow(sink, base, ("one buffer several times", clause::DAT_06), &values?)?;
        }
        Ok(())
    })
}

/// Targets and configurations at the ends of what they may say, and programs without tasks.
pub fn targets(library: &Library, sink: &mut Sink) -> Result<()> {
    let put = |at: &str, value: Value| vec![(at.to_owned(), value)];
    let mut allow = |name: &str, sentence: &str, clause: Clause, values: Vec<(String, Value)>| {
        allow(sink, library.get(name)?, (sentence, clause), &values)
    };
    for name in
        ["launch/target-only", "launch/laptop", "launch/server", "launch/limits", "on-chip/mixed-smem-first"]
    {
        allow(name, "one SM", clause::TGT_01, put("/target/num_sms", json!(1)))?;
    }
    for name in ["launch/target-only", "on-chip/no-pages", "on-chip/mixed-hbm-first", "chain/one-sm-5"] {
        for member in ["max_threads_per_sm", "regs_per_sm", "smem_bytes_per_block_optin"] {
            if member != "max_threads_per_sm" && name.contains("mixed") {
                continue;
            }
            let at = format!("/target/{member}");
            allow(name, &format!("integers from 0 {member}"), clause::TGT_01, put(&at, json!(0)))?;
        }
    }
    for name in ["launch/explicit", "launch/explicit-config-only"] {
        for (what, map) in [
            ("no task", json!({})),
            ("one task", json!({"1": 3})),
            ("each task", json!({"2": 1, "0": 2, "1": 0})),
        ] {
            let sentence = format!("need not name every task but {what}");
            allow(name, &sentence, clause::TGT_02, put("/config/sm_assignment", map))?;
        }
    }
    allow("record/every-record", "need not agree", clause::TGT_02, put("/config/sm_assignment/0", json!(7)))?;
    for name in ["launch/laptop", "launch/server", "launch/config-only"] {
        let tiling =
            json!({"": {"": 1}, "gemv": {}, "Ä": {"N_tile": 1, "n_tile": 9_007_199_254_740_993_i64}});
        allow(name, "keys are free", clause::TGT_02, put("/config/tiling", tiling))?;
        let groups = json!([[], [""], ["gemv", "gemv"], ["none", "of these"]]);
        allow(name, "names are free", clause::TGT_02, put("/config/fusion_grouping", groups))?;
        allow(name, "any depth", clause::TGT_02, put("/config/pipelining_depth", json!(i64::MAX)))?;
    }
    for bytes in [1_i64 << 17, 1 << 40, i64::MAX] {
        let values = put("/config/smem_bytes_per_block", json!(bytes));
        allow("launch/config-only", "nothing to compare with", clause::TGT_03, values)?;
    }
    for (task, sm) in [(0, 1), (0, 128), (0, i64::MAX), (1, i64::MAX), (2, i64::MAX)] {
        let values = put(&format!("/config/sm_assignment/{task}"), json!(sm));
        let sentence = format!("nothing to compare the SM of task {task} with");
        allow("launch/explicit-config-only", &sentence, clause::TGT_03, values)?;
    }
    let empty = json!({"buffer_to_page": {}, "pages": []});
    for (what, target) in [("laptop", laptop()), ("server", server())] {
        let sentence = format!("lists may be empty for a {what}");
        let values = vec![("/target".to_owned(), target.clone()), ("/pages".to_owned(), empty.clone())];
        allow("record/empty", &sentence, clause::DAT_01, values)?;
        for config in [Value::Null, json!({}), json!({"threads_per_block": 32})] {
            let values = vec![("/target".to_owned(), target.clone()), ("/config".to_owned(), config)];
            allow("record/empty", &format!("{sentence} with a config"), clause::DAT_01, values)?;
        }
    }
    allow("record/empty", "lists may be empty", clause::DAT_01, put("/pages", empty))
}

/// L03: also where nothing is launched.
pub fn cooperative(library: &Library, sink: &mut Sink) -> Result<()> {
    let base = library.get("record/empty")?;
    for (what, mut target) in [("laptop", laptop()), ("server", server())] {
        target["supports_cooperative"] = json!(false);
        for (name, config) in [("alone", Value::Null), ("with-config", json!({}))] {
            let edit = Edit::breaking(Rule::L03, "a program without tasks, for a target without cooperation");
            let edit = edit.clause(clause::TGT_03).at("/target/supports_cooperative");
            let edit = edit.replace("/target", target.clone()).replace("/config", config);
            sink.reject_as(base, &format!("{what}-{name}"), &edit)?;
        }
    }
    Ok(())
}

/// Waits, queues and pages.
pub fn orders(library: &Library, sink: &mut Sink) -> Result<()> {
    for (name, ..) in WAITERS {
        let base = library.get(&format!("waits/{name}"))?;
        for place in 0..3 {
            let waits = edit::task_pointer(&base.program, "waiter", "waits")?;
            let wait = base.program.at(&format!("{waits}/{place}"))?.clone();
            let sentence = (format!("two waits on one counter {place}"), clause::DAT_07);
            let at = format!("{waits}/-");
            allow(sink, base, (&sentence.0, sentence.1), &[(at, wait)])?;
        }
    }
    for unit in ["unit/gelu-plain-one-queue", "unit/add-plain-one-queue", "unit/kv-append-row-one-queue"] {
        let base = library.get(unit)?;
        for sm in [128, 1_000_000, i64::MAX] {
            let values = [(op_pointer(base, "sm")?, json!(sm))];
            allow(sink, base, ("no target to compare with", clause::TGT_01), &values)?;
        }
    }
    for name in ["paged/turns-4-2", "paged/turns-7-2", "paged/after-1-readers", "paged/in-place-gelu"] {
        let base = library.get(name)?;
        let id = base.program.len("/pages/pages")?;
        for space in ["HBM", "GLOBAL_SCRATCH", "SMEM", "REGISTER"] {
            let page = json!({"id": id, "space": space, "nbytes": i64::MAX});
            let sentence = format!("a page with no buffer in {space}");
            allow(sink, base, (&sentence, clause::PAG_01), &[("/pages/pages/-".to_owned(), page)])?;
        }
        for (start, end) in [(-1, 0), (i64::MIN, i64::MAX), (3, 2)] {
            let values = [("live_start", start), ("live_end", end)];
            let values = values.map(|(member, at)| (format!("/pages/pages/0/{member}"), json!(at)));
            allow(sink, base, ("any live range", clause::PAG_02), &values)?;
        }
    }
    for rule in RULES {
        for row in ROWS.iter().filter(|row| row.has(rule) && row.is_on_chip()) {
            let base = library.get(&row.base(rule))?;
            if base.program.len("/pages/pages").is_ok() {
                let values = [("/pages/pages/0/nbytes".to_owned(), json!(1_i64 << 40))];
                allow(sink, base, ("no capacity without a target", clause::PAG_03), &values)?;
            }
        }
    }
    Ok(())
}

/// Texts for people, and estimates.
pub fn records(library: &Library, sink: &mut Sink) -> Result<()> {
    for name in ["chain/gelu-2", "launch/laptop", "fan-in/shared-3", "record/every-record", "diamond/depth-1"]
    {
        let base = library.get(name)?;
        let first = base.program.at("/buffers/0/name")?.clone();
        let values = [("/buffers/1/name".to_owned(), first)];
        allow(sink, base, ("names need not differ", clause::DAT_03), &values)?;
        allow(
            sink,
            base,
            ("names for people", clause::DAT_03),
            &[("/buffers/1/name".to_owned(), json!(""))],
        )?;
        for member in ["est_bytes", "est_flops"] {
            let values = [(format!("/tasks/1/{member}"), json!(i64::MAX))];
            let sentence = format!("estimates without effect in {member}");
            allow(sink, base, (&sentence, clause::DAT_06), &values)?;
        }
        let label = base.program.at("/tasks/0/label")?.clone();
        let values = [("/tasks/1/label".to_owned(), label)];
        allow(sink, base, ("labels for people", clause::DAT_06), &values)?;
        let values = [("/counters/0/note".to_owned(), json!("\u{0}é😀 \"\\"))];
        allow(sink, base, ("notes for people", clause::DAT_05), &values)?;
        let values =
            [("/meta".to_owned(), json!({"buffers": 1, "tasks": [{"id": 7}], "": null, "ir_version": "9"}))];
        allow(sink, base, ("meta of any content", clause::DAT_01), &values)?;
    }
    Ok(())
}
