//! What sentences of the specification allow, which programs show it, and which faults refuse it.

use megakernel_conformance::case::{Case, Verdict};
use megakernel_conformance::store::Filter;
use megakernel_ir::protocol::Method;

/// A sentence, and what belongs to it.
pub struct Allowed {
    /// The clause in which it stands.
    pub clause: &'static str,
    /// The sentence, or the part of it that allows.
    pub sentence: &'static str,
    /// Ids of cases among which those are that show it: a fault refuses them.
    pub cases: &'static [&'static str],
    /// The faults that refuse it.
    pub faults: &'static [&'static str],
}

const fn allowed(
    clause: &'static str,
    sentence: &'static str,
    cases: &'static [&'static str],
    faults: &'static [&'static str],
) -> Allowed {
    Allowed { clause, sentence, cases, faults }
}

/// All of them, in the order of the clauses.
pub const ALLOWED: &[Allowed] = &[
    allowed(
        "DAT-01",
        "Any of the lists may be empty.",
        &["crossing/allowed-targets/lists-*", "accept/record/empty"],
        &["no-tasks-refused", "no-pages-refused"],
    ),
    allowed(
        "DAT-01",
        "provenance, of any content",
        &["crossing/allowed-records/meta-*", "accept/record/every-record"],
        &["meta-beyond-texts-refused"],
    ),
    allowed(
        "DAT-03",
        "Names need not differ; buffers with one name are different buffers",
        &["crossing/allowed-records/names-*"],
        &["names-twice-refused", "names-empty-refused"],
    ),
    allowed(
        "DAT-03",
        "with rank 0 it is 1, and the buffer is a scalar",
        &["crossing/allowed-operands/a-scalar-*", "accept/opcode/*scalar*"],
        &["scalar-refused"],
    ),
    allowed(
        "DAT-04",
        "no read of one needs a producer",
        &["accept/chain/*", "accept/gemv/*"],
        &["reads-of-the-host-judged"],
    ),
    allowed("DAT-05", "for people", &["crossing/allowed-records/notes-*"], &["notes-beyond-ascii-refused"]),
    allowed(
        "DAT-06",
        "One buffer may occur several times",
        &["crossing/allowed-operands/one-buffer-*"],
        &["inputs-twice-refused"],
    ),
    allowed(
        "DAT-06",
        "estimates for cost models. Not negative, and without effect",
        &["crossing/allowed-records/estimates-*"],
        &["estimates-beyond-32-bits-refused"],
    ),
    allowed("DAT-06", "for people", &["crossing/allowed-records/labels-*"], &["labels-twice-refused"]),
    allowed(
        "DAT-07",
        "Two waits of one task on the same counter are allowed.",
        &["crossing/allowed-orders/two-waits-*"],
        &["waits-on-one-counter-refused"],
    ),
    allowed(
        "DAT-08",
        "A float is a number, integer text or not, that is finite after rounding to binary32.",
        &["crossing/allowed-operands/finite-*"],
        &["parameter-before-rounding"],
    ),
    allowed(
        "DAT-08",
        "not used by any opcode of this version",
        &["crossing/operands-unused-parameters/*-least"],
        &["parameter-without-effect-refused"],
    ),
    allowed(
        "DAT-09",
        "A task that depends on more than 8 counters can wait on `NOP` tasks that wait on them.",
        &["accept/fan-in/nops-*", "accept/unit/*-joined"],
        &["order-not-over-nop", "edges-from-nop-missing", "edges-to-nop-missing"],
    ),
    allowed(
        "EXE-06",
        "An edge from a task to a later entry of the same queue does no harm.",
        &["accept/unit/*-one-queue", "accept/chain/one-sm-*"],
        &["queue-order-forwards-refused"],
    ),
    allowed(
        "EXE-10",
        "A task does not race with itself",
        &["accept/rows/in-place-*", "accept/reuse/in-place-*"],
        &["in-place-refused", "in-place-first-input-only"],
    ),
    allowed(
        "FMT-01",
        "A reader MUST accept arrays and objects nested up to 128 deep",
        &["crossing/texts-values/*-deep", "format/accepted/*"],
        &["text-depth-of-32", "text-depth-of-64", "text-depth-of-127"],
    ),
    allowed(
        "FMT-01",
        "The order of members in an object never matters to a reader.",
        &["crossing/texts-values/at-the-end-*", "crossing/texts-values/deep-in-an-object-*"],
        &["members-in-another-order-refused"],
    ),
    allowed(
        "FMT-03",
        "A reader MUST accept unknown members in every object, whatever their value, and MUST NOT let them change a verdict.",
        &["crossing/members-unknown/*", "crossing/members-spelling/*"],
        &["unknown-member-refused", "member-of-any-case"],
    ),
    allowed(
        "FMT-05",
        "A reader MUST accept every well-formed version with major part 0, whatever the minor and patch parts",
        &["crossing/members-versions/*", "format/versions/*"],
        &["version-of-other-minor-refused", "version-of-other-patch-refused", "version-of-two-parts-refused"],
    ),
    allowed(
        "OPC-01",
        "The shapes may differ: `COPY` reshapes.",
        &["crossing/operands-ranks/unit-copy-*", "accept/opcode/copy-*"],
        &["shape-refused"],
    ),
    allowed(
        "OPC-02",
        "A hint that is not tied to the shapes",
        &["crossing/allowed-operands/a-hint-*", "accept/opcode/embed-*"],
        &["shape-refused"],
    ),
    allowed(
        "OPC-04",
        "it may span several axes",
        &["crossing/allowed-operands/a-run-*", "accept/opcode/layernorm-two-axes"],
        &["shape-refused"],
    ),
    allowed(
        "OPC-05",
        "`[N, ceil(K / group)]`",
        &["crossing/values-quantisation/unit-gemv-*", "crossing/values-quantisation/unit-gemm-*"],
        &["groups-of-whole-only", "groups-of-stored-width", "groups-rounded-down"],
    ),
    allowed(
        "OPC-05",
        "optional. Equal to the `N` and `M` of the shapes",
        &["crossing/allowed-operands/extents-*"],
        &["extents-given-refused"],
    ),
    allowed(
        "OPC-07",
        "CAUSAL has no effect on a tile with one query.",
        &["crossing/allowed-operands/causal-*"],
        &["causal-refused"],
    ),
    allowed(
        "OPC-07",
        "Any finite number",
        &["crossing/allowed-operands/any-scale-*"],
        &["range-of-zero", "range-of-negative-refused"],
    ),
    allowed(
        "OPC-07",
        "An empty window reads nothing of k and v.",
        &["crossing/values-relations/*-empty-*", "accept/rows/listed-*"],
        &["window-empty-refused"],
    ),
    allowed(
        "OPC-08",
        "no effect",
        &["crossing/allowed-operands/heads-without-effect-unit-rope-*"],
        &["shape-refused"],
    ),
    allowed(
        "OPC-12",
        "without effect with two",
        &["crossing/allowed-operands/scale-*", "accept/opcode/mul-two"],
        &["scale-of-two-inputs-refused"],
    ),
    allowed(
        "OPC-14",
        "a negative one counts from the last",
        &["crossing/values-relations/unit-softmax-*", "accept/opcode/softmax-*"],
        &["softmax-dim-negative-refused", "softmax-dim-least-refused", "softmax-dim-last-only"],
    ),
    allowed(
        "OPC-16",
        "new may have any shape with that number of elements.",
        &[
            "crossing/allowed-operands/a-scalar-unit-kv-append-*",
            "crossing/operands-ranks/unit-kv-append-*",
            "accept/opcode/kv-append-*",
        ],
        &["shape-refused"],
    ),
    allowed(
        "OPC-18",
        "The parameters `head_dim` and `n_heads` have no effect here.",
        &["crossing/allowed-operands/heads-*-unit-attention-combine-*"],
        &["parameter-without-effect-refused"],
    ),
    allowed(
        "P01",
        "the dtypes of A and B have the same width",
        &["crossing/pages-hand-over/*-to-*", "crossing/pages-hand-over/*-second-input"],
        &["hand-over-of-equal-dtypes-only", "hand-over-from-first-input-only", "hand-over-refused"],
    ),
    allowed(
        "P01",
        "Of any two buffers on one page, one MUST **precede** the other.",
        &["crossing/pages-hand-over/*-turned", "accept/paged/*", "accept/rows/listed-*"],
        &["p01-not-both-ways", "p01-sharing-refused"],
    ),
    allowed(
        "PAG-01",
        "A page with no buffer is allowed.",
        &["crossing/allowed-orders/a-page-*"],
        &["page-without-buffer-refused"],
    ),
    allowed(
        "PAG-02",
        "any integers are allowed, also `-1` for *unknown*",
        &["crossing/allowed-orders/any-live-*"],
        &["live-range-backwards-refused", "live-range-of-minus-one-refused"],
    ),
    allowed(
        "PAG-03",
        "Without a target nothing is judged.",
        &["crossing/allowed-orders/no-capacity-*", "crossing/allowed-orders/a-page-*"],
        &["capacity-without-target-refused"],
    ),
    allowed(
        "R06",
        "A read that no write of another task overlaps is always allowed",
        &["accept/cache/*", "accept/attention/*", "race/kv-order/*"],
        &["r06-every-later-write-refused"],
    ),
    allowed(
        "TGT-01",
        "integer, at least 1",
        &["crossing/allowed-targets/one-sm-*"],
        &["record-least-refused"],
    ),
    allowed(
        "TGT-01",
        "Apart from `num_sms`, integers are not negative, and numbers are not negative",
        &["crossing/allowed-targets/integers-*", "crossing/members-ranges/*-least"],
        &["record-least-refused"],
    ),
    allowed(
        "TGT-01",
        "Where `target` is null, rules that need it are not judged.",
        &["crossing/allowed-orders/no-target-*"],
        &["sm-without-target-refused"],
    ),
    allowed(
        "TGT-02",
        "An explicit `sm_assignment` need not name every task, and need not agree with the tasks' `sm`.",
        &["crossing/allowed-targets/need-not-*"],
        &["assignment-of-some-tasks-refused", "assignment-beside-sm-refused"],
    ),
    allowed(
        "TGT-02",
        "The keys are free",
        &["crossing/allowed-targets/keys-*"],
        &["tiling-of-other-operations-refused"],
    ),
    allowed(
        "TGT-02",
        "The names are free",
        &["crossing/allowed-targets/names-*"],
        &["fusion-of-nothing-refused"],
    ),
    allowed(
        "TGT-02",
        "integer, at least 0",
        &["crossing/allowed-targets/any-depth-*"],
        &["depth-beyond-8-refused"],
    ),
    allowed(
        "TGT-03",
        "is from 1 to 1024",
        &["crossing/values-launches/*-threads"],
        &["threads-of-whole-warps", "threads-of-one-refused"],
    ),
    allowed(
        "TGT-03",
        "the bounds that need it are not judged",
        &["crossing/allowed-targets/nothing-*"],
        &["smem-of-48-kib", "assignment-without-target-refused"],
    ),
];

impl Allowed {
    /// Whether a case accepts what the sentence allows.
    ///
    /// # Errors
    /// A pattern is none.
    pub fn filters(&self) -> Result<Vec<Filter>, String> {
        self.cases.iter().map(|glob| Filter::new(glob)).collect()
    }
}

/// Whether a case accepts a program.
pub fn accepts(case: &Case) -> bool {
    case.method == Method::VALIDATE && case.expect.verdict == Verdict::Accept
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::ALLOWED;

    fn texts(folder: &Path) -> String {
        let mut text = String::new();
        for entry in std::fs::read_dir(folder).expect("the specification is a folder") {
            let entry = entry.expect("its entries can be read").path();
            if entry.extension().is_some_and(|extension| extension == "md") {
                text.push_str(&std::fs::read_to_string(entry).expect("a text"));
            }
        }
        text
    }

    #[test]
    fn each_sentence_stands_in_its_clause() {
        let spec = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../spec");
        let text: String = ["", "rules", "opcodes"].iter().map(|folder| texts(&spec.join(folder))).collect();
        for allowed in ALLOWED {
            let heading = format!("### {} ", allowed.clause);
            let clause = text.split(&heading).nth(1).unwrap_or_default();
            let clause = clause.split("\n### ").next().unwrap_or_default();
            let plain = clause.split_whitespace().collect::<Vec<_>>().join(" ");
            assert!(
                plain.contains(allowed.sentence),
                "{} does not say `{}`",
                allowed.clause,
                allowed.sentence
            );
        }
    }
}
