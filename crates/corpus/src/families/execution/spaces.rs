//! Where buffers are: several that are alive at once in each space, with and without pages, and written in tiles; tasks that write
//! on-chip buffers and have to wait; caches of other kinds; rows of NaN and of subnormal numbers that a cache carries from launch to
//! launch. The result of each follows from how it is made, but for that of ROPE with several bases.

use std::sync::Arc;

use megakernel_ir::rule::{Clause, clause};
use megakernel_numerics::decode;
use serde_json::json;

use super::super::numeric::Values;
use super::super::numeric::data::{Operand, ints, reals};
use super::super::plan::{Inputs, Launch, Plan};
use crate::builder::{Buf, Ctr, DType, Kind, Op, ProgramBuilder, Result, Space, slug};

use DType::{BF16, F8E4M3, F8E5M2, F16, F32};

const FAMILY: &str = "execution/spaces";

/// A program on its way, and what its outputs hold.
struct Sketch {
    p: ProgramBuilder,
    space: Space,
    paged: bool,
    inputs: Inputs,
    known: Vec<(String, Vec<f64>)>,
}

impl Sketch {
    fn new(space: Space, paged: bool) -> Self {
        Self { p: ProgramBuilder::new("spaces"), space, paged, inputs: Inputs::new(), known: Vec::new() }
    }

    fn input(&mut self, name: &str, operand: Operand) -> Buf {
        let buffer = self.p.input(name, operand.dtype, &operand.shape);
        self.inputs.insert(name.to_owned(), operand);
        buffer
    }

    /// An ACTIVATION in the space of the sketch.
    fn held(&mut self, name: &str, dtype: DType, shape: &[u64]) -> Buf {
        let buffer = self.p.act_in(self.space, name, dtype, shape);
        if self.paged {
            let page = self.p.page(self.space, self.p.bytes(buffer));
            self.p.place(buffer, page);
        }
        buffer
    }

    fn output(&mut self, name: &str, dtype: DType, shape: &[u64], known: Vec<f64>) -> Buf {
        self.known.push((name.to_owned(), known));
        self.p.output(name, dtype, shape)
    }

    /// A task; on-chip storage belongs to one SM.
    fn task(&mut self, op: Op, inputs: &[Buf], output: Buf, params: &[(&str, u64)], after: &[Ctr]) -> Ctr {
        let sm = self.space.is_on_chip().then_some(0);
        let mut task = self.p.task(op).reads(inputs).writes(&[output]).after(after).sm(sm);
        for &(key, value) in params {
            task = task.param(key, value);
        }
        task.add()
    }

    fn plan(self, name: String, summary: &str, clauses: &[Clause]) -> Plan {
        let path = format!("tensors/{FAMILY}/{name}.safetensors");
        let mut launch = Launch::of(&path, self.inputs);
        launch.known = self.known.into_iter().map(|(name, known)| (name, Values::Reals(known))).collect();
        plan(&name, summary, clauses, self.p, vec![launch])
    }
}

fn plan(name: &str, summary: &str, clauses: &[Clause], p: ProgramBuilder, launches: Vec<Launch>) -> Plan {
    Plan {
        id: format!("{FAMILY}/{name}"),
        family: FAMILY.to_owned(),
        summary: summary.to_owned(),
        clauses: clauses.to_vec(),
        path: format!("programs/{FAMILY}/{name}.json"),
        program: Arc::new(p.finish()),
        launches,
        weights: None,
    }
}

/// The cases.
pub fn plans() -> Result<Vec<Plan>> {
    let mut plans = Vec::new();
    for &space in Space::ALL {
        for paged in [false, true] {
            for dtype in [F32, F16, BF16] {
                let name = format!(
                    "{}{}-{}",
                    slug(space.name()),
                    if paged { "-paged" } else { "" },
                    slug(dtype.name())
                );
                plans.push(alive(space, paged, dtype, &name));
                plans.push(tiles(space, paged, dtype, &name));
                plans.push(late(space, paged, dtype, &name));
            }
        }
    }
    for dtype in [F32, F16, BF16, F8E4M3, F8E5M2] {
        for kind in [Kind::Activation, Kind::IoOutput] {
            plans.push(appended(kind, dtype));
        }
        for rows in [3, 2, 5] {
            plans.push(carried(dtype, rows));
        }
        plans.push(untouched(dtype));
        plans.push(bases(dtype));
    }
    Ok(plans)
}

/// Three buffers that are alive at once.
fn alive(space: Space, paged: bool, dtype: DType, name: &str) -> Plan {
    let mut s = Sketch::new(space, paged);
    let rows = [[1.0, -2.0, 3.0, 4.0], [8.0, 7.0, -6.0, 5.0], [-3.0, 2.0, 2.0, 1.0]];
    let shape = [2, 2];
    let inputs = [0, 1, 2].map(|i| s.input(&format!("x{i}"), reals(dtype, &shape, rows[i].to_vec())));
    let held = [0, 1, 2].map(|i| s.held(&format!("held{i}"), dtype, &shape));
    let ready = [0, 1, 2].map(|i| s.task(Op::Copy, &[inputs[i]], held[i], &[], &[]));
    let added = |a: usize, b: usize| rows[a].iter().zip(rows[b]).map(|(a, b)| a + b).collect::<Vec<f64>>();
    for (out, a, b) in [("first", 0, 1), ("second", 1, 2), ("third", 2, 0)] {
        let y = s.output(out, dtype, &shape, added(a, b));
        s.task(Op::Add, &[held[a], held[b]], y, &[], &ready);
    }
    s.plan(
        format!("alive-{name}"),
        "three buffers of one space that are alive at once",
        &[clause::EXE_04, clause::PAG_01],
    )
}

/// A buffer that is written in tiles.
fn tiles(space: Space, paged: bool, dtype: DType, name: &str) -> Plan {
    let mut s = Sketch::new(space, paged);
    let x = s.input("x", reals(dtype, &[1, 2], vec![1.0, 2.0]));
    let w = s.input(
        "w",
        reals(dtype, &[6, 2], vec![1.0, 1.0, 2.0, -1.0, 0.0, 1.0, 3.0, 0.0, -1.0, -1.0, 1.0, 0.0]),
    );
    let held = s.held("held", dtype, &[1, 6]);
    let mut ready = Vec::new();
    for n_off in [2, 0, 4] {
        ready.push(s.task(Op::GemvTile, &[x, w], held, &[("K", 2), ("N_tile", 2), ("n_off", n_off)], &[]));
    }
    let y = s.output("y", dtype, &[1, 6], vec![3.0, 0.0, 2.0, 3.0, -3.0, 1.0]);
    s.task(Op::Copy, &[held], y, &[], &ready);
    s.plan(
        format!("tiles-{name}"),
        "three tasks write a tile each of one buffer",
        &[clause::EXE_04, clause::PAG_01, clause::OPC_05],
    )
}

/// A task that writes the space, listed before what it has to wait for.
fn late(space: Space, paged: bool, dtype: DType, name: &str) -> Plan {
    let mut s = Sketch::new(space, paged);
    let x = s.input("x", reals(dtype, &[4], vec![1.0, -2.0, 3.0, 4.0]));
    let from = s.p.act("from", dtype, &[4]);
    let held = s.held("held", dtype, &[4]);
    let y = s.output("y", dtype, &[4], vec![2.0, -4.0, 6.0, 8.0]);
    let ready = s.p.counter("ready");
    let done = s.task(Op::Add, &[from, from], held, &[], &[ready]);
    s.task(Op::Copy, &[held], y, &[], &[done]);
    s.p.task(Op::Copy).reads(&[x]).writes(&[from]).out(ready).add();
    s.plan(
        format!("late-{name}"),
        "the task that writes the buffer is listed before the one that it waits for",
        &[clause::EXE_01, clause::PAG_01],
    )
}

/// Appends to a buffer that is no KV_CACHE.
fn appended(kind: Kind, dtype: DType) -> Plan {
    let mut s = Sketch::new(Space::Hbm, false);
    let rows = [[1.0, -2.0], [3.0, 4.0], [-5.0, 6.0], [7.0, 2.0], [0.5, -1.0]].concat();
    let first = s.input("first", reals(dtype, &[1, 1, 2], rows[..2].to_vec()));
    let pair = s.input("pair", reals(dtype, &[2, 1, 2], rows[2..6].to_vec()));
    let rest = s.input("rest", reals(dtype, &[2, 2], rows[6..].to_vec()));
    let cache = if kind == Kind::IoOutput {
        s.output("cache", dtype, &[5, 1, 2], rows.clone())
    } else {
        s.p.buffer("cache", kind, dtype, &[5, 1, 2], Space::Hbm)
    };
    let a = s.task(Op::KvAppend, &[first, cache], cache, &[("pos", 0)], &[]);
    let b = s.task(Op::KvAppend, &[pair, cache], cache, &[("pos", 1)], &[a]);
    let c = s.task(Op::KvAppend, &[rest, cache], cache, &[("pos", 3)], &[b]);
    let y = s.output("y", dtype, &[5, 1, 2], rows);
    s.task(Op::Copy, &[cache], y, &[], &[a, b, c]);
    let name = format!("append-{}-{}", slug(kind.name()), slug(dtype.name()));
    s.plan(name, "appends to a buffer that is no KV_CACHE", &[clause::OPC_16, clause::EXE_04])
}

/// A cache that carries NaN, subnormal numbers and zeros of both signs over as many launches as it has rows.
fn carried(dtype: DType, count: usize) -> Plan {
    let least = decode(dtype, 1);
    let name = if count == 3 {
        format!("carried-{}", slug(dtype.name()))
    } else {
        format!("carried-{count}-{}", slug(dtype.name()))
    };
    let held = [f64::NAN, least, -least, 3.0 * least, -0.0, 0.0, 1.0, -1.0];
    let mut p = ProgramBuilder::new("spaces");
    let new = p.input("new", dtype, &[1, 1, 8]);
    let cache = p.cache("cache", dtype, &[count as u64, 1, 8]);
    let y = p.output("y", dtype, &[count as u64, 1, 8]);
    let ready =
        p.task(Op::KvAppend).reads(&[new, cache]).writes(&[cache]).param("pos", 0).label("append").add();
    p.task(Op::Copy).reads(&[cache]).writes(&[y]).after(&[ready]).label("out").add();
    let mut rows = vec![0.0; 8 * count];
    let launches = (0..count).map(|launch: usize| {
        let row = held.map(|value| if launch == 2 { -value } else { value });
        rows[8 * launch..8 * launch + 8].copy_from_slice(&row);
        let path = format!("tensors/{FAMILY}/{name}.{launch}.safetensors");
        let inputs = Inputs::from([("new".to_owned(), reals(dtype, &[1, 1, 8], row.to_vec()))]);
        let mut made = Launch::of(&path, inputs);
        for name in ["cache", "y"] {
            made.known.insert(name.to_owned(), Values::Reals(rows.clone()));
        }
        if launch > 0 {
            made.edit = vec![json!({"op": "replace", "path": "/tasks/0/params/pos", "value": launch})];
        }
        made
    });
    let launches = launches.collect();
    let about =
        format!("a cache carries NaN, subnormal numbers and zeros of both signs over {count} launches");
    plan(&name, &about, &[clause::EXE_09, clause::NUM_03], p, launches)
}

/// Launches that list caches and read them, and do not write them.
fn untouched(dtype: DType) -> Plan {
    let mut p = ProgramBuilder::new("spaces");
    let new = p.input("new", dtype, &[1, 1, 2]);
    let written = p.cache("written", dtype, &[4, 1, 2]);
    let idle = p.cache("idle", dtype, &[4, 1, 2]);
    let read = p.cache("read", dtype, &[4, 1, 2]);
    let y = p.output("y", dtype, &[4, 1, 2]);
    let z = p.output("z", dtype, &[4, 1, 2]);
    p.task(Op::KvAppend).reads(&[new, written]).writes(&[written]).param("pos", 0).label("append").add();
    p.task(Op::Copy).reads(&[read]).writes(&[y]).label("out").add();
    p.task(Op::Add).reads(&[idle, idle]).writes(&[z]).label("twice").add();
    let preset = |first: f64| (0..8).map(|i| first + f64::from(i)).collect::<Vec<f64>>();
    let (idle, read, twice) =
        (preset(-4.0), preset(1.0), (0..8).map(|i| 2.0 * (f64::from(i) - 4.0)).collect());
    let mut rows = vec![0.0; 8];
    let launches = (0..4).map(|launch: usize| {
        let row = [1.0 + launch as f64, -2.0];
        rows[2 * launch..2 * launch + 2].copy_from_slice(&row);
        let path = format!("tensors/{FAMILY}/untouched-{}.{launch}.safetensors", slug(dtype.name()));
        let mut inputs = Inputs::from([("new".to_owned(), reals(dtype, &[1, 1, 2], row.to_vec()))]);
        if launch == 0 {
            inputs.insert("idle".to_owned(), reals(dtype, &[4, 1, 2], idle.clone()));
            inputs.insert("read".to_owned(), reals(dtype, &[4, 1, 2], read.clone()));
        }
        let mut made = Launch::of(&path, inputs);
        for (name, values) in
            [("written", &rows), ("idle", &idle), ("read", &read), ("y", &read), ("z", &twice)]
        {
            made.known.insert(name.to_owned(), Values::Reals(values.clone()));
        }
        if launch > 0 {
            made.edit = vec![json!({"op": "replace", "path": "/tasks/0/params/pos", "value": launch})];
        }
        made
    });
    let launches = launches.collect();
    let about =
        "four launches read caches that no task writes: they are what the host bound before the first";
    plan(&format!("untouched-{}", slug(dtype.name())), about, &[clause::EXE_09, clause::EXE_08], p, launches)
}

/// Four ROPE of one length of head, at one position, with other bases.
fn bases(dtype: DType) -> Plan {
    let mut p = ProgramBuilder::new("spaces");
    let x = p.input("x", dtype, &[2, 8]);
    let positions = p.input("positions", DType::I32, &[1]);
    for (index, theta) in [10_000.0, 500.0, 2.0, 10_000.0].into_iter().enumerate() {
        let y = p.output(&format!("y{index}"), dtype, &[2, 8]);
        let task = p.task(Op::Rope).reads(&[x, positions]).writes(&[y]).label(&format!("rope-{index}"));
        task.param("head_dim", 8).param("theta", theta).add();
    }
    let values = (0..16).map(|i| f64::from(i * 5 % 7) - 3.0).collect();
    let inputs = Inputs::from([
        ("x".to_owned(), reals(dtype, &[2, 8], values)),
        ("positions".to_owned(), ints(DType::I32, &[1], vec![5])),
    ]);
    let name = format!("bases-{}", slug(dtype.name()));
    let launch = Launch::of(&format!("tensors/{FAMILY}/{name}.safetensors"), inputs);
    let about = "several ROPE with other bases, and the first base again";
    plan(&name, about, &[clause::OPC_08, clause::DAT_08], p, vec![launch])
}
