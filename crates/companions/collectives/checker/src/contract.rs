//! What the runner calls: a module is asked for every element, and judged by what they do together (clauses COL-22 and COL-23).

use std::collections::HashMap;

use megakernel_collectives::{
    Algorithm, Document, Fault, LaunchRequest, ModuleDescription, TopologyKind, read, read_algorithm,
    read_launch,
};
use megakernel_ir::companion::{Ask, Checker, Question, Unanswered, Wrong};
use megakernel_ir::protocol::{FromWorker, Method};
use serde_json::{Map, Value, json};

use crate::judge;
use crate::place::Place;

/// Judges `expect.contract`.
#[derive(Clone, Copy, Debug)]
pub struct Contracts;

/// For the runner's list.
pub static CHECKER: Contracts = Contracts;

const METHODS: [Method; 3] = [Method::DESCRIBE, Method::KERNEL_ARGS, Method::LAUNCH];

impl Checker for Contracts {
    fn checks(&self) -> &[&'static str] {
        &["contract"]
    }

    fn well_formed(
        &self,
        method: Method,
        _: Option<&Value>,
        expect: &Map<String, Value>,
    ) -> Result<(), String> {
        if expect.get("contract") != Some(&Value::Bool(true)) {
            return Err("`expect.contract` is true or not there".to_owned());
        }
        if METHODS.contains(&method) {
            return Ok(());
        }
        Err(format!(
            "`expect.contract` is for the methods describe, kernel-args and launch, not for `{method}`"
        ))
    }

    fn judge(
        &self,
        question: &Question<'_>,
        _: &Map<String, Value>,
        answer: &FromWorker,
        ask: &mut Ask<'_>,
    ) -> Result<Result<(), Wrong>, Unanswered> {
        let asked: Option<Value> = serde_json::from_slice(question.document).ok();
        let read = asked.and_then(|asked| Some((read_launch(&asked).ok()?, asked)));
        let Some((request, asked)) = read else {
            return Ok(Err(wrong("a launch request", "the case has none".to_owned())));
        };
        let mut module = Asked { question, asked, request, ask };
        match question.method {
            Method::DESCRIBE => {
                let description = answered(answer).and_then(|value| description(&value, &module.request));
                Ok(description.map(drop).map_err(|what| wrong(DESCRIPTION, what)))
            }
            Method::KERNEL_ARGS => module.arguments(),
            _ => module.launches(),
        }
    }
}

const DESCRIPTION: &str = "the description of a module that can be launched on the topology of the request";
const ARGUMENTS: &str =
    "for every element the entries of one tuple, then its rank, the kind, and the extents of the topology";
const LOGS: &str = "logs that all together break no rule";
const AGAIN: &str = "the same log when the worker is started anew and asked in the opposite order";

fn wrong(expected: &str, actual: String) -> Wrong {
    Wrong { expected: expected.to_owned(), actual }
}

/// The document of an accepting answer.
fn answered(answer: &FromWorker) -> Result<Value, String> {
    match (answer.kind.as_str(), answer.outcome.as_deref(), &answer.document) {
        ("response", Some("accept"), Some(document)) => {
            serde_json::from_str(document).map_err(|cause| format!("the answer is no JSON: {cause}"))
        }
        ("response", Some("accept"), None) => Err("accept without `document`".to_owned()),
        ("response", Some(outcome), _) => {
            Err(format!("{outcome}, to another question about the same module"))
        }
        _ => Err("no outcome".to_owned()),
    }
}

/// A module that is asked.
struct Asked<'a, 'b, 'c> {
    question: &'a Question<'b>,
    asked: Value,
    request: LaunchRequest,
    ask: &'a mut Ask<'c>,
}

impl Asked<'_, '_, '_> {
    fn elements(&self) -> usize {
        Place::new(&self.request.topology).elements()
    }

    fn ask(
        &mut self,
        method: Method,
        element: usize,
        anew: bool,
    ) -> Result<Result<Value, String>, Unanswered> {
        let mut asked = self.asked.clone();
        if let Some(members) = asked.as_object_mut() {
            members.insert("element".to_owned(), json!(element));
        }
        let document = asked.to_string();
        let answer = (self.ask)(&Question { method, document: document.as_bytes(), anew, ..*self.question })?;
        Ok(answered(&answer).map_err(|what| format!("element {element}: {what}")))
    }

    /// Judges `kernel-args`.
    fn arguments(&mut self) -> Result<Result<(), Wrong>, Unanswered> {
        let described = self.ask(Method::DESCRIBE, 0, false)?;
        let described = match described.and_then(|value| description(&value, &self.request)) {
            Ok(described) => described,
            Err(what) => return Ok(Err(wrong(DESCRIPTION, what))),
        };
        let mut tuple: Option<Vec<Value>> = None;
        for element in 0..self.elements() {
            let given = match self.ask(Method::KERNEL_ARGS, element, false)? {
                Ok(given) => given,
                Err(what) => return Ok(Err(wrong(ARGUMENTS, what))),
            };
            let judged = arguments(&given, &described, element).and_then(|entries| match &tuple {
                Some(known) if *known != entries => Err(format!(
                    "element {element}: the tuple is {}, and was {}",
                    json!(entries),
                    json!(known)
                )),
                _ => {
                    tuple = Some(entries);
                    Ok(())
                }
            });
            if let Err(what) = judged {
                return Ok(Err(wrong(ARGUMENTS, what)));
            }
        }
        Ok(Ok(()))
    }

    /// Judges `launch`.
    fn launches(&mut self) -> Result<Result<(), Wrong>, Unanswered> {
        let mut logs = Vec::new();
        for element in 0..self.elements() {
            match self.ask(Method::LAUNCH, element, false)? {
                Ok(log) => logs.push(log),
                Err(what) => return Ok(Err(wrong(LOGS, what))),
            }
        }
        for (count, (element, log)) in logs.iter().enumerate().rev().enumerate() {
            let again = self.ask(Method::LAUNCH, element, count == 0)?;
            match again {
                Ok(again) if renamed(&again) == renamed(log) => {}
                Ok(_) => {
                    return Ok(Err(wrong(AGAIN, format!("element {element} does something else (COL-10)"))));
                }
                Err(what) => return Ok(Err(wrong(AGAIN, what))),
            }
        }
        Ok(self.together(&logs).map_err(|what| wrong(LOGS, what)))
    }

    /// Judges all logs as one algorithm.
    fn together(&self, logs: &[Value]) -> Result<(), String> {
        let scratch = logs.iter().filter_map(|log| log.get("scratch")).filter_map(Value::as_i64).max();
        let log = |(element, log): (usize, &Value)| json!({"elements": [[element, element, 1]], "ops": log.get("ops").unwrap_or(&Value::Null)});
        let document = json!({
            "topology": self.asked.get("topology"),
            "n_elem": self.asked.get("n_elem"),
            "collective": self.asked.get("collective"),
            "scratch": scratch.unwrap_or(0),
            "logs": logs.iter().enumerate().map(log).collect::<Vec<_>>(),
        });
        let algorithm: Algorithm = read_algorithm(&document).map_err(|faults| first(&faults))?;
        if !(0..=1 << 24).contains(&algorithm.scratch) {
            return Err(format!("CS01 a scratch of {} positions", algorithm.scratch));
        }
        match judge(&algorithm).first() {
            None => Ok(()),
            Some(broken) => Err(broken.to_string()),
        }
    }
}

/// The first of some faults, in words.
fn first(faults: &[Fault]) -> String {
    let said = |fault: &Fault| format!("{} {}: {}", fault.rule, fault.pointer, fault.message);
    faults.first().map(said).unwrap_or_default()
}

/// The module that an answer describes, if it can be launched where it is asked for.
fn description(value: &Value, request: &LaunchRequest) -> Result<ModuleDescription, String> {
    let described = match read(value) {
        Ok(Document::Module(described)) => described,
        Ok(Document::Algorithm(_)) => {
            return Err("no module description, which has a member `module`".to_owned());
        }
        Err(faults) => return Err(first(&faults)),
    };
    let module = &described.module;
    let kind = request.topology.kind.name();
    let has = |name: &str| module.symbols.iter().any(|symbol| symbol == name);
    let given = module.arguments.saturating_add(5);
    let required = module.required.unwrap_or(module.positional);
    let broken = [
        (described.topology != request.topology, "the topology is not that of the request"),
        (module.arguments < 0 || module.positional < 0 || required < 0, "CS01 a negative number"),
        (!has("kernel") || !has("kernel_args"), "CC01 there is no `kernel` or no `kernel_args`"),
        (
            given < required || (!module.variadic && given > module.positional),
            "CC02 the kernel does not take what `kernel_args` gives, the address and four more",
        ),
        (!module.tl, "CC03 the kernel does not take `tl`"),
        (
            module.kinds.as_ref().is_some_and(|kinds| !kinds.iter().any(|(name, _)| name == kind)),
            "CC04 the map does not have the kind of the topology",
        ),
        (
            described.world_size.is_some_and(|size| size != request.topology.ranks),
            "CC05 the topology has another number of ranks",
        ),
    ];
    match broken.iter().find(|(broken, _)| *broken) {
        Some((_, what)) => Err((*what).to_owned()),
        None => Ok(described),
    }
}

/// The tuple in the arguments of an element, if what follows it is right.
fn arguments(value: &Value, described: &ModuleDescription, element: usize) -> Result<Vec<Value>, String> {
    let topology = &described.topology;
    let given = value.get("arguments").and_then(Value::as_array);
    let given = given.ok_or_else(|| "the answer has no array `arguments`".to_owned())?;
    let length = usize::try_from(described.module.arguments).unwrap_or(0);
    let (tuple, last) = given.split_at_checked(length).ok_or_else(|| format!("{} arguments", given.len()))?;
    let (rank, _) = Place::new(topology).of(element);
    let kinds = described.module.kinds.as_deref().unwrap_or_default();
    let kind = kinds.iter().find(|(name, _)| name == topology.kind.name()).map_or(0, |(_, kind)| *kind);
    let (w, h) = match topology.kind {
        TopologyKind::Torus | TopologyKind::Mesh => (topology.w.unwrap_or(0), topology.h.unwrap_or(0)),
        TopologyKind::Ring | TopologyKind::Explicit => (0, 0),
    };
    let wanted = [rank, kind, w, h].map(Value::from);
    if last == wanted {
        return Ok(tuple.to_vec());
    }
    Err(format!("element {element}: after the tuple comes {}, required {}", json!(last), json!(wanted)))
}

/// A log whose handles are called after the order in which they turn up.
fn renamed(log: &Value) -> Value {
    fn walk(value: &mut Value, names: &mut HashMap<String, usize>) {
        match value {
            Value::Array(all) => all.iter_mut().for_each(|value| walk(value, names)),
            Value::Object(members) => {
                // `of` of a number is an object, and no handle.
                for name in ["of", "a", "b", "to"] {
                    if let Some(Value::String(handle)) = members.get_mut(name) {
                        let next = names.len();
                        *handle = names.entry(std::mem::take(handle)).or_insert(next).to_string();
                    }
                }
                if let Some(ops) = members.get_mut("ops") {
                    walk(ops, names);
                }
            }
            _ => {}
        }
    }
    let mut log = log.clone();
    walk(&mut log, &mut HashMap::new());
    log
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sum on a ring of two: what each of the two does, and what it does when the worker is started anew.
    fn play(first: [Value; 2], second: [Value; 2], method: Method) -> Result<(), Wrong> {
        let request = json!({"topology": {"kind": "ring_1d", "ranks": 2, "cube_w": 1, "cube_h": 1},
                             "n_elem": 1, "collective": {"kind": "all_reduce"}});
        let text = request.to_string();
        let (mut anew, mut order) = (false, Vec::new());
        let mut ask = |question: &Question<'_>| -> Result<FromWorker, Unanswered> {
            anew |= question.anew;
            let asked: Value = serde_json::from_slice(question.document).expect("a request");
            let element =
                usize::try_from(asked["element"].as_u64().expect("an element")).expect("a small one");
            order.push((element, anew));
            let said = if question.method == Method::DESCRIBE {
                json!({"topology": asked["topology"], "module": {"symbols": ["kernel", "kernel_args"],
                       "positional": 5, "tl": true, "arguments": 0}})
            } else {
                if anew { &second[element] } else { &first[element] }.clone()
            };
            let line = json!({"type": "response", "outcome": "accept", "document": said.to_string()});
            Ok(serde_json::from_value(line).expect("an answer"))
        };
        let question = Question { method, document: text.as_bytes(), arguments: None, anew: false };
        let answer = ask(&Question { document: json!({"element": 0}).to_string().as_bytes(), ..question });
        let expect = Map::from_iter([("contract".to_owned(), json!(true))]);
        let judged = CHECKER
            .judge(&question, &expect, &answer.expect("an answer"), &mut ask)
            .expect("all is answered");
        if method == Method::LAUNCH && judged.is_ok() {
            assert_eq!(order[1..], [(0, false), (1, false), (1, true), (0, true)]);
        }
        judged
    }

    fn log(out: &str, handle: &str) -> Value {
        let back = if out == "global_E" { "global_W" } else { "global_E" };
        json!({"ops": [{"op": "load", "to": handle, "at": 0, "n": 1}, {"op": "send", "of": handle, "dir": out},
               {"op": "recv", "to": "in", "dir": back, "n": 1}, {"op": "add", "to": "s", "a": "in", "b": handle},
               {"op": "store", "of": "s", "at": 0}]})
    }

    #[test]
    fn any_names_pass_and_any_way_around() {
        let [east, west] = ["global_E", "global_W"].map(|out| [log(out, "a"), log(out, "a")]);
        assert_eq!(play(east.clone(), [log("global_E", "b"), log("global_E", "c")], Method::LAUNCH), Ok(()));
        assert_eq!(play(west.clone(), west, Method::LAUNCH), Ok(()));
    }

    #[test]
    fn what_changes_when_it_is_started_anew_is_refused() {
        let [east, west] = ["global_E", "global_W"].map(|out| [log(out, "a"), log(out, "a")]);
        let found = play(east, west, Method::LAUNCH).expect_err("it goes the other way around");
        assert!(found.actual.contains("element 1") && found.actual.contains("COL-10"), "{found:?}");
    }

    #[test]
    fn a_sum_that_loses_a_contribution_is_refused() {
        let mut logs = [log("global_E", "a"), log("global_E", "a")];
        logs[1]["ops"][3]["b"] = json!("in");
        let found = play(logs.clone(), logs, Method::LAUNCH).expect_err("the own number is lost");
        assert!(found.actual.starts_with("CT02 element 1"), "{found:?}");
    }

    #[test]
    fn arguments_end_with_rank_kind_and_extents() {
        let given = |rank: i64, kind: i64| json!({"arguments": [rank, kind, 0, 0]});
        let right = [given(0, 0), given(1, 0)];
        assert_eq!(play(right.clone(), right, Method::KERNEL_ARGS), Ok(()));
        for wrong in [[given(0, 0), given(0, 0)], [given(0, 1), given(1, 1)]] {
            let found = play(wrong.clone(), wrong, Method::KERNEL_ARGS).expect_err("rank or kind is wrong");
            assert!(found.actual.contains("required"), "{found:?}");
        }
    }
}
