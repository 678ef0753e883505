//! What can go wrong in a selector.

/// Which answers a fault shows in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// In plans.
    Plan,
    /// In plans of a beam alone.
    Beam,
    /// In explanations alone.
    Explanation,
}

macro_rules! faults {
    ($($name:ident $kind:ident $slug:literal $what:literal,)+) => {
        /// One thing that goes wrong.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[allow(missing_docs, reason = "each is described where it is listed")]
        pub enum Fault { $($name,)+ }

        impl Fault {
            /// All of them.
            pub const ALL: &'static [Fault] = &[$(Fault::$name,)+];

            /// A name for reports.
            pub const fn slug(self) -> &'static str {
                match self { $(Fault::$name => $slug,)+ }
            }

            /// What it does.
            pub const fn what(self) -> &'static str {
                match self { $(Fault::$name => $what,)+ }
            }

            /// Where it shows.
            pub const fn kind(self) -> Kind {
                match self { $(Fault::$name => Kind::$kind,)+ }
            }
        }
    };
}

faults! {
    ViableIsComplete Plan "viable-is-complete" "chooses among the kernels that begin like the region",
    ExactOnly Plan "exact-only" "keeps only kernels that are complete, so those that need more ops are lost",
    NoCheckpoint Plan "no-checkpoint" "closes up to the last op, or has no plan",
    CheckpointFirst Plan "checkpoint-first" "keeps the first extent for which a kernel is complete",
    CheckpointCheapest Plan "checkpoint-cheapest" "keeps the extent with the cheapest kernel",
    RewindSkips Plan "rewind-skips" "does not feed the ops behind the checkpoint again",
    RewindTrigger Plan "rewind-keeps-trigger" "gives the regions of ops fed again the trigger of the flush before",
    LimitLess Plan "limit-less" "ends a region when it has its limit less one",
    LimitMore Plan "limit-more" "ends a region when it has more than its limit",
    BarrierJoins Plan "barrier-before-only" "cuts before a barrier and not behind it",
    BarrierIgnored Plan "barrier-ignored" "takes a barrier for any op",
    SyncIgnored Plan "sync-ignored" "does not look at markers",
    JoinIgnored Plan "join-ignored" "looks at sync and not at join",
    SyncAfter Plan "sync-after" "cuts behind the op that has the marker",
    JoinEverywhere Plan "join-everywhere" "cuts before every op that reads two values of the sequence",
    LimitFirst Plan "limit-first" "names the limit where a barrier or a marker comes too",
    SyncFirst Plan "sync-first" "names the marker where the op is a barrier too",
    ComposeFirst Plan "compose-first" "names the rows where the region is full or a marker comes too",
    EmptyIsCompose Plan "empty-is-compose" "names compose where no kernel is viable",
    ReasonLast Plan "reason-last" "names the last row that fails",
    ReasonAtEnd Plan "reason-stays" "gives regions that end with the sequence the reason of the one before",
    AttrsAtLast Plan "attrs-at-last" "shows the matrix of the last extent, not that of the checkpoint",
    AttrsComposed Plan "attrs-composed" "shows the matrix of the attempt that was empty",
    Unconnected Plan "unconnected" "asks for no connection",
    ConnectedByWrites Plan "connected-by-writes" "takes ops that read the same value for unconnected",
    ChainIgnored Plan "chain-ignored" "does not look at which operand is chained",
    ChainSubset Plan "chain-subset" "allows further operands from the region",
    StageCoreIgnored Plan "stage-core-ignored" "does not look at the core of a stage",
    OptionalRequired Plan "optional-required" "takes no kernel without its optional stages",
    OptionalTail Plan "optional-tail" "takes a kernel for complete only at its last stage",
    EscapeIgnored Plan "escape-ignored" "does not ask who else reads a value",
    EscapeOutput Plan "escape-output" "forgets that a result of the sequence is needed",
    EscapeStorage Plan "escape-storage" "forgets that what is stored is needed",
    EscapeLast Plan "escape-last" "takes the last op of the region for a reader beyond it",
    EscapeAnyReader Plan "escape-any-reader" "takes every value with a reader for one that escapes",
    EscapeFirstReader Plan "escape-first-reader" "looks at the first reader of a value alone",
    TwoProducts Plan "two-products" "lets a product take in a second one",
    NormAfterProduct Plan "norm-after-product" "lets a product take in a norm",
    LinearityLost Plan "linearity-last" "shows the linearity of the last op",
    FlagsOr Plan "flags-or" "takes a flag that is set twice for set once",
    ActivationOverwrites Plan "activation-overwrites" "takes the last activation",
    ActivationRepeats Plan "activation-repeats" "takes any activation for idempotent",
    ReluTwice Plan "relu-twice" "takes relu twice for a conflict",
    UnknownUnifies Plan "unknown-unifies" "takes an unknown extent for any that comes",
    SymbolIgnored Plan "symbol-ignored" "does not unify symbols",
    SymbolIsOne Plan "symbol-distinct" "takes two symbols of one role for different",
    ExtentOne Plan "broadcasts" "lets an extent of 1 be any other",
    UnknownSuffices Plan "unknown-suffices" "takes a constraint on an unknown extent for met",
    UnknownKills Plan "unknown-kills" "takes a kernel with a constraint on an unknown extent for not viable",
    MaxExclusive Plan "max-exclusive" "takes the largest extent for too large",
    MultipleIgnored Plan "multiple-ignored" "does not ask for multiples",
    ChainPromotes Plan "dtype-promotes" "lets a chain change its dtype without a cast",
    AccF8BF16 Plan "acc-f8-bf16" "takes f8 to be below BF16",
    AccFirst Plan "acc-first" "keeps the accumulator of the first op",
    OutAtOnce Plan "out-at-once" "asks for the last dtype before the end",
    AccAtOnce Plan "acc-at-once" "asks for the final accumulator before the end",
    WeightLast Plan "weight-last" "takes the weight dtype of the last op",
    AnyConflicts Plan "any-conflicts" "takes the order any for one of its own",
    TransTwice Plan "trans-twice" "takes a second transposition for the same one again",
    EffectsForgotten Plan "effects-forgotten" "looks at the effects of the last op alone",
    ReadAfterWrite Plan "read-after-write" "does not see that the region reads storage that it wrote",
    Overwrite Plan "overwrite" "does not see that the region writes storage that it read",
    WriteTwice Plan "write-twice" "lets a region write a storage twice",
    RequiredMax Plan "required-max" "takes the larger requirement for both",
    OfferedMin Plan "offered-min" "takes the smaller guarantee for the common one",
    OfferedAbsent Plan "offered-absent" "takes an unknown alignment for sufficient",
    VectorBytes Plan "vector-bytes" "takes the vector width for bytes",
    RequirementLate Plan "requirement-late" "composes what no alignment can satisfy",
    ActivationAllowed Plan "activation-none-free" "takes no activation for any that a kernel asks for",
    RequireIgnored Plan "require-ignored" "does not ask for required flags",
    CostFloat Plan "cost-float" "computes costs in binary64 with 24 bits",
    CostSum Plan "cost-sum" "adds the time of bytes and of operations",
    CostFlops Plan "cost-flops" "forgets the time of bytes",
    CostUnknown Plan "cost-unknown" "takes an unknown extent in a cost for 1",
    CostNoMachine Plan "cost-no-machine" "takes a cost without a machine for its fixed part",
    TieFirst Plan "tie-first" "of equal costs takes the kernel that stands first in the index",
    TieLast Plan "tie-last" "of equal costs takes the last id",
    TieLength Plan "tie-length" "compares ids by length first",
    LongestStages Plan "longest-kernel" "of several kernels takes the one with the most stages",
    NamesOrder Plan "storage-unsorted" "lists storage in the order of the ops",
    PlanCost Plan "plan-cost" "gives the plan the cost of its dearest region",
    CostDecimal Plan "cost-decimal" "writes costs as decimals",
    BeamIgnored Beam "beam-ignored" "answers with the plan of one state",
    BeamAlways Beam "beam-optimum" "keeps all states whatever the width",
    BeamUnmerged Beam "beam-unmerged" "keeps several states with the same anchor, so that there is less room for others",
    BeamTie Beam "beam-tie" "of equal costs keeps the state with more regions",
    BeamEnds Beam "beam-ends" "of equal costs and counts keeps the last list of ends",
    BeamTrigger Beam "beam-trigger" "names every trigger cut but the last",
    BeamOpen Beam "beam-open" "counts the cost of the open region too",
    ExplainViable Explanation "explain-viable" "lists complete kernels among the steps as viable alone",
    ExplainHint Explanation "explain-hint" "shows the cost of the checkpoint where nothing is complete",
    ExplainRewound Explanation "explain-rewound" "counts the op that was not taken among those fed again",
    ExplainEnd Explanation "explain-end" "names the last op at the end",
    ExplainOrder Explanation "explain-order" "lists kernels in the order of the index",
    ExplainAttempt Explanation "explain-attempt" "shows the state before the op joined",
}
