//! Where the parts of the suite meet that know nothing of each other: the generator and the judge of traces with the reference as
//! their oracle, the cases with the seeded faults.

pub mod certify;
pub mod companions;
pub mod judge;
pub mod oracle;
