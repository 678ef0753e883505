//! The records of the ABI against the tables of the specification, and against what C compilers make of the header.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use megakernel_abi::{self as abi, LAYOUTS, Layout};
use megakernel_test_support::tools::{Tool, require};
use megakernel_test_support::{files, root};

/// A record as a text says it: name, size, alignment, and offset, size, type and name of each field.
#[derive(Debug, PartialEq)]
struct Said {
    name: String,
    size: usize,
    align: usize,
    fields: Vec<(usize, usize, String, String)>,
}

fn said(layout: &Layout) -> Said {
    let fields = layout.fields.iter().map(|field| {
        let name = field.extent.map_or(field.name.to_owned(), |_| {
            let element = match field.c_type {
                "int64_t" => 8,
                _ => 4,
            };
            format!("{}[{}]", field.name, field.size / element)
        });
        (field.offset, field.size, field.c_type.replace(' ', ""), name)
    });
    Said { name: layout.name.to_owned(), size: layout.size, align: layout.align, fields: fields.collect() }
}

/// The tables below ABI-01.
fn specified() -> Vec<Said> {
    let text = files::text(&root().join("spec/abi.md"));
    let text = text.split("### ").find(|section| section.starts_with("ABI-01")).expect("a section ABI-01");
    let mut records: Vec<Said> = Vec::new();
    for line in text.lines() {
        if let Some((name, rest)) = line.strip_prefix("**`").and_then(|line| line.split_once("`**: ")) {
            let words: Vec<&str> = rest.split([' ', ',', '.']).collect();
            let number = |near: &str, step: isize| {
                let place = words.iter().position(|word| *word == near)?.checked_add_signed(step)?;
                words.get(place)?.parse().ok()
            };
            if let (Some(size), Some(align)) = (number("bytes", -1), number("alignment", 1)) {
                records.push(Said { name: name.to_owned(), size, align, fields: Vec::new() });
            }
        }
        let Some(record) = records.last_mut() else { continue };
        // A cell such as "int32 `K`", after one with the offset and, where sizes differ, one with the size.
        let cells: Vec<&str> = line.split('|').map(str::trim).collect();
        for (place, cell) in cells.iter().enumerate() {
            let Some((type_, name)) = cell.strip_suffix('`').and_then(|cell| cell.split_once('`')) else {
                continue;
            };
            let number = |back: usize| place.checked_sub(back).and_then(|n| cells[n].parse::<usize>().ok());
            let (offset, size) = match (number(2), number(1)) {
                (Some(offset), Some(size)) => (offset, size),
                (None, Some(offset)) => (offset, 4),
                _ => continue,
            };
            record.fields.push((offset, size, in_c(type_.trim()), name.to_owned()));
        }
        // The first table has three columns of fields; the others are in order already.
        record.fields.sort();
    }
    records
}

fn in_c(type_: &str) -> String {
    if type_.starts_with("int") {
        type_.replacen("32", "32_t", 1).replacen("64", "64_t", 1)
    } else {
        type_.to_owned()
    }
}

#[test]
fn records_are_as_the_clause_says() {
    let specified = specified();
    let counter = Said { name: "amk_counter_t".into(), size: 4, align: 4, fields: Vec::new() };
    assert_eq!((specified.len(), specified.contains(&counter)), (LAYOUTS.len() + 1, true));
    for layout in LAYOUTS {
        let found = said(layout);
        assert_eq!(specified.iter().find(|record| record.name == layout.name), Some(&found));
        assert_eq!(found.fields.len(), layout.fields.len());
    }
    assert_eq!(LAYOUTS.iter().map(|layout| layout.fields.len()).collect::<Vec<_>>(), [22, 8, 11, 12]);
}

/// Compiles and runs a program that prints what the compiler thinks.
fn compiled(tool: Tool, arguments: &[&str]) -> String {
    let compiler = require(tool);
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let program = folder.join(format!("abi-{compiler}"));
    let mut source = abi::header() + "#include <stdio.h>\nint main(void) {\n";
    for layout in LAYOUTS {
        let name = layout.name;
        source += &format!("printf(\"{name} %zu\\n\", sizeof({name}));\n");
        for field in layout.fields {
            let field = field.name;
            source += &format!(
                "printf(\"{field} %zu %zu\\n\", __builtin_offsetof({name}, {field}), sizeof((({name} *)0)->{field}));\n"
            );
        }
    }
    source += "printf(\"%d %d %d\\n\", AMK_OP_ATTENTION_COMBINE, AMK_DTYPE_BOOL, AMK_SPACE_REGISTER);\nreturn 0; }\n";
    let mut child = Command::new(&compiler)
        .args(["-Wall", "-Wextra", "-Wpedantic", "-Werror"])
        .args(arguments)
        .args(["-", "-o"])
        .arg(&program)
        .stdin(Stdio::piped())
        .spawn()
        .expect("the compiler starts");
    let mut stdin = child.stdin.take().expect("a pipe");
    stdin.write_all(source.as_bytes()).expect("the compiler reads");
    drop(stdin);
    assert!(child.wait().expect("the compiler ends").success(), "{compiler} does not take the header");
    let output = Command::new(&program).output().expect("the program runs");
    String::from_utf8(output.stdout).expect("text")
}

#[test]
fn compilers_agree_with_the_records() {
    let mut expected = String::new();
    for layout in LAYOUTS {
        expected += &format!("{} {}\n", layout.name, layout.size);
        for field in layout.fields {
            expected += &format!("{} {} {}\n", field.name, field.offset, field.size);
        }
    }
    expected += "18 9 3\n";
    for (tool, arguments) in [(Tool::C, ["-std=c11", "-xc"]), (Tool::Cxx, ["-std=c++11", "-xc++"])] {
        assert_eq!(compiled(tool, &arguments), expected, "{tool:?}");
    }
}
