//! KW02: a kernel that another one dominates, and for each part of the sentence a pair in which that part alone fails.

use megakernel_ir::rule::{Rule, clause};
use serde_json::{Value, json};

use super::bases::base;
use crate::item::{Expect, Item, select};

/// What the cheaper kernel `a` has beside a stage, what the dearer `b` has, and whether `a` dominates `b`.
type Pair = (String, Value, Value, bool);

/// Arrays of constraints: two entries in `a`, and in `b` what a subset of them is and what is none.
fn arrays(pairs: &mut Vec<Pair>) {
    for (row, sub, entries) in [
        ("dtype", "in", ["F16", "BF16", "F32"]),
        ("dtype", "out", ["F16", "I8", "I4"]),
        ("dtype", "acc", ["F32", "I32", "F16"]),
        ("dtype", "weight", ["I4", "I8", "BOOL"]),
        ("layout", "order", ["row", "col", "any"]),
        ("layout", "pack", ["gate-up", "qkv", ""]),
        ("layout", "trans", ["nt", "nn", "NT"]),
        ("epilogue", "allow", ["bias", "scale", "residual"]),
        ("epilogue", "activation", ["none", "relu", "gelu"]),
    ] {
        let [one, two, three] = entries;
        let of = |list: Value| json!({row: {sub: list}});
        for (name, a, b, is_subset) in [
            ("equal", of(json!([one, two])), of(json!([one, two])), true),
            ("swapped", of(json!([one, two])), of(json!([two, one])), true),
            ("part", of(json!([one, two])), of(json!([two])), true),
            ("more", of(json!([one])), of(json!([one, two])), false),
            ("beside", of(json!([one, two])), of(json!([two, three])), false),
            ("other", of(json!([one])), of(json!([three])), false),
            ("absent in b", of(json!([one, two])), json!({}), false),
            ("null in b", of(json!([one, two])), of(Value::Null), false),
            ("absent in a", json!({}), of(json!([one])), true),
            ("null in a", of(Value::Null), of(json!([one])), true),
        ] {
            pairs.push((format!("{sub} {name}"), a, b, is_subset));
        }
    }
    let all = json!({"epilogue": {"allow": ["bias", "scale", "residual"]}});
    pairs.push(("allow all said aloud in a".to_owned(), all.clone(), json!({}), false));
    pairs.push(("allow all said aloud in b".to_owned(), json!({}), all, true));
    pairs.push((
        "allow nothing in b".to_owned(),
        json!({"epilogue": {"allow": ["bias"]}}),
        json!({"epilogue": {"allow": []}}),
        true,
    ));
}

/// Roles, flags that are required, effects, alignments.
#[rustfmt::skip] // a table
fn members(pairs: &mut Vec<Pair>) {
    let m = |range: Value| json!({"shape": {"m": range}});
    let require = |flags: Value| json!({"epilogue": {"require": flags}});
    let needs = |sub: &str, value: Value| json!({"requirements": {sub: value}});
    for (name, a, b, fits) in [
        ("min equal", m(json!({"min": 4})), m(json!({"min": 4})), true),
        ("min more", m(json!({"min": 4})), m(json!({"min": 5})), true),
        ("min less", m(json!({"min": 4})), m(json!({"min": 3})), false),
        ("min default in b", m(json!({"min": 2})), m(json!({})), false),
        ("min default in a", m(json!({})), m(json!({"min": 2})), true),
        ("min said aloud", m(json!({"min": 1})), m(json!({})), true),
        ("max equal", m(json!({"max": 8})), m(json!({"max": 8})), true),
        ("max less", m(json!({"max": 8})), m(json!({"max": 7})), true),
        ("max more", m(json!({"max": 8})), m(json!({"max": 9})), false),
        ("max absent in b", m(json!({"max": 8})), m(json!({})), false),
        ("max null in b", m(json!({"max": 8})), m(json!({"max": null})), false),
        ("max null in a", m(json!({"max": null})), m(json!({"max": 8})), true),
        ("multiple equal", m(json!({"multiple": 4})), m(json!({"multiple": 4})), true),
        ("multiple more", m(json!({"multiple": 4})), m(json!({"multiple": 8})), true),
        ("multiple larger and none", m(json!({"multiple": 4})), m(json!({"multiple": 6})), false),
        ("multiple prime", m(json!({"multiple": 3})), m(json!({"multiple": 4})), false),
        ("multiple less", m(json!({"multiple": 8})), m(json!({"multiple": 4})), false),
        ("multiple default in b", m(json!({"multiple": 2})), m(json!({})), false),
        ("multiple default in a", m(json!({})), m(json!({"multiple": 3})), true),
        ("multiples that meet", m(json!({"multiple": 4})), m(json!({"multiple": 2, "min": 4, "max": 4})), false),
        ("role absent in b", m(json!({"max": 8})), json!({}), false),
        ("role of no limit absent in b", m(json!({})), json!({}), false),
        ("role absent in a", json!({}), m(json!({"max": 8})), true),
        ("role of another name", m(json!({"max": 8})), json!({"shape": {"n": {"max": 8}}}), false),
        ("role in another case", m(json!({"max": 8})), json!({"shape": {"M": {"max": 8}}}), false),
        ("two roles of three", json!({"shape": {"m": {"max": 8}, "n": {"min": 2}}}), json!({"shape": {"k": {}, "m": {"max": 4}, "n": {"min": 2}}}), true),
        ("one role of two", json!({"shape": {"m": {"max": 8}, "n": {"min": 2}}}), m(json!({"max": 4})), false),
        ("second role wider", json!({"shape": {"m": {"max": 8}, "n": {"min": 2}}}), json!({"shape": {"m": {"max": 4}, "n": {"min": 1}}}), false),
        ("require equal", require(json!(["bias"])), require(json!(["bias"])), true),
        ("require more", require(json!(["bias"])), require(json!(["scale", "bias"])), true),
        ("require another", require(json!(["bias"])), require(json!(["scale"])), false),
        ("require fewer", require(json!(["bias", "scale"])), require(json!(["bias"])), false),
        ("require none in b", require(json!(["bias"])), json!({}), false),
        ("require none in a", json!({}), require(json!(["bias"])), true),
        ("require empty", require(json!([])), json!({}), true),
        ("effects equal", json!({"effects": ["cache"]}), json!({"effects": ["cache"]}), true),
        ("effects swapped", json!({"effects": ["cache", "alias"]}), json!({"effects": ["alias", "cache"]}), true),
        ("effects fewer", json!({"effects": ["cache", "overwrite"]}), json!({"effects": ["overwrite"]}), true),
        ("effects none", json!({"effects": ["cache"]}), json!({}), true),
        ("effects more", json!({"effects": ["cache"]}), json!({"effects": ["cache", "alias"]}), false),
        ("effects in b alone", json!({}), json!({"effects": ["cache"]}), false),
        ("effects beside", json!({"effects": ["cache", "alias"]}), json!({"effects": ["alias", "random"]}), false),
    ] {
        pairs.push((name.to_owned(), a, b, fits));
    }
    for sub in ["align", "vector"] {
        for (name, a, b, fits) in [
            ("equal", json!(16), json!(16), true),
            ("multiple", json!(16), json!(48), true),
            ("larger", json!(16), json!(24), false),
            ("smaller", json!(16), json!(8), false),
            ("absent in b", json!(16), Value::Null, false),
            ("one and absent", json!(1), Value::Null, false),
            ("absent in a", Value::Null, json!(3), true),
        ] {
            pairs.push((format!("{sub} {name}"), needs(sub, a), needs(sub, b), fits));
        }
    }
}

/// Pairs of stages, of costs and of ids.
#[rustfmt::skip] // tables
fn stages_and_costs() -> Vec<(String, Value, Value, bool)> {
    let mut pairs = Vec::new();
    let of = |id: &str, fixed: &str, stages: Value| json!({"id": id, "stages": stages, "cost": {"fixed": fixed}});
    let plain = || json!({"class": "relu", "out": true});
    for (name, a, b, fits) in [
        ("class other", plain(), json!({"class": "bias", "out": true}), false),
        ("core equal", json!({"class": "relu", "core": "ew", "out": true}), json!({"class": "relu", "core": "ew", "out": true}), true),
        ("core in b alone", plain(), json!({"class": "relu", "core": "ew", "out": true}), false),
        ("core in a alone", json!({"class": "relu", "core": "ew", "out": true}), plain(), false),
        ("core other", json!({"class": "relu", "core": "ew", "out": true}), json!({"class": "relu", "core": "norm", "out": true}), false),
        ("core null", json!({"class": "relu", "core": null, "out": true}), plain(), true),
        ("chain swapped", json!({"class": "relu", "chain": [0, 1], "out": true}), json!({"class": "relu", "chain": [1, 0], "out": true}), true),
        ("chain three turned", json!({"class": "relu", "chain": [2, 0, 1], "out": true}), json!({"class": "relu", "chain": [0, 1, 2], "out": true}), true),
        ("chain of more", json!({"class": "relu", "chain": [0], "out": true}), json!({"class": "relu", "chain": [0, 1], "out": true}), false),
        ("chain of fewer", json!({"class": "relu", "chain": [0, 1], "out": true}), json!({"class": "relu", "chain": [0], "out": true}), false),
        ("chain empty in a", json!({"class": "relu", "chain": [], "out": true}), plain(), false),
        ("chain empty in b", plain(), json!({"class": "relu", "chain": [], "out": true}), false),
        ("chain null", json!({"class": "relu", "chain": null, "out": true}), plain(), true),
        ("chain empty in both", json!({"class": "relu", "chain": [], "out": true}), json!({"class": "relu", "chain": [], "out": true}), true),
        ("rounds by default", json!({"class": "relu", "rounds": true, "out": true}), plain(), true),
        ("rounds in a alone", plain(), json!({"class": "relu", "rounds": false, "out": true}), false),
        ("rounds in b alone", json!({"class": "relu", "rounds": false, "out": true}), plain(), false),
        ("rounds in neither", json!({"class": "relu", "rounds": false, "out": true}), json!({"class": "relu", "rounds": false, "out": true}), true),
        ("optional in a alone", json!({"class": "relu", "optional": true, "out": true}), plain(), true),
        ("optional in b alone", plain(), json!({"class": "relu", "optional": true, "out": true}), false),
        ("optional said aloud", json!({"class": "relu", "optional": false, "out": true}), plain(), true),
        ("out in a alone", plain(), json!({"class": "relu"}), true),
        ("out in b alone", json!({"class": "relu"}), plain(), false),
    ] {
        pairs.push((name.to_owned(), of("a", "1", json!([a.clone()])), of("b", "2", json!([b.clone()])), fits));
        let first = json!({"class": "bias", "out": true});
        pairs.push((format!("{name} in the second stage"), of("a", "1", json!([first, a])), of("b", "2", json!([first, b])), fits));
    }
    let relu = || json!([plain()]);
    pairs.push(("stages more in a".to_owned(), of("a", "1", json!([plain(), {"class": "bias", "optional": true, "out": true}])), of("b", "2", relu()), false));
    pairs.push(("stages more in b".to_owned(), of("a", "1", relu()), of("b", "2", json!([plain(), {"class": "bias", "optional": true, "out": true}])), false));
    // The narrower kernel is no reason to warn of the wider one, whatever the costs are.
    let narrow = |id: &str, fixed: &str| json!({"id": id, "stages": relu(), "shape": {"m": {"max": 8}}, "cost": {"fixed": fixed}});
    for (name, [id, fixed], [other, dearer], fits) in [
        ("cost less", ["z", "1"], ["a", "2"], true),
        ("cost more", ["a", "2"], ["z", "1"], false),
        ("cost less by little", ["z", "1"], ["a", "1000000000000000001/1000000000000000000"], true),
        ("cost more by little", ["a", "1000000000000000001/1000000000000000000"], ["z", "1"], false),
        ("cost equal", ["a", "3/2"], ["b", "1.5"], true),
        ("cost equal later", ["b", "3/2"], ["a", "1.5"], false),
        ("cost equal in other digits", ["k", "02"], ["k1", "4/2"], true),
        ("cost equal and a prefix", ["k1", "2"], ["k", "2"], false),
        ("cost equal and capitals", ["Z", "2"], ["a", "2"], true),
        ("cost equal and small letters", ["a", "2"], ["Z", "2"], false),
        ("cost equal beyond 16 bits", ["\u{e000}", "2"], ["\u{10000}", "2"], true),
        ("cost equal below 16 bits", ["\u{10000}", "2"], ["\u{e000}", "2"], false),
        ("cost equal at the end of 16 bits", ["\u{ffee}", "2"], ["\u{1f600}", "2"], true),
        ("cost nothing", ["z", "0"], ["a", "1/1000"], true),
    ] {
        pairs.push((name.to_owned(), of(id, fixed, relu()), narrow(other, dearer), fits));
    }
    let terms = |id: &str, cost: Value| json!({"id": id, "stages": relu(), "cost": cost});
    let zero = || json!([{"times": "0"}]);
    for (name, a, b) in [
        ("terms in a", json!({"fixed": "1", "bytes": [{"dims": ["m"]}]}), json!({"fixed": "2"})),
        ("terms in b", json!({"fixed": "1"}), json!({"fixed": "2", "flops": [{"dims": ["m"]}]})),
        ("terms in both", json!({"fixed": "1", "bytes": [{"dims": ["m"]}]}), json!({"fixed": "2", "bytes": [{"dims": ["m"]}]})),
        ("terms of nothing in a", json!({"fixed": "1", "flops": zero()}), json!({"fixed": "2"})),
        ("terms of nothing in b", json!({"fixed": "1"}), json!({"fixed": "2", "bytes": zero()})),
    ] {
        pairs.push((name.to_owned(), terms("a", a), terms("b", b), false));
    }
    pairs.push(("no terms".to_owned(), terms("a", json!({"fixed": "1", "bytes": [], "flops": []})), terms("b", json!({"fixed": "2"})), true));
    pairs
}

/// KW02.
pub fn dominations() -> Vec<Item> {
    let mut pairs = Vec::new();
    arrays(&mut pairs);
    members(&mut pairs);
    let with = |id: &str, fixed: &str, members: &Value| {
        let kernel = json!({"id": id, "stages": [{"class": "relu", "out": true}], "cost": {"fixed": fixed}});
        crate::build::with(kernel, members)
    };
    let mut pairs: Vec<(String, Value, Value, bool)> = pairs
        .into_iter()
        .map(|(name, a, b, fits)| (name, with("a", "1", &a), with("b", "2", &b), fits))
        .collect();
    pairs.extend(stages_and_costs());
    let one = |(turn, (name, a, b, fits)): (usize, (String, Value, Value, bool))| {
        let verb = if fits { "one kernel does all that" } else { "neither kernel does all that" };
        let summary = format!("{verb} the other does: {name}");
        let file = "index-units";
        let add = |kernel: Value| json!({"op": "add", "path": "/kernels/-", "value": kernel});
        // The order of the kernels has no part in it.
        let edit = if turn % 2 == 0 { vec![add(a), add(b)] } else { vec![add(b), add(a)] };
        let item = select(file, &summary, &[*Rule::KW02.clause(), clause::SEL_13], base(file));
        let rules = if fits { vec![Rule::KW02] } else { Vec::new() };
        Item { method: "validate", expect: Expect::Warn(rules), ..item.edited(&name, &summary, edit) }
    };
    pairs.into_iter().enumerate().map(one).collect()
}
