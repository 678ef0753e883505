//! Texts and members: S01 to S05.

use megakernel_corpus::builder::{Error, Result};
use megakernel_corpus::families::{Document, Library, Sink};
use serde_json::{Value, json};

use crate::bases;
use crate::families::modules;
use crate::item::{Planted, cited};

/// S03 to S05.
pub fn members(_: &Library, sink: &mut Sink) -> Result<()> {
    let remove = |path: &str| json!({"op": "remove", "path": path});
    let set = |path: &str, value: Value| json!({"op": "add", "path": path, "value": value});
    let table: Vec<(&str, &str, &'static str, Value, &str)> = vec![
        ("hierarchical-torus-2x2", "no-topology", "S03", remove("/topology"), ""),
        ("hierarchical-torus-2x2", "no-w", "S03", remove("/topology/w"), "/topology"),
        ("hierarchical-mesh-2x2", "no-h", "S03", remove("/topology/h"), "/topology"),
        ("hierarchical-mesh-2x2", "no-ranks", "S03", remove("/topology/ranks"), "/topology"),
        ("hierarchical-ring-3", "no-n-elem", "S03", remove("/n_elem"), ""),
        ("hierarchical-ring-3", "no-logs", "S03", remove("/logs"), ""),
        ("hierarchical-ring-3", "no-collective", "S03", remove("/collective"), ""),
        ("hierarchical-ring-3", "no-kind", "S03", remove("/collective/kind"), "/collective"),
        ("hierarchical-ring-3", "no-op", "S03", remove("/logs/0/ops/0/op"), "/logs/0/ops/0"),
        ("hierarchical-ring-3", "no-n", "S03", remove("/logs/0/ops/0/n"), "/logs/0/ops/0"),
        ("hierarchical-ring-3", "no-elements", "S03", remove("/logs/0/elements"), "/logs/0"),
        ("template-ring-3", "no-count", "S03", remove("/logs/0/ops/1/count"), "/logs/0/ops/1"),
        ("star-3", "no-in", "S03", remove("/topology/edges/0/in"), "/topology/edges/0"),
        ("hierarchical-ring-3", "text-for-number", "S04", set("/n_elem", json!("3")), "/n_elem"),
        (
            "hierarchical-ring-3",
            "null-capacity",
            "S04",
            set("/topology/capacity", json!(null)),
            "/topology/capacity",
        ),
        (
            "hierarchical-ring-3",
            "number-for-name",
            "S04",
            set("/logs/0/ops/0/to", json!(1)),
            "/logs/0/ops/0/to",
        ),
        (
            "hierarchical-ring-3",
            "two-ids",
            "S04",
            set("/logs/0/elements/0", json!([0, 1])),
            "/logs/0/elements/0",
        ),
        ("hierarchical-ring-3", "id", "S04", set("/logs/0/elements/0", json!(0)), "/logs/0/elements/0"),
        ("hierarchical-ring-3", "fraction", "S04", set("/logs/0/ops/0/at", json!(0.5)), "/logs/0/ops/0/at"),
        ("hierarchical-ring-3", "object-for-log", "S04", set("/logs", json!({})), "/logs"),
        ("hierarchical-ring-3", "tiles", "S04", set("/tiles", json!([[1.5], [0], [0]])), "/tiles/0/0"),
        ("hierarchical-ring-3", "kind", "S05", set("/topology/kind", json!("ring")), "/topology/kind"),
        ("hierarchical-ring-3", "mesh", "S05", set("/topology/kind", json!("mesh_2d")), "/topology/kind"),
        (
            "hierarchical-ring-3",
            "collective",
            "S05",
            set("/collective/kind", json!("gather")),
            "/collective/kind",
        ),
        ("hierarchical-ring-3", "over", "S05", set("/collective/over", json!("cubes")), "/collective/over"),
        ("hierarchical-ring-3", "bits", "S05", set("/collective/bits", json!("any")), "/collective/bits"),
        ("wide-line-3", "dtype", "S05", set("/logs/0/ops/1/dtype", json!("bf16")), "/logs/0/ops/1/dtype"),
        (
            "template-ring-3",
            "variable",
            "S05",
            set("/logs/0/ops/0/at/of/s", json!(1)),
            "/logs/0/ops/0/at/of/s",
        ),
        (
            "template-ring-3",
            "loop",
            "S05",
            set("/logs/0/ops/1/for", json!("t")),
            "/logs/0/ops/1/ops/2/at/of/s",
        ),
        ("module-ring-2", "no-symbols", "S03", remove("/module/symbols"), "/module"),
        ("module-ring-2", "tl", "S04", set("/module/tl", json!("yes")), "/module/tl"),
        ("module-ring-2", "kinds", "S04", set("/module/kinds/ring_1d", json!("0")), "/module/kinds/ring_1d"),
        ("module-ring-2", "world-size", "S04", set("/world_size", json!("2")), "/world_size"),
    ];
    for (base, name, rule, edit, at) in table {
        let known = bases::named(base).map(|made| made.name);
        let known =
            known.or_else(|| modules::bases().into_iter().map(|(name, _)| name).find(|known| known == base));
        let base = known.ok_or_else(|| Error(format!("no document is called `{base}`")))?;
        let summary = format!("a document that is not well formed: {}", name.replace('-', " "));
        let at = Some(at.to_owned());
        Planted { base, name: name.to_owned(), summary, edit: vec![edit], rule, at }.push(sink)?;
    }
    Ok(())
}

/// S01 and S02, and what readers may do as they like.
pub fn texts(_: &Library, sink: &mut Sink) -> Result<()> {
    let good = bases::named("hierarchical-ring-2").map(|made| made.document.to_string()).unwrap_or_default();
    let accept = json!({"verdict": "accept", "warnings": []});
    let mut put = |name: &str, summary: &str, text: &str, expect: Value, rule: &str| {
        let clauses = cited(if rule.is_empty() { &["COL-06"] } else { std::slice::from_ref(&rule) })?;
        let id = format!("collectives/texts/{name}");
        let twin = (!rule.is_empty()).then(|| "collectives/texts/good".to_owned());
        sink.push_as("validate", id, summary, &["collectives"], &clauses, &Document::Text(text), expect, twin)
    };
    put("good", "an algorithm in one line", &good, accept.clone(), "")?;
    put("white-space", "white space around it", &format!(" \t\r\n{good}\n"), accept.clone(), "")?;
    let cut = good.get(..good.len() - 1).unwrap_or_default();
    let unknown = format!("{cut},\"label\":{{\"a\":[1.5]}}}}");
    put("unknown-member", "a member that nobody knows", &unknown, accept.clone(), "")?;
    let nested = format!("{cut},\"z\":{}{}}}", "[".repeat(127), "]".repeat(127));
    put("nested", "128 levels in each other", &nested, accept, "")?;
    let reject = |rule: &str| json!({"verdict": "reject", "rules": [rule]});
    for (name, rule, summary, text) in [
        ("cut-short", "S01", "the last brace is missing", cut.to_owned()),
        ("behind", "S01", "there is more behind it", format!("{good},")),
        ("comment", "S01", "a comment", good.replacen('{', "{/* logs */", 1)),
        ("nothing", "S01", "no text at all", String::new()),
        ("nan", "S01", "NaN", good.replacen("\"n_elem\":3", "\"n_elem\":NaN", 1)),
        ("twice", "S02", "logs twice", format!("{cut},\"logs\":[]}}")),
        (
            "twice-kind",
            "S02",
            "a kind twice",
            good.replacen("\"kind\":\"ring_1d\"", "\"kind\":\"ring_1d\",\"kind\":\"ring_1d\"", 1),
        ),
        (
            "twice-op",
            "S02",
            "an op twice",
            good.replacen("\"op\":\"load\"", "\"op\":\"load\",\"op\":\"load\"", 1),
        ),
        ("twice-unknown", "S02", "an unknown member twice", format!("{cut},\"x\":1,\"x\":1}}")),
        ("root-array", "S04", "an array", format!("[{good}]")),
        ("root-null", "S04", "null", "null".to_owned()),
    ] {
        put(name, summary, &text, reject(rule), rule)?;
    }
    let float = good.replacen("\"n_elem\":", "\"scratch\":0.0,\"n_elem\":", 1);
    let either = json!({"verdict": "either", "rules": ["S04"]});
    put("float", "a scratch of 0.0, which a reader may take for 0", &float, either, "S04")
}
