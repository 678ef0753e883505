//! What an implementation is free to choose.

use crate::order::Order;
use crate::parts::Unwritten;

/// Arithmetic outside long sums.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Arithmetic {
    /// Binary32, each operation rounded.
    Binary32,
    /// Binary32, a product fused with the addition that follows.
    Fused,
    /// Binary64 up to the cast.
    Binary64,
}

/// How the exponential is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exponential {
    /// By a library, in binary32.
    Library,
    /// `2^(x log2 e)`
    Base2,
    /// The same, and that of a difference as `2^(s log2 e - m log2 e)`, with both products rounded.
    Folded,
    /// The same, with the first product fused.
    FoldedFused,
    /// By a library in binary64, rounded to binary32.
    Wide,
    /// By a library, subnormal results flushed to zero.
    Flushed,
    /// `2^k e^r`, with `x = k ln 2 + r`, and `ln 2` in two parts.
    Reduced,
}

/// Which NaN is stored (clause NUM-03): its sign and payload are open.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Nan {
    /// The quiet one without sign and payload.
    Quiet,
    /// The same with a sign.
    Negative,
    /// A signalling one with the lowest bit of its payload alone.
    Lowest,
    /// Of ones only.
    Ones,
}

/// How softmax goes over its scores.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passes {
    /// The maximum first.
    Whole,
    /// Tiles of so many scores, rescaling at each.
    Online(usize),
    /// So many pieces, merged at the end.
    Pieces(usize),
}

/// How quantised weights meet x.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Quantised {
    /// Weights first, then the dot product.
    Expanded,
    /// `scale * sum(x q) - scale * zero * sum(x)` for each group.
    ByGroup,
    /// `scale * sum(x (q - zero))` for each group.
    ShiftedByGroup,
}

/// How mean and variance are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Variance {
    /// The mean first.
    TwoPass,
    /// Both in one pass, after Welford.
    Welford,
    /// So many parts, each in one pass, merged after Chan.
    Merged(usize),
}

/// In which order three factors are multiplied: an element, a factor of its row, a weight.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Factors {
    /// `(x s) w`
    RowFirst,
    /// `x (s w)`
    RowAndWeight,
    /// `(x w) s`
    WeightFirst,
}

/// Where the scale of attention is multiplied.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scaled {
    /// With the sum.
    Score,
    /// With each element of the query.
    Query,
    /// With each element of the key.
    Key,
}

/// How the frequencies of ROPE are computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Frequency {
    /// `pow(theta, -i / half)`
    Power,
    /// `1 / pow(theta, i / half)`
    Inverse,
    /// `exp2(-i / half * log2(theta))`
    Base2,
    /// `exp(-i / half * ln(theta))`
    BaseE,
}

/// A style of implementation: one choice for each freedom that the clauses leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Style {
    /// The order of sums that may be made on tensor cores.
    pub order: Order,
    /// The order of all others.
    pub scalar_order: Order,
    /// Arithmetic outside sums; fused products inside them too.
    pub arithmetic: Arithmetic,
    /// Exponentials; quotients are flushed like them.
    pub exponential: Exponential,
    /// Divides by multiplying with the reciprocal.
    pub reciprocal: bool,
    /// `1 / sqrt(x)` by a Newton step from an estimate.
    pub newton: bool,
    /// Mean and variance.
    pub variance: Variance,
    /// The products of norms and of GELU.
    pub factors: Factors,
    /// Scales x and the mean of LAYERNORM, each for itself, before it subtracts.
    pub scaled_mean: bool,
    /// Softmax, attention and its merger.
    pub passes: Passes,
    /// The scale of attention.
    pub scaled: Scaled,
    /// Divides the weights of attention before they meet the values.
    pub divided_weights: bool,
    /// Leaves out rows and partials that weigh 0, whatever they hold.
    pub skips: bool,
    /// Gives rows that a mask leaves out the score -inf, and leaves them out where they weigh 0.
    pub infinite_masks: bool,
    /// Multiplies equal shards by their number.
    pub multiplied: bool,
    /// NaN in outputs.
    pub nan: Nan,
    /// What buffers hold that nobody has written.
    pub unwritten: Unwritten,
    /// Quantised products.
    pub quantised: Quantised,
    /// Begins the sum of a product with the bias.
    pub bias_first: bool,
    /// GELU by erfc, SILU by a sigmoid of its own.
    pub complements: bool,
    /// Frequencies of ROPE.
    pub frequency: Frequency,
    /// Which task runs next; `u64::MAX`: the last that may, 0: the first, [`Style::IN_TURN`]: both in turn, otherwise at random.
    pub schedule: u64,
}

impl Style {
    /// The schedule that takes the first and the last task in turn.
    pub const IN_TURN: u64 = u64::MAX - 1;

    /// What the defaults of [`Kernels`](crate::kernels::Kernels) do.
    pub const PLAIN: Style = Style {
        order: Order::Forward,
        scalar_order: Order::Forward,
        arithmetic: Arithmetic::Binary32,
        exponential: Exponential::Library,
        reciprocal: false,
        newton: false,
        variance: Variance::TwoPass,
        factors: Factors::RowFirst,
        scaled_mean: false,
        passes: Passes::Whole,
        scaled: Scaled::Score,
        divided_weights: false,
        skips: false,
        infinite_masks: false,
        multiplied: false,
        nan: Nan::Quiet,
        unwritten: Unwritten::Zeros,
        quantised: Quantised::Expanded,
        bias_first: false,
        complements: false,
        frequency: Frequency::Power,
        schedule: 0,
    };

    /// Whether it needs the accumulator `truncating` (clause NUM-06).
    pub const fn truncates(&self) -> bool {
        matches!(self.order, Order::Truncating(_))
    }
}
