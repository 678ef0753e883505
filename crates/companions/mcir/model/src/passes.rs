//! Requests to transform (clause MCI-20).

use megakernel_ir::decode::{Decode, Fault, Place};
use serde_json::Value as Json;

use crate::decode::{Decoder, decoded, read};
use crate::document::{Document, Target};
use crate::graph::{Graph, read_graph};

/// What can be made of a graph, or of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pass {
    /// Attention that is written out becomes a node of a graph.
    AttentionPattern,
    /// A graph becomes a document of tiles and streams.
    StreamingConversion,
    /// Loads of a document begin an iteration ahead.
    TileScheduling,
    /// Tiles of a document are kept no longer than they have to be.
    ResidencyAssignment,
    /// Tensors between the regions of a document become tiles.
    MaterializationElimination,
}

impl Pass {
    /// All of them.
    pub const ALL: &'static [Pass] = &[
        Pass::AttentionPattern,
        Pass::StreamingConversion,
        Pass::TileScheduling,
        Pass::ResidencyAssignment,
        Pass::MaterializationElimination,
    ];

    /// As requests write it.
    pub const fn name(self) -> &'static str {
        match self {
            Pass::AttentionPattern => "AttentionPatternPass",
            Pass::StreamingConversion => "StreamingConversionPass",
            Pass::TileScheduling => "TileSchedulingPass",
            Pass::ResidencyAssignment => "ResidencyAssignmentPass",
            Pass::MaterializationElimination => "MaterializationEliminationPass",
        }
    }

    /// The member of a request that has what it takes.
    pub const fn takes(self) -> &'static str {
        match self {
            Pass::AttentionPattern | Pass::StreamingConversion => "graph",
            Pass::TileScheduling | Pass::ResidencyAssignment | Pass::MaterializationElimination => "document",
        }
    }

    /// Reads what it takes, by itself.
    ///
    /// # Errors
    /// Faults of the rules S03 to S05; never none.
    pub fn read_source(self, value: &Json) -> Result<Source, Vec<Fault>> {
        match self {
            Pass::AttentionPattern | Pass::StreamingConversion => read_graph(value).map(Source::Graph),
            _ => read(value).map(Source::Document),
        }
    }

    /// Reads what it answers.
    ///
    /// # Errors
    /// Faults of the rules S03 to S05; never none.
    pub fn read_answer(self, value: &Json) -> Result<Source, Vec<Fault>> {
        match self {
            Pass::AttentionPattern => read_graph(value).map(Source::Graph),
            _ => read(value).map(Source::Document),
        }
    }
}

/// A graph or a document.
#[derive(Clone, Debug)]
pub enum Source {
    /// A semantic graph.
    Graph(Graph),
    /// Memory-centric IR.
    Document(Document),
}

/// A request to transform.
#[derive(Clone, Debug)]
pub struct Request {
    /// The pass.
    pub pass: Pass,
    /// What it is applied to.
    pub source: Source,
    /// What there is of memory, of a request for StreamingConversionPass.
    pub target: Target,
}

/// Reads a request to transform.
///
/// # Errors
/// Faults of the rules S03 to S05; never none.
pub fn read_transform(value: &Json) -> Result<Request, Vec<Fault>> {
    decoded(|decoder| {
        let at = Place::root(value);
        decoder.object(&at)?;
        let pass =
            decoder.required(&at, "pass", |decoder, at| decoder.named(at, "pass", Pass::ALL, Pass::name))?;
        let source = match pass.takes() {
            "graph" => decoder.required(&at, "graph", Decoder::graph).map(Source::Graph),
            _ => decoder.required(&at, "document", Decoder::document).map(Source::Document),
        };
        let target = match pass {
            Pass::StreamingConversion => decoder.optional(&at, "target", Decoder::target),
            _ => None,
        };
        Some(Request { pass, source: source?, target: target.unwrap_or_default() })
    })
}
