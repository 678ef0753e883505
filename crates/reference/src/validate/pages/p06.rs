//! P06 on-chip-capacity: the on-chip pages that one SM uses fit it (clause PAG-03).

use std::collections::{BTreeMap, BTreeSet};

use megakernel_ir::model::{Page, Program};
use megakernel_ir::{Diagnostic, MemSpace, Rule};
use megakernel_order::Findings;

use crate::validate::accesses::Accesses;
use crate::validate::pages::Binding;

/// Bytes of a register.
const REGISTER: i64 = 4;

pub(super) fn check(
    program: &Program<'_>,
    pages: &[Page<'_>],
    bound: &[Binding<'_>],
    accesses: &Accesses<'_>,
    findings: &mut Findings,
) {
    let Some(target) = &program.target else { return };
    let capacities = [
        (MemSpace::Smem, target.smem_bytes_per_block_optin, "smem_bytes_per_block_optin"),
        (MemSpace::Register, target.regs_per_sm.saturating_mul(REGISTER), "regs_per_sm, 4 bytes each"),
    ];
    for (space, capacity, limit) in capacities {
        for (sm, used) in pools(program, pages, bound, accesses, space) {
            let bytes = used.iter().fold(0i64, |sum, &page| sum.saturating_add(pages[page].nbytes));
            if bytes > capacity {
                let place = sm.map_or("tasks without an SM".to_owned(), |sm| format!("SM {sm}"));
                let message = format!(
                    "the {space} pages of {place} have {bytes} bytes together; the target `{}` has {capacity} ({limit})",
                    target.name
                );
                findings.report(Rule::P06, || Diagnostic::new(Rule::P06, "/pages/pages", message));
            }
        }
    }
}

/// The pages of a space by the SM that uses them. Tasks without an SM may run on any one together, and nobody knows
/// who uses a page that no task accesses: both form the pool without an SM.
fn pools(
    program: &Program<'_>,
    pages: &[Page<'_>],
    bound: &[Binding<'_>],
    accesses: &Accesses<'_>,
    space: MemSpace,
) -> BTreeMap<Option<i64>, BTreeSet<usize>> {
    let mut pools: BTreeMap<Option<i64>, BTreeSet<usize>> = BTreeMap::new();
    let mut idle: BTreeSet<usize> = (0..pages.len()).filter(|&page| pages[page].space == space).collect();
    for binding in bound.iter().filter(|binding| binding.page_record.space == space) {
        let page = binding.page as usize;
        for task in accesses.tasks(binding.buffer) {
            idle.remove(&page);
            pools.entry(program[task].sm).or_default().insert(page);
        }
    }
    pools.entry(None).or_default().extend(idle);
    pools
}
