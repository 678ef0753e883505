//! The structure rules S01 to S22, from spec/format.md and spec/rules/structure.md and records.md: what makes a text a program. It knows nothing
//! of the worker protocol; main.rs has it judged.

use std::collections::{BTreeMap, BTreeSet};

use megakernel_adapter::{Diagnostic, Json, json};

use crate::members::{Found, OPCODES, add, child, program};

// ---- Values and references: the other S rules ----------------------------------------------------------------------

// All of this is asked of programs whose members have their types.

fn int(record: &Json, member: &str) -> i64 {
    record.get(member).and_then(Json::as_i64).unwrap_or_default()
}

fn list<'d>(record: &'d Json, member: &str) -> &'d [Json] {
    record.get(member).and_then(Json::as_array).unwrap_or_default()
}

fn word<'d>(record: &'d Json, member: &str) -> &'d str {
    record.get(member).and_then(Json::as_str).unwrap_or_default()
}

fn members<'d>(record: &'d Json, member: &str) -> &'d [(String, Json)] {
    if let Some(Json::Object(members)) = record.get(member) { members } else { &[] }
}

/// The binary64 nearest to a number; nothing for what is none.
fn real(value: &Json) -> Option<f64> {
    if let Json::Number(text) = value { text.parse().ok() } else { None }
}

/// Whether a buffer has at most 2^63 - 1 elements, and as many bytes, and no extent below 1.
fn fits(buffer: &Json) -> bool {
    let bytes = match word(buffer, "dtype") {
        "F32" | "I32" => 4,
        "F16" | "BF16" => 2,
        _ => 1,
    };
    let extents = list(buffer, "shape").iter().map(|extent| extent.as_i64().unwrap_or_default());
    let elements = extents.clone().try_fold(1_i64, i64::checked_mul);
    // Without the bytes, since a product with a 0 never overflows.
    extents.clone().all(|extent| extent >= 1)
        && elements.and_then(|elements| elements.checked_mul(bytes)).is_some()
}

struct Judge<'d> {
    program: &'d Json,
    found: Found,
}

impl Judge<'_> {
    fn need(&mut self, holds: bool, rule: &str, at: &str, message: &str) {
        if !holds {
            add(&mut self.found, rule, at, message);
        }
    }

    fn at_least(&mut self, record: &Json, at: &str, member: &str, least: i64) {
        let message = format!("{member} is below {least}");
        self.need(int(record, member) >= least, "S22", &child(at, member), &message);
    }

    fn known(&self, id: Option<i64>, table: &str) -> bool {
        id.is_some_and(|id| usize::try_from(id).is_ok_and(|id| id < list(self.program, table).len()))
    }

    fn ids(&mut self, records: &[Json], at: &str) {
        for (n, record) in records.iter().enumerate() {
            let at = child(&child(at, n), "id");
            self.need(usize::try_from(int(record, "id")) == Ok(n), "S08", &at, "the id is not the position");
        }
    }

    fn all(&mut self) {
        let program = self.program;
        for table in ["buffers", "counters", "tasks"] {
            self.ids(list(program, table), &child("", table));
        }
        let outputs = list(program, "tasks").iter().flat_map(|task| list(task, "outputs"));
        let produced: BTreeSet<i64> = outputs.filter_map(Json::as_i64).collect();
        for (n, buffer) in list(program, "buffers").iter().enumerate() {
            let at = child("/buffers", n);
            self.need(list(buffer, "shape").len() <= 4, "S12", &child(&at, "shape"), "the rank is above 4");
            self.need(
                fits(buffer),
                "S20",
                &child(&at, "shape"),
                "an extent is below 1, or the buffer is beyond 2^63 - 1",
            );
            let space = word(buffer, "kind") == "ACTIVATION" || word(buffer, "space") == "HBM";
            self.need(space, "S21", &child(&at, "space"), "only an activation may be elsewhere than in HBM");
            let written = i64::try_from(n).is_ok_and(|n| produced.contains(&n));
            self.need(
                word(buffer, "kind") != "IO_OUTPUT" || written,
                "S19",
                &at,
                "no task writes this output",
            );
        }
        for (n, counter) in list(program, "counters").iter().enumerate() {
            let at = child(&child("/counters", n), "init");
            self.need(int(counter, "init") == 0, "S17", &at, "the counter does not start at 0");
        }
        for (n, task) in list(program, "tasks").iter().enumerate() {
            self.task(task, &child("/tasks", n));
        }
        if let Some(pages) = program.get("pages") {
            self.ids(list(pages, "pages"), "/pages/pages");
            for (n, page) in list(pages, "pages").iter().enumerate() {
                self.at_least(page, &child("/pages/pages", n), "nbytes", 1);
            }
        }
        for (name, value) in members(program, "target") {
            let least = if name == "num_sms" { 1.0 } else { 0.0 };
            let holds = real(value).is_none_or(|value| value >= least);
            self.need(holds, "S22", &child("/target", name), &format!("{name} is too small"));
        }
        if let Some(config @ Json::Object(_)) = program.get("config") {
            self.at_least(config, "/config", "pipelining_depth", 0);
            for (group, _) in members(config, "tiling") {
                let at = child("/config/tiling", group);
                for (name, size) in
                    config.get("tiling").map(|tiling| members(tiling, group)).unwrap_or_default()
                {
                    self.need(size.as_i64() >= Some(1), "S22", &child(&at, name), "a tile size is below 1");
                }
            }
            for (id, _) in members(config, "sm_assignment") {
                let known = self.known(id.parse().ok(), "tasks");
                self.need(known, "S09", &child("/config/sm_assignment", id), "there is no such task");
            }
        }
    }

    fn task(&mut self, task: &Json, at: &str) {
        let op = word(task, "op");
        let Some((_, mut fewest, mut most, outputs, required)) =
            OPCODES.iter().copied().find(|row| row.0 == op)
        else {
            return;
        };
        let given: BTreeMap<&str, &Json> =
            members(task, "params").iter().map(|(key, value)| (key.as_str(), value)).collect();
        let mut required: Vec<&str> = required.split_whitespace().collect();
        if ["GEMV_TILE", "GEMM_TILE"].contains(&op) && given.contains_key("qdtype") {
            (fewest, most) = (3, 4);
            required.push("group");
        }
        let mut seen = BTreeSet::new();
        for (which, n, operand) in ["inputs", "outputs"].into_iter().flat_map(|which| {
            list(task, which).iter().enumerate().map(move |(n, operand)| (which, n, operand))
        }) {
            let at = child(&child(at, which), n);
            let buffer =
                operand.as_i64().and_then(|id| list(self.program, "buffers").get(usize::try_from(id).ok()?));
            self.need(buffer.is_some(), "S09", &at, "there is no such buffer");
            if which == "outputs" {
                self.need(seen.insert(operand.as_i64()), "S10", &at, "the buffer is listed twice");
                let written =
                    buffer.is_none_or(|b| !["WEIGHT", "CONST", "IO_INPUT"].contains(&word(b, "kind")));
                self.need(written, "S18", &at, "no task may write this kind of buffer");
            }
        }
        for (which, capacity, takes) in
            [("inputs", 8, fewest..=most), ("outputs", 4, outputs..=outputs), ("waits", 8, 0..=8)]
        {
            let (count, at) = (list(task, which).len(), child(at, which));
            let repeated = which == "outputs" && seen.len() < count;
            self.need(count <= capacity, "S12", &at, "more than the record has room for");
            self.need(
                count > capacity || repeated || takes.contains(&count),
                "S11",
                &at,
                &format!("{op} takes another number"),
            );
        }
        let known = self.known(Some(int(task, "out_counter")), "counters");
        self.need(known, "S09", &child(at, "out_counter"), "there is no such counter");
        for (n, wait) in list(task, "waits").iter().enumerate() {
            let at = child(&child(at, "waits"), n);
            let known = self.known(Some(int(wait, "counter")), "counters");
            self.need(known, "S09", &child(&at, "counter"), "there is no such counter");
            let holds = u32::try_from(int(wait, "threshold")).is_ok_and(|threshold| threshold >= 1);
            self.need(holds, "S16", &child(&at, "threshold"), "the threshold is not from 1 to 2^32 - 1");
        }
        self.at_least(task, at, "est_bytes", 0);
        self.at_least(task, at, "est_flops", 0);
        let at = child(at, "params");
        for key in required {
            self.need(given.contains_key(key), "S13", &at, &format!("{op} requires `{key}`"));
        }
        self.parameters(op, &given, &at);
    }

    fn parameters(&mut self, op: &str, given: &BTreeMap<&str, &Json>, at: &str) {
        // From here on a number rounds to an infinite binary32; and up to there, to zero.
        let (beyond, nothing) = (2_f64.powi(128) - 2_f64.powi(103), 2_f64.powi(-150));
        let mut good: BTreeMap<&str, i64> = BTreeMap::new();
        for (&key, value) in given {
            let at = child(at, key);
            let range = match key {
                "K" | "N" | "M" | "N_tile" | "M_tile" | "hidden" | "vocab" | "head_dim" | "n_heads"
                | "n_kv_heads" | "group" => 1..=i32::MAX,
                "n_off" | "m_off" | "kv_start" | "kv_len" | "pos" => 0..=i32::MAX,
                "qdtype" => 6..=7,
                "flags" => 0..=3,
                "dim" => i32::MIN..=i32::MAX,
                "eps" | "scale" | "theta" => {
                    let number = real(value).filter(|number| number.abs() < beyond);
                    self.need(number.is_some(), "S14", &at, "the value is not a number of 32 bits");
                    let holds = number.is_none_or(|number| match key {
                        "eps" => number >= -nothing,
                        "theta" => number > nothing,
                        _ => true,
                    });
                    self.need(holds, "S15", &at, "the value is out of range");
                    continue;
                }
                _ => continue,
            };
            let number = value.as_i64().and_then(|number| i32::try_from(number).ok());
            self.need(number.is_some(), "S14", &at, "the value is not an integer of 32 bits");
            let Some(number) = number else { continue };
            self.need(range.contains(&number), "S15", &at, "the value is out of range");
            if range.contains(&number) {
                good.insert(key, number.into());
            }
        }
        let get = |key| good.get(key).copied();
        if op == "ROPE" {
            let even = get("head_dim").is_none_or(|length| length % 2 == 0);
            self.need(even, "S15", &child(at, "head_dim"), "the value is odd");
        }
        if op == "ATTENTION_TILE" {
            let multiple =
                get("n_heads").zip(get("n_kv_heads")).is_none_or(|(heads, shared)| heads % shared == 0);
            self.need(multiple, "S15", &child(at, "n_heads"), "the value is no multiple of n_kv_heads");
            let flags = if given.contains_key("flags") { get("flags") } else { Some(0) };
            let window = get("kv_len").zip(flags).is_none_or(|(rows, flags)| rows >= 1 || flags & 2 != 0);
            self.need(window, "S15", &child(at, "kv_len"), "the window is empty, without PARTIAL_WRITE");
        }
    }
}

// ---- In order (spec/rules/structure.md) ----------------------------------------------------------------------------

/// Whether a version is one of FMT-05 with the major part 0.
fn version_fits(version: &str) -> bool {
    let parts: Vec<&str> = version.split('.').collect();
    let digits = |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let whole = |part: &&str| digits(part) && (*part == "0" || !part.starts_with('0'));
    (2..=3).contains(&parts.len()) && parts.iter().all(whole) && parts.first() == Some(&"0")
}

/// The program as it is written.
///
/// # Errors
/// What S rules it breaks.
pub fn read(bytes: &[u8]) -> Result<Json, Vec<Diagnostic>> {
    let mut found = Found::new();
    let (document, repeated) = json::parse_with_repeats(bytes)
        .map_err(|error| vec![Diagnostic::error("S01", &error.to_string(), "")])?;
    for name in repeated {
        add(&mut found, "S02", "", &format!("the member `{name}` occurs twice in one object"));
    }
    if found.is_empty() {
        for (rule, member) in [("S06", "ir_version"), ("S07", "abi_version")] {
            if document.get(member).and_then(Json::as_str).is_some_and(|version| !version_fits(version)) {
                add(&mut found, rule, &child("", member), "the version is not 0.MINOR or 0.MINOR.PATCH");
            }
        }
    }
    if !found.is_empty() {
        return Err(found);
    }
    let program = program().read(&document, "", &mut found);
    if !found.is_empty() {
        return Err(found);
    }
    let mut judge = Judge { program: &program, found };
    judge.all();
    let found = judge.found;
    if found.is_empty() { Ok(program) } else { Err(found) }
}
