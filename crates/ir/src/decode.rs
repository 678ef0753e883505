//! From JSON values to the records of a companion: rules S03, S04 and S05, for documents that are held as values. The text itself,
//! S01 and S02, is judged before.

use std::borrow::Cow;
use std::collections::HashMap;

use serde_json::{Map, Value};

use crate::diagnostic::{Diagnostic, pointer_token};
use crate::rule::Rule;

/// A broken rule and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fault {
    /// The rule.
    pub rule: Rule,
    /// JSON pointer.
    pub pointer: String,
    /// What was found, and what is required.
    pub message: String,
}

impl Fault {
    /// A broken rule and its place.
    pub fn new(rule: Rule, pointer: impl Into<String>, message: impl Into<String>) -> Fault {
        Fault { rule, pointer: pointer.into(), message: message.into() }
    }
}

impl From<Fault> for Diagnostic {
    fn from(fault: Fault) -> Diagnostic {
        Diagnostic::new(fault.rule, fault.pointer, fault.message)
    }
}

/// A value and the way to it.
#[derive(Clone, Copy, Debug)]
pub struct Place<'a> {
    /// The value.
    pub value: &'a Value,
    above: Option<(&'a Place<'a>, Token<'a>)>,
}

#[derive(Clone, Copy, Debug)]
enum Token<'a> {
    Member(&'a str),
    Element(usize),
}

impl<'a> Place<'a> {
    /// The whole document.
    pub fn root(value: &'a Value) -> Place<'a> {
        Place { value, above: None }
    }

    /// A member of the value that is here.
    pub fn member<'b>(&'b self, name: &'b str, value: &'b Value) -> Place<'b> {
        Place { value, above: Some((self, Token::Member(name))) }
    }

    /// An element of the value that is here.
    pub fn element<'b>(&'b self, index: usize, value: &'b Value) -> Place<'b> {
        Place { value, above: Some((self, Token::Element(index))) }
    }

    /// The pointer to the value.
    pub fn pointer(&self) -> String {
        match &self.above {
            None => String::new(),
            Some((above, Token::Member(name))) => format!("{}/{}", above.pointer(), pointer_token(name)),
            Some((above, Token::Element(index))) => format!("{}/{index}", above.pointer()),
        }
    }
}

/// Reads one value.
pub type Read<D, T> = fn(&mut D, &Place<'_>) -> Option<T>;

/// What reads values and notes what is wrong with them. A value that is read wrongly is none, and reading goes on beside it.
pub trait Decode: Sized {
    /// Notes a broken rule.
    fn fault(&mut self, rule: Rule, at: &Place<'_>, message: String);

    /// S04.
    fn wrong_type(&mut self, at: &Place<'_>, required: &str) {
        let found: Cow<'_, str> = match at.value {
            Value::Null => "null".into(),
            Value::Bool(value) => value.to_string().into(),
            Value::Number(number) => format!("the number {number}").into(),
            Value::String(_) => "a string".into(),
            Value::Array(elements) => format!("an array of {}", elements.len()).into(),
            Value::Object(_) => "an object".into(),
        };
        self.fault(Rule::S04, at, format!("found {found}, required {required}"));
    }

    /// An object.
    fn object<'a>(&mut self, at: &Place<'a>) -> Option<&'a Map<String, Value>> {
        let object = at.value.as_object();
        if object.is_none() {
            self.wrong_type(at, "an object");
        }
        object
    }

    /// A member that has to be there.
    fn required<T>(&mut self, at: &Place<'_>, name: &'static str, read: Read<Self, T>) -> Option<T> {
        let Some(value) = at.value.get(name) else {
            self.fault(Rule::S03, at, format!("the member `{name}` is missing"));
            return None;
        };
        read(self, &at.member(name, value))
    }

    /// A member that may be absent. What was read wrongly is absent too; the fault is noted.
    fn optional<T>(&mut self, at: &Place<'_>, name: &'static str, read: Read<Self, T>) -> Option<T> {
        read(self, &at.member(name, at.value.get(name)?))
    }

    /// A member that may be absent or null.
    fn nullable<T>(&mut self, at: &Place<'_>, name: &'static str, read: Read<Self, T>) -> Option<T> {
        if at.value.get(name).is_none_or(Value::is_null) { None } else { self.optional(at, name, read) }
    }

    /// A string.
    fn text(&mut self, at: &Place<'_>) -> Option<String> {
        let text = at.value.as_str();
        if text.is_none() {
            self.wrong_type(at, "a string");
        }
        text.map(str::to_owned)
    }

    /// An integer within 64 bits.
    fn integer(&mut self, at: &Place<'_>) -> Option<i64> {
        let integer = at.value.as_i64();
        if integer.is_none() {
            self.wrong_type(at, "an integer without fraction or exponent, within 64 bits");
        }
        integer
    }

    /// `true` or `false`.
    fn boolean(&mut self, at: &Place<'_>) -> Option<bool> {
        let boolean = at.value.as_bool();
        if boolean.is_none() {
            self.wrong_type(at, "true or false");
        }
        boolean
    }

    /// An array, without the elements that are read wrongly.
    fn array<T>(&mut self, at: &Place<'_>, read: Read<Self, T>) -> Option<Vec<T>> {
        let Some(elements) = at.value.as_array() else {
            self.wrong_type(at, "an array");
            return None;
        };
        let mut found = Vec::with_capacity(elements.len());
        for (index, value) in elements.iter().enumerate() {
            found.extend(read(self, &at.element(index, value)));
        }
        Some(found)
    }

    /// The elements of an array that may be absent; none of what is no array.
    fn list<T>(&mut self, at: &Place<'_>, name: &'static str, read: Read<Self, T>) -> Vec<T> {
        let Some(value) = at.value.get(name) else {
            return Vec::new();
        };
        self.array(&at.member(name, value), read).unwrap_or_default()
    }

    /// One of some names: S05 for any other.
    fn named<T: Copy>(
        &mut self,
        at: &Place<'_>,
        what: &str,
        all: &[T],
        name: fn(T) -> &'static str,
    ) -> Option<T> {
        let text = self.text(at)?;
        let found = all.iter().copied().find(|&one| name(one) == text);
        if found.is_none() {
            let known: Vec<_> = all.iter().map(|&one| name(one)).collect();
            self.fault(Rule::S05, at, format!("`{text}` is no {what}; known are {}", known.join(", ")));
        }
        found
    }
}

/// What numbers the names of a document as it meets them, so that records hold numbers.
pub trait Intern: Decode {
    /// The numbers of the names that were met.
    fn met(&mut self) -> &mut HashMap<String, u32>;

    /// The number of a name.
    fn intern(&mut self, name: &str) -> u32 {
        let met = self.met();
        if let Some(&known) = met.get(name) {
            return known;
        }
        let id = u32::try_from(met.len()).unwrap_or(u32::MAX);
        met.insert(name.to_owned(), id);
        id
    }

    /// A string that is a name.
    fn name(&mut self, at: &Place<'_>) -> Option<u32> {
        let Some(name) = at.value.as_str() else {
            self.wrong_type(at, "a string");
            return None;
        };
        Some(self.intern(name))
    }

    /// An object by names, as a list in the order of the names.
    fn map<T>(&mut self, at: &Place<'_>, read: fn(&mut Self, u32, &Place<'_>) -> Option<T>) -> Vec<T> {
        let mut members: Vec<_> = self.object(at).into_iter().flatten().collect();
        members.sort_by_key(|(name, _)| *name);
        let one = |(name, value): (&String, &Value)| {
            let id = self.intern(name);
            read(self, id, &at.member(name, value))
        };
        members.into_iter().filter_map(one).collect()
    }
}
