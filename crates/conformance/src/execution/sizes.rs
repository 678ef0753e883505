//! How large what a program computes with is, axis by axis: what "conforms" reaches up to (clause CON-08).

use std::collections::BTreeMap;

use megakernel_ir::model::{Buffer, Program, Task};
use megakernel_ir::params::FLAG_PARTIAL_WRITE;
use megakernel_ir::{Opcode, Param, read};

use crate::case::Case;
use crate::store::Corpus;

/// The largest extent of each axis of each opcode. Axes that are of programs as a whole stand under NOP.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Sizes(BTreeMap<(Opcode, usize), u64>);

/// The axes of an opcode, by name and in the order in which [`extents`] gives them.
fn axes(op: Opcode) -> &'static [&'static str] {
    match op {
        Opcode::Nop => &["tasks", "producers of a counter", "waits of a task", "launches"],
        Opcode::AllreduceShard => &["elements", "shards"],
        Opcode::Dequant => &["elements", "columns", "groups of a row"],
        Opcode::RmsNorm | Opcode::LayerNorm => &["hidden", "rows"],
        Opcode::Softmax => &["length of a line", "lines"],
        Opcode::GemvTile | Opcode::GemmTile => {
            &["K", "columns", "columns of a tile", "rows", "rows of a tile", "groups of a row"]
        }
        Opcode::AttentionTile => &[
            "head_dim",
            "query heads",
            "query heads for a cache head",
            "window",
            "last row",
            "sequences",
            "window of a partial",
        ],
        Opcode::AttentionCombine => &["head_dim", "rows", "partials"],
        Opcode::Rope => &["head_dim", "heads", "rows"],
        Opcode::Embed => &["vocabulary", "hidden", "ids"],
        Opcode::KvAppend => &["position", "elements of a row", "rows or sequences"],
        Opcode::SampleArgmax => &["vocabulary", "rows"],
        // Those that compute each element by itself.
        _ => &["elements"],
    }
}

impl Sizes {
    /// Those of the programs of a case that executes; none for another case, and none of programs that cannot be read.
    pub fn of(corpus: &Corpus, case: &Case) -> Sizes {
        let mut sizes = Sizes::default();
        let documents = corpus.launch_documents(case).unwrap_or_default();
        sizes.note(Opcode::Nop, 3, documents.len() as u64);
        for document in documents {
            if let Ok(program) = read(&document) {
                sizes.add(&program);
            }
        }
        sizes
    }

    /// Adds those of a program.
    pub fn add(&mut self, program: &Program<'_>) {
        let mut producers: BTreeMap<i64, u64> = BTreeMap::new();
        self.note(Opcode::Nop, 0, program.tasks.len() as u64);
        for task in &program.tasks {
            let counted = producers.entry(task.out_counter).or_default();
            *counted += 1;
            let counted = *counted;
            self.note(Opcode::Nop, 1, counted);
            self.note(Opcode::Nop, 2, task.waits.len() as u64);
            for (axis, extent) in extents(program, task).into_iter().enumerate() {
                self.note(task.op, axis, extent);
            }
        }
    }

    /// Adds others.
    pub fn extend(&mut self, others: Sizes) {
        for ((op, axis), extent) in others.0 {
            self.note(op, axis, extent);
        }
    }

    /// Opcode, axis and the largest extent, where it is not 0; what is of programs as a whole has no opcode and comes last.
    pub fn rows(&self) -> Vec<(Option<Opcode>, &'static str, u64)> {
        let row = |(&(op, axis), &extent): (&(Opcode, usize), &u64)| {
            let name = axes(op).get(axis).copied().unwrap_or_default();
            (Some(op).filter(|op| *op != Opcode::Nop), name, extent)
        };
        let (whole, of_opcodes): (Vec<_>, Vec<_>) =
            self.0.iter().map(row).partition(|(op, _, _)| op.is_none());
        of_opcodes.into_iter().chain(whole).collect()
    }

    fn note(&mut self, op: Opcode, axis: usize, extent: u64) {
        if extent > 0 {
            let largest = self.0.entry((op, axis)).or_default();
            *largest = extent.max(*largest);
        }
    }
}

/// The size of a task by which records of evidence sort errors (clause CON-14): how many numbers an element of its result is made of,
/// or, where each is made of a few, how many it writes.
pub fn size(program: &Program<'_>, task: &Task<'_>) -> u64 {
    let axis = match task.op {
        Opcode::GemvTile | Opcode::GemmTile => "K",
        Opcode::RmsNorm | Opcode::LayerNorm => "hidden",
        Opcode::Softmax => "length of a line",
        Opcode::AttentionTile => "window",
        Opcode::AttentionCombine => "partials",
        Opcode::AllreduceShard => "shards",
        Opcode::SampleArgmax => "vocabulary",
        _ => return task.outputs.first().map_or(0, |&id| numel(&shape(buffer(program, id)))),
    };
    let at = axes(task.op).iter().position(|name| *name == axis);
    at.and_then(|at| extents(program, task).get(at).copied()).unwrap_or(0)
}

/// The extents of a task, in the order of [`axes`]. What a program lacks counts as 0.
fn extents(program: &Program<'_>, task: &Task<'_>) -> Vec<u64> {
    let shape_of = |id: Option<&i64>| id.map_or_else(Vec::new, |&id| shape(buffer(program, id)));
    let input = |index: usize| shape_of(task.inputs.get(index));
    let output = shape_of(task.outputs.first());
    let param =
        |param: Param| task.params.int(param).and_then(|value| u64::try_from(value).ok()).unwrap_or(0);
    let last = |shape: &[u64]| shape.last().copied().unwrap_or(0);
    let per = |n: u64, of: u64| n.checked_div(of).unwrap_or(0);
    let groups =
        |columns: u64| if param(Param::Group) > 0 { columns.div_ceil(param(Param::Group)) } else { 0 };
    match task.op {
        Opcode::Nop => Vec::new(),
        Opcode::AllreduceShard => vec![numel(&output), task.inputs.len() as u64],
        Opcode::Dequant => vec![numel(&output), last(&output), groups(last(&output))],
        Opcode::RmsNorm | Opcode::LayerNorm => {
            vec![param(Param::Hidden), per(numel(&output), param(Param::Hidden))]
        }
        Opcode::Softmax => {
            let dim = task.params.int(Param::Dim).unwrap_or(-1);
            let axis = if dim < 0 { dim + output.len() as i64 } else { dim };
            let line = usize::try_from(axis).ok().and_then(|axis| output.get(axis)).copied().unwrap_or(0);
            vec![line, per(numel(&output), line)]
        }
        Opcode::GemvTile | Opcode::GemmTile => {
            let k = param(Param::K);
            let rows = per(numel(&input(0)), k);
            vec![k, last(&output), param(Param::NTile), rows, param(Param::MTile), groups(k)]
        }
        Opcode::AttentionTile => {
            let (heads, caches) = (param(Param::NHeads), param(Param::NKvHeads));
            let (start, length) = (param(Param::KvStart), param(Param::KvLen));
            let cache = input(1);
            let sequences = if cache.len() == 4 { cache.first().copied().unwrap_or(0) } else { 1 };
            let partial = task.params.int(Param::Flags).unwrap_or(0) & FLAG_PARTIAL_WRITE != 0;
            let last_row = start.saturating_add(length).saturating_sub(1);
            let of_partial = if partial { length } else { 0 };
            vec![param(Param::HeadDim), heads, per(heads, caches), length, last_row, sequences, of_partial]
        }
        Opcode::AttentionCombine => {
            let width = last(&input(0));
            vec![width.saturating_sub(2), per(numel(&input(0)), width), task.inputs.len() as u64]
        }
        Opcode::Rope => {
            let heads = output.iter().rev().nth(1).copied().unwrap_or(0);
            vec![last(&output), heads, per(numel(&output), heads.saturating_mul(last(&output)))]
        }
        Opcode::Embed => {
            let (ids, table) = (numel(&input(0)), input(1));
            vec![table.first().copied().unwrap_or(0), per(numel(&output), ids), ids]
        }
        Opcode::KvAppend => {
            let row =
                output.iter().rev().take(2).fold(1u64, |product, &extent| product.saturating_mul(extent));
            vec![param(Param::Pos), row, per(numel(&input(0)), row)]
        }
        Opcode::SampleArgmax => {
            let logits = input(0);
            vec![last(&logits), per(numel(&logits), last(&logits))]
        }
        _ => vec![numel(&output)],
    }
}

fn buffer<'p, 't>(program: &'p Program<'t>, id: i64) -> Option<&'p Buffer<'t>> {
    program.buffers.get(usize::try_from(id).ok()?)
}

fn numel(shape: &[u64]) -> u64 {
    shape.iter().fold(1u64, |product, &extent| product.saturating_mul(extent))
}

fn shape(buffer: Option<&Buffer<'_>>) -> Vec<u64> {
    buffer.map_or_else(Vec::new, |buffer| buffer.shape.iter().map(|&extent| extent.unsigned_abs()).collect())
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use megakernel_test_support::cases;

    use super::*;

    /// The sizes of an accepted program of the corpus.
    fn of(id: &str) -> Vec<(Option<Opcode>, &'static str, u64)> {
        let documents = cases::documents("accept");
        let found = documents.iter().find(|document| document.id() == id).expect("the case");
        let mut sizes = Sizes::default();
        sizes.add(&read(found.text.as_bytes()).expect("a program"));
        sizes.rows()
    }

    #[test]
    fn the_tiles_of_a_product_are_measured() {
        let rows = of("accept/gemv/four-tiles");
        let extent = |op, name| rows.iter().find(|row| (row.0, row.1) == (op, name)).map(|row| row.2);
        assert_eq!(extent(None, "producers of a counter"), Some(4), "{rows:?}");
        let tile = extent(Some(Opcode::GemvTile), "columns of a tile").expect("tiles");
        assert_eq!(extent(Some(Opcode::GemvTile), "columns"), Some(4 * tile), "{rows:?}");
        assert!(rows.iter().all(|row| row.2 > 0), "{rows:?}");
    }

    #[test]
    fn what_computes_each_element_by_itself_is_measured_by_elements() {
        let alone: BTreeSet<Opcode> =
            Opcode::ALL.iter().copied().filter(|&op| axes(op) == ["elements"]).collect();
        let mut expected: BTreeSet<Opcode> = Opcode::IN_PLACE.iter().copied().collect();
        expected.remove(&Opcode::AllreduceShard);
        assert_eq!(alone, expected);
    }

    #[test]
    fn the_larger_counts() {
        let (mut a, mut b) = (Sizes::default(), Sizes::default());
        a.note(Opcode::Add, 0, 5);
        b.note(Opcode::Add, 0, 3);
        b.note(Opcode::Softmax, 1, 7);
        b.note(Opcode::Softmax, 0, 0);
        a.extend(b);
        assert_eq!(a.rows(), [(Some(Opcode::Add), "elements", 5), (Some(Opcode::Softmax), "lines", 7)]);
    }

    #[test]
    fn the_size_of_a_task_is_the_length_of_its_sums_or_else_its_elements() {
        let documents = cases::documents("accept");
        // As their shapes and parameters have it.
        for (id, expected) in [
            ("gemv-tile-f16", 6),
            ("gemm-tile-f16", 6),
            ("rmsnorm-f16", 8),
            ("layernorm-f16", 8),
            ("softmax-f16", 5),
            ("attention-tile-f16", 5),
            ("attention-combine-f16", 2),
            ("allreduce-shard-f16", 1),
            ("sample-argmax-f16", 9),
            ("rope-f16", 24),
            ("add-f16", 10),
        ] {
            let id = format!("accept/dtype/{id}");
            let found = documents.iter().find(|document| document.id() == id).expect("the case");
            let program = read(found.text.as_bytes()).expect("a program");
            let sizes: Vec<u64> = program.tasks.iter().map(|task| size(&program, task)).collect();
            assert_eq!(sizes, [expected], "{id}");
        }
    }

    #[test]
    fn each_opcode_has_a_name_for_each_extent() {
        let mut seen = BTreeSet::new();
        for document in cases::documents("accept") {
            let Ok(program) = read(document.text.as_bytes()) else { continue };
            for task in &program.tasks {
                let named = if task.op == Opcode::Nop { 0 } else { axes(task.op).len() };
                assert_eq!(extents(&program, task).len(), named, "{}: {}", document.id(), task.op);
                seen.insert(task.op);
            }
        }
        assert_eq!(seen, Opcode::ALL.iter().copied().collect());
    }
}
