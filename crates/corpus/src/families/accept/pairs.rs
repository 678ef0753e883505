//! Two or three tasks that meet at one buffer, each time somewhere else: in one queue or in several, in other spaces, on a page, listed
//! against their order, at a second operand. Waits with several producers, and queues that unplaced tasks connect.

use megakernel_ir::Rule;
use megakernel_ir::rule::clause;
use serde_json::Value;

use super::Base;
use crate::builder::{Buf, Ctr, DType, Kind, Op, ProgramBuilder, Space};

/// Where a pair stands.
pub struct Row {
    /// As part of names.
    pub name: &'static str,
    sms: Sms,
    space: Space,
    kind: Kind,
    on_page: bool,
    reversed: bool,
    reader: Reader,
    apart: bool,
}

#[derive(Clone, Copy, PartialEq)]
enum Sms {
    None,
    One,
    Each,
}

#[derive(Clone, Copy, PartialEq)]
enum Reader {
    /// With the opcode of the writers.
    Same,
    Other,
    /// At its second input.
    Second,
}

const PLAIN: Row = Row {
    name: "plain",
    sms: Sms::None,
    space: Space::Hbm,
    kind: Kind::Activation,
    on_page: false,
    reversed: false,
    reader: Reader::Same,
    apart: false,
};

/// Where pairs stand: each value of each of these several times.
pub const ROWS: [Row; 15] = [
    PLAIN,
    Row { name: "queue", sms: Sms::One, apart: true, reader: Reader::Other, ..PLAIN },
    Row { name: "scratch", sms: Sms::Each, space: Space::GlobalScratch, reader: Reader::Second, ..PLAIN },
    Row { name: "smem", sms: Sms::One, space: Space::Smem, ..PLAIN },
    Row {
        name: "registers",
        sms: Sms::One,
        space: Space::Register,
        reader: Reader::Second,
        apart: true,
        ..PLAIN
    },
    Row { name: "scratch-page", space: Space::GlobalScratch, on_page: true, reader: Reader::Other, ..PLAIN },
    Row { name: "page", sms: Sms::Each, on_page: true, reader: Reader::Second, ..PLAIN },
    Row { name: "reversed", reversed: true, ..PLAIN },
    Row {
        name: "reversed-page",
        sms: Sms::Each,
        space: Space::GlobalScratch,
        on_page: true,
        reversed: true,
        apart: true,
        reader: Reader::Other,
        ..PLAIN
    },
    Row {
        name: "smem-page",
        sms: Sms::One,
        space: Space::Smem,
        on_page: true,
        reader: Reader::Other,
        ..PLAIN
    },
    Row { name: "reversed-queues", sms: Sms::Each, reversed: true, reader: Reader::Second, ..PLAIN },
    Row { name: "queues-apart", sms: Sms::Each, apart: true, ..PLAIN },
    Row { name: "output", kind: Kind::IoOutput, reader: Reader::Other, ..PLAIN },
    Row { name: "output-queue", kind: Kind::IoOutput, sms: Sms::One, apart: true, ..PLAIN },
    Row {
        name: "output-queues",
        kind: Kind::IoOutput,
        sms: Sms::Each,
        reversed: true,
        reader: Reader::Second,
        ..PLAIN
    },
];

/// The rules that a pair can break.
pub const RULES: [Rule; 5] = [Rule::R02, Rule::R03, Rule::R04, Rule::R05, Rule::R06];

impl Row {
    /// Whether there is such a pair: caches are in device memory.
    pub fn has(&self, rule: Rule) -> bool {
        rule != Rule::R06 || self.space == Space::Hbm && !self.on_page && self.kind == Kind::Activation
    }

    /// Whether the buffer belongs to one SM.
    pub fn is_on_chip(&self) -> bool {
        self.space.is_on_chip()
    }

    /// Whether the buffer is one that the host reads.
    pub fn is_output(&self) -> bool {
        self.kind == Kind::IoOutput
    }

    /// Whether the reader takes the buffer as its second input.
    pub fn is_second(&self) -> bool {
        self.reader == Reader::Second
    }

    /// The name of its program.
    pub fn base(&self, rule: Rule) -> String {
        format!("pair/{}-{}", rule.id().to_lowercase(), self.name)
    }

    /// Which task waits for which other, with the rule that is broken where it does not.
    pub fn wait(rule: Rule) -> (&'static str, &'static str) {
        match rule {
            Rule::R03 => ("reader", "writer1"),
            Rule::R04 => ("writer1", "writer0"),
            Rule::R05 => ("writer1", "reader"),
            _ => ("reader", "writer0"),
        }
    }

    fn program(&self, rule: Rule) -> ProgramBuilder {
        let mut p = ProgramBuilder::new("pair");
        let kind = if rule == Rule::R06 { Kind::KvCache } else { self.kind };
        let x =
            (rule != Rule::R03 || self.reader == Reader::Second).then(|| p.input("x", DType::F32, &[2, 2]));
        let b = p.buffer("b", kind, DType::F32, &[2, 2], self.space);
        if self.on_page {
            let page = p.page(self.space, 16);
            p.place(b, page);
        }
        let used: &[usize] = match rule {
            Rule::R03 | Rule::R05 => &[0, 1, 2],
            Rule::R04 => &[0, 1],
            _ => &[0, 2],
        };
        let mut done = [Ctr(0); 3];
        for &number in used {
            done[number] = p.counter(&format!("task {number}"));
        }
        let y = (rule != Rule::R04).then(|| p.output("y", DType::F32, &[2, 2]));
        let column = (rule == Rule::R03).then(|| p.input("column", DType::F32, &[2, 1]));
        let square = (rule == Rule::R03 && self.reader == Reader::Same)
            .then(|| p.input("square", DType::F32, &[2, 2]));
        // Number, label, waits.
        let tasks: Vec<(usize, &str, Vec<Ctr>)> = match rule {
            Rule::R03 => {
                vec![
                    (0, "writer0", vec![]),
                    (1, "writer1", vec![done[0]]),
                    (2, "reader", vec![done[0], done[1]]),
                ]
            }
            Rule::R04 => vec![(0, "writer0", vec![]), (1, "writer1", vec![done[0]])],
            Rule::R05 => vec![
                (0, "writer0", vec![]),
                (2, "reader", vec![done[0]]),
                (1, "writer1", vec![done[0], done[2]]),
            ],
            _ => vec![(0, "writer0", vec![]), (2, "reader", vec![done[0]])],
        };
        let tasks: Vec<_> = if self.reversed { tasks.into_iter().rev().collect() } else { tasks };
        for (place, (number, label, waits)) in tasks.into_iter().enumerate() {
            if self.apart && place > 0 {
                p.task(Op::Nop).label(&format!("filler{place}")).add();
            }
            let (op, inputs, output, params) =
                self.task(rule, number, x.unwrap_or(b), b, y.unwrap_or(b), column, square);
            let mut task =
                p.task(op).reads(&inputs).writes(&[output]).out(done[number]).after(&waits).label(label);
            for (key, value) in params {
                task = task.param(key, value);
            }
            let sm = match self.sms {
                Sms::None => None,
                Sms::One => Some(0),
                Sms::Each => Some(number),
            };
            task.sm(sm).add();
        }
        p
    }

    #[allow(clippy::too_many_arguments, clippy::type_complexity, reason = "the operands that there are")]
    fn task(
        &self,
        rule: Rule,
        number: usize,
        x: Buf,
        b: Buf,
        y: Buf,
        column: Option<Buf>,
        square: Option<Buf>,
    ) -> (Op, Vec<Buf>, Buf, Vec<(&'static str, Value)>) {
        let gemm = |k: i64, rows: i64, first: i64| {
            vec![
                ("K", k.into()),
                ("N_tile", 2.into()),
                ("n_off", 0.into()),
                ("M_tile", rows.into()),
                ("m_off", first.into()),
            ]
        };
        match (number, self.reader, column) {
            (0 | 1, _, Some(column)) => (Op::GemmTile, vec![column, column], b, gemm(1, 1, number as i64)),
            (1, Reader::Other, None) if rule == Rule::R04 => (Op::Gelu, vec![x], b, vec![]),
            (0 | 1, ..) => (Op::Copy, vec![x], b, vec![]),
            (_, Reader::Same, None) => (Op::Copy, vec![b], y, vec![]),
            (_, Reader::Same, Some(_)) => (Op::GemmTile, vec![b, square.unwrap_or(x)], y, gemm(2, 2, 0)),
            (_, Reader::Other, _) => (Op::Gelu, vec![b], y, vec![]),
            (_, Reader::Second, _) => (Op::Add, vec![x, b], y, vec![]),
        }
    }
}

/// Opcode and SM of the task `waiter` of the programs `waits/..`.
pub const WAITERS: [(&str, Op, Option<usize>); 4] = [
    ("copy", Op::Copy, None),
    ("copy-placed", Op::Copy, Some(1)),
    ("nop", Op::Nop, None),
    ("nop-placed", Op::Nop, Some(1)),
];

/// `waiter` waits for three counters that two tasks each increment.
fn waits(op: Op, sm: Option<usize>) -> ProgramBuilder {
    let mut p = ProgramBuilder::new("waits");
    let x = p.input("x", DType::F32, &[4]);
    let counters = [0, 1, 2].map(|index| p.counter(&format!("c{index}")));
    for (index, &counter) in counters.iter().enumerate() {
        for half in 0..2 {
            let out = p.output(&format!("y{index}.{half}"), DType::F32, &[4]);
            p.task(Op::Gelu)
                .reads(&[x])
                .writes(&[out])
                .out(counter)
                .sm(sm.map(|_| index))
                .label(&format!("p{index}.{half}"))
                .add();
        }
    }
    let task = if op == Op::Nop {
        p.task(op)
    } else {
        let out = p.output("out", DType::F32, &[4]);
        p.task(op).reads(&[x]).writes(&[out])
    };
    task.after(&counters).sm(sm).label("waiter").add();
    p
}

/// In the queue of one SM `a` stands before `b`; a row of unplaced tasks waits for `b`, the last of them is `end`.
fn detour(length: usize, op: Op, sm: usize) -> ProgramBuilder {
    let mut p = ProgramBuilder::new("detour");
    let x = p.input("x", DType::F32, &[4]);
    let a = p.output("a", DType::F32, &[4]);
    let b = p.output("b", DType::F32, &[4]);
    p.task(Op::Copy).reads(&[x]).writes(&[a]).sm(sm).label("a").add();
    let mut done = p.task(Op::Copy).reads(&[x]).writes(&[b]).sm(sm).label("b").add();
    for step in 1..=length {
        let label = if step == length { "end".to_owned() } else { format!("step{step}") };
        done = if op == Op::Nop {
            p.task(op).after(&[done]).label(&label).add()
        } else {
            let out = p.output(&format!("y{step}"), DType::F32, &[4]);
            p.op(op, &label, &[x], out, &[], &[done])
        };
    }
    p
}

/// `early0`.. write rows of a cache, `reader` reads it whole, and `late` writes `again` of its rows anew.
fn refill(rows: &[i64], again: u64, sms: Sms) -> ProgramBuilder {
    let mut p = ProgramBuilder::new("refill");
    let cache = p.cache("cache", DType::F32, &[3, 1, 2]);
    let y = p.output("y", DType::F32, &[3, 1, 2]);
    let sm = |place: usize| match sms {
        Sms::None => None,
        Sms::One => Some(0),
        Sms::Each => Some(place),
    };
    let mut done: Vec<Ctr> = Vec::new();
    for (place, row) in rows.iter().enumerate() {
        let new = p.input(&format!("new{place}"), DType::F32, &[1, 2]);
        let task = p.task(Op::KvAppend).reads(&[new, cache]).writes(&[cache]).param("pos", *row).after(&done);
        done.push(task.sm(sm(place)).label(&format!("early{place}")).add());
    }
    let task = p.task(Op::Gelu).reads(&[cache]).writes(&[y]).after(&done);
    done.push(task.sm(sm(rows.len())).label("reader").add());
    let new = p.input("new", DType::F32, &[again, 1, 2]);
    let task = p.task(Op::KvAppend).reads(&[new, cache]).writes(&[cache]).param("pos", 0).after(&done);
    task.sm(sm(rows.len() + 1)).label("late").add();
    p
}

/// An odd number of half bytes on a page.
fn nibbles(count: u64) -> ProgramBuilder {
    let mut p = ProgramBuilder::new("nibbles");
    let x = p.input("x", DType::I4, &[count]);
    let a = p.act("a", DType::I4, &[count]);
    let y = p.output("y", DType::I4, &[count]);
    let page = p.page(Space::Hbm, count.div_ceil(2));
    p.place(a, page);
    let done = p.copy("first", x, a, &[]);
    p.copy("second", a, y, &[done]);
    p
}

/// Some NOPs in the queue of one SM.
fn nops(sm: usize) -> ProgramBuilder {
    let mut p = ProgramBuilder::new("nops");
    for index in 0..4 {
        p.task(Op::Nop).sm(sm).label(&format!("n{index}")).add();
    }
    p
}

/// The accepted programs of this file.
pub fn bases() -> Vec<Base> {
    let mut bases = Vec::new();
    for rule in RULES {
        for row in ROWS.iter().filter(|row| row.has(rule)) {
            let summary = format!("what {} is about, in the place `{}`", rule.id(), row.name);
            bases.push(Base::new(row.base(rule), summary, &[clause::EXE_07], row.program(rule)));
        }
    }
    for (name, op, sm) in WAITERS {
        let summary = format!("a {} that waits for three counters of two tasks each", op.name());
        bases.push(Base::new(format!("waits/{name}"), summary, &[clause::DAT_07], waits(op, sm)));
    }
    for (name, length, op, sm) in [
        ("gelu", 1, Op::Gelu, 0),
        ("gelu-3", 3, Op::Gelu, 2),
        ("nop", 1, Op::Nop, 0),
        ("nop-2", 2, Op::Nop, 1),
        ("nop-4", 4, Op::Nop, 0),
    ] {
        let summary = format!("two tasks in one queue, and {length} without SM that wait for the second");
        bases.push(Base::new(format!("detour/{name}"), summary, &[clause::EXE_02], detour(length, op, sm)));
    }
    for (name, sms) in [("unplaced", Sms::None), ("one-queue", Sms::One), ("queues", Sms::Each)] {
        let clauses = &[clause::EXE_08, clause::EXE_10];
        let summary = "all rows of a cache are written, read, and written again";
        bases.push(Base::new(format!("refill/all-{name}"), summary, clauses, refill(&[0, 1, 2], 3, sms)));
        let summary = "one row of a cache is written before it is read as a whole, and written again";
        bases.push(Base::new(format!("refill/one-{name}"), summary, clauses, refill(&[0], 1, sms)));
    }
    for count in [3, 5, 9] {
        let summary = format!("{count} half bytes on a page of as many bytes as they need");
        bases.push(Base::new(
            format!("nibbles/{count}"),
            summary,
            &[clause::PAG_01, clause::DAT_03],
            nibbles(count),
        ));
    }
    for sm in [0, 3] {
        let summary = format!("four NOPs in the queue of SM {sm}");
        bases.push(Base::new(format!("placed/nops-on-{sm}"), summary, &[clause::EXE_02], nops(sm)));
    }
    bases
}
