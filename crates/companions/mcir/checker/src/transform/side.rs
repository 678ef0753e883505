//! What a pass takes and what it makes: a graph or a document, each of which can be evaluated.

use std::collections::{HashMap, HashSet};

use megakernel_mcir::kernel::Tensor;
use megakernel_mcir::{Document, Dtype, Graph, Kernels, Source};

use super::bounds::{Bounded, Bounds};
use super::evaluate::{Held, Numbers, Scores, evaluate};
use super::valid::{Shapes, shapes};
use crate::document::{Counted, run, valid::well_formed};
use crate::kernel;

/// One of the two sides of a pass, or of a lowering. It breaks no rule, as far as shows before it is evaluated.
pub enum Side {
    Graph {
        graph: Graph,
        shapes: Shapes,
        work: u64,
    },
    Document {
        document: Document,
        most: u64,
    },
    /// Kernels, with what each may hold.
    Kernels {
        kernels: Kernels,
        most: u64,
        bytes: Vec<[i64; 2]>,
    },
}

impl Side {
    /// One that takes so many operations at most.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn of(source: Source, most: u64) -> Result<Side, String> {
        match source {
            Source::Graph(graph) => {
                let (shapes, work) = shapes(&graph, usize::try_from(most).unwrap_or(usize::MAX))?;
                Ok(Side::Graph { graph, shapes, work: work as u64 })
            }
            Source::Document(document) => {
                well_formed(&document)?;
                let inputs: HashSet<u32> = document.inputs.iter().copied().collect();
                let size = document.values.iter().filter(|value| inputs.contains(&value.name)).fold(
                    0_u64,
                    |sum, value| {
                        let extents = value.shape.iter().map(|extent| extent.unsigned_abs());
                        sum.saturating_add(extents.fold(1, u64::saturating_mul))
                    },
                );
                if size > most {
                    return Err(format!(
                        "the inputs have {size} elements, and up to {most} are judged (MCI-21)"
                    ));
                }
                Ok(Side::Document { document, most })
            }
        }
    }

    pub fn name(&self, name: u32) -> &str {
        match self {
            Side::Graph { graph, .. } => &graph.names[name as usize],
            Side::Document { document, .. } => &document.names[name as usize],
            Side::Kernels { kernels, .. } => &kernels.names[name as usize],
        }
    }

    pub fn inputs(&self) -> &[u32] {
        match self {
            Side::Graph { graph, .. } => &graph.inputs,
            Side::Document { document, .. } => &document.inputs,
            Side::Kernels { kernels, .. } => &kernels.inputs,
        }
    }

    pub fn outputs(&self) -> &[u32] {
        match self {
            Side::Graph { graph, .. } => &graph.outputs,
            Side::Document { document, .. } => &document.outputs,
            Side::Kernels { kernels, .. } => &kernels.outputs,
        }
    }

    /// Names, shapes and dtypes of inputs or outputs.
    pub fn interface(&self, names: &[u32]) -> Vec<(&str, Vec<usize>, Dtype)> {
        let extents = |shape: &[i64]| -> Vec<usize> {
            shape.iter().map(|&extent| usize::try_from(extent).unwrap_or(0)).collect()
        };
        let known: HashMap<u32, (Vec<usize>, Dtype)> = match self {
            Side::Graph { graph, shapes, .. } => {
                let one = |value: &'_ megakernel_mcir::GraphValue| {
                    (value.name, (shapes.get(&value.name).cloned().unwrap_or_default(), value.dtype))
                };
                graph.values.iter().map(one).collect()
            }
            Side::Document { document, .. } => document
                .values
                .iter()
                .map(|value| (value.name, (extents(&value.shape), value.dtype)))
                .collect(),
            Side::Kernels { kernels, .. } => {
                let one = |tensor: &Tensor| (tensor.name, (extents(&tensor.shape), tensor.dtype));
                kernels.tensors.iter().map(one).collect()
            }
        };
        let one = |name: &u32| {
            let (shape, dtype) = known.get(name).cloned().unwrap_or((Vec::new(), Dtype::F32));
            (self.name(*name), shape, dtype)
        };
        names.iter().map(one).collect()
    }

    /// What it holds, inputs included, and what was counted on the way.
    ///
    /// # Errors
    /// What goes wrong in a document.
    pub fn evaluate<N: Numbers>(
        &self,
        numbers: &N,
        inputs: &Held<N::Number>,
        scores: Option<&mut Scores<N::Number>>,
    ) -> Result<(Held<N::Number>, Counted), String> {
        match self {
            Side::Graph { graph, shapes, work } => {
                let held = evaluate(graph, shapes, numbers, inputs, scores.unwrap_or(&mut Scores::new()));
                Ok((held, Counted { work: *work, ..Counted::default() }))
            }
            Side::Document { document, most } => run(document, numbers, inputs, *most, scores),
            Side::Kernels { kernels, most, bytes } => kernel::run(kernels, numbers, inputs, *most, bytes),
        }
    }

    /// What is counted, whatever the inputs hold.
    ///
    /// # Errors
    /// What goes wrong in a document.
    pub fn counted(&self) -> Result<Counted, String> {
        if let Side::Graph { work, .. } = self {
            return Ok(Counted { work: *work, ..Counted::default() });
        }
        let zeros = |(name, shape, _): (&str, Vec<usize>, Dtype)| {
            (name.to_owned(), vec![Bounded::exact(0.0); shape.iter().product()])
        };
        let inputs: Held<Bounded> = self.interface(self.inputs()).into_iter().map(zeros).collect();
        self.evaluate(&Bounds, &inputs, None).map(|(_, counted)| counted)
    }
}
