//! Faults about graphs as the current generator writes them.

use super::{GraphFault, Wrong, changes, fault};
use megakernel_ir::rule::Rule;

/// Every fault about what only the current generator writes.
pub const FAULTS: &[GraphFault] = &[
    fault(
        "tg-inputs-read-by-103",
        "takes the inputs of ATTENTION_1 for read only",
        Wrong::Retypes(&[(103, 118)]),
    ),
    fault(
        "tg-inputs-read-by-104",
        "takes the inputs of ATTENTION_2 for read only",
        Wrong::Retypes(&[(104, 118)]),
    ),
    fault(
        "tg-inputs-read-by-115",
        "takes the inputs of SINGLE_BATCH_EXTEND_ATTENTION for read only",
        Wrong::Retypes(&[(115, 118)]),
    ),
    fault(
        "tg-inputs-read-by-116",
        "takes the inputs of PAGED_ATTENTION for read only",
        Wrong::Retypes(&[(116, 118)]),
    ),
    fault(
        "tg-inputs-read-by-153",
        "takes the inputs of PAGED_ATTENTION_HOPPER for read only",
        Wrong::Retypes(&[(153, 118)]),
    ),
    fault(
        "tg-inputs-read-by-257",
        "takes the inputs of PAGED_ATTENTION_SM100 for read only",
        Wrong::Retypes(&[(257, 118)]),
    ),
    fault(
        "tg-inputs-read-by-164",
        "takes the inputs of PAGED_ATTENTION_SPLIT_KV_HOPPER for read only",
        Wrong::Retypes(&[(164, 110)]),
    ),
    fault(
        "tg-inputs-read-by-263",
        "takes the inputs of PAGED_ATTENTION_SPLIT_KV_SM100 for read only",
        Wrong::Retypes(&[(263, 110)]),
    ),
    fault(
        "tg-inputs-read-by-260",
        "takes the inputs of MOE_TOPK_SOFTMAX_SM100 for read only",
        Wrong::Retypes(&[(260, 283)]),
    ),
    fault(
        "tg-inputs-read-by-280",
        "takes the inputs of MOE_TOPK_SIGMOID_SM100 for read only",
        Wrong::Retypes(&[(280, 283)]),
    ),
    fault(
        "tg-inputs-read-by-262",
        "takes the inputs of TENSOR_INIT for read only",
        Wrong::Retypes(&[(262, 121)]),
    ),
    fault(
        "tg-inputs-read-by-268",
        "takes the inputs of MLA_PREFILL_SM100 for read only",
        Wrong::Retypes(&[(268, 101)]),
    ),
    fault(
        "tg-inputs-read-by-274",
        "takes the inputs of MTP_PREPARE_VERIFY for read only",
        Wrong::Retypes(&[(274, 101)]),
    ),
    fault(
        "tg-inputs-read-by-278",
        "takes the inputs of MLA_KV_GATHER_SM100 for read only",
        Wrong::Retypes(&[(278, 101)]),
    ),
    fault(
        "tg-inputs-read-by-293",
        "takes the inputs of MLA_KV_GATHER_SPLIT_SM100 for read only",
        Wrong::Retypes(&[(293, 101)]),
    ),
    fault(
        "tg-adding-writes-251",
        "takes SPLITK_LINEAR_SM100 to write its output",
        Wrong::Retypes(&[(251, 253)]),
    ),
    fault(
        "tg-adding-writes-163",
        "takes SPLITK_LINEAR_SWAPAB_HOPPER to write its output",
        Wrong::Retypes(&[(163, 155)]),
    ),
    fault(
        "tg-linear-adds",
        "takes LINEAR types to add to their outputs",
        Wrong::Retypes(&[(120, 251), (253, 251), (155, 163), (252, 251)]),
    ),
    fault(
        "tg-stride-unknown-254",
        "takes the experts of MOE_W13_LINEAR_SM100 for one each",
        Wrong::Retypes(&[(254, 248)]),
    ),
    fault(
        "tg-experts-conflict-254",
        "takes MOE_W13_LINEAR_SM100 to write all of its tile",
        Wrong::Retypes(&[(254, 277)]),
    ),
    fault(
        "tg-stride-unknown-255",
        "takes the experts of MOE_W2_LINEAR_SM100 for one each",
        Wrong::Retypes(&[(255, 248)]),
    ),
    fault(
        "tg-experts-conflict-255",
        "takes MOE_W2_LINEAR_SM100 to write all of its tile",
        Wrong::Retypes(&[(255, 277)]),
    ),
    fault(
        "tg-stride-unknown-161",
        "takes the experts of MOE_W13_LINEAR_SM90 for one each",
        Wrong::Retypes(&[(161, 248)]),
    ),
    fault(
        "tg-experts-conflict-161",
        "takes MOE_W13_LINEAR_SM90 to write all of its tile",
        Wrong::Retypes(&[(161, 277)]),
    ),
    fault(
        "tg-stride-unknown-162",
        "takes the experts of MOE_W2_LINEAR_SM90 for one each",
        Wrong::Retypes(&[(162, 248)]),
    ),
    fault(
        "tg-experts-conflict-162",
        "takes MOE_W2_LINEAR_SM90 to write all of its tile",
        Wrong::Retypes(&[(162, 277)]),
    ),
    fault(
        "tg-experts-conflict-fp8",
        "takes the experts of the FP8 types to write all of their tiles",
        Wrong::Retypes(&[(248, 277), (249, 277)]),
    ),
    fault(
        "tg-requests-conflict",
        "takes paged attention to access all rows and pages",
        Wrong::Retypes(&[(116, 115), (153, 115), (257, 115)]),
    ),
    fault(
        "tg-chunks-conflict",
        "takes attention in chunks to write all of its outputs",
        Wrong::Retypes(&[(164, 283), (263, 283)]),
    ),
    fault(
        "tg-decode-blocks-conflict",
        "takes MLA decoding to write all of its outputs",
        Wrong::Retypes(&[(266, 283), (269, 283), (287, 283), (289, 283), (291, 283)]),
    ),
    fault(
        "tg-reduce-blocks-conflict",
        "takes MLA reductions to write all of their outputs",
        Wrong::Retypes(&[(267, 264), (270, 264), (288, 264), (290, 264), (292, 264)]),
    ),
    fault(
        "tg-collectives-local",
        "takes NVSHMEM_TILE_ALLREDUCE for a local task",
        Wrong::Retypes(&[(302, 121)]),
    ),
    fault(
        "tg-puts-as-copies",
        "takes NVSHMEM_ALLGATHER_STRIDED_PUT for the copy of the earlier generator",
        Wrong::Retypes(&[(301, 199)]),
    ),
    fault(
        "tg-puts-local",
        "takes NVSHMEM_ALLGATHER_STRIDED_PUT for a local task",
        Wrong::Retypes(&[(301, 121)]),
    ),
    fault("tg-requests-ignored", "does not look at requests", Wrong::Misreads(changes::no_requests)),
    fault(
        "tg-middle-ignored",
        "does not look at the middle of the metadata word",
        Wrong::Misreads(changes::no_middle),
    ),
    fault(
        "tg-upper-ignored",
        "does not look at the upper half of the metadata word",
        Wrong::Misreads(changes::no_upper),
    ),
    fault("tg-words-ignored", "does not look at metadata", Wrong::Misreads(changes::no_words)),
    fault("tg-teams-one", "takes all collectives for one team", Wrong::Misreads(changes::one_team)),
    fault(
        "tg-teams-own",
        "takes each collective of a rank for a team of its own",
        Wrong::Misreads(changes::own_teams),
    ),
    fault(
        "tg-waits-untagged",
        "drops the tag of the events that tasks wait for",
        Wrong::Misreads(changes::waits_untagged),
    ),
    fault(
        "tg-operands-apart",
        "takes collectives to read nothing of other ranks",
        Wrong::Misreads(changes::operands_apart),
    ),
    fault(
        "tg-sums-unordered",
        "does not look for sums that are read or set too early",
        Wrong::Blind(&[Rule::TR06]),
    ),
    fault("tg-sums-unset", "does not look for sums that nothing sets", Wrong::Blind(&[Rule::TR07])),
    fault("tg-meetings-unmatched", "does not compare the collectives of ranks", Wrong::Blind(&[Rule::TX05])),
    fault(
        "tg-meetings-at-once",
        "does not look for collectives of one team at once",
        Wrong::Blind(&[Rule::TX06]),
    ),
    fault(
        "tg-remote-unseen",
        "does not look at what one rank does in the memory of another",
        Wrong::Blind(&[Rule::TX03, Rule::TX04]),
    ),
    fault("tg-signals-uneven", "does not look where signals come from", Wrong::Blind(&[Rule::TX02])),
    fault(
        "tg-types-any",
        "translates soundly what works together with other ranks or tasks",
        Wrong::Allows(&[Rule::TK09]),
    ),
];
