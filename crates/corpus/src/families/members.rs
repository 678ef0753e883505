//! Structure rules about single members: S03 to S07, on a program in which every record occurs.

use megakernel_ir::rule::{Rule, clause};
use serde_json::{Value, json};

use super::deadlock::plain;
use super::library::{Base, Library};
use super::parameters::value_slug;
use super::sink::Sink;
use crate::builder::Result;
use crate::edit::Edit;

/// The members of a record: those that it has to have, and those that it may have and that may not be null.
pub type Members = (&'static [&'static str], &'static [&'static str]);

/// A program.
pub const ROOT: Members = (&["ir_version", "abi_version", "buffers", "counters", "tasks"], &["meta"]);
/// A buffer.
pub const BUFFER: Members = (&["id", "name", "kind", "dtype", "shape"], &["space"]);
/// A counter.
pub const COUNTER: Members = (&["id"], &["init", "note"]);
/// A task.
pub const TASK: Members = (
    &["id", "op", "inputs", "outputs", "out_counter"],
    &["waits", "params", "est_bytes", "est_flops", "label"],
);
/// A wait.
pub const WAIT: Members = (&["counter", "threshold"], &[]);
/// The pages.
pub const PAGES: Members = (&["buffer_to_page", "pages"], &[]);
/// A page.
pub const PAGE: Members = (&["id", "space", "nbytes"], &["live_start", "live_end"]);
/// The target.
pub const TARGET: Members = (
    &[
        "name",
        "sm_arch",
        "num_sms",
        "smem_bytes_per_sm",
        "smem_bytes_per_block_optin",
        "regs_per_sm",
        "max_threads_per_sm",
        "max_regs_per_thread",
        "l2_bytes",
        "hbm_bytes",
        "hbm_bandwidth_gbs",
        "fp16_tflops",
    ],
    &["clock_ghz", "supports_cooperative", "wddm_tdr", "measured_bw_gbs", "note"],
);
/// The configuration.
pub const CONFIG: Members = (
    &[],
    &[
        "tiling",
        "fusion_grouping",
        "sm_assignment",
        "pipelining_depth",
        "page_allocation",
        "threads_per_block",
        "smem_bytes_per_block",
    ],
);

const REQUIRED: &[(&str, &[&str])] = &[
    ("", ROOT.0),
    ("/buffers/1", BUFFER.0),
    ("/counters/2", COUNTER.0),
    ("/tasks/1", TASK.0),
    ("/tasks/1/waits/0", WAIT.0),
    ("/pages", PAGES.0),
    ("/pages/pages/1", PAGE.0),
    ("/target", TARGET.0),
];

const OPTIONAL: &[(&str, &[&str])] = &[
    ("", &["meta", "config"]),
    ("/buffers/0", &["space", "source"]),
    ("/counters/0", COUNTER.1),
    ("/tasks/2", &["params", "est_bytes", "est_flops", "label"]),
    ("/pages/pages/0", PAGE.1),
    ("/target", TARGET.1),
    ("/config", CONFIG.1),
];

/// The record that a pointer leads to, as part of a case name.
fn record(pointer: &str) -> String {
    let named: Vec<&str> =
        pointer.split('/').filter(|part| !part.is_empty() && part.parse::<usize>().is_err()).collect();
    if named.is_empty() { "root".to_owned() } else { plain(&named.join("-")) }
}

/// S03: a required member is missing. What is optional may be left out.
pub fn missing(library: &Library, sink: &mut Sink) -> Result<()> {
    let base = library.get("record/every-record")?;
    for (parent, members) in REQUIRED {
        for member in *members {
            let edit = Edit::breaking(Rule::S03, format!("`{member}` of `{parent}` is missing"))
                .clause(clause::FMT_03)
                .at(*parent)
                .remove(format!("{parent}/{member}"));
            sink.reject(base, &format!("{}-{}", record(parent), plain(member)), &edit)?;
        }
    }
    for (parent, members) in OPTIONAL {
        for member in *members {
            let edit = Edit::harmless(format!("`{member}` of `{parent}` is left out"))
                .clause(clause::FMT_03)
                .remove(format!("{parent}/{member}"));
            sink.accept(base, &format!("optional-{}-{}", record(parent), plain(member)), &edit)?;
        }
    }
    Ok(())
}

/// JSON types of members, each with values of other types.
#[derive(Clone, Copy)]
enum Type {
    Text,
    /// Text or null.
    Source,
    Integer,
    /// Integer or null.
    Sm,
    Number,
    Boolean,
    Object,
    /// Object or null.
    Record,
    Array,
    Name,
    /// Name or map.
    Assignment,
    /// Judged by S04 only where it is no number.
    Threshold,
}

impl Type {
    fn wrong(self) -> Vec<Value> {
        let beyond = json!(9_223_372_036_854_775_808_u64);
        match self {
            Type::Text => vec![json!(5), Value::Null, json!(["x"])],
            Type::Source => vec![json!(false), json!({})],
            Type::Integer => vec![json!("1"), json!(1.5), Value::Null, json!(true), beyond],
            Type::Sm => vec![json!("1"), json!(0.5), json!([1])],
            Type::Number => vec![json!("1.5"), Value::Null, json!(true)],
            Type::Boolean => vec![json!(1), json!("true"), Value::Null],
            Type::Object => vec![json!([]), json!("x"), Value::Null],
            Type::Record => vec![json!([]), json!(0), json!(false)],
            Type::Array => vec![json!({}), json!("x"), Value::Null],
            Type::Name => vec![json!(0), Value::Null, json!([])],
            Type::Assignment => vec![json!(1), Value::Null, json!([0, 1])],
            Type::Threshold => vec![json!("1"), Value::Null, json!(true), json!([1])],
        }
    }
}

const TYPES: &[(&str, Type)] = &[
    ("/ir_version", Type::Text),
    ("/abi_version", Type::Text),
    ("/meta", Type::Object),
    ("/target", Type::Record),
    ("/buffers", Type::Array),
    ("/counters", Type::Array),
    ("/tasks", Type::Array),
    ("/pages", Type::Record),
    ("/config", Type::Record),
    ("/buffers/0", Type::Object),
    ("/buffers/1/id", Type::Integer),
    ("/buffers/1/name", Type::Text),
    ("/buffers/1/kind", Type::Name),
    ("/buffers/1/dtype", Type::Name),
    ("/buffers/1/shape", Type::Array),
    ("/buffers/0/shape/1", Type::Integer),
    ("/buffers/1/space", Type::Name),
    ("/buffers/1/source", Type::Source),
    ("/counters/1", Type::Object),
    ("/counters/1/id", Type::Integer),
    ("/counters/1/init", Type::Integer),
    ("/counters/1/note", Type::Text),
    ("/tasks/2", Type::Object),
    ("/tasks/1/id", Type::Integer),
    ("/tasks/1/op", Type::Name),
    ("/tasks/1/inputs", Type::Array),
    ("/tasks/1/inputs/1", Type::Integer),
    ("/tasks/1/outputs", Type::Array),
    ("/tasks/1/outputs/0", Type::Integer),
    ("/tasks/1/out_counter", Type::Integer),
    ("/tasks/1/waits", Type::Array),
    ("/tasks/1/waits/0", Type::Object),
    ("/tasks/1/waits/0/counter", Type::Integer),
    ("/tasks/1/waits/0/threshold", Type::Threshold),
    ("/tasks/1/params", Type::Object),
    ("/tasks/1/sm", Type::Sm),
    ("/tasks/1/est_bytes", Type::Integer),
    ("/tasks/1/est_flops", Type::Integer),
    ("/tasks/1/label", Type::Text),
    ("/pages/buffer_to_page", Type::Object),
    ("/pages/buffer_to_page/3", Type::Integer),
    ("/pages/pages", Type::Array),
    ("/pages/pages/0", Type::Object),
    ("/pages/pages/0/id", Type::Integer),
    ("/pages/pages/0/space", Type::Name),
    ("/pages/pages/0/nbytes", Type::Integer),
    ("/pages/pages/0/live_start", Type::Integer),
    ("/pages/pages/0/live_end", Type::Integer),
    ("/target/name", Type::Text),
    ("/target/sm_arch", Type::Integer),
    ("/target/num_sms", Type::Integer),
    ("/target/hbm_bytes", Type::Integer),
    ("/target/hbm_bandwidth_gbs", Type::Number),
    ("/target/fp16_tflops", Type::Number),
    ("/target/clock_ghz", Type::Number),
    ("/target/supports_cooperative", Type::Boolean),
    ("/target/wddm_tdr", Type::Boolean),
    ("/target/measured_bw_gbs", Type::Number),
    ("/target/note", Type::Text),
    ("/config/tiling", Type::Object),
    ("/config/tiling/gemv", Type::Object),
    ("/config/tiling/gemv/N_tile", Type::Integer),
    ("/config/fusion_grouping", Type::Array),
    ("/config/fusion_grouping/0", Type::Array),
    ("/config/fusion_grouping/0/1", Type::Text),
    ("/config/sm_assignment", Type::Assignment),
    ("/config/sm_assignment/0", Type::Integer),
    ("/config/pipelining_depth", Type::Integer),
    ("/config/page_allocation", Type::Name),
    ("/config/threads_per_block", Type::Integer),
    ("/config/smem_bytes_per_block", Type::Integer),
];

/// S04: members of the wrong JSON type, and keys of maps that are no canonical integers.
pub fn types(library: &Library, sink: &mut Sink) -> Result<()> {
    let base = library.get("record/every-record")?;
    for (pointer, expected) in TYPES {
        for value in expected.wrong() {
            let edit = Edit::breaking(Rule::S04, format!("`{pointer}` is {value}"))
                .clause(clause::FMT_03)
                .at(*pointer)
                .replace(*pointer, value.clone());
            sink.reject(base, &format!("{}-{}", plain(&pointer[1..]), value_slug(&value)), &edit)?;
        }
    }
    for (map, name) in [("/pages/buffer_to_page", "page-key"), ("/config/sm_assignment", "task-key")] {
        for (what, key) in [
            ("leading-zero", "01"),
            ("plus", "+1"),
            ("space", " 1"),
            ("trailing-space", "1 "),
            ("fraction", "1.0"),
            ("exponent", "1e0"),
            ("empty", ""),
            ("word", "first"),
            ("minus-zero", "-0"),
            ("hexadecimal", "0x1"),
            ("beyond-int64", "9223372036854775808"),
        ] {
            let at = format!("{map}/{key}");
            let edit = Edit::breaking(Rule::S04, format!("the key `{key}` in `{map}`"));
            let edit = edit.clause(clause::FMT_03).at(at.clone()).insert(at, 0);
            sink.reject(base, &format!("{name}-{what}"), &edit)?;
        }
    }
    Ok(())
}

/// S05: strings that are no name.
pub fn names(library: &Library, sink: &mut Sink) -> Result<()> {
    let base = library.get("record/every-record")?;
    for (pointer, values) in [
        ("/buffers/1/kind", &["weight", "Weight", "ACTIVATIONS", "", "0", "IO-INPUT"][..]),
        ("/buffers/1/dtype", &["f16", "FP16", "F64", "FLOAT", "I64", "F8E4M3FN", "BF16 ", ""]),
        ("/buffers/1/space", &["hbm", "GLOBAL", "SHARED", "REGISTERS", ""]),
        ("/pages/pages/0/space", &["smem", "L2", "Smem"]),
        ("/tasks/2/op", &["gelu", "FUSED", "GELU_TANH", "10", "", "MATMUL", "AMK_OP_GELU", "GЕLU"]),
        ("/config/page_allocation", &["Linear", "graph-color", "first_fit", ""]),
        ("/config/sm_assignment", &["roundrobin", "LOAD_BALANCE", "explicit", "", "none"]),
    ] {
        for (index, value) in values.iter().enumerate() {
            let edit = Edit::breaking(Rule::S05, format!("`{pointer}` is `{value}`"))
                .clause(clause::FMT_02)
                .clause(clause::DAT_02)
                .at(pointer)
                .replace(pointer, *value);
            let plain_value: String = value
                .chars()
                .map(|c| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' })
                .collect();
            let name = format!("{}-{index}-{plain_value}", plain(&pointer[1..]));
            sink.reject(base, name.trim_end_matches('-'), &edit)?;
        }
    }
    for (pointer, values) in [
        ("/config/page_allocation", &["graph_color", "none"][..]),
        ("/config/sm_assignment", &["round_robin", "load_balance"]),
    ] {
        for value in values {
            let edit = Edit::harmless(format!("`{pointer}` is `{value}`"))
                .clause(clause::FMT_02)
                .clause(clause::TGT_02);
            let name = format!("{}-is-{}", plain(&pointer[1..]), plain(value));
            sink.accept(base, &name, &edit.replace(pointer, *value))?;
        }
    }
    Ok(())
}

/// Texts that are no version of major 0, with a name for each.
const BAD_VERSIONS: &[(&str, &str)] = &[
    ("major-1", "1.0"),
    ("major-1-patch", "1.2.0"),
    ("major-10", "10.2.0"),
    ("major-huge", "99999999999999999999.2"),
    ("empty", ""),
    ("major-only", "0"),
    ("four-parts", "0.2.0.0"),
    ("leading-zero", "0.02"),
    ("leading-zero-major", "00.2.0"),
    ("prefix", "v0.2.0"),
    ("suffix", "0.2.0-beta"),
    ("build", "0.2.0+1"),
    ("space", " 0.2.0"),
    ("trailing-space", "0.2.0 "),
    ("trailing-dot", "0.2."),
    ("missing-minor", "0..2"),
    ("sign", "+0.2"),
    ("negative", "-0.2.0"),
    ("comma", "0,2"),
    ("hexadecimal", "0x0.2"),
    ("other-digits", "0.٢"),
    ("trailing-newline", "0.2.0\n"),
];

/// S06 and S07: versions.
pub fn versions(library: &Library, sink: &mut Sink) -> Result<()> {
    let base = library.get("chain/copy-1")?;
    for (member, rule) in [("ir_version", Rule::S06), ("abi_version", Rule::S07)] {
        let pointer = format!("/{member}");
        for (what, text) in BAD_VERSIONS {
            let edit = Edit::breaking(rule, format!("`{member}` is {}", Value::from(*text)))
                .clause(clause::FMT_05)
                .at(pointer.clone())
                .replace(pointer.clone(), *text);
            sink.reject(base, &format!("{}-{what}", plain(member)), &edit)?;
        }
        for (what, text) in [
            ("next-minor", "0.3"),
            ("minor-with-patch", "0.3.1"),
            ("first-minor", "0.0"),
            ("zero", "0.0.0"),
            ("large-minor", "0.4294967296.18446744073709551616"),
            ("no-patch", "0.2"),
            ("patch", "0.2.7"),
        ] {
            // One of the versions is the one that the base has.
            if base.program.at(&pointer)? == text {
                continue;
            }
            let edit = Edit::harmless(format!("`{member}` is `{text}`")).clause(clause::FMT_05);
            sink.accept(base, &format!("{}-{what}", plain(member)), &edit.replace(pointer.clone(), text))?;
        }
    }
    other_major(library.get("record/every-record")?, base, sink)
}

/// A document of another major version is judged no further, whatever else it holds.
fn other_major(full: &Base, small: &Base, sink: &mut Sink) -> Result<()> {
    let edit = Edit::breaking(Rule::S06, "another major version, in which tasks are an object")
        .clause(clause::FMT_05);
    let edit = edit.at("/ir_version").replace("/ir_version", "1.0.0").replace("/tasks", json!({}));
    sink.reject(full, "other-major-hides-types", &edit)?;
    let edit = Edit::breaking(Rule::S07, "another ABI version, in which opcodes have new names")
        .clause(clause::FMT_05);
    let edit = edit.at("/abi_version").replace("/abi_version", "2.0").replace("/tasks/0/op", "NEW_OP");
    sink.reject(small, "other-abi-hides-names", &edit)?;
    let edit = Edit::breaking(Rule::S06, "both versions have another major part")
        .or(Rule::S07)
        .clause(clause::FMT_05);
    sink.reject(small, "both-versions", &edit.replace("/ir_version", "3.0").replace("/abi_version", "3.0"))
}

/// Integral floats for integers, on which implementations may differ.
pub fn integral_floats(library: &Library, sink: &mut Sink) -> Result<()> {
    let base = library.get("record/every-record")?;
    for (pointer, value, rule) in [
        ("/buffers/1/id", json!(1.0), Rule::S04),
        ("/buffers/0/shape/1", json!(16.0), Rule::S04),
        ("/counters/0/init", json!(0.0), Rule::S04),
        ("/counters/0/init", json!(-0.0), Rule::S04),
        ("/tasks/1/inputs/0", json!(3.0), Rule::S04),
        ("/tasks/1/out_counter", json!(1.0), Rule::S04),
        ("/tasks/1/waits/0/counter", json!(0.0), Rule::S04),
        ("/tasks/1/waits/0/threshold", json!(1.0), Rule::S16),
        ("/tasks/1/params/K", json!(16.0), Rule::S14),
        ("/tasks/1/params/n_off", json!(0.0), Rule::S14),
        ("/tasks/0/params/hidden", json!(16.0), Rule::S14),
        ("/tasks/1/sm", json!(1.0), Rule::S04),
        ("/tasks/1/est_bytes", json!(512.0), Rule::S04),
        ("/pages/pages/0/nbytes", json!(64.0), Rule::S04),
        ("/pages/buffer_to_page/3", json!(0.0), Rule::S04),
        ("/target/num_sms", json!(128.0), Rule::S04),
        ("/target/hbm_bytes", json!(8.0e10), Rule::S04),
        ("/config/threads_per_block", json!(512.0), Rule::S04),
        ("/config/tiling/gemv/N_tile", json!(16.0), Rule::S04),
        ("/config/sm_assignment/0", json!(1.0), Rule::S04),
    ] {
        let edit = Edit::breaking(rule, format!("`{pointer}` is written as {value}"));
        let edit = edit.clause(clause::FMT_04).replace(pointer, value.clone());
        let sign = if value_slug(&value).starts_with("minus") { "-minus-zero" } else { "" };
        sink.either(base, &format!("{}{sign}", plain(&pointer[1..])), &edit)?;
    }
    Ok(())
}
