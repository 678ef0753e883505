//! A second validator, written from the text of the specification alone, in the plainest way that there is: it compares every
//! pair of accesses and every element. Each of its steps can go wrong, so that it measures the cases that judge validators.

pub mod allowed;
pub mod equivalent;
mod found;
mod json;
mod launch;
pub mod measure;
mod members;
mod memory;
mod opcodes;
mod order;
mod pages;
mod parameters;
mod program;
mod races;
mod records;
mod relation;
pub mod report;
mod shapes;
mod steps;
mod strict;
mod structure;
mod versions;

use std::collections::BTreeSet;

use megakernel_ir::Rule;
use megakernel_ir::protocol::Profile;
use megakernel_ir::rule::Class;

use found::Found;
use members::Reading;
pub use steps::{Met, Step, Steps};

/// The rules of a profile that a document breaks, and the warnings that it deserves.
pub fn judge(steps: &Steps, document: &[u8], profile: Profile) -> BTreeSet<Rule> {
    let found = Found::new(steps);
    stages(steps, document, profile, &found);
    found.rules()
}

fn stages(steps: &Steps, document: &[u8], profile: Profile, found: &Found<'_>) {
    let Some(root) = json::read(steps, document) else { return found.report(Rule::S01) };
    if json::has_duplicates(steps, &root, "program") {
        found.report(Rule::S02);
    }
    if !found.is_empty() {
        return;
    }
    let version = |name: &'static str, rule| {
        if let json::Json::Object(members) = &root
            && let Some(json::Json::Text(text)) =
                members.iter().find(|member| member.name == name).map(|member| &member.value)
        {
            found.require(rule, versions::is_covered(steps, name, text));
        }
    };
    version("ir_version", Rule::S06);
    version("abi_version", Rule::S07);
    if !found.is_empty() && !steps.errs("stage-of-members-beside-versions") {
        return;
    }
    let reading = Found::new(steps);
    let program = Reading::new(steps, &reading).program(&root);
    // What reading warns of counts only where nothing is wrong.
    let broken: Vec<Rule> =
        reading.rules().into_iter().filter(|rule| rule.class() == Class::STRUCTURE).collect();
    broken.iter().for_each(|&rule| found.add(rule));
    let Some(program) = program else { return };
    if !found.is_empty() && !steps.errs("stage-of-values-beside-members") {
        return;
    }
    structure::judge(steps, &program, found);
    strict::judge(steps, &root, &program, found);
    let go_on = found.is_empty() || steps.errs("classes-beside-structure");
    if !go_on {
        return;
    }
    let judges = |class: Class| {
        let judges = profile.judges(class);
        judges || steps.errs_of(["class-of-another-profile", profile.name(), class.name()])
    };
    // Rules of other classes are judged as well, and then left out: what they find must not be reported.
    let all = Found::new(steps);
    let accesses = memory::judge(steps, &program, &all);
    let before = order::judge(steps, &program, &all);
    let races = races::Races::new(steps, &program, &all, &accesses);
    if let Some(before) = &before {
        races.ordered(before);
    }
    races.outputs();
    races.on_chip();
    pages::judge(steps, &program, before.as_ref(), &all);
    launch::judge(steps, &program, &all);
    all.rules().into_iter().filter(|rule| judges(rule.class())).for_each(|rule| found.add(rule));
    if profile == Profile::VALIDATE || steps.errs("warnings-under-every-profile") {
        launch::warn(steps, &program, found);
        reading.rules().into_iter().filter(|&rule| rule == Rule::W06).for_each(|rule| found.add(rule));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PROGRAM: &str = r#"{"ir_version":"0.2.0","abi_version":"0.2","buffers":[
        {"id":0,"name":"x","kind":"IO_INPUT","dtype":"F32","shape":[4]},
        {"id":1,"name":"a","kind":"ACTIVATION","dtype":"F32","shape":[4]},
        {"id":2,"name":"y","kind":"IO_OUTPUT","dtype":"F32","shape":[4]}],
        "counters":[{"id":0},{"id":1}],"tasks":[
        {"id":0,"op":"COPY","inputs":[0],"outputs":[1],"out_counter":0},
        {"id":1,"op":"GELU","inputs":[1],"outputs":[2],"out_counter":1,"waits":[{"counter":0,"threshold":1}]}]}"#;

    #[track_caller]
    fn assert_rules(steps: &Steps, text: &str, profile: Profile, expected: &[Rule]) {
        assert_eq!(judge(steps, text.as_bytes(), profile).into_iter().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_program_is_judged_by_the_rules_of_the_profile() {
        let right = Steps::right();
        assert_rules(&right, PROGRAM, Profile::VALIDATE, &[]);
        let races = PROGRAM.replace(r#","waits":[{"counter":0,"threshold":1}]"#, "");
        assert_rules(&right, &races, Profile::VALIDATE, &[Rule::R02]);
        assert_rules(&right, &races, Profile::MEMORY_SAFETY, &[]);
        let narrow = PROGRAM.replacen("[4]", "[3]", 1);
        assert_rules(&right, &narrow, Profile::MEMORY_SAFETY, &[Rule::M02]);
        assert_rules(&right, "{", Profile::FORMAT, &[Rule::S01]);
    }

    #[test]
    fn a_fault_changes_the_verdict() {
        let races = PROGRAM.replace(r#","waits":[{"counter":0,"threshold":1}]"#, "");
        let step = |name, of| Steps::wrong(Step { name, of, at: "" });
        assert_rules(&step("rule-left-out", "R02"), &races, Profile::VALIDATE, &[]);
        assert_rules(&step("r02-any-write-counts", ""), &races, Profile::VALIDATE, &[Rule::R03]);
        assert_rules(&step("threshold-equal-refused", ""), PROGRAM, Profile::VALIDATE, &[Rule::D02]);
    }
}
