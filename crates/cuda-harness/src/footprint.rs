//! What a task writes (the clauses of the opcodes), for traces.

use std::ops::Range;

use megakernel_ir::model::{Buffer, Program, Task};
use megakernel_ir::{BufferId, DType, Opcode, Param};
use megakernel_numerics::{Tensor, TensorError};

/// A part of a buffer: an interval of indices for each axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// The buffer.
    pub buffer: BufferId,
    /// `[start, end)`.
    pub axes: Vec<(u64, u64)>,
}

/// What the task writes; nothing if that is empty. The program has the shapes that the opcodes require.
pub fn written(program: &Program<'_>, task: &Task<'_>) -> Option<Region> {
    let buffer = task.outputs.first().map(|id| BufferId::stated(*id))?;
    let output = program.buffers.get(buffer.index())?;
    let extents = output.shape.iter().map(|extent| (0, u64::try_from(*extent).unwrap_or(0)));
    let mut region = Region { buffer, axes: extents.collect() };
    let int = |param| u64::try_from(task.params.int(param).unwrap_or(0)).unwrap_or(0);
    let last = region.axes.len().saturating_sub(1);
    match task.op {
        Opcode::GemvTile => region.cut(last, int(Param::NOff), int(Param::NTile)),
        Opcode::GemmTile => {
            region.cut(0, int(Param::MOff), int(Param::MTile));
            region.cut(last, int(Param::NOff), int(Param::NTile));
        }
        Opcode::KvAppend => {
            let new = task.inputs.first().and_then(|id| program.buffers.get(BufferId::stated(*id).index()));
            match (output.shape.as_slice(), new.and_then(Buffer::numel)) {
                ([_, heads, dim], Some(numel)) => {
                    let row = u64::try_from(heads.saturating_mul(*dim)).unwrap_or(0).max(1);
                    region.cut(0, int(Param::Pos), numel / row);
                }
                ([_, _, _, _], _) => region.cut(1, int(Param::Pos), 1),
                _ => {}
            }
        }
        _ => {}
    }
    region.axes.iter().all(|(start, end)| start < end).then_some(region)
}

impl Region {
    fn cut(&mut self, axis: usize, start: u64, length: u64) {
        if let Some(axis) = self.axes.get_mut(axis) {
            let end = start.saturating_add(length);
            *axis = (start.clamp(axis.0, axis.1), end.clamp(axis.0, axis.1));
        }
    }

    /// The bytes of the region in its buffer, in order.
    pub fn spans(&self, buffer: &Buffer<'_>) -> Vec<Range<usize>> {
        // No opcode writes a part of a buffer of smaller elements.
        if buffer.dtype == DType::I4 {
            let size = buffer.nbytes().and_then(|size| usize::try_from(size).ok());
            return std::iter::once(0..size.unwrap_or(0)).collect();
        }
        // Rows of the last axis; of a scalar, its one element.
        let (outer, row) = match self.axes.split_last() {
            Some((row, outer)) => (outer, *row),
            None => (&[][..], (0, 1)),
        };
        let extent = |axis: usize| buffer.shape.get(axis).map_or(1, |&extent| extent.max(0) as u64);
        let mut starts = vec![0u64];
        for (axis, (start, end)) in outer.iter().enumerate() {
            let inner = |above: u64| {
                (*start..*end).map(move |i| above.saturating_mul(extent(axis)).saturating_add(i))
            };
            starts = starts.into_iter().flat_map(inner).collect();
        }
        let width = u64::from(buffer.dtype.bits() / 8);
        let byte = |element: u64| usize::try_from(element.saturating_mul(width)).unwrap_or(usize::MAX);
        let rows = starts.into_iter().map(|above| above.saturating_mul(extent(outer.len())));
        rows.map(|start| byte(start.saturating_add(row.0))..byte(start.saturating_add(row.1))).collect()
    }

    /// The elements of the region, of a buffer with these contents.
    ///
    /// # Errors
    /// The contents are not those of such a buffer.
    pub fn tensor(&self, buffer: &Buffer<'_>, contents: &[u8]) -> Result<Tensor, TensorError> {
        let shape: Vec<u64> = self.axes.iter().map(|(start, end)| end - start).collect();
        let spans = self.spans(buffer);
        let bytes = spans.into_iter().flat_map(|span| contents.get(span).unwrap_or_default());
        Tensor::new(buffer.dtype, shape, bytes.copied().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DOCUMENT: &str = r#"{"ir_version": "0.2.0", "abi_version": "0.2",
        "buffers": [
          {"id": 0, "name": "x", "kind": "IO_INPUT", "dtype": "F32", "shape": [3, 2]},
          {"id": 1, "name": "y", "kind": "ACTIVATION", "dtype": "U8", "shape": [3, 4]},
          {"id": 2, "name": "c", "kind": "KV_CACHE", "dtype": "F32", "shape": [5, 1, 3]},
          {"id": 3, "name": "d", "kind": "KV_CACHE", "dtype": "F32", "shape": [2, 5, 1, 3]},
          {"id": 4, "name": "s", "kind": "ACTIVATION", "dtype": "I32", "shape": []}],
        "counters": [{"id": 0}],
        "tasks": [
          {"id": 0, "op": "NOP", "inputs": [], "outputs": [], "out_counter": 0},
          {"id": 1, "op": "GEMM_TILE", "inputs": [0, 0], "outputs": [1], "out_counter": 0, "params": {"n_off": 1, "N_tile": 2, "M_tile": 2, "m_off": 1}},
          {"id": 2, "op": "GEMV_TILE", "inputs": [0, 0], "outputs": [1], "out_counter": 0, "params": {"n_off": 3, "N_tile": 2}},
          {"id": 3, "op": "KV_APPEND", "inputs": [0, 2], "outputs": [2], "out_counter": 0, "params": {"pos": 1}},
          {"id": 4, "op": "KV_APPEND", "inputs": [0, 3], "outputs": [3], "out_counter": 0, "params": {"pos": 4}},
          {"id": 5, "op": "SAMPLE_ARGMAX", "inputs": [0], "outputs": [4], "out_counter": 0}]}"#;

    #[test]
    fn footprints_are_those_of_the_clauses() {
        let program =
            megakernel_ir::read(DOCUMENT.as_bytes()).unwrap_or_else(|found| unreachable!("{found:?}"));
        let found: Vec<_> =
            program.tasks.iter().map(|task| written(&program, task).map(|region| region.axes)).collect();
        let expected = [
            None,
            Some(vec![(1, 3), (1, 3)]),
            Some(vec![(0, 3), (3, 4)]),
            Some(vec![(1, 3), (0, 1), (0, 3)]),
            Some(vec![(0, 2), (4, 5), (0, 1), (0, 3)]),
            Some(vec![]),
        ];
        assert_eq!(found, expected);
        let tile = program.tasks.get(1).and_then(|task| written(&program, task));
        let contents: Vec<u8> = (0..12).collect();
        let tensor = tile.map(|tile| tile.tensor(&program.buffers[1], &contents));
        assert_eq!(tensor, Some(Tensor::new(DType::U8, vec![2, 2], vec![5, 6, 9, 10])));
        let scalar = Region { buffer: 4.into(), axes: vec![] }.tensor(&program.buffers[4], &[1, 2, 3, 4]);
        assert_eq!(scalar, Tensor::new(DType::I32, vec![], vec![1, 2, 3, 4]));
    }
}
