//! Edits of a document that know nothing of what it means: values change places with others of the same member, numbers move a
//! little, elements and members go, come twice, or change places. So one edit is mostly about one rule, and about any.

use megakernel_corpus::builder::{DType, Kind, Op, Space};
use megakernel_ir::diagnostic::pointer_token;
use megakernel_ir::prng::SplitMix64;
use serde_json::{Number, Value, json};

/// A value in a document: the container's JSON pointer, the key or index in it, and the name of the member that it is or is below.
#[derive(Clone, Debug)]
struct Place {
    container: String,
    key: String,
    member: String,
}

/// Numbers around the limits of what members take.
const NUMBERS: [i64; 14] =
    [0, 1, -1, 2, 3, 7, 8, 64, 128, 1 << 31, (1 << 31) - 1, -(1 << 31) - 1, i64::MAX, i64::MIN];

/// Edits a document in one place.
pub fn edit(document: &mut Value, prng: &mut SplitMix64) {
    let mut places = Vec::new();
    gather(document, "", "", &mut places);
    let Some(place) = prng.pick(&places).cloned() else { return };
    let Some(now) = document.pointer(&place.pointer()).cloned() else { return };
    match prng.below(16) {
        0..5 => {
            let others: Vec<Value> = places
                .iter()
                .filter(|other| other.member == place.member)
                .filter_map(|other| document.pointer(&other.pointer()))
                .filter(|other| **other != now)
                .cloned()
                .collect();
            match prng.pick(&others) {
                Some(other) => place.set(document, other.clone()),
                None => place.set(document, moved(&now, prng)),
            }
        }
        5..9 => place.set(document, moved(&now, prng)),
        9..11 => place.remove(document),
        11 => place.double(document, now),
        12 | 13 => {
            // Places of one list.
            let others: Vec<&Place> = places
                .iter()
                .filter(|other| other.container == place.container && other.key != place.key)
                .collect();
            let Some(other) = prng.pick(&others) else { return };
            let (Some(theirs), true) =
                (document.pointer(&other.pointer()).cloned(), place.key.parse::<usize>().is_ok())
            else {
                return;
            };
            place.set(document, theirs);
            other.set(document, now);
        }
        14 => {
            // A member of another record of the same kind.
            let siblings: Vec<&Place> = places
                .iter()
                .filter(|other| {
                    other.container != place.container
                        && generic(&other.container) == generic(&place.container)
                })
                .collect();
            let Some(other) = prng.pick(&siblings) else { return };
            if let Some(value) = document.pointer(&other.pointer()).cloned()
                && let Some(Value::Object(members)) = document.pointer_mut(&place.container)
            {
                members.insert(other.key.clone(), value);
            }
        }
        _ => {
            let wrong = [json!(null), json!(true), json!(""), json!([]), json!({}), json!([0]), json!("0")];
            place.set(document, prng.pick(&wrong).cloned().unwrap_or_default());
        }
    }
}

/// Sets a member of a record. What is no object stays as it is.
pub fn put(record: &mut Value, member: &str, value: Value) {
    if let Some(members) = record.as_object_mut() {
        members.insert(member.to_owned(), value);
    }
}

/// Sets an element of a list of a record, if there is one.
pub fn put_at(record: &mut Value, list: &str, index: usize, value: Value) {
    if let Some(element) = items(record, list).get_mut(index) {
        *element = value;
    }
}

/// The elements of a list of a record; none, if it has no such list.
pub fn items<'a>(record: &'a mut Value, list: &str) -> &'a mut [Value] {
    record.get_mut(list).and_then(Value::as_array_mut).map_or(&mut [], Vec::as_mut_slice)
}

/// Makes the ids of records their indices, as they are in most documents that somebody means.
pub fn number(document: &mut Value) {
    let lists = document.as_object_mut().into_iter().flat_map(|members| members.values_mut());
    for records in lists.filter_map(Value::as_array_mut) {
        for (index, record) in records.iter_mut().enumerate() {
            if let Some(id) = record.get_mut("id").filter(|id| id.is_i64()) {
                *id = json!(index);
            }
        }
    }
}

/// Edits the text at a mark, so that it may be no JSON any more.
pub fn edit_text(text: &str, prng: &mut SplitMix64) -> String {
    const MARKS: [&str; 8] = [",", ":", "{", "}", "[", "]", "\"", "/"];
    let places: Vec<usize> = text
        .char_indices()
        .filter(|(_, character)| MARKS.iter().any(|mark| mark.starts_with(*character)))
        .map(|(place, _)| place)
        .collect();
    let Some(&place) = prng.pick(&places) else { return text.to_owned() };
    let (before, after) = text.split_at(place);
    match prng.below(4) {
        0 => before.to_owned(),
        1 => format!("{before}{}", after.get(1..).unwrap_or_default()),
        2 => format!("{before}{}{after}", prng.pick(&MARKS).copied().unwrap_or_default()),
        _ => {
            // A member or an element twice, where the place is the comma after it.
            let from = before.rfind(['{', '[', ',']).map_or(0, |from| from + 1);
            format!("{before},{}{after}", before.get(from..).unwrap_or_default())
        }
    }
}

/// Every value below the root.
fn gather(value: &Value, at: &str, member: &str, places: &mut Vec<Place>) {
    let mut add = |key: String, member: &str, value: &Value| {
        let place = Place { container: at.to_owned(), key, member: member.to_owned() };
        let below = place.pointer();
        places.push(place);
        gather(value, &below, member, places);
    };
    match value {
        Value::Object(members) => members.iter().for_each(|(key, value)| add(key.clone(), key, value)),
        Value::Array(items) => {
            items.iter().enumerate().for_each(|(index, value)| add(index.to_string(), member, value));
        }
        _ => {}
    }
}

/// A pointer with the indices left out: records of one list are alike.
fn generic(pointer: &str) -> String {
    pointer.split('/').filter(|token| token.parse::<usize>().is_err()).collect::<Vec<_>>().join("/")
}

/// Another value of the same type, near or at a limit.
fn moved(value: &Value, prng: &mut SplitMix64) -> Value {
    match value {
        Value::Number(number) => match (number.as_i64(), number.as_f64()) {
            (Some(now), _) => {
                let near = [now.saturating_add(1), now.saturating_sub(1), now.saturating_mul(2), now / 2];
                let new = if prng.below(4) == 0 { prng.pick(&NUMBERS) } else { prng.pick(&near) };
                json!(new)
            }
            (None, Some(now)) => {
                let near = [-now, now * 2.0 + 0.25, 1e-46, 3.5e38, 0.5];
                prng.pick(&near).copied().and_then(Number::from_f64).map_or(Value::Null, Value::Number)
            }
            _ => Value::Null,
        },
        Value::String(text) => match prng.below(4) {
            0 => json!(format!("{text}0")),
            1 => json!(""),
            _ => {
                let lists = [
                    Space::ALL.iter().map(|space| space.name()).collect(),
                    Kind::ALL.iter().map(|kind| kind.name()).collect(),
                    DType::ALL.iter().map(|dtype| dtype.name()).collect(),
                    Op::ALL.iter().map(|op| op.name()).collect(),
                    vec!["none", "x", "0.2", "0.3", "1.0"],
                ];
                let names: Option<&Vec<&str>> =
                    lists.iter().find(|names| names.contains(&text.as_str())).or(lists.last());
                json!(names.and_then(|names| prng.pick(names)))
            }
        },
        Value::Bool(now) => json!(!now),
        Value::Null => json!(0),
        Value::Array(items) => json!(items.iter().rev().collect::<Vec<_>>()),
        Value::Object(_) => json!({}),
    }
}

impl Place {
    fn pointer(&self) -> String {
        format!("{}/{}", self.container, pointer_token(&self.key))
    }

    fn set(&self, document: &mut Value, new: Value) {
        if let Some(value) = document.pointer_mut(&self.pointer()) {
            *value = new;
        }
    }

    fn remove(&self, document: &mut Value) {
        match (document.pointer_mut(&self.container), self.key.parse::<usize>()) {
            (Some(Value::Array(items)), Ok(index)) if index < items.len() => drop(items.remove(index)),
            (Some(Value::Object(members)), _) => drop(members.shift_remove(&self.key)),
            _ => {}
        }
    }

    fn double(&self, document: &mut Value, value: Value) {
        if let (Some(Value::Array(items)), Ok(index)) =
            (document.pointer_mut(&self.container), self.key.parse::<usize>())
            && index < items.len()
        {
            items.insert(index, value);
        }
    }
}
