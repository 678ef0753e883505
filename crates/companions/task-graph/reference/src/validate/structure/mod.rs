//! Class TS: the document is a well-formed task graph. Where nothing here is found, event ids are indices, ranges agree with
//! dependents, and tiles have sizes.

mod ids;
mod metadata;
mod ranges;
mod records;
mod reserved;

pub(super) use metadata::members as metadata_members;

use megakernel_order::Findings;

use crate::validate::rank::Rank;

/// Judges the rules on every rank.
pub fn check(ranks: &[Rank<'_, '_>], findings: &mut Findings) {
    let signalled = ids::signalled(ranks);
    for (rank, signalled) in ranks.iter().zip(&signalled) {
        let mut own = findings.part();
        reserved::check(rank, &mut own);
        ids::check(rank, ranks, signalled, &mut own);
        // An id that leads nowhere would break a range as well.
        let ids_hold = own.accepts();
        ranges::check_first_tasks(rank, &mut own);
        if ids_hold {
            ranges::check_events(rank, &mut own);
        }
        records::check(rank, &mut own);
        metadata::check(rank, &mut own);
        findings.append(own);
    }
}
