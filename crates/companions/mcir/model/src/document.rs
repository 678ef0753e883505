//! The records of a document. Names of values, axes and ids stand once in [`Document::names`], and records refer to them by position.

use smallvec::SmallVec;

/// Names of operands, or of what a region loads and stores: few are more than four, and others take no memory of their own.
pub type Operands = SmallVec<[u32; 4]>;
/// The terms of an index, of which most have one.
pub type Terms = SmallVec<[Term; 1]>;
/// The indices that bound a stream, of which most have one.
pub type Bounds = SmallVec<[Index; 1]>;
/// The extents of a value, of which most have two.
pub type Shape = SmallVec<[i64; 2]>;
/// Axes with their steps or extents.
pub type Sizes = SmallVec<[(u32, i64); 1]>;
/// What a barrier waits for: tiles and their versions.
pub type Waits = SmallVec<[(u32, i64); 1]>;

/// A document (clause MCI-01).
#[derive(Clone, Debug, Default)]
pub struct Document {
    /// Every name that the document uses.
    pub names: Vec<String>,
    /// By name, in the order of the names.
    pub values: Vec<Value>,
    /// Tensors that are there before.
    pub inputs: Vec<u32>,
    /// Tensors that are asked for.
    pub outputs: Vec<u32>,
    /// Execution regions, in the order in which they run.
    pub regions: Vec<Region>,
    /// What may be stored.
    pub boundaries: Vec<Boundary>,
    /// How long tiles are on chip.
    pub residency: Vec<Residency>,
    /// What there is of memory.
    pub target: Target,
}

/// A tensor or a tile (clause MCI-02).
#[derive(Clone, Debug)]
pub struct Value {
    /// Its name.
    pub name: u32,
    /// Extents, outermost first.
    pub shape: Shape,
    /// Where it is rounded to.
    pub dtype: Dtype,
    /// Where it lies.
    pub memory: Memory,
    /// How many slots a tile has.
    pub buffers: i64,
}

macro_rules! named {
    ($(#[$doc:meta])* $name:ident { $($(#[$each:meta])* $variant:ident $text:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum $name { $($(#[$each])* $variant,)+ }

        impl $name {
            /// All of them.
            pub const ALL: &'static [$name] = &[$($name::$variant,)+];

            /// As documents write it.
            pub const fn name(self) -> &'static str {
                match self { $($name::$variant => $text,)+ }
            }
        }
    };
}

named! {
    /// Element type.
    Dtype {
        /// IEEE binary32.
        F32 "F32",
        /// IEEE binary16.
        F16 "F16",
        /// bfloat16.
        BF16 "BF16",
    }
}

impl Dtype {
    /// Bytes of an element.
    pub const fn bytes(self) -> i64 {
        match self {
            Dtype::F32 => 4,
            Dtype::F16 | Dtype::BF16 => 2,
        }
    }
}

named! {
    /// Where a value lies.
    Memory {
        /// Outside of the chip: a tensor.
        Global "global",
        /// In the shared memory of a block.
        Shared "shared",
        /// In registers of a block.
        Register "register",
    }
}

named! {
    /// How long a tile is on chip (clause MCI-11).
    Lifetime {
        /// As long as its block.
        Block "block",
        /// Until the stream ends.
        Stream "stream",
        /// For an iteration, and what is prefetched until then.
        Iteration "iteration",
        /// From its producer to its last reader.
        Node "node",
    }
}

/// The permission to store a value.
#[derive(Clone, Copy, Debug)]
pub struct Boundary {
    /// The tensor.
    pub value: u32,
}

/// Tiles of one memory and one lifetime.
#[derive(Clone, Debug)]
pub struct Residency {
    /// Where.
    pub memory: Memory,
    /// Which.
    pub values: Vec<u32>,
    /// How long.
    pub lifetime: Lifetime,
}

/// The most that a block may hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Target {
    /// In shared memory.
    pub shared: Option<i64>,
    /// In registers.
    pub register: Option<i64>,
}

/// An execution region, with its streaming region and its tile region (clause MCI-04).
#[derive(Clone, Debug)]
pub struct Region {
    /// Its id.
    pub id: u32,
    /// What it loads.
    pub inputs: Operands,
    /// What it stores.
    pub outputs: Operands,
    /// What it runs through.
    pub stream: Option<Stream>,
    /// What it keeps.
    pub state: Vec<State>,
    /// What its blocks do.
    pub tile: Tile,
}

/// An axis that a block runs through.
#[derive(Clone, Debug)]
pub struct Stream {
    /// Its name.
    pub axis: u32,
    /// The largest of these is the first value.
    pub from: Bounds,
    /// All values are below the least of these.
    pub to: Bounds,
}

/// A tile that a stream keeps.
#[derive(Clone, Copy, Debug)]
pub struct State {
    /// The tile.
    pub value: u32,
    /// What it is when a block begins.
    pub init: Init,
}

/// What a state is when a block begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Init {
    /// This number.
    Number(i64),
    /// Minus infinity.
    Least,
    /// Infinity.
    Most,
}

/// What blocks there are, and what each does.
#[derive(Clone, Debug, Default)]
pub struct Tile {
    /// Steps by axis, in the order of the names.
    pub shape: Sizes,
    /// Extents by block axis, in the order of the names.
    pub blocks: Sizes,
    /// The three bodies.
    pub bodies: [Vec<Node>; 3],
}

named! {
    /// When nodes run.
    Body {
        /// Once, before the stream.
        Begin "begin",
        /// In each iteration.
        Each "each",
        /// Once, after the stream.
        End "end",
    }
}

/// An index (clause MCI-03).
#[derive(Clone, Debug, Default)]
pub struct Index {
    /// What is added.
    pub terms: Terms,
    /// Whether it is written as an array, which pointers follow.
    pub is_array: bool,
}

/// A term of an index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Term {
    /// An integer.
    Number(i64),
    /// An axis.
    Axis(u32),
    /// A coefficient and an axis.
    Scaled(i64, u32),
}

/// A node (clause MCI-05).
#[derive(Clone, Debug)]
pub struct Node {
    /// Its id.
    pub id: u32,
    /// What it does.
    pub op: Op,
    /// What it reads.
    pub ins: Operands,
    /// What it produces.
    pub outs: Operands,
}

/// What a node does.
#[derive(Clone, Debug)]
pub enum Op {
    /// Moves a tile from global memory.
    LoadTile(Vec<Index>),
    /// Moves a tile to global memory.
    StoreTile(Vec<Index>),
    /// Begins to move the tile of another iteration.
    Prefetch(Vec<Index>, i64),
    /// Waits for versions of tiles.
    Barrier(Waits),
    /// Computes tiles from tiles.
    Compute(Function),
    /// Takes an axis away.
    Reduce(Fold, i64),
    /// Writes states.
    UpdateState(Update),
}

impl Op {
    /// As documents write it.
    pub const fn name(&self) -> &'static str {
        match self {
            Op::LoadTile(_) => "LoadTile",
            Op::StoreTile(_) => "StoreTile",
            Op::Prefetch(..) => "Prefetch",
            Op::Barrier(_) => "Barrier",
            Op::Compute(_) => "Compute",
            Op::Reduce(..) => "Reduce",
            Op::UpdateState(_) => "UpdateState",
        }
    }

    /// Where a tile lies in its tensor, of a node that moves one.
    pub fn at(&self) -> Option<&[Index]> {
        match self {
            Op::LoadTile(at) | Op::StoreTile(at) | Op::Prefetch(at, _) => Some(at),
            _ => None,
        }
    }

    /// What it waits for, of a barrier.
    pub fn waits(&self) -> &[(u32, i64)] {
        if let Op::Barrier(waits) = self { waits } else { &[] }
    }
}

/// What a `Compute` computes (clause MCI-06).
#[derive(Clone, Debug)]
pub enum Function {
    /// The product of two matrices; whether the second one is transposed.
    Matmul(bool),
    /// The other way round.
    Transpose,
    /// Element by element, of one tile.
    Unary(Unary),
    /// Times a fraction.
    Scale(i64, i64),
    /// Element by element, of two tiles.
    Binary(Binary, Option<Along>),
    /// Only what lies on one side of the diagonal, and in a window.
    Mask(Box<Mask>),
}

/// What a `mask` leaves: where in its tensor the tile lies, and how far a row looks back.
#[derive(Clone, Debug)]
pub struct Mask {
    /// The index of the first row.
    pub rows: Index,
    /// The index of the first column.
    pub columns: Index,
    /// How many columns each row sees, if not all before it.
    pub window: Option<i64>,
}

named! {
    /// A function of one number.
    Unary {
        /// The number.
        Copy "copy",
        /// Its negative.
        Neg "neg",
        /// Its exponential.
        Exp "exp",
        /// One divided by its root.
        Rsqrt "rsqrt",
        /// Times its logistic function.
        Silu "silu",
        /// Times the normal distribution function.
        Gelu "gelu",
    }
}

named! {
    /// A function of two numbers.
    Binary {
        /// The sum.
        Add "add",
        /// The difference.
        Sub "sub",
        /// The product.
        Mul "mul",
        /// The quotient.
        Div "div",
        /// The larger one.
        Max "max",
    }
}

named! {
    /// What there is one number of, in the second tile.
    Along {
        /// Each row.
        Rows "rows",
        /// Each column.
        Columns "columns",
    }
}

named! {
    /// What is done along an axis.
    Fold {
        /// The sum.
        Sum "sum",
        /// The largest.
        Max "max",
    }
}

named! {
    /// How states go on.
    Update {
        /// Something is added.
        Add "add",
        /// The larger one stays.
        Max "max",
        /// Rows are scaled, and something is added.
        ScaleAdd "scale_add",
        /// The largest score and the sum of weights.
        OnlineSoftmax "online_softmax",
    }
}

impl Update {
    /// The places of states: in `in` and in `out`.
    pub const fn states(self) -> &'static [(usize, usize)] {
        match self {
            Update::OnlineSoftmax => &[(1, 0), (2, 1)],
            _ => &[(0, 0)],
        }
    }
}
