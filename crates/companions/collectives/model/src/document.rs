//! Records. Integers are as they stand in the document; ranges are for a validator.

/// A document that `validate` takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Document {
    /// What every element does, and what is asked of all together.
    Algorithm(Algorithm),
    /// What a module offers.
    Module(ModuleDescription),
}

macro_rules! names {
    ($(#[$meta:meta])* $type:ident, $what:literal: $($name:literal $variant:ident,)+) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $type {
            $(#[doc = concat!("`", $name, "`")] $variant,)+
        }

        impl $type {
            /// What it is called in messages.
            pub const WHAT: &'static str = $what;
            /// All of them.
            pub const ALL: &'static [$type] = &[$($type::$variant,)+];

            /// The name in documents.
            pub fn name(self) -> &'static str {
                match self {
                    $($type::$variant => $name,)+
                }
            }
        }
    };
}

names! {
    /// How devices are connected (clause COL-02).
    TopologyKind, "kind of topology":
    "ring_1d" Ring,
    "torus_2d" Torus,
    "mesh_2d_no_wrap" Mesh,
    "explicit" Explicit,
}

names! {
    /// What is asked for (clause COL-17).
    CollectiveKind, "collective":
    "all_reduce" AllReduce,
    "broadcast" Broadcast,
    "all_gather" AllGather,
    "reduce_scatter" ReduceScatter,
}

names! {
    /// What a handle holds (clause COL-14).
    Dtype, "dtype":
    "f16" F16,
    "f32" F32,
}

impl Dtype {
    /// Bytes of a number.
    pub fn bytes(self) -> i64 {
        match self {
            Dtype::F16 => 2,
            Dtype::F32 => 4,
        }
    }
}

names! {
    /// Who takes part (clause COL-16).
    Over, "extent of a collective":
    "elements" Elements,
    "ranks" Ranks,
}

names! {
    /// What is asked of the bits (clause COL-19).
    Bits, "requirement on bits":
    "identical" Identical,
    "per_element" PerElement,
}

/// The devices and their connections (clause COL-02).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    /// How devices are connected.
    pub kind: TopologyKind,
    /// How many there are.
    pub ranks: i64,
    /// Columns of the grid of devices, where it has some.
    pub w: Option<i64>,
    /// Rows of the grid of devices.
    pub h: Option<i64>,
    /// Columns of cubes.
    pub cube_w: i64,
    /// Rows of cubes.
    pub cube_h: i64,
    /// The cube that is connected to other devices, where it is not the middle one.
    pub link_cube: Option<i64>,
    /// Messages that a queue holds.
    pub capacity: i64,
    /// The most bytes of a message.
    pub slot_bytes: Option<i64>,
    /// The connections of an explicit topology.
    pub edges: Vec<Edge>,
}

/// A connection of an explicit topology.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The rank that sends.
    pub from: i64,
    /// What it sends to.
    pub out: String,
    /// The rank that receives.
    pub to: i64,
    /// What it receives from.
    pub into: String,
    /// Messages that this queue holds, where it is not what all do.
    pub capacity: Option<i64>,
}

/// What is asked for (clause COL-17).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Collective {
    /// Which collective.
    pub kind: CollectiveKind,
    /// Who takes part.
    pub over: Over,
    /// The rank that a broadcast starts from.
    pub root: i64,
    /// Whether all have to end with the same bits.
    pub bits: Bits,
}

/// An algorithm (clause COL-01).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Algorithm {
    /// Where it runs.
    pub topology: Topology,
    /// Positions of each tile.
    pub n_elem: i64,
    /// Positions behind it.
    pub scratch: i64,
    /// What is asked for.
    pub collective: Collective,
    /// What each element does.
    pub logs: Vec<Log>,
    /// What the tiles hold at the beginning.
    pub tiles: Option<Vec<Vec<i64>>>,
}

/// What some elements do (clause COL-04).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Log {
    /// Their ids: first, last, step.
    pub elements: Vec<[i64; 3]>,
    /// Their operations.
    pub ops: Vec<Op>,
    /// The names of handles; operations have their positions in this list.
    pub handles: Vec<String>,
}

/// A handle: the position of its name in [`Log::handles`].
pub type Handle = usize;

/// An operation of a template (clauses COL-04 and COL-05).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// Makes a handle of what stands in memory.
    Load {
        /// The new handle.
        to: Handle,
        /// First position.
        at: Number,
        /// How many.
        n: Number,
    },
    /// Writes a handle to memory.
    Store {
        /// The handle.
        of: Handle,
        /// First position.
        at: Number,
    },
    /// Sends a handle.
    Send {
        /// The handle.
        of: Handle,
        /// Where to.
        dir: String,
    },
    /// Makes a handle of a message.
    Recv {
        /// The new handle.
        to: Handle,
        /// Where from.
        dir: String,
        /// How many numbers.
        n: Number,
        /// Of which dtype.
        dtype: Dtype,
    },
    /// Adds number by number.
    Add {
        /// The new handle.
        to: Handle,
        /// One operand.
        a: Handle,
        /// The other.
        b: Handle,
    },
    /// The same numbers in another dtype.
    Cast {
        /// The new handle.
        to: Handle,
        /// The handle.
        of: Handle,
        /// The dtype.
        dtype: Dtype,
    },
    /// None of these.
    Other(String),
    /// A loop. Its variable is told by how many loops stand around it.
    For {
        /// Turns.
        count: Number,
        /// What is done in each.
        ops: Vec<Op>,
    },
}

/// A number of a template.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Number {
    /// An integer.
    Plain(i64),
    /// One that depends on variables.
    Affine(Box<Affine>),
}

/// `plus + times * ((add + sum of factors * variables) mod modulus)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Affine {
    /// Variables with their factors.
    pub of: Vec<(Variable, i64)>,
    /// A summand before the modulus.
    pub add: i64,
    /// The modulus.
    pub modulus: Option<i64>,
    /// A factor behind it.
    pub times: i64,
    /// A summand behind that.
    pub plus: i64,
}

/// A variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variable {
    /// The element's rank.
    Rank,
    /// The element's cube.
    Cube,
    /// The turn of the loop that has this many loops around it.
    Loop(usize),
}

/// A module description (clause COL-07).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModuleDescription {
    /// The module.
    pub module: Module,
    /// Where it is to run.
    pub topology: Topology,
    /// What the registry overrides the number of ranks with.
    pub world_size: Option<i64>,
}

/// What was found in a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Module {
    /// Its public names.
    pub symbols: Vec<String>,
    /// Positional parameters of the kernel.
    pub positional: i64,
    /// Those without default, where not all are.
    pub required: Option<i64>,
    /// Whether it takes further ones.
    pub variadic: bool,
    /// Whether it takes `tl`.
    pub tl: bool,
    /// How many arguments `kernel_args` makes.
    pub arguments: i64,
    /// The map from names of topologies to integers.
    pub kinds: Option<Vec<(String, i64)>>,
    /// Whether the map stands in the document, as null at least.
    pub kinds_stated: bool,
}

/// What a module is asked for (clause COL-21).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LaunchRequest {
    /// Where it runs.
    pub topology: Topology,
    /// Positions of each tile.
    pub n_elem: i64,
    /// What all elements are to reach together.
    pub collective: Collective,
    /// Whose kernel is launched.
    pub element: i64,
}
