//! From a plan over the task types of MPK to a kernel graph (TGR-11 of the companion on task graphs): an operator for each region, and
//! a tensor for each value. What follows from it (task graph, program, run) is that companion's.
//!
//! The ids of such kernels begin with the number of the task type. Ops are those of the lowering in `examples/selection`: their
//! classes say which operand is what.

use std::collections::HashSet;

use serde_json::{Value, json};

/// BF16 and I32, as tensors of kernel graphs have them.
const BF16: u32 = 941;
const I32: u32 = 965;

/// What neither the sequence nor the plan says.
pub struct Setting<'s> {
    /// Tensors that are known; the others are made up of the extents of the ops.
    pub tensors: &'s [Value],
    /// Rows of the caches and of the tables of the rotation.
    pub positions: u64,
    /// How many tasks share so many columns.
    pub tasks: &'s dyn Fn(u64) -> u64,
    /// Of norms whose op has no member `eps`.
    pub eps: f64,
    /// Of the rotation.
    pub theta: f64,
}

/// The kernel graph of the plan of a request.
///
/// # Errors
/// A kernel that is no task type known here, or an op that is not as this lowering has it.
pub fn kernel_graph(request: &Value, plan: &Value, setting: &Setting<'_>) -> Result<Value, String> {
    let ops = request.pointer("/sequence/ops").and_then(Value::as_array).ok_or("the request has no ops")?;
    let regions = plan.get("regions").and_then(Value::as_array).ok_or("the plan has no regions")?;
    let mut maker = Maker { ops, setting, tensors: setting.tensors.to_vec(), named: HashSet::new() };
    maker
        .named
        .extend(setting.tensors.iter().filter_map(|tensor| Some(tensor.get("name")?.as_str()?.to_owned())));
    let mut operators = Vec::new();
    for region in regions {
        let at =
            |name: &str| region.get(name).and_then(Value::as_u64).and_then(|at| usize::try_from(at).ok());
        let covered = at("anchor").zip(at("last")).and_then(|(anchor, last)| ops.get(anchor..=last));
        let kernel = region.get("kernel").and_then(Value::as_str);
        let (Some(covered), Some(kernel)) = (covered.filter(|ops| !ops.is_empty()), kernel) else {
            return Err(format!("{region} is no region of this sequence"));
        };
        operators.push(maker.operator(kernel, covered)?);
    }
    Ok(json!({"tensors": maker.tensors, "operators": operators}))
}

/// Attention: of one token over a cache, and of the tokens of requests over pages, whose grid has a request along its first axis.
const ATTENTION: [u32; 2] = [103, PAGED];
const PAGED: u32 = 116;

/// An operand: the value, and the axis that the grid cuts; no value is a null operand.
type Operand<'o> = (Option<&'o str>, i64);

struct Maker<'a> {
    ops: &'a [Value],
    setting: &'a Setting<'a>,
    tensors: Vec<Value>,
    named: HashSet<String>,
}

/// The ops of a region.
struct Covered<'o>(&'o [Value]);

impl<'o> Covered<'o> {
    fn first(&self) -> &'o Value {
        &self.0[0]
    }

    fn last(&self) -> &'o Value {
        &self.0[self.0.len() - 1]
    }

    fn of(&self, class: &str) -> Option<&'o Value> {
        self.0.iter().find(|op| class_of(op) == class)
    }
}

fn class_of(op: &Value) -> &str {
    op.pointer("/sig/class").and_then(Value::as_str).unwrap_or_default()
}

fn extent(op: &Value, role: &str) -> Option<u64> {
    op.get("shape")?.get(role)?.as_u64()
}

fn read_of(op: &Value, operand: usize) -> Result<&str, String> {
    let value = op.get("reads").and_then(|reads| reads.get(operand)?.as_str());
    value.ok_or_else(|| format!("op `{}` has no operand {operand}", class_of(op)))
}

fn written(op: &Value) -> impl Iterator<Item = &str> {
    let writes = op.get("writes").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
    writes.iter().filter_map(|write| write.get("value")?.as_str())
}

/// The storage that an op writes.
fn storage(op: &Value) -> Option<&str> {
    op.pointer("/effects/writes/0")?.as_str()
}

impl<'a> Maker<'a> {
    fn operator(&mut self, kernel: &str, covered: &'a [Value]) -> Result<Value, String> {
        let number = kernel.split(' ').next().and_then(|number| number.parse::<u32>().ok());
        let Some(task_type) = number else {
            return Err(format!("kernel `{kernel}` does not begin with the number of a task type"));
        };
        let covered = Covered(covered);
        for op in covered.0 {
            let of = |member| op.get("dtype")?.get(member)?.as_str();
            let mut all = ["in", "weight", "out"].into_iter().filter_map(of);
            let class = class_of(op);
            let has_ids = ["embed", "argmax_partial", "argmax_reduce"].contains(&class);
            if let Some(dtype) = all.find(|&dtype| dtype != "BF16" && !(has_ids && dtype == "I32")) {
                return Err(format!("op `{class}` has the dtype {dtype}, and task types take BF16"));
            }
        }
        let (first, last) = (covered.first(), covered.last());
        let x = (Some(read_of(first, 0)?), -1);
        let eps = self.eps(&covered)?;
        let eps = || json!({"eps": eps});
        let columns = extent(last, "n").unwrap_or(1);
        let tasks = (self.setting.tasks)(columns);
        let product = covered.of("linear");
        let weight = |axis| Ok::<_, String>((Some(read_of(product.unwrap_or(last), 1)?), axis));
        let (grid, inputs, params): (u64, Vec<Operand<'a>>, Value) = match task_type {
            101 => (tasks, vec![x, (Some(read_of(first, 1)?), 1)], json!({"input_source": 1})),
            102 => (tasks, vec![x, (Some(read_of(first, 1)?), -1), weight(0)?], eps()),
            103 | PAGED => self.attention(&covered)?,
            105 | 108 => (tasks, vec![x, weight(0)?, (Some(read_of(last, 1)?), 1)], json!({})),
            110 => (columns, vec![(x.0, 1)], json!({})),
            111 => (1, vec![x, (Some(read_of(first, 1)?), -1)], json!({})),
            118 => (1, vec![x], json!({})),
            119 => (1, vec![x, (Some(read_of(first, 1)?), -1)], eps()),
            120 => (tasks, vec![x, weight(0)?], json!({})),
            other => return Err(format!("no operator is known for task type {other}")),
        };
        // An operand is made in the region, or an input: one each, but that ops of an attention read the same.
        let mut made: HashSet<&str> = covered.0.iter().flat_map(written).collect();
        let mut left: Vec<&str> = inputs.iter().filter_map(|(input, _)| *input).collect();
        for (operand, name) in covered.0.iter().flat_map(|op| {
            let reads = op.get("reads").and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default();
            reads.iter().filter_map(Value::as_str).enumerate().map(move |(at, name)| ((op, at), name))
        }) {
            match (left.iter().position(|input| *input == name), made.contains(name)) {
                (None, true) => {
                    if !ATTENTION.contains(&task_type) {
                        made.remove(name);
                    }
                    continue;
                }
                (Some(_), false) if ATTENTION.contains(&task_type) => {}
                (Some(place), false) => {
                    left.swap_remove(place);
                }
                _ => {
                    let (class, at) = (class_of(operand.0), operand.1);
                    return Err(format!(
                        "op `{class}` has the operand {at}, `{name}`, which task type {task_type} does not take"
                    ));
                }
            }
            self.read(operand, name)?;
        }
        for value in written(last) {
            self.made(last, value)?;
        }
        let along = |x: i64, one: i64| if task_type == PAGED { [one, x, one] } else { [x, one, one] };
        let operand = |(tensor, axis): Operand<'_>| {
            tensor.map_or(Value::Null, |tensor| json!({"tensor": tensor, "map": along(axis, -1)}))
        };
        let axis = if grid > 1 { 1 } else { -1 };
        let grid = along(i64::try_from(grid).unwrap_or(i64::MAX), 1);
        Ok(json!({
            "name": kernel, "task_type": task_type, "grid": grid, "params": params,
            "inputs": inputs.into_iter().map(operand).collect::<Vec<_>>(),
            "outputs": written(last).map(|value| operand((Some(value), axis))).collect::<Vec<_>>(),
        }))
    }

    /// The one eps of the norms of a region.
    fn eps(&self, covered: &Covered<'_>) -> Result<f64, String> {
        let of = |op: &Value| op.get("eps").and_then(Value::as_f64).unwrap_or(self.setting.eps);
        let mut all = covered.0.iter().filter(|op| class_of(op).starts_with("norm")).map(of);
        let eps = all.next().unwrap_or(self.setting.eps);
        if all.any(|other| other.to_bits() != eps.to_bits()) {
            return Err("the norms of a region have more than one eps".to_owned());
        }
        Ok(eps)
    }

    /// A task for each head of keys.
    fn attention(&mut self, covered: &Covered<'a>) -> Result<(u64, Vec<Operand<'a>>, Value), String> {
        let lacks = |what: &str| format!("the region of the attention has no {what}");
        let [keys, values] = ["append_k", "append_v"].map(|class| covered.of(class));
        let keys = keys.ok_or_else(|| lacks("append_k"))?;
        let values = values.ok_or_else(|| lacks("append_v"))?;
        let turned = covered.of("rope_q");
        let x = read_of(values, 0)?;
        let mut inputs = vec![(Some(x), 1)];
        let mut heads = 1;
        for op in [keys, values] {
            let cache = storage(op).ok_or_else(|| lacks("cache"))?;
            heads = self.cache(cache, op, x, covered)?;
            inputs.push((Some(cache), 2));
        }
        for class in ["norm_q", "norm_k"] {
            let weight = covered.of(class).map(|op| read_of(op, 1)).transpose()?;
            inputs.push((weight, -1));
        }
        for operand in [1, 2] {
            inputs.push((turned.map(|turned| read_of(turned, operand)).transpose()?, -1));
        }
        let mut params = json!({"eps": self.eps(covered)?, "theta": self.setting.theta});
        // Of an op that says nothing, the scale is that of its heads, and its tokens stand anywhere (TGR-18).
        for name in ["scale", "position"] {
            if let Some(value) = covered.last().get(name) {
                params[name] = value.clone();
            }
        }
        Ok((heads, inputs, params))
    }

    /// A cache, and how many heads it has: of what the product before it writes, what the queries leave is keys and values.
    fn cache(&mut self, name: &str, op: &Value, x: &str, covered: &Covered<'_>) -> Result<u64, String> {
        if let Some(known) =
            self.tensors.iter().find(|tensor| tensor.get("name").is_some_and(|one| one == name))
        {
            let heads = known.pointer("/dims/2").and_then(Value::as_u64);
            return heads.ok_or_else(|| format!("cache `{name}` has no axis of heads"));
        }
        let unknown = || format!("how many heads cache `{name}` has does not follow from the sequence");
        let length = extent(op, "d").filter(|&length| length > 0).ok_or_else(unknown)?;
        let all = self.width(x)?;
        let queries = written(covered.last()).next().ok_or_else(unknown)?;
        let rest = all.checked_sub(self.width(queries)?).ok_or_else(unknown)?;
        let heads = rest / 2 / length;
        if heads == 0 || rest != 2 * heads * length {
            return Err(unknown());
        }
        self.tensor(name, BF16, &[1, self.setting.positions, heads, length], "torch");
        Ok(heads)
    }

    /// How many columns a value has: by the op that writes it, or by one that reads it.
    fn width(&self, value: &str) -> Result<u64, String> {
        let writer = self.ops.iter().find(|op| written(op).any(|one| one == value));
        let wide = writer.and_then(|op| extent(op, "n").or(extent(op, "k")));
        let reads = |op: &&Value| read_of(op, 0) == Ok(value);
        let read = || {
            let mut readers = self.ops.iter().filter(reads);
            readers.find_map(|op| extent(op, "k").or(extent(op, "n")))
        };
        wide.or_else(read).ok_or_else(|| format!("how wide `{value}` is does not follow from the sequence"))
    }

    /// A tensor that an op reads, if it is none yet: from outside.
    fn read(&mut self, (op, operand): (&Value, usize), name: &str) -> Result<(), String> {
        let (class, length) = (class_of(op), extent(op, "d").unwrap_or(1));
        let dims = match (class, operand) {
            _ if self.named.contains(name) => return Ok(()),
            ("linear", 1) => vec![extent(op, "n").unwrap_or(1), extent(op, "k").unwrap_or(1)],
            ("norm", 1) => vec![extent(op, "k").unwrap_or(1)],
            ("norm_q" | "norm_k", 1) => vec![length],
            ("rope_q" | "rope_k", 1 | 2) => vec![self.setting.positions, length],
            _ => vec![extent(op, "m").unwrap_or(1), self.width(name)?],
        };
        self.tensor(name, BF16, &dims, "torch");
        Ok(())
    }

    /// A tensor that a region writes, if it is none yet.
    fn made(&mut self, op: &Value, name: &str) -> Result<(), String> {
        if self.named.contains(name) {
            return Ok(());
        }
        let is_output = op.get("writes").and_then(Value::as_array).is_some_and(|writes| {
            writes.iter().any(|write| {
                write.get("value").is_some_and(|one| one == name) && write.get("output").is_some()
            })
        });
        let data_type = if class_of(op) == "argmax_reduce" { I32 } else { BF16 };
        let dims = [extent(op, "m").unwrap_or(1), self.width(name)?];
        self.tensor(name, data_type, &dims, if is_output { "torch" } else { "cuda" });
        Ok(())
    }

    fn tensor(&mut self, name: &str, data_type: u32, dims: &[u64], io: &str) {
        self.named.insert(name.to_owned());
        self.tensors.push(json!({"name": name, "data_type": data_type, "dims": dims, "io": io}));
    }
}
