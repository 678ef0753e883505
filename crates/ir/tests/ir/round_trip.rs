//! Reading and writing: defaults, unknown members, numbers; and that both readers agree on what a program is.

use megakernel_ir::{Layout, Rule, read, write};

const MINIMAL: &str = r#"{"ir_version":"0.2.0","abi_version":"0.2","buffers":[],"counters":[],"tasks":[]}"#;

fn compact(text: &str) -> String {
    let written = write(&read(text.as_bytes()).expect("reads"), Layout::Compact);
    let again = write(&read(written.as_bytes()).expect("reads what was written"), Layout::Compact);
    assert_eq!(written, again, "writing is stable");
    written
}

#[test]
fn defaults_are_written() {
    assert_eq!(
        compact(MINIMAL),
        r#"{"ir_version":"0.2.0","abi_version":"0.2","meta":{},"target":null,"buffers":[],"counters":[],"tasks":[],"pages":null,"config":null}"#
    );
}

#[test]
fn unknown_members_and_exact_numbers_survive() {
    let text = MINIMAL.replace(
        r#""buffers""#,
        r#""meta":{"seed":123456789012345678901234567890,"lr":1e-06,"s":"é\n"},"newer":{"x":[1.50,{}]},"buffers""#,
    );
    let written = compact(&text);
    assert!(
        written.contains(r#"{"seed":123456789012345678901234567890,"lr":1e-06,"s":"\u00e9\n"}"#),
        "{written}"
    );
    assert!(written.ends_with(r#","newer":{"x":[1.50,{}]}}"#), "{written}");
}

#[test]
fn params_keep_integers_and_floats_apart() {
    let text = MINIMAL.replace(
        r#""tasks":[]"#,
        r#""tasks":[{"id":0,"op":"NOP","inputs":[],"outputs":[],"out_counter":0,"params":{"theta":10000.0,"eps":1e-06,"K":10000,"new":{"a":null}}}]"#,
    );
    assert!(compact(&text).contains(r#""params":{"theta":10000.0,"eps":1e-06,"K":10000,"new":{"a":null}}"#));
}

#[test]
fn every_violation_of_a_document_is_found_in_one_reading() {
    let text = r#"{"ir_version":"0.2.0","abi_version":"0.2","meta":[],"counters":[{"id":"0"}],
        "buffers":[{"id":0,"name":"x","kind":"WEIGHTS","dtype":"F32","shape":[1.5]}],
        "tasks":[{"id":0,"op":19,"inputs":[],"outputs":[],"out_counter":0,"waits":[{"counter":0,"threshold":0.5}]}],
        "pages":{"buffer_to_page":{"01":0},"pages":[]}}"#;
    let found = read(text.as_bytes()).expect_err("not a program");
    let mut found: Vec<_> = found.iter().map(|d| (d.rule, &*d.pointer)).collect();
    found.sort();
    assert_eq!(
        found,
        [
            (Rule::S04, "/buffers/0/shape/0"),
            (Rule::S04, "/counters/0/id"),
            (Rule::S04, "/meta"),
            (Rule::S04, "/pages/buffer_to_page/01"),
            (Rule::S04, "/tasks/0/op"),
            (Rule::S05, "/buffers/0/kind"),
            (Rule::S16, "/tasks/0/waits/0/threshold"),
        ]
    );
}

#[test]
fn a_newer_major_version_is_reported_alone() {
    let found = read(br#"{"ir_version":"1.0.0","program":7}"#).expect_err("another major version");
    assert_eq!(found.iter().map(|d| d.rule).collect::<Vec<_>>(), [Rule::S06]);
}

#[test]
fn the_two_readers_agree_on_single_edits() {
    // Each fragment, put in place of the empty task list, is refused by the model; the tree has to find out why.
    for (tasks, rule) in [
        (r#"[{}]"#, Rule::S03),
        (r#"[null]"#, Rule::S04),
        (r#"{}"#, Rule::S04),
        (r#"[{"id":0,"op":"ADDD","inputs":[],"outputs":[],"out_counter":0}]"#, Rule::S05),
        (r#"[{"id":0,"op":"ADD","inputs":[],"outputs":[],"out_counter":9223372036854775808}]"#, Rule::S04),
        (r#"[{"id":0,"op":"ADD","inputs":[],"outputs":[],"out_counter":0,"sm":"0"}]"#, Rule::S04),
        (r#"[{"id":0,"op":"ADD","inputs":[],"outputs":[],"out_counter":0,"params":[]}]"#, Rule::S04),
        (r#"[{"id":0,"op":"ADD","inputs":[],"outputs":[],"out_counter":0,"est_bytes":"1"}]"#, Rule::S04),
        (
            r#"[{"id":0,"op":"ADD","inputs":[],"outputs":[],"out_counter":0,"params":{"eps":1e999}}]"#,
            Rule::S14,
        ),
        (r#"[{"id":0,"id":0,"op":"ADD","inputs":[],"outputs":[],"out_counter":0}]"#, Rule::S02),
    ] {
        let found = read(MINIMAL.replace(r#""tasks":[]"#, &format!(r#""tasks":{tasks}"#)).as_bytes())
            .expect_err("not a program");
        assert!(found.iter().all(|d| d.rule == rule && !d.pointer.is_empty()), "{tasks}: {found:?}");
    }
}
