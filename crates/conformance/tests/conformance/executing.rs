//! Workers that execute: what they write is judged, and nothing that they write can harm the runner.

use std::path::Path;
use std::time::{Duration, Instant};

use megakernel_conformance::execution::follow;
use megakernel_conformance::oracle::{Expected, Follow, NoAnswer, OPEN, Oracle, Written};
use megakernel_conformance::report::{FailureKind, Report};
use megakernel_conformance::run::{self, Options, RunError};
use megakernel_conformance::store::Corpus;
use megakernel_conformance::terminal::{self, Style};
use megakernel_ir::model::Program;
use megakernel_ir::protocol::Accumulator;
use megakernel_numerics::{Stored, Tensor, TensorFile};
use megakernel_test_support::schemas;
use serde_json::Value;

use crate::arithmetic;
use crate::support::judged::{Judged, options};
use crate::support::sessions::{BOUND, Tensors, corpus, write_tensors};

/// The same VM as an oracle.
struct Arithmetic;

impl Oracle for Arithmetic {
    fn follow<'a>(
        &'a self,
        _: &str,
        program: &'a Program<'a>,
        tensors: &Tensors,
        caches: &Tensors,
        _: Accumulator,
    ) -> Result<Box<dyn Follow + 'a>, NoAnswer> {
        let mut bound = tensors.clone();
        bound.extend(caches.clone());
        Ok(Box::new(Following { program, memory: arithmetic::memory(program, &bound) }))
    }
}

struct Following<'a> {
    program: &'a Program<'a>,
    memory: Vec<Tensor>,
}

impl Follow for Following<'_> {
    fn order(&self) -> Vec<usize> {
        (0..self.program.tasks.len()).collect()
    }

    fn task(&mut self, task: usize) -> Result<Option<Written>, NoAnswer> {
        let Some((buffer, values)) = arithmetic::values(self.program, &self.memory, task) else {
            return Ok(None);
        };
        let Tensor { shape, dtype, .. } = &self.memory[buffer];
        let expected = if dtype.is_float() {
            Expected::Reals { bounds: vec![BOUND; values.len()], values }
        } else {
            Expected::Ints(values.into_iter().map(|value| value as i64).collect())
        };
        Ok(Some(Written { buffer, region: shape.iter().map(|&extent| (0, extent)).collect(), expected }))
    }

    fn store(&mut self, task: usize, written: &Tensor) -> Result<(), NoAnswer> {
        let output =
            *self.program.tasks[task].outputs.first().ok_or_else(|| "no output".to_owned())? as usize;
        self.memory[output] = written.clone();
        Ok(())
    }

    fn buffer(&self, buffer: usize) -> Result<Tensor, NoAnswer> {
        let id = buffer as i64;
        let listed =
            self.program.tasks.iter().any(|task| task.inputs.iter().chain(&task.outputs).any(|of| *of == id));
        self.memory
            .get(buffer)
            .filter(|_| listed)
            .cloned()
            .ok_or_else(|| format!("no task lists buffer {id}").into())
    }
}

pub fn play_in(root: &Path, behaviour: &str) -> Result<Judged, RunError> {
    play_with(root, options(&[behaviour]))
}

fn play_with(root: &Path, options: Options) -> Result<Judged, RunError> {
    let corpus = Corpus::load(root).map_err(RunError::Corpus)?;
    let start = Instant::now();
    let run = run::run(&corpus, &options, Some(&Arithmetic), &|_| {})?;
    let report = Report::new(&corpus, &options, &run);
    let text = terminal::render(&report, &Style::default());
    Ok(Judged { report, text, took: start.elapsed() })
}

fn play(behaviour: &str) -> Judged {
    play_in(corpus().path(), behaviour).expect("a run")
}

/// Plays a behaviour that does not conform, and whose report says these things.
#[track_caller]
fn assert_rejected(behaviour: &str, why: &[&str]) {
    let judged = play(behaviour);
    for why in why {
        judged.assert_rejected(why);
    }
}

/// The counts of a line of the table.
fn row(judged: &Judged, opcode: Option<&str>, dtype: &str) -> (usize, usize, Option<f64>) {
    let line = judged
        .report
        .executed
        .iter()
        .find(|line| (line.opcode.as_deref(), line.dtype.as_str()) == (opcode, dtype));
    line.map(|line| (line.cases, line.failed, line.tightness)).expect("a line of the table")
}

#[test]
fn a_worker_that_executes_well_conforms() {
    let judged = play("executes");
    judged.assert_conforms();
    assert_eq!(judged.report.totals.passed, 2);
    assert_eq!(row(&judged, Some("ADD"), "BF16"), (1, 0, Some(0.0)));
    assert_eq!(row(&judged, None, "F32"), (1, 0, Some(0.0)));
    assert_eq!(row(&judged, None, "I32"), (1, 0, None));
    let tables = terminal::render(&judged.report, &Style { tables: true, ..Style::default() });
    assert!(tables.contains("several opcodes F32      1       0        0.000"), "{tables}");
    assert!(judged.text.contains("accumulator binary32\n"), "{}", judged.text);
}

#[test]
fn a_report_of_executions_conforms_to_its_schema() {
    let validator = schemas::validator("report");
    for behaviour in
        ["executes", "executes-trace", "executes-nan", "executes-only-add", "executes-truncating"]
    {
        let json = play(behaviour).report.to_json().expect("JSON");
        let value: Value = serde_json::from_str(&json).expect("JSON");
        assert!(value["executed"].is_array() && !json.contains("safetensors"), "{json}");
        let errors = schemas::errors(&validator, &value);
        assert!(errors.is_empty(), "{behaviour}: {errors:#?}");
    }
}

#[test]
fn the_number_of_jobs_does_not_show() {
    let directory = corpus();
    let corpus = Corpus::load(directory.path()).expect("a corpus");
    let report = |jobs: usize| {
        let mut options = options(&["executes-trace-wrong-task"]);
        options.jobs = jobs.try_into().expect("at least one");
        let run = run::run(&corpus, &options, Some(&Arithmetic), &|_| {}).expect("a run");
        Report::new(&corpus, &options, &run).to_json().expect("JSON")
    };
    assert_eq!(report(1), report(2));
}

#[test]
fn what_is_in_the_file_besides_is_no_matter() {
    play("executes-and-tells-more").assert_conforms();
    play("executes-unknown-type").assert_conforms();
}

#[test]
fn a_wrong_element_is_named_with_what_is_admitted() {
    // Launch 0: h = [2, 3.5, 5, 3, 5.5, 6.25], c = h, y = h h.
    assert_rejected(
        "executes-wrong-value",
        &[
            "expected  launch 0, `y` [1, 2]: 39.0525016784668 to 39.0724983215332 (reference 39.0625, bound 0.01)",
            "actual    -3.0 (bits 0xc0400000); 1 of 6 elements are wrong, the worst by 4206.250 times its bound",
        ],
    );
    assert_rejected("executes-nan", &["launch 0, `y` [1, 1]: 30.239999771118164 to ", "actual    NaN (bits"]);
    assert_rejected("executes-infinity", &["launch 0, `y` [0, 1]: ", "actual    inf (bits 0x7f800000)"]);
    let expected = "expected  launch 0, `n` [0]: 5";
    assert_rejected(
        "executes-wrong-integer",
        &[expected, "actual    1 (bits 0x1); 1 of 1 elements are wrong"],
    );
}

#[test]
fn a_failure_counts_where_it_belongs() {
    let judged = play("executes-nan");
    assert_eq!(row(&judged, None, "F32").1, 1);
    assert_eq!(row(&judged, None, "I32").1, 0);
    assert_eq!(row(&judged, Some("ADD"), "BF16").1, 1);
    assert_eq!(row(&play("executes-without-file"), None, "I32").1, 1);
}

#[test]
fn a_cache_lasts_from_launch_to_launch() {
    // The second launch has y = h (h + c), and not h h.
    assert_rejected("executes-forgetful", &["launch 1, `y` [0, 0]: "]);
    assert_eq!(play("executes-forgetful").report.totals.passed, 1, "the case of one launch");
}

#[test]
fn a_tensor_has_the_dtype_and_shape_of_its_buffer() {
    let required = "expected  launch 0, `y`: F32 [2, 3]";
    assert_rejected(
        "executes-wrong-shape",
        &[required, "actual    tensor `y` is F32 [3, 2], required is F32 [2, 3]"],
    );
    assert_rejected(
        "executes-wrong-dtype",
        &[required, "actual    tensor `y` is F16 [2, 3], required is F32"],
    );
    assert_rejected("executes-without-tensor", &[required, "actual    tensor `y` is missing: the file has"]);
}

#[test]
fn a_file_that_is_none_fails_its_case() {
    let required = "expected  launch 0: a tensor file with every IO_OUTPUT and KV_CACHE";
    for (behaviour, actual) in [
        ("executes-without-file", "actual    no file"),
        ("executes-without-output", "actual    no file"),
        ("executes-truncated", "actual    a file that cannot be read: the file has"),
        ("executes-cut-header", "actual    a file that cannot be read: the file ends in its header"),
        ("executes-empty", "actual    a file that cannot be read: the file ends in its header"),
        ("executes-garbage", "actual    a file that cannot be read: "),
        ("executes-directory", "actual    something that is no plain file"),
        ("executes-link", "actual    something that is no plain file"),
        ("executes-huge", "actual    a file of more than "),
    ] {
        let judged = play(behaviour);
        judged.assert_rejected(required);
        judged.assert_rejected(actual);
        assert_eq!(judged.report.totals.failed, 2, "{behaviour}");
        assert!(judged.report.failures.iter().all(|failure| failure.kind == FailureKind::Answer));
    }
}

#[test]
fn answers_other_than_accept_are_judged_too() {
    assert_rejected("executes-rejects", &["expected  accept", "actual    reject, error M03"]);
    let judged = play("executes-nothing");
    assert_eq!((judged.report.totals.skipped, judged.report.exit_code()), (2, 1), "{}", judged.text);
    assert!(judged.text.contains("unsupported: no GPU here"), "{}", judged.text);
    // A worker of another profile does not know the method.
    assert_eq!(play("good").report.totals.skipped, 2);
}

#[test]
fn a_worker_that_fills_the_disk_is_stopped() {
    let mut options = options(&["executes-endless"]);
    // Disks may be slow.
    options.command.timeout = Duration::from_secs(250);
    let judged = play_with(corpus().path(), options).expect("a run");
    judged.assert_rejected("worker wrote files of more than ");
}

#[test]
fn a_worker_that_dies_or_hangs_fails_its_case() {
    assert_rejected("executes-crashes", &["worker ended before it answered (exit status: 101)"]);
    assert_rejected("executes-hangs", &["worker gave no answer within 400ms"]);
}

#[test]
fn what_is_not_claimed_is_skipped() {
    let judged = play("executes-only-add");
    judged.assert_conforms_in_part("1 of 3 opcodes, 1 of 3 dtypes, 1 of 2 cases");
    assert!(judged.text.contains("1  opcodes MUL, SAMPLE_ARGMAX are not claimed"), "{}", judged.text);
    assert!(judged.text.contains("worker claims opcode `SUB`, which this suite"), "{}", judged.text);
    let judged = play("executes-only-f32");
    judged.assert_conforms_in_part("3 of 3 opcodes, 2 of 3 dtypes, 1 of 2 cases");
    assert!(judged.text.contains("1  dtype BF16 is not claimed"), "{}", judged.text);
    assert!(judged.text.contains("executes only the dtypes F32, I32"), "{}", judged.text);
}

#[test]
fn a_truncating_accumulator_has_bounds_of_its_own() {
    assert_rejected("executes-imprecise", &["(reference 4.0, bound 0.01)"]);
    let judged = play("executes-truncating");
    judged.assert_conforms();
    let (_, _, share) = row(&judged, None, "F32");
    assert!(share.is_some_and(|share| (0.49..0.51).contains(&share)), "{share:?}");
}

#[test]
fn a_trace_is_judged_task_by_task() {
    let judged = play("executes-trace");
    judged.assert_conforms();
    assert!(judged.text.contains("each task judged by its trace"), "{}", judged.text);
    assert_eq!(row(&judged, Some("ADD"), "F32"), (1, 0, Some(0.0)));
    assert_eq!(row(&judged, Some("SAMPLE_ARGMAX"), "I32"), (1, 0, None));
}

#[test]
fn the_first_wrong_task_is_named() {
    // At the outputs it shows later, and in another place.
    assert_rejected("executes-wrong-task", &["launch 1, `y` [1, 1]: "]);
    let judged = play("executes-trace-wrong-task");
    judged.assert_rejected(
        "expected  launch 1, task 0 ADD `sum` (OPC-11), `h` [1, 1]: 1.4900000095367432 to 1.5099999904632568 (reference 1.5, bound 0.01), from \
         the inputs that the task had",
    );
    judged.assert_rejected("actual    2.5 (bits 0x40200000); 1 of 6 elements are wrong");
    assert_eq!(row(&judged, Some("ADD"), "F32").1, 1);
    assert_eq!(row(&judged, None, "F32").1, 0, "the outputs follow from the task");
}

#[test]
fn a_trace_tells_the_truth() {
    assert_rejected("executes-trace-lie", &["task 2 MUL `product` (OPC-12), `y` [0, 0]: ", "actual    0.0 "]);
    let left = "expected  launch 0, `y`: what the trace says its tasks left there";
    play("executes-trace-other-nan").assert_conforms();
    assert_rejected("executes-trace-other-output", &[left, "actual    other elements in the output"]);
}

#[test]
fn a_trace_is_whole() {
    assert_rejected(
        "executes-trace-without-file",
        &["expected  launch 0: a tensor file with what each task wrote", "actual    no file"],
    );
    assert_rejected(
        "executes-trace-incomplete",
        &["launch 0, task 1 ADD `cache` (OPC-11), `c`: F32 [2, 3] in the trace", "tensor `1` is missing"],
    );
    assert_rejected(
        "executes-trace-wrong-shape",
        &["task 2 MUL", "tensor `2` is F32 [6], required is F32 [2, 3]"],
    );
}

#[test]
fn a_faulty_corpus_is_not_the_workers_fault() {
    let spoilt = |path: &str, tensors: Vec<(String, Stored)>| {
        let directory = corpus();
        write_tensors(directory.path(), path, tensors);
        match play_in(directory.path(), "executes") {
            Err(error) => error.to_string(),
            Ok(judged) => judged.text,
        }
    };
    let expected = "tensors/numeric/add/one.0.expected.safetensors";
    let reals = |count: usize, value| Stored::F64 { shape: vec![count as u64], values: vec![value; count] };
    let named = |name: &str, stored| (name.to_owned(), stored);
    for (tensors, why) in [
        (vec![], "nothing would be judged"),
        (vec![named("z", reals(4, 0.0))], "`z` is no IO_OUTPUT or KV_CACHE"),
        (vec![named("y", reals(4, 0.0))], "`y.bound` is missing"),
        (
            vec![named("y", reals(3, 0.0)), named("y.bound", reals(3, 0.0))],
            "`y` has shape [3], the buffer [4]",
        ),
        (vec![named("y", reals(4, 0.0)), named("y.bound", reals(4, -1.0))], "a bound is not negative"),
        (vec![named("y", reals(4, 0.0)), named("y.bound", reals(4, f64::NAN))], "a bound is not negative"),
    ] {
        let found = spoilt(expected, tensors);
        assert!(
            found.starts_with("the corpus cannot be used: ") && found.contains(why),
            "no `{why}` in {found}"
        );
    }
}

/// Says that the first of two tokens may be any, and that the second is 1.
struct OpenToken(Option<Tensor>);

impl Follow for OpenToken {
    fn order(&self) -> Vec<usize> {
        vec![0]
    }

    fn task(&mut self, _: usize) -> Result<Option<Written>, NoAnswer> {
        Ok(Some(Written { buffer: 1, region: vec![(0, 2)], expected: Expected::Ints(vec![OPEN, 1]) }))
    }

    fn store(&mut self, _: usize, written: &Tensor) -> Result<(), NoAnswer> {
        self.0 = Some(written.clone());
        Ok(())
    }

    fn buffer(&self, _: usize) -> Result<Tensor, NoAnswer> {
        self.0.clone().ok_or_else(|| "nothing was stored".to_owned().into())
    }
}

#[test]
fn a_token_that_is_not_specified_may_be_any_and_the_next_may_not() {
    let text = r#"{"ir_version":"0.2.0","abi_version":"0.2",
        "buffers":[{"id":0,"name":"logits","kind":"IO_INPUT","dtype":"F32","shape":[2,2]},
                   {"id":1,"name":"y","kind":"IO_OUTPUT","dtype":"I32","shape":[2]}],
        "counters":[{"id":0}],
        "tasks":[{"id":0,"op":"SAMPLE_ARGMAX","inputs":[0],"outputs":[1],"out_counter":0}]}"#;
    let program = megakernel_ir::read(text.as_bytes()).expect("a program");
    for (tokens, passes) in [([0, 1], true), ([1, 1], true), ([0, 0], false), ([1, 2], false)] {
        let tensor = Tensor::from_ints(megakernel_ir::DType::I32, vec![2], &tokens).expect("a tensor");
        let file =
            |name: &str| TensorFile { tensors: [(name.to_owned(), Stored::Buffer(tensor.clone()))].into() };
        let mut oracle = OpenToken(None);
        let judged = follow("launch 0", &program, &mut oracle, &file("0"), &file("y"));
        assert_eq!(judged.expect("an answer").is_ok(), passes, "{tokens:?}");
    }
}
