//! The structure rules S01 to S22, from spec/format.md and spec/rules/structure.md and records.md: what makes a text a program. It knows nothing
//! of the worker protocol; main.rs has it judged.

use std::collections::{BTreeMap, BTreeSet};

use megakernel_adapter::{Diagnostic, Json, json};

type Found = Vec<Diagnostic>;

fn add(found: &mut Found, rule: &str, at: &str, message: &str) {
    found.push(Diagnostic::error(rule, message, at));
}

/// The pointer of a member or an element (FMT-07).
fn child(at: &str, name: impl ToString) -> String {
    format!("{at}/{}", name.to_string().replace('~', "~0").replace('/', "~1"))
}

// ---- Members: S03, S04, S05, and S16 for a threshold that is no integer --------------------------------------------

/// What a value has to be.
enum Type {
    Text,
    Flag,
    Number,
    Integer,
    Threshold,
    AnyObject,
    Name(&'static [&'static str]),
    Nullable(Box<Type>),
    Array(Box<Type>),
    /// By any name.
    Map(Box<Type>),
    /// By id.
    Ids(Box<Type>),
    /// The name of a strategy, or an SM for each of some task ids.
    Assignment,
    Record(Vec<(&'static str, Type, Absent)>),
}

/// What an absent member is.
enum Absent {
    Wrong,
    Means(Json),
    LeftOut,
}
use Absent::{LeftOut, Means, Wrong};

impl Type {
    /// The value as it is written: all members, in canonical order (FMT-03).
    fn read(&self, value: &Json, at: &str, found: &mut Found) -> Json {
        let mut need = |holds: bool, what: &str| {
            if !holds {
                add(found, "S04", at, &format!("the value is not {what}"));
            }
        };
        match (self, value) {
            (Type::Nullable(_), Json::Null) => {}
            (Type::Nullable(of), _) => return of.read(value, at, found),
            (Type::Text, _) => need(value.as_str().is_some(), "a string"),
            (Type::Flag, _) => need(matches!(value, Json::Bool(_)), "a boolean"),
            (Type::Number, _) => need(matches!(value, Json::Number(_)), "a number"),
            (Type::Integer, _) => need(value.as_i64().is_some(), "an integer of 64 bits"),
            (Type::AnyObject, _) => need(matches!(value, Json::Object(_)), "an object"),
            (Type::Threshold, Json::Number(_)) if value.as_i64().is_none() => {
                add(found, "S16", at, "the threshold is not an integer from 1 to 2^32 - 1");
            }
            (Type::Threshold, _) => need(matches!(value, Json::Number(_)), "a number"),
            (Type::Name(names), Json::String(name)) => {
                if !names.contains(&name.as_str()) {
                    add(found, "S05", at, &format!("the name `{name}` is not known"));
                }
            }
            (Type::Name(_), _) => need(false, "a name"),
            (Type::Assignment, Json::Object(_)) => {
                return Type::Ids(Type::Integer.into()).read(value, at, found);
            }
            (Type::Assignment, _) => {
                return Type::Name(&["round_robin", "load_balance"]).read(value, at, found);
            }
            (Type::Array(of), Json::Array(items)) => {
                let read = |(n, item)| of.read(item, &child(at, n), found);
                return Json::Array(items.iter().enumerate().map(read).collect());
            }
            (Type::Array(_), _) => need(false, "an array"),
            (Type::Map(of) | Type::Ids(of), Json::Object(members)) => {
                let mut read = Vec::new();
                for (name, item) in members {
                    let at = child(at, name);
                    // Canonical is what is written again as it was.
                    let canonical = name.parse::<i64>().is_ok_and(|id| id >= 0 && id.to_string() == *name);
                    if matches!(self, Type::Ids(_)) && !canonical {
                        add(found, "S04", &at, "the name is not an id in decimal");
                    }
                    read.push((name.clone(), of.read(item, &at, found)));
                }
                return Json::Object(read);
            }
            (Type::Record(members), Json::Object(_)) => {
                let mut read = Vec::new();
                for (name, of, absent) in members {
                    match (value.get(name), absent) {
                        (Some(given), _) => {
                            read.push(((*name).to_owned(), of.read(given, &child(at, name), found)))
                        }
                        (None, Means(default)) => read.push(((*name).to_owned(), default.clone())),
                        (None, Wrong) => add(found, "S03", at, &format!("there is no member `{name}`")),
                        (None, LeftOut) => {}
                    }
                }
                return Json::Object(read);
            }
            (Type::Map(_) | Type::Ids(_) | Type::Record(_), _) => need(false, "an object"),
        }
        value.clone()
    }
}

fn program() -> Type {
    use Type::{
        AnyObject, Array, Assignment, Flag, Ids, Integer, Map, Name, Nullable, Number, Record, Text,
        Threshold,
    };
    let space = || Name(&["HBM", "GLOBAL_SCRATCH", "SMEM", "REGISTER"]);
    let (integers, none) = (|| Array(Integer.into()), || Means(Json::Null));
    let (integer, text) = (|value: i64| Means(Json::from(value)), |text: &str| Means(Json::from(text)));
    let (list, empty) = (|| Means(Json::Array(Vec::new())), || Means(Json::Object(Vec::new())));
    let kinds = Name(&["WEIGHT", "ACTIVATION", "KV_CACHE", "IO_INPUT", "IO_OUTPUT", "CONST"]);
    let dtypes = Name(&["F32", "F16", "BF16", "F8E4M3", "F8E5M2", "I32", "I8", "I4", "U8", "BOOL"]);
    let buffer = Record(vec![
        ("id", Integer, Wrong),
        ("name", Text, Wrong),
        ("kind", kinds, Wrong),
        ("dtype", dtypes, Wrong),
        ("shape", integers(), Wrong),
        ("space", space(), text("HBM")),
        ("source", Nullable(Text.into()), none()),
    ]);
    let counter =
        Record(vec![("id", Integer, Wrong), ("init", Integer, integer(0)), ("note", Text, text(""))]);
    let wait = Record(vec![("counter", Integer, Wrong), ("threshold", Threshold, Wrong)]);
    let task = Record(vec![
        ("id", Integer, Wrong),
        ("op", Name(&NAMES), Wrong),
        ("inputs", integers(), Wrong),
        ("outputs", integers(), Wrong),
        ("out_counter", Integer, Wrong),
        ("waits", Array(wait.into()), list()),
        ("params", AnyObject, empty()),
        ("sm", Nullable(Integer.into()), none()),
        ("est_bytes", Integer, integer(0)),
        ("est_flops", Integer, integer(0)),
        ("label", Text, text("")),
    ]);
    let page = Record(vec![
        ("id", Integer, Wrong),
        ("space", space(), Wrong),
        ("nbytes", Integer, Wrong),
        ("live_start", Integer, integer(-1)),
        ("live_end", Integer, integer(-1)),
    ]);
    let pages =
        Record(vec![("buffer_to_page", Ids(Integer.into()), Wrong), ("pages", Array(page.into()), Wrong)]);
    let mut target = vec![("name", Text, Wrong)];
    for name in [
        "sm_arch",
        "num_sms",
        "smem_bytes_per_sm",
        "smem_bytes_per_block_optin",
        "regs_per_sm",
        "max_threads_per_sm",
        "max_regs_per_thread",
        "l2_bytes",
        "hbm_bytes",
    ] {
        target.push((name, Integer, Wrong));
    }
    target.extend([
        ("hbm_bandwidth_gbs", Number, Wrong),
        ("fp16_tflops", Number, Wrong),
        ("clock_ghz", Number, Means(Json::Number("0.0".to_owned()))),
        ("supports_cooperative", Flag, Means(Json::Bool(true))),
        ("wddm_tdr", Flag, Means(Json::Bool(false))),
        ("measured_bw_gbs", Number, LeftOut),
        ("note", Text, text("")),
    ]);
    let config = Record(vec![
        ("tiling", Map(Map(Integer.into()).into()), empty()),
        ("fusion_grouping", Array(Array(Text.into()).into()), list()),
        ("sm_assignment", Assignment, text("load_balance")),
        ("pipelining_depth", Integer, integer(2)),
        ("page_allocation", Name(&["linear", "graph_color", "none"]), text("graph_color")),
        ("threads_per_block", Integer, integer(256)),
        ("smem_bytes_per_block", Integer, integer(0)),
    ]);
    Record(vec![
        ("ir_version", Text, Wrong),
        ("abi_version", Text, Wrong),
        ("meta", AnyObject, empty()),
        ("target", Nullable(Record(target).into()), none()),
        ("buffers", Array(buffer.into()), Wrong),
        ("counters", Array(counter.into()), Wrong),
        ("tasks", Array(task.into()), Wrong),
        ("pages", Nullable(pages.into()), none()),
        ("config", Nullable(config.into()), none()),
    ])
}

// ---- Values and references: the other S rules ----------------------------------------------------------------------

/// Name, fewest and most inputs, outputs, required parameters: spec/opcodes/opcodes.json.
const OPCODES: [(&str, usize, usize, usize, &str); 19] = [
    ("NOP", 0, 0, 0, ""),
    ("COPY", 1, 1, 1, ""),
    ("EMBED", 2, 2, 1, "hidden"),
    ("RMSNORM", 2, 2, 1, "eps hidden"),
    ("LAYERNORM", 2, 3, 1, "eps hidden"),
    ("GEMV_TILE", 2, 3, 1, "K N_tile n_off"),
    ("GEMM_TILE", 2, 3, 1, "K N_tile M_tile n_off"),
    ("ATTENTION_TILE", 3, 4, 1, "head_dim kv_start kv_len scale n_heads n_kv_heads"),
    ("ROPE", 2, 2, 1, "head_dim theta"),
    ("SILU_MUL", 2, 2, 1, ""),
    ("GELU", 1, 1, 1, ""),
    ("ADD", 2, 2, 1, ""),
    ("MUL", 1, 2, 1, ""),
    ("DEQUANT", 2, 3, 1, "qdtype group"),
    ("SOFTMAX", 1, 1, 1, ""),
    ("ALLREDUCE_SHARD", 1, 8, 1, ""),
    ("KV_APPEND", 2, 2, 1, "pos"),
    ("SAMPLE_ARGMAX", 1, 1, 1, ""),
    ("ATTENTION_COMBINE", 2, 8, 1, ""),
];
const NAMES: [&str; 19] = {
    let mut names = [""; 19];
    let mut n = 0;
    while n < names.len() {
        names[n] = OPCODES[n].0;
        n += 1;
    }
    names
};

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
        let Some((_, mut fewest, mut most, outputs, required)) = OPCODES.into_iter().find(|row| row.0 == op)
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
