//! What members a program has, of which types: rules S03, S04, S05, and S16 for a threshold that is no integer; and its opcodes.

use megakernel_adapter::{Diagnostic, Json};

pub type Found = Vec<Diagnostic>;

/// Adds an error.
pub fn add(found: &mut Found, rule: &str, at: &str, message: &str) {
    found.push(Diagnostic::error(rule, message, at));
}

/// The pointer of a member or an element (FMT-07).
pub fn child(at: &str, name: impl ToString) -> String {
    format!("{at}/{}", name.to_string().replace('~', "~0").replace('/', "~1"))
}

/// What a value has to be.
pub enum Type {
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
pub enum Absent {
    Wrong,
    Means(Json),
    LeftOut,
}
use Absent::{LeftOut, Means, Wrong};

impl Type {
    /// The value as it is written: all members, in canonical order (FMT-03).
    pub fn read(&self, value: &Json, at: &str, found: &mut Found) -> Json {
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

/// A program (FMT-03).
pub fn program() -> Type {
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

/// Name, fewest and most inputs, outputs, required parameters.
pub const OPCODES: &[(&str, usize, usize, usize, &str)] = &[
    // opcodes: rows, generated by `cargo xtask codegen` from spec/opcodes/opcodes.json
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
    // end of rows
];
const NAMES: [&str; OPCODES.len()] = {
    let mut names = [""; OPCODES.len()];
    let mut n = 0;
    while n < names.len() {
        names[n] = OPCODES[n].0;
        n += 1;
    }
    names
};
