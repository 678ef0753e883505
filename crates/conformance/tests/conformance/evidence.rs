//! Evidence is made of a run of all cases that execute, conforms to its schema, and is compared with the corpus as it is now.

use std::path::Path;

use megakernel_conformance::evidence::{self, Evidence, Kernels, Subject};
use megakernel_conformance::run::{self, Options, Selection};
use megakernel_conformance::store::{Corpus, Filter};
use megakernel_ir::Opcode;
use megakernel_ir::protocol::Profile;
use megakernel_test_support::{files, schemas};
use serde_json::{Value, json};

use crate::support::judged::options;
use crate::support::sessions;

fn load(root: &Path) -> (Corpus, Subject) {
    let corpus = Corpus::load(root).expect("a corpus");
    let subject = Subject::new(&corpus).expect("cases that execute");
    (corpus, subject)
}

fn made(root: &Path, behaviour: &str) -> Result<Evidence, String> {
    let (corpus, subject) = load(root);
    let run = run::run(&corpus, &options(&[behaviour]), None, &|_| {}).expect("a run");
    Evidence::new(&subject, &run)
}

/// What is stale and what is wrong.
fn findings(record: &Evidence, root: &Path) -> (Vec<String>, Vec<String>) {
    let kernels = Kernels { host: String::new(), gpu: String::new(), tensor_cores: String::new() };
    let findings = record.examine(&load(root).1, &kernels);
    (findings.stale, findings.wrong)
}

#[test]
fn a_record_says_what_ran_where_and_how_it_was_judged() {
    let directory = sessions::corpus();
    for (behaviour, conforms) in [("executes-on-device", true), ("executes-on-device-wrong", false)] {
        let record = made(directory.path(), behaviour).expect("a record");
        let text = record.to_json().expect("JSON");
        let value: Value = serde_json::from_str(&text).expect("JSON");
        let validator = schemas::validator("evidence");
        let errors = schemas::errors(&validator, &value);
        assert!(errors.is_empty(), "{errors:#?}");
        assert_eq!(Evidence::read(&text).as_ref(), Ok(&record));
        assert_eq!((record.device.name.as_str(), record.device.target.as_str()), ("Lab GPU", "sm_80"));
        assert_eq!((record.conforms, record.corpus.cases), (conforms, 2));
        // All that the worker says of it is there.
        let digest = "fedcba9876543210".repeat(4);
        let said = json!({
            "name": "Lab GPU", "target": "sm_80", "driver": "1.2", "kernels": "0123456789abcdef".repeat(4), "threads_per_block": 64,
            "sharing": "a whole GPU, through MPS", "fixed_threads": false, "seed": u64::MAX, "repeats": 2, "delays": true, "undefined": "zeros",
            "sources": [{"name": "a.cuh", "sha256": digest}, {"name": "b.cu", "sha256": digest, "given": true}],
        });
        assert_eq!(value["device"], said);
        // One case has one addition of four elements, the other four tasks in each of its two launches.
        let up_to: Vec<_> = record.executed.iter().map(|line| line.sizes.iter().map(|of| of.up_to)).collect();
        assert!(up_to.into_iter().all(|up_to| up_to.eq([16])), "{text}");
        let counts = (record.passed, record.failed, record.skipped);
        assert_eq!(counts, if conforms { (2, 0, 0) } else { (1, 1, 0) });
        let (stale, wrong) = findings(&record, directory.path());
        assert_eq!(stale, [""; 0]);
        assert_eq!(wrong.is_empty(), conforms, "{wrong:?}");
        let again =
            made(directory.path(), behaviour).and_then(|record| record.to_json().map_err(|e| e.to_string()));
        assert_eq!(again.as_ref(), Ok(&text), "a record is the same twice");
    }
}

#[test]
fn no_evidence_is_made_of_a_part_or_of_an_unnamed_device() {
    let directory = sessions::corpus();
    let nameless = made(directory.path(), "executes").expect_err("no device");
    assert!(nameless.contains("member `device`"), "{nameless}");
    let part = |filter: Option<Filter>, profiles: Vec<Profile>| Options {
        selection: Selection { filter, profiles, ..Selection::default() },
        ..options(&[])
    };
    let some = part(Filter::new("*/one").ok(), vec![]);
    assert!(evidence::may_be_made_of(&some).is_err_and(|why| why.contains("--filter")));
    let some = part(None, vec![Profile::FORMAT]);
    assert!(evidence::may_be_made_of(&some).is_err_and(|why| why.contains("--profile")));
    let mut some = options(&[]);
    some.selection.opcodes.push(Opcode::Add);
    assert!(evidence::may_be_made_of(&some).is_err_and(|why| why.contains("narrows")));
    assert_eq!(evidence::may_be_made_of(&options(&[])), Ok(()));
}

/// Every file that decides what is sent or expected, and words that do not.
#[test]
fn evidence_is_stale_when_what_is_sent_or_expected_changes() {
    let directory = sessions::corpus();
    let root = directory.path();
    let record = made(root, "executes-on-device").expect("a record");
    let mut changed = 0;
    for path in files::below(root) {
        let before = std::fs::read(&path).expect("a file");
        let text = String::from_utf8_lossy(&before).into_owned();
        let after = match path.extension().and_then(|extension| extension.to_str()) {
            // Of a case, only its words change; of tensors, the last bit.
            Some("json") if path.starts_with(root.join("cases")) => {
                text.replace("what ", "all that ").into_bytes()
            }
            Some("json") => text.replace("\"ir_version\"", "\"later\":1,\"ir_version\"").into_bytes(),
            _ => {
                before.iter().rev().skip(1).rev().chain([&(before[before.len() - 1] ^ 1)]).copied().collect()
            }
        };
        assert_ne!(before, after, "{}", path.display());
        std::fs::write(&path, after).expect("a file");
        let (stale, wrong) = findings(&record, root);
        let words = path.starts_with(root.join("cases"));
        assert_eq!(
            (stale.is_empty(), wrong.is_empty()),
            (words, true),
            "{}: {stale:?} {wrong:?}",
            path.display()
        );
        std::fs::write(&path, before).expect("a file");
        changed += 1;
    }
    assert!(changed >= 8, "{changed} files");
    assert_eq!(findings(&record, root), (Vec::new(), Vec::new()));
}
