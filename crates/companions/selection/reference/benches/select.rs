//! The streaming selector: `cargo bench -p megakernel-selection-reference --bench select`. Up to a million ops as they come, of which
//! none is kept, against an index of a thousand kernels, most of which overlap. *Layers* repeats a few hundred different ops in one
//! order, as models do; *shuffled* has them in no order, so that nearly every region is a new one; *distinct* has extents that never
//! occur twice, so that nothing that was found before helps. Before each, processor time of a single run is printed: other work on the
//! machine does not lengthen that.

#![allow(missing_docs, clippy::unwrap_used, clippy::expect_used)]

use std::collections::BTreeMap;
use std::hint::black_box;
use std::sync::Arc;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use megakernel_ir::prng::SplitMix64;
use megakernel_selection::document::{Constraints, Cost, Extent};
use megakernel_selection::{Core, Dtype, Index, Kernel, Op, Rows, Stage, Write};
use megakernel_selection_reference::kernels::Kernels;
use megakernel_selection_reference::plan::Region;
use megakernel_selection_reference::stream::{Listener, Selector};

const CLASSES: usize = 16;

/// A thousand kernels: each class alone, and words of two to five classes.
fn index() -> Index {
    let mut draws = SplitMix64::for_family("bench", 7);
    let mut below = |most: usize| usize::try_from(draws.next_u64() % most as u64).unwrap();
    let stage = |class: usize, out: bool| Stage {
        class: format!("class{class}"),
        core: None,
        optional: false,
        chain: None,
        out,
        rounds: true,
    };
    let kernels = (0..1000).map(|number| {
        let length = if number < CLASSES { 1 } else { 2 + below(4) };
        let classes: Vec<usize> = (0..length)
            .map(|at| if number < CLASSES { number } else { (below(CLASSES) + at) % CLASSES })
            .collect();
        let last = classes.len() - 1;
        Kernel {
            id: format!("kernel {number}"),
            stages: classes.iter().enumerate().map(|(at, class)| stage(*class, at == last)).collect(),
            constraints: Constraints::default(),
            cost: Cost { fixed: (1 + below(9)).to_string(), bytes: Vec::new(), flops: Vec::new() },
        }
    });
    Index { kernels: kernels.collect() }
}

/// How the ops of a sequence follow each other.
#[derive(Clone, Copy, PartialEq)]
enum Order {
    Layers,
    Shuffled,
    Distinct,
}

/// Matrices of the ops of the sequences.
struct Ops {
    rows: Vec<Arc<Rows>>,
    order: Order,
    draws: SplitMix64,
}

impl Ops {
    fn new(order: Order) -> Ops {
        let one = |number: usize| {
            let mut rows = Rows::of_class(&format!("class{}", number % CLASSES));
            rows.core = Some(Core::Elementwise);
            (rows.dtype_in, rows.dtype_out) = (Some(Dtype::BF16), Some(Dtype::BF16));
            rows.shape = BTreeMap::from([("m".to_owned(), Extent::Known(1 + number as i64 / 160))]);
            Arc::new(rows)
        };
        let mut draws = SplitMix64::for_family("bench", 11);
        let mut rows: Vec<_> = (0..320).map(one).collect();
        draws.shuffle(&mut rows);
        Ops { rows, order, draws }
    }

    /// The op with this id: it reads what the one before has written.
    fn op(&mut self, id: u32) -> Op {
        let at = match self.order {
            Order::Layers => id as usize % self.rows.len(),
            Order::Shuffled | Order::Distinct => self.draws.index(self.rows.len()),
        };
        let mut rows = Arc::clone(&self.rows[at]);
        if self.order == Order::Distinct {
            let mut own = (*rows).clone();
            own.shape.insert("n".to_owned(), Extent::Known(1 + i64::from(id / 3)));
            rows = Arc::new(own);
        }
        let write = Write { value: id + 1, readers: vec![i64::from(id) + 1], output: false };
        Op { reads: vec![id], writes: vec![write], marker: None, rows }
    }
}

/// Counts the regions and keeps none.
#[derive(Default)]
struct Counted(usize);

impl Listener for Counted {
    fn closed(&mut self, region: Region) {
        self.0 += region.last + 1 - region.anchor;
    }
}

/// Selects for so many ops; gives how many were held at most.
fn select(kernels: &Kernels, ops: u32, order: Order) -> usize {
    let mut source = Ops::new(order);
    let mut selector = Selector::new(kernels, 64);
    let (mut counted, mut held) = (Counted::default(), 0);
    for id in 0..ops {
        selector.push(source.op(id), &mut counted).expect("each class has a kernel");
        held = held.max(selector.held());
    }
    selector.end(&mut counted).expect("each class has a kernel");
    assert_eq!(counted.0, ops as usize, "every op is in a region");
    held
}

/// The most memory that this process has had, in MB, where the system says so.
fn peak() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    Some(line.split_whitespace().nth(1)?.parse::<u64>().ok()? / 1024)
}

/// The processor time of this thread so far, in seconds, where the system says so.
fn processor() -> Option<f64> {
    let times = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    Some(times.split_whitespace().next()?.parse::<f64>().ok()? / 1e9)
}

fn benches(criterion: &mut Criterion) {
    let index = index();
    let kernels = Kernels::new(&index, None);
    for (name, order) in
        [("layers", Order::Layers), ("shuffled", Order::Shuffled), ("distinct", Order::Distinct)]
    {
        let mut group = criterion.benchmark_group(name);
        group.sample_size(10);
        for ops in [10_000, 100_000, 1_000_000] {
            let start = processor();
            let held = select(&kernels, ops, order);
            let took = start.zip(processor()).map(|(start, end)| end - start);
            println!(
                "{name}, {ops} ops: {took:?} s of processor time; at most {held} ops held; peak of the process so far \
                 {:?} MB",
                peak()
            );
            group.throughput(Throughput::Elements(ops.into()));
            group.bench_with_input(BenchmarkId::from_parameter(ops), &ops, |bencher, &ops| {
                bencher.iter(|| black_box(select(&kernels, ops, order)));
            });
        }
        group.finish();
    }
}

criterion_group!(all, benches);
criterion_main!(all);
