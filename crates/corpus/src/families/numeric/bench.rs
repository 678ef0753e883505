//! Writing the cases of one opcode: a program with one task (or the tiles of one operation), inputs `i0`, `i1`, ...,
//! and an output `y`.

use std::collections::BTreeMap;
use std::sync::Arc;

use megakernel_ir::rule::{Clause, clause};
use serde_json::Value;

use super::data::{Operand, Values};
use crate::builder::{Buf, DType, Error, Op, Program, ProgramBuilder, Result, clause_of, slug};
use crate::families::plan::{Inputs, Launch, Plan, same};
use megakernel_ir::formula::SUFFIX;
use megakernel_ir::prng::SplitMix64;

/// A dtype of the inputs and one of the output.
pub type Pair = (DType, DType);

/// Pairs of dtypes in three rounds. Each round has every output once, and all three have every input several times.
const ROUNDS: [[Pair; 5]; 3] = [
    [
        (DType::F32, DType::F32),
        (DType::F16, DType::F16),
        (DType::BF16, DType::BF16),
        (DType::F32, DType::F8E4M3),
        (DType::F32, DType::F8E5M2),
    ],
    [
        (DType::BF16, DType::F32),
        (DType::F32, DType::F16),
        (DType::F32, DType::BF16),
        (DType::F8E4M3, DType::F8E4M3),
        (DType::F8E5M2, DType::F8E5M2),
    ],
    [
        (DType::F16, DType::F32),
        (DType::F8E5M2, DType::F16),
        (DType::F8E4M3, DType::BF16),
        (DType::BF16, DType::F8E4M3),
        (DType::F16, DType::F8E5M2),
    ],
];

/// All pairs.
pub fn every() -> impl Iterator<Item = Pair> {
    ROUNDS.into_iter().flatten()
}

/// The pairs of the first two rounds.
pub fn most() -> impl Iterator<Item = Pair> {
    ROUNDS.into_iter().take(2).flatten()
}

/// The pairs of one round; forms of one kind take turns, so that together they have them all.
pub fn round(turn: usize) -> impl Iterator<Item = Pair> {
    ROUNDS.into_iter().nth(turn % 3).into_iter().flatten()
}

/// F32 inputs with each output dtype: for data that only F32 holds.
pub const FROM_F32: &[Pair] = &[
    (DType::F32, DType::F32),
    (DType::F32, DType::F16),
    (DType::F32, DType::BF16),
    (DType::F32, DType::F8E4M3),
    (DType::F32, DType::F8E5M2),
];

/// One case of an opcode.
#[derive(Clone, Debug)]
pub struct Spec {
    form: String,
    data: &'static str,
    about: String,
    inputs: Vec<Operand>,
    output: (DType, Vec<u64>),
    preset: Option<Operand>,
    params: Vec<(&'static str, Value)>,
    tiles: Vec<Vec<(&'static str, Value)>>,
    clauses: Vec<Clause>,
    known: Option<Values>,
    own_inputs: bool,
    sampled: Option<Vec<u64>>,
}

impl Spec {
    /// A case of the operand form `form` with numbers of the data family `data`; `about` says what they show.
    pub fn new(form: impl Into<String>, data: &'static str, about: impl Into<String>) -> Self {
        Self {
            form: form.into(),
            data,
            about: about.into(),
            inputs: Vec::new(),
            output: (DType::F32, Vec::new()),
            preset: None,
            params: Vec::new(),
            tiles: Vec::new(),
            clauses: Vec::new(),
            known: None,
            own_inputs: false,
            sampled: None,
        }
    }

    /// The next input.
    pub fn input(mut self, operand: Operand) -> Self {
        self.inputs.push(operand);
        self
    }

    /// Several inputs.
    pub fn inputs(mut self, operands: impl IntoIterator<Item = Operand>) -> Self {
        self.inputs.extend(operands);
        self
    }

    /// The output.
    pub fn output(mut self, dtype: DType, shape: &[u64]) -> Self {
        self.output = (dtype, shape.to_vec());
        self
    }

    /// The output is a KV_CACHE that holds this beforehand, and is the last input as well.
    pub fn cache(mut self, contents: Operand) -> Self {
        self.output = (contents.dtype, contents.shape.clone());
        self.preset = Some(contents);
        self
    }

    /// A parameter.
    pub fn param(mut self, key: &'static str, value: impl Into<Value>) -> Self {
        self.params.push((key, value.into()));
        self
    }

    /// One task of several that write a part of the output each, with parameters of its own.
    pub fn tile(mut self, params: &[(&'static str, u64)]) -> Self {
        self.tiles.push(params.iter().map(|(key, value)| (*key, Value::from(*value))).collect());
        self
    }

    /// A clause that the case tests besides that of the opcode.
    pub fn clause(mut self, clause: Clause) -> Self {
        self.clauses.push(clause);
        self
    }

    /// The result, known from how the inputs were made.
    pub fn known(mut self, values: Values) -> Self {
        self.known = Some(values);
        self
    }

    /// The inputs depend on the output's dtype, and get a file of their own for each.
    pub fn own_inputs(mut self) -> Self {
        self.own_inputs = true;
        self
    }

    /// Only the elements at these places are judged.
    pub fn sampled(mut self, places: Vec<u64>) -> Self {
        self.sampled = Some(places);
        self
    }

    fn program(&self, op: Op) -> Program {
        let mut p = ProgramBuilder::new("numeric");
        let mut inputs: Vec<Buf> = Vec::new();
        for (index, operand) in self.inputs.iter().enumerate() {
            inputs.push(p.input(&format!("i{index}"), operand.dtype, &operand.shape));
        }
        let (dtype, shape) = &self.output;
        let y = match self.preset {
            Some(_) => p.cache("y", *dtype, shape),
            None => p.output("y", *dtype, shape),
        };
        if self.preset.is_some() {
            inputs.push(y);
        }
        let whole = [Vec::new()];
        let tiles = if self.tiles.is_empty() { &whole[..] } else { &self.tiles };
        for (index, tile) in tiles.iter().enumerate() {
            let label = if tiles.len() == 1 { "op".to_owned() } else { format!("op[t{index}]") };
            let mut task = p.task(op).reads(&inputs).writes(&[y]).label(&label);
            for (key, value) in self.params.iter().chain(tile) {
                task = task.param(key, value.clone());
            }
            task.add();
        }
        p.finish()
    }

    /// The dtypes of the inputs, each run of equal ones once.
    fn from(&self) -> String {
        let mut names: Vec<String> = self.inputs.iter().map(|operand| slug(operand.dtype.name())).collect();
        names.dedup();
        names.join("-")
    }
}

/// Collects the cases of one opcode.
pub struct Bench {
    op: Op,
    seed: u64,
    plans: Vec<Plan>,
    files: BTreeMap<String, Arc<Inputs>>,
    programs: BTreeMap<String, Arc<Program>>,
    conflicts: Vec<String>,
}

impl Bench {
    /// An empty bench for an opcode.
    pub fn new(op: Op, seed: u64) -> Self {
        Self {
            op,
            seed,
            plans: Vec::new(),
            files: BTreeMap::new(),
            programs: BTreeMap::new(),
            conflicts: Vec::new(),
        }
    }

    /// The cases.
    ///
    /// # Errors
    /// Cases write different programs or tensors to one path: their forms need different names.
    pub fn into_plans(self) -> Result<Vec<Plan>> {
        if self.conflicts.is_empty() { Ok(self.plans) } else { Err(Error(self.conflicts.join("\n"))) }
    }

    /// The opcode, as ids have it.
    pub fn opcode(&self) -> String {
        slug(self.op.name())
    }

    /// The corpus seed.
    pub fn corpus_seed(&self) -> u64 {
        self.seed
    }

    fn family(&self, data: &str) -> String {
        format!("numeric/{}/{data}", slug(self.op.name()))
    }

    /// The stream of numbers of one data file: that of the family followed by `what`, so that no file's numbers depend
    /// on another's.
    pub fn prng(&self, data: &str, what: &str) -> SplitMix64 {
        SplitMix64::for_family(&format!("{}/{what}", self.family(data)), self.seed)
    }

    /// The inputs at this path: those of an earlier case, if one has the same there.
    fn file(&mut self, id: &str, file: String, inputs: Inputs) -> Arc<Inputs> {
        let inputs = match self.files.get(&file) {
            Some(known) if same(known, &inputs) => return Arc::clone(known),
            Some(_) => {
                self.conflicts.push(format!("{id}: another case has other tensors at {file}"));
                Arc::new(inputs)
            }
            None => Arc::new(inputs),
        };
        self.files.insert(file, Arc::clone(&inputs));
        inputs
    }

    /// Adds a case. Inputs that an earlier case has at the same path are shared with it.
    pub fn add(&mut self, spec: Spec) -> Result<()> {
        let family = self.family(spec.data);
        let (from, to) = (spec.from(), slug(spec.output.0.name()));
        let op = slug(self.op.name());
        let dtypes = if from.is_empty() { to.clone() } else { format!("{from}-to-{to}") };
        let id = format!("{family}/{}-{dtypes}", spec.form);
        let mut inputs: Inputs = BTreeMap::new();
        for (index, operand) in spec.inputs.iter().enumerate() {
            inputs.insert(format!("i{index}"), operand.clone());
        }
        let mut file = format!("tensors/{family}/{}-{from}", spec.form);
        if let Some(contents) = &spec.preset {
            inputs.insert("y".into(), contents.clone());
        }
        if spec.preset.is_some() || spec.own_inputs {
            file = format!("{file}-to-{to}");
        }
        let path = format!("programs/numeric/{op}/{}-{dtypes}.json", spec.form);
        let (by_formula, given): (Inputs, Inputs) =
            inputs.into_iter().partition(|(_, operand)| matches!(operand.values, Values::Formula(_)));
        let parts = [(format!("{file}.safetensors"), given), (format!("{file}{SUFFIX}"), by_formula)];
        let parts = parts.into_iter().filter(|(_, inputs)| !inputs.is_empty());
        let files = parts.map(|(file, inputs)| (file.clone(), self.file(&id, file, inputs))).collect();
        let program = spec.program(self.op);
        let program = match self.programs.get(&path) {
            Some(known) if **known == program => Arc::clone(known),
            Some(_) => {
                self.conflicts.push(format!("{id}: another case has another program at {path}"));
                Arc::new(program)
            }
            None => Arc::new(program),
        };
        self.programs.insert(path.clone(), Arc::clone(&program));
        let mut clauses = vec![clause_of(self.op)];
        clauses.extend(&spec.clauses);
        // What shows in every case is cited by the plainest ones.
        if spec.data == "random" {
            clauses.push(clause::NUM_10);
        }
        let known = spec.known.into_iter().map(|values| ("y".to_owned(), values)).collect();
        let sampled = spec.sampled.into_iter().map(|places| ("y".to_owned(), places)).collect();
        let launch = Launch { files, known, sampled, ..Launch::default() };
        let summary = format!("{} ({}), {dtypes}: {}", self.op.name(), spec.form, spec.about);
        let launches = vec![launch];
        self.plans.push(Plan { id, family, summary, clauses, path, program, launches, weights: None });
        Ok(())
    }
}
