//! The diagnostics of one document, collected in the order in which the rules are judged.

use std::collections::BTreeMap;

use megakernel_ir::{Diagnostic, Rule};

/// How many diagnostics of one rule are kept; the rest is counted.
pub const KEPT_PER_RULE: u64 = 100;

/// Collects diagnostics. Beyond some of a rule, [`KEPT_PER_RULE`] unless more are asked for, they are counted and not kept.
#[derive(Debug)]
pub struct Findings {
    kept: Vec<Diagnostic>,
    counts: BTreeMap<Rule, u64>,
    most: u64,
}

impl Default for Findings {
    fn default() -> Findings {
        Findings::keeping(KEPT_PER_RULE)
    }
}

impl Findings {
    /// Counts only: no diagnostic is made.
    pub fn quiet() -> Findings {
        Findings::keeping(0)
    }

    /// Keeps so many diagnostics of a rule.
    pub fn keeping(most: u64) -> Findings {
        Findings { kept: Vec::new(), counts: BTreeMap::new(), most }
    }

    /// None yet, of the same kind: for a part of the program that another thread judges.
    pub fn part(&self) -> Findings {
        Findings::keeping(self.most)
    }

    /// Adds the findings of the part of the program that comes next, as if they had been reported here.
    pub fn append(&mut self, part: Findings) {
        let mut seen = self.counts.clone();
        for diagnostic in part.kept {
            let count = seen.entry(diagnostic.rule).or_default();
            *count += 1;
            if *count <= self.most {
                self.kept.push(diagnostic);
            }
        }
        for (rule, count) in part.counts {
            *self.counts.entry(rule).or_default() += count;
        }
    }

    /// The rules that were reported.
    pub fn rules(&self) -> impl Iterator<Item = Rule> + '_ {
        self.counts.keys().copied()
    }

    /// Records a broken rule; `build` makes the diagnostic only if it is kept.
    pub fn report(&mut self, rule: Rule, build: impl FnOnce() -> Diagnostic) {
        let count = self.counts.entry(rule).or_default();
        *count += 1;
        if *count <= self.most {
            let diagnostic = build();
            assert_eq!(diagnostic.rule, rule);
            self.kept.push(diagnostic);
        }
    }

    /// Records a broken rule that has neither ids nor a witness.
    pub fn broken(&mut self, rule: Rule, pointer: impl Into<String>, message: impl Into<String>) {
        self.report(rule, || Diagnostic::new(rule, pointer, message));
    }

    /// Whether this rule is broken.
    pub fn has(&self, rule: Rule) -> bool {
        self.counts.contains_key(&rule)
    }

    /// Whether nothing rejects the document so far.
    pub fn accepts(&self) -> bool {
        self.counts.keys().all(|rule| rule.severity() == megakernel_ir::rule::Severity::Warning)
    }

    /// The diagnostics by rule, each rule's in the order of discovery, and how many of each were not kept.
    pub fn into_parts(mut self) -> (Vec<Diagnostic>, BTreeMap<Rule, u64>) {
        self.kept.sort_by_key(|diagnostic| diagnostic.rule);
        self.counts.retain(|_, count| *count > self.most);
        self.counts.values_mut().for_each(|count| *count -= self.most);
        (self.kept, self.counts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flood_is_counted() {
        let mut findings = Findings::default();
        for _ in 0..KEPT_PER_RULE + 7 {
            findings.broken(Rule::S09, "/tasks", "m");
        }
        findings.broken(Rule::W01, "/tasks", "m");
        assert!(!findings.accepts());
        let (kept, dropped) = findings.into_parts();
        assert_eq!(kept.len() as u64, KEPT_PER_RULE + 1);
        assert_eq!(dropped, BTreeMap::from([(Rule::S09, 7)]));
    }
}
