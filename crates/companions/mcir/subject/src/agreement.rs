//! What the validator says of a small document beside what its runs show, and whether the two agree.

use std::fmt;

use megakernel_ir::Rule;
use megakernel_ir::rule::Class;
use megakernel_mcir_reference::validate_document;

use crate::explore::{Faults, explore};
use crate::small::{Small, Step};

/// Why a rule rejects, by name.
pub const REASONS: [&str; 4] = ["shown", "otherwise", "not read", "in one body"];
const SHOWN: usize = 0;
/// It goes wrong, in another way than the first broken rule says.
const OTHERWISE: usize = 1;
/// Nothing reads the tile, so that whatever it holds does no harm.
const UNREAD: usize = 2;
/// A tile that is prefetched, waited for and read within an iteration is kept for a node.
const BODY: usize = 3;

/// Asks both.
pub struct Judge {
    /// What the validator does not find.
    pub without: Option<Rule>,
}

/// What the two say.
#[derive(Debug)]
pub struct Verdicts {
    /// The rules that the validator finds broken.
    pub rules: Vec<Rule>,
    /// Why, for each of them.
    pub reasons: Vec<Option<usize>>,
    /// What the explorer finds.
    pub faults: Faults,
    /// What goes wrong and no rule about that rejects.
    pub missed: Option<&'static str>,
}

impl fmt::Display for Verdicts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rules: Vec<&str> = self.rules.iter().map(|rule| rule.id()).collect();
        let verdict = if rules.is_empty() { "accept".to_owned() } else { rules.join(", ") };
        write!(f, "validator: {verdict}\nexplorer: {:?}", self.faults)
    }
}

impl Judge {
    /// What the two say of a document. Nothing for one that breaks an IS rule.
    pub fn ask(&mut self, small: &Small) -> Option<Verdicts> {
        let document = megakernel_mcir::read(&small.document()).ok()?;
        let found = validate_document(&document).diagnostics;
        let mut rules: Vec<Rule> =
            found.iter().filter(|found| found.is_error()).map(|found| found.rule).collect();
        rules.sort_unstable();
        rules.dedup();
        if rules.iter().any(|rule| rule.class() == Class::MCIR_STRUCTURE) {
            return None;
        }
        rules.retain(|rule| Some(*rule) != self.without);
        let faults = explore(small);
        let reasons = rules.iter().map(|&rule| reason(small, faults, rule)).collect();
        let missed = missed(&rules, faults);
        Some(Verdicts { rules, reasons, faults, missed })
    }
}

fn reason(small: &Small, faults: Faults, rule: Rule) -> Option<usize> {
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
        Rule::IL02 => Some(BODY),
        _ if faults.read || faults.wait || faults.flight => Some(OTHERWISE),
        _ => (!is_read).then_some(UNREAD),
    }
}

fn missed(rules: &[Rule], faults: Faults) -> Option<&'static str> {
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
