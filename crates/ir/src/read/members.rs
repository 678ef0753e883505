//! Rules S03 missing-member, S04 wrong-type, S05 unknown-name, and S16 for a threshold that is no integer.

use jsonc_parser::ast::{Object, Value as Node};

use crate::diagnostic::{Diagnostic, pointer_token};
use crate::maps::decimal_key;
use crate::params::Param;
use crate::read::shape::{self, Member, Type};
use crate::rule::Rule;

/// Every value of the document that is missing or not of its type.
pub(super) fn check(tree: &Node<'_>, root: &'static [Member]) -> Vec<Diagnostic> {
    let mut walk = Walk { pointer: String::new(), found: Vec::new() };
    walk.value(tree, &Type::Record(root));
    walk.numbers(tree);
    walk.found
}

/// Appends a reference token to a JSON pointer.
pub(super) fn join(pointer: &mut String, token: &str) {
    pointer.push('/');
    pointer.push_str(&pointer_token(token));
}

struct Walk {
    pointer: String,
    found: Vec<Diagnostic>,
}

impl Walk {
    fn report(&mut self, rule: Rule, message: String) {
        self.found.push(Diagnostic::new(rule, self.pointer.clone(), message));
    }

    fn within(&mut self, token: &str, visit: impl FnOnce(&mut Walk)) {
        let length = self.pointer.len();
        join(&mut self.pointer, token);
        visit(self);
        self.pointer.truncate(length);
    }

    fn wrong_type(&mut self, node: &Node<'_>, required: &str) {
        self.report(Rule::S04, format!("found {}, required {required}", describe(node)));
    }

    fn value(&mut self, node: &Node<'_>, of: &Type) {
        match (of, node) {
            (
                Type::NullableText | Type::NullableInt | Type::NullableRecord(_) | Type::NullableArray(_),
                Node::NullKeyword(_),
            )
            | (Type::Text | Type::NullableText, Node::StringLit(_))
            | (Type::Bool, Node::BooleanLit(_))
            | (Type::Number, Node::NumberLit(_))
            | (Type::Object, Node::Object(_)) => {}
            (Type::Int | Type::NullableInt, Node::NumberLit(number)) => {
                if !is_integer(number.value) {
                    self.report(Rule::S04, format!("found the number {}, required {INTEGER}", number.value));
                }
            }
            (Type::Threshold, Node::NumberLit(number)) => {
                if !is_integer(number.value) {
                    self.report(
                        Rule::S16,
                        format!("threshold {} is not an integer from 1 to 4294967295", number.value),
                    );
                }
            }
            (Type::Name(what, names), Node::StringLit(name)) => {
                if !names.contains(&&*name.value) {
                    self.report(
                        Rule::S05,
                        format!("`{}` is no {what}; known are {}", name.value, names.join(", ")),
                    );
                }
            }
            (Type::Array(item) | Type::NullableArray(item), Node::Array(array)) => {
                for (index, element) in array.elements.iter().enumerate() {
                    self.within(&index.to_string(), |walk| walk.value(element, item));
                }
            }
            (Type::Record(members) | Type::NullableRecord(members), Node::Object(object)) => {
                self.record(object, members)
            }
            (Type::IntMap, Node::Object(object)) => self.int_map(object),
            (Type::NestedIntMap, Node::Object(object)) => self.each(object, |walk, value| match value {
                Node::Object(sizes) => walk.each(sizes, |walk, size| walk.value(size, &Type::Int)),
                _ => walk.wrong_type(value, "an object of integers"),
            }),
            (Type::SmAssignment, Node::Object(object)) => self.int_map(object),
            (Type::SmAssignment, Node::StringLit(_)) => self.value(node, &shape::SM_ASSIGNMENT),
            _ => self.wrong_type(node, required(of)),
        }
    }

    fn record(&mut self, object: &Object<'_>, members: &[Member]) {
        for member in members {
            let mut named =
                object.properties.iter().filter(|property| property.name.as_str() == member.name).peekable();
            if named.peek().is_none() && member.required {
                self.report(Rule::S03, format!("the member `{}` is missing", member.name));
            }
            for property in named {
                self.within(member.name, |walk| walk.value(&property.value, &member.of));
            }
        }
    }

    fn each(&mut self, object: &Object<'_>, mut visit: impl FnMut(&mut Walk, &Node<'_>)) {
        for property in &object.properties {
            self.within(property.name.as_str(), |walk| visit(walk, &property.value));
        }
    }

    fn int_map(&mut self, object: &Object<'_>) {
        for property in &object.properties {
            let name = property.name.as_str();
            self.within(name, |walk| {
                if decimal_key(name).is_none() {
                    let message = format!("found the member name `{name}`, required a decimal number without sign or leading zeros");
                    walk.report(Rule::S04, message);
                }
                walk.value(&property.value, &Type::Int);
            });
        }
    }

    /// Numbers anywhere that binary64 cannot hold. Parameters have a rule of their own for what they may be.
    fn numbers(&mut self, node: &Node<'_>) {
        match node {
            Node::NumberLit(number) if number.value.parse().is_ok_and(f64::is_infinite) => {
                let already = self.found.iter().any(|diagnostic| diagnostic.pointer == self.pointer);
                if !already {
                    let rule = if is_parameter(&self.pointer) { Rule::S14 } else { Rule::S04 };
                    self.report(rule, format!("the number {} is beyond the range of binary64", number.value));
                }
            }
            Node::Array(array) => {
                for (index, element) in array.elements.iter().enumerate() {
                    self.within(&index.to_string(), |walk| walk.numbers(element));
                }
            }
            Node::Object(object) => self.each(object, |walk, value| walk.numbers(value)),
            _ => {}
        }
    }
}

/// Whether a pointer leads to a parameter that this version knows.
fn is_parameter(pointer: &str) -> bool {
    let parts: Vec<&str> = pointer.split('/').collect();
    matches!(parts[..], ["", "tasks", _, "params", key] if Param::from_name(key).is_some())
}

/// Whether a number token is an integer of 64 bits. Negative zero is none: binary64 has it, the integers have not.
fn is_integer(token: &str) -> bool {
    token != "-0" && token.parse::<i64>().is_ok()
}

const INTEGER: &str = "an integer without fraction or exponent, within 64 bits";

fn required(of: &Type) -> &'static str {
    match of {
        Type::Text | Type::Name(..) => "a string",
        Type::NullableText => "a string or null",
        Type::Bool => "true or false",
        Type::Int | Type::Threshold => INTEGER,
        Type::NullableInt => "an integer or null",
        Type::Number => "a number",
        Type::Array(_) => "an array",
        Type::NullableArray(_) => "an array or null",
        Type::Object | Type::Record(_) | Type::IntMap | Type::NestedIntMap => "an object",
        Type::NullableRecord(_) => "an object or null",
        Type::SmAssignment => "the name of a policy or an object",
    }
}

fn describe(node: &Node<'_>) -> String {
    match node {
        Node::NullKeyword(_) => "null".to_owned(),
        Node::BooleanLit(literal) => literal.value.to_string(),
        Node::NumberLit(literal) => format!("the number {}", literal.value),
        Node::StringLit(_) => "a string".to_owned(),
        Node::Array(_) => "an array".to_owned(),
        Node::Object(_) => "an object".to_owned(),
    }
}
