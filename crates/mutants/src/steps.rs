//! Steps that can go wrong: what a validator does at a place, and what a faulty one does there instead.
//!
//! All faulty validators are one program, in which the fault to make is chosen when it runs ("mutant schemata"). Where the
//! right and the wrong result of a step are equal, the fault cannot show; so a run without a fault finds out which faults are
//! worth a run of their own.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::fmt;

/// A step: what goes wrong there; the rule, opcode, member or kind that it concerns; and the operand or parameter of that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Step {
    /// What goes wrong.
    pub name: &'static str,
    /// Where, if it can in several places.
    pub of: &'static str,
    /// Where in that, if it can in several places.
    pub at: &'static str,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)?;
        [self.of, self.at].iter().filter(|part| !part.is_empty()).try_for_each(|part| write!(f, ":{part}"))
    }
}

/// Which step goes wrong, or what a run without a fault met.
#[derive(Debug, Default)]
pub struct Steps {
    fault: Option<Step>,
    /// The steps that were taken, and those of them whose wrong result is another one.
    met: Option<RefCell<Met>>,
}

/// What a run without a fault met.
#[derive(Clone, Debug, Default)]
pub struct Met {
    /// Every step that was taken.
    pub taken: BTreeSet<Step>,
    /// Those at which the faulty validator goes another way.
    pub different: BTreeSet<Step>,
}

impl Steps {
    /// Every step is right.
    pub fn right() -> Steps {
        Steps::default()
    }

    /// Every step but this one is right.
    pub fn wrong(fault: Step) -> Steps {
        Steps { fault: Some(fault), met: None }
    }

    /// Every step is right, and is written down, with those that were taken before.
    pub fn recording(taken: BTreeSet<Step>) -> Steps {
        Steps { fault: None, met: Some(RefCell::new(Met { taken, different: BTreeSet::new() })) }
    }

    /// What was written down.
    pub fn met(self) -> Met {
        self.met.map(RefCell::into_inner).unwrap_or_default()
    }

    /// The result of a step.
    pub fn step<T: PartialEq>(&self, name: &'static str, right: T, wrong: impl FnOnce() -> T) -> T {
        self.step_of([name, "", ""], right, wrong)
    }

    /// The result of a step that can go wrong in several places.
    pub fn step_of<T: PartialEq>(&self, parts: [&'static str; 3], right: T, wrong: impl FnOnce() -> T) -> T {
        let [name, of, at] = parts;
        let step = Step { name, of, at };
        if self.fault == Some(step) {
            return wrong();
        }
        if let Some(met) = &self.met {
            let differs = wrong() != right;
            let mut met = met.borrow_mut();
            met.taken.insert(step);
            if differs {
                met.different.insert(step);
            }
        }
        right
    }

    /// Whether to make a mistake that is one wherever it is asked for.
    pub fn errs(&self, name: &'static str) -> bool {
        self.step(name, false, || true)
    }

    /// The same in one of several places.
    pub fn errs_of(&self, parts: [&'static str; 3]) -> bool {
        self.step_of(parts, false, || true)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LESS: Step = Step { name: "less", of: "", at: "" };

    fn less(steps: &Steps, a: i64, b: i64) -> bool {
        steps.step("less", a < b, || a <= b)
    }

    #[test]
    fn a_fault_shows_only_where_the_wrong_form_gives_something_else() {
        let steps = Steps::recording(BTreeSet::new());
        assert!(less(&steps, 1, 2));
        let met = steps.met();
        assert!(met.taken.contains(&LESS) && met.different.is_empty());
        let steps = Steps::recording(BTreeSet::new());
        assert!(!less(&steps, 2, 2));
        assert!(steps.met().different.contains(&LESS));
        assert!(less(&Steps::wrong(LESS), 2, 2) && !less(&Steps::right(), 2, 2));
    }

    #[test]
    fn a_place_is_a_fault_of_its_own() {
        let fault = Step { name: "forgotten", of: "GELU", at: "inputs/0" };
        let steps = Steps::wrong(fault);
        assert!(steps.errs_of(["forgotten", "GELU", "inputs/0"]));
        assert!(!steps.errs_of(["forgotten", "GELU", "outputs/0"]) && !steps.errs("forgotten"));
        assert_eq!(fault.to_string(), "forgotten:GELU:inputs/0");
    }
}
