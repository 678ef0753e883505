//! The rules that were found broken.

use std::cell::RefCell;
use std::collections::BTreeSet;

use megakernel_ir::Rule;

use crate::steps::Steps;

/// Rules that a document breaks.
#[derive(Debug)]
pub struct Found<'s> {
    steps: &'s Steps,
    rules: RefCell<BTreeSet<Rule>>,
}

impl<'s> Found<'s> {
    /// None yet.
    pub fn new(steps: &'s Steps) -> Found<'s> {
        Found { steps, rules: RefCell::default() }
    }

    /// A rule is broken.
    pub fn report(&self, rule: Rule) {
        if self.steps.step_of(["rule-left-out", rule.id(), ""], true, || false) {
            self.rules.borrow_mut().insert(rule);
        }
    }

    /// A rule is broken if this does not hold.
    pub fn require(&self, rule: Rule, holds: bool) {
        if !holds {
            self.report(rule);
        }
    }

    /// Takes over what was found elsewhere.
    pub fn add(&self, rule: Rule) {
        self.rules.borrow_mut().insert(rule);
    }

    /// Whether nothing was found.
    pub fn is_empty(&self) -> bool {
        self.rules.borrow().is_empty()
    }

    /// What was found.
    pub fn rules(&self) -> BTreeSet<Rule> {
        self.rules.borrow().clone()
    }
}
