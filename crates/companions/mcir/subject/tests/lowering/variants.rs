//! Other right lowerings.

use serde_json::{Value, json};

use crate::{Lowering, array, bodies, each_of, instructions, more, number, views};

/// Other right lowerings.
pub const VARIANTS: &[(&str, Lowering)] = &[
    ("initial values that are cast again", |made| {
        bodies(made, &mut |body, _| {
            let cast_again = |each: Value| {
                // Each is copied onto itself: what has been cast is left alone.
                let copy = (each["op"] == "fill").then(|| {
                    let out = &each["out"];
                    [json!({"op": "sync"}), json!({"op": "compute", "fn": "copy", "in": [out], "out": [out]})]
                });
                std::iter::once(each).chain(copy.into_iter().flatten())
            };
            *body = std::mem::take(body).into_iter().flat_map(cast_again).collect();
        });
    }),
    ("block loops in the other order", |made| {
        array(&mut made["kernels"]).iter_mut().for_each(|kernel| array(&mut kernel["blocks"]).reverse());
    }),
    ("threads meet everywhere", |made| {
        bodies(made, &mut |body, _| {
            *body = std::mem::take(body).into_iter().flat_map(|each| [json!({"op": "sync"}), each]).collect();
        });
    }),
    ("tiles in registers in one allocation", |made| {
        for kernel in array(&mut made["kernels"]) {
            let allocations = kernel["allocations"].as_object().expect("a map").clone();
            let at_first: Vec<String> = array(&mut kernel["body"])
                .iter()
                .take_while(|each| each["op"] == "alloc" || each["op"] == "let")
                .filter_map(|each| each["allocation"].as_str().map(str::to_owned))
                .filter(|name| allocations[name]["memory"] == "register")
                .collect();
            let mut bytes = 0;
            // Those of four bytes first, since each begins at a multiple of its size.
            for size in ["F32", "F16", "BF16"] {
                for name in at_first
                    .iter()
                    .filter(|name| kernel["buffers"][*name]["dtype"] == size)
                    .cloned()
                    .collect::<Vec<_>>()
                {
                    kernel["buffers"][&name]["allocation"] = json!("together");
                    kernel["buffers"][&name]["offset"] = json!(bytes);
                    bytes += number(&allocations[&name]["bytes"]);
                }
            }
            if bytes == 0 {
                continue;
            }
            let of_them = |each: &Value| at_first.iter().any(|name| each["allocation"] == name.as_str());
            array(&mut kernel["body"]).retain(|each| !of_them(each));
            array(&mut kernel["body"]).insert(0, json!({"op": "alloc", "allocation": "together"}));
            kernel["allocations"]["together"] = json!({"memory": "register", "bytes": bytes});
        }
    }),
    ("loops that are unrolled by one iteration", |made| {
        bodies(made, &mut |body, _| {
            let Some(at) = body.iter().position(|each| each["op"] == "loop") else { return };
            let mut rest = body[at].clone();
            let from = rest["from"].clone();
            // The first iteration is a loop of its own, of one value; the others are numbered from 1 on.
            let step = number(&rest["step"]);
            body[at]["to"] = json!("once");
            let bound =
                json!({"op": "let", "name": "once", "fn": "min", "of": [rest["to"], more(&from, step)]});
            rest["from"] = more(&from, step);
            let number = rest["number"].as_str().expect("a name").to_owned();
            let next = json!({"op": "let", "name": number, "fn": "max", "of": [["before", 1]]});
            rest["number"] = json!("before");
            array(&mut rest["body"]).insert(0, next);
            body.insert(at + 1, rest);
            body.insert(at, bound);
        });
    }),
    ("other names", |made| {
        // Buffers and allocations have the same names here, and integers others.
        for kernel in array(&mut made["kernels"]) {
            for member in ["allocations", "buffers"] {
                let all = kernel[member].as_object().expect("a map").clone();
                kernel[member] =
                    all.into_iter().map(|(name, value)| (format!("tile {name}"), value)).collect();
            }
        }
        let other = |value: &mut Value| {
            if let Some(name) = value.as_str() {
                *value = json!(format!("tile {name}"));
            }
        };
        each_of(made, "buffers", |buffer| other(&mut buffer["allocation"]));
        instructions(made, |each| {
            each.get_mut("allocation").into_iter().for_each(other);
            each.get_mut("for").into_iter().flat_map(array).for_each(|slot| other(&mut slot["buffer"]));
        });
        views(made, |view| other(&mut view["buffer"]));
    }),
];
