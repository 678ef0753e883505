//! Rows of one buffer that several tasks write: each once, one of them twice, and all of them anew in place. And a buffer on a page
//! that a task lists and does not read.

use megakernel_ir::rule::clause;
use serde_json::Value;

use super::Base;
use crate::builder::{Buf, Ctr, DType, Op, ProgramBuilder, Space, is_unary, slug};

/// Where the tasks of a program run.
pub const PLACEMENTS: [&str; 3] = ["unplaced", "one-queue", "queues"];

/// Name, space, placement, and whether the buffer that comes later has the lower id.
pub const LISTED: [(&str, Space, &str, bool); 4] = [
    ("hbm", Space::Hbm, "unplaced", false),
    ("scratch", Space::GlobalScratch, "queues", false),
    ("turned", Space::Hbm, "one-queue", true),
    ("turned-scratch", Space::GlobalScratch, "unplaced", true),
];

fn place(p: &mut ProgramBuilder, placement: &str) {
    match placement {
        "one-queue" => p.assign(|_| Some(0)),
        "queues" => p.assign(Some),
        _ => {}
    }
}

/// The inputs of tasks that write single rows of two elements.
struct Rows {
    tall: Buf,
    wide: Buf,
}

impl Rows {
    fn new(p: &mut ProgramBuilder, rows: u64) -> Rows {
        Rows { tall: p.input("tall", DType::F32, &[rows, 1]), wide: p.input("wide", DType::F32, &[2, 1]) }
    }

    /// A task that writes row `row` of `b`.
    fn write(&self, p: &mut ProgramBuilder, label: &str, b: Buf, row: i64, after: &[Ctr]) -> Ctr {
        let params: [(&str, Value); 5] = [
            ("K", 1.into()),
            ("N_tile", 2.into()),
            ("n_off", 0.into()),
            ("M_tile", 1.into()),
            ("m_off", row.into()),
        ];
        p.op(Op::GemmTile, label, &[self.tall, self.wide], b, &params, after)
    }
}

/// `row0`, `row1` and `row2` write a row of the output each, one after the other.
fn output(placement: &str) -> ProgramBuilder {
    let mut p = ProgramBuilder::new("rows");
    let rows = Rows::new(&mut p, 3);
    let y = p.output("y", DType::F32, &[3, 2]);
    let mut done: Vec<Ctr> = Vec::new();
    for row in 0..3 {
        done = vec![rows.write(&mut p, &format!("row{row}"), y, row, &done)];
    }
    place(&mut p, placement);
    p
}

/// `row0` and `row1` write `b`, `change` works on it in place, and `last` reads it.
fn in_place(op: Op) -> ProgramBuilder {
    let mut p = ProgramBuilder::new("rows-in-place");
    let rows = Rows::new(&mut p, 2);
    let b = p.act("b", DType::F32, &[2, 2]);
    let y = p.output("y", DType::F32, &[2, 2]);
    let row0 = rows.write(&mut p, "row0", b, 0, &[]);
    let row1 = rows.write(&mut p, "row1", b, 1, &[row0]);
    let inputs = match op {
        _ if is_unary(op) => vec![b],
        Op::SiluMul => vec![b, p.input("x", DType::F32, &[2, 2])],
        _ => vec![p.input("x", DType::F32, &[2, 2]), b],
    };
    let change = p.op(op, "change", &inputs, b, &[], &[row1]);
    p.copy("last", b, y, &[change]);
    p
}

/// `row0` and `row1` write a row of `b` each, `again` the second one anew, and `reader` reads both.
fn again(placement: &str) -> ProgramBuilder {
    let mut p = ProgramBuilder::new("row-again");
    let rows = Rows::new(&mut p, 2);
    let b = p.act("b", DType::F32, &[2, 2]);
    let y = p.output("y", DType::F32, &[2, 2]);
    let row0 = rows.write(&mut p, "row0", b, 0, &[]);
    let row1 = rows.write(&mut p, "row1", b, 1, &[]);
    let again = rows.write(&mut p, "again", b, 1, &[row1]);
    p.op(Op::Gelu, "reader", &[b], y, &[], &[row0, again]);
    place(&mut p, placement);
    p
}

/// `first` writes `a`, `reader` reads it, `second` writes `b` on the same page, and `window` lists that for a window of no rows. Or
/// `second` makes `b` of `a`, and `reader` reads that.
fn listed(space: Space, placement: &str, turned: bool, is_made: bool) -> ProgramBuilder {
    let mut p = ProgramBuilder::new("listed");
    let shape = [2, 1, 2];
    let x = p.input("x", DType::F32, &shape);
    let q = p.input("q", DType::F32, &[1, 2]);
    let one = p.act_in(space, if turned { "b" } else { "a" }, DType::F32, &shape);
    let other = p.act_in(space, if turned { "a" } else { "b" }, DType::F32, &shape);
    let (a, b) = if turned { (other, one) } else { (one, other) };
    let page = p.page(space, 16);
    p.place(a, page);
    p.place(b, page);
    let y = p.output("y", DType::F32, &shape);
    let part = p.output("part", DType::F32, &[1, 4]);
    let first = p.copy("first", x, a, &[]);
    let second = if is_made {
        let second = p.op(Op::Gelu, "second", &[a], b, &[], &[first]);
        p.copy("reader", b, y, &[second]);
        second
    } else {
        let reader = p.copy("reader", a, y, &[first]);
        p.copy("second", x, b, &[reader])
    };
    let params: [(&str, Value); 7] = [
        ("head_dim", 2.into()),
        ("kv_start", 0.into()),
        ("kv_len", 0.into()),
        ("scale", 0.5.into()),
        ("n_heads", 1.into()),
        ("n_kv_heads", 1.into()),
        ("flags", 2.into()),
    ];
    p.op(Op::AttentionTile, "window", &[q, b, b], part, &params, &[second]);
    place(&mut p, placement);
    p
}

/// The accepted programs of this file.
pub fn bases() -> Vec<Base> {
    let mut bases = Vec::new();
    for placement in PLACEMENTS {
        let summary = "three tasks write a row of an output each, one after the other";
        let clauses = [clause::EXE_04, clause::EXE_08];
        bases.push(Base::new(format!("rows/output-{placement}"), summary, &clauses, output(placement)));
        let summary = "two tasks write a row each, a third one of them anew, and a fourth reads both";
        let clauses = [clause::EXE_05, clause::EXE_07];
        bases.push(Base::new(format!("rows/again-{placement}"), summary, &clauses, again(placement)));
    }
    for &op in Op::IN_PLACE {
        let summary = format!("two tasks write a row each, and a {} changes both in place", op.name());
        let clauses = [clause::EXE_10];
        bases.push(Base::new(format!("rows/in-place-{}", slug(op.name())), summary, &clauses, in_place(op)));
    }
    for (name, space, placement, turned) in LISTED {
        let summary = "a buffer on a page of two is listed by a task that reads nothing of it";
        let clauses = [clause::PAG_02, clause::OPC_07];
        let program = listed(space, placement, turned, false);
        bases.push(Base::new(format!("rows/listed-{name}"), summary, &clauses, program));
        let summary = "a buffer that takes over the page of another in place is listed by a task that reads nothing of it";
        let clauses = [clause::PAG_02, clause::EXE_10, clause::OPC_07];
        let program = listed(space, placement, turned, true);
        bases.push(Base::new(format!("rows/listed-made-{name}"), summary, &clauses, program));
    }
    bases
}
