//! The members of the model that are maps or unions.

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::value::RawValue;

use crate::model::Extra;
use crate::text::{Checked, Text, first_repeated};
use crate::write::Verbatim;

/// Fails where a name repeats, in `extra` or anywhere inside its values (rule S02).
pub fn check_extra(extra: &Extra<'_>) -> Result<(), String> {
    if let Some(index) = first_repeated(extra.iter().map(|(name, _)| &**name)) {
        return Err(format!("duplicate member `{}`", extra[index].0));
    }
    extra.iter().try_for_each(|(_, value)| check_value(value))
}

fn check_value(value: &RawValue) -> Result<(), String> {
    serde_json::from_str::<Checked<true>>(value.get()).map(|_| ()).map_err(|error| error.to_string())
}

/// The `meta` object, kept as it was written; nothing where the document has none.
#[derive(Clone, Copy, Debug, Default)]
pub struct Meta<'a>(Option<&'a RawValue>);

impl Meta<'_> {
    /// The whole object; empty where the document has none.
    pub fn value(&self) -> serde_json::Map<String, serde_json::Value> {
        self.0.and_then(|raw| serde_json::from_str(raw.get()).ok()).unwrap_or_default()
    }

    /// A member that is a string.
    pub fn text(&self, name: &str) -> Option<String> {
        let value: serde_json::Value = serde_json::from_str(self.0?.get()).ok()?;
        value.get(name)?.as_str().map(str::to_owned)
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Meta<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let raw: &RawValue = Deserialize::deserialize(deserializer)?;
        if !raw.get().starts_with('{') {
            return Err(D::Error::custom("expected an object"));
        }
        check_value(raw).map_err(D::Error::custom)?;
        Ok(Meta(Some(raw)))
    }
}

impl Serialize for Meta<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0 {
            Some(raw) => Verbatim(raw).serialize(serializer),
            None => serializer.serialize_map(Some(0))?.end(),
        }
    }
}

/// Reads the entries of an object, refusing a repeated key; `key` turns a member's name into a key.
fn entries<'de, A, K, V>(mut map: A, key: impl Fn(Text<'de>) -> Option<K>) -> Result<Vec<(K, V)>, A::Error>
where
    A: MapAccess<'de>,
    K: PartialEq,
    V: Deserialize<'de>,
{
    let mut names = Vec::new();
    let mut entries = Vec::new();
    while let Some(name) = map.next_key::<Text<'de>>()? {
        names.push(name.clone());
        let key = key(name).ok_or_else(|| A::Error::custom("expected a decimal number as member name"))?;
        entries.push((key, map.next_value()?));
    }
    match first_repeated(names.iter().map(|name| &**name)) {
        Some(index) => Err(A::Error::custom(format_args!("duplicate member `{}`", names[index]))),
        None => Ok(entries),
    }
}

/// The number that a member name spells in canonical decimal: no sign, no leading zero, within 63 bits.
pub(crate) fn decimal_key(name: &str) -> Option<i64> {
    let canonical = name == "0" || !name.starts_with('0');
    let digits = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_digit());
    if canonical && digits { name.parse().ok() } else { None }
}

/// An object whose member names are decimal numbers, in document order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IntMap(pub Vec<(i64, i64)>);

impl<'de> Deserialize<'de> for IntMap {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct IntMapVisitor;
        impl<'de> Visitor<'de> for IntMapVisitor {
            type Value = IntMap;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object from decimal numbers to integers")
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<IntMap, A::Error> {
                entries(map, |name| decimal_key(&name)).map(IntMap)
            }
        }
        deserializer.deserialize_map(IntMapVisitor)
    }
}

impl Serialize for IntMap {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(key, value)| (key.to_string(), value)))
    }
}

/// An object of objects of integers, in document order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NestedIntMap<'a>(pub Vec<(Text<'a>, NamedInts<'a>)>);

/// An object of integers, in document order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamedInts<'a>(pub Vec<(Text<'a>, i64)>);

macro_rules! text_map {
    ($type:ident, $expecting:literal) => {
        impl<'de: 'a, 'a> Deserialize<'de> for $type<'a> {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct MapVisitor;
                impl<'de> Visitor<'de> for MapVisitor {
                    type Value = $type<'de>;
                    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                        f.write_str($expecting)
                    }
                    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
                        entries(map, Some).map($type)
                    }
                }
                deserializer.deserialize_map(MapVisitor)
            }
        }

        impl Serialize for $type<'_> {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_map(self.0.iter().map(|(name, value)| (name, value)))
            }
        }
    };
}

text_map!(NestedIntMap, "an object of objects of integers");
text_map!(NamedInts, "an object of integers");

/// How tasks are assigned to SMs: the name of a policy, or an SM per task.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum SmAssignment {
    /// `"round_robin"`
    RoundRobin,
    /// `"load_balance"`
    LoadBalance,
    /// Task id to SM.
    Explicit(IntMap),
}

impl SmAssignment {
    /// The names of the policies.
    pub const NAMES: &'static [&'static str] = &["round_robin", "load_balance"];
}

impl<'de> Deserialize<'de> for SmAssignment {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AssignmentVisitor;
        impl<'de> Visitor<'de> for AssignmentVisitor {
            type Value = SmAssignment;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("the name of a policy or an object from task ids to SMs")
            }
            fn visit_str<E: Error>(self, name: &str) -> Result<SmAssignment, E> {
                match name {
                    "round_robin" => Ok(SmAssignment::RoundRobin),
                    "load_balance" => Ok(SmAssignment::LoadBalance),
                    _ => Err(E::unknown_variant(name, SmAssignment::NAMES)),
                }
            }
            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<SmAssignment, A::Error> {
                entries(map, |name| decimal_key(&name)).map(|map| SmAssignment::Explicit(IntMap(map)))
            }
        }
        deserializer.deserialize_any(AssignmentVisitor)
    }
}

impl Serialize for SmAssignment {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            SmAssignment::RoundRobin => serializer.serialize_str("round_robin"),
            SmAssignment::LoadBalance => serializer.serialize_str("load_balance"),
            SmAssignment::Explicit(map) => map.serialize(serializer),
        }
    }
}

/// A member without a default: absent, or a value that is not null.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Given<T>(pub Option<T>);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Given<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        T::deserialize(deserializer).map(|value| Given(Some(value)))
    }
}

crate::names! {
    /// How activations are bound to pages.
    PagePolicy, "a page allocation policy" {
        /// One page after another.
        Linear = 0 "linear",
        /// Pages shared by buffers that are not live together.
        GraphColor = 1 "graph_color",
        /// No pages.
        None = 2 "none",
    }
}
