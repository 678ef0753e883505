//! Tables of companions: data of the specification that code has as constants. A declaration says which file, and what its
//! records and names are called in the model of the companion, which has the types.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::declaration::{DataTable, Declaration};
use crate::opcodes::camel;

/// Where the constants of a companion stand, relative to the repository, and what they are; still without layout.
///
/// # Errors
/// A table cannot be read, or lacks what its declaration names.
pub fn files(root: &Path, declarations: &[Declaration]) -> Result<Vec<(String, String)>, String> {
    let with_tables = declarations.iter().filter(|one| !one.tables.is_empty());
    with_tables.map(|one| Ok((generated(one), render(root, one)?))).collect()
}

fn generated(declaration: &Declaration) -> String {
    format!("crates/companions/{}/model/src/generated.rs", declaration.name)
}

fn render(root: &Path, declaration: &Declaration) -> Result<String, String> {
    let mut text = format!(
        "//! The tables of `spec/companions/{}`, written by `cargo xtask codegen`.\n\nuse crate::types::*;\n",
        declaration.name
    );
    for table in &declaration.tables {
        let path = format!("spec/companions/{}/{}", declaration.name, table.file);
        let read =
            fs::read_to_string(root.join(&path)).map_err(|e| format!("{path}: cannot be read: {e}"))?;
        let whole: Value = serde_json::from_str(&read).map_err(|e| format!("{path}: {e}"))?;
        for list in &table.lists {
            let rows = whole.get(&list.member).and_then(Value::as_array);
            let rows = rows.ok_or_else(|| format!("{path}: lacks the list `{}`", list.member))?;
            let rows: Vec<String> = rows.iter().map(|row| record(table, &list.record, row)).collect();
            text.push_str(&format!(
                "\n/// {}\npub static {}: &[{}] = &[\n{},\n];\n",
                list.summary,
                list.name,
                list.record,
                rows.join(",\n")
            ));
        }
    }
    Ok(text)
}

fn record(table: &DataTable, name: &str, row: &Value) -> String {
    let members = row.as_object().into_iter().flatten();
    let members: Vec<String> =
        members.map(|(member, value)| format!("{member}: {}", literal(table, member, value))).collect();
    format!("{name} {{ {} }}", members.join(", "))
}

/// A value as an expression, by the member that it stands in.
fn literal(table: &DataTable, member: &str, value: &Value) -> String {
    match value {
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(|item| literal(table, member, item)).collect();
            format!("&[{}]", items.join(", "))
        }
        Value::Object(_) => record(table, table.records.get(member).map_or("", String::as_str), value),
        Value::String(text) => match table.names.get(member) {
            Some(kind) => format!("{kind}::{}", camel(text)),
            None => format!("{text:?}"),
        },
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde_json::json;

    use super::*;

    #[test]
    fn a_row_becomes_an_expression() {
        let pair = |a: &str, b: &str| BTreeMap::from([(a.to_owned(), b.to_owned())]);
        let table = DataTable {
            file: String::new(),
            lists: Vec::new(),
            records: pair("inputs", "Role"),
            names: pair("by", "Select"),
        };
        let row = json!({"code": -7, "inputs": [{"by": ["word-low"], "role": "k cache"}]});
        let expected = "Type { code: -7, inputs: &[Role { by: &[Select::WordLow], role: \"k cache\" }] }";
        assert_eq!(record(&table, "Type", &row), expected);
    }
}
