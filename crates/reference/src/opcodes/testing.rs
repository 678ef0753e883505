//! Tasks in one line, for the tests of the opcodes.
//!
//! `GEMV_TILE F32[1,4] F32[8,4] -> F32[1,8]; K=4 N_tile=8 n_off=0` is a task over fresh buffers `in0`, `in1`
//! and `out0`; the output `#1` is the buffer of input 1.

use megakernel_ir::model::Program;
use megakernel_ir::{Param, Rule, read};

use super::{Op, Operands, Place, Problem, Problems, op};
use crate::region::Region;

/// A program with one task.
pub(crate) struct Case {
    notation: String,
    json: String,
}

/// The program of a task in the notation of this module.
pub(crate) fn case(notation: &str) -> Case {
    let (operands, params) = notation.split_once(';').unwrap_or((notation, ""));
    let (inputs, outputs) = operands.split_once("->").expect("`->` before the outputs");
    let (op, inputs) = inputs.split_once(' ').expect("an opcode");
    let mut buffers = Vec::new();
    let mut list = |operands: &str, side: &str| -> Vec<usize> {
        let id = |(index, operand): (usize, &str)| match operand.strip_prefix('#') {
            Some(id) => id.parse().expect("the number of an input"),
            None => {
                let (dtype, shape) = operand.split_once('[').expect("a dtype and a shape");
                let id = buffers.len();
                buffers.push(format!(
                    r#"{{"id": {id}, "name": "{side}{index}", "kind": "ACTIVATION", "dtype": "{dtype}", "shape": [{shape}}}"#
                ));
                id
            }
        };
        operands.split_whitespace().enumerate().map(id).collect()
    };
    let (inputs, outputs) = (list(inputs, "in"), list(outputs, "out"));
    let members = params.split_whitespace().map(|member| {
        let (key, value) = member.split_once('=').expect("key=value");
        format!(r#""{key}": {value}"#)
    });
    let json = format!(
        r#"{{"ir_version": "0.2.0", "abi_version": "0.2", "buffers": [{}], "counters": [{{"id": 0}}],
            "tasks": [{{"id": 0, "op": "{op}", "inputs": {inputs:?}, "outputs": {outputs:?}, "out_counter": 0, "params": {{{}}}}}]}}"#,
        buffers.join(", "),
        members.collect::<Vec<_>>().join(", ")
    );
    Case { notation: notation.to_owned(), json }
}

/// An input as a place.
pub(crate) fn input(index: usize) -> Place {
    Place::Input(index)
}

/// An output as a place.
pub(crate) fn output(index: usize) -> Place {
    Place::Output(index)
}

/// A parameter as a place.
pub(crate) fn param(param: Param) -> Place {
    Place::Param(param)
}

impl Case {
    /// The program, read.
    pub(crate) fn program(&self) -> Program<'_> {
        read(self.json.as_bytes()).expect("the program reads")
    }

    fn with<T>(&self, see: impl FnOnce(&'static dyn Op, &Operands<'_>) -> T) -> T {
        let program = self.program();
        let task = program.tasks.first().expect("one task");
        see(op(task.op), &Operands::new(&program, task))
    }

    /// The problems of the task in the order of the M rules.
    fn problems(&self) -> Problems {
        self.with(|op, operands| {
            let mut problems = Problems::new();
            op.dtypes(operands, &mut problems);
            if problems.is_empty() {
                op.storage(operands, &mut problems);
                op.shapes(operands, &mut problems);
            }
            if problems.is_empty() {
                op.bounds(operands, &mut problems);
            }
            problems
        })
    }

    /// The task breaks no rule, and is one that rules S11, S13 and S15 accept.
    pub(crate) fn assert_clean(&self) -> &Self {
        self.assert_in_range();
        self.with(|_, operands| {
            let arity = super::arity(operands.task);
            assert!(arity.inputs.contains(&operands.inputs.len()), "inputs of {}", self.notation);
            assert_eq!(arity.outputs, operands.outputs.len(), "outputs of {}", self.notation);
            for param in super::required_params(operands.task) {
                assert!(operands.task.params.get(param).is_some(), "{} lacks {param:?}", self.notation);
            }
        });
        self.assert_problems(&[])
    }

    /// The task breaks this rule there, and nothing else.
    pub(crate) fn assert_problem(&self, rule: Rule, place: Place) -> &Self {
        self.assert_problems(&[(rule, place)])
    }

    /// The task breaks these rules at these places, and nothing else.
    pub(crate) fn assert_problems(&self, expected: &[(Rule, Place)]) -> &Self {
        let problems = self.problems();
        let found: Vec<_> = problems.iter().map(|problem| (problem.rule, problem.place)).collect();
        assert_eq!(found, expected, "{}: {problems:#?}", self.notation);
        self
    }

    /// The one problem of the task has this message.
    pub(crate) fn assert_message(&self, expected: &str) -> &Self {
        match self.problems().as_slice() {
            [Problem { message, .. }] => assert_eq!(message, expected),
            problems => assert_eq!(problems.len(), 1, "{}: {problems:#?}", self.notation),
        }
        self
    }

    fn range_problems(&self) -> Vec<(Rule, Place)> {
        let mut problems = Problems::new();
        self.with(|op, operands| op.param_ranges(operands.task, &mut problems));
        problems.iter().map(|problem| (problem.rule, problem.place)).collect()
    }

    /// The opcode's own part of rule S15 holds.
    pub(crate) fn assert_in_range(&self) -> &Self {
        assert_eq!(self.range_problems(), [], "{}", self.notation);
        self
    }

    /// The opcode's own part of rule S15 is broken by this parameter alone.
    pub(crate) fn assert_out_of_range(&self, param: Param) -> &Self {
        assert_eq!(self.range_problems(), [(Rule::S15, Place::Param(param))], "{}", self.notation);
        self
    }

    /// The region that the task reads of an input.
    pub(crate) fn assert_reads(&self, input: usize, expected: Option<&[[i64; 2]]>) -> &Self {
        let region = self.with(|op, operands| op.reads(operands, input));
        assert_eq!(region.map(Region::to_witness).as_deref(), expected, "{}", self.notation);
        self
    }

    /// The region that the task writes of an output.
    pub(crate) fn assert_writes(&self, output: usize, expected: Option<&[[i64; 2]]>) -> &Self {
        let region = self.with(|op, operands| op.writes(operands, output));
        assert_eq!(region.map(Region::to_witness).as_deref(), expected, "{}", self.notation);
        self
    }
}
