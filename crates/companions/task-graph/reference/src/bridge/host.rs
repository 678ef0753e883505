//! The buffers of an import, and what the host binds each to.

use std::collections::{BTreeMap, HashSet};

use megakernel_ir::{BufferKind, DType};
use megakernel_numerics::Tensor;
use serde_json::{Value, json};

use super::tensors::{Area, Tensors};

/// A part of a tensor of the graph, in row-major order, that lies in a buffer without gaps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Piece {
    pub area: Area,
    /// Index of its first element in the buffer.
    pub at: i64,
}

/// A buffer of the program.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Record {
    pub name: String,
    pub kind: BufferKind,
    pub dtype: DType,
    pub shape: Vec<i64>,
    pub source: Option<String>,
    /// What of the graph's tensors it holds; nothing for scratch.
    pub pieces: Vec<Piece>,
    /// What a CONST holds.
    pub values: Vec<i64>,
}

/// All buffers.
#[derive(Default)]
pub(super) struct Records {
    pub all: Vec<Record>,
    /// Host buffers by what they are arranged for: all of one area, or rows that match the columns of a buffer.
    whole: BTreeMap<(u8, Vec<i64>, Vec<i64>), usize>,
    matched: BTreeMap<(u8, usize), Vec<usize>>,
}

impl Records {
    pub fn add(&mut self, record: Record) -> usize {
        self.all.push(record);
        self.all.len() - 1
    }

    /// A buffer with all of an area.
    pub fn whole(&mut self, kind: BufferKind, area: Area, shape: Vec<i64>, tensors: &Tensors<'_>) -> usize {
        let axes = area.region.axes().iter().flatten().copied();
        let place = [area.rank as i64, area.tensor as i64].into_iter().chain(axes).collect();
        let key = (kind.code(), place, shape.clone());
        if let Some(&known) = self.whole.get(&key) {
            return known;
        }
        let dtype = tensors.dtype(area.tensor);
        let pieces = vec![Piece { area, at: 0 }];
        let number = self.add(Record {
            name: String::new(),
            kind,
            dtype,
            shape,
            source: None,
            pieces,
            values: Vec::new(),
        });
        self.whole.insert(key, number);
        number
    }

    /// A buffer of this shape with an area at an element. Areas for one `target` share a buffer as long as they do not
    /// overlap there.
    pub fn matched(
        &mut self,
        kind: BufferKind,
        target: usize,
        shape: Vec<i64>,
        piece: Piece,
        tensors: &Tensors<'_>,
    ) -> usize {
        let end = piece.at + piece.area.numel();
        let dtype = tensors.dtype(piece.area.tensor);
        for &number in self.matched.get(&(kind.code(), target)).into_iter().flatten() {
            let Some(record) = self.all.get_mut(number) else { continue };
            let is_free = |other: &Piece| other.at + other.area.numel() <= piece.at || end <= other.at;
            let is_known = record.pieces.contains(&piece);
            if record.shape == shape
                && record.dtype == dtype
                && (is_known || record.pieces.iter().all(is_free))
            {
                if !is_known {
                    record.pieces.push(piece);
                }
                return number;
            }
        }
        let number = self.add(Record {
            name: String::new(),
            kind,
            dtype,
            shape,
            source: None,
            pieces: vec![piece],
            values: Vec::new(),
        });
        self.matched.entry((kind.code(), target)).or_default().push(number);
        number
    }

    /// Joins pieces that continue each other and buffers that hold the same, and gives names. What comes back is the new
    /// number of each buffer.
    pub fn finish(&mut self, tensors: &Tensors<'_>, ranks: usize) -> Vec<usize> {
        let mut kept: Vec<Record> = Vec::new();
        let mut numbers = Vec::new();
        let mut names: HashSet<String> = HashSet::new();
        let mut by_content: BTreeMap<String, usize> = BTreeMap::new();
        for mut record in self.all.drain(..) {
            record.pieces.sort_by_key(|piece| piece.at);
            record.pieces = joined(&record.pieces);
            if record.kind.is_read_only() && !record.pieces.is_empty() {
                let content =
                    format!("{:?} {:?} {:?} {:?}", record.kind, record.dtype, record.shape, record.pieces);
                let known = *by_content.entry(content).or_insert(kept.len());
                if known < kept.len() {
                    numbers.push(known);
                    continue;
                }
            }
            if let (true, [first, ..]) = (record.name.is_empty(), &record.pieces[..]) {
                let prefix = if ranks > 1 { format!("r{}.", first.area.rank) } else { String::new() };
                let label = tensors.label(&first.area);
                let more = record.pieces.len() - 1;
                record.name =
                    if more == 0 { format!("{prefix}{label}") } else { format!("{prefix}{label}+{more}") };
                let decl = tensors.get(first.area.tensor);
                let is_all = more == 0
                    && decl.is_some_and(|decl| *decl.name == *label && decl.dims[..] == record.shape[..]);
                record.source = (is_all && record.kind == BufferKind::Weight).then(|| record.name.clone());
            }
            let plain = record.name.clone();
            let mut copy = 1;
            while !names.insert(record.name.clone()) {
                copy += 1;
                record.name = format!("{plain}#{copy}");
                record.source = None;
            }
            numbers.push(kept.len());
            kept.push(record);
        }
        self.all = kept;
        numbers
    }
}

fn joined(pieces: &[Piece]) -> Vec<Piece> {
    let mut found: Vec<Piece> = Vec::new();
    for &piece in pieces {
        if let Some(last) = found.last_mut()
            && continues(last, &piece)
        {
            last.area = last.area.hull(&piece.area);
            continue;
        }
        found.push(piece);
    }
    found
}

/// Whether one piece and the next are one piece: they differ on one axis, and those before it are of one element.
fn continues(first: &Piece, next: &Piece) -> bool {
    let (a, b) = (&first.area, &next.area);
    if (a.rank, a.tensor) != (b.rank, b.tensor) || first.at + a.numel() != next.at {
        return false;
    }
    let Some(axis) = (0..a.axes).find(|&axis| a.interval(axis) != b.interval(axis)) else { return false };
    a.interval(axis)[1] == b.interval(axis)[0]
        && (axis + 1..a.axes).all(|axis| a.interval(axis) == b.interval(axis))
        && (0..axis).all(|axis| a.interval(axis)[1] - a.interval(axis)[0] == 1)
}

/// Which part of which tensor of the graph each buffer holds (clause TGR-18).
#[derive(Clone, Debug, Default)]
pub struct Binding {
    /// One for each buffer that is no scratch, in the order of the program.
    pub buffers: Vec<Bound>,
    /// The input that holds the position of the token, if a task rotates heads.
    pub positions: Option<String>,
    /// The inputs that hold the positions of rows of the batch, by row, where the import was told of requests.
    pub row_positions: BTreeMap<i64, String>,
    /// Tensors of the graph that the program does without.
    pub unused: Vec<String>,
}

/// A buffer and what it holds.
#[derive(Clone, Debug)]
pub struct Bound {
    /// Name of the buffer, and what it is bound by.
    pub buffer: String,
    /// Its kind.
    pub kind: BufferKind,
    /// Its element type.
    pub dtype: DType,
    /// Its shape.
    pub shape: Vec<i64>,
    /// The parts. What none of them covers is zero, and no task uses it.
    pub pieces: Vec<BoundPiece>,
    /// What a CONST holds, which is no part of a tensor.
    pub values: Vec<i64>,
}

/// A box of a tensor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BoundPiece {
    /// Rank whose tensor it is.
    pub rank: usize,
    /// Name of the tensor.
    pub tensor: String,
    /// First index on each axis.
    pub start: Vec<i64>,
    /// Extent on each axis.
    pub extents: Vec<i64>,
    /// Where its first element lies in the buffer; the others follow in row-major order.
    pub at: i64,
}

impl Binding {
    pub(super) fn new(records: &Records, tensors: &Tensors<'_>) -> Binding {
        let piece = |piece: &Piece| BoundPiece {
            rank: piece.area.rank,
            tensor: tensors.name(piece.area.tensor).to_owned(),
            start: (0..piece.area.axes).map(|axis| piece.area.interval(axis)[0]).collect(),
            extents: piece.area.extents(),
            at: piece.at,
        };
        let held =
            records.all.iter().filter(|record| !(record.pieces.is_empty() && record.values.is_empty()));
        let buffers = held.map(|record| Bound {
            buffer: record.source.clone().unwrap_or_else(|| record.name.clone()),
            kind: record.kind,
            dtype: record.dtype,
            shape: record.shape.clone(),
            pieces: record.pieces.iter().map(piece).collect(),
            values: record.values.clone(),
        });
        Binding { buffers: buffers.collect(), ..Binding::default() }
    }

    /// The document.
    pub fn to_json(&self) -> Value {
        let buffers = self.buffers.iter().map(|bound| {
            let pieces: Vec<Value> = bound
                .pieces
                .iter()
                .map(|piece| {
                    json!({"rank": piece.rank, "tensor": piece.tensor, "start": piece.start,
                           "extents": piece.extents, "at": piece.at})
                })
                .collect();
            match bound.values.is_empty() {
                true => json!({"buffer": bound.buffer, "kind": bound.kind.name(), "pieces": pieces}),
                false => json!({"buffer": bound.buffer, "kind": bound.kind.name(), "values": bound.values}),
            }
        });
        let rows = self.row_positions.iter().map(|(row, name)| json!({"row": row, "buffer": name}));
        let rows: Vec<Value> = rows.collect();
        json!({
            "buffers": buffers.collect::<Vec<_>>(),
            "positions": self.positions,
            "row_positions": rows,
            "unused": self.unused,
        })
    }

    /// The buffers that the host sets before the first launch, from the tensors of the graph: WEIGHT, CONST,
    /// IO_INPUT and KV_CACHE. `tensor` yields the tensor of a rank with a name; a buffer of which it has a part missing is left out.
    ///
    /// # Errors
    /// A tensor is smaller than the graph says, or of elements that have no values.
    pub fn gather<'t>(
        &self,
        tensor: impl Fn(usize, &str) -> Option<&'t Tensor>,
    ) -> Result<BTreeMap<String, Tensor>, String> {
        let mut found = BTreeMap::new();
        for bound in self.buffers.iter().filter(|bound| bound.kind != BufferKind::IoOutput) {
            let parts: Option<Vec<_>> =
                bound.pieces.iter().map(|piece| Some((piece, tensor(piece.rank, &piece.tensor)?))).collect();
            let Some(parts) = parts else { continue };
            let shape: Vec<u64> = bound.shape.iter().map(|&extent| extent.max(0) as u64).collect();
            let bad = |error: megakernel_numerics::TensorError| format!("`{}`: {error}", bound.buffer);
            let gathered = if !bound.values.is_empty() {
                match bound.dtype.is_float() {
                    true => Tensor::from_reals(
                        bound.dtype,
                        shape,
                        &bound.values.iter().map(|&value| value as f64).collect::<Vec<_>>(),
                    ),
                    false => Tensor::from_ints(bound.dtype, shape, &bound.values),
                }
            } else if bound.dtype.is_float() {
                let mut values =
                    vec![0.0; Tensor::zeros(bound.dtype, shape.clone()).map_err(bad)?.numel() as usize];
                for (piece, from) in parts {
                    copy(piece, &from.shape, &from.reals(), &mut values)?;
                }
                Tensor::from_reals(bound.dtype, shape, &values)
            } else {
                let mut values =
                    vec![0; Tensor::zeros(bound.dtype, shape.clone()).map_err(bad)?.numel() as usize];
                for (piece, from) in parts {
                    copy(piece, &from.shape, &from.ints(), &mut values)?;
                }
                Tensor::from_ints(bound.dtype, shape, &values)
            };
            found.insert(bound.buffer.clone(), gathered.map_err(bad)?);
        }
        Ok(found)
    }
}

/// Copies a box of a tensor, row-major, to where it lies in a buffer.
fn copy<T: Copy>(piece: &BoundPiece, shape: &[u64], from: &[T], to: &mut [T]) -> Result<(), String> {
    let missing = || format!("tensor `{}` of shape {shape:?} does not have {piece:?}", piece.tensor);
    if shape.len() != piece.extents.len() {
        return Err(missing());
    }
    let count: i64 = piece.extents.iter().product();
    for number in 0..count {
        let (mut rest, mut source, mut stride) = (number, 0i64, 1i64);
        for ((&extent, &start), &dim) in piece.extents.iter().zip(&piece.start).zip(shape).rev() {
            let index = start + rest % extent.max(1);
            rest /= extent.max(1);
            if index >= dim as i64 {
                return Err(missing());
            }
            source += index * stride;
            stride *= dim as i64;
        }
        let value = usize::try_from(source).ok().and_then(|source| from.get(source));
        let slot = usize::try_from(piece.at + number).ok().and_then(|at| to.get_mut(at));
        match (value, slot) {
            (Some(value), Some(slot)) => *slot = *value,
            _ => return Err(missing()),
        }
    }
    Ok(())
}
