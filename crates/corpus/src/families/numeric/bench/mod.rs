//! Writing the cases of one opcode: a program with one task (or the tiles of one operation), inputs `i0`, `i1`, ...,
//! and an output `y`.

mod programs;

use std::collections::BTreeMap;
use std::sync::Arc;

use megakernel_ir::rule::{Clause, clause};
use serde_json::Value;

use super::data::{Operand, Values};
use crate::builder::{DType, Error, Kind, Op, Program, Result, Space, clause_of, slug};
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
    reading: Option<Vec<usize>>,
    kinds: BTreeMap<usize, Kind>,
    sharing: Option<Sharing>,
    behind: Option<Behind>,
    again: Vec<Vec<Operand>>,
    picking: Option<Operand>,
    open: Vec<u64>,
}

/// An operand that shares its storage with the output.
#[derive(Clone, Copy, Debug)]
pub struct Sharing {
    /// The operand, as an index into the inputs.
    pub operand: usize,
    /// Where the storage is.
    pub space: Space,
    /// Two buffers on one page, the output taking it over; otherwise one buffer, which is written in place.
    pub paged: bool,
}

/// How a task waits for copies of its operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Join {
    /// For a counter of each.
    Each,
    /// For a counter of each, twice.
    Twice,
    /// For one counter of all.
    One,
    /// For a NOP, which waits for a counter of each.
    Nop,
    /// For a NOP, which waits for one counter of all.
    NopOne,
}

/// Copies that a task waits for, one of which comes late.
#[derive(Clone, Copy, Debug)]
pub struct Behind {
    /// The operand whose copy goes through a chain of further copies.
    pub late: usize,
    /// What the task waits for.
    pub join: Join,
    /// The SM of the task.
    pub sm: Option<usize>,
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
            reading: None,
            kinds: BTreeMap::new(),
            sharing: None,
            behind: None,
            again: Vec::new(),
            picking: None,
            open: Vec::new(),
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

    /// With another operand in place of input `index`.
    pub fn replaced(mut self, index: usize, operand: Operand) -> Self {
        if let Some(input) = self.inputs.get_mut(index) {
            *input = operand;
        }
        self
    }

    /// Without a parameter that was given before.
    pub fn without(mut self, key: &str) -> Self {
        self.params.retain(|(known, _)| *known != key);
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

    /// The task lists these buffers as its inputs, by their index; one may come several times.
    pub fn reading(mut self, operands: &[usize]) -> Self {
        self.reading = Some(operands.to_vec());
        self
    }

    /// The buffer of an operand is of this kind; without it IO_INPUT.
    pub fn of_kind(mut self, operand: usize, kind: Kind) -> Self {
        self.kinds.insert(operand, kind);
        self
    }

    /// An operand is a copy that shares its storage with the result, of which y is a copy.
    pub fn sharing(mut self, sharing: Sharing) -> Self {
        self.sharing = Some(sharing);
        self
    }

    /// The operands are copies, for which the task has to wait.
    pub fn behind(mut self, behind: Behind) -> Self {
        self.behind = Some(behind);
        self
    }

    /// One more launch, of the same program with other contents of its inputs.
    pub fn again(mut self, operands: Vec<Operand>) -> Self {
        self.again.push(operands);
        self
    }

    /// The output is of ids that nobody reads but an EMBED, which picks rows of this table: the ids of some rows may be open.
    pub fn picking(mut self, table: Operand) -> Self {
        self.picking = Some(table);
        self
    }

    /// No clause specifies the elements at these places; the others are known.
    pub fn open(mut self, places: Vec<u64>) -> Self {
        self.open = places;
        self
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
        if let Some(table) = &spec.picking {
            inputs.insert("table".into(), table.clone());
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
        let program = Arc::new(spec.program(self.op));
        // A form that another data family has with another program has a file of its own.
        let own = format!("programs/numeric/{op}/{}-{}-{dtypes}.json", spec.data, spec.form);
        let is_taken = |path: &str| self.programs.get(path).is_some_and(|known| *known != program);
        let path = if is_taken(&path) { own } else { path };
        if is_taken(&path) {
            self.conflicts.push(format!("{id}: another case has another program at {path}"));
        }
        let program = Arc::clone(self.programs.entry(path.clone()).or_insert(program));
        let mut clauses = vec![clause_of(self.op)];
        clauses.extend(&spec.clauses);
        // What shows in every case is cited by the plainest ones.
        if spec.data == "random" {
            clauses.push(clause::NUM_10);
        }
        let known = spec.known.into_iter().map(|values| ("y".to_owned(), values)).collect();
        let sampled = spec.sampled.into_iter().map(|places| ("y".to_owned(), places)).collect();
        let open = [("y".to_owned(), spec.open)].into();
        let launch = Launch { files, known, sampled, open, ..Launch::default() };
        let mut launches = vec![launch];
        for (index, operands) in spec.again.into_iter().enumerate() {
            let inputs: Inputs =
                operands.into_iter().enumerate().map(|(i, o)| (format!("i{i}"), o)).collect();
            let file = format!("{file}.{}.safetensors", index + 1);
            let files = vec![(file.clone(), self.file(&id, file, inputs))];
            launches.push(Launch { files, ..Launch::default() });
        }
        let summary = format!("{} ({}), {dtypes}: {}", self.op.name(), spec.form, spec.about);
        self.plans.push(Plan { id, family, summary, clauses, path, program, launches, weights: None });
        Ok(())
    }
}
