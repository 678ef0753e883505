//! An index, prepared for selection: walks, constraints and costs (clauses SEL-13 to SEL-16).

use std::collections::HashMap;

use megakernel_selection::{
    Activation, Constraints, Flags, Index, Kernel, Machine, Rational, Rows, Stage, Term,
};

use crate::rows::{Matrix, at_or_below};

/// The kernels of an index in the order of their ids.
#[derive(Debug)]
pub struct Kernels {
    kernels: Vec<Prepared>,
    /// By class: kernels that can begin with it, and at which stage.
    starts: HashMap<String, Vec<(u32, u16)>>,
}

/// A kernel, with what is computed once.
#[derive(Debug)]
pub struct Prepared {
    /// Its id.
    pub id: String,
    stages: Vec<Stage>,
    constraints: Constraints,
    effects: Flags,
    cost: Costs,
}

/// The cost of a kernel for the machine of a request.
#[derive(Debug)]
struct Costs {
    fixed: Rational,
    /// Terms of the two sums, with the factor that makes them costs. `None` where a machine is needed and there is none.
    sums: Option<[Terms; 2]>,
}

/// Factors, and the roles whose extents each is multiplied by.
type Terms = Vec<(Rational, Vec<String>)>;

impl Kernels {
    /// Prepares an index that breaks no rule.
    pub fn new(index: &Index, machine: Option<&Machine>) -> Kernels {
        let mut kernels: Vec<Prepared> =
            index.kernels.iter().map(|kernel| Prepared::new(kernel, machine)).collect();
        kernels.sort_by(|a, b| a.id.cmp(&b.id));
        let mut starts: HashMap<String, Vec<(u32, u16)>> = HashMap::new();
        for (number, kernel) in (0u32..).zip(&kernels) {
            for stage in kernel.next(None) {
                if let Some(at) = kernel.stages.get(usize::from(stage)) {
                    starts.entry(at.class.clone()).or_default().push((number, stage));
                }
            }
        }
        Kernels { kernels, starts }
    }

    /// A kernel by its position in the order of ids.
    pub fn get(&self, number: u32) -> Option<&Prepared> {
        self.kernels.get(number as usize)
    }

    /// The id of a kernel.
    pub fn id(&self, number: u32) -> &str {
        self.get(number).map_or("", |kernel| &kernel.id)
    }

    /// The kernel with this id.
    pub fn find(&self, id: &str) -> Option<u32> {
        let at = self.kernels.binary_search_by(|kernel| kernel.id.as_str().cmp(id)).ok()?;
        u32::try_from(at).ok()
    }

    /// Kernels whose first step can be an op of a class, each with the stage that it takes.
    pub fn starting(&self, class: &str) -> &[(u32, u16)] {
        self.starts.get(class).map(Vec::as_slice).unwrap_or_default()
    }
}

impl Prepared {
    fn new(kernel: &Kernel, machine: Option<&Machine>) -> Prepared {
        Prepared {
            id: kernel.id.clone(),
            stages: kernel.stages.clone(),
            constraints: kernel.constraints.clone(),
            effects: kernel.constraints.effects.iter().copied().collect(),
            cost: Costs::new(kernel, machine),
        }
    }

    /// The stages that can come after one, or first of all.
    fn next(&self, after: Option<u16>) -> impl Iterator<Item = u16> {
        let from = after.map_or(0, |stage| usize::from(stage) + 1);
        let rest = self.stages.get(from..).unwrap_or_default();
        let optional = rest.iter().take_while(|stage| stage.optional).count();
        let end = (from + optional + 1).min(self.stages.len());
        (from..end).filter_map(|stage| u16::try_from(stage).ok())
    }

    /// The stage that an op takes after another one; `chain` are the operands that the region has written.
    pub fn step(&self, after: Option<u16>, rows: &Rows, chain: &Chain) -> Option<u16> {
        let mut next = self.next(after);
        let stage = next.find(|&stage| self.stage(stage).is_some_and(|stage| stage.class == rows.class))?;
        self.matches(stage, rows, chain).then_some(stage)
    }

    fn stage(&self, stage: u16) -> Option<&Stage> {
        self.stages.get(usize::from(stage))
    }

    /// Whether an op of the class of a stage matches it in core and operands too.
    pub fn matches(&self, stage: u16, rows: &Rows, chain: &Chain) -> bool {
        let Some(stage) = self.stage(stage) else {
            return false;
        };
        stage.core.is_none_or(|core| rows.core == Some(core))
            && stage.chain.as_ref().is_none_or(|wanted| chain.is(wanted))
    }

    /// Whether it writes out what the op of a stage writes.
    pub fn writes_out(&self, stage: u16) -> bool {
        self.stage(stage).is_some_and(|stage| stage.out)
    }

    /// Whether no stage is missing after this one.
    pub fn ends(&self, stage: u16) -> bool {
        self.stages.iter().skip(usize::from(stage) + 1).all(|stage| stage.optional)
    }

    /// Whether every constraint can still be met: the middle column of SEL-14.
    pub fn viable(&self, matrix: &Matrix) -> bool {
        let asked = &self.constraints;
        let fits = |list: &Option<Vec<_>>, found: Option<_>| {
            found.is_none_or(|found| list.as_ref().is_none_or(|list| list.contains(&found)))
        };
        asked.shape.iter().all(|(role, range)| {
            matrix.shape.bound(role).is_none_or(|extent| {
                extent >= range.min
                    && range.max.is_none_or(|max| extent <= max)
                    && extent % range.multiple.max(1) == 0
            })
        }) && fits(&asked.dtype_in, matrix.chain.map(|(first, _)| first))
            && fits(&asked.weight, matrix.weight)
            && matrix.acc.is_none_or(|acc| {
                asked.acc.as_ref().is_none_or(|list| list.iter().any(|&high| at_or_below(acc, high)))
            })
            && [(&asked.order, &matrix.order), (&asked.pack, &matrix.pack), (&asked.trans, &matrix.trans)]
                .into_iter()
                .all(|(list, found)| found.as_ref().is_none_or(|found| allowed(list, found)))
            && asked.allow.as_ref().is_none_or(|allow| {
                matrix.epilogue.iter().enumerate().all(|(flag, &set)| !set || allow.contains(&flag))
            })
            && matrix.activation.is_none_or(|activation| {
                asked.activation.as_ref().is_none_or(|list| list.contains(&activation))
            })
            && matrix.flags.within(self.effects)
            && matrix.offered.is_none_or(|offered| self.offered_suffices(matrix, offered).unwrap_or(true))
    }

    /// Whether the alignment suffices; `None` if that depends on a dtype that is not known, and not on anything else.
    fn offered_suffices(&self, matrix: &Matrix, offered: u64) -> Option<bool> {
        let aligned =
            self.constraints.align.is_none_or(|align| offered.is_multiple_of(align.unsigned_abs().max(1)));
        match (self.constraints.vector, matrix.chain) {
            _ if !aligned => Some(false),
            (None, _) => Some(true),
            (Some(_), None) => None,
            (Some(vector), Some((first, _))) => {
                Some((8 * offered).is_multiple_of((vector.unsigned_abs() * first.bits()).max(1)))
            }
        }
    }

    /// Its cost for a region that it is viable for, if it is complete apart from stages that are missing and values that
    /// are lost.
    pub fn suits(&self, matrix: &Matrix) -> Option<Rational> {
        let asked = &self.constraints;
        let chain = matrix.chain.unzip();
        let offered = matrix.offered.unwrap_or(1);
        let suits = asked.shape.keys().all(|role| matrix.shape.extent(role).is_some())
            && [
                (&asked.dtype_in, chain.0),
                (&asked.dtype_out, chain.1),
                (&asked.acc, matrix.acc),
                (&asked.weight, matrix.weight),
            ]
            .into_iter()
            .all(|(list, found)| {
                list.as_ref().is_none_or(|list| found.is_some_and(|found| list.contains(&found)))
            })
            && [(&asked.pack, &matrix.pack), (&asked.trans, &matrix.trans)].into_iter().all(
                |(list, found)| list.is_none() || found.as_ref().is_some_and(|found| allowed(list, found)),
            )
            && asked.require.iter().all(|&flag| matrix.epilogue.get(flag) == Some(&true))
            && asked
                .activation
                .as_ref()
                .is_none_or(|list| list.contains(&matrix.activation.unwrap_or(Activation::None)))
            && self.offered_suffices(matrix, offered) == Some(true)
            && matrix.required.is_none_or(|required| offered.is_multiple_of(required.max(1)));
        if suits { self.cost.of(matrix) } else { None }
    }

    /// Whether the cores of its stages that are not optional compose (rule KW01).
    pub fn reachable(&self) -> bool {
        reachable(&self.stages)
    }
}

fn allowed(list: &Option<Vec<String>>, found: &String) -> bool {
    list.as_ref().is_none_or(|list| list.contains(found))
}

/// Whether the cores of stages that are not optional compose.
pub fn reachable(stages: &[Stage]) -> bool {
    let cores = stages.iter().filter(|stage| !stage.optional).filter_map(|stage| stage.core);
    let mut matrix = Matrix::default();
    for core in cores {
        match matrix.compose(&Rows { core: Some(core), ..Rows::of_class("") }) {
            Ok(composed) => matrix = composed,
            Err(_) => return false,
        }
    }
    true
}

impl Costs {
    fn new(kernel: &Kernel, machine: Option<&Machine>) -> Costs {
        let number = |text: &String| Rational::parse(text).unwrap_or_default();
        let sum = |terms: &[Term], factor: Option<Rational>| -> Option<Vec<_>> {
            if terms.is_empty() {
                return Some(Vec::new());
            }
            let factor = factor?;
            let term = |term: &Term| (number(&term.times).times(&factor), term.dims.clone());
            Some(terms.iter().map(term).collect())
        };
        let per = |text: &String, unit: u64| Rational::of(unit).divided_by(&number(text));
        let bytes = sum(&kernel.cost.bytes, machine.and_then(|machine| per(&machine.gbs, 1000)));
        let flops = sum(&kernel.cost.flops, machine.and_then(|machine| per(&machine.tflops, 1)));
        let sums = bytes.zip(flops).map(|(bytes, flops)| [bytes, flops]);
        Costs { fixed: number(&kernel.cost.fixed), sums }
    }

    fn of(&self, matrix: &Matrix) -> Option<Rational> {
        let [bytes, flops] = self.sums.as_ref()?;
        let sum = |terms: &[(Rational, Vec<String>)]| -> Option<Rational> {
            let mut sum = Rational::zero();
            for (times, dims) in terms {
                let mut term = times.clone();
                for role in dims {
                    term = term.times(&Rational::of(matrix.shape.extent(role)?.unsigned_abs()));
                }
                sum = sum.plus(&term);
            }
            Some(sum)
        };
        Some(self.fixed.plus(&sum(bytes)?.max(sum(flops)?)))
    }
}

/// The operands of an op, by position, that hold a value written by an earlier op of the region.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Chain {
    positions: [u64; 4],
    /// Some position is beyond those that a kernel can ask for.
    beyond: bool,
}

impl Chain {
    /// Adds a position.
    pub fn add(&mut self, position: usize) {
        match self.positions.get_mut(position / 64) {
            Some(bits) => *bits |= 1 << (position % 64),
            None => self.beyond = true,
        }
    }

    fn is(&self, wanted: &[i64]) -> bool {
        let mut chain = Chain::default();
        wanted.iter().for_each(|&position| chain.add(usize::try_from(position).unwrap_or(usize::MAX)));
        *self == chain
    }
}
