//! The names in the schemas are those of the code, in the same order.

use megakernel_ir::names::{BufferKind, DType, MemSpace, Opcode};
use megakernel_ir::params::Param;
use megakernel_task_graph::{Mode, TensorKind};
use serde_json::Value;

use super::set::schemas;

fn names(schema: &Value, pointer: &str) -> Vec<String> {
    let list = schema.pointer(pointer).unwrap_or_else(|| panic!("no {pointer} in the schema"));
    serde_json::from_value(list.clone()).unwrap_or_else(|_| panic!("{pointer} is no list of names"))
}

#[test]
fn enumerations_agree_with_the_code() {
    let program = &schemas()["program"];
    assert_eq!(names(program, "/$defs/buffer/properties/kind/enum"), BufferKind::NAMES);
    assert_eq!(names(program, "/$defs/buffer/properties/dtype/enum"), DType::NAMES);
    assert_eq!(names(program, "/$defs/space/enum"), MemSpace::NAMES);
    assert_eq!(names(&schemas()["opcodes"], "/$defs/name/enum"), Opcode::NAMES);
    let params: Vec<&str> = program["$defs"]["params"]["properties"]
        .as_object()
        .map(|members| members.keys().map(String::as_str).collect())
        .unwrap_or_default();
    let known: Vec<&str> = Param::ALL.iter().map(|param| param.name()).collect();
    assert_eq!(params, known);
}

#[test]
fn enumerations_of_kernel_graphs_agree_with_the_code() {
    let schemas = schemas();
    assert_eq!(names(&schemas["kernel-graph"], "/$defs/tensor/properties/io/enum"), TensorKind::NAMES);
    assert_eq!(names(&schemas["translation"], "/properties/mode/enum"), Mode::NAMES);
}

#[test]
fn every_opcode_has_its_counts_of_operands() {
    let opcodes = &schemas()["opcodes"];
    let branches = opcodes["$defs"]["task"]["allOf"].as_array().expect("branches");
    for opcode in Opcode::NAMES {
        let of_opcode = branches.iter().filter(|branch| branch["if"]["properties"]["op"]["const"] == *opcode);
        assert_eq!(of_opcode.count(), 1, "{opcode} under allOf");
    }
}

#[test]
fn profiles_and_methods_are_those_declared() {
    let schemas = schemas();
    let declared = names(&schemas["names"], "/$defs/profile/enum");
    let profiles: Vec<&str> =
        megakernel_ir::protocol::Profile::ALL.iter().map(|profile| profile.name()).collect();
    assert_eq!(declared, profiles);
    let methods: Vec<&str> =
        megakernel_ir::protocol::Method::ALL.iter().map(|method| method.name()).collect();
    assert_eq!(names(&schemas["names"], "/$defs/method/enum"), methods);
}
