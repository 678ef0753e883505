//! What tasks read and write, as sets of elements.

use std::collections::{BTreeMap, BTreeSet};

use megakernel_task_graph::{EventId, Task, Tile, element_bits};

use super::Subject;
use super::order::Node;

/// A tile that a task reads or writes.
#[derive(Clone, Debug)]
pub struct Access {
    /// The task.
    pub node: Node,
    /// Pointer of the tile.
    pub at: String,
    /// The rank in whose memory it is, and the tensor.
    pub storage: (u16, String),
    /// Whether the task reads it.
    pub reads: bool,
    /// Whether the task writes it.
    pub writes: bool,
    /// Whether the memory is another rank's.
    pub remote: bool,
    /// Element type.
    pub dtype: i64,
    /// Extents; a copy's are those of one slot.
    pub dims: Vec<i64>,
    /// Strides.
    pub strides: Vec<i64>,
    /// Where it begins, in bytes.
    pub offset: i64,
}

/// Types whose second and third inputs are caches, written in place.
const CACHES: [i64; 10] = [103, 104, 115, 116, 117, 153, 164, 257, 263, 284];

/// Every access of every task, in the order of the document.
pub fn of(subject: &Subject<'_>) -> Vec<Access> {
    let mut accesses = Vec::new();
    for graph in 0..subject.graphs.len() {
        for (t, task) in subject.tasks(graph).iter().enumerate().skip(2) {
            for (n, tile) in task.inputs().iter().enumerate() {
                let in_place = CACHES.contains(&task.task_type) && (n == 1 || n == 2);
                let at = subject.at(graph, &format!("/all_tasks/{t}/inputs/{n}"));
                accesses.extend(access(subject.rank(graph), tile, (graph, t), at, true, in_place));
            }
            for (n, tile) in task.outputs().iter().enumerate() {
                let at = subject.at(graph, &format!("/all_tasks/{t}/outputs/{n}"));
                let written = access(subject.rank(graph), tile, (graph, t), at, false, true);
                accesses.extend(written.map(|access| copied(access, task, n)));
            }
        }
    }
    accesses
}

fn access(rank: u16, tile: &Tile<'_>, node: Node, at: String, reads: bool, writes: bool) -> Option<Access> {
    (!tile.is_null()).then(|| Access {
        node,
        at,
        storage: (rank, tile.base_ptr.to_string()),
        reads,
        writes,
        remote: false,
        dtype: tile.data_type,
        dims: tile.dims.to_vec(),
        strides: tile.strides.to_vec(),
        offset: tile.offset,
    })
}

/// A copy writes one slot in the memory of the rank whose event it triggers.
fn copied(mut access: Access, task: &Task<'_>, output: usize) -> Access {
    if task.task_type == 199 && output == 0 {
        if let Some(first) = access.dims.first_mut() {
            *first = 1;
        }
        if let Some(id) = EventId::from_bits(task.trigger_event) {
            access.remote = id.rank != access.storage.0;
            access.storage.0 = id.rank;
        }
    }
    access
}

impl Access {
    /// Bits of an element.
    pub fn bits(&self) -> i64 {
        element_bits(self.dtype).unwrap_or(8)
    }

    /// The element that it begins with.
    pub fn first(&self) -> i64 {
        self.offset.saturating_mul(8) / self.bits()
    }

    /// Strides and extents of the axes that it really has, the smallest stride first. Along a stride of 0 there is one element.
    pub fn axes(&self) -> Vec<(i64, i64)> {
        let axes = self.strides.iter().copied().zip(self.dims.iter().copied());
        let mut axes: Vec<(i64, i64)> = axes.filter(|&(stride, extent)| extent > 1 && stride > 0).collect();
        axes.sort_unstable();
        axes
    }

    /// First and last element.
    pub fn hull(&self) -> (i64, i64) {
        let along = self.axes().into_iter().map(|(stride, extent)| stride.saturating_mul(extent - 1));
        (self.first(), along.fold(self.first(), i64::saturating_add))
    }

    /// First and last byte.
    fn bytes(&self) -> (i64, i64) {
        let (first, last) = self.hull();
        (first.saturating_mul(self.bits()) / 8, (last.saturating_add(1).saturating_mul(self.bits()) - 1) / 8)
    }

    fn elements(&self) -> BTreeSet<i64> {
        let mut elements = BTreeSet::from([self.first()]);
        for (stride, extent) in self.axes() {
            elements = (0..extent).flat_map(|n| elements.iter().map(move |e| e + n * stride)).collect();
        }
        elements
    }

    /// Coordinates of its first element along these strides, taken greedily from the largest.
    pub fn coordinates(&self, strides: &[i64]) -> Vec<i64> {
        let mut rest = self.first();
        let mut coordinates: Vec<i64> = strides
            .iter()
            .rev()
            .map(|stride| {
                let along = rest / stride;
                rest %= stride;
                along
            })
            .collect();
        coordinates.reverse();
        coordinates
    }

    /// Whether it wraps along one of these strides, ascending.
    pub fn wraps(&self, strides: &[i64]) -> bool {
        let coordinates = self.coordinates(strides);
        self.axes().into_iter().any(|(stride, extent)| {
            let Some(n) = strides.iter().position(|other| *other == stride) else { return true };
            let at = coordinates.get(n).copied().unwrap_or(0);
            strides.get(n + 1).is_some_and(|next| (at + extent).saturating_mul(stride) > *next)
        })
    }
}

/// How the accesses of a storage are compared.
#[derive(Clone, Debug)]
pub enum Storage {
    /// As sets of elements, by index of the access.
    Regular(BTreeMap<usize, BTreeSet<i64>>),
    /// As ranges of bytes.
    Mixed(BTreeMap<usize, (i64, i64)>),
}

impl Storage {
    /// What two accesses share: elements, or bytes.
    pub fn overlap(&self, a: usize, b: usize) -> BTreeSet<i64> {
        match self {
            Storage::Regular(of) => match (of.get(&a), of.get(&b)) {
                (Some(a), Some(b)) => a.intersection(b).copied().collect(),
                _ => BTreeSet::new(),
            },
            Storage::Mixed(of) => match (of.get(&a), of.get(&b)) {
                (Some(a), Some(b)) => (a.0.max(b.0)..=a.1.min(b.1)).collect(),
                _ => BTreeSet::new(),
            },
        }
    }

    /// Whether the access touches any of these.
    pub fn touches(&self, access: usize, elements: &BTreeSet<i64>) -> bool {
        match self {
            Storage::Regular(of) => of.get(&access).is_some_and(|own| !own.is_disjoint(elements)),
            Storage::Mixed(of) => {
                of.get(&access).is_some_and(|(first, last)| elements.range(first..=last).next().is_some())
            }
        }
    }
}

/// The storages, by name.
pub type Storages = BTreeMap<(u16, String), Storage>;

/// Sorts the accesses by storage.
pub fn storages(accesses: &[Access]) -> Storages {
    let mut members: BTreeMap<(u16, String), Vec<usize>> = BTreeMap::new();
    for (n, access) in accesses.iter().enumerate() {
        members.entry(access.storage.clone()).or_default().push(n);
    }
    let of = |indices: Vec<usize>| {
        let tiles: Vec<(usize, &Access)> =
            indices.into_iter().filter_map(|n| accesses.get(n).map(|access| (n, access))).collect();
        if mixed(&tiles) {
            return Storage::Mixed(tiles.iter().map(|(n, access)| (*n, access.bytes())).collect());
        }
        Storage::Regular(tiles.iter().map(|(n, access)| (*n, access.elements())).collect())
    };
    members.into_iter().map(|(storage, indices)| (storage, of(indices))).collect()
}

/// Whether no single layout makes boxes of all tiles.
pub fn mixed(tiles: &[(usize, &Access)]) -> bool {
    let widths: BTreeSet<i64> = tiles.iter().map(|(_, access)| access.bits()).collect();
    let layout = layout(tiles.iter().map(|(_, access)| *access));
    let divide = layout.windows(2).all(|pair| matches!(pair, [small, large] if large % small == 0));
    widths.len() > 1 || !divide || tiles.iter().any(|(_, access)| access.wraps(&layout))
}

/// Every stride of a real axis of the tiles, and 1; the smallest first.
fn layout<'a>(tiles: impl Iterator<Item = &'a Access>) -> Vec<i64> {
    let mut strides = BTreeSet::from([1]);
    for access in tiles {
        strides.extend(access.axes().into_iter().map(|(stride, _)| stride));
    }
    strides.into_iter().collect()
}
