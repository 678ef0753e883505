//! The records of the documents. Numbers and rational texts are as they stand there; whether they are in range is for the
//! KS rules.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;

use crate::names::{Activation, Core, Dtype, Flag, Linearity, Marker};

/// Any document that `validate` takes (clause SEL-01).
#[derive(Clone, Debug)]
pub enum Document {
    /// What is to be computed.
    Sequence(Sequence),
    /// What it can be computed with.
    Index(Index),
    /// Asks for a plan.
    Request(Request),
    /// A plan to be judged.
    Review(Review),
}

/// Operators in a row (clause SEL-02). The id of an op is its position.
#[derive(Clone, Debug, Default)]
pub struct Sequence {
    /// The ops.
    pub ops: Vec<Op>,
    /// The names of values, which ops refer to by position.
    pub values: Vec<String>,
}

/// One operator.
#[derive(Clone, Debug)]
pub struct Op {
    /// Values that it reads, operand by operand.
    pub reads: Vec<u32>,
    /// Values that it computes.
    pub writes: Vec<Write>,
    /// A cut before it.
    pub marker: Option<Marker>,
    /// Its attribute matrix. Ops of one document whose matrices are equal share it.
    pub rows: Arc<Rows>,
}

/// A value as its writer declares it.
#[derive(Clone, Debug)]
pub struct Write {
    /// The value.
    pub value: u32,
    /// Ids of the ops that read it.
    pub readers: Vec<i64>,
    /// Whether it is a result of the whole.
    pub output: bool,
}

/// The attribute matrix of an op (clause SEL-03). What is absent is empty, false or `None`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Rows {
    /// `sig.class`.
    pub class: String,
    /// `sig.core`.
    pub core: Option<Core>,
    /// `sig.linearity`.
    pub linearity: Option<Linearity>,
    /// `shape`: extents of roles.
    pub shape: BTreeMap<String, Extent>,
    /// `dtype.in`.
    pub dtype_in: Option<Dtype>,
    /// `dtype.out`.
    pub dtype_out: Option<Dtype>,
    /// `dtype.acc`.
    pub acc: Option<Dtype>,
    /// `dtype.weight`.
    pub weight: Option<Dtype>,
    /// `layout.order`, unless `any`.
    pub order: Option<String>,
    /// `layout.pack`.
    pub pack: Option<String>,
    /// `layout.trans`.
    pub trans: Option<String>,
    /// `epilogue.bias`, `scale` and `residual`.
    pub epilogue: [bool; 3],
    /// `epilogue.activation`, unless `none`.
    pub activation: Option<Activation>,
    /// `effects.flags`.
    pub flags: Vec<Flag>,
    /// `effects.reads`.
    pub storage_reads: Vec<String>,
    /// `effects.writes`.
    pub storage_writes: Vec<String>,
    /// `requirements.required`.
    pub required: Option<i64>,
    /// `requirements.offered`.
    pub offered: Option<i64>,
}

/// Names of the flags of the row `epilogue`, in the order of [`Rows::epilogue`].
pub const EPILOGUE: [&str; 3] = ["bias", "scale", "residual"];

impl Rows {
    /// The matrix of an op of which only the class is known.
    pub fn of_class(class: &str) -> Rows {
        Rows {
            class: class.to_owned(),
            core: None,
            linearity: None,
            shape: BTreeMap::new(),
            dtype_in: None,
            dtype_out: None,
            acc: None,
            weight: None,
            order: None,
            pack: None,
            trans: None,
            epilogue: [false; 3],
            activation: None,
            flags: Vec::new(),
            storage_reads: Vec::new(),
            storage_writes: Vec::new(),
            required: None,
            offered: None,
        }
    }
}

/// The extent of an axis.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Extent {
    /// Known.
    Known(i64),
    /// Not known, but the same everywhere.
    Symbol(String),
    /// Nothing is known.
    Unknown,
}

/// The kernels to choose from (clause SEL-13).
#[derive(Clone, Debug, Default)]
pub struct Index {
    /// In the order of the document, which has no effect.
    pub kernels: Vec<Kernel>,
}

/// A kernel.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// Its name.
    pub id: String,
    /// The ops that it does.
    pub stages: Vec<Stage>,
    /// What it asks of a region.
    pub constraints: Constraints,
    /// What it costs.
    pub cost: Cost,
}

/// A step of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stage {
    /// Class of the op.
    pub class: String,
    /// Core that the op has to have.
    pub core: Option<Core>,
    /// Whether the kernel can do without.
    pub optional: bool,
    /// Operands that the region computes itself.
    pub chain: Option<Vec<i64>>,
    /// Whether the kernel writes out what the op writes.
    pub out: bool,
    /// Whether it rounds what the op writes.
    pub rounds: bool,
}

/// What a kernel asks of a region (clause SEL-14).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Constraints {
    /// Extents by role.
    pub shape: BTreeMap<String, RoleRange>,
    /// `dtype.in`.
    pub dtype_in: Option<Vec<Dtype>>,
    /// `dtype.out`.
    pub dtype_out: Option<Vec<Dtype>>,
    /// `dtype.acc`.
    pub acc: Option<Vec<Dtype>>,
    /// `dtype.weight`.
    pub weight: Option<Vec<Dtype>>,
    /// `layout.order`.
    pub order: Option<Vec<String>>,
    /// `layout.pack`.
    pub pack: Option<Vec<String>>,
    /// `layout.trans`.
    pub trans: Option<Vec<String>>,
    /// `epilogue.allow`, as positions in [`EPILOGUE`].
    pub allow: Option<Vec<usize>>,
    /// `epilogue.require`.
    pub require: Vec<usize>,
    /// `epilogue.activation`.
    pub activation: Option<Vec<Activation>>,
    /// Effects that it may have.
    pub effects: Vec<Flag>,
    /// `requirements.align`.
    pub align: Option<i64>,
    /// `requirements.vector`.
    pub vector: Option<i64>,
}

/// The extents that a kernel takes for a role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RoleRange {
    /// At least.
    pub min: i64,
    /// At most, if there is a limit.
    pub max: Option<i64>,
    /// A multiple of it.
    pub multiple: i64,
}

/// What a kernel costs (clause SEL-16).
#[derive(Clone, Debug)]
pub struct Cost {
    /// A rational text.
    pub fixed: String,
    /// Bytes that it moves.
    pub bytes: Vec<Term>,
    /// Operations that it does.
    pub flops: Vec<Term>,
}

/// A product of extents.
#[derive(Clone, Debug)]
pub struct Term {
    /// A rational text.
    pub times: String,
    /// Roles.
    pub dims: Vec<String>,
}

/// Asks for a plan.
#[derive(Clone, Debug)]
pub struct Request {
    /// What is to be computed.
    pub sequence: Sequence,
    /// With what.
    pub index: Index,
    /// How.
    pub options: Options,
}

/// The members of `options` (clause SEL-01).
#[derive(Clone, Debug)]
pub struct Options {
    /// Most ops of a region.
    pub limit: i64,
    /// How many states are kept.
    pub beam: i64,
    /// What costs are computed for.
    pub machine: Option<Machine>,
}

impl Default for Options {
    fn default() -> Options {
        Options { limit: 64, beam: 1, machine: None }
    }
}

/// What costs are computed for; rational texts.
#[derive(Clone, Debug)]
pub struct Machine {
    /// Gigabytes a second.
    pub gbs: String,
    /// 10^12 operations a second.
    pub tflops: String,
}

/// A plan to be judged.
#[derive(Clone, Debug)]
pub struct Review {
    /// What is to be computed, with what and how.
    pub request: Request,
    /// The plan.
    pub plan: GivenPlan,
}

/// A plan as somebody states it.
#[derive(Clone, Debug)]
pub struct GivenPlan {
    /// The regions.
    pub regions: Vec<GivenRegion>,
    /// `cost`, if it is there.
    pub cost: Option<Value>,
}

/// A region as somebody states it.
#[derive(Clone, Debug)]
pub struct GivenRegion {
    /// First op.
    pub anchor: i64,
    /// Last op.
    pub last: i64,
    /// Id of its kernel.
    pub kernel: String,
    /// `trigger`, `reason`, `cost` and `attrs`, where they are there.
    pub given: Vec<(&'static str, Value)>,
}
