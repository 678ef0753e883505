//! A part of each scope; all of it is for `megakernel-suite prove`.

#![allow(clippy::panic, reason = "a disagreement is shown whole")]

use megakernel_selection_subject::{run, scopes};

#[test]
fn reference_and_definitions_agree() {
    for scope in scopes() {
        let step = (scope.sequences() / 4).max(1);
        let numbers = (0..scope.sequences()).filter(|number| number % step == 7);
        match run(&scope, numbers) {
            Ok(count) => {
                println!("{}: {count:?}", scope.name);
                assert!(count.planned > 0 && count.planned < count.requests, "{}: {count:?}", scope.name);
            }
            Err(found) => {
                let sequence = scope.sequence(found.sequence);
                panic!("{}: {found:?}\n{sequence:#?}\n{:#?}", scope.name, scope.index(found.index));
            }
        }
    }
}
