//! Every member of every record, in several programs: left out, null, unknown, twice, out of range, of another spelling.

use std::collections::BTreeSet;

use megakernel_ir::rule::{Rule, clause};
use serde_json::{Value, json};

use crate::builder::Result;
use crate::edit::Edit;
use crate::families::library::{Base, Library};
use crate::families::members::{BUFFER, CONFIG, COUNTER, Members, PAGE, PAGES, ROOT, TARGET, TASK, WAIT};
use crate::families::parameters::value_slug;
use crate::families::sink::{Sink, words};

/// Where a record is, and its members.
type Record = (&'static str, Members);

/// The records of some programs, each kind of record twice.
fn records() -> Vec<(&'static str, Record)> {
    vec![
        ("launch/server", ("", ROOT)),
        ("launch/server", ("/buffers/1", BUFFER)),
        ("launch/server", ("/counters/1", COUNTER)),
        ("launch/server", ("/tasks/1", TASK)),
        ("launch/server", ("/tasks/2/waits/0", WAIT)),
        ("launch/server", ("/target", TARGET)),
        ("launch/server", ("/config", CONFIG)),
        ("launch/laptop", ("/target", TARGET)),
        ("record/every-record", ("/target", TARGET)),
        ("launch/laptop", ("/config", CONFIG)),
        ("paged/every-kind", ("", ROOT)),
        ("paged/every-kind", ("/buffers/4", BUFFER)),
        ("paged/every-kind", ("/counters/0", COUNTER)),
        ("paged/every-kind", ("/tasks/0", TASK)),
        ("paged/every-kind", ("/pages", PAGES)),
        ("paged/every-kind", ("/pages/pages/3", PAGE)),
        ("chain/gelu-2", ("/tasks/1/waits/0", WAIT)),
        ("decoder/paged", ("/pages", PAGES)),
        ("decoder/paged", ("/pages/pages/0", PAGE)),
    ]
}

fn name(pointer: &str, what: &str) -> String {
    let place = if pointer.is_empty() { "root" } else { pointer };
    words(&format!("{place}-{what}"))
}

/// Calls `each` with every record.
fn everywhere(library: &Library, each: &mut dyn FnMut(&Base, Record) -> Result<()>) -> Result<()> {
    for (base, record) in records() {
        each(library.get(base)?, record)?;
    }
    Ok(())
}

/// S03, S04 and defaults: each member left out, and null.
pub fn absent(library: &Library, sink: &mut Sink) -> Result<()> {
    everywhere(library, &mut |base, (parent, (required, optional))| {
        for member in required {
            let edit =
                Edit::breaking(Rule::S03, format!("no `{member}` in `{parent}`")).clause(clause::FMT_03);
            let edit = edit.at(parent).remove(format!("{parent}/{member}"));
            sink.reject_as(base, &name(parent, &format!("no-{member}")), &edit)?;
        }
        for member in required.iter().take(3) {
            let capital = member.to_uppercase();
            let edit = Edit::breaking(Rule::S03, format!("`{capital}` for `{member}` in `{parent}`"))
                .clause(clause::FMT_03);
            let value = base.program.at(&format!("{parent}/{member}"))?.clone();
            let edit = edit
                .at(parent)
                .remove(format!("{parent}/{member}"))
                .insert(format!("{parent}/{capital}"), value);
            sink.reject_as(base, &name(parent, &format!("capital-{member}")), &edit)?;
        }
        for member in required.iter().chain(optional) {
            let at = format!("{parent}/{member}");
            // A member that the base leaves out is added; a threshold that is no number is S04 as well.
            let edit = Edit::breaking(Rule::S04, format!("`{member}` of `{parent}` is null"));
            let edit = edit.clause(clause::FMT_03).at(at.clone()).insert(at, Value::Null);
            sink.reject_as(base, &name(parent, &format!("{member}-null")), &edit)?;
        }
        let digit = parent.ends_with(|c: char| c.is_ascii_digit());
        if digit {
            let edit = Edit::breaking(Rule::S04, format!("`{parent}` is null")).clause(clause::FMT_03);
            sink.reject_as(base, &name(parent, "is-null"), &edit.at(parent).replace(parent, Value::Null))?;
        }
        Ok(())
    })
}

/// W06 and what is allowed: a member that nobody knows, also one that differs from a known one in case.
pub fn unknown(library: &Library, sink: &mut Sink) -> Result<()> {
    everywhere(library, &mut |base, (parent, (required, optional))| {
        let known = required.iter().chain(optional).next().copied().unwrap_or("id");
        for (what, member) in [("unknown", "colour".to_owned()), ("capital", known.to_uppercase())] {
            let at = format!("{parent}/{member}");
            let edit = |rule| Edit::breaking(rule, format!("the member `{member}` in `{parent}`"));
            if matches!(parent, "/target" | "/config") {
                let edit = Edit { rules: Vec::new(), ..edit(Rule::W06) }
                    .clause(clause::FMT_03)
                    .insert(at, json!({"a": 1}));
                sink.accept(base, &format!("{}-{}", base.slug(), name(parent, what)), &edit)?;
            } else {
                let edit = edit(Rule::W06).clause(clause::FMT_03).at(at.clone()).insert(at, json!([1]));
                sink.warn(base, &format!("{}-{}", base.slug(), name(parent, what)), &edit)?;
            }
        }
        Ok(())
    })
}

/// Members that a record may leave out, and that no meaning of it hangs on.
fn spare(parent: &str) -> &'static [&'static str] {
    match parent.rsplit('/').find(|part| part.parse::<usize>().is_err()) {
        Some("buffers") => &["source"],
        Some("counters") => &["init", "note"],
        Some("tasks") => &["est_bytes", "est_flops", "label"],
        Some("pages") if parent.ends_with("/pages/pages") || !parent.ends_with("pages") => {
            &["live_start", "live_end"]
        }
        Some("target") => &["clock_ghz", "measured_bw_gbs", "wddm_tdr", "note"],
        Some("config") => CONFIG.1,
        Some("") => &["meta"],
        _ => &[],
    }
}

/// W06 and what is allowed: a member is not there, but for one of another spelling, whose value no member of this record may have.
pub fn spelling(library: &Library, sink: &mut Sink) -> Result<()> {
    everywhere(library, &mut |base, (parent, _)| {
        for member in spare(parent) {
            let (at, other) = (format!("{parent}/{member}"), format!("{parent}/{}", member.to_uppercase()));
            let remove = |edit: Edit| match base.program.at(&at) {
                Ok(_) => edit.remove(at.clone()),
                Err(_) => edit,
            };
            let what = format!("in `{parent}` `{}` in place of `{member}`", member.to_uppercase());
            let case = format!("{}-{}", base.slug(), name(parent, &format!("capital-{member}")));
            if matches!(parent, "/target" | "/config") {
                let edit = remove(Edit::harmless(what).clause(clause::FMT_03));
                sink.accept(base, &case, &edit.insert(other, json!([{}])))?;
            } else {
                let edit = remove(Edit::breaking(Rule::W06, what).clause(clause::FMT_03).at(other.clone()));
                sink.warn(base, &case, &edit.insert(other, json!([{}])))?;
            }
        }
        Ok(())
    })
}

/// S02: the first member of a record twice, with its own value, with another one, and with its name escaped.
pub fn twice(library: &Library, sink: &mut Sink) -> Result<()> {
    const MARK: &str = "\"@@\":0";
    let mut seen = BTreeSet::new();
    everywhere(library, &mut |base, (parent, _)| {
        let twin = words(&base.slug());
        let whole = base.program.value().to_string();
        if seen.insert(base.name.clone()) {
            sink.accept_text(&twin, "the text that the other cases damage", &[clause::FMT_01], &whole)?;
        }
        let mut marked = base.program.value().clone();
        let Some(Value::Object(record)) = marked.pointer_mut(parent) else { return Ok(()) };
        let Some((member, value)) = record.iter().next().map(|(name, value)| (name.clone(), value.clone()))
        else {
            return Ok(());
        };
        record.insert("@@".to_owned(), json!(0));
        let text = marked.to_string();
        let escaped: String = member.chars().map(|c| format!("\\u{:04x}", u32::from(c))).collect();
        for (what, again) in [
            ("same", format!("\"{member}\":{value}")),
            ("other", format!("\"{member}\":[]")),
            ("escaped", format!("\"{escaped}\":{value}")),
        ] {
            let summary = format!("`{member}` twice in `{parent}`");
            let case = format!("{twin}-{}", name(parent, &format!("{member}-{what}")));
            sink.reject_text(&case, &summary, &[Rule::S02], &twin, &text.replacen(MARK, &again, 1))?;
        }
        Ok(())
    })
}

/// S22: numbers of records below their range, and the least that they may be.
pub fn ranges(library: &Library, sink: &mut Sink) -> Result<()> {
    for name_of_base in ["launch/server", "launch/laptop", "record/every-record"] {
        let base = library.get(name_of_base)?;
        let floats = ["hbm_bandwidth_gbs", "fp16_tflops", "clock_ghz", "measured_bw_gbs"];
        let ints = TARGET.0.iter().filter(|member| **member != "name" && !floats.contains(member));
        let mut members: Vec<(String, i64)> =
            ints.map(|member| (format!("/target/{member}"), i64::from(*member == "num_sms"))).collect();
        members.extend(floats.map(|member| (format!("/target/{member}"), 0)));
        members.push(("/config/pipelining_depth".to_owned(), 0));
        members.push(("/tasks/1/est_bytes".to_owned(), 0));
        members.push(("/tasks/2/est_flops".to_owned(), 0));
        for (at, least) in members {
            for below in [least - 1, least - 1_000_000] {
                let edit = Edit::breaking(Rule::S22, format!("`{at}` is {below}"))
                    .at(at.clone())
                    .insert(at.clone(), below);
                sink.reject_as(base, &name(&at, &value_slug(&json!(below))), &edit)?;
            }
            // Other rules ask more of these.
            if !["num_sms", "smem_bytes_per_block_optin", "max_threads_per_sm", "regs_per_sm"]
                .iter()
                .any(|member| at.ends_with(member))
            {
                if base.program.at(&at).is_ok_and(|found| found.as_f64() == Some(least as f64)) {
                    continue;
                }
                let edit = Edit::harmless(format!("`{at}` is {least}")).clause(clause::TGT_01);
                sink.accept(
                    base,
                    &format!("{}-{}", base.slug(), name(&at, "least")),
                    &edit.insert(at, least),
                )?;
            }
        }
    }
    Ok(())
}

/// S05 and S04: names of enumerations in another spelling, and their codes.
pub fn names(library: &Library, sink: &mut Sink) -> Result<()> {
    for (base, pointer, right, code) in [
        ("launch/server", "/buffers/1/kind", "ACTIVATION", 1),
        ("launch/server", "/buffers/1/dtype", "F32", 0),
        ("launch/server", "/buffers/1/space", "HBM", 0),
        ("launch/server", "/tasks/1/op", "GELU", 10),
        ("launch/server", "/config/page_allocation", "graph_color", 1),
        ("launch/server", "/config/sm_assignment", "load_balance", 1),
        ("paged/every-kind", "/pages/pages/0/space", "HBM", 0),
        ("launch/laptop", "/config/page_allocation", "graph_color", 1),
        ("launch/laptop", "/config/sm_assignment", "load_balance", 1),
        ("decoder/paged", "/pages/pages/0/space", "HBM", 0),
        ("fan-in/shared-3", "/buffers/0/kind", "IO_INPUT", 3),
        ("fan-in/shared-3", "/buffers/0/dtype", "F32", 0),
        ("fan-in/shared-3", "/buffers/0/space", "HBM", 0),
        ("fan-in/nops-3", "/tasks/0/op", "NOP", 0),
    ] {
        let base = library.get(base)?;
        let other =
            if right.chars().any(char::is_uppercase) { right.to_lowercase() } else { right.to_uppercase() };
        for (what, rule, value) in [
            ("other-case", Rule::S05, json!(other)),
            ("space-before", Rule::S05, json!(format!(" {right}"))),
            ("space-behind", Rule::S05, json!(format!("{right} "))),
            ("unknown", Rule::S05, json!(format!("{right}_2"))),
            ("code", Rule::S04, json!(code)),
            ("other-code", Rule::S04, json!(code + 1)),
        ] {
            let edit = Edit::breaking(rule, format!("`{pointer}` is {value}")).clause(clause::FMT_02);
            sink.reject_as(base, &name(pointer, what), &edit.at(pointer).replace(pointer, value))?;
        }
    }
    Ok(())
}

/// S06 and S07: more texts that are no version of major 0, and more that are.
pub fn versions(library: &Library, sink: &mut Sink) -> Result<()> {
    const BAD: [(&str, &str); 15] = [
        ("zero-alone", "0"),
        ("three-dots", "0.2.0.1"),
        ("five-parts", "0.1.2.3.4"),
        ("zero", "00"),
        ("one-number", "2"),
        ("empty-patch", "0.2.0."),
        ("leading-dot", ".2.0"),
        ("zeros-in-patch", "0.2.00"),
        ("plus-in-minor", "0.+2"),
        ("minus-in-patch", "0.2.-0"),
        ("release", "0.2.0-1"),
        ("build", "0.2+cuda"),
        ("capital-prefix", "V0.2"),
        ("equals", "=0.2"),
        ("major-2", "2.2.0"),
    ];
    const GOOD: [(&str, &str); 6] = [
        ("ten", "0.10"),
        ("large", "0.12345678901"),
        ("larger", "0.2.1234567890123456789012"),
        ("long", "0.98765432109876543210.10"),
        ("patch-10", "0.3.10"),
        ("hundred", "0.100.12345678901234567890"),
    ];
    for (member, rule) in [("ir_version", Rule::S06), ("abi_version", Rule::S07)] {
        let at = format!("/{member}");
        for name in ["record/every-record", "fan-in/shared-3"] {
            let base = library.get(name)?;
            for (what, text) in BAD {
                let edit = Edit::breaking(rule, format!("`{member}` is `{text}`")).clause(clause::FMT_05);
                let edit = edit.at(at.clone()).replace(at.clone(), text);
                sink.reject_as(base, &words(&format!("{member}-{what}")), &edit)?;
            }
            for (what, text) in GOOD {
                let edit = Edit::harmless(format!("`{member}` is `{text}`")).clause(clause::FMT_05);
                let case = words(&format!("{}-{member}-{what}", base.slug()));
                sink.accept(base, &case, &edit.replace(at.clone(), text))?;
            }
        }
    }
    Ok(())
}
