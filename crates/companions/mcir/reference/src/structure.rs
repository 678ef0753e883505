//! The rules IS01 to IS03: numbers and names.

use megakernel_ir::diagnostic::pointer_token;
use megakernel_ir::{Diagnostic, Rule};
use megakernel_mcir::{Body, Document, Function, Index, Init, Memory, Op, Region, Term, Value};
use megakernel_order::Findings;

use crate::world::{ByName, Site, World, nodes};

/// The largest of most numbers.
pub const MOST: i64 = 2_147_483_647;
/// Bytes of a tensor.
pub const BYTES: i64 = 1 << 62;
/// Elements of a tile.
const ELEMENTS: i64 = 1 << 20;
/// Slots of a tile.
const SLOTS: i64 = 64;

fn number(number: i64, [least, most]: [i64; 2], at: impl Fn() -> String, findings: &mut Findings) -> bool {
    let fits = (least..=most).contains(&number);
    if !fits {
        findings.broken(Rule::IS01, at(), format!("found {number}, required {least} to {most}"));
    }
    fits
}

/// What is called with an index, and with what makes its pointer.
type Each<'e> = &'e mut dyn FnMut(&Index, &dyn Fn() -> String);

/// Calls with the indices of a node.
fn indices(site: &Site<'_>, each: Each<'_>) {
    if let Op::Compute(Function::Mask(mask)) = &site.node.op {
        each(&mask.rows, &|| format!("{}/rows", site.pointer()));
        each(&mask.columns, &|| format!("{}/columns", site.pointer()));
    }
    for (place, index) in site.node.op.at().into_iter().flatten().enumerate() {
        each(index, &|| format!("{}/at/{place}", site.pointer()));
    }
}

/// Calls with the indices that bound a stream.
fn bounds(number: usize, region: &Region, each: Each<'_>) {
    let Some(stream) = &region.stream else { return };
    for (which, indices) in [("from", &stream.from), ("to", &stream.to)] {
        for (place, index) in indices.iter().enumerate() {
            each(index, &|| format!("/regions/{number}/streaming/stream/{which}/{place}"));
        }
    }
}

/// The pointer to a term, below that to its index.
fn term_pointer(index: &Index, at: &dyn Fn() -> String, place: usize) -> String {
    if index.is_array { format!("{}/{place}", at()) } else { at() }
}

/// IS01.
pub fn numbers(document: &Document, findings: &mut Findings) {
    for value in &document.values {
        size(document, value, findings);
    }
    for (name, limit) in [("shared", document.target.shared), ("register", document.target.register)] {
        if let Some(limit) = limit {
            number(limit, [0, MOST], || format!("/target/{name}_bytes"), findings);
        }
    }
    for (place, region) in document.regions.iter().enumerate() {
        let at = || format!("/regions/{place}/streaming");
        bounds(place, region, &mut |index, here| coefficients(index, here, findings));
        for (which, indices) in
            region.stream.iter().flat_map(|stream| [("from", &stream.from), ("to", &stream.to)])
        {
            if indices.len() > RANK {
                let message = format!("found {} indices, required at most {RANK}", indices.len());
                findings.broken(Rule::IS01, format!("{}/stream/{which}", at()), message);
            }
        }
        if region.stream.as_ref().is_some_and(|stream| stream.to.is_empty()) {
            findings.broken(
                Rule::IS01,
                format!("{}/stream/to", at()),
                "found no index, required at least one",
            );
        }
        for (state, each) in region.state.iter().enumerate() {
            if let Init::Number(init) = each.init {
                number(init, [-MOST, MOST], || format!("{}/state/{state}/init", at()), findings);
            }
        }
        for (which, axes) in [("tile_shape", &region.tile.shape), ("blocks", &region.tile.blocks)] {
            for &(axis, value) in axes {
                let name = || pointer_token(&document.names[axis as usize]);
                number(value, [1, MOST], || format!("{}/tile/{which}/{}", at(), name()), findings);
            }
        }
        for site in nodes(place, region) {
            of_node(&site, findings);
        }
    }
}

/// The most extents of a value, and indices of a bound of a stream.
pub const RANK: usize = 64;

fn size(document: &Document, value: &Value, findings: &mut Findings) {
    let at = || format!("/values/{}", pointer_token(&document.names[value.name as usize]));
    if value.shape.len() > RANK {
        let message = format!("found {} extents, required at most {RANK}", value.shape.len());
        return findings.broken(Rule::IS01, format!("{}/shape", at()), message);
    }
    let mut fits = true;
    for (axis, &extent) in value.shape.iter().enumerate() {
        fits &= number(extent, [1, MOST], || format!("{}/shape/{axis}", at()), findings);
    }
    number(value.buffers, [1, SLOTS], || format!("{}/buffers", at()), findings);
    if !fits {
        return;
    }
    let elements = value.shape.iter().try_fold(1_i64, |size, &extent| size.checked_mul(extent));
    let bytes = elements.and_then(|elements| elements.checked_mul(value.dtype.bytes()));
    if value.memory != Memory::Global && elements.is_none_or(|elements| elements > ELEMENTS) {
        findings.broken(Rule::IS01, format!("{}/shape", at()), "found a tile of more than 2^20 elements");
    } else if bytes.is_none_or(|bytes| bytes > BYTES) {
        findings.broken(Rule::IS01, format!("{}/shape", at()), "found a tensor of more than 2^62 bytes");
    }
}

fn coefficients(index: &Index, at: &dyn Fn() -> String, findings: &mut Findings) {
    for (place, term) in index.terms.iter().enumerate() {
        let here = || term_pointer(index, at, place);
        match *term {
            Term::Number(value) => number(value, [-MOST, MOST], here, findings),
            Term::Scaled(value, _) => number(value, [-MOST, MOST], || format!("{}/0", here()), findings),
            Term::Axis(_) => true,
        };
    }
}

fn of_node(site: &Site<'_>, findings: &mut Findings) {
    indices(site, &mut |index, here| coefficients(index, here, findings));
    let at = |member: &str| format!("{}/{member}", site.pointer());
    match site.node.op {
        Op::Prefetch(_, version) => {
            number(version, [0, SLOTS - 1], || at("version"), findings);
        }
        Op::Barrier(ref waits) => {
            for (place, &(_, version)) in waits.iter().enumerate() {
                number(version, [0, SLOTS - 1], || at(&format!("wait/{place}/1")), findings);
            }
        }
        Op::Compute(Function::Mask(ref mask)) => {
            if let Some(window) = mask.window {
                number(window, [1, MOST], || at("window"), findings);
            }
        }
        Op::Compute(Function::Scale(p, q)) => {
            number(p, [-MOST, MOST], || at("by/0"), findings);
            number(q, [1, MOST], || at("by/1"), findings);
        }
        _ => {}
    }
}

/// IS02.
pub fn names(world: &World<'_>, findings: &mut Findings) {
    let document = world.document;
    let mut known = |name: u32, at: &dyn Fn() -> String| {
        if !world.has(name) {
            let message = format!("found `{}`, required the name of a value", world.name(name));
            findings.broken(Rule::IS02, at(), message);
        }
    };
    lists(document, &mut |names, list| {
        for (place, &name) in names.iter().enumerate() {
            known(name, &|| list.pointer(place));
        }
    });
    for (place, boundary) in document.boundaries.iter().enumerate() {
        known(boundary.value, &|| format!("/boundaries/{place}/value"));
    }
    for (place, residency) in document.residency.iter().enumerate() {
        for (number, &name) in residency.values.iter().enumerate() {
            known(name, &|| format!("/residency/{place}/values/{number}"));
        }
    }
    for (number, region) in document.regions.iter().enumerate() {
        for (place, state) in region.state.iter().enumerate() {
            known(state.value, &|| format!("/regions/{number}/streaming/state/{place}/value"));
        }
        for site in nodes(number, region) {
            for (place, &name) in site.node.ins.iter().enumerate() {
                known(name, &|| site.input(place));
            }
            for (place, &name) in site.node.outs.iter().enumerate() {
                known(name, &|| site.output(place));
            }
            for (place, &(name, _)) in site.node.op.waits().iter().enumerate() {
                known(name, &|| format!("{}/wait/{place}/0", site.pointer()));
            }
        }
    }
    let mut known = [(); 3].map(|()| ByName::new(document));
    for (number, region) in document.regions.iter().enumerate() {
        axes(world, number, region, &mut known, findings);
    }
}

/// IS02, for axes.
fn axes(
    world: &World<'_>,
    number: usize,
    region: &Region,
    [blocks, all, steps]: &mut [ByName<()>; 3],
    findings: &mut Findings,
) {
    let of_blocks = || region.tile.blocks.iter().map(|&(axis, _)| axis);
    let in_order = || of_blocks().chain(region.stream.as_ref().map(|stream| stream.axis));
    blocks.set(of_blocks());
    all.set(in_order());
    steps.set(region.tile.shape.iter().map(|&(axis, _)| axis));
    let mut known = |index: &Index, at: &dyn Fn() -> String, axes: &ByName<()>| {
        for (place, term) in index.terms.iter().enumerate() {
            let (axis, behind) = match *term {
                Term::Number(_) => continue,
                Term::Axis(axis) => (axis, ""),
                Term::Scaled(_, axis) => (axis, "/1"),
            };
            if !axes.has(axis) {
                let message = format!("found `{}`, required an axis that is known here", world.name(axis));
                findings.broken(Rule::IS02, term_pointer(index, at, place) + behind, message);
            }
        }
    };
    bounds(number, region, &mut |index, here| known(index, here, blocks));
    for site in nodes(number, region) {
        let is_inside = site.body == Body::Each || matches!(site.node.op, Op::Prefetch(..));
        indices(&site, &mut |index, here| known(index, here, if is_inside { all } else { blocks }));
    }
    let at = || format!("/regions/{number}/streaming/tile/tile_shape");
    for &(axis, _) in region.tile.shape.iter().filter(|&&(axis, _)| !all.has(axis)) {
        let name = world.name(axis);
        let message = format!("found a step of `{name}`, which is no axis of the region");
        findings.broken(Rule::IS02, format!("{}/{}", at(), pointer_token(name)), message);
    }
    if let Some(axis) = in_order().find(|&axis| !steps.has(axis)) {
        findings.broken(Rule::IS02, at(), format!("the axis `{}` has no step", world.name(axis)));
    }
}

/// A list of names of tensors.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum List {
    Inputs,
    Outputs,
    RegionInputs(usize),
    RegionOutputs(usize),
}

impl List {
    /// The pointer to a place in it.
    pub fn pointer(self, place: usize) -> String {
        match self {
            List::Inputs => format!("/inputs/{place}"),
            List::Outputs => format!("/outputs/{place}"),
            List::RegionInputs(region) => format!("/regions/{region}/inputs/{place}"),
            List::RegionOutputs(region) => format!("/regions/{region}/outputs/{place}"),
        }
    }
}

/// Calls with each list of names of tensors.
pub fn lists(document: &Document, each: &mut dyn FnMut(&[u32], List)) {
    each(&document.inputs, List::Inputs);
    each(&document.outputs, List::Outputs);
    for (number, region) in document.regions.iter().enumerate() {
        each(&region.inputs, List::RegionInputs(number));
        each(&region.outputs, List::RegionOutputs(number));
    }
}

/// IS03.
pub fn repeated(world: &World<'_>, findings: &mut Findings) {
    let document = world.document;
    let mut seen = ByName::new(document);
    let mut once = |names: &mut dyn Iterator<Item = u32>, at: &dyn Fn(usize) -> String| {
        seen.clear();
        for (place, name) in names.enumerate() {
            if !seen.add(name) {
                findings.report(Rule::IS03, || {
                    let message = format!("`{}` stands here a second time", world.name(name));
                    Diagnostic::new(Rule::IS03, at(place), message)
                });
            }
        }
    };
    lists(document, &mut |names, list| once(&mut names.iter().copied(), &|place| list.pointer(place)));
    let mut boundaries = document.boundaries.iter().map(|boundary| boundary.value);
    once(&mut boundaries, &|place| format!("/boundaries/{place}/value"));
    once(&mut document.regions.iter().map(|region| region.id), &|place| format!("/regions/{place}/id"));
    for (number, region) in document.regions.iter().enumerate() {
        let mut states = region.state.iter().map(|state| state.value);
        once(&mut states, &|place| format!("/regions/{number}/streaming/state/{place}/value"));
        let ids = &mut nodes(number, region).map(|site| site.node.id);
        once(ids, &|place| {
            let site = nodes(number, region).nth(place);
            site.map_or(String::new(), |site| format!("{}/id", site.pointer()))
        });
    }
    for (number, region) in document.regions.iter().enumerate() {
        let Some(stream) = &region.stream else { continue };
        if region.tile.blocks.iter().any(|&(axis, _)| axis == stream.axis) {
            let message = format!("`{}` is a block axis too", world.name(stream.axis));
            let at = format!("/regions/{number}/streaming/stream/axis");
            findings.broken(Rule::IS03, at, message);
        }
    }
}
