//! What the validator says of a small document beside what its runs show, and whether the two agree.

use megakernel_ir::Rule;
use megakernel_ir::rule::Class;

use crate::explore::Faults;
use crate::small::{Kept, Small, Step};

/// Why a rule rejects, by name.
pub const REASONS: [&str; 4] = ["shown", "otherwise", "not read", "in one body"];
const SHOWN: usize = 0;
/// It goes wrong, in another way than the first broken rule says.
const OTHERWISE: usize = 1;
/// Nothing reads the tile, so that whatever it holds does no harm.
const UNREAD: usize = 2;
/// A tile that is prefetched, waited for and read within an iteration is kept for a node.
const BODY: usize = 3;

/// Why a run bears out that a rule is broken; nothing if none does.
pub fn reason(small: &Small, faults: &Faults, rule: Rule) -> Option<usize> {
    let shown = match rule {
        Rule::IO01 | Rule::IO02 => faults.read,
        Rule::IO03 => faults.read || faults.wait || faults.flight,
        Rule::IO04 => faults.flight,
        Rule::IO05 => faults.wait,
        Rule::IL02 => faults.lifetime,
        _ => false,
    };
    let is_read = small.steps().any(|step| step == Step::Read);
    match rule {
        _ if shown => Some(SHOWN),
        Rule::IL02 => {
            let is_prefetched = small.steps().any(|step| matches!(step, Step::Prefetch(_)));
            (small.kept[0] == Kept::Node && is_prefetched).then_some(BODY)
        }
        _ if faults.read || faults.wait || faults.flight => Some(OTHERWISE),
        _ => (!is_read).then_some(UNREAD),
    }
}

/// What goes wrong and no broken rule is about.
pub fn missed(rules: &[Rule], faults: &Faults) -> Option<&'static str> {
    let has = |class: Class| rules.iter().any(|rule| rule.class() == class);
    let in_order = faults.read || faults.wait || faults.flight;
    if in_order && !has(Class::MCIR_ORDER) {
        return Some("a load that is late, lost or under way at the end");
    }
    if faults.lifetime && !has(Class::MCIR_LIFETIME) {
        return Some("memory that is somebody else's");
    }
    None
}
