//! Random kernel graphs: forks, joins, residuals, buffers that are used again, all-reduces.

use megakernel_ir::prng::SplitMix64;
use serde_json::{Value, json};

use super::{BF16, Graph, operand};

/// What to draw next.
pub struct Random(pub SplitMix64);

impl Random {
    /// A number below `bound`.
    pub fn below(&mut self, bound: usize) -> usize {
        self.0.index(bound)
    }

    fn pick<T: Clone>(&mut self, from: &[T]) -> T {
        from[self.below(from.len())].clone()
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }
}

struct Tensor {
    name: String,
    dims: [i64; 2],
    /// Written, and read by nobody since.
    unread: bool,
    external: bool,
}

/// A kernel graph of up to `operators` operators.
pub fn kernel_graph(random: &mut Random, operators: usize, ranks: i64) -> Value {
    let mut graph = Graph::default();
    let mut tensors = Vec::new();
    for number in 0..2 {
        let dims = dims(random);
        let name = format!("input_{number}");
        graph.weight(&name, &dims);
        tensors.push(Tensor { name, dims, unread: false, external: true });
    }
    let mut sums = 0;
    for number in 0..operators {
        let partial = tensors.iter().rposition(|tensor| !tensor.external);
        if let Some(partial) = partial.filter(|_| ranks > 1 && random.chance(35)) {
            sums += 1;
            all_reduce(random, &mut graph, &mut tensors, partial, ranks, sums);
            continue;
        }
        let output = output(random, &mut graph, &mut tensors, number);
        let cuts = tensors[output].dims.map(|extent| random.pick(&divisors(extent)));
        let grid = [cuts[1], cuts[0], 1];
        let mut inputs = Vec::new();
        for _ in 0..1 + random.below(3) {
            // Mostly what is new, so that graphs are deep; sometimes anything.
            let window = if random.chance(70) { tensors.len().min(3) } else { tensors.len() };
            let input = tensors.len() - 1 - random.below(window);
            let map = if input == output { [1, 0, -1] } else { map(random, grid, tensors[input].dims) };
            inputs.push(operand(&tensors[input].name, map));
            tensors[input].unread = false;
        }
        tensors[output].unread = true;
        let outputs = vec![operand(&tensors[output].name, [1, 0, -1])];
        graph.operator(&format!("op_{number}"), 121, grid, inputs, outputs);
    }
    graph.value()
}

fn dims(random: &mut Random) -> [i64; 2] {
    [random.pick(&[1, 2, 4]), random.pick(&[4, 6, 8, 12])]
}

fn divisors(extent: i64) -> Vec<i64> {
    (1..=extent).filter(|divisor| extent % divisor == 0).collect()
}

/// A tensor to write: a new one, or one that has been read since it was written.
fn output(random: &mut Random, graph: &mut Graph, tensors: &mut Vec<Tensor>, number: usize) -> usize {
    let used: Vec<usize> =
        (0..tensors.len()).filter(|&at| !tensors[at].unread && !tensors[at].external).collect();
    if !used.is_empty() && random.chance(40) {
        return random.pick(&used);
    }
    let dims = dims(random);
    let name = format!("t_{number}");
    graph.activation(&name, &dims);
    tensors.push(Tensor { name, dims, unread: false, external: false });
    tensors.len() - 1
}

fn map(random: &mut Random, grid: [i64; 3], dims: [i64; 2]) -> [i64; 3] {
    let straight = [1, 0];
    let crossed = [0, 1];
    let wanted = if random.chance(80) { straight } else { crossed };
    let cut = |random: &mut Random, extent: i64, axis: i64| {
        if dims[axis as usize] % extent == 0 && random.chance(65) { axis } else { -1 }
    };
    [cut(random, grid[0], wanted[0]), cut(random, grid[1], wanted[1]), -1]
}

fn all_reduce(
    random: &mut Random,
    graph: &mut Graph,
    tensors: &mut Vec<Tensor>,
    partial: usize,
    ranks: i64,
    number: usize,
) {
    let dims = tensors[partial].dims;
    let (name, buffer) = (format!("sum_{number}"), format!("buffer_{number}"));
    graph.activation(&name, &dims);
    graph
        .tensors
        .push(json!({"name": buffer, "data_type": BF16, "dims": [ranks, dims[0], dims[1]], "io": "nvshmem"}));
    let cuts = dims.map(|extent| random.pick(&divisors(extent)));
    graph.operator(
        &format!("reduce_{number}"),
        106,
        [cuts[1], cuts[0], 1],
        vec![operand(&tensors[partial].name, [1, 0, -1]), operand(&buffer, [2, 1, -1])],
        vec![operand(&name, [1, 0, -1])],
    );
    tensors[partial].unread = false;
    tensors.push(Tensor { name, dims, unread: true, external: false });
}
