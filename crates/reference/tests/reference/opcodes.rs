//! The opcodes as a whole: against the table of the specification, against programs that another project's
//! compiler wrote, and against tasks that make no sense.

use std::collections::BTreeSet;

use megakernel_ir::model::Task;
use megakernel_ir::prng::SplitMix64;
use megakernel_ir::{Opcode, read};
use megakernel_reference::opcodes::{InPlace, Operands, Problems, arity, in_place, op, required_params};
use megakernel_reference::region::Region;
use megakernel_test_support::{fixtures, part, root};

/// A program of one task without operands.
fn bare(opcode: Opcode, params: &str) -> String {
    format!(
        r#"{{"ir_version": "0.2.0", "abi_version": "0.2", "buffers": [], "counters": [], "tasks": [
            {{"id": 0, "op": "{opcode}", "inputs": [], "outputs": [], "out_counter": 0, "params": {{{params}}}}}]}}"#
    )
}

/// The columns `inputs`, `outputs` and `required parameters` for this task.
fn columns(task: &Task<'_>) -> [String; 3] {
    let arity = arity(task);
    let (least, most) = (arity.inputs.start(), arity.inputs.end());
    let inputs = if least == most { least.to_string() } else { format!("{least} to {most}") };
    let params: Vec<_> = required_params(task).iter().map(|param| format!("`{}`", param.name())).collect();
    [inputs, arity.outputs.to_string(), params.join(" ")]
}

#[test]
fn the_table_of_the_specification_says_the_same() {
    let text = std::fs::read_to_string(root().join("spec/opcodes/README.md"))
        .expect("the opcodes of the specification");
    for &opcode in Opcode::ALL {
        let start = format!("| {} | [{opcode}]", opcode.code());
        let row = text.lines().find(|line| line.starts_with(&start)).expect("a row for every opcode");
        let cells: Vec<_> = row.split('|').map(str::trim).collect();
        let (plain, quantised) = (bare(opcode, ""), bare(opcode, r#""qdtype": 6"#));
        let (plain, quantised) = (read(plain.as_bytes()), read(quantised.as_bytes()));
        let (plain, quantised) = (plain.expect("it reads"), quantised.expect("it reads"));

        let [mut inputs, outputs, mut params] = columns(&plain.tasks[0]);
        let [quantised_inputs, _, quantised_params] = columns(&quantised.tasks[0]);
        if quantised_inputs != inputs {
            inputs = format!("{inputs}; {quantised_inputs} if quantised");
        }
        if quantised_params != params {
            let more = quantised_params.strip_prefix(&params).expect("more parameters").trim().to_owned();
            params = format!("{params}; {more} if quantised");
        }
        let in_place = match (in_place(opcode, 0), in_place(opcode, 1)) {
            (InPlace::Allowed, InPlace::Allowed) => "yes",
            (InPlace::Forbidden, InPlace::Required) => "required",
            (InPlace::Forbidden, InPlace::Forbidden) => "",
            _ => "neither of the three",
        };
        assert_eq!(
            [cells[3], cells[4], cells[5], cells[7]],
            [&inputs, &outputs, &params, in_place],
            "{opcode}"
        );
    }
}

/// Checks all tasks in the order that the M rules prescribe.
fn assert_real_program_is_clean(name: &str) {
    let bytes = fixtures::bytes(&format!("amk/{name}"));
    let program = read(&bytes).expect("a real program reads");
    assert!(!program.tasks.is_empty());
    for task in &program.tasks {
        let (op, operands) = (op(task.op), Operands::new(&program, task));
        let mut problems = Problems::new();
        assert!(arity(task).inputs.contains(&operands.inputs.len()), "inputs of task {}", task.id);
        assert_eq!(arity(task).outputs, operands.outputs.len(), "outputs of task {}", task.id);
        assert!(required_params(task).iter().all(|&param| task.params.get(param).is_some()));
        op.param_ranges(task, &mut problems);
        op.dtypes(&operands, &mut problems);
        op.shapes(&operands, &mut problems);
        op.bounds(&operands, &mut problems);
        assert_eq!(problems, [], "task {} of {name}", task.id);
        for output in 0..operands.outputs.len() {
            let region = op.writes(&operands, output).expect("every output is written");
            assert!(!region.is_empty(), "task {} of {name}", task.id);
        }
    }
}

#[test]
fn toy_decoder_is_clean() {
    assert_real_program_is_clean("toy_decoder.json");
}

#[test]
fn llama_decode_step_is_clean() {
    assert_real_program_is_clean("llama32_1b_decode.json");
}

/// Choices in a fixed order that looks like chance.
struct Choices(SplitMix64);

impl Choices {
    fn of<'t, T>(&mut self, choices: &'t [T]) -> &'t T {
        &choices[self.0.index(choices.len())]
    }
}

#[test]
fn no_task_makes_them_panic() {
    const EXTENTS: &[&str] = &["1", "2", "3", "8", "0", "-1", "4294967296", "9223372036854775807"];
    const DTYPES: &[&str] = &["F32", "I8", "I4", "U8", "I32", "BOOL"];
    const VALUES: &[&str] =
        &["0", "1", "2", "6", "7", "8", "-1", "2147483647", "9223372036854775807", "-9223372036854775808"];
    const KEYS: &[&str] = &[
        "K",
        "N",
        "M",
        "N_tile",
        "M_tile",
        "n_off",
        "m_off",
        "hidden",
        "head_dim",
        "n_heads",
        "n_kv_heads",
        "kv_start",
        "kv_len",
        "pos",
        "qdtype",
        "group",
        "flags",
        "dim",
    ];
    let mut choices = Choices(SplitMix64::new(0));
    let mut shapes_accepted = 0;
    for round in 0..400 {
        for opcode in Opcode::ALL {
            let buffers: Vec<_> = (0..6)
                .map(|id| {
                    let rank = *choices.of(&[0, 1, 1, 2, 2, 3, 3, 4, 5]);
                    // Mostly ordinary extents, or every task would stop at the first check.
                    let pool = if round % 2 == 0 { EXTENTS } else { &EXTENTS[..2] };
                    let shape: Vec<_> = (0..rank).map(|_| *choices.of(pool)).collect();
                    let (dtype, shape) = (choices.of(DTYPES), shape.join(","));
                    format!(r#"{{"id": {id}, "name": "b", "kind": "ACTIVATION", "dtype": "{dtype}", "shape": [{shape}]}}"#)
                })
                .collect();
            let mut ids = |most: &[usize]| -> Vec<i64> {
                let count = *choices.of(most);
                (0..count).map(|_| *choices.of(&[0, 1, 2, 3, 4, 5, 77, -1])).collect()
            };
            let (inputs, outputs) = (ids(&[0, 1, 2, 3, 4, 9]), ids(&[0, 1, 1, 1, 5]));
            let keys: Vec<_> = KEYS.iter().filter(|_| *choices.of(&[true, true, false])).collect();
            let params: Vec<_> =
                keys.iter().map(|key| format!(r#""{key}": {}"#, choices.of(VALUES))).collect();
            let text = format!(
                r#"{{"ir_version": "0.2.0", "abi_version": "0.2", "buffers": [{}], "counters": [], "tasks": [
                    {{"id": 0, "op": "{opcode}", "inputs": {inputs:?}, "outputs": {outputs:?}, "out_counter": 0, "params": {{{}}}}}]}}"#,
                buffers.join(","),
                params.join(",")
            );
            let program = read(text.as_bytes()).expect("it reads");
            let task = &program.tasks[0];
            let (op, operands) = (op(task.op), Operands::new(&program, task));
            let mut problems = Problems::new();
            op.param_ranges(task, &mut problems);
            op.dtypes(&operands, &mut problems);
            let before = problems.len();
            op.shapes(&operands, &mut problems);
            shapes_accepted += usize::from(problems.len() == before);
            op.bounds(&operands, &mut problems);
            for index in 0..10 {
                let (read, written) = (op.reads(&operands, index), op.writes(&operands, index));
                assert!(read.is_none_or(|region| index < operands.inputs.len() && region.axes().len() == 4));
                assert!(
                    written.is_none_or(|region| index < operands.outputs.len() && region.axes().len() == 4)
                );
            }
            for problem in problems {
                assert!(
                    !problem.message.is_empty() && !problem.message.ends_with('.'),
                    "{}",
                    problem.message
                );
            }
        }
    }
    assert!(shapes_accepted > 100, "only {shapes_accepted} tasks had shapes that fit");
}

/// What the search for gaps in `validate/race/cover.rs` is made for: on which axes tasks cut a buffer of each rank, in their reads and in
/// all of their accesses. A task whose operands have other shapes accesses them whole.
#[test]
fn accesses_of_a_buffer_are_cut_on_two_axes_at_most() {
    const RANKS: [(&[usize], &[usize]); 5] =
        [(&[], &[]), (&[0], &[0]), (&[0], &[0, 1]), (&[0], &[0, 2]), (&[1], &[1, 3])];
    const DTYPES: &[&str] = &["F32", "I8", "I4"];
    const OFFSETS: &[&str] = &["n_off", "N_tile", "m_off", "M_tile", "kv_start", "kv_len", "pos"];
    const SIZES: &[&str] = &["K", "hidden", "head_dim", "n_heads", "n_kv_heads"];
    let mut choices = Choices(SplitMix64::new(1));
    let mut seen = BTreeSet::new();
    for _ in 0..part::share(2, 24_000) {
        for opcode in Opcode::ALL {
            let buffers: Vec<_> = (0..5)
                .map(|id| {
                    let rank = *choices.of(&[1, 2, 3, 4]);
                    let shape: Vec<_> = (0..rank).map(|_| *choices.of(&["1", "2", "2", "2", "2", "2"])).collect();
                    let (dtype, shape) = (choices.of(DTYPES), shape.join(","));
                    format!(r#"{{"id": {id}, "name": "b", "kind": "ACTIVATION", "dtype": "{dtype}", "shape": [{shape}]}}"#)
                })
                .collect();
            let inputs: Vec<_> =
                (0..*choices.of(&[1, 2, 3, 4])).map(|_| *choices.of(&[0, 1, 2, 3, 4])).collect();
            // In place, as an append to a cache is.
            let output = *choices.of(&[0, 1, 2, 3, 4, inputs.get(1).copied().unwrap_or(0)]);
            let mut params: Vec<_> =
                OFFSETS.iter().map(|key| format!(r#""{key}": {}"#, choices.of(&["0", "1", "2"]))).collect();
            params.extend(
                SIZES
                    .iter()
                    .map(|key| format!(r#""{key}": {}"#, choices.of(&["1", "2", "2", "2", "2", "2"]))),
            );
            if *choices.of(&[true, false]) {
                params.push(r#""qdtype": 6, "group": 1"#.to_owned());
            }
            let text = format!(
                r#"{{"ir_version": "0.2.0", "abi_version": "0.2", "buffers": [{}], "counters": [], "tasks": [
                    {{"id": 0, "op": "{opcode}", "inputs": {inputs:?}, "outputs": [{output}], "out_counter": 0, "params": {{{}}}}}]}}"#,
                buffers.join(","),
                params.join(",")
            );
            let program = read(text.as_bytes()).expect("it reads");
            let task = &program.tasks[0];
            let (op, operands) = (op(task.op), Operands::new(&program, task));
            let mut problems = Problems::new();
            op.shapes(&operands, &mut problems);
            if !problems.is_empty() || !arity(task).inputs.contains(&inputs.len()) {
                continue;
            }
            let reads = (0..inputs.len()).map(|input| (inputs[input], false, op.reads(&operands, input)));
            let writes = [(output, true, op.writes(&operands, 0))];
            for (id, writes, region) in reads.chain(writes) {
                let (Some(region), buffer) = (region, &program.buffers[id]) else { continue };
                let (of_reads, of_all) = RANKS[buffer.shape.len()];
                let expected = if writes { of_all } else { of_reads };
                for axis in 0..4 {
                    if !region.is_empty() && region.axes()[axis] != Region::of(buffer).axes()[axis] {
                        assert!(expected.contains(&axis), "{region:?} in {text}");
                        seen.insert((buffer.shape.len(), writes, axis));
                    }
                }
            }
        }
    }
    // Each of them.
    let all = RANKS.iter().enumerate().flat_map(|(rank, (reads, all))| {
        let of =
            move |writes: bool, axes: &'static [usize]| axes.iter().map(move |&axis| (rank, writes, axis));
        of(false, reads).chain(of(true, all))
    });
    assert_eq!(seen, all.collect::<BTreeSet<_>>());
}
