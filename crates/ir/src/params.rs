//! Parameters of a task (clause DAT-08).

use std::fmt;

use serde::de::{Deserialize, Deserializer, Error, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};
use serde_json::Value;

use crate::text::{Strict, Text};

macro_rules! params {
    ($($variant:ident $name:literal $kind:ident,)+) => {
        /// The keys that a task's `params` marshal to `amk_params_t`.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Param {
            $(#[doc = concat!("`", $name, "`")] $variant,)+
        }

        impl Param {
            /// Every key, in the order of the ABI record.
            pub const ALL: &'static [Param] = &[$(Param::$variant,)+];

            /// The key as JSON spells it.
            pub const fn name(self) -> &'static str {
                match self { $(Param::$variant => $name,)+ }
            }

            /// Type of the field in `amk_params_t`.
            pub const fn kind(self) -> $crate::params::ParamKind {
                match self { $(Param::$variant => $crate::params::ParamKind::$kind,)+ }
            }

            /// The parameter with this key.
            pub fn from_name(name: &str) -> Option<Param> {
                match name { $($name => Some(Param::$variant),)+ _ => None }
            }
        }
    };
}

/// Type of a field of `amk_params_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ParamKind {
    /// `int32_t`
    Int,
    /// `float`
    Float,
}

pub(crate) use params;

pub use crate::opcodes::Param;

/// Bit 0 of `flags`.
pub const FLAG_CAUSAL: i64 = 1;
/// Bit 1 of `flags`: ATTENTION_TILE writes an un-normalised partial result.
pub const FLAG_PARTIAL_WRITE: i64 = 2;

/// A key of `params`.
#[derive(Clone, Debug, PartialEq)]
pub enum ParamKey<'a> {
    /// A key that this version knows.
    Known(Param),
    /// Any other key (rule W01).
    Unknown(Text<'a>),
}

impl ParamKey<'_> {
    /// The key as JSON spells it.
    pub fn name(&self) -> &str {
        match self {
            ParamKey::Known(param) => param.name(),
            ParamKey::Unknown(name) => name,
        }
    }
}

/// A JSON number that remembers whether it was written as an integer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// Without fraction and exponent, within 64 bits.
    Int(i64),
    /// Any other number.
    Float(f64),
}

impl Number {
    /// The nearest binary64 value.
    pub fn as_f64(self) -> f64 {
        match self {
            Number::Int(value) => value as f64,
            Number::Float(value) => value,
        }
    }
}

/// A value of `params`.
#[derive(Clone, Debug, PartialEq)]
pub enum ParamValue {
    /// A number.
    Number(Number),
    /// Anything else; rule S14 refuses it under a known key.
    Other(Box<Value>),
}

/// The parameters of a task in the order of the document.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Params<'a>(pub Vec<(ParamKey<'a>, ParamValue)>);

impl<'a> Params<'a> {
    /// The value under a known key.
    pub fn get(&self, param: Param) -> Option<&ParamValue> {
        self.0.iter().find(|(key, _)| *key == ParamKey::Known(param)).map(|(_, value)| value)
    }

    /// The value of an integer parameter; nothing if it is absent or no integer.
    pub fn int(&self, param: Param) -> Option<i64> {
        match self.get(param)? {
            ParamValue::Number(Number::Int(value)) => Some(*value),
            _ => None,
        }
    }

    /// The value of a real parameter; nothing if it is absent or no number.
    pub fn real(&self, param: Param) -> Option<f64> {
        match self.get(param)? {
            ParamValue::Number(number) => Some(number.as_f64()),
            ParamValue::Other(_) => None,
        }
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Number::Int(value) => serializer.serialize_i64(*value),
            Number::Float(value) => serializer.serialize_f64(*value),
        }
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match ParamValue::deserialize(deserializer)? {
            ParamValue::Number(number) => Ok(number),
            ParamValue::Other(_) => Err(D::Error::custom("expected a number")),
        }
    }
}

impl Serialize for ParamValue {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            ParamValue::Number(number) => number.serialize(serializer),
            ParamValue::Other(value) => value.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for ParamValue {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Strict(value) = Strict::deserialize(deserializer)?;
        Ok(match value {
            Value::Number(number) => match (number.as_i64(), number.as_f64()) {
                (Some(int), _) => ParamValue::Number(Number::Int(int)),
                (None, Some(float)) => ParamValue::Number(Number::Float(float)),
                (None, None) => ParamValue::Other(Box::new(Value::Number(number))),
            },
            other => ParamValue::Other(Box::new(other)),
        })
    }
}

impl Serialize for Params<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (key, value) in &self.0 {
            map.serialize_entry(key.name(), value)?;
        }
        map.end()
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Params<'a> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ParamsVisitor;
        impl<'de> Visitor<'de> for ParamsVisitor {
            type Value = Params<'de>;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of parameters")
            }
            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                let mut params: Vec<(ParamKey<'de>, ParamValue)> = Vec::with_capacity(4);
                while let Some(name) = map.next_key::<Text<'de>>()? {
                    let key = match Param::from_name(&name) {
                        Some(param) => ParamKey::Known(param),
                        None => ParamKey::Unknown(name),
                    };
                    if params.iter().any(|(earlier, _)| *earlier == key) {
                        return Err(A::Error::custom(format_args!("duplicate member `{}`", key.name())));
                    }
                    params.push((key, map.next_value()?));
                }
                Ok(Params(params))
            }
        }
        deserializer.deserialize_map(ParamsVisitor)
    }
}
