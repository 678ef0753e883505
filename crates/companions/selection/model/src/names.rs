//! The names that documents of the companion hold (clauses SEL-03, SEL-05 and SEL-19).

macro_rules! names {
    ($($(#[$meta:meta])* $what:literal $name:ident { $($(#[$vmeta:meta])* $variant:ident = $text:literal,)+ })+) => {$(
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$vmeta])* $variant,)+ }

        impl $name {
            /// What they are called together.
            pub const WHAT: &'static str = $what;
            /// Every one, in the order of the specification.
            pub const ALL: &'static [$name] = &[$($name::$variant,)+];

            /// The name in documents.
            pub const fn name(self) -> &'static str {
                match self { $($name::$variant => $text,)+ }
            }

            /// The one with this name.
            pub fn from_name(name: &str) -> Option<$name> {
                Self::ALL.iter().copied().find(|one| one.name() == name)
            }
        }
    )+};
}

names! {
    /// What kind of loop an op is.
    "core" Core {
        /// Elementwise.
        Elementwise = "ew",
        /// With a reduction over the row before it.
        Norm = "norm",
        /// Moves elements.
        Move = "move",
        /// A matrix product.
        Gemm = "gemm",
        /// Attention.
        Attention = "attn",
        /// Takes no part in fusion.
        Opaque = "opaque",
    }
    /// Whether an op is a linear function.
    "linearity" Linearity {
        /// It is.
        Linear = "linear",
        /// It is not.
        Nonlinear = "nonlinear",
    }
    /// Element types.
    "dtype" Dtype {
        /// binary32.
        F32 = "F32",
        /// binary16.
        F16 = "F16",
        /// bfloat16.
        BF16 = "BF16",
        /// float8 with 4 bits of exponent.
        F8E4M3 = "F8E4M3",
        /// float8 with 5 bits of exponent.
        F8E5M2 = "F8E5M2",
        /// Integers of 32 bits.
        I32 = "I32",
        /// Integers of 8 bits.
        I8 = "I8",
        /// Integers of 4 bits.
        I4 = "I4",
        /// A byte that is 0 or 1.
        Bool = "BOOL",
    }
    /// Functions at the end of a product.
    "activation" Activation {
        /// The identity.
        None = "none",
        /// max(x, 0).
        Relu = "relu",
        /// Between 0 and 6.
        Relu6 = "relu6",
        /// Between -1 and 1.
        Hardtanh = "hardtanh",
        /// With the error function.
        Gelu = "gelu",
        /// With tanh.
        GeluTanh = "gelu_tanh",
        /// x times sigmoid of x.
        Silu = "silu",
        /// Logistic.
        Sigmoid = "sigmoid",
        /// Hyperbolic tangent.
        Tanh = "tanh",
        /// Exponential.
        Exp = "exp",
    }
    /// What an op or a region does besides computing values.
    "flag" Flag {
        /// May write what it reads.
        Alias = "alias",
        /// Writes a cache.
        Cache = "cache",
        /// Talks to other devices.
        Communication = "communication",
        /// Draws random numbers.
        Random = "random",
        /// Nothing may be done together with it.
        Barrier = "barrier",
        /// The region reads storage that it has written.
        ReadAfterWrite = "read_after_write",
        /// The region writes storage that it has read.
        Overwrite = "overwrite",
    }
    /// Asks for a cut before an op.
    "marker" Marker {
        /// A point of synchronisation.
        Sync = "sync",
        /// A point where branches meet.
        Join = "join",
    }
    /// What stopped the growth of a region.
    "trigger" Trigger {
        /// The next op, or the region itself, is a barrier.
        Barrier = "barrier",
        /// The next op has a marker.
        Sync = "sync",
        /// The region is full.
        Limit = "limit",
        /// The rows do not compose.
        Compose = "compose",
        /// No kernel can take the next op.
        Empty = "empty",
        /// There is no next op.
        End = "end",
        /// Nothing: a beam chose to end it.
        Cut = "cut",
    }
    /// Why an op did not join.
    "reason" Reason {
        /// It has nothing to do with the region.
        NotConnected = "not_connected",
        /// `sig.core`.
        SigConflict = "sig_conflict",
        /// `epilogue.activation`.
        ActivationConflict = "activation_conflict",
        /// A flag of `epilogue`.
        EpilogueRepeat = "epilogue_repeat",
        /// `shape`.
        ShapeMismatch = "shape_mismatch",
        /// `dtype`.
        DtypeMismatch = "dtype_mismatch",
        /// `layout`.
        LayoutMismatch = "layout_mismatch",
        /// `effects`.
        EffectConflict = "effect_conflict",
        /// `requirements`.
        RequirementConflict = "requirement_conflict",
        /// The rows compose, and no kernel is viable.
        NoViableKernel = "no_viable_kernel",
    }
}

impl Dtype {
    /// Bits of an element.
    pub const fn bits(self) -> u64 {
        match self {
            Dtype::F32 | Dtype::I32 => 32,
            Dtype::F16 | Dtype::BF16 => 16,
            Dtype::F8E4M3 | Dtype::F8E5M2 | Dtype::I8 | Dtype::Bool => 8,
            Dtype::I4 => 4,
        }
    }
}

/// A set of [`Flag`]s.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Flags(u8);

impl Flags {
    /// The set with one more.
    #[must_use]
    pub const fn with(self, flag: Flag) -> Flags {
        Flags(self.0 | 1 << flag as u8)
    }

    /// All of either.
    #[must_use]
    pub const fn union(self, other: Flags) -> Flags {
        Flags(self.0 | other.0)
    }

    /// Whether all of these are in `other`.
    pub const fn within(self, other: Flags) -> bool {
        self.0 & !other.0 == 0
    }

    /// Whether one is in the set.
    pub const fn has(self, flag: Flag) -> bool {
        self.0 >> flag as u8 & 1 == 1
    }

    /// The flags in the set.
    pub fn iter(self) -> impl Iterator<Item = Flag> {
        Flag::ALL.iter().copied().filter(move |&flag| self.has(flag))
    }
}

impl FromIterator<Flag> for Flags {
    fn from_iter<T: IntoIterator<Item = Flag>>(flags: T) -> Flags {
        flags.into_iter().fold(Flags::default(), Flags::with)
    }
}
