//! Validator and explorer on small programs: an accepted program has no bad execution, and a rejected one has one, or is
//! rejected on purpose. A disagreement prints the program. Every ten seconds the counts so far go to standard error.
#![no_main]

use std::sync::Mutex;
use std::time::{Duration, Instant};

use libfuzzer_sys::arbitrary::Unstructured;
use libfuzzer_sys::{Corpus, fuzz_target};
use megakernel_ir::{Rule, read};
use megakernel_prove::programs::random::{self, Choices};
use megakernel_reference::agreement::{Judge, Witnesses};
use megakernel_reference::explore::Compact;

/// Choices from bytes, and the first ones where there are no more.
struct Bytes<'a>(Unstructured<'a>);

impl Choices for Bytes<'_> {
    fn from_to(&mut self, least: usize, most: usize) -> usize {
        self.0.int_in_range(least..=most).unwrap_or(least)
    }
}

struct Counts {
    judge: Judge,
    programs: u64,
    accepted: u64,
    too_large: u64,
    by_rule: Vec<u64>,
    witnesses: Witnesses,
    printed: Option<Instant>,
}

static COUNTS: Mutex<Option<Counts>> = Mutex::new(None);

fuzz_target!(|bytes: &[u8]| -> Corpus {
    let text = random::program(&mut Bytes(Unstructured::new(bytes)));
    let program = read(text.as_bytes()).unwrap_or_else(|found| panic!("it does not read: {found:?}\n{text}"));
    let mut counts = COUNTS.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    let counts = counts.get_or_insert_with(|| Counts {
        judge: Judge::default(),
        programs: 0,
        accepted: 0,
        too_large: 0,
        by_rule: vec![0; Rule::ALL.len()],
        witnesses: Witnesses::default(),
        printed: None,
    });
    counts.programs += 1;
    match counts.judge.judge(&program) {
        None => {
            assert!(Compact::new(&program).is_err(), "it breaks an S rule\n{text}");
            counts.too_large += 1;
        }
        Some(verdicts) => {
            assert!(!verdicts.disagree(), "validator and explorer disagree\n{verdicts}\n{text}");
            let witnesses = verdicts.witnesses(&program);
            match witnesses {
                Ok(found) => counts.witnesses += found,
                Err(wrong) => panic!("{wrong}\n{verdicts}\n{text}"),
            }
            counts.accepted += u64::from(verdicts.rules.is_empty());
            verdicts.rules.iter().for_each(|&rule| counts.by_rule[rule.index()] += 1);
        }
    }
    if counts.printed.is_none_or(|printed| printed.elapsed() > Duration::from_secs(10)) {
        counts.printed = Some(Instant::now());
        print(counts);
    }
    Corpus::Keep
});

fn print(counts: &Counts) {
    let broken = Rule::ALL.iter().zip(&counts.by_rule).filter(|(_, count)| **count > 0);
    let rules: Vec<String> = broken.map(|(rule, count)| format!("{rule} {count}")).collect();
    eprintln!(
        "{} programs: {} accepted, {} rejected, {} too large; witnesses: {} replayed, {} without a run; {}",
        counts.programs,
        counts.accepted,
        counts.programs - counts.accepted - counts.too_large,
        counts.too_large,
        counts.witnesses.replayed,
        counts.witnesses.without,
        rules.join(", ")
    );
}
