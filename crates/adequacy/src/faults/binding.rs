//! What the host binds, and what lasts from launch to launch.

use megakernel_ir::protocol::Accumulator;
use megakernel_ir::{DType, Opcode};

use super::Fault;
use crate::kernels::Kernels;
use crate::parts::Binding;

struct Wrongly(Binding);

impl Kernels for Wrongly {
    fn steps(&self) -> &dyn Kernels {
        self
    }
    fn binding(&self) -> Binding {
        self.0
    }
}

const LAUNCHES: &[Opcode] = &[];
const NONE: &[DType] = &[];

type Operands = &'static [(Opcode, usize)];
const BIAS: Operands = &[(Opcode::GemvTile, 2), (Opcode::GemmTile, 2)];
const LAYER_BIAS: Operands = &[(Opcode::LayerNorm, 2)];
const LAYER_WEIGHT: Operands = &[(Opcode::LayerNorm, 1)];
const MASK: Operands = &[(Opcode::AttentionTile, 3)];
const POSITIONS: Operands = &[(Opcode::Rope, 1)];
const RMS_WEIGHT: Operands = &[(Opcode::RmsNorm, 1)];
const SCALES: Operands = &[(Opcode::Dequant, 1)];
const TABLE: Operands = &[(Opcode::Embed, 1)];
const ZEROS: Operands = &[(Opcode::Dequant, 2), (Opcode::GemvTile, 3), (Opcode::GemmTile, 3)];

/// A line for each: its id, the binding, and what the implementation does wrong.
macro_rules! bindings {
    ($($id:literal $binding:ident $(($what:expr))?: $summary:literal;)+) => {
        pub(super) const FAULTS: &[Fault] = &[$(Fault {
            id: $id,
            summary: $summary,
            opcodes: LAUNCHES,
            outputs: NONE,
            why: "it is about launches, whatever they write",
            kernels: &Wrongly(Binding::$binding $(($what))?),
            accumulator: Accumulator::Binary32,
            needs: None,
        }),+];
    };
}

bindings! {
    "bound-by-name" ByName: "binds WEIGHT and CONST by name, whatever `source` says";
    "bound-constants-by-name" ConstByName: "binds CONST by name, whatever `source` says";
    "bound-once" Once: "binds each tensor to the first buffer that asks for it, and zeros to the others";
    "buffers-by-name" OneForAName: "takes buffers of one name for one buffer";
    "caches-bound-again" CachesBoundAgain: "binds a cache in every launch that has a tensor for it";
    "caches-bound-late" LateCachesBound: "binds a cache that a later launch is the first to list";
    "caches-by-id" CachesById: "takes a cache for the one that had its id in the launch before";
    "caches-in-order" CachesInOrder: "takes the nth cache for the nth of the launch before";
    "caches-unbound" CachesUnbound: "begins every cache with zeros";
    "caches-unlisted-dropped" UnlistedDropped: "forgets a cache that a launch does not list";
    "inputs-kept" FirstInputs: "keeps the inputs of the first launch";
    "programs-kept" FirstProgram: "keeps the program of the first launch";
    "arena-of-a-space" OneArena: "keeps all buffers of a space other than HBM in one place";
    "caches-from-64" CachesFrom(64): "clears the caches before every launch from the 65th on";
    "caches-unwritten-forgotten" CachesUnwrittenForgotten: "forgets a cache that no task of the launch writes";
    "caches-without-nan" CachesWithoutNan: "carries zeros for NaN from launch to launch";
    "caches-without-subnormals" CachesWithoutSubnormals: "carries zeros for subnormal numbers of binary32 from launch to launch";
    "cleared-by-writers" ClearedByWriters: "clears a buffer outside of HBM when a task begins to write it";
    "keeps-bias" FirstOperand(BIAS): "keeps the bias of a product of the first launch";
    "keeps-layer-bias" FirstOperand(LAYER_BIAS): "keeps the bias of LAYERNORM of the first launch";
    "keeps-layer-weight" FirstOperand(LAYER_WEIGHT): "keeps the weight of LAYERNORM of the first launch";
    "keeps-mask" FirstOperand(MASK): "keeps the mask of the first launch";
    "keeps-positions" FirstOperand(POSITIONS): "keeps the positions of the first launch";
    "keeps-rms-weight" FirstOperand(RMS_WEIGHT): "keeps the weight of RMSNORM of the first launch";
    "keeps-scales" FirstOperand(SCALES): "keeps the scales of DEQUANT of the first launch";
    "keeps-table" FirstOperand(TABLE): "keeps the table of EMBED of the first launch";
    "keeps-zeros" FirstOperand(ZEROS): "keeps the zero points of the first launch";
    "names-of-31" Cut(31): "tells names by their first 31 bytes";
    "names-of-63" Cut(63): "tells names by their first 63 bytes";
    "names-of-255" Cut(255): "tells names by their first 255 bytes";
    "source-empty" EmptySourceByName: "takes an empty `source` for none";
    "sources-of-all" AllBySource: "binds inputs and caches by `source` as well";
    "weights-kept" FirstWeights: "keeps the weights of the first launch";
}
