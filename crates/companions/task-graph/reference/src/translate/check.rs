//! The rules TK01, TK02, TK05 and TK06, and what TK04 asks in every mode: whether a kernel graph can be cut into tasks.

use std::collections::HashMap;

use megakernel_ir::{Diagnostic, Rule};
use megakernel_task_graph::{
    KernelGraph, MAX_DIMS, MAX_INPUTS, MAX_OUTPUTS, MAX_OUTPUTS_EARLIER, Mode, NULL_TENSOR,
    Operand as Stated, Operator as StatedOperator, TensorDecl, TensorKind, Translation, element_bits,
};

use super::plan::{Operand, Operator, Part, PerAxis, Plan, Tensor};
use super::{ALL_REDUCE, BEGIN, COPY, MAX_RANKS, MAX_TASKS, PUT, REDUCE, TERMINATE, variants};

/// Makes the plan, or says everything that is wrong.
pub fn plan<'a>(request: &Translation<'a>) -> Result<Plan<'a>, Vec<Diagnostic>> {
    let is_current = request.mode == Mode::ExactCurrent;
    let mut check =
        Check { graph: &request.kernel_graph, names: HashMap::new(), is_current, found: Vec::new() };
    check.request(request);
    let tensors = check.tensors();
    if !check.found.is_empty() {
        // Operators are checked against the tensors, which have to stand first.
        return Err(check.found);
    }
    let mut operators = Vec::new();
    for (index, stated) in check.graph.operators.iter().enumerate() {
        operators.extend(check.operator(&format!("/kernel_graph/operators/{index}"), stated, &tensors));
    }
    let mut found = check.found;
    if found.is_empty() {
        for (index, operator) in operators.iter().enumerate() {
            all_reduce(request, index, operator, &tensors, &mut found);
        }
        too_many_tasks(request, &operators, &mut found);
    }
    if !found.is_empty() {
        return Err(found);
    }
    variants::number(&mut operators, &tensors, request);
    Ok(Plan { ranks: request.ranks, rank: request.rank, tensors, operators })
}

struct Check<'r, 'a> {
    graph: &'r KernelGraph<'a>,
    names: HashMap<&'r str, usize>,
    /// Whether the translation is that of the current generator.
    is_current: bool,
    found: Vec<Diagnostic>,
}

impl<'r, 'a> Check<'r, 'a> {
    fn report(&mut self, rule: Rule, pointer: impl Into<String>, message: impl Into<String>) {
        self.found.push(Diagnostic::new(rule, pointer, message));
    }

    fn request(&mut self, request: &Translation<'_>) {
        if !(1..=MAX_RANKS).contains(&request.ranks) {
            self.report(
                Rule::TK06,
                "/ranks",
                format!("found {} ranks, required 1 to {MAX_RANKS}", request.ranks),
            );
        } else if !(0..request.ranks).contains(&request.rank) {
            let last = request.ranks - 1;
            self.report(Rule::TK06, "/rank", format!("found rank {}, required 0 to {last}", request.rank));
        }
        if self.graph.operators.is_empty() {
            self.report(Rule::TK06, "/kernel_graph/operators", "found no operator, required at least one");
        }
    }

    fn tensors(&mut self) -> Vec<Tensor<'a>> {
        let mut tensors = Vec::new();
        let graph = self.graph;
        for (index, stated) in graph.tensors.iter().enumerate() {
            let at = format!("/kernel_graph/tensors/{index}");
            if let Some(&first) = self.names.get(&*stated.name) {
                self.report(
                    Rule::TK01,
                    format!("{at}/name"),
                    format!("tensor {first} has the name `{}` too", stated.name),
                );
            } else if &*stated.name == NULL_TENSOR {
                self.report(
                    Rule::TK01,
                    format!("{at}/name"),
                    "`nullptr` stands for no tensor, and names none",
                );
            } else {
                self.names.insert(&*stated.name, index);
            }
            tensors.push(self.tensor(&at, stated));
        }
        for (index, stated) in graph.tensors.iter().enumerate() {
            let is_fused = stated.io == TensorKind::Fused;
            if is_fused || stated.io == TensorKind::Shuffled {
                let parts = self.parts(&format!("/kernel_graph/tensors/{index}"), stated);
                let rows: i64 = parts.iter().map(|part| part.rows).sum();
                if let Some(tensor) = tensors.get_mut(index).filter(|_| is_fused && rows > 0) {
                    tensor.parts = parts;
                    tensor.group_rows = rows;
                }
            }
        }
        tensors
    }

    fn tensor(&mut self, at: &str, stated: &TensorDecl<'a>) -> Tensor<'a> {
        if stated.dims.is_empty() || stated.dims.len() > MAX_DIMS {
            let axes = stated.dims.len();
            self.report(
                Rule::TK06,
                format!("{at}/dims"),
                format!("found {axes} axes, required 1 to {MAX_DIMS}"),
            );
        }
        for (axis, &extent) in stated.dims.iter().enumerate().filter(|(_, extent)| **extent < 1) {
            self.report(
                Rule::TK06,
                format!("{at}/dims/{axis}"),
                format!("found extent {extent}, required at least 1"),
            );
        }
        let bits = element_bits(stated.data_type).unwrap_or_else(|| {
            let message = format!("found element type {}, of which no size is known", stated.data_type);
            self.report(Rule::TK06, format!("{at}/data_type"), message);
            8
        });
        let elements = stated.dims.iter().try_fold(1i64, |product, &extent| product.checked_mul(extent));
        if elements.is_none_or(|elements| i128::from(elements) * i128::from(bits) / 8 > i128::from(i64::MAX))
        {
            self.report(Rule::TK06, format!("{at}/dims"), "the tensor has 2^63 bytes or more");
        }
        let mut strides: PerAxis = stated.dims.clone();
        let mut stride = 1i64;
        for (slot, &extent) in strides.iter_mut().zip(&stated.dims).rev() {
            *slot = stride;
            stride = stride.saturating_mul(extent);
        }
        Tensor {
            name: stated.name.clone(),
            data_type: stated.data_type,
            bits,
            dims: stated.dims.clone(),
            strides,
            parts: Vec::new(),
            group_rows: stated.dims.first().copied().unwrap_or(1).max(1),
        }
    }

    /// The parts of a fused tensor; none where anything is wrong with them.
    fn parts(&mut self, at: &str, stated: &TensorDecl<'a>) -> Vec<Part> {
        let before = self.found.len();
        let groups = stated.num_groups.0.unwrap_or(1);
        if groups < 1 {
            self.report(
                Rule::TK05,
                format!("{at}/num_groups"),
                format!("found {groups} groups, required at least 1"),
            );
            return Vec::new();
        }
        let (mut parts, mut begin, mut total) = (Vec::new(), 0i64, 0i64);
        for (number, name) in stated.parts.iter().enumerate() {
            let at = format!("{at}/parts/{number}");
            let Some(&tensor) = self.names.get(&**name) else {
                self.report(Rule::TK01, at, format!("no tensor is called `{name}`"));
                continue;
            };
            let Some(part) = self.graph.tensors.get(tensor) else { continue };
            let rows = part.dims.first().copied().unwrap_or(0);
            if matches!(part.io, TensorKind::Fused | TensorKind::Shuffled) {
                self.report(Rule::TK05, at, format!("`{name}` has parts itself"));
            } else if part.dims.get(1..) != stated.dims.get(1..) || part.data_type != stated.data_type {
                self.report(
                    Rule::TK05,
                    at,
                    format!(
                        "`{name}` has other element types, axes or inner extents than what it is a part of"
                    ),
                );
            } else if rows % groups != 0 {
                self.report(
                    Rule::TK05,
                    at,
                    format!("{rows} rows of `{name}` do not divide into {groups} groups"),
                );
            } else {
                parts.push(Part { tensor, begin, rows: rows / groups });
                begin = begin.saturating_add(rows / groups);
                total = total.saturating_add(rows);
            }
        }
        if self.found.len() == before && stated.dims.first() != Some(&total) {
            let found = stated.dims.first().copied().unwrap_or(0);
            self.report(
                Rule::TK05,
                format!("{at}/parts"),
                format!("the parts have {total} rows, and the whole has {found}"),
            );
        }
        parts
    }

    fn operator(
        &mut self,
        at: &str,
        stated: &StatedOperator<'a>,
        tensors: &[Tensor<'a>],
    ) -> Option<Operator> {
        let before = self.found.len();
        let &[x, y, z] = &*stated.grid else {
            let extents = stated.grid.len();
            self.report(
                Rule::TK06,
                format!("{at}/grid"),
                format!("found {extents} extents, required 3: x, y, z"),
            );
            return None;
        };
        for (axis, extent) in [x, y, z].into_iter().enumerate().filter(|(_, extent)| *extent < 1) {
            self.report(
                Rule::TK06,
                format!("{at}/grid/{axis}"),
                format!("found extent {extent}, required at least 1"),
            );
        }
        let most_outputs = if self.is_current { MAX_OUTPUTS } else { MAX_OUTPUTS_EARLIER };
        for (list, found, room) in
            [("inputs", stated.inputs.len(), MAX_INPUTS), ("outputs", stated.outputs.len(), most_outputs)]
        {
            if found > room {
                self.report(
                    Rule::TK06,
                    format!("{at}/{list}"),
                    format!("found {found} {list}, a task has room for {room}"),
                );
            }
        }
        let is_reserved = match stated.task_type {
            REDUCE => !self.is_current,
            task_type => matches!(task_type, TERMINATE | BEGIN | COPY | 200..=203),
        };
        if is_reserved {
            let message = format!("found task type {}, which no operator has", stated.task_type);
            self.report(Rule::TK06, format!("{at}/task_type"), message);
        }
        if self.found.len() > before {
            return None;
        }
        let mut inputs = Vec::new();
        for (number, operand) in stated.inputs.iter().enumerate() {
            let operand = operand
                .as_ref()
                .map(|o| self.operand(&format!("{at}/inputs/{number}"), o, [x, y, z], tensors));
            inputs.push(operand.flatten());
        }
        let mut outputs = Vec::new();
        for (number, operand) in stated.outputs.iter().enumerate() {
            let at = format!("{at}/outputs/{number}");
            let tensor = self.names.get(&*operand.tensor).and_then(|&index| tensors.get(index));
            if tensor.is_some_and(|tensor| !tensor.parts.is_empty()) {
                self.report(
                    Rule::TK05,
                    format!("{at}/tensor"),
                    "a fused tensor is read only, and is an output here",
                );
            } else {
                outputs.extend(self.operand(&at, operand, [x, y, z], tensors));
            }
        }
        if self.found.len() > before {
            return None;
        }
        Some(Operator { task_type: stated.task_type, variant: 0, grid: [x, y, z], inputs, outputs })
    }

    fn operand(
        &mut self,
        at: &str,
        stated: &Stated<'a>,
        grid: [i64; 3],
        tensors: &[Tensor<'a>],
    ) -> Option<Operand> {
        let before = self.found.len();
        let Some(&index) = self.names.get(&*stated.tensor) else {
            self.report(
                Rule::TK01,
                format!("{at}/tensor"),
                format!("no tensor is called `{}`", stated.tensor),
            );
            return None;
        };
        let tensor = tensors.get(index)?;
        if stated.map.len() != 3 {
            let entries = stated.map.len();
            self.report(
                Rule::TK02,
                format!("{at}/map"),
                format!("found {entries} entries, required 3: for x, y, z"),
            );
            return None;
        }
        let mut map = [None; 3];
        let mut tile = tensor.dims.clone();
        let mut cuts: PerAxis = tensor.dims.iter().map(|_| 1).collect();
        for (number, (&axis, extent)) in stated.map.iter().zip(grid).enumerate() {
            if axis == -1 {
                continue;
            }
            let at = format!("{at}/map/{number}");
            let known = usize::try_from(axis).ok().filter(|&axis| axis < tile.len());
            let Some(axis) = known else {
                let axes = tile.len();
                self.report(
                    Rule::TK02,
                    at,
                    format!("found axis {axis}, the tensor has {axes} (-1 cuts none)"),
                );
                continue;
            };
            if map.contains(&known) {
                self.report(Rule::TK02, at, format!("another grid axis cuts axis {axis} too"));
            } else if tile[axis] % extent != 0 {
                let whole = tile[axis];
                self.report(
                    Rule::TK02,
                    at,
                    format!("grid extent {extent} does not divide extent {whole} of axis {axis}"),
                );
            } else {
                map[number] = known;
                tile[axis] /= extent;
                cuts[axis] = extent;
            }
        }
        let within_a_byte = |(axis, cut): (usize, &i64)| {
            *cut > 1 && (tile[axis] * tensor.strides[axis] * tensor.bits) % 8 != 0
        };
        if self.found.len() == before && tensor.bits < 8 && cuts.iter().enumerate().any(within_a_byte) {
            self.report(
                Rule::TK02,
                format!("{at}/map"),
                "a tile of the 4-bit tensor begins in the middle of a byte",
            );
        }
        self.tile_in_parts(at, tensor, tile.first().copied().unwrap_or(1));
        (self.found.len() == before).then_some(Operand { tensor: index, map, tile, cuts })
    }

    /// A tile of a fused tensor has to lie in one part: parts begin and end where tiles do.
    fn tile_in_parts(&mut self, at: &str, tensor: &Tensor<'a>, rows: i64) {
        let several = tensor.parts.len() > 1;
        if several && tensor.parts.iter().any(|part| part.begin % rows != 0 || part.rows % rows != 0) {
            self.report(
                Rule::TK05,
                format!("{at}/map"),
                format!("tiles of {rows} rows lie in two parts of `{}`", tensor.name),
            );
        }
    }
}

/// TK04, as far as it does not depend on the mode.
fn all_reduce(
    request: &Translation<'_>,
    index: usize,
    operator: &Operator,
    tensors: &[Tensor<'_>],
    found: &mut Vec<Diagnostic>,
) {
    // The current generator has none: TK09 says so.
    if operator.task_type != ALL_REDUCE || request.mode == Mode::ExactCurrent {
        return;
    }
    let at = format!("/kernel_graph/operators/{index}");
    let mut report = |at: String, message: &str| found.push(Diagnostic::new(Rule::TK04, at, message));
    if request.ranks < 2 {
        return report(format!("{at}/task_type"), "an all-reduce needs at least two ranks, and there is one");
    }
    let Some([partial, buffer, sum]) = operator.all_reduce() else {
        return report(
            at,
            "an all-reduce has two inputs, the partial sum and the buffer, and one output, the sum",
        );
    };
    let is_uncut = |(&extent, axis): (&i64, &Option<usize>)| extent > 1 && axis.is_none();
    let (p, b, s) = (&tensors[partial.tensor], &tensors[buffer.tensor], &tensors[sum.tensor]);
    if s.dims != p.dims || s.data_type != p.data_type || sum.map != partial.map {
        report(
            format!("{at}/outputs/0"),
            "the sum needs the extents, the element type and the map of the partial sum",
        );
    } else if operator.grid.iter().zip(&partial.map).any(is_uncut) {
        report(
            format!("{at}/inputs/0/map"),
            "every grid axis of an extent above 1 has to cut the partial sum",
        );
    }
    let kind = request.kernel_graph.tensors.get(buffer.tensor).map(|tensor| tensor.io);
    let slots = b.dims.first() == Some(&request.ranks) && b.dims.get(1..) == Some(&p.dims[..]);
    if !slots || b.data_type != p.data_type || kind != Some(TensorKind::Nvshmem) {
        report(
            format!("{at}/inputs/1"),
            "the buffer has to be an nvshmem tensor that holds the partial sum once for each rank, along axis 0",
        );
    } else if buffer.map != partial.map.map(|axis| axis.map(|axis| axis + 1)) {
        report(
            format!("{at}/inputs/1/map"),
            "the buffer has to be cut as the partial sum is, one axis further in",
        );
    }
}

fn too_many_tasks(request: &Translation<'_>, operators: &[Operator], found: &mut Vec<Diagnostic>) {
    let mut tasks = 2i64;
    for (index, operator) in operators.iter().enumerate() {
        let each = match operator.task_type {
            ALL_REDUCE => request.ranks + 1,
            PUT if request.mode == Mode::ExactCurrent => request.ranks - 1,
            _ => 1,
        };
        tasks = operator
            .grid
            .iter()
            .fold(each, |product, &extent| product.saturating_mul(extent))
            .saturating_add(tasks);
        if tasks > MAX_TASKS {
            let message =
                format!("with this operator there are {tasks} tasks, at most {MAX_TASKS} are translated");
            return found.push(Diagnostic::new(
                Rule::TK06,
                format!("/kernel_graph/operators/{index}/grid"),
                message,
            ));
        }
    }
}
