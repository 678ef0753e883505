//! What tasks read and write, as sets of elements.

use std::collections::{BTreeMap, BTreeSet};

use megakernel_task_graph::{Effect, EventId, Select, Task, Tile, element_bits};

use super::order::Node;
use super::{Subject, is_collective, is_put};

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
    /// Whether it writes by adding.
    pub adds: bool,
    /// Whether what it writes is but a start value for later.
    pub resets: bool,
    /// What it selects: by what, for which type if not for all, and which.
    pub parts: Vec<Part>,
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

/// A part of a tile that a task selects.
pub type Part = (Select, Option<i64>, i64);

/// Every access of every task, in the order of the document.
pub fn of(subject: &Subject<'_>) -> Vec<Access> {
    let mut accesses = Vec::new();
    for graph in 0..subject.graphs.len() {
        for (t, task) in subject.tasks(graph).iter().enumerate().skip(2) {
            for (list, tiles) in [("inputs", task.inputs()), ("outputs", task.outputs())] {
                for (n, tile) in tiles.iter().enumerate() {
                    let at = subject.at(graph, &format!("/all_tasks/{t}/{list}/{n}"));
                    let Some(access) = access(subject.rank(graph), task, (list, n, tile), (graph, t), at)
                    else {
                        continue;
                    };
                    if list == "inputs" && n == 0 && is_collective(task) && !subject.bare {
                        let others = (0..subject.graphs.len()).filter(|other| *other != graph);
                        accesses.extend(others.map(|other| Access {
                            storage: (subject.rank(other), access.storage.1.clone()),
                            remote: true,
                            ..access.clone()
                        }));
                    }
                    accesses.push(if list == "outputs" { put(access, task) } else { access });
                }
            }
        }
    }
    accesses
}

fn access(
    rank: u16,
    task: &Task<'_>,
    (list, n, tile): (&str, usize, &Tile<'_>),
    node: Node,
    at: String,
) -> Option<Access> {
    let known = task.known_type();
    let role =
        known.and_then(|known| if list == "inputs" { known.inputs.get(n) } else { known.outputs.get(n) });
    let plain = if list == "inputs" { Effect::Read } else { Effect::Write };
    let effect = role.map_or(plain, |role| role.access);
    if tile.is_null() || effect == Effect::None {
        return None;
    }
    let selects = role.map(|role| role.by).unwrap_or_default();
    Some(Access {
        node,
        at,
        storage: (rank, tile.base_ptr.to_string()),
        reads: matches!(effect, Effect::Read | Effect::Modify | Effect::Reset),
        writes: effect != Effect::Read,
        adds: effect == Effect::Add,
        resets: effect == Effect::Reset,
        parts: selects.iter().filter_map(|select| part(task, *select)).collect(),
        remote: false,
        dtype: tile.data_type,
        dims: tile.dims.to_vec(),
        strides: tile.strides.to_vec(),
        offset: tile.offset,
    })
}

fn part(task: &Task<'_>, select: Select) -> Option<Part> {
    let how = select.selection()?;
    let value = task.member(how.member)?;
    let own = if how.own { Some(task.task_type) } else { None };
    Some((select, own, if how.modulo == 0 { value } else { value.rem_euclid(how.modulo) }))
}

/// A put writes one slot in the memory of the rank whose event it triggers.
fn put(mut access: Access, task: &Task<'_>) -> Access {
    if is_put(task) {
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
        (i128::from(self.offset) * 8 / i128::from(self.bits())).try_into().unwrap_or(i64::MAX)
    }

    /// Whether it begins where an element does.
    pub fn aligned(&self) -> bool {
        self.offset >= 0 && i128::from(self.offset) * 8 % i128::from(self.bits()) == 0
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

/// An element, or a byte, for one choice of parts.
pub type Element = (i64, usize);

/// How the accesses of a storage are compared. Each goes for some choices of parts.
#[derive(Clone, Debug)]
pub enum Storage {
    /// As sets of elements, by index of the access.
    Regular(BTreeMap<usize, BTreeSet<Element>>),
    /// As ranges of bytes.
    Mixed(BTreeMap<usize, (i64, i64, BTreeSet<usize>)>),
}

impl Storage {
    /// What two accesses share.
    pub fn overlap(&self, a: usize, b: usize) -> BTreeSet<Element> {
        match self {
            Storage::Regular(of) => match (of.get(&a), of.get(&b)) {
                (Some(a), Some(b)) => a.intersection(b).copied().collect(),
                _ => BTreeSet::new(),
            },
            Storage::Mixed(of) => match (of.get(&a), of.get(&b)) {
                (Some(a), Some(b)) => {
                    a.2.intersection(&b.2)
                        .flat_map(|&choice| (a.0.max(b.0)..=a.1.min(b.1)).map(move |byte| (byte, choice)))
                        .collect()
                }
                _ => BTreeSet::new(),
            },
        }
    }

    /// Whether the access touches any of these.
    pub fn touches(&self, access: usize, elements: &BTreeSet<Element>) -> bool {
        match self {
            Storage::Regular(of) => of.get(&access).is_some_and(|own| !own.is_disjoint(elements)),
            Storage::Mixed(of) => of.get(&access).is_some_and(|(first, last, choices)| {
                elements
                    .iter()
                    .any(|(byte, choice)| (first..=last).contains(&byte) && choices.contains(choice))
            }),
        }
    }
}

/// Every choice of one part by each selection, or of none that is named.
fn choices(accesses: &[(usize, &Access)]) -> Vec<Vec<Part>> {
    let named: BTreeSet<Part> =
        accesses.iter().flat_map(|(_, access)| access.parts.iter().copied()).collect();
    let kinds: BTreeSet<(Select, Option<i64>)> = named.iter().map(|part| (part.0, part.1)).collect();
    kinds.into_iter().fold(vec![Vec::new()], |choices, kind| {
        let of_kind = named.iter().filter(move |part| (part.0, part.1) == kind);
        let each = |choice: &Vec<Part>| {
            let with = of_kind.clone().map(|part| choice.iter().chain([part]).copied().collect());
            with.chain([choice.clone()]).collect::<Vec<_>>()
        };
        choices.iter().flat_map(each).collect()
    })
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
        let choices = choices(&tiles);
        let fitting = |access: &Access| -> BTreeSet<usize> {
            let fits = |&choice: &usize| {
                let chosen = choices.get(choice).map(Vec::as_slice).unwrap_or_default();
                access.parts.iter().all(|part| chosen.contains(part))
            };
            (0..choices.len()).filter(fits).collect()
        };
        if mixed(&tiles) {
            let of = |access: &Access| {
                let (first, last) = access.bytes();
                (first, last, fitting(access))
            };
            return Storage::Mixed(tiles.iter().map(|(n, access)| (*n, of(access))).collect());
        }
        let of = |access: &Access| {
            let fitting = fitting(access);
            let elements = access.elements().into_iter();
            elements.flat_map(|element| fitting.iter().map(move |&choice| (element, choice))).collect()
        };
        Storage::Regular(tiles.iter().map(|(n, access)| (*n, of(access))).collect())
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
