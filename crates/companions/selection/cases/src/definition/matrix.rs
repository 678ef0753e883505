//! The matrix of a region, from its ops (clauses SEL-05 to SEL-12). Each sub-row is a list of what the ops say, in their
//! order, and the result follows from the whole list.

use std::collections::{BTreeMap, BTreeSet};

use megakernel_selection::document::{EPILOGUE, Extent};
use megakernel_selection::{Activation, Core, Dtype, Flag, Linearity, Op, Reason};
use serde_json::{Map, Value, json};

use super::{Fault, Question};

/// The matrix of a region that composes.
#[derive(Clone, Debug)]
pub struct Matrix {
    /// Classes.
    pub word: Vec<String>,
    /// `sig.core`.
    pub core: Option<&'static str>,
    /// `sig.linearity`.
    pub linearity: Option<Linearity>,
    /// Flags of the epilogue, by position.
    pub flags: BTreeSet<usize>,
    /// The activation; none is `none`.
    pub activation: Activation,
    /// Of each role: its integer, its symbols, whether it is unknown.
    pub roles: BTreeMap<String, Role>,
    /// `dtype.in` and `out`.
    pub chain: Option<(Dtype, Dtype)>,
    /// `dtype.acc`.
    pub acc: Option<Dtype>,
    /// `dtype.weight`.
    pub weight: Option<Dtype>,
    /// `layout.order`, `pack`, `trans`.
    pub layout: [Option<String>; 3],
    /// `effects.flags`.
    pub effects: BTreeSet<Flag>,
    /// `effects.reads` and `writes`, in the order of the ops.
    pub storage: [Vec<String>; 2],
    /// `requirements.required`.
    pub required: Option<u64>,
    /// `requirements.offered`.
    pub offered: Option<u64>,
}

/// What is known of a role.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Role {
    /// The integer of its class.
    pub extent: Option<i64>,
    /// The symbols of its class.
    pub symbols: BTreeSet<String>,
    /// Whether some op leaves it unknown.
    pub unknown: bool,
}

/// What comes of composing ops.
pub type Fold = Result<Matrix, Reason>;

/// The matrix of the ops from one on, up to another one, both included; or the reason that the last of them gives.
pub fn fold(question: &Question<'_>, anchor: usize, last: usize) -> Fold {
    let ops = question.ops.get(anchor..=last).unwrap_or_default();
    let failed: Vec<Reason> = Reason::ALL.iter().copied().filter(|&row| fails(question, ops, row)).collect();
    let named = if question.is(Fault::ReasonLast) { failed.last() } else { failed.first() };
    named.map_or_else(|| Ok(matrix(question, ops)), |&reason| Err(reason))
}

fn given<'o, T>(ops: &'o [Op], row: impl Fn(&'o Op) -> Option<T>) -> Vec<T> {
    ops.iter().filter_map(row).collect()
}

/// Whether a row of these ops fails.
fn fails(question: &Question<'_>, ops: &[Op], row: Reason) -> bool {
    let is = |fault| question.is(fault);
    match row {
        Reason::NotConnected => {
            (1..ops.len()).any(|at| !connected(question, ops, at)) && !is(Fault::Unconnected)
        }
        Reason::SigConflict => core(question, ops).is_none(),
        Reason::ActivationConflict => {
            let found = given(ops, |op| op.rows.activation);
            let once = [Activation::Relu, Activation::Relu6, Activation::Hardtanh];
            match found.as_slice() {
                [] | [_] => false,
                _ if is(Fault::ActivationOverwrites) => false,
                [first, ..] => {
                    found.iter().any(|other| other != first)
                        || (!once.contains(first) && !is(Fault::ActivationRepeats))
                        || is(Fault::ReluTwice)
                }
            }
        }
        Reason::EpilogueRepeat => {
            let twice =
                |flag: usize| ops.iter().filter(|op| op.rows.epilogue.get(flag) == Some(&true)).count() > 1;
            (0..3).any(twice) && !is(Fault::FlagsOr)
        }
        Reason::ShapeMismatch => roles(question, ops).is_none(),
        Reason::DtypeMismatch => {
            let chain = given(ops, |op| op.rows.dtype_in.zip(op.rows.dtype_out));
            let broken = chain.windows(2).any(|pair| matches!(pair, [(_, out), (into, _)] if out != into));
            let weights: BTreeSet<Dtype> = given(ops, |op| op.rows.weight).into_iter().collect();
            (broken && !is(Fault::ChainPromotes))
                || acc(question, ops).is_none()
                || (weights.len() > 1 && !is(Fault::WeightLast))
        }
        Reason::LayoutMismatch => {
            let different = |found: Vec<&String>| found.iter().collect::<BTreeSet<_>>().len() > 1;
            let trans = given(ops, |op| op.rows.trans.as_ref());
            let mut orders = given(ops, |op| op.rows.order.as_ref());
            let any = "any".to_owned();
            if is(Fault::AnyConflicts) && orders.len() < ops.len() && !orders.is_empty() {
                orders.push(&any);
            }
            different(orders)
                || different(given(ops, |op| op.rows.pack.as_ref()))
                || if is(Fault::TransTwice) { different(trans) } else { trans.len() > 1 }
        }
        Reason::EffectConflict => {
            let mut written: Vec<&String> = ops.iter().flat_map(|op| &op.rows.storage_writes).collect();
            let all = written.len();
            written.sort();
            written.dedup();
            written.len() < all && !is(Fault::WriteTwice)
        }
        Reason::RequirementConflict => {
            let required = required(question, ops);
            let impossible = required.is_some_and(|required| required > 1 << 32);
            let unmet = required
                .zip(offered(question, ops))
                .is_some_and(|(required, offered)| offered % u128::from(offered_of(required)) != 0);
            (impossible || unmet) && !is(Fault::RequirementLate)
        }
        Reason::NoViableKernel => false,
    }
}

fn offered_of(required: u128) -> u64 {
    u64::try_from(required).unwrap_or(u64::MAX).max(1)
}

/// Whether the op at a place has to do with those before it.
fn connected(question: &Question<'_>, ops: &[Op], at: usize) -> bool {
    let (before, rest) = ops.split_at(at);
    let reads = rest.first().map(|op| op.reads.as_slice()).unwrap_or_default();
    reads.iter().any(|value| {
        before.iter().any(|op| {
            op.writes.iter().any(|write| write.value == *value)
                || (op.reads.contains(value) && !question.is(Fault::ConnectedByWrites))
        })
    })
}

/// The core of the region, `None` inside where no op has one; `None` outside where it fails.
fn core(question: &Question<'_>, ops: &[Op]) -> Option<Option<&'static str>> {
    const TOP: [Core; 3] = [Core::Gemm, Core::Attention, Core::Opaque];
    let cores = given(ops, |op| op.rows.core);
    if let Some(at) = cores.iter().position(|core| TOP.contains(core)) {
        // Nothing but elementwise ops comes after.
        let allowed = |core: &Core| {
            *core == Core::Elementwise
                || (question.is(Fault::TwoProducts) && *core == Core::Gemm)
                || (question.is(Fault::NormAfterProduct) && *core == Core::Norm)
        };
        let top = cores.get(at..).unwrap_or_default();
        return top.iter().skip(1).all(allowed).then(|| top.first().map(|core| core.name()));
    }
    let (norm, moves) = (cores.contains(&Core::Norm), cores.contains(&Core::Move));
    Some(match (norm, moves) {
        (true, true) => Some("norm+move"),
        (true, false) => Some(Core::Norm.name()),
        (false, true) => Some(Core::Move.name()),
        (false, false) => cores.first().map(|core| core.name()),
    })
}

/// Every role with what is known of it, by solving the equations until nothing changes; `None` where they have no solution.
fn roles(question: &Question<'_>, ops: &[Op]) -> Option<BTreeMap<String, Role>> {
    let is = |fault| question.is(fault);
    let mut roles: BTreeMap<String, Role> = BTreeMap::new();
    let mut integers: Vec<(String, i64)> = Vec::new();
    for op in ops {
        for (name, extent) in &op.rows.shape {
            let role = roles.entry(name.clone()).or_default();
            match extent {
                Extent::Known(extent) => integers.push((name.clone(), *extent)),
                Extent::Symbol(symbol) => {
                    if is(Fault::SymbolIsOne) && !role.symbols.is_empty() && !role.symbols.contains(symbol) {
                        return None;
                    }
                    if !is(Fault::SymbolIgnored) {
                        role.symbols.insert(symbol.clone());
                    }
                }
                Extent::Unknown => role.unknown = !is(Fault::UnknownUnifies),
            }
        }
    }
    for (name, extent) in integers {
        let role = roles.entry(name).or_default();
        let other = role.extent.is_some_and(|known| known != extent);
        let ones = is(Fault::ExtentOne) && (extent == 1 || role.extent == Some(1));
        if other && !ones {
            return None;
        }
        role.extent = if ones { role.extent.max(Some(extent)) } else { Some(extent) };
    }
    loop {
        let mut changed = false;
        let all = roles.clone();
        for role in roles.values_mut() {
            for other in all.values() {
                if role.symbols.is_disjoint(&other.symbols) {
                    continue;
                }
                let before = role.clone();
                role.symbols.extend(other.symbols.iter().cloned());
                if let (Some(a), Some(b)) = (role.extent, other.extent)
                    && a != b
                {
                    return None;
                }
                role.extent = role.extent.or(other.extent);
                changed |= *role != before;
            }
        }
        if !changed {
            return Some(roles);
        }
    }
}

/// The accumulator, `None` inside where no op has one; `None` outside where there is no upper bound.
fn acc(question: &Question<'_>, ops: &[Op]) -> Option<Option<Dtype>> {
    let found = given(ops, |op| op.rows.acc);
    if found.is_empty() {
        return Some(None);
    }
    if question.is(Fault::AccFirst) {
        return Some(found.first().copied());
    }
    // From the least to the greatest: the first that is above all.
    let order = [
        Dtype::F8E4M3,
        Dtype::F8E5M2,
        Dtype::BF16,
        Dtype::F16,
        Dtype::F32,
        Dtype::I4,
        Dtype::I8,
        Dtype::I32,
        Dtype::Bool,
    ];
    let bound = order.into_iter().find(|&high| found.iter().all(|&low| below(question, low, high)));
    bound.map(Some)
}

/// Whether one dtype is at or below another.
pub fn below(question: &Question<'_>, low: Dtype, high: Dtype) -> bool {
    use Dtype::{BF16, F8E4M3, F8E5M2, F16, F32, I4, I8, I32};
    let direct = [(F8E4M3, F16), (F8E5M2, F16), (F16, F32), (BF16, F32), (I4, I8), (I8, I32)];
    let wrong = question.is(Fault::AccF8BF16) && matches!(low, F8E4M3 | F8E5M2) && matches!(high, BF16);
    low == high || wrong || direct.iter().any(|&(under, over)| under == low && below(question, over, high))
}

fn divisor(a: u128, b: u128) -> u128 {
    if b == 0 { a } else { divisor(b, a % b) }
}

fn required(question: &Question<'_>, ops: &[Op]) -> Option<u128> {
    let found = given(ops, |op| op.rows.required.map(|number| u128::from(number.unsigned_abs())));
    let multiple = |a: u128, b: u128| {
        if question.is(Fault::RequiredMax) {
            a.max(b)
        } else if a > 1 << 32 {
            a
        } else {
            a / divisor(a, b) * b
        }
    };
    found.into_iter().reduce(multiple)
}

fn offered(question: &Question<'_>, ops: &[Op]) -> Option<u128> {
    let found = given(ops, |op| op.rows.offered.map(|number| u128::from(number.unsigned_abs())));
    found.into_iter().reduce(|a, b| if question.is(Fault::OfferedMin) { a.min(b) } else { divisor(a, b) })
}

/// The matrix of ops of which no row fails.
fn matrix(question: &Question<'_>, ops: &[Op]) -> Matrix {
    let is = |fault| question.is(fault);
    let linearities = given(ops, |op| op.rows.linearity);
    let linearity = if is(Fault::LinearityLost) {
        linearities.last().copied()
    } else {
        linearities.iter().copied().max()
    };
    let activation = given(ops, |op| op.rows.activation).last().copied().unwrap_or(Activation::None);
    let chain = given(ops, |op| op.rows.dtype_in.zip(op.rows.dtype_out));
    let chain = chain.first().zip(chain.last()).map(|(first, last)| (first.0, last.1));
    let mut effects: BTreeSet<Flag> = BTreeSet::new();
    let mut storage: [Vec<String>; 2] = Default::default();
    for op in ops {
        if is(Fault::EffectsForgotten) {
            effects.clear();
        }
        effects.extend(&op.rows.flags);
        let meets = |names: &[String], held: &[String]| names.iter().any(|name| held.contains(name));
        let [reads, writes] = &mut storage;
        if meets(&op.rows.storage_reads, writes) && !is(Fault::ReadAfterWrite) {
            effects.insert(Flag::ReadAfterWrite);
        }
        if meets(&op.rows.storage_writes, reads) && !is(Fault::Overwrite) {
            effects.insert(Flag::Overwrite);
        }
        for (held, names) in [(reads, &op.rows.storage_reads), (writes, &op.rows.storage_writes)] {
            for name in names {
                if !held.contains(name) {
                    held.push(name.clone());
                }
            }
            if !is(Fault::NamesOrder) {
                held.sort();
            }
        }
    }
    let number = |number: Option<u128>| number.and_then(|number| u64::try_from(number).ok());
    Matrix {
        word: ops.iter().map(|op| op.rows.class.clone()).collect(),
        core: core(question, ops).flatten(),
        linearity,
        flags: (0..3)
            .filter(|&flag| ops.iter().any(|op| op.rows.epilogue.get(flag) == Some(&true)))
            .collect(),
        activation,
        roles: roles(question, ops).unwrap_or_default(),
        chain,
        acc: acc(question, ops).flatten(),
        weight: given(ops, |op| op.rows.weight).last().copied(),
        layout: [
            given(ops, |op| op.rows.order.clone()).pop(),
            given(ops, |op| op.rows.pack.clone()).pop(),
            given(ops, |op| op.rows.trans.clone()).pop(),
        ],
        effects,
        storage,
        required: number(required(question, ops)),
        offered: number(offered(question, ops)),
    }
}

impl Matrix {
    /// The extent of a role, if it is known.
    pub fn known(&self, role: &str) -> Option<i64> {
        self.roles.get(role).filter(|role| !role.unknown)?.extent
    }

    /// As a document (clause SEL-23).
    pub fn document(&self) -> Value {
        let mut rows = json!({"sig": {"word": self.word}});
        let mut put = |row: &str, name: &str, value: Value| {
            let members =
                rows.as_object_mut().map(|rows| rows.entry(row).or_insert_with(|| Value::Object(Map::new())));
            if let Some(Value::Object(members)) = members {
                members.insert(name.to_owned(), value);
            }
        };
        if let Some(core) = self.core {
            put("sig", "core", json!(core));
        }
        if let Some(linearity) = self.linearity {
            put("sig", "linearity", json!(linearity.name()));
        }
        for (name, role) in &self.roles {
            let shown = match (role.unknown, role.extent, role.symbols.iter().next()) {
                (false, Some(extent), _) => json!(extent),
                (false, None, Some(symbol)) => json!(symbol),
                _ => json!("?"),
            };
            put("shape", name, shown);
        }
        if let Some((first, last)) = self.chain {
            put("dtype", "in", json!(first.name()));
            put("dtype", "out", json!(last.name()));
        }
        for (name, dtype) in [("acc", self.acc), ("weight", self.weight)] {
            if let Some(dtype) = dtype {
                put("dtype", name, json!(dtype.name()));
            }
        }
        for (name, layout) in ["order", "pack", "trans"].iter().zip(&self.layout) {
            if let Some(layout) = layout {
                put("layout", name, json!(layout));
            }
        }
        for &flag in &self.flags {
            put("epilogue", EPILOGUE.get(flag).copied().unwrap_or_default(), json!(true));
        }
        if self.activation != Activation::None {
            put("epilogue", "activation", json!(self.activation.name()));
        }
        if !self.effects.is_empty() {
            let mut names: Vec<_> = self.effects.iter().map(|flag| flag.name()).collect();
            names.sort_unstable();
            put("effects", "flags", json!(names));
        }
        for (name, held) in ["reads", "writes"].iter().zip(&self.storage) {
            if !held.is_empty() {
                put("effects", name, json!(held));
            }
        }
        for (name, number) in [("required", self.required), ("offered", self.offered)] {
            if let Some(number) = number {
                put("requirements", name, json!(number));
            }
        }
        rows
    }
}
