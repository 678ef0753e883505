//! The faults.

use super::{GraphFault, Wrong, changes, fault};
use megakernel_ir::rule::Rule;

/// Every fault.
pub const FAULTS: &[GraphFault] = &[
    fault("tg-accepts-all", "accepts every graph", Wrong::Always(true)),
    fault("tg-rejects-all", "rejects every graph", Wrong::Always(false)),
    fault(
        "tg-anti-dependence-unseen",
        "does not look for tasks that overwrite what is still read",
        Wrong::Blind(&[Rule::TR03]),
    ),
    fault(
        "tg-boxes-as-hulls",
        "takes a tile for everything between its first and last element",
        Wrong::Misreads(changes::hulls),
    ),
    fault(
        "tg-caches-read-only",
        "takes the caches of attention for read only",
        Wrong::Misreads(changes::caches_read),
    ),
    fault(
        "tg-counts-ignored",
        "assumes that every event takes as many triggers as it gets",
        Wrong::Blind(&[Rule::TD01, Rule::TD02, Rule::TR01]),
    ),
    fault("tg-cycles-unseen", "does not look for cycles", Wrong::Blind(&[Rule::TD03])),
    fault("tg-dead-writes-unseen", "does not look for writes that nobody reads", Wrong::Blind(&[Rule::TR05])),
    fault(
        "tg-declarations-ignored",
        "does not look at the kernel graph",
        Wrong::Misreads(changes::undeclared),
    ),
    fault(
        "tg-descending-ids-allowed",
        "does not compare ids of producers and dependents",
        Wrong::Blind(&[Rule::TD04]),
    ),
    fault(
        "tg-element-types-ignored",
        "takes every element for one of 16 bits",
        Wrong::Misreads(changes::sixteen_bits),
    ),
    fault(
        "tg-events-by-range",
        "takes the range of an event for the tasks that depend on it",
        Wrong::Misreads(changes::by_range),
    ),
    fault("tg-first-rank-only", "judges the first rank of a system", Wrong::Misreads(changes::first_rank)),
    fault("tg-first-tasks-ignored", "does not look at the list of first tasks", Wrong::Blind(&[Rule::TS07])),
    fault("tg-ids-as-doubles", "reads integers as binary64", Wrong::Misreads(changes::doubles)),
    fault("tg-ids-undecoded", "does not take event ids apart", Wrong::Blind(&[Rule::TS05])),
    fault("tg-iterations-ignored", "looks at one iteration only", Wrong::Blind(&[Rule::TX04])),
    fault(
        "tg-joins-counted-low",
        "does not mind events that take fewer triggers than they get",
        Wrong::Blind(&[Rule::TR01]),
    ),
    fault("tg-lost-tasks-allowed", "does not mind tasks that reach no end", Wrong::Blind(&[Rule::TD05])),
    fault("tg-metadata-ignored", "does not compare the metadata", Wrong::Blind(&[Rule::TS10])),
    fault(
        "tg-offsets-ignored",
        "takes every tile to begin with its tensor",
        Wrong::Misreads(changes::no_offsets),
    ),
    fault("tg-range-unchecked", "does not compare ranges with dependents", Wrong::Blind(&[Rule::TS06])),
    fault(
        "tg-ranks-apart",
        "judges each rank by itself, and no copy between them",
        Wrong::Blind(&[Rule::TX01, Rule::TX02, Rule::TX03, Rule::TX04]),
    ),
    fault(
        "tg-read-after-write-unseen",
        "does not look for tasks that read what is being written",
        Wrong::Blind(&[Rule::TR02]),
    ),
    fault("tg-strides-ignored", "takes every tile for contiguous", Wrong::Misreads(changes::contiguous)),
    fault(
        "tg-tensors-not-tiles",
        "lets two tasks conflict that use a tensor in common",
        Wrong::Misreads(changes::whole_tensors),
    ),
    fault(
        "tg-warnings-unknown",
        "never warns",
        Wrong::Blind(&[Rule::TW01, Rule::TW02, Rule::TW03, Rule::TW04]),
    ),
    fault(
        "tg-write-write-unseen",
        "does not look for tasks that write the same",
        Wrong::Blind(&[Rule::TR04]),
    ),
    fault(
        "tg-back-as-doubles",
        "writes integers back as binary64 has them",
        Wrong::Rewrites(changes::doubles),
    ),
    fault(
        "tg-back-null-as-empty",
        "writes `null` back as an empty list",
        Wrong::Rewrites(changes::null_as_empty),
    ),
    fault(
        "tg-back-without-unknown",
        "drops members that it does not know",
        Wrong::Rewrites(changes::without_unknown),
    ),
    fault(
        "tg-back-with-metadata",
        "gives tasks metadata that they did not have",
        Wrong::Rewrites(changes::with_metadata),
    ),
    fault("tg-copies-untagged", "leaves the tag out of the ids of copies", Wrong::Garbles(changes::untagged)),
    fault(
        "tg-copies-to-own-rank",
        "lets copies trigger the event of their own rank",
        Wrong::Garbles(changes::to_own_rank),
    ),
    fault(
        "tg-events-kept-massive",
        "leaves large events as they are before the prelaunch",
        Wrong::Garbles(changes::massive),
    ),
    fault(
        "tg-fused-whole",
        "does not resolve a fused tensor to its parts",
        Wrong::Mistakes(changes::unfused),
    ),
    fault(
        "tg-blocks-reversed",
        "gives the last block of a grid to the first task",
        Wrong::Garbles(changes::reversed_work),
    ),
    fault(
        "tg-offsets-in-elements",
        "counts offsets in elements",
        Wrong::Garbles(changes::offsets_in_elements),
    ),
    fault(
        "tg-reduce-without-output",
        "leaves REDUCE without its output",
        Wrong::Garbles(changes::no_reduce_output),
    ),
    fault(
        "tg-strides-of-tiles",
        "gives tiles the strides of their own extents",
        Wrong::Garbles(changes::contiguous),
    ),
    fault(
        "tg-translates-to-doubles",
        "writes the integers of a translation as binary64 has them",
        Wrong::Garbles(changes::doubles),
    ),
    fault(
        "tg-variants-not-shared",
        "gives every task the first variant",
        Wrong::Garbles(changes::no_variants),
    ),
    fault(
        "tg-current-as-earlier",
        "translates for the current generator as for the earlier one",
        Wrong::Mistakes(changes::earlier),
    ),
    fault(
        "tg-current-no-requests",
        "writes no request into the words of blocks",
        Wrong::GarblesCurrent(changes::no_requests),
    ),
    fault(
        "tg-current-no-middle",
        "leaves the middle of the words of blocks clear",
        Wrong::GarblesCurrent(changes::no_middle),
    ),
    fault(
        "tg-current-no-upper",
        "leaves the upper half of the words of blocks clear",
        Wrong::GarblesCurrent(changes::no_upper),
    ),
    fault(
        "tg-current-one-team",
        "puts all collectives into one team",
        Wrong::GarblesCurrent(changes::one_team),
    ),
    fault(
        "tg-current-untagged",
        "lets dependents wait for puts without the tag",
        Wrong::GarblesCurrent(changes::waits_untagged),
    ),
    fault(
        "tg-current-no-variants",
        "gives every task of the current generator the first variant",
        Wrong::GarblesCurrent(changes::no_variants),
    ),
    fault("tg-fork-and-join", "translates what is fork and join", Wrong::Allows(&[Rule::TK10])),
    fault("tg-sound-as-exact", "has no sound mode, and gives the published translation", Wrong::ExactOnly),
    fault(
        "tg-sound-counts-twice",
        "counts each producer of a join twice",
        Wrong::Unsound(changes::counts_twice),
    ),
    fault(
        "tg-sound-drops-edges",
        "makes no edge to the last operator",
        Wrong::Unsound(changes::last_is_free),
    ),
    fault("tg-sound-loses-task", "leaves the last task out", Wrong::Unsound(changes::loses_task)),
    fault("tg-tensors-undeclared", "takes operands that name no tensor", Wrong::Allows(&[Rule::TK01])),
    fault("tg-grids-uneven", "cuts what its grid does not divide", Wrong::Allows(&[Rule::TK02])),
    fault(
        "tg-operators-unconnected",
        "translates exactly what shares no tensor",
        Wrong::Allows(&[Rule::TK03]),
    ),
    fault(
        "tg-all-reduces-any",
        "does not look at the operands of an all-reduce",
        Wrong::Allows(&[Rule::TK04]),
    ),
    fault("tg-fused-any", "does not compare a fused tensor with its parts", Wrong::Allows(&[Rule::TK05])),
    fault(
        "tg-kernels-any-size",
        "does not look at the sizes in a kernel graph",
        Wrong::Allows(&[Rule::TK06]),
    ),
    fault(
        "tg-blocks-conflict",
        "translates soundly blocks of an operator that conflict",
        Wrong::Allows(&[Rule::TK07]),
    ),
    fault(
        "tg-outputs-dead",
        "translates soundly outputs that are overwritten unread",
        Wrong::Allows(&[Rule::TK08]),
    ),
];
