//! The decoder layer over the task types of MPK: its attention has a cache, and six tokens of one request are appended to it.

use megakernel_ir::model::Program;
use megakernel_ir::{DType, Layout, read, write_record};
use megakernel_mcir_cases::by_hand;
use megakernel_mcir_cases::families::compute::drawn;
use megakernel_mcir_reference::{Instructions, Programmed, operators, program as program_of, run_program};
use megakernel_numerics::{Tensor, pack};
use megakernel_reference::validate::{Classes, validate};
use megakernel_reference::vm::{Loaded, Session, Settings};
use megakernel_selection_reference::kernel_graph::{self, Setting};
use megakernel_selection_reference::{Answered, Method, answer};
use megakernel_task_graph::{Mode, Translation, read_kernel_graph, read_task_graph};
use megakernel_task_graph_reference::bridge::{Imported, Options, Refusal, Run, import};
use megakernel_task_graph_reference::translate::translate;
use megakernel_test_support::{files, root};
use serde_json::{Value, json};

use super::{bits_of, document, greatest, index, outline, selected, tensors};

/// The kernel graph of the decoder layer, over an index of task types.
fn layer_graph(sequence: &Value) -> Result<Value, String> {
    let (request, plan) = selected(sequence, index("mpk-unrotated.json"));
    let tensors = sequence["tensors"].as_array().expect("tensors");
    let tasks = |columns: u64| columns / 8;
    let setting = Setting { tensors, positions: 8, tasks: &tasks, eps: 1e-6, theta: 10_000.0 };
    kernel_graph::kernel_graph(&request, &plan, &setting)
}

/// All tokens are new ones of one request, whose text has one page.
fn tokens_of_one_request() -> Options {
    let run = files::text(&root().join("examples/mcir/decoder/run.json"));
    Options { run: Run::read(run.as_bytes()).expect("a run"), ..Options::default() }
}

#[test]
fn a_decoder_layer_goes_over_task_types_to_the_tokens_of_a_program_by_hand() {
    let document = document("decoder.json");
    let (sequence, _) =
        operators(document.to_string().as_bytes(), Instructions::TaskTypes).expect("a sequence");
    let (_, plan) = selected(&sequence, index("mpk-unrotated.json"));
    let expected = [
        (0, 0, "119 norm"),
        (1, 1, "120 linear"),
        (2, 4, "116 paged attention, unrotated"),
        (5, 6, "108 linear add"),
        (7, 7, "119 norm"),
        (8, 8, "120 linear"),
        (9, 9, "118 silu_mul"),
        (10, 11, "108 linear add"),
        (12, 12, "119 norm"),
        (13, 13, "120 linear"),
    ];
    assert_eq!(outline(&plan), expected);
    let graph = layer_graph(&sequence).expect("a kernel graph");
    let attention = &graph["operators"][2];
    assert_eq!((&attention["grid"], &attention["params"]["scale"]), (&json!([1, 1, 1]), &json!(0.25)));
    assert_eq!(attention["params"]["position"], 0);
    let (program, binding) = by_hand::program("BF16", "BF16");
    let hand = Programmed { program: program.to_string(), binding, warnings: Vec::new() };
    let mut seen = Vec::new();
    for mode in [Mode::Sound, Mode::ExactCurrent] {
        let text = graph.to_string();
        let kernel_graph = read_kernel_graph(text.as_bytes()).expect("a kernel graph");
        let request = Translation { kernel_graph, ranks: 1, rank: 0, mode, extra: Vec::new() };
        let task_graph = write_record(&translate(&request).expect("a translation"), Layout::Compact);
        let judged = megakernel_task_graph_reference::validate(task_graph.as_bytes()).diagnostics;
        assert!(judged.iter().all(|found| !found.is_error()), "{judged:?}");
        let task_graph = read_task_graph(task_graph.as_bytes()).expect("a task graph");
        let made =
            import(&[&task_graph], &request.kernel_graph, &tokens_of_one_request()).expect("no refusal");
        let judged = validate(made.program.as_bytes(), Classes::ALL).diagnostics;
        assert!(judged.iter().all(|found| !found.is_error()), "{judged:?}");
        if mode == Mode::Sound {
            keep("graph", &graph);
            keep("program", &serde_json::from_str(&made.program).expect("JSON"));
            keep("binding", &made.binding.to_json());
        }
        let program: Program<'_> = read(made.program.as_bytes()).expect("a program");
        for seed in 0..4 {
            let (document, _) = drawn(&document, seed);
            let mut data = by_hand::joined(&document["data"]);
            // What no token has appended yet is no number, so that nobody reads it unnoticed.
            let mut host = tensors(&document);
            let nothing =
                Tensor::from_reals(DType::BF16, vec![1, 8, 1, 8], &[f64::NAN; 64]).expect("a cache");
            for tensor in graph["tensors"].as_array().expect("tensors") {
                let name = tensor["name"].as_str().expect("a name");
                if name.starts_with("cache of ") {
                    host.insert(name.to_owned(), nothing.clone());
                }
            }
            let bits = pack(DType::BF16, bits_of(&data["wo"]));
            host.insert(
                "wo0 wo1".to_owned(),
                Tensor::new(DType::BF16, vec![16, 16], bits).expect("a tensor"),
            );
            let tensors = made.binding.gather(|_, name| host.get(name)).expect("tensors");
            let loaded = Loaded::load(&program).expect("no refusal");
            let launch = Session::new().launch(&loaded, &tensors, &Settings::default()).expect("a run");
            let mut logits = vec![f64::NAN; 6 * 40];
            for bound in &made.binding.buffers {
                for piece in bound.pieces.iter().filter(|piece| piece.tensor == "logits") {
                    let values = launch.output(&bound.buffer).expect("an output").tensor.reals();
                    let wide = piece.extents[1] as usize;
                    for row in 0..piece.extents[0] as usize {
                        let to = (piece.start[0] as usize + row) * 40 + piece.start[1] as usize;
                        logits[to..to + wide]
                            .copy_from_slice(&values[piece.at as usize + row * wide..][..wide]);
                    }
                }
            }
            assert!(logits.iter().all(|logit| logit.is_finite()), "{logits:?}");
            let tokens: Vec<usize> = logits.chunks(40).map(greatest).collect();
            let by_hand = run_program(&hand, &data, seed).expect("it runs");
            assert_eq!(json!(tokens), by_hand["data"]["tokens"], "seed {seed}");
            // Tokens tell little of a scale, and logits do: each is that of the document's own program, but for how sums are rounded.
            let own = program_of(document.to_string().as_bytes()).expect("a program");
            let own = run_program(&own, &document["data"], seed).expect("it runs");
            let own =
                Tensor::new(DType::BF16, vec![6, 40], pack(DType::BF16, bits_of(&own["data"]["logits"])));
            let own = own.expect("logits").reals();
            let largest = own.iter().fold(0.0, |largest: f64, logit| largest.max(logit.abs()));
            for (found, own) in logits.iter().zip(&own) {
                assert!((found - own).abs() <= largest / 64.0, "seed {seed}: {found} and not {own}");
            }
            if seed == 0 {
                data = json!({"data": document["data"], "tokens": by_hand["data"]["tokens"]});
                keep("data", &data);
            }
            seen.extend(tokens);
        }
    }
    let half = seen.len() / 2;
    assert_eq!(seen[..half], seen[half..]);
    seen.sort_unstable();
    seen.dedup();
    assert!(seen.len() > 4, "{seen:?} says little");
}

/// Compares a file that the page runs on the kernels with what it has to be; with `LAYER=overwrite` in the environment it is written.
fn keep(name: &str, made: &Value) {
    let file = root().join("examples/mcir/decoder").join(name).with_extension("json");
    if std::env::var_os("LAYER").is_some_and(|value| value == "overwrite") {
        std::fs::write(&file, format!("{made}\n")).expect("written");
    }
    assert!(files::json(&file) == *made, "{} is another one; LAYER=overwrite writes it", file.display());
}

/// The program of a kernel graph, by a sound task graph.
fn imported(graph: &Value, options: &Options) -> Result<Imported, Vec<Refusal>> {
    let text = graph.to_string();
    let kernel_graph = read_kernel_graph(text.as_bytes()).expect("a kernel graph");
    let request = Translation { kernel_graph, ranks: 1, rank: 0, mode: Mode::Sound, extra: Vec::new() };
    let task_graph = write_record(&translate(&request).expect("a translation"), Layout::Compact);
    let task_graph = read_task_graph(task_graph.as_bytes()).expect("a task graph");
    import(&[&task_graph], &request.kernel_graph, options)
}

#[test]
fn attention_of_no_request_of_more_tokens_or_of_an_earlier_text_is_refused() {
    let document = document("decoder.json");
    let (sequence, _) =
        operators(document.to_string().as_bytes(), Instructions::TaskTypes).expect("a sequence");
    let mut graph = layer_graph(&sequence).expect("a kernel graph");
    let refused = |graph: &Value, options: &Options| -> Vec<(String, String)> {
        let refusals = imported(graph, options).expect_err("a refusal");
        refusals.into_iter().map(|refusal| (refusal.pointer, refusal.reason)).collect()
    };
    let mut more = tokens_of_one_request();
    more.run.requests[0].tokens = 7;
    for (options, reason) in [
        (Options::default(), "give the requests of the run"),
        (more, "the requests have 7 new tokens, and the tiles 6 rows"),
    ] {
        let refusals = refused(&graph, &options);
        assert!(refusals.iter().any(|(_, said)| said.contains(reason)), "{refusals:?}");
    }
    // Behind two tokens of an earlier text there is room for six in the page, and they would attend to these as well.
    let mut behind = tokens_of_one_request();
    behind.run.requests[0].position = 2;
    let refusals = refused(&graph, &behind);
    let [(pointer, reason)] = refusals.as_slice() else { panic!("{refusals:?}") };
    assert!(pointer.starts_with("/all_tasks/"), "{pointer}");
    assert!(reason.starts_with("its operator has the position 0, and the run 2: "), "{reason}");
    // It is for who wants that to say so.
    graph["operators"][2]["params"].as_object_mut().expect("parameters").shift_remove("position");
    assert!(imported(&graph, &behind).is_ok());
    behind.run.requests[0].position = 3;
    let refusals = refused(&graph, &behind);
    let expected = "its request has 1 pages of 8 for 9 tokens; required: 2";
    assert!(refusals.iter().any(|(_, reason)| reason.contains(expected)), "{refusals:?}");
    // Over opcodes alone, a plan is no kernel graph; nor is there a plan over task types before operators are merged.
    let (plain, _) = operators(document.to_string().as_bytes(), Instructions::Opcodes).expect("a sequence");
    let mut index = index("mpk-unrotated.json");
    for kernel in index["kernels"].as_array_mut().expect("kernels") {
        kernel["cost"] = json!({"fixed": "1"});
    }
    assert!(matches!(
        answer(Method::Select, &json!({"sequence": plain, "index": index})),
        Answered::Reject(_)
    ));
}
