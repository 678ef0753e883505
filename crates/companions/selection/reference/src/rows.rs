//! What becomes of the attribute matrix when an op joins a region (clauses SEL-05 to SEL-12). The word is not kept here:
//! it is the classes of the ops.

use std::collections::BTreeSet;

use megakernel_selection::{Activation, Core, Dtype, Flag, Flags, Linearity, Reason, Rows};

use crate::shape::Shape;

/// The matrix of a region. What nobody filled is empty, false or `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Matrix {
    /// `sig.core`.
    pub core: Option<CoreState>,
    /// `sig.linearity`.
    pub linearity: Option<Linearity>,
    /// `epilogue.activation`.
    pub activation: Option<Activation>,
    /// `epilogue.bias`, `scale` and `residual`.
    pub epilogue: [bool; 3],
    /// `shape`.
    pub shape: Shape,
    /// `dtype.in` and `dtype.out`.
    pub chain: Option<(Dtype, Dtype)>,
    /// `dtype.acc`.
    pub acc: Option<Dtype>,
    /// `dtype.weight`.
    pub weight: Option<Dtype>,
    /// `layout.order`.
    pub order: Option<String>,
    /// `layout.pack`.
    pub pack: Option<String>,
    /// `layout.trans`.
    pub trans: Option<String>,
    /// `effects.flags`.
    pub flags: Flags,
    /// `effects.reads`.
    pub storage_reads: BTreeSet<String>,
    /// `effects.writes`.
    pub storage_writes: BTreeSet<String>,
    /// `requirements.required`.
    pub required: Option<u64>,
    /// `requirements.offered`.
    pub offered: Option<u64>,
}

/// A core, or what comes of two.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CoreState {
    /// One of an op.
    Of(Core),
    /// A norm and a move.
    NormMove,
}

impl CoreState {
    /// The name in documents.
    pub const fn name(self) -> &'static str {
        match self {
            CoreState::Of(core) => core.name(),
            CoreState::NormMove => "norm+move",
        }
    }
}

/// No alignment is larger.
pub const MOST_ALIGNED: u64 = 1 << 32;

impl Matrix {
    /// The matrix of a region of one op.
    pub fn of(rows: &Rows) -> Matrix {
        // An op by itself has at most one extent a role: nothing can differ.
        let mut shape = Shape::default();
        for (role, extent) in &rows.shape {
            shape = shape.united(&Shape::of(role, extent)).unwrap_or(shape);
        }
        Matrix {
            core: rows.core.map(CoreState::Of),
            linearity: rows.linearity,
            activation: rows.activation,
            epilogue: rows.epilogue,
            shape,
            chain: rows.dtype_in.zip(rows.dtype_out),
            acc: rows.acc,
            weight: rows.weight,
            order: rows.order.clone(),
            pack: rows.pack.clone(),
            trans: rows.trans.clone(),
            flags: rows.flags.iter().copied().collect(),
            storage_reads: rows.storage_reads.iter().cloned().collect(),
            storage_writes: rows.storage_writes.iter().cloned().collect(),
            required: rows.required.map(i64::unsigned_abs),
            offered: rows.offered.map(i64::unsigned_abs),
        }
    }

    /// The matrix with one more op, connection left out of account.
    ///
    /// # Errors
    /// The first row that fails.
    pub fn compose(&self, rows: &Rows) -> Result<Matrix, Reason> {
        self.then(&Matrix::of(rows))
    }

    /// The matrix of this region with another one behind it, connection left out of account.
    ///
    /// # Errors
    /// The first row that fails.
    pub fn then(&self, other: &Matrix) -> Result<Matrix, Reason> {
        let core = both(self.core, other.core, cores).ok_or(Reason::SigConflict)?;
        let activation =
            both(self.activation, other.activation, |a, b| (a == b && idempotent(a)).then_some(a))
                .ok_or(Reason::ActivationConflict)?;
        let mut epilogue = self.epilogue;
        for (flag, &added) in epilogue.iter_mut().zip(&other.epilogue) {
            if *flag && added {
                return Err(Reason::EpilogueRepeat);
            }
            *flag |= added;
        }
        let shape = self.shape.united(&other.shape).ok_or(Reason::ShapeMismatch)?;
        let chain = both(self.chain, other.chain, |(first, out), (into, last)| {
            (out == into).then_some((first, last))
        })
        .ok_or(Reason::DtypeMismatch)?;
        let acc = both(self.acc, other.acc, join).ok_or(Reason::DtypeMismatch)?;
        let weight = both(self.weight, other.weight, same).ok_or(Reason::DtypeMismatch)?;
        let order = both(self.order.clone(), other.order.clone(), same).ok_or(Reason::LayoutMismatch)?;
        let pack = both(self.pack.clone(), other.pack.clone(), same).ok_or(Reason::LayoutMismatch)?;
        let trans =
            both(self.trans.clone(), other.trans.clone(), |_, _| None).ok_or(Reason::LayoutMismatch)?;
        if !self.storage_writes.is_disjoint(&other.storage_writes) {
            return Err(Reason::EffectConflict);
        }
        let mut flags = self.flags.union(other.flags);
        if !self.storage_writes.is_disjoint(&other.storage_reads) {
            flags = flags.with(Flag::ReadAfterWrite);
        }
        if !self.storage_reads.is_disjoint(&other.storage_writes) {
            flags = flags.with(Flag::Overwrite);
        }
        let required = both(self.required, other.required, multiple).ok_or(Reason::RequirementConflict)?;
        let offered = both(self.offered, other.offered, |a, b| Some(divisor(a, b))).flatten();
        if let (Some(required), Some(offered)) = (required, offered)
            && offered % required.max(1) != 0
        {
            return Err(Reason::RequirementConflict);
        }
        let linearity = self.linearity.max(other.linearity);
        let storage_reads = &self.storage_reads | &other.storage_reads;
        let storage_writes = &self.storage_writes | &other.storage_writes;
        Ok(Matrix {
            core,
            linearity,
            activation,
            epilogue,
            shape,
            chain,
            acc,
            weight,
            order,
            pack,
            trans,
            flags,
            storage_reads,
            storage_writes,
            required,
            offered,
        })
    }
}

/// The result of a sub-row: of two that are there the operator's, which may fail; otherwise the one that is there.
fn both<T>(state: Option<T>, op: Option<T>, operator: impl Fn(T, T) -> Option<T>) -> Option<Option<T>> {
    match (state, op) {
        (Some(state), Some(op)) => operator(state, op).map(Some),
        (state, op) => Some(state.or(op)),
    }
}

fn same<T: PartialEq>(a: T, b: T) -> Option<T> {
    (a == b).then_some(a)
}

fn cores(state: CoreState, op: CoreState) -> Option<CoreState> {
    use Core::{Attention, Elementwise, Gemm, Move, Norm, Opaque};
    use CoreState::{NormMove, Of};
    Some(match (state, op) {
        (any, Of(Elementwise)) | (Of(Elementwise), any) => any,
        (Of(Gemm | Attention | Opaque), _) => return None,
        (_, top @ Of(Gemm | Attention | Opaque)) => top,
        (Of(Norm), Of(Norm)) => Of(Norm),
        (Of(Move), Of(Move)) => Of(Move),
        (Of(Norm | Move) | NormMove, Of(Norm | Move) | NormMove) => NormMove,
    })
}

const fn idempotent(activation: Activation) -> bool {
    matches!(activation, Activation::Relu | Activation::Relu6 | Activation::Hardtanh)
}

/// Above it in the order of SEL-10, nearest first.
const fn above(dtype: Dtype) -> &'static [Dtype] {
    match dtype {
        Dtype::F8E4M3 | Dtype::F8E5M2 => &[Dtype::F16, Dtype::F32],
        Dtype::F16 | Dtype::BF16 => &[Dtype::F32],
        Dtype::I4 => &[Dtype::I8, Dtype::I32],
        Dtype::I8 => &[Dtype::I32],
        Dtype::F32 | Dtype::I32 | Dtype::Bool => &[],
    }
}

/// Whether one is at or below another in the order of SEL-10.
pub fn at_or_below(low: Dtype, high: Dtype) -> bool {
    low == high || above(low).contains(&high)
}

fn join(a: Dtype, b: Dtype) -> Option<Dtype> {
    std::iter::once(&a).chain(above(a)).copied().find(|&bound| at_or_below(b, bound))
}

fn divisor(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { divisor(b, a % b) }
}

fn multiple(a: u64, b: u64) -> Option<u64> {
    let multiple = (a / divisor(a, b).max(1)).checked_mul(b)?;
    (multiple <= MOST_ALIGNED).then_some(multiple)
}
