//! Descriptions of modules: the rules CC, and CW03.

use serde_json::{Value, json};

use crate::build::Shape;
use crate::item::Planted;

/// Accepted descriptions, by the names of their files.
pub fn bases() -> Vec<(String, Value)> {
    let map = json!({"ring_1d": 0, "torus_2d": 1, "mesh_2d_no_wrap": 2});
    let kernel = json!({"symbols": ["SIP_TOPO_RING", "TOPO_NAME_TO_KIND", "kernel", "kernel_args"],
        "positional": 9, "tl": true, "arguments": 4, "kinds": map});
    let shapes = [
        Shape::ring(1).cubes(4, 4),
        Shape::ring(2),
        Shape::ring(8).cubes(4, 4),
        Shape::torus(2, 3),
        Shape::torus(4, 4).cubes(4, 4),
        Shape::mesh(3, 1).cubes(2, 3),
        Shape::mesh(2, 2),
    ];
    let mut bases: Vec<(String, Value)> = shapes
        .iter()
        .map(|shape| {
            let document =
                json!({"module": kernel, "topology": shape.topology(), "world_size": shape.ranks()});
            (format!("module-{}", shape.slug()), document)
        })
        .collect();
    let ring = Shape::ring(4).topology();
    let mut put = |name: &str, members: Value| {
        let mut module = kernel.clone();
        if let (Some(module), Some(members)) = (module.as_object_mut(), members.as_object()) {
            module.extend(members.clone());
        }
        bases.push((format!("module-{name}"), json!({"module": module, "topology": ring})));
    };
    put("no-map", json!({"kinds": null}));
    put("no-arguments", json!({"arguments": 0, "positional": 5}));
    put("defaults", json!({"required": 6, "positional": 12}));
    put("variadic", json!({"required": 1, "positional": 1, "variadic": true}));
    put("single-kind", json!({"kinds": {"ring_1d": 7}}));
    bases
}

/// What is planted in them.
pub fn planted() -> Vec<Planted> {
    let mut planted = Vec::new();
    for (count, (base, document)) in bases().into_iter().enumerate() {
        let mut put = |rule: &'static str, name: &str, what: &str, path: &str, value: Value, at: &str| {
            planted.push(Planted {
                base: base.clone(),
                name: name.to_owned(),
                summary: format!("a module, but {what}"),
                edit: vec![json!({"op": "add", "path": path, "value": value})],
                rule,
                at: Some(at.to_owned()),
            });
        };
        let symbols = [
            json!(["kernel"]),
            json!(["kernel_args", "TOPO_NAME_TO_KIND"]),
            json!([]),
            json!(["Kernel", "kernel_args"]),
        ];
        put(
            "CC01",
            "symbols",
            "a symbol is missing",
            "/module/symbols",
            symbols[count % 4].clone(),
            "/module/symbols",
        );
        let variadic = document["module"]["variadic"] == json!(true);
        if variadic {
            put(
                "CC02",
                "required",
                "the kernel requires more",
                "/module/required",
                json!(10),
                "/module/positional",
            );
        } else {
            let positional = document["module"]["arguments"].as_u64().unwrap_or(0) + [4, 0][count % 2];
            let mut number = json!(positional);
            if document["module"].get("required").is_some() {
                number = json!(8);
            }
            put(
                "CC02",
                "fewer",
                "the kernel takes fewer arguments",
                "/module/positional",
                number,
                "/module/positional",
            );
            put(
                "CC02",
                "longer",
                "`kernel_args` makes more arguments",
                "/module/arguments",
                json!(9 + count),
                "/module/positional",
            );
        }
        put("CC03", "tl", "the kernel does not take `tl`", "/module/tl", json!(false), "/module/tl");
        let kinds = [json!({}), json!({"ring": 0, "torus": 1}), json!({"mesh_2d": 1}), json!({"RING_1D": 0})];
        put(
            "CC04",
            "kinds",
            "its map does not have the kind",
            "/module/kinds",
            kinds[count % 4].clone(),
            "/module/kinds",
        );
        let ranks = document["topology"]["ranks"].as_u64().unwrap_or(1);
        put(
            "CC05",
            "world",
            "the registry has another number of ranks",
            "/world_size",
            json!(ranks + 1),
            "/world_size",
        );
        if document["topology"]["kind"] != json!("ring_1d") {
            put("CW03", "no-map", "it has no map", "/module/kinds", Value::Null, "/module/kinds");
            let edit = vec![json!({"op": "remove", "path": "/module/kinds"})];
            let summary = "a module, but the map is not spoken of".to_owned();
            let (name, at) = ("silent".to_owned(), Some("/module".to_owned()));
            planted.push(Planted { base: base.clone(), name, summary, edit, rule: "CW03", at });
        }
    }
    planted
}
