//! What is enumerated: all sequences of some ops up to a length, and all indices of some kernels.

use std::sync::Arc;

use megakernel_selection::document::Extent;
use megakernel_selection::{
    Activation, Constraints, Core, Cost, Dtype, Flag, Index, Kernel, Linearity, Marker, Op, RoleRange, Rows,
    Sequence, Stage, Write,
};

/// A set of requests.
#[derive(Debug)]
pub struct Scope {
    /// A name.
    pub name: &'static str,
    /// What it is about.
    pub about: &'static str,
    /// Ops may be any of these.
    pub ops: Vec<Kind>,
    /// An index may have any of these.
    pub kernels: Vec<Kernel>,
    /// The longest sequence.
    pub longest: usize,
    /// Limits of regions.
    pub limits: Vec<usize>,
    /// Of the indices every so-many-th is taken, from the empty one on.
    pub step: usize,
}

/// An op, wherever it stands.
#[derive(Clone, Debug)]
pub struct Kind {
    rows: Arc<Rows>,
    reads: Reads,
    output: bool,
    marker: Option<Marker>,
}

/// Which values an op reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reads {
    /// What the op before it writes; at the beginning an input.
    Before,
    /// What the one before that writes, and an input where there is none.
    Earlier,
    /// What both of them write.
    Both,
    /// Another input for each.
    Outside,
    /// The same input as all others of its kind.
    Input,
}

impl Scope {
    /// How many sequences.
    pub fn sequences(&self) -> usize {
        (0..=self.longest).map(|length| self.ops.len().pow(length as u32)).sum()
    }

    /// A sequence by its number: shorter ones come first.
    pub fn sequence(&self, mut number: usize) -> Sequence {
        let mut length = 0;
        while number >= self.ops.len().pow(length) {
            number -= self.ops.len().pow(length);
            length += 1;
        }
        let mut kinds = Vec::new();
        for _ in 0..length {
            kinds.extend(self.ops.get(number % self.ops.len()));
            number /= self.ops.len();
        }
        sequence(&kinds)
    }

    /// An index by its number: each of its binary digits is a kernel.
    pub fn index(&self, number: usize) -> Index {
        let kernels = self.kernels.iter().enumerate().filter(|(at, _)| number >> at & 1 == 1);
        Index { kernels: kernels.map(|(_, kernel)| kernel.clone()).collect() }
    }

    /// How many requests.
    pub fn requests(&self) -> u64 {
        (self.sequences() * self.indices().len() * self.limits.len()) as u64
    }

    /// The dimensions in words.
    pub fn describe(&self) -> String {
        let (ops, kernels, limits) = (self.ops.len(), self.kernels.len(), self.limits.len());
        format!(
            "{}; up to {} ops of {ops} kinds, {} of the {} indices of {kernels} kernels, {limits} limits",
            self.about,
            self.longest,
            self.indices().len(),
            1 << kernels
        )
    }

    /// The numbers of the indices that are taken.
    pub fn indices(&self) -> impl ExactSizeIterator<Item = usize> + use<> {
        (0..1usize << self.kernels.len()).step_by(self.step)
    }
}

/// Ops in a row, each writing one value; value `i + 1` is that of op `i`, 0 is an input, and from 100 on there are others.
fn sequence(kinds: &[&Kind]) -> Sequence {
    let mut ops: Vec<Op> = Vec::new();
    for (id, kind) in (0u32..).zip(kinds) {
        let input = if id == 0 { 0 } else { 100 + id };
        let earlier = if id >= 2 { id - 1 } else { input };
        let reads = match kind.reads {
            Reads::Before => vec![id],
            Reads::Earlier => vec![earlier],
            Reads::Both => vec![id, earlier],
            Reads::Outside => vec![100 + id],
            Reads::Input => vec![0],
        };
        let write = Write { value: id + 1, readers: Vec::new(), output: kind.output };
        ops.push(Op { reads, writes: vec![write], marker: kind.marker, rows: Arc::clone(&kind.rows) });
    }
    let reads: Vec<Vec<u32>> = ops.iter().map(|op| op.reads.clone()).collect();
    for op in &mut ops {
        for write in &mut op.writes {
            let readers = (0i64..).zip(&reads).filter(|(_, reads)| reads.contains(&write.value));
            write.readers = readers.map(|(id, _)| id).collect();
        }
    }
    Sequence { ops, values: Vec::new() }
}

fn op(class: &str, reads: Reads, change: impl FnOnce(&mut Rows)) -> Kind {
    let mut rows = Rows::of_class(class);
    change(&mut rows);
    Kind { rows: Arc::new(rows), reads, output: false, marker: None }
}

fn plain(class: &str) -> Kind {
    op(class, Reads::Before, |_| {})
}

/// Stages from a text: classes; `?` optional, `!` written out, digits operands of the chain.
fn kernel(id: &str, cost: &str, stages: &str) -> Kernel {
    let stage = |text: &str| {
        let class: String = text.chars().filter(char::is_ascii_alphabetic).collect();
        let chain: Vec<i64> = text.chars().filter_map(|c| c.to_digit(10)).map(i64::from).collect();
        let chained = text.contains('/');
        Stage {
            class,
            core: None,
            optional: text.contains('?'),
            chain: chained.then_some(chain),
            out: text.contains('!'),
            rounds: true,
        }
    };
    Kernel {
        id: id.to_owned(),
        stages: stages.split(' ').map(stage).collect(),
        constraints: Constraints::default(),
        cost: Cost { fixed: cost.to_owned(), bytes: Vec::new(), flops: Vec::new() },
    }
}

fn asks(mut kernel: Kernel, change: impl FnOnce(&mut Constraints)) -> Kernel {
    change(&mut kernel.constraints);
    kernel
}

/// Every scope.
pub fn scopes() -> Vec<Scope> {
    vec![words(), escapes(), rows(), effects(), cuts()]
}

fn words() -> Scope {
    Scope {
        name: "words",
        about: "words of three classes: viable and complete, checkpoints, rewinding, ties",
        ops: vec![plain("a"), plain("b"), plain("c")],
        kernels: vec![
            kernel("a", "3", "a!"),
            kernel("ab", "4", "a b!"),
            kernel("abc", "9/2", "a b c!"),
            kernel("aab", "5", "a a b!"),
            kernel("b", "2", "b!"),
            kernel("b_c", "2", "b! c?!"),
            kernel("bca", "13/3", "b c a!"),
            kernel("c", "1", "c!"),
            kernel("cc", "1.5", "c? c!"),
            kernel("abab", "5", "a b a b!"),
        ]
        .into_iter()
        .filter(|kernel| kernel.id != "cc")
        .collect(),
        longest: 5,
        limits: vec![2, 3, 64],
        step: 1,
    }
}

fn escapes() -> Scope {
    let mut out = plain("b");
    out.output = true;
    Scope {
        name: "escapes",
        about: "who reads what: values that escape, operands that are chained, ops that are not connected",
        ops: vec![
            plain("a"),
            plain("b"),
            op("b", Reads::Both, |_| {}),
            op("a", Reads::Earlier, |_| {}),
            op("b", Reads::Outside, |_| {}),
            out,
            op("a", Reads::Input, |_| {}),
        ],
        kernels: vec![
            kernel("a", "2", "a!"),
            kernel("b", "2", "b!"),
            kernel("ab", "3", "a b!"),
            kernel("ab_out", "7/2", "a! b!"),
            kernel("ab_chain", "5/2", "a b/0!"),
            kernel("aab", "4", "a a b/01!"),
            kernel("bb", "3", "b b!"),
        ],
        longest: 4,
        limits: vec![3, 64],
        step: 1,
    }
}

fn rows() -> Scope {
    let shape = |extent: Extent| {
        move |rows: &mut Rows| {
            rows.shape.insert("m".to_owned(), extent);
        }
    };
    let both = |rows: &mut Rows| {
        rows.shape.insert("m".to_owned(), Extent::Symbol("s".to_owned()));
        rows.shape.insert("n".to_owned(), Extent::Symbol("s".to_owned()));
    };
    let range = |role: &str, range: RoleRange| {
        let role = role.to_owned();
        move |asked: &mut Constraints| {
            asked.shape.insert(role, range);
        }
    };
    Scope {
        name: "rows",
        about: "extents, symbols, dtypes, accumulators, activations and cores that compose or do not",
        ops: vec![
            op("a", Reads::Before, shape(Extent::Known(4))),
            op("a", Reads::Before, shape(Extent::Unknown)),
            op("b", Reads::Before, both),
            op("b", Reads::Before, |rows| {
                rows.shape.insert("n".to_owned(), Extent::Known(8));
                rows.acc = Some(Dtype::F16);
            }),
            op("a", Reads::Before, |rows| {
                (rows.dtype_in, rows.dtype_out) = (Some(Dtype::F16), Some(Dtype::F32));
                rows.acc = Some(Dtype::F8E4M3);
                rows.core = Some(Core::Norm);
                rows.offered = Some(24);
            }),
            op("b", Reads::Before, |rows| {
                (rows.dtype_in, rows.dtype_out) = (Some(Dtype::F32), Some(Dtype::F16));
                rows.acc = Some(Dtype::BF16);
                rows.core = Some(Core::Gemm);
                rows.linearity = Some(Linearity::Linear);
                rows.required = Some(8);
                rows.offered = Some(32);
                rows.epilogue = [true, false, false];
            }),
            op("b", Reads::Before, |rows| {
                rows.activation = Some(Activation::Relu);
                rows.linearity = Some(Linearity::Nonlinear);
                rows.trans = Some("nt".to_owned());
            }),
        ],
        kernels: vec![
            kernel("a", "2", "a!"),
            kernel("b", "2", "b!"),
            asks(kernel("ab", "3", "a b!"), range("m", RoleRange { min: 1, max: Some(8), multiple: 4 })),
            asks(kernel("bb", "3", "b b!"), range("n", RoleRange { min: 8, max: None, multiple: 8 })),
            asks(kernel("abb", "4", "a b b!"), |asked| {
                asked.dtype_out = Some(vec![Dtype::F16]);
                asked.acc = Some(vec![Dtype::F32, Dtype::F16]);
            }),
            asks(kernel("ab_aligned", "5/2", "a? b!"), |asked| {
                asked.align = Some(8);
                asked.vector = Some(2);
            }),
            asks(kernel("relu", "1", "b? b!"), |asked| asked.activation = Some(vec![Activation::Relu])),
        ]
        .into_iter()
        .filter(|kernel| kernel.id != "relu")
        .collect(),
        longest: 4,
        limits: vec![64],
        step: 1,
    }
}

fn effects() -> Scope {
    let reads = |name: &'static str| move |rows: &mut Rows| rows.storage_reads = vec![name.to_owned()];
    let writes = |name: &'static str| move |rows: &mut Rows| rows.storage_writes = vec![name.to_owned()];
    let allows = |kernel, flags: &[Flag]| {
        let flags = flags.to_vec();
        asks(kernel, |asked| asked.effects = flags)
    };
    Scope {
        name: "effects",
        about: "storage that is read and written within a region, and barriers",
        ops: vec![
            plain("a"),
            op("a", Reads::Before, writes("k")),
            op("b", Reads::Before, reads("k")),
            op("b", Reads::Before, writes("v")),
            op("a", Reads::Before, reads("v")),
            op("b", Reads::Before, |rows| rows.flags = vec![Flag::Cache]),
            op("a", Reads::Before, |rows| rows.flags = vec![Flag::Barrier]),
        ],
        kernels: vec![
            allows(kernel("a", "2", "a!"), &[Flag::Barrier]),
            allows(kernel("b", "2", "b!"), &[Flag::Cache]),
            allows(kernel("ab", "3", "a! b!"), &[Flag::ReadAfterWrite]),
            allows(kernel("ba", "3", "b a!"), &[Flag::Overwrite, Flag::Cache]),
            allows(kernel("aba", "4", "a! b! a!"), &[Flag::Overwrite, Flag::ReadAfterWrite, Flag::Barrier]),
            allows(kernel("aa", "3", "a! a!"), &[Flag::ReadAfterWrite]),
        ],
        longest: 4,
        limits: vec![2, 64],
        step: 1,
    }
}

fn cuts() -> Scope {
    let mark = |mut kind: Kind, marker| {
        kind.marker = Some(marker);
        kind
    };
    Scope {
        name: "cuts",
        about: "markers, barriers and limits beside each other",
        ops: vec![
            plain("a"),
            mark(plain("a"), Marker::Sync),
            mark(op("a", Reads::Outside, |rows| rows.flags = vec![Flag::Barrier]), Marker::Join),
            op("a", Reads::Before, |rows| rows.flags = vec![Flag::Barrier]),
            op("a", Reads::Outside, |_| {}),
        ],
        kernels: vec![
            asks(kernel("a", "2", "a!"), |asked| asked.effects = vec![Flag::Barrier]),
            kernel("a_cheap", "1", "a!"),
            kernel("aa", "3", "a a!"),
            asks(kernel("aaa", "4", "a a a!"), |asked| asked.effects = vec![Flag::Barrier]),
            kernel("aaaa", "4", "a a a a!"),
        ],
        longest: 5,
        limits: vec![1, 2, 3, 4],
        step: 1,
    }
}
