//! Regions as the nodes of an automaton that is built while it runs: what a region of these ops is like, which kernels are
//! viable, and which are complete apart from what escapes. A node is computed once, however often the same ops occur.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};
use std::sync::Arc;

use megakernel_selection::{Flag, Op, Rational, Reason, Rows};
use smallvec::SmallVec;

use crate::kernels::{Chain, Kernels};
use crate::rows::Matrix;

/// A set of ops of a region, by their places in it.
pub type Places = SmallVec<[u64; 1]>;

/// A region of certain ops, wherever it stands.
#[derive(Debug)]
pub struct Node {
    /// Its matrix.
    pub matrix: Arc<Matrix>,
    /// Viable kernels in the order of ids: the stage of the last op, and the places that the kernel writes out.
    pub viable: Vec<Walk>,
    /// Complete kernels, apart from what escapes: cheapest first, then by id.
    ready: Vec<Ready>,
    /// How many ops.
    length: usize,
    next: HashMap<Step, Result<u32, Refusal>, Fast>,
}

/// How a kernel has come through a region.
#[derive(Clone, Debug)]
pub struct Walk {
    /// The kernel.
    pub kernel: u32,
    stage: u16,
    out: Places,
}

/// A kernel that does a region.
#[derive(Clone, Debug)]
pub struct Ready {
    /// The kernel.
    pub kernel: u32,
    /// Its cost.
    pub cost: Arc<Rational>,
    out: Places,
}

/// Why an op does not join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// Rows do not compose.
    Rows(Reason),
    /// No kernel is viable.
    Empty,
}

/// What the next node depends on: the rows of the op, and which of its operands the region has written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Step {
    rows: usize,
    chain: Chain,
}

/// Nodes kept at most: beyond that, all are forgotten before the next region begins.
const MOST_NODES: usize = 1 << 15;

/// The nodes found so far.
#[derive(Debug)]
pub struct Automaton<'a> {
    /// The kernels.
    pub kernels: &'a Kernels,
    nodes: Vec<Node>,
    starts: HashMap<usize, Option<u32>, Fast>,
    /// Keeps the rows that nodes are known by where they are.
    kept: Vec<Arc<Rows>>,
    known: HashMap<usize, (), Fast>,
}

impl<'a> Automaton<'a> {
    /// One without nodes.
    pub fn new(kernels: &'a Kernels) -> Automaton<'a> {
        Automaton {
            kernels,
            nodes: Vec::new(),
            starts: HashMap::default(),
            kept: Vec::new(),
            known: HashMap::default(),
        }
    }

    /// A node. One that was forgotten is never asked for.
    pub fn node(&self, node: u32) -> Option<&Node> {
        self.nodes.get(node as usize)
    }

    /// Forgets the nodes if they have become many. Nobody may hold the number of one.
    pub fn tidy(&mut self) {
        if self.nodes.len() > MOST_NODES || self.kept.len() > MOST_NODES {
            *self = Automaton::new(self.kernels);
        }
    }

    fn key(&mut self, rows: &Arc<Rows>) -> usize {
        let key = Arc::as_ptr(rows) as usize;
        if self.known.insert(key, ()).is_none() {
            self.kept.push(Arc::clone(rows));
        }
        key
    }

    /// The region of one op; `None` where no kernel is viable.
    pub fn start(&mut self, op: &Op) -> Option<u32> {
        let key = self.key(&op.rows);
        if let Some(&known) = self.starts.get(&key) {
            return known;
        }
        let matrix = Matrix::of(&op.rows);
        let mut viable = Vec::new();
        for &(number, stage) in self.kernels.starting(&op.rows.class) {
            let Some(kernel) = self.kernels.get(number) else {
                continue;
            };
            if kernel.matches(stage, &op.rows, &Chain::default()) && kernel.viable(&matrix) {
                let mut out = Places::new();
                if kernel.writes_out(stage) {
                    insert(&mut out, 0);
                }
                viable.push(Walk { kernel: number, stage, out });
            }
        }
        let node = self.add(matrix, viable, 1).ok();
        self.starts.insert(key, node);
        node
    }

    /// The region with one more op, of which these operands were written in the region. Whether it is connected was seen
    /// to before.
    pub fn step(&mut self, from: u32, op: &Op, chain: Chain) -> Result<u32, Refusal> {
        let step = Step { rows: self.key(&op.rows), chain };
        let kernels = self.kernels;
        let Some(node) = self.nodes.get(from as usize) else {
            return Err(Refusal::Empty);
        };
        if let Some(&known) = node.next.get(&step) {
            return known;
        }
        let next = match node.matrix.compose(&op.rows) {
            Err(reason) => Err(Refusal::Rows(reason)),
            Ok(matrix) => {
                let (length, mut viable) = (node.length, Vec::new());
                for walk in &node.viable {
                    let Some(kernel) = kernels.get(walk.kernel) else {
                        continue;
                    };
                    let Some(stage) = kernel.step(Some(walk.stage), &op.rows, &chain) else {
                        continue;
                    };
                    if kernel.viable(&matrix) {
                        let mut out = walk.out.clone();
                        if kernel.writes_out(stage) {
                            insert(&mut out, length);
                        }
                        viable.push(Walk { kernel: walk.kernel, stage, out });
                    }
                }
                self.add(matrix, viable, length + 1)
            }
        };
        if let Some(node) = self.nodes.get_mut(from as usize) {
            node.next.insert(step, next);
        }
        next
    }

    fn add(&mut self, matrix: Matrix, viable: Vec<Walk>, length: usize) -> Result<u32, Refusal> {
        if viable.is_empty() {
            return Err(Refusal::Empty);
        }
        let mut ready: Vec<Ready> = Vec::new();
        for walk in &viable {
            let Some(kernel) = self.kernels.get(walk.kernel) else {
                continue;
            };
            if kernel.ends(walk.stage)
                && let Some(cost) = kernel.suits(&matrix)
            {
                ready.push(Ready { kernel: walk.kernel, cost: Arc::new(cost), out: walk.out.clone() });
            }
        }
        // The kernels are in the order of ids, and the sort is stable.
        ready.sort_by(|a, b| a.cost.cmp(&b.cost));
        let number = u32::try_from(self.nodes.len()).map_err(|_| Refusal::Empty)?;
        let matrix = Arc::new(matrix);
        self.nodes.push(Node { matrix, viable, ready, length, next: HashMap::default() });
        Ok(number)
    }
}

impl Node {
    /// The kernels that are complete where the ops at these places lose something unless they are written out: cheapest
    /// first, then by id.
    pub fn complete<'n>(&'n self, escaping: &'n Places) -> impl Iterator<Item = &'n Ready> {
        self.ready.iter().filter(|ready| within(escaping, &ready.out))
    }

    /// Whether the region is a barrier.
    pub fn is_barrier(&self) -> bool {
        self.matrix.flags.has(Flag::Barrier)
    }
}

/// Adds a place.
pub fn insert(places: &mut Places, place: usize) {
    let word = place / 64;
    if places.len() <= word {
        places.resize(word + 1, 0);
    }
    if let Some(bits) = places.get_mut(word) {
        *bits |= 1 << (place % 64);
    }
}

fn within(few: &Places, many: &Places) -> bool {
    few.iter().enumerate().all(|(at, bits)| bits & !many.get(at).copied().unwrap_or(0) == 0)
}

/// A quick hash of numbers.
type Fast = BuildHasherDefault<Mix>;

/// Multiplies and rotates.
#[derive(Debug, Default)]
pub struct Mix(u64);

impl Hasher for Mix {
    fn finish(&self) -> u64 {
        self.0 ^ self.0 >> 29
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u64(byte.into()));
    }

    fn write_u8(&mut self, value: u8) {
        self.write_u64(value.into());
    }

    fn write_usize(&mut self, value: usize) {
        self.write_u64(value as u64);
    }

    fn write_u64(&mut self, value: u64) {
        self.0 = (self.0.rotate_left(5) ^ value).wrapping_mul(0x9E37_79B9_7F4A_7C15);
    }
}
