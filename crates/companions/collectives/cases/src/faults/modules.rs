//! Modules that are wrong in one place, and others that are right in another way: changes of what the reference's module answers.

use megakernel_ir::protocol::Method;
use serde_json::{Value, json};

/// Changes the document of an answer to a question.
pub type Change = fn(&Asked, &mut Value);

/// Id, what the module does, and how.
type Entry = (&'static str, &'static str, Change);

/// What is asked.
pub struct Asked {
    element: usize,
    elements: usize,
    cubes: usize,
    n_elem: i64,
    /// Whether the module was started anew.
    anew: bool,
}

impl Asked {
    /// Of a launch request.
    pub fn read(request: &Value, anew: bool) -> Option<Asked> {
        let top = request.get("topology")?;
        let number = |of: &Value, name: &str, default: u64| {
            usize::try_from(of.get(name).and_then(Value::as_u64).unwrap_or(default)).unwrap_or(1)
        };
        let cubes = number(top, "cube_w", 4) * number(top, "cube_h", 4);
        Some(Asked {
            element: number(request, "element", 0),
            elements: number(top, "ranks", 1) * cubes,
            cubes,
            n_elem: request.get("n_elem")?.as_i64()?,
            anew,
        })
    }

    fn is_last(&self) -> bool {
        self.element + 1 == self.elements
    }

    fn of_last_rank(&self) -> bool {
        self.element + self.cubes >= self.elements
    }
}

/// The operations of a log, if it is one.
fn ops(made: &mut Value) -> Option<&mut Vec<Value>> {
    made.get_mut("ops")?.as_array_mut()
}

fn is(op: &Value, kind: &str) -> bool {
    op.get("op").and_then(Value::as_str) == Some(kind)
}

fn first(ops: &[Value], kind: &str) -> Option<usize> {
    ops.iter().position(|op| is(op, kind))
}

fn last(ops: &[Value], kind: &str) -> Option<usize> {
    ops.iter().rposition(|op| is(op, kind))
}

/// A member of an operation.
fn set(ops: &mut [Value], at: Option<usize>, member: &str, to: Value) {
    if let Some(op) = at.and_then(|at| ops.get_mut(at)) {
        op[member] = to;
    }
}

fn get(ops: &[Value], at: Option<usize>, member: &str) -> Value {
    at.and_then(|at| ops.get(at)?.get(member)).cloned().unwrap_or_default()
}

/// Another place in the tile for as many numbers.
fn elsewhere(asked: &Asked, ops: &mut [Value], at: Option<usize>, n: i64) {
    let from = get(ops, at, "at").as_i64().unwrap_or(0);
    let to = if from > 0 { 0 } else { asked.n_elem - n };
    if to > 0 || from > 0 {
        set(ops, at, "at", json!(to));
    }
}

fn turned(asked_for: bool, made: &mut Value, ways: [&str; 2]) {
    for op in ops(made).into_iter().flatten().filter(|_| asked_for) {
        let dir = op.get("dir").and_then(Value::as_str).unwrap_or_default().to_owned();
        let turn = |from: &str, to: &str| dir.strip_suffix(from).map(|front| format!("{front}{to}"));
        if let Some(to) = turn(ways[0], ways[1]).or_else(|| turn(ways[1], ways[0])) {
            op["dir"] = json!(to);
        }
    }
}

fn argument(made: &mut Value, from_the_end: usize, change: fn(i64) -> i64) {
    let arguments = made.get_mut("arguments").and_then(Value::as_array_mut);
    let at = arguments.and_then(|all| all.len().checked_sub(from_the_end).and_then(|at| all.get_mut(at)));
    if let Some(argument) = at {
        *argument = json!(change(argument.as_i64().unwrap_or(0)));
    }
}

fn described(made: &mut Value, member: &str, to: Value) {
    if let Some(module) = made.get_mut("module") {
        module[member] = to;
    }
}

/// Whether a fault can show in the answers to a method: those of `describe` and `kernel-args` say so by their names.
pub fn concerns(id: &str, method: Method) -> bool {
    match id.split('-').next() {
        Some("describes") => method == Method::DESCRIBE,
        Some("arguments") => method == Method::KERNEL_ARGS,
        _ => method == Method::LAUNCH,
    }
}

/// The faults.
pub const FAULTS: &[Entry] = &[
    ("no-store", "does not store the sum", |_, made| {
        ops(made).into_iter().for_each(|ops| ops.retain(|op| !is(op, "store")));
    }),
    ("no-store-on-the-last", "does not store the sum on the last device", |asked, made| {
        ops(made).into_iter().for_each(|ops| ops.retain(|op| !asked.of_last_rank() || !is(op, "store")));
    }),
    ("stores-what-it-had", "stores what it loaded, on the first element", |asked, made| {
        for ops in ops(made).into_iter().filter(|_| asked.element == 0) {
            let own = get(ops, first(ops, "load"), "to");
            let at = last(ops, "store");
            if own.is_string() {
                ops.insert(at.unwrap_or(0), json!({"op": "load", "to": own, "at": 0, "n": asked.n_elem}));
                ops.push(json!({"op": "store", "of": own, "at": 0}));
            }
        }
    }),
    ("adds-twice-on-the-last", "adds one contribution twice, on the last element", |asked, made| {
        for ops in ops(made).into_iter().filter(|_| asked.is_last()) {
            if let Some(at) = first(ops, "add") {
                let (to, b) = (get(ops, Some(at), "to"), get(ops, Some(at), "b"));
                let again = json!({"op": "add", "to": to, "a": to, "b": b});
                if to != b {
                    ops.insert(at + 1, again);
                }
            }
        }
    }),
    ("adds-itself", "adds what came to itself, on the first element that adds", |asked, made| {
        for ops in ops(made).into_iter().filter(|_| asked.element < asked.cubes) {
            let at = first(ops, "add");
            let b = get(ops, at, "b");
            set(ops, at, "a", b);
        }
    }),
    (
        "leaves-out-on-the-last",
        "leaves out the last contribution that comes, on the last device",
        |asked, made| {
            for ops in ops(made).into_iter().filter(|_| asked.of_last_rank()) {
                if let Some(at) = last(ops, "add") {
                    let (from, a) = (get(ops, Some(at), "to"), get(ops, Some(at), "a"));
                    ops.remove(at);
                    for op in ops.iter_mut().skip(at) {
                        for member in ["of", "a", "b"] {
                            if op.get(member) == Some(&from) {
                                op[member] = a.clone();
                            }
                        }
                    }
                }
            }
        },
    ),
    ("wrong-chunk-loaded", "loads the wrong chunk once, on the last element", |asked, made| {
        for ops in ops(made).into_iter().filter(|_| asked.is_last()) {
            let at = last(ops, "load");
            let n = get(ops, at, "n").as_i64().unwrap_or(0);
            elsewhere(asked, ops, at, n);
        }
    }),
    ("wrong-chunk-stored", "stores a chunk at the wrong place, on the first element", |asked, made| {
        for ops in ops(made).into_iter().filter(|_| asked.element == 0) {
            let at = last(ops, "store");
            elsewhere(asked, ops, at, 1);
        }
    }),
    ("east-for-west-on-the-last", "takes east for west on the last device", |asked, made| {
        turned(asked.of_last_rank(), made, ["E", "W"]);
    }),
    ("north-for-south-on-the-last", "takes north for south on the last device", |asked, made| {
        turned(asked.of_last_rank(), made, ["N", "S"]);
    }),
    ("columns-for-rows", "takes columns for rows", |_, made| turned(true, made, ["E", "S"])),
    ("message-less", "does not send its last message, on the first element", |asked, made| {
        for ops in ops(made).into_iter().filter(|_| asked.element == 0) {
            last(ops, "send").into_iter().for_each(|at| drop(ops.remove(at)));
        }
    }),
    ("message-more", "sends its last message twice, on the first element", |asked, made| {
        for ops in ops(made).into_iter().filter(|_| asked.element == 0) {
            if let Some(at) = last(ops, "send") {
                let again = ops.get(at).cloned().unwrap_or_default();
                ops.insert(at, again);
            }
        }
    }),
    ("receives-first", "receives before it sends", |_, made| {
        if let Some(ops) = ops(made) {
            for at in 1..ops.len() {
                if let [send, recv] = &mut ops[at - 1..=at]
                    && is(send, "send")
                    && is(recv, "recv")
                {
                    std::mem::swap(send, recv);
                }
            }
        }
    }),
    ("tail-lost", "leaves out the last number of whole tiles", |asked, made| {
        for op in ops(made).into_iter().flatten().filter(|_| asked.n_elem > 1) {
            if op.get("n") == Some(&json!(asked.n_elem)) {
                op["n"] = json!(asked.n_elem - 1);
            }
        }
    }),
    ("one-behind", "stores one position behind, on the last device", |asked, made| {
        for op in ops(made).into_iter().flatten().filter(|op| asked.of_last_rank() && is(op, "store")) {
            op["at"] = json!(op["at"].as_i64().unwrap_or(0) + 1);
        }
    }),
    ("other-length", "receives a number less than was sent, on the last device", |asked, made| {
        for ops in ops(made).into_iter().filter(|_| asked.of_last_rank()) {
            let at = first(ops, "recv");
            let n = get(ops, at, "n").as_i64().unwrap_or(0);
            set(ops, at, "n", json!(n - 1));
        }
    }),
    (
        "largest-for-sum",
        "takes the larger of two numbers in place of the sum, on the last device",
        |asked, made| {
            for op in ops(made).into_iter().flatten().filter(|op| asked.of_last_rank() && is(op, "add")) {
                op["op"] = json!("maximum");
            }
        },
    ),
    ("unknown-direction", "sends to a direction that there is not, on the first element", |asked, made| {
        for ops in ops(made).into_iter().filter(|_| asked.element == 0) {
            let at = first(ops, "send");
            set(ops, at, "dir", json!("next"));
        }
    }),
    ("too-early", "uses a handle before it makes it, on the first element", |asked, made| {
        for ops in ops(made).into_iter().filter(|ops| asked.element == 0 && !ops.is_empty()) {
            ops.rotate_left(1);
        }
    }),
    ("empty-piece", "loads a piece without numbers", |_, made| {
        ops(made).into_iter().for_each(|ops| ops.push(json!({"op": "load", "to": "none", "at": 0, "n": 0})));
    }),
    ("own-memory-exceeded", "loads the tile of the next cube", |asked, made| {
        let load = json!({"op": "load", "to": "next", "at": asked.n_elem, "n": 1});
        ops(made).into_iter().for_each(|ops| ops.push(load.clone()));
    }),
    ("wide-store", "stores what it has not rounded, on the last device", |asked, made| {
        for ops in ops(made).into_iter().filter(|_| asked.of_last_rank()) {
            if let Some(at) = last(ops, "store") {
                let of = get(ops, Some(at), "of");
                ops.insert(at, json!({"op": "cast", "to": of, "of": of, "dtype": "f32"}));
            }
        }
    }),
    ("other-when-started-anew", "does something else in another process", |asked, made| {
        for ops in ops(made).into_iter().filter(|_| asked.anew) {
            ops.push(json!({"op": "load", "to": "more", "at": 0, "n": 1}));
        }
    }),
    ("no-log", "answers without operations on the last element", |asked, made| {
        if asked.is_last() {
            *made = json!({});
        }
    }),
    ("arguments-without-rank", "does not append the rank", |_, made| {
        let arguments = made.get_mut("arguments").and_then(Value::as_array_mut);
        arguments.into_iter().for_each(|all| drop(all.remove(all.len().saturating_sub(4))));
    }),
    ("arguments-rank-from-one", "counts ranks from 1", |_, made| argument(made, 4, |rank| rank + 1)),
    ("arguments-rank-of-elements", "appends the element for the rank", |asked, made| {
        let arguments = made.get_mut("arguments").and_then(Value::as_array_mut);
        let at = arguments.and_then(|all| all.len().checked_sub(4).and_then(|at| all.get_mut(at)));
        at.into_iter().for_each(|rank| *rank = json!(asked.element));
    }),
    ("arguments-kind-of-another", "appends another kind", |_, made| argument(made, 3, |kind| (kind + 1) % 3)),
    ("arguments-first", "puts the four arguments of the backend first", |_, made| {
        let arguments = made.get_mut("arguments").and_then(Value::as_array_mut);
        arguments.into_iter().for_each(|all| all.rotate_right(4));
    }),
    (
        "arguments-width-always",
        "appends a width where there is no grid, and one more where there is",
        |_, made| {
            argument(made, 2, |width| width + 1);
        },
    ),
    ("arguments-by-element", "makes a tuple of its own for each element", |asked, made| {
        if let Some(argument) = made.get_mut("arguments").and_then(|all| all.get_mut(0)) {
            *argument = json!(asked.element);
        }
    }),
    ("describes-no-kernel", "does not say that it has a kernel", |_, made| {
        described(made, "symbols", json!(["kernel_args", "TOPO_NAME_TO_KIND"]));
    }),
    ("describes-fewer-parameters", "describes a kernel with a parameter less", |_, made| {
        described(made, "positional", json!(8));
    }),
    ("describes-no-tl", "describes a kernel without `tl`", |_, made| described(made, "tl", json!(false))),
    ("describes-no-kinds", "describes a map without kinds", |_, made| described(made, "kinds", json!({}))),
    ("describes-elsewhere", "describes another topology", |_, made| {
        made["topology"]["capacity"] = json!(999)
    }),
    ("describes-other-size", "overrides the number of ranks", |_, made| made["world_size"] = json!(99)),
];

/// Right, and different.
pub const LEGITIMATE: &[Entry] = &[
    ("renamed", "calls its handles by other names", |_, made| {
        for op in ops(made).into_iter().flatten() {
            for member in ["to", "of", "a", "b"] {
                if let Some(name) = op.get(member).and_then(Value::as_str) {
                    op[member] = json!(format!("handle of {name}"));
                }
            }
        }
    }),
    ("operands-swapped", "swaps the operands of each addition", |_, made| {
        for op in ops(made).into_iter().flatten().filter(|op| is(op, "add")) {
            let (a, b) = (op["a"].clone(), op["b"].clone());
            (op["a"], op["b"]) = (b, a);
        }
    }),
    ("loads-more", "loads what it does not need", |_, made| {
        ops(made).into_iter().for_each(|ops| ops.push(json!({"op": "load", "to": "idle", "at": 0, "n": 1})));
    }),
    ("stores-again", "stores each result twice", |_, made| {
        if let Some(ops) = ops(made) {
            let twice = |op: Value| if is(&op, "store") { vec![op.clone(), op] } else { vec![op] };
            *ops = std::mem::take(ops).into_iter().flat_map(twice).collect();
        }
    }),
    ("in-a-loop", "writes its log as a loop of one turn", |_, made| {
        if let Some(ops) = ops(made) {
            *ops = vec![json!({"for": "turn", "count": 1, "ops": std::mem::take(ops)})];
        }
    }),
    ("there-and-back", "casts to binary32 and back before it stores", |_, made| {
        if let Some(ops) = ops(made) {
            let around = |op: Value| {
                let of = op.get("of").cloned().unwrap_or_default();
                let cast = |dtype: &str| json!({"op": "cast", "to": of, "of": of, "dtype": dtype});
                if is(&op, "store") { vec![cast("f32"), cast("f16"), op] } else { vec![op] }
            };
            *ops = std::mem::take(ops).into_iter().flat_map(around).collect();
        }
    }),
    ("through-scratch", "puts each result into its scratch first", |asked, made| {
        let Some(all) = ops(made) else { return };
        let kept = |op: Value| {
            let to_scratch = json!({"op": "store", "of": op.get("of"), "at": asked.n_elem});
            if is(&op, "store") { vec![to_scratch, op] } else { vec![op] }
        };
        *all = std::mem::take(all).into_iter().flat_map(kept).collect();
        made["scratch"] = json!(asked.n_elem);
    }),
    // Each position is summed up by one element, and all others get it from there.
    (
        "wide-on-the-last",
        "adds in binary32 what it adds by itself, and rounds what it sends and stores, on the last device",
        |asked, made| {
            let Some(old) = ops(made).filter(|_| asked.of_last_rank()) else { return };
            let mut new = Vec::new();
            for op in std::mem::take(old) {
                let cast =
                    |of: &Value, dtype: &str| json!({"op": "cast", "to": of, "of": of, "dtype": dtype});
                match op.get("op").and_then(Value::as_str) {
                    Some("load" | "recv") => {
                        let wide = cast(&op["to"], "f32");
                        new.extend([op, wide]);
                    }
                    Some("send" | "store") => {
                        let kept = json!({"op": "cast", "to": "rounded", "of": op["of"], "dtype": "f16"});
                        let mut out = op.clone();
                        out["of"] = json!("rounded");
                        new.extend([kept, out]);
                    }
                    _ => new.push(op),
                }
            }
            *old = new;
        },
    ),
];
