//! Which elements of which tensor a tile is.

use std::collections::HashMap;

use megakernel_ir::DType;
use megakernel_task_graph::{KernelGraph, TensorDecl, TensorKind, Tile, element_bits};

use super::elements::dtype;
use megakernel_reference::region::{MAX_RANK, Region};

/// The declared tensors by name.
pub(super) struct Tensors<'k> {
    declared: Vec<Tensor<'k>>,
    by_name: HashMap<&'k str, usize>,
}

/// A declared tensor.
pub(super) struct Tensor<'k> {
    pub decl: &'k TensorDecl<'k>,
    /// Elements from one index of an axis to the next.
    strides: Vec<i64>,
    /// Of partial sums of the tensor: which of them.
    partial: Option<usize>,
}

/// A box of a tensor of one rank of the system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Area {
    /// The rank whose memory it is in.
    pub rank: usize,
    /// Index of the tensor.
    pub tensor: usize,
    /// How many axes the tensor has.
    pub axes: usize,
    pub region: Region,
}

impl Area {
    /// The interval on the last axis.
    pub fn columns(&self) -> [i64; 2] {
        self.interval(self.axes.saturating_sub(1))
    }

    /// The interval on an axis.
    pub fn interval(&self, axis: usize) -> [i64; 2] {
        self.region.axes().get(axis).copied().unwrap_or([0, 1])
    }

    /// How long the last axis is.
    pub fn width(&self) -> i64 {
        let [low, high] = self.columns();
        high - low
    }

    /// How many rows of the last axis there are.
    pub fn rows(&self) -> i64 {
        self.extents().iter().rev().skip(1).product()
    }

    /// How many elements there are.
    pub fn numel(&self) -> i64 {
        self.extents().iter().product()
    }

    /// The extents on all axes.
    pub fn extents(&self) -> Vec<i64> {
        (0..self.axes).map(|axis| self.interval(axis)).map(|[low, high]| high - low).collect()
    }

    /// The shape of a buffer that holds just this: the extents without leading ones.
    pub fn shape(&self) -> Vec<i64> {
        let extents = self.extents();
        let last = extents.len().saturating_sub(1);
        let kept = extents.iter().enumerate().filter(|&(axis, &extent)| axis == last || extent > 1);
        kept.map(|(_, &extent)| extent).collect()
    }

    /// The rows of which this area has a part, as numbers of rows of one that holds it.
    pub fn rows_in(&self, whole: &Area) -> Vec<i64> {
        let mut rows = vec![0];
        for axis in 0..self.axes.saturating_sub(1) {
            let ([low, high], [start, end]) = (self.interval(axis), whole.interval(axis));
            let indices =
                |row: i64| (low - start..high - start).map(move |index| row * (end - start) + index);
            rows = rows.into_iter().flat_map(indices).collect();
        }
        rows
    }

    /// The part between two columns of the tensor.
    pub fn between(&self, low: i64, high: i64) -> Area {
        Area { region: self.region.slice(self.axes.saturating_sub(1), low, high - low), ..*self }
    }

    /// The part of these indices of an axis.
    pub fn slice(&self, axis: usize, start: i64, length: i64) -> Area {
        Area { region: self.region.slice(axis, start, length), ..*self }
    }

    /// The smallest box that holds both.
    pub fn hull(&self, other: &Area) -> Area {
        let mut region = Region::whole(&[i64::MAX; MAX_RANK][..self.axes.min(MAX_RANK)]);
        for axis in 0..self.axes {
            let ([a, b], [c, d]) = (self.interval(axis), other.interval(axis));
            region = region.slice(axis, a.min(c), b.max(d) - a.min(c));
        }
        Area { region, ..*self }
    }

    /// Whether every row of the other area is one of this, and no other is.
    pub fn same_rows(&self, other: &Area) -> bool {
        (0..self.axes.saturating_sub(1)).all(|axis| self.interval(axis) == other.interval(axis))
    }

    /// Whether all of the other area is in this.
    pub fn holds(&self, other: &Area) -> bool {
        self.region.intersection(&other.region) == other.region
    }

    /// What is left without some parts of it.
    pub fn without<'a>(&self, parts: impl Iterator<Item = &'a Area>) -> Vec<Region> {
        let mut rest = vec![self.region];
        for part in parts {
            if rest.iter().any(|region| region.overlaps(&part.region)) {
                rest = rest.iter().flat_map(|region| region.minus(&part.region)).collect();
            }
        }
        rest
    }
}

impl<'k> Tensors<'k> {
    /// The tensors of a kernel graph.
    ///
    /// # Errors
    /// The reason why one of them cannot be used.
    pub fn new(kernel: &'k KernelGraph<'k>) -> Result<Tensors<'k>, String> {
        let mut tensors = Tensors { declared: Vec::new(), by_name: HashMap::new() };
        for (number, decl) in kernel.tensors.iter().enumerate() {
            let name = &*decl.name;
            let fits =
                (1..=MAX_RANK).contains(&decl.dims.len()) && decl.dims.iter().all(|&extent| extent >= 1);
            let numel = decl.dims.iter().try_fold(1i64, |product, &extent| product.checked_mul(extent));
            // Byte offsets of elements have to fit as well.
            if !fits || numel.and_then(|numel| numel.checked_mul(64)).is_none() {
                return Err(format!(
                    "tensor `{name}` has shape {:?}; required: 1 to 4 extents of at least 1, and a size of less than 2^63 bits",
                    decl.dims
                ));
            }
            if tensors.by_name.insert(name, number).is_some() {
                return Err(format!("the kernel graph declares tensor `{name}` twice"));
            }
            let mut strides = vec![1; decl.dims.len()];
            let mut stride = 1;
            for (slot, &extent) in strides.iter_mut().zip(&decl.dims).rev() {
                *slot = stride;
                stride *= extent;
            }
            tensors.declared.push(Tensor { decl, strides, partial: None });
        }
        Ok(tensors)
    }

    /// A tensor for partial sums of another one, which no graph names and the host does not see.
    pub fn partial(&mut self, tensor: usize, number: usize) -> usize {
        if let Some(Tensor { decl, strides, .. }) = self.declared.get(tensor) {
            let (decl, strides) = (*decl, strides.clone());
            self.declared.push(Tensor { decl, strides, partial: Some(number) });
        }
        self.declared.len() - 1
    }

    /// The declaration of a tensor.
    pub fn get(&self, tensor: usize) -> Option<&TensorDecl<'k>> {
        self.declared.get(tensor).map(|tensor| tensor.decl)
    }

    /// Its name.
    pub fn name(&self, tensor: usize) -> &'k str {
        self.declared.get(tensor).map_or("", |tensor| &tensor.decl.name)
    }

    /// The declaration with a name.
    pub fn named(&self, name: &str) -> Option<&TensorDecl<'k>> {
        self.by_name.get(name).and_then(|&tensor| self.get(tensor))
    }

    /// The type of its elements in a program.
    pub fn dtype(&self, tensor: usize) -> DType {
        self.get(tensor).and_then(|decl| dtype(decl.data_type)).unwrap_or(DType::F32)
    }

    /// Whether the host can see it.
    pub fn is_host(&self, tensor: usize) -> bool {
        let is_host =
            |io: TensorKind| matches!(io, TensorKind::Torch | TensorKind::Fused | TensorKind::Shuffled);
        self.declared.get(tensor).is_some_and(|found| found.partial.is_none() && is_host(found.decl.io))
    }

    /// How an area is called: the tensor, and the intervals if it is not all of it.
    pub fn label(&self, area: &Area) -> String {
        let partial = self.declared.get(area.tensor).and_then(|found| found.partial);
        let number = partial.map_or(String::new(), |number| format!(".sum{number}"));
        let name = format!("{}{number}", self.name(area.tensor));
        match self.get(area.tensor) {
            Some(decl)
                if decl.dims.iter().enumerate().any(|(axis, &extent)| area.interval(axis) != [0, extent]) =>
            {
                let intervals: Vec<String> = (0..area.axes)
                    .map(|axis| area.interval(axis))
                    .map(
                        |[low, high]| if low + 1 == high { low.to_string() } else { format!("{low}:{high}") },
                    )
                    .collect();
                format!("{name}[{}]", intervals.join(","))
            }
            _ => name,
        }
    }

    /// The box that a tile is.
    ///
    /// # Errors
    /// The reason why it is none.
    pub fn area(&self, tile: &Tile<'_>, rank: usize) -> Result<Area, String> {
        let name = &*tile.base_ptr;
        let found = self.by_name.get(name).and_then(|&number| Some((number, self.declared.get(number)?)));
        let (number, tensor) =
            found.ok_or_else(|| format!("tensor `{name}` is not declared; add it to the kernel graph"))?;
        if tile.data_type != tensor.decl.data_type {
            return Err(format!(
                "`{name}` is declared with element type {}, and the tile says {}",
                tensor.decl.data_type, tile.data_type
            ));
        }
        let bits =
            element_bits(tile.data_type).filter(|_| dtype(tile.data_type).is_some()).ok_or_else(|| {
                format!("`{name}` has element type {}, for which programs have none", tile.data_type)
            })?;
        let element = tile
            .offset
            .checked_mul(8)
            .filter(|&offset| offset >= 0 && offset % bits == 0)
            .map(|offset| offset / bits)
            .ok_or_else(|| {
                format!("offset {} of `{name}` is no element of {bits} bits; see rule TB02", tile.offset)
            })?;
        if tile.dims.len() != tile.strides.len() || tile.dims.iter().any(|&extent| extent < 1) {
            return Err(format!(
                "the tile of `{name}` has extents {:?} and strides {:?}",
                tile.dims, tile.strides
            ));
        }
        let dims = &tensor.decl.dims;
        let mut extents = vec![1; dims.len()];
        for (&extent, &stride) in tile.dims.iter().zip(&tile.strides).filter(|&(&extent, _)| extent > 1) {
            let axis = (0..dims.len()).find(|&axis| {
                tensor.strides.get(axis) == Some(&stride) && dims.get(axis).is_some_and(|&extent| extent > 1)
            });
            match axis.and_then(|axis| extents.get_mut(axis)).filter(|slot| **slot == 1) {
                Some(slot) => *slot = extent,
                None => {
                    return Err(format!(
                        "the tile of `{name}` has stride {stride}, and a tensor of shape {dims:?} has strides {:?}; \
                         a view of another shape has no counterpart",
                        tensor.strides
                    ));
                }
            }
        }
        let mut region = Region::whole(dims);
        let mut rest = element;
        for (axis, ((&extent, &stride), &dim)) in extents.iter().zip(&tensor.strides).zip(dims).enumerate() {
            let start = rest / stride;
            rest %= stride;
            if start.checked_add(extent).is_none_or(|end| end > dim) {
                return Err(format!(
                    "the tile of `{name}` takes {extent} from {start} of an axis of {dim}; see rule TB01"
                ));
            }
            region = region.slice(axis, start, extent);
        }
        Ok(Area { rank, tensor: number, axes: dims.len(), region })
    }
}
