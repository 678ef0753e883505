//! The records of a semantic graph (clause MCI-18), and their reading.

use megakernel_ir::decode::{Decode, Fault, Intern, Place};
use serde_json::Value as Json;

use crate::decode::{Decoder, decoded};
use crate::document::{Binary, Dtype, Fold, Unary};

/// A semantic graph.
#[derive(Clone, Debug, Default)]
pub struct Graph {
    /// Every name that the graph uses.
    pub names: Vec<String>,
    /// By name, in the order of the names.
    pub values: Vec<GraphValue>,
    /// Values that are there before.
    pub inputs: Vec<u32>,
    /// Values that are asked for.
    pub outputs: Vec<u32>,
    /// In an order in which they can be computed.
    pub nodes: Vec<GraphNode>,
}

/// A value of a graph.
#[derive(Clone, Debug)]
pub struct GraphValue {
    /// Its name.
    pub name: u32,
    /// Extents, outermost first.
    pub shape: Vec<i64>,
    /// Where it is rounded to.
    pub dtype: Dtype,
}

/// A node of a graph.
#[derive(Clone, Debug)]
pub struct GraphNode {
    /// Its id.
    pub id: u32,
    /// What it computes.
    pub op: GraphOp,
    /// What it reads.
    pub ins: Vec<u32>,
    /// What it produces.
    pub out: u32,
}

/// What lies on one side of the diagonal, and in a window.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Masked {
    /// How far the diagonal is moved to the right.
    pub offset: i64,
    /// How many columns a row has, at most.
    pub window: Option<i64>,
}

/// What a node of a graph computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GraphOp {
    /// The product of two matrices.
    Matmul,
    /// Each matrix the other way round.
    Transpose,
    /// Element by element, of one value.
    Unary(Unary),
    /// Times a fraction.
    Scale([i64; 2]),
    /// Element by element, of two values.
    Binary(Binary),
    /// Along an axis, which stays.
    Reduce(Fold, i64),
    /// Only what lies on one side of the diagonal.
    Mask(Masked),
    /// Exponentials of an axis, divided by their sum.
    Softmax(i64),
    /// Divided by the root of the mean square.
    RmsNorm([i64; 2]),
    /// The same about the mean.
    LayerNorm([i64; 2]),
    /// Pairs turned by angles.
    Rope,
    /// Values weighted by the softmax of scores.
    Attention([i64; 2], Option<Masked>),
}

impl GraphOp {
    /// As graphs write it.
    pub const fn name(self) -> &'static str {
        match self {
            GraphOp::Matmul => "matmul",
            GraphOp::Transpose => "transpose",
            GraphOp::Unary(unary) => unary.name(),
            GraphOp::Scale(_) => "scale",
            GraphOp::Binary(binary) => binary.name(),
            GraphOp::Reduce(..) => "reduce",
            GraphOp::Mask(_) => "mask",
            GraphOp::Softmax(_) => "softmax",
            GraphOp::RmsNorm(_) => "rms_norm",
            GraphOp::LayerNorm(_) => "layer_norm",
            GraphOp::Rope => "rope",
            GraphOp::Attention(..) => "attention",
        }
    }

    /// How many values it reads.
    pub const fn arity(self) -> usize {
        match self {
            GraphOp::Matmul | GraphOp::Binary(_) | GraphOp::RmsNorm(_) => 2,
            GraphOp::LayerNorm(_) | GraphOp::Rope | GraphOp::Attention(..) => 3,
            _ => 1,
        }
    }

    /// All of them, without what their members say.
    fn all() -> Vec<GraphOp> {
        let (one, none) = ([1, 1], Masked::default());
        let mut all = vec![GraphOp::Matmul, GraphOp::Transpose];
        all.extend(Unary::ALL.iter().map(|&unary| GraphOp::Unary(unary)));
        all.push(GraphOp::Scale(one));
        all.extend(Binary::ALL.iter().map(|&binary| GraphOp::Binary(binary)));
        all.extend([GraphOp::Reduce(Fold::Sum, 0), GraphOp::Mask(none), GraphOp::Softmax(0)]);
        all.extend([GraphOp::RmsNorm(one), GraphOp::LayerNorm(one), GraphOp::Rope]);
        all.push(GraphOp::Attention(one, None));
        all
    }
}

/// Whether `validate` takes a document for a graph.
pub fn is_graph(value: &Json) -> bool {
    value.get("nodes").is_some() && value.get("regions").is_none()
}

/// Reads a graph.
///
/// # Errors
/// Faults of the rules S03 to S05; never none.
pub fn read_graph(value: &Json) -> Result<Graph, Vec<Fault>> {
    decoded(|decoder| decoder.graph(&Place::root(value)))
}

impl Decoder {
    pub(crate) fn graph(&mut self, at: &Place<'_>) -> Option<Graph> {
        self.object(at)?;
        let values = self.required(at, "values", |decoder, at| Some(decoder.map(at, Decoder::graph_value)));
        let inputs = self.required(at, "inputs", Decoder::names);
        let outputs = self.required(at, "outputs", Decoder::names);
        let nodes = self.required(at, "nodes", |decoder, at| decoder.array(at, Decoder::graph_node));
        Some(Graph {
            names: self.met_names(),
            values: values?,
            inputs: inputs?,
            outputs: outputs?,
            nodes: nodes?,
        })
    }

    fn graph_value(&mut self, name: u32, at: &Place<'_>) -> Option<GraphValue> {
        self.object(at)?;
        let shape = self.required(at, "shape", |decoder, at| decoder.array(at, Decoder::integer));
        let dtype =
            self.required(at, "dtype", |decoder, at| decoder.named(at, "dtype", Dtype::ALL, Dtype::name));
        Some(GraphValue { name, shape: shape?, dtype: dtype? })
    }

    fn graph_node(&mut self, at: &Place<'_>) -> Option<GraphNode> {
        self.object(at)?;
        let id = self.required(at, "id", Decoder::name);
        let op = self.required(at, "op", |decoder, at| {
            decoder.named(at, "op of a graph", &GraphOp::all(), GraphOp::name)
        });
        let ins = self.required(at, "in", Decoder::names);
        let out = self.required(at, "out", Decoder::name);
        let op = match op? {
            GraphOp::Scale(_) => GraphOp::Scale(self.required(at, "by", Decoder::fraction)?),
            GraphOp::Reduce(..) => {
                let fold = self
                    .required(at, "fn", |decoder, at| decoder.named(at, "reduction", Fold::ALL, Fold::name));
                let axis = self.required(at, "axis", Decoder::integer);
                GraphOp::Reduce(fold?, axis?)
            }
            GraphOp::Mask(_) => GraphOp::Mask(self.masked(at)?),
            GraphOp::Softmax(_) => GraphOp::Softmax(self.required(at, "axis", Decoder::integer)?),
            GraphOp::RmsNorm(_) => GraphOp::RmsNorm(self.required(at, "eps", Decoder::fraction)?),
            GraphOp::LayerNorm(_) => GraphOp::LayerNorm(self.required(at, "eps", Decoder::fraction)?),
            GraphOp::Attention(..) => {
                let by = self.optional(at, "by", Decoder::fraction).unwrap_or([1, 1]);
                GraphOp::Attention(by, self.nullable(at, "mask", Decoder::masked))
            }
            other => other,
        };
        Some(GraphNode { id: id?, op, ins: ins?, out: out? })
    }

    fn masked(&mut self, at: &Place<'_>) -> Option<Masked> {
        self.object(at)?;
        let offset = self.optional(at, "offset", Decoder::integer).unwrap_or(0);
        Some(Masked { offset, window: self.nullable(at, "window", Decoder::integer) })
    }
}
