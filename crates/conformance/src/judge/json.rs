//! Reads JSON that an implementation wrote: no duplicate members, bounded depth.

use std::cell::Cell;
use std::fmt;

use serde::de::{DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

/// Deeper than any document that has to be supported, shallow enough for the stack.
const DEPTH: usize = 512;

/// Reads one JSON value.
pub fn parse(text: &str) -> Result<Value, String> {
    let mut deserializer = serde_json::Deserializer::from_str(text);
    // The depth is counted here, because the library's own limit is below what the format asks for.
    deserializer.disable_recursion_limit();
    let depth = Cell::new(0);
    let value = Strict { depth: &depth }.deserialize(&mut deserializer).map_err(|cause| cause.to_string())?;
    deserializer.end().map_err(|cause| cause.to_string())?;
    Ok(value)
}

#[derive(Clone, Copy)]
struct Strict<'a> {
    depth: &'a Cell<usize>,
}

impl Strict<'_> {
    fn nested<T, E: Error>(self, read: impl FnOnce() -> Result<T, E>) -> Result<T, E> {
        if self.depth.get() == DEPTH {
            return Err(E::custom(format_args!("nested deeper than {DEPTH}")));
        }
        self.depth.set(self.depth.get() + 1);
        let result = read();
        self.depth.set(self.depth.get() - 1);
        result
    }
}

impl<'de> DeserializeSeed<'de> for Strict<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Strict<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("number is not finite"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Value, A::Error> {
        self.nested(|| {
            let mut array = Vec::new();
            while let Some(element) = seq.next_element_seed(self)? {
                array.push(element);
            }
            Ok(Value::Array(array))
        })
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        self.nested(|| {
            let mut object = Map::new();
            while let Some(name) = map.next_key::<String>()? {
                let value = map.next_value_seed(self)?;
                if object.contains_key(&name) {
                    return Err(A::Error::custom(format_args!("member `{name}` is there twice")));
                }
                object.insert(name, value);
            }
            Ok(Value::Object(object))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_what_the_library_reads() {
        let text = r#"{"a":[1,-2,3.5,1e300,18446744073709551615],"b":{"c":null,"d":[true,"\ud83d\ude00"]}}"#;
        assert_eq!(parse(text).expect("JSON"), serde_json::from_str::<Value>(text).expect("JSON"));
    }

    #[test]
    fn refuses_duplicates_trailing_text_and_bottomless_nesting() {
        assert!(parse(r#"{"a":1,"b":{"c":1,"c":1}}"#).expect_err("twice").contains("`c`"));
        assert!(parse("{} {}").is_err());
        assert!(parse(&"[".repeat(1_000_000)).expect_err("deep").contains("nested"));
        assert!(parse(&format!("{}{}", "[".repeat(200), "]".repeat(200))).is_ok());
    }
}
