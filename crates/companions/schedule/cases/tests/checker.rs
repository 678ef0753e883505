//! The judge as a second opinion on the corpus.

#![allow(clippy::panic, reason = "a helper of a test fails the test")]

use std::collections::BTreeSet;

use megakernel_conformance::case::{Case, Document, Verdict};
use megakernel_corpus::families::{Cases, Library, Sink};
use megakernel_ir::Rule;
use megakernel_ir::protocol::Method;
use megakernel_ir::rule::Severity;
use megakernel_schedule_cases::families::FAMILIES;
use megakernel_schedule_checker::judge;

fn cases() -> Vec<Case> {
    let of_family = |(id, cases): &(&'static str, Cases)| {
        let mut sink = Sink::new(id, 0);
        cases(&Library::default(), &mut sink).unwrap_or_else(|error| panic!("{id}: {error}"));
        sink.into_cases()
    };
    FAMILIES.iter().flat_map(of_family).collect()
}

#[test]
fn the_judge_agrees_with_every_case_and_points_where_it_says() {
    let (mut wrong, mut judged, mut large) = (Vec::new(), 0, 0);
    // It does not judge traces.
    for case in
        cases().iter().filter(|case| case.method != Method::TRACE && case.expect.verdict != Verdict::Either)
    {
        let Document::Text { text } = &case.document else { continue };
        let Ok(found) = judge(text.as_bytes()) else {
            large += 1;
            continue;
        };
        judged += 1;
        let (errors, warnings): (Vec<_>, Vec<_>) =
            found.iter().partition(|(rule, _)| rule.severity() == Severity::Error);
        let rules: BTreeSet<Rule> = errors.iter().map(|(rule, _)| *rule).collect();
        let warned: BTreeSet<Rule> = warnings.iter().map(|(rule, _)| *rule).collect();
        let declared: BTreeSet<Rule> = case.expect.rules.iter().copied().collect();
        let is_right = rules.is_empty() == (case.expect.verdict == Verdict::Accept)
            && rules.is_subset(&declared)
            && (!case.expect.every_rule || rules == declared)
            && case
                .expect
                .warnings
                .as_ref()
                .is_none_or(|warnings| warned == warnings.iter().copied().collect())
            && case.expect.at.as_ref().is_none_or(|at| errors.iter().any(|(_, pointer)| pointer == at));
        if !is_right {
            wrong.push(format!("{}: {found:?}", case.id));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(judged > 1400 && large < 20, "{judged} cases were judged, {large} are too large");
}
