//! Rules S03 missing-member, S04 wrong-type, S05 unknown-name, and S16 for a threshold that is no integer.

use crate::diagnostic::{Diagnostic, pointer_token};
use crate::maps::decimal_key;
use crate::params::Param;
use crate::read::shape::{self, Member, Type};
use crate::read::tree::{Kind, Node};
use crate::rule::Rule;

/// Every value of the document that is missing or not of its type.
pub(super) fn check(root: Node<'_>, record: &'static [Member]) -> Vec<Diagnostic> {
    let mut walk = Walk { pointer: String::new(), found: Vec::new() };
    walk.value(root, &Type::Record(record));
    walk.numbers(root);
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

    fn wrong_type(&mut self, node: Node<'_>, required: &str) {
        self.report(Rule::S04, format!("found {}, required {required}", describe(node)));
    }

    fn value(&mut self, node: Node<'_>, of: &Type) {
        match (of, node.kind()) {
            (
                Type::NullableText | Type::NullableInt | Type::NullableRecord(_) | Type::NullableArray(_),
                Kind::Null,
            )
            | (Type::Text | Type::NullableText, Kind::String(_))
            | (Type::Bool, Kind::Bool(_))
            | (Type::Number, Kind::Number(_))
            | (Type::Object, Kind::Object) => {}
            (Type::Int | Type::NullableInt, Kind::Number(number)) => {
                if !is_integer(number) {
                    self.report(Rule::S04, format!("found the number {number}, required {INTEGER}"));
                }
            }
            (Type::Threshold, Kind::Number(number)) => {
                if !is_integer(number) {
                    self.report(
                        Rule::S16,
                        format!("threshold {number} is not an integer from 1 to 4294967295"),
                    );
                }
            }
            (Type::Name(what, names), Kind::String(name)) => {
                if !names.contains(&&*name) {
                    self.report(Rule::S05, format!("`{name}` is no {what}; known are {}", names.join(", ")));
                }
            }
            (Type::Array(item) | Type::NullableArray(item), Kind::Array) => {
                for (index, element) in node.elements().enumerate() {
                    self.within(&index.to_string(), |walk| walk.value(element, item));
                }
            }
            (Type::Record(members) | Type::NullableRecord(members), Kind::Object) => {
                self.record(node, members)
            }
            (Type::IntMap | Type::SmAssignment, Kind::Object) => self.int_map(node),
            (Type::NestedIntMap, Kind::Object) => self.each(node, |walk, value| match value.kind() {
                Kind::Object => walk.each(value, |walk, size| walk.value(size, &Type::Int)),
                _ => walk.wrong_type(value, "an object of integers"),
            }),
            (Type::SmAssignment, Kind::String(_)) => self.value(node, &shape::SM_ASSIGNMENT),
            _ => self.wrong_type(node, required(of)),
        }
    }

    fn record(&mut self, object: Node<'_>, members: &[Member]) {
        let found: Vec<_> = object.members().collect();
        for member in members {
            let mut named = found.iter().filter(|(name, _)| name == member.name).peekable();
            if named.peek().is_none() && member.required {
                self.report(Rule::S03, format!("the member `{}` is missing", member.name));
            }
            for &(_, value) in named {
                self.within(member.name, |walk| walk.value(value, &member.of));
            }
        }
    }

    fn each(&mut self, object: Node<'_>, mut visit: impl FnMut(&mut Walk, Node<'_>)) {
        for (name, value) in object.members() {
            self.within(&name, |walk| visit(walk, value));
        }
    }

    fn int_map(&mut self, object: Node<'_>) {
        for (name, value) in object.members() {
            self.within(&name, |walk| {
                if decimal_key(&name).is_none() {
                    let message = format!("found the member name `{name}`, required a decimal number without sign or leading zeros");
                    walk.report(Rule::S04, message);
                }
                walk.value(value, &Type::Int);
            });
        }
    }

    /// Numbers anywhere that binary64 cannot hold. Parameters have a rule of their own for what they may be.
    fn numbers(&mut self, node: Node<'_>) {
        match node.kind() {
            Kind::Number(number) if number.parse().is_ok_and(f64::is_infinite) => {
                let already = self.found.iter().any(|diagnostic| diagnostic.pointer == self.pointer);
                if !already {
                    let rule = if is_parameter(&self.pointer) { Rule::S14 } else { Rule::S04 };
                    self.report(rule, format!("the number {number} is beyond the range of binary64"));
                }
            }
            Kind::Array => {
                for (index, element) in node.elements().enumerate() {
                    self.within(&index.to_string(), |walk| walk.numbers(element));
                }
            }
            Kind::Object => self.each(node, |walk, value| walk.numbers(value)),
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

fn describe(node: Node<'_>) -> String {
    match node.kind() {
        Kind::Null => "null".to_owned(),
        Kind::Bool(value) => value.to_string(),
        Kind::Number(number) => format!("the number {number}"),
        Kind::String(_) => "a string".to_owned(),
        Kind::Array => "an array".to_owned(),
        Kind::Object => "an object".to_owned(),
    }
}
