//! What files that people write have of the table.

use std::collections::BTreeMap;

use super::{InPlace, Opcode, Table};
use crate::region::replaced;

/// What makes the lines of a region from the table.
type Lines = fn(&Table) -> Vec<String>;

/// File, name of the region, its lines.
pub const REGIONS: &[(&str, &str, Lines)] = &[
    ("spec/opcodes/README.md", "rows", rows),
    ("spec/opcodes/README.md", "in place", in_place),
    ("crates/reference/src/opcodes/mod.rs", "modules", |table| modules(table, |_| true)),
    ("crates/reference/src/opcodes/mod.rs", "branches", |table| {
        each(table, |_| true, |op| format!("Opcode::{} => &{}::OP,", op.variant(), op.module()))
    }),
    ("crates/reference/src/vm/kernels/mod.rs", "modules", |table| modules(table, Opcode::computes)),
    ("crates/reference/src/vm/kernels/mod.rs", "branches", |table| {
        each(table, Opcode::computes, |op| format!("Opcode::{} => &{}::KERNEL,", op.variant(), op.module()))
    }),
    ("crates/adequacy/src/opcodes/mod.rs", "modules", |table| modules(table, Opcode::computes)),
    ("crates/adequacy/src/opcodes/mod.rs", "branches", |table| {
        each(table, Opcode::computes, |op| {
            format!("Opcode::{} => {}::run(kernels, task, writer),", op.variant(), op.module())
        })
    }),
    ("crates/cuda-harness/cuda/dispatch.cuh", "files", |table| {
        each(table, |_| true, |op| format!("#include \"ops/{}.cuh\"", op.module()))
    }),
    ("crates/cuda-harness/cuda/dispatch.cuh", "names", |table| {
        let lines = each(
            table,
            |_| true,
            |op| {
                let (name, function) = (&op.name, op.module());
                format!("#ifndef AMK_REPLACE_{name}\n#define AMK_REPLACE_{name} amk_op_{function}\n#endif")
            },
        );
        lines.iter().flat_map(|text| text.lines().map(str::to_owned)).collect()
    }),
    ("crates/cuda-harness/cuda/dispatch.cuh", "branches", |table| {
        each(
            table,
            |_| true,
            |op| {
                let name = &op.name;
                format!("case AMK_OP_{name}: AMK_REPLACE_{name}(program, task); return true;")
            },
        )
    }),
    ("crates/cuda-harness/cuda/single.cuh", "kernels", |table| {
        each(table, Opcode::computes, |op| format!("AMK_SINGLE({})", op.name))
    }),
    ("examples/python/validator.py", "rows", |table| {
        arities(table, |name, counts, required| format!("{name:?}: ({counts}, \"{}\"),", required.join(" ")))
    }),
    ("adapters/cpp/examples/structure.hpp", "rows", |table| {
        arities(table, |name, counts, required| {
            let names: Vec<String> = required.iter().map(|name| format!("{name:?}")).collect();
            format!("{{{name:?}, {{{counts}, {{{}}}}}}},", names.join(", "))
        })
    }),
    ("adapters/go/examples/complete/structure.go", "rows", |table| {
        // gofmt has the values below each other.
        let longest = table.opcodes.iter().map(|op| op.name.len()).max().unwrap_or(0) + "\"\":".len();
        arities(table, |name, counts, required| {
            let key = format!("{name:?}:");
            format!("{key:longest$} {{{counts}, \"{}\"}},", required.join(" "))
        })
    }),
    ("adapters/rust/examples/complete/members.rs", "rows", |table| {
        arities(table, |name, counts, required| format!("({name:?}, {counts}, \"{}\"),", required.join(" ")))
    }),
];

/// The files of [`REGIONS`] as they have to be.
///
/// # Errors
/// A file lacks a region.
pub fn regions(
    table: &Table,
    read: impl Fn(&str) -> Result<String, String>,
) -> Result<BTreeMap<&'static str, String>, String> {
    let mut files = BTreeMap::new();
    for (path, name, lines) in REGIONS {
        let text = match files.remove(path) {
            Some(text) => text,
            None => read(path)?,
        };
        let text = replaced(&text, "opcodes", name, &lines(table))
            .map_err(|problem| format!("{path}: {problem}"))?;
        files.insert(*path, text);
    }
    Ok(files)
}

fn each(table: &Table, keep: fn(&Opcode) -> bool, line: impl Fn(&Opcode) -> String) -> Vec<String> {
    table.opcodes.iter().filter(|opcode| keep(opcode)).map(line).collect()
}

/// A line for each opcode from its name, how many inputs (least and most) and outputs it has, and the parameters that it requires.
fn arities(table: &Table, line: impl Fn(&str, &str, &[String]) -> String) -> Vec<String> {
    let row = |op: &Opcode| {
        let [least, most] = op.inputs;
        line(&op.name, &format!("{least}, {most}, {}", op.outputs), &op.required)
    };
    table.opcodes.iter().map(row).collect()
}

/// In the order of rustfmt.
fn modules(table: &Table, keep: fn(&Opcode) -> bool) -> Vec<String> {
    let mut lines = each(table, keep, |op| format!("mod {};", op.module()));
    lines.sort();
    lines
}

fn rows(table: &Table) -> Vec<String> {
    let mut rows: Vec<(u8, String)> = table.opcodes.iter().map(|opcode| (opcode.code, row(opcode))).collect();
    for reserved in &table.reserved {
        let rule = "[S05](../rules/structure.md#s05-unknown-name)";
        rows.push((
            reserved.code,
            format!("| {} | {} | | | reserved: {rule} | | |", reserved.code, reserved.name),
        ));
    }
    rows.sort();
    let head = [
        "| code | opcode | inputs | outputs | required parameters | footprint is a part of | in place |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ];
    head.into_iter().map(str::to_owned).chain(rows.into_iter().map(|(_, row)| row)).collect()
}

fn row(opcode: &Opcode) -> String {
    let count = |[least, most]: [usize; 2]| {
        if least == most { least.to_string() } else { format!("{least} to {most}") }
    };
    let params =
        |names: &[String]| names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(" ");
    let (mut inputs, mut required) = (count(opcode.inputs), params(&opcode.required));
    if let Some(form) = &opcode.quantised {
        inputs.push_str(&format!("; {} if quantised", count(form.inputs)));
        required.push_str(&format!("; {} if quantised", params(&form.required)));
    }
    let in_place = match opcode.in_place {
        InPlace::Forbidden => "",
        InPlace::Allowed => "yes",
        InPlace::Required => "required",
    };
    let cells = [
        opcode.code.to_string(),
        format!("[{}]({}.md)", opcode.name, opcode.slug()),
        inputs,
        opcode.outputs.to_string(),
        required,
        opcode.footprint.clone(),
        in_place.to_owned(),
    ];
    let cell = |text: &String| if text.is_empty() { " |".to_owned() } else { format!(" {text} |") };
    format!("|{}", cells.iter().map(cell).collect::<String>())
}

fn in_place(table: &Table) -> Vec<String> {
    let allowed = each(table, |op| op.in_place == InPlace::Allowed, |op| op.name.clone()).join(", ");
    let mut lines = vec![
        "| opcode | a buffer that is both input and output |".to_owned(),
        "| --- | --- |".to_owned(),
        format!("| {allowed} | allowed, for any of the inputs |"),
    ];
    for opcode in &table.opcodes {
        if let Some(input) = opcode.in_place_input {
            let others: Vec<String> = (0..opcode.inputs[1])
                .filter(|other| *other != input)
                .map(|other| format!("`inputs[{other}]`"))
                .collect();
            lines.push(format!(
                "| {} | required: the output is `inputs[{input}]`, and is not {} |",
                opcode.name,
                others.join(" or ")
            ));
        }
    }
    lines.push("| all others | forbidden: [M07](../rules/memory-safety.md#m07-in-place) |".to_owned());
    lines
}
