//! The table of opcodes, `spec/opcodes/opcodes.json` (`schemas/opcode-table.schema.json`), and what follows from it.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde::Deserialize;

mod regions;
mod rust;
mod schema;

pub use regions::{REGIONS, regions};
pub use rust::rust;
pub use schema::schema;

/// Where the table stands.
pub const TABLE: &str = "spec/opcodes/opcodes.json";

/// The Rust list of opcodes and parameters.
pub const GENERATED: &str = "crates/ir/src/opcodes.rs";

/// The schema of what follows from an opcode.
pub const SCHEMA: &str = "schemas/opcodes.schema.json";

/// The table.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Table {
    /// The keys of `params`, in the order of the ABI record.
    pub parameters: Vec<Parameter>,
    /// By code.
    pub opcodes: Vec<Opcode>,
    /// Codes that no opcode may take.
    pub reserved: Vec<Reserved>,
    /// For editors.
    #[serde(rename = "$schema", default)]
    _schema: Option<String>,
}

/// A key of `params`.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Parameter {
    /// As JSON spells it.
    pub name: String,
    /// Of the field in the ABI record.
    #[serde(rename = "type")]
    pub kind: Kind,
    /// In Rust, where it does not follow from the name.
    #[serde(default)]
    variant: Option<String>,
}

/// Type of a parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// An integer.
    Int32,
    /// A number.
    Float32,
}

/// A row of the table.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Opcode {
    /// In the ABI, and the number of its clause.
    pub code: u8,
    /// As JSON spells it.
    pub name: String,
    /// In Rust, where it does not follow from the name.
    #[serde(default)]
    variant: Option<String>,
    /// In a sentence.
    pub summary: String,
    /// Fewest and most.
    pub inputs: [usize; 2],
    /// How many.
    pub outputs: usize,
    /// What its operands take, where that depends on nothing but their place.
    #[serde(default)]
    pub dtypes: Option<Dtypes>,
    /// Parameters that rule S13 demands.
    #[serde(default)]
    pub required: Vec<String>,
    /// Parameters that its page names beside those.
    #[serde(default)]
    pub optional: Vec<String>,
    /// What differs where `qdtype` is given.
    #[serde(default)]
    pub quantised: Option<Quantised>,
    /// Operands of which it touches a part.
    #[serde(default)]
    pub footprint: String,
    /// Whether an input may be the output.
    #[serde(default)]
    pub in_place: InPlace,
    /// The input that has to be the output, where one has to.
    #[serde(default)]
    pub in_place_input: Option<usize>,
}

/// `float` or a dtype, by operand.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Dtypes {
    /// The last stands for all that follow.
    pub inputs: Vec<String>,
    /// Absent where there is no output.
    #[serde(default)]
    pub output: Option<String>,
}

/// The quantised form.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quantised {
    /// Fewest and most.
    pub inputs: [usize; 2],
    /// Required beside the others.
    pub required: Vec<String>,
}

/// Clause EXE-10.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum InPlace {
    /// Of no input.
    #[default]
    Forbidden,
    /// Of any input.
    Allowed,
    /// Of one input.
    Required,
}

/// A code that is kept free.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Reserved {
    /// The code.
    pub code: u8,
    /// What it is kept for.
    pub name: String,
}

impl Table {
    /// Reads the table.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn read(root: &Path) -> Result<Table, String> {
        let text =
            fs::read_to_string(root.join(TABLE)).map_err(|e| format!("{TABLE}: cannot be read: {e}"))?;
        Table::from_text(&text)
    }

    /// The same from text.
    ///
    /// # Errors
    /// What is wrong with it.
    pub fn from_text(text: &str) -> Result<Table, String> {
        let table: Table = serde_json::from_str(text).map_err(|e| format!("{TABLE}: {e}"))?;
        match table.problems().as_slice() {
            [] => Ok(table),
            problems => Err(problems.join("\n")),
        }
    }

    /// What a schema cannot say.
    fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        let mut problem = |text: String| problems.push(format!("{TABLE}: {text}"));
        let known: BTreeSet<&str> = self.parameters.iter().map(|each| each.name.as_str()).collect();
        let (mut names, mut codes) = (BTreeSet::new(), BTreeSet::new());
        let reserved = self.reserved.iter().map(|each| (each.code, &each.name));
        for (code, name) in self.opcodes.iter().map(|each| (each.code, &each.name)).chain(reserved) {
            if !names.insert(name) {
                problem(format!("the name {name} is taken twice"));
            }
            if !codes.insert(code) {
                problem(format!("{name}: code {code} is taken or reserved"));
            }
        }
        if !self.opcodes.is_sorted_by_key(|each| each.code) {
            problem("opcodes are not in the order of their codes".to_owned());
        }
        for opcode in &self.opcodes {
            let more = opcode.quantised.iter().flat_map(|form| &form.required);
            for param in opcode.required.iter().chain(&opcode.optional).chain(more) {
                if !known.contains(param.as_str()) {
                    problem(format!("{}: `{param}` is no parameter of the table", opcode.name));
                }
            }
            let forms = [Some(opcode.inputs), opcode.quantised.as_ref().map(|form| form.inputs)];
            if forms.iter().flatten().any(|[least, most]| least > most) {
                problem(format!("{}: at least more inputs than at most", opcode.name));
            }
            let required = opcode.in_place == InPlace::Required;
            if required != opcode.in_place_input.is_some() {
                problem(format!("{}: `in_place_input` goes with `in_place` \"required\"", opcode.name));
            }
        }
        problems
    }

    /// The names in Rust of parameters.
    fn params(&self, names: &[String]) -> String {
        let variant = |name: &String| {
            let found = self.parameters.iter().find(|each| each.name == *name);
            format!("Param::{}", found.map(Parameter::variant).unwrap_or_default())
        };
        format!("&[{}]", names.iter().map(variant).collect::<Vec<_>>().join(", "))
    }
}

impl Parameter {
    /// Its name in Rust.
    pub fn variant(&self) -> String {
        self.variant.clone().unwrap_or_else(|| camel(&self.name))
    }
}

impl Opcode {
    /// Its name in Rust.
    pub fn variant(&self) -> String {
        self.variant.clone().unwrap_or_else(|| camel(&self.name.to_lowercase()))
    }

    /// The name of its modules and kernels: `silu_mul`.
    pub fn module(&self) -> String {
        self.name.to_lowercase()
    }

    /// The name of its page: `silu-mul`.
    pub fn slug(&self) -> String {
        self.module().replace('_', "-")
    }

    /// The clause that defines it.
    pub fn clause(&self) -> String {
        format!("OPC-{:02}", self.code)
    }

    /// Whether it has operands, and so computes something.
    pub fn computes(&self) -> bool {
        self.outputs > 0
    }

    /// Whether its output can be of a *float* dtype.
    pub fn writes_floats(&self) -> bool {
        let output = self.dtypes.as_ref().and_then(|dtypes| dtypes.output.as_deref());
        self.computes() && output.is_none_or(|dtype| dtype == "float")
    }
}

/// `n_kv_heads` as `NKvHeads`, and `word-low` as `WordLow`.
pub(crate) fn camel(name: &str) -> String {
    let capital = |word: &str| {
        let mut letters = word.chars();
        letters.next().map(|first| first.to_ascii_uppercase().to_string() + letters.as_str())
    };
    name.split(['-', '_']).filter_map(capital).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: &str = r#"{"parameters": [{"name": "eps", "type": "float32"}], "reserved": [{"code": 19, "name": "FUSED"}],
        "opcodes": [{"code": 1, "name": "KV_APPEND", "summary": "s", "inputs": [1, 2], "outputs": 1, "required": ["eps"]}]}"#;

    #[test]
    fn names_follow_from_one() {
        let table = Table::from_text(ONE).expect("a table");
        let opcode = &table.opcodes[0];
        assert_eq!(
            [opcode.variant(), opcode.module(), opcode.slug(), opcode.clause()],
            ["KvAppend", "kv_append", "kv-append", "OPC-01"]
        );
        assert_eq!(table.params(&opcode.required), "&[Param::Eps]");
    }

    #[test]
    fn what_a_schema_cannot_say_is_refused() {
        for (from, to, problem) in [
            ("\"code\": 1,", "\"code\": 19,", "code 19 is taken or reserved"),
            ("KV_APPEND", "FUSED", "the name FUSED is taken twice"),
            ("[\"eps\"]", "[\"eqs\"]", "KV_APPEND: `eqs` is no parameter"),
            ("[1, 2]", "[3, 2]", "KV_APPEND: at least more inputs"),
            ("\"outputs\"", "\"in_place\": \"required\", \"outputs\"", "`in_place_input` goes with"),
        ] {
            let error = Table::from_text(&ONE.replace(from, to)).expect_err(problem);
            assert!(error.contains(problem), "{error}");
        }
    }
}
