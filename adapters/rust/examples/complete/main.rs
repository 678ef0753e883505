//! A worker that conforms to the profiles `format` and `launch` (spec/rules/launch.md), and executes programs of ADD over F32.

mod members;
mod structure;

use std::collections::{BTreeMap, BTreeSet};

use megakernel_adapter::{
    Answer, Diagnostic, Json, Launch, Request, Tensor, Worker, accept, json, read_tensors, write_tensors,
};

/// The integer of a member; `otherwise` where it is absent.
fn integer(object: Option<&Json>, name: &str, otherwise: i64) -> i64 {
    object.and_then(|object| object.get(name)).and_then(Json::as_i64).unwrap_or(otherwise)
}

/// The member that is an object: not where it is `null`, or absent.
fn object<'d>(document: &'d Json, name: &str) -> Option<&'d Json> {
    document.get(name).filter(|value| matches!(value, Json::Object(_)))
}

/// L01 to L04: what the target cannot launch.
fn launch_rules(document: &Json) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    let mut broken =
        |rule, message: String, pointer: &str| found.push(Diagnostic::error(rule, &message, pointer));
    let (target, config) = (object(document, "target"), object(document, "config"));
    if let Some(config) = config {
        let bytes = integer(Some(config), "smem_bytes_per_block", 0);
        if bytes < 0 || bytes > integer(target, "smem_bytes_per_block_optin", i64::MAX) {
            broken("L01", format!("{bytes} bytes of shared memory"), "/config/smem_bytes_per_block");
        }
        let threads = integer(Some(config), "threads_per_block", 256);
        if !(1..=1024).contains(&threads) || threads > integer(target, "max_threads_per_sm", i64::MAX) {
            broken("L02", format!("{threads} threads in a block"), "/config/threads_per_block");
        }
        if let Some(Json::Object(assignment)) = config.get("sm_assignment") {
            for (task, sm) in assignment {
                let sm = sm.as_i64().unwrap_or(0);
                if sm < 0 || target.is_some() && sm >= integer(target, "num_sms", i64::MAX) {
                    broken("L04", format!("there is no SM {sm}"), &format!("/config/sm_assignment/{task}"));
                }
            }
        }
    }
    if target.and_then(|target| target.get("supports_cooperative")) == Some(&Json::Bool(false)) {
        let message = "the target launches no cooperative grids".to_owned();
        broken("L03", message, "/target/supports_cooperative");
    }
    found
}

fn judge(request: &Request) -> Result<Answer, String> {
    let program = match structure::read(&request.document) {
        Ok(program) => program,
        Err(found) => return Ok(Answer::Reject(found)),
    };
    let found = if request.profile == "launch" { launch_rules(&program) } else { Vec::new() };
    Ok(match request.method.as_str() {
        _ if !found.is_empty() => Answer::Reject(found),
        "roundtrip" => Answer::Accept(Vec::new(), Some(program.dump())),
        _ => accept(),
    })
}

/// The elements of a member that is a list.
fn list<'d>(object: &'d Json, name: &str) -> &'d [Json] {
    object.get(name).and_then(Json::as_array).unwrap_or_default()
}

/// The integers of a member that is a list of ids or extents.
fn ids(object: &Json, name: &str) -> Vec<usize> {
    list(object, name).iter().filter_map(|id| usize::try_from(id.as_i64()?).ok()).collect()
}

fn text<'d>(object: &'d Json, name: &str) -> &'d str {
    object.get(name).and_then(Json::as_str).unwrap_or_default()
}

/// What the buffers hold before the launch (EXE-08).
fn contents(program: &Json, launch: &Launch) -> Result<Vec<Vec<f32>>, String> {
    let mut bound = BTreeMap::new();
    for path in &launch.tensors {
        bound.extend(read_tensors(path)?);
    }
    let of = |buffer: &Json| {
        let (kind, dtype) = (text(buffer, "kind"), text(buffer, "dtype"));
        if kind == "KV_CACHE" || dtype != "F32" {
            return Err(format!("no caches, and no {dtype}"));
        }
        let source =
            buffer.get("source").and_then(Json::as_str).filter(|_| ["WEIGHT", "CONST"].contains(&kind));
        let tensor = bound.get(source.unwrap_or(text(buffer, "name")));
        match tensor.filter(|_| !["ACTIVATION", "IO_OUTPUT"].contains(&kind)) {
            Some(tensor) => tensor.floats(),
            None => Ok(vec![0.0; ids(buffer, "shape").iter().product()]),
        }
    };
    list(program, "buffers").iter().map(of).collect()
}

/// Runs the tasks that are ready, in order of the list, until none is left: so the tasks of one SM run in theirs (EXE-01, EXE-02).
fn run(program: &Json, memory: &mut [Vec<f32>]) -> Result<(), String> {
    let mut counters = vec![0; list(program, "counters").len()];
    let mut left: Vec<&Json> = list(program, "tasks").iter().collect();
    while !left.is_empty() {
        let (mut later, mut stuck) = (Vec::new(), BTreeSet::new());
        for task in &left {
            let at =
                |object: &Json, name| usize::try_from(integer(Some(object), name, 0)).unwrap_or(usize::MAX);
            let reached =
                |wait: &Json| counters.get(at(wait, "counter")) >= Some(&integer(Some(wait), "threshold", 0));
            let sm = integer(Some(task), "sm", -1);
            if sm >= 0 && stuck.contains(&sm) || !list(task, "waits").iter().all(reached) {
                stuck.insert(sm);
                later.push(*task);
                continue;
            }
            let (inputs, outputs) = (ids(task, "inputs"), ids(task, "outputs"));
            if let ([a, b], [y], "ADD") = (inputs.as_slice(), outputs.as_slice(), text(task, "op")) {
                let sum = memory
                    .get(*a)
                    .zip(memory.get(*b))
                    .map(|(a, b)| a.iter().zip(b).map(|(a, b)| a + b).collect());
                *memory.get_mut(*y).ok_or("no such buffer")? = sum.ok_or("no such buffer")?;
            }
            *counters.get_mut(at(task, "out_counter")).ok_or("no such counter")? += 1;
        }
        if later.len() == left.len() {
            return Err("the tasks wait for each other".to_owned());
        }
        left = later;
    }
    Ok(())
}

fn execute(request: &Request) -> Result<Answer, String> {
    for launch in &request.launches {
        let program = json::parse(launch.document.as_bytes()).map_err(|error| error.to_string())?;
        let mut memory = contents(&program, launch)?;
        run(&program, &mut memory)?;
        let mut outputs = BTreeMap::new();
        for (buffer, values) in list(&program, "buffers").iter().zip(&memory) {
            if text(buffer, "kind") == "IO_OUTPUT" {
                let shape: Vec<u64> = ids(buffer, "shape").iter().map(|&extent| extent as u64).collect();
                outputs.insert(text(buffer, "name").to_owned(), Tensor::of_floats(&shape, values));
            }
        }
        write_tensors(&launch.output, &outputs)?;
    }
    Ok(accept())
}

fn main() -> std::process::ExitCode {
    let mut rules: Vec<String> = (1..=22).map(|number| format!("S{number:02}")).collect();
    rules.extend((1..=4).map(|number| format!("L{number:02}")));
    Worker::new("complete-rust", "0.1.0", &["format", "launch", "execute"])
        .rules(&rules.iter().map(String::as_str).collect::<Vec<_>>())
        .claim("every_rule", Json::Bool(true))
        .claim("opcodes", Json::strings(&["NOP", "ADD"]))
        .claim("dtypes", Json::strings(&["F32"]))
        .on("validate", judge)
        .on("roundtrip", judge)
        .on("execute", execute)
        .run()
}
