//! The reference as a module: `describe`, `kernel-args` and `launch` (clauses COL-21 to COL-23).

use megakernel_collectives::{Fault, LaunchRequest, TopologyKind, read_launch};
use serde_json::{Value, json};

use crate::algorithms::{Algorithm, Setting, chosen};
use crate::network::Element;
use crate::structure;

/// What is asked of the module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Method {
    /// What it offers.
    Describe,
    /// What the kernel of an element gets.
    KernelArgs,
    /// What it does.
    Launch,
}

/// The answer.
#[derive(Clone, Debug)]
pub enum Answered {
    /// The document of the answer.
    Accept(Value),
    /// Broken rules.
    Reject(Vec<Fault>),
    /// There is no algorithm for this.
    Unsupported(String),
}

/// Answers a launch request.
pub fn launch(method: Method, value: &Value) -> Answered {
    let (request, setting) = match judged(value) {
        Ok(judged) => judged,
        Err(found) => return Answered::Reject(found),
    };
    let Some(algorithm) = chosen(&setting) else {
        let (kind, place) = (request.collective.kind.name(), request.topology.kind.name());
        return Answered::Unsupported(format!("there is no {kind} for this `{place}`"));
    };
    Answered::Accept(match method {
        Method::Describe => describe(value.get("topology").unwrap_or(&Value::Null)),
        Method::KernelArgs => arguments(&request, &setting),
        Method::Launch => log(algorithm, &request, &setting),
    })
}

fn judged(value: &Value) -> Result<(LaunchRequest, Setting), Vec<Fault>> {
    let request = read_launch(value)?;
    for found in [structure::launch_ranges(&request), structure::topology(&request.topology)] {
        if !found.is_empty() {
            return Err(found);
        }
    }
    let setting = Setting::new(&request.topology, request.n_elem, request.collective);
    Ok((request, setting))
}

/// Where and for what a launch request wants an algorithm.
///
/// # Errors
/// The rules that it breaks.
pub fn setting(value: &Value) -> Result<Setting, Vec<Fault>> {
    judged(value).map(|(_, setting)| setting)
}

/// The kinds of topologies as the kernels are told them.
const KINDS: [(TopologyKind, i64); 4] =
    [(TopologyKind::Ring, 0), (TopologyKind::Torus, 1), (TopologyKind::Mesh, 2), (TopologyKind::Explicit, 3)];

/// A module with the recommended kernel.
fn describe(topology: &Value) -> Value {
    let kinds: serde_json::Map<String, Value> =
        KINDS.iter().map(|(kind, number)| (kind.name().to_owned(), json!(number))).collect();
    let module = json!({
        "symbols": ["TOPO_NAME_TO_KIND", "kernel", "kernel_args"],
        "positional": 9,
        "tl": true,
        "arguments": 4,
        "kinds": kinds,
    });
    json!({"module": module, "topology": topology})
}

fn arguments(request: &LaunchRequest, setting: &Setting) -> Value {
    let top = &request.topology;
    let rank = setting.network.rank(Element::try_from(request.element).unwrap_or(0));
    let kind = KINDS.iter().find(|(kind, _)| *kind == top.kind).map_or(0, |(_, number)| *number);
    let is_grid = matches!(top.kind, TopologyKind::Torus | TopologyKind::Mesh);
    let [w, h] = [top.w, top.h].map(|extent| extent.filter(|_| is_grid).unwrap_or(0));
    json!({"arguments": [request.n_elem, top.cube_w, top.cube_h, top.ranks, rank, kind, w, h]})
}

fn log(algorithm: &Algorithm, request: &LaunchRequest, setting: &Setting) -> Value {
    json!({"ops": algorithm.launch(setting, Element::try_from(request.element).unwrap_or(0))})
}
