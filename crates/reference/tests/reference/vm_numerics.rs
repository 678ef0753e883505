//! The VM with values: what a program yields does not depend on the schedule, and a real decoder decodes.

#![allow(clippy::panic)]

use std::collections::{BTreeMap, BTreeSet};

use megakernel_ir::model::Program;
use megakernel_ir::{Opcode, TaskId, read};
use megakernel_numerics::Tensor;
use megakernel_reference::vm::files::fill_random;
use megakernel_reference::vm::steps::{advance, greedy};
use megakernel_reference::vm::{Following, Loaded, Output, Reference, Schedule, Session, Settings};
use megakernel_test_support::{files, fixtures, root};

fn settings(seed: u64) -> Settings {
    Settings { schedule: Schedule::seeded(seed), ..Settings::default() }
}

/// Bits, so that a NaN equals itself and zeros differ.
fn bits(output: &Output) -> (Vec<u8>, Vec<u64>, Vec<u64>) {
    let of = |values: &[f64]| values.iter().map(|value| value.to_bits()).collect::<Vec<_>>();
    match &output.reference {
        Reference::Reals { values, bounds } => (output.tensor.bytes.clone(), of(values), of(bounds)),
        Reference::Ints(values) => {
            let values = values.iter().map(|value| value.map_or(u64::MAX, |value| value as u64));
            (output.tensor.bytes.clone(), values.collect(), Vec::new())
        }
    }
}

#[test]
fn results_do_not_depend_on_the_schedule() {
    let paths = files::json_in(&root().join("corpus/programs"));
    let mut seen = BTreeSet::new();
    for path in &paths {
        let document = files::bytes(path);
        let Ok(program) = read(&document) else { continue };
        let elements: u64 =
            program.buffers.iter().map(|buffer| buffer.numel().unwrap_or(u64::MAX) >> 4).sum();
        let Ok(loaded) = Loaded::load(&program) else { continue };
        if elements > 1 << 14 || program.tasks.len() > 500 {
            continue;
        }
        let mut tensors = BTreeMap::new();
        fill_random(&program, &mut tensors, 5).expect("small tensors");
        let run = |seed| match Session::new().launch(&loaded, &tensors, &settings(seed)) {
            Ok(finished) => finished.outputs.iter().map(bits).collect::<Vec<_>>(),
            Err(error) => panic!("{}, seed {seed}: {error:?}", path.display()),
        };
        let in_list_order = run(0);
        for seed in 1..12 {
            assert!(run(seed) == in_list_order, "{}: seed {seed} gives another result", path.display());
        }
        seen.extend(program.tasks.iter().map(|task| task.op));
    }
    assert_eq!(seen.len(), Opcode::ALL.len(), "opcodes that ran: {seen:?}");
}

/// What a step of the toy decoder yields.
struct Decoded {
    token: i64,
    outputs: Vec<(Vec<u8>, Vec<u64>, Vec<u64>)>,
}

/// Decodes some tokens greedily; also gives back how many of them every conforming implementation would pick.
fn decode(document: &[u8], steps: usize, seed: u64) -> (Vec<Decoded>, usize) {
    let mut program = read(document).expect("a program");
    let mut tensors = BTreeMap::new();
    fill_random(&program, &mut tensors, 11).expect("small tensors");
    thin_out(&program, &mut tensors);
    let mut session = Session::new();
    let (mut decoded, mut certain) = (Vec::new(), 0);
    for step in 0..steps {
        let loaded = Loaded::load(&program).expect("accepted at every position");
        let finished =
            session.launch(&loaded, &tensors, &settings(seed + 100 * step as u64)).expect("no fault");
        let logits = finished.output("logits").expect("logits");
        let picked = greedy(&logits.reference, 256);
        assert_eq!(picked.len(), 1);
        certain += usize::from(picked[0].1);
        let outputs = finished.outputs.iter().map(bits).collect();
        decoded.push(Decoded { token: picked[0].0, outputs });
        let int =
            |value| Tensor::from_ints(megakernel_ir::DType::I32, vec![1], &[value]).expect("one integer");
        tensors.insert("token_id".to_owned(), int(picked[0].0));
        tensors.insert("pos".to_owned(), int(step as i64 + 1));
        advance(&mut program);
    }
    (decoded, certain)
}

/// Leaves two elements of each row of a matrix: bounds grow with the sum of all magnitudes, and by far more than values.
fn thin_out(program: &Program<'_>, tensors: &mut BTreeMap<String, Tensor>) {
    for buffer in program.buffers.iter().filter(|buffer| buffer.name.contains("proj")) {
        let Some(tensor) = tensors.get_mut(&*buffer.name) else { continue };
        let width = tensor.shape[1] as usize;
        let keep = |(at, value): (usize, f64)| {
            let (row, column) = (at / width, at % width);
            if column == (7 * row + 3) % width || column == (5 * row) % width { 4.0 * value } else { 0.0 }
        };
        let values: Vec<f64> = tensor.reals().into_iter().enumerate().map(keep).collect();
        *tensor = Tensor::from_reals(tensor.dtype, tensor.shape.clone(), &values).expect("a tensor");
    }
}

#[test]
fn a_real_decoder_decodes_eight_tokens_the_same_under_two_schedules() {
    let document = fixtures::bytes("amk/toy_decoder.json");
    let [(first, certain), (second, _)] = [0, 3].map(|seed| decode(&document, 8, seed));
    assert_eq!(certain, 8, "no doubt about any token");
    for (step, (first, second)) in first.iter().zip(&second).enumerate() {
        assert_eq!(first.token, second.token, "step {step}");
        assert!(first.outputs == second.outputs, "step {step}");
    }
    let tokens: BTreeSet<i64> = first.iter().map(|decoded| decoded.token).collect();
    assert!(tokens.len() > 1, "the tokens depend on what came before: {tokens:?}");
    // A token that sees the rows of the tokens before it yields other logits than one that stands alone.
    assert_ne!(first[1].outputs, decode(&document, 1, 0).0[0].outputs);
}

fn programs_with(op: &str) -> String {
    format!(
        r#"{{"ir_version":"0.2.0","abi_version":"0.2",
            "buffers":[{{"id":0,"name":"x","kind":"IO_INPUT","dtype":"F32","shape":[1,1,2]}},
                       {{"id":1,"name":"cache","kind":"KV_CACHE","dtype":"F16","shape":[4,1,2]}},
                       {{"id":2,"name":"y","kind":"IO_OUTPUT","dtype":"F32","shape":[4,1,2]}}],
            "counters":[{{"id":0}},{{"id":1}}],
            "tasks":[{{"id":0,"op":"KV_APPEND","inputs":[0,1],"outputs":[1],"out_counter":0,"params":{{"pos":0}}}},
                     {{"id":1,"op":"{op}","inputs":[1],"outputs":[2],"out_counter":1,"waits":[{{"counter":0,"threshold":1}}]}}]}}"#
    )
}

fn one(name: &str, dtype: megakernel_ir::DType, values: &[f64], shape: &[u64]) -> BTreeMap<String, Tensor> {
    let tensor = Tensor::from_reals(dtype, shape.to_vec(), values).expect("a tensor");
    BTreeMap::from([(name.to_owned(), tensor)])
}

fn reals(outputs: &[Output], name: &str) -> Vec<f64> {
    outputs.iter().find(|output| output.name == name).expect("an output").tensor.reals()
}

#[test]
fn caches_outlive_a_launch_and_nothing_else_does() {
    use megakernel_ir::DType::{F16, F32};
    let text = programs_with("COPY");
    let mut program = read(text.as_bytes()).expect("a program");
    let mut session = Session::new();
    let launch = |session: &mut Session, program: &Program<'_>, x: &[f64]| {
        let loaded = Loaded::load(program).expect("accepted");
        session.launch(&loaded, &one("x", F32, x, &[1, 1, 2]), &settings(0)).expect("no fault").outputs
    };
    let outputs = launch(&mut session, &program, &[1.0, 2.0]);
    assert_eq!(reals(&outputs, "y"), [1.0, 2.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]);
    advance(&mut program);
    // 0.1 is rounded when it is appended, and only then.
    let outputs = launch(&mut session, &program, &[0.1, 4.0]);
    assert_eq!(reals(&outputs, "y")[..4], [1.0, 2.0, 0.0999755859375, 4.0]);
    assert_eq!(reals(&outputs, "cache")[..4], [1.0, 2.0, 0.0999755859375, 4.0]);
    let cache = outputs.iter().find(|output| output.name == "cache").expect("the cache");
    let Reference::Reals { values, .. } = &cache.reference else { panic!("reals") };
    assert_eq!(values[2], f64::from(0.1f32), "the reference is not rounded");

    // A cache can be given to the first launch of a session, and only to that.
    let mut tensors = one("cache", F16, &[9.0; 8], &[4, 1, 2]);
    tensors.extend(one("x", F32, &[5.0, 6.0], &[1, 1, 2]));
    let loaded = Loaded::load(&program).expect("accepted");
    for mut session in [Session::new(), session] {
        let outputs = session.launch(&loaded, &tensors, &settings(0)).expect("no fault").outputs;
        let kept = reals(&outputs, "y")[0];
        assert_eq!(reals(&outputs, "y")[2..4], [5.0, 6.0]);
        assert!(kept == 9.0 || kept == 1.0);
    }
}

#[test]
fn a_task_can_be_computed_from_what_somebody_else_wrote() {
    let text = programs_with("COPY");
    let program = read(text.as_bytes()).expect("a program");
    let tensors = one("x", megakernel_ir::DType::F32, &[1.0, 2.0], &[1, 1, 2]);
    let mut following =
        Following::new(&program, &tensors, &BTreeMap::new(), Default::default()).expect("bound");
    assert_eq!(following.order().expect("no fault"), [0, 1].map(TaskId::from));
    let appended = following.task(0.into()).expect("computed").expect("it writes");
    assert_eq!((appended.buffer, appended.region.to_witness()), (1.into(), vec![[0, 1], [0, 1], [0, 2]]));
    let wrong = Tensor::from_reals(megakernel_ir::DType::F16, vec![1, 1, 2], &[7.0, 8.0]).expect("a tensor");
    following.store(0.into(), &wrong).expect("it fits");
    let copied = following.task(1.into()).expect("computed").expect("it writes");
    let Reference::Reals { values, bounds } = copied.reference else { panic!("reals") };
    assert_eq!((&values[..2], &bounds[..2]), (&[7.0, 8.0][..], &[0.0, 0.0][..]), "its own input counts");
    assert_eq!(following.buffer(1.into()).expect("the cache").reals()[..2], [7.0, 8.0]);
    let small = Tensor::from_reals(megakernel_ir::DType::F16, vec![1], &[7.0]).expect("a tensor");
    assert!(
        following
            .store(0.into(), &small)
            .is_err_and(|why| why.contains("writes 2 elements of F16, not 1 of F16"))
    );
}

#[test]
fn what_is_missing_or_differs_is_named() {
    let text = programs_with("COPY");
    let program = read(text.as_bytes()).expect("a program");
    let loaded = Loaded::load(&program).expect("accepted");
    let refused = |tensors: &BTreeMap<String, Tensor>| {
        Session::new().launch(&loaded, tensors, &settings(0)).expect_err("refused").to_string()
    };
    assert_eq!(refused(&BTreeMap::new()), "no tensor `x` for buffer 0, which is IO_INPUT");
    assert_eq!(
        refused(&one("x", megakernel_ir::DType::F16, &[1.0, 2.0], &[2])),
        "tensor `x` is F16 [2]; buffer 0 requires F32 [1, 1, 2]"
    );
}

#[test]
fn what_depends_on_an_uncertain_token_is_not_specified_and_has_a_value() {
    // Two equal rows of a matrix give logits that rounding alone tells apart.
    let text = r#"{"ir_version":"0.2.0","abi_version":"0.2",
        "buffers":[{"id":0,"name":"x","kind":"IO_INPUT","dtype":"F32","shape":[1,3]},
                   {"id":1,"name":"w","kind":"WEIGHT","dtype":"F32","shape":[2,3]},
                   {"id":2,"name":"logits","kind":"ACTIVATION","dtype":"F32","shape":[1,2]},
                   {"id":3,"name":"token","kind":"IO_OUTPUT","dtype":"I32","shape":[1]},
                   {"id":4,"name":"table","kind":"WEIGHT","dtype":"F32","shape":[2,1]},
                   {"id":5,"name":"y","kind":"IO_OUTPUT","dtype":"F32","shape":[1,1]}],
        "counters":[{"id":0},{"id":1},{"id":2}],
        "tasks":[{"id":0,"op":"GEMV_TILE","inputs":[0,1],"outputs":[2],"out_counter":0,"params":{"K":3,"N_tile":2,"n_off":0}},
                 {"id":1,"op":"SAMPLE_ARGMAX","inputs":[2],"outputs":[3],"out_counter":1,"waits":[{"counter":0,"threshold":1}]},
                 {"id":2,"op":"EMBED","inputs":[3,4],"outputs":[5],"out_counter":2,"waits":[{"counter":1,"threshold":1}],
                  "params":{"hidden":1}}]}"#;
    let program = read(text.as_bytes()).expect("a program");
    let loaded = Loaded::load(&program).expect("accepted");
    let f32 = megakernel_ir::DType::F32;
    let run = |second_row: f64| {
        let mut tensors = one("x", f32, &[0.1, 0.2, 0.3], &[1, 3]);
        tensors.extend(one("w", f32, &[0.7, 0.7, 0.7, second_row, 0.7, 0.7], &[2, 3]));
        tensors.extend(one("table", f32, &[5.0, 6.0], &[2, 1]));
        Session::new().launch(&loaded, &tensors, &settings(0)).expect("no fault")
    };
    let finished = run(0.7);
    let output = |name| finished.output(name).expect("an output");
    assert_eq!(output("token").reference, Reference::Ints(vec![None]));
    assert_eq!(output("y").reference, Reference::Reals { values: vec![5.0], bounds: vec![f64::INFINITY] });
    assert_eq!((output("token").tensor.ints(), output("y").tensor.reals()), (vec![0], vec![5.0]));

    let finished = run(0.8);
    let output = |name| finished.output(name).expect("an output");
    assert_eq!(output("token").reference, Reference::Ints(vec![Some(1)]));
    assert_eq!(output("y").reference, Reference::Reals { values: vec![6.0], bounds: vec![0.0] });
}

#[test]
fn a_token_that_is_open_leaves_those_of_other_rows_as_they_are() {
    let text = r#"{"ir_version":"0.2.0","abi_version":"0.2",
        "buffers":[{"id":0,"name":"logits","kind":"IO_INPUT","dtype":"F32","shape":[3,2]},
                   {"id":1,"name":"table","kind":"WEIGHT","dtype":"F32","shape":[2,2]},
                   {"id":2,"name":"ids","kind":"ACTIVATION","dtype":"I32","shape":[3]},
                   {"id":3,"name":"copied","kind":"IO_OUTPUT","dtype":"I32","shape":[3]},
                   {"id":4,"name":"y","kind":"IO_OUTPUT","dtype":"F32","shape":[3,2]}],
        "counters":[{"id":0},{"id":1},{"id":2}],
        "tasks":[{"id":0,"op":"SAMPLE_ARGMAX","inputs":[0],"outputs":[2],"out_counter":0},
                 {"id":1,"op":"COPY","inputs":[2],"outputs":[3],"out_counter":1,"waits":[{"counter":0,"threshold":1}]},
                 {"id":2,"op":"EMBED","inputs":[2,1],"outputs":[4],"out_counter":2,"waits":[{"counter":0,"threshold":1}],
                  "params":{"hidden":2}}]}"#;
    let program = read(text.as_bytes()).expect("a program");
    let loaded = Loaded::load(&program).expect("accepted");
    let f32 = megakernel_ir::DType::F32;
    let mut tensors = one("logits", f32, &[1.0, 2.0, f64::NAN, 0.0, 3.0, 1.0], &[3, 2]);
    tensors.extend(one("table", f32, &[5.0, 6.0, 7.0, 8.0], &[2, 2]));
    let finished = Session::new().launch(&loaded, &tensors, &settings(0)).expect("no fault");
    let output = |name| finished.output(name).expect("an output");
    assert_eq!(output("copied").reference, Reference::Ints(vec![Some(1), None, Some(0)]));
    let Reference::Reals { values, bounds } = &output("y").reference else { panic!("no reals") };
    let open = f64::INFINITY;
    assert_eq!((&values[..2], &values[4..]), (&[7.0, 8.0][..], &[5.0, 6.0][..]));
    assert_eq!(bounds[..], [0.0, 0.0, open, open, 0.0, 0.0]);
}
