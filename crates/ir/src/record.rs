//! The macro behind the records of the model: one declaration gives the struct, its reader and its writer.
//!
//! serde's derive is not used because it can neither keep unknown members as borrowed text at full speed
//! (`flatten` buffers every member) nor refuse duplicate ones among them. Companions declare their records with it too.

/// Declares a record. A member is `required`, has a `default`, or is a `Given` that is written only `if_present`.
#[macro_export]
macro_rules! record {
    (@unwrap $found:expr, $name:ident, $error:ty, required) => {
        $found.ok_or_else(|| <$error as $crate::record::serde::de::Error>::missing_field(stringify!($name)))?
    };
    (@unwrap $found:expr, $name:ident, $error:ty, default $default:expr) => {
        match $found { Some(value) => value, None => $default }
    };
    (@unwrap $found:expr, $name:ident, $error:ty, if_present) => {
        $found.unwrap_or($crate::record::Given(None))
    };
    (@write $map:ident, $name:ident, $value:expr, if_present) => {
        if let Some(value) = &$value.0 { $map.serialize_entry(stringify!($name), value)?; }
    };
    (@write $map:ident, $name:ident, $value:expr, $mode:ident $($default:expr)?) => {
        $map.serialize_entry(stringify!($name), $value)?;
    };
    (
        $(#[$meta:meta])*
        pub struct $record:ident {
            $($(#[$fmeta:meta])* $name:ident : $type:ty, $mode:ident $($default:expr)?;)+
        }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Debug)]
        pub struct $record<'a> {
            $($(#[$fmeta])* pub $name: $type,)+
            /// Members that this version does not know.
            pub extra: $crate::model::Extra<'a>,
        }

        impl<'de: 'a, 'a> $crate::record::serde::Deserialize<'de> for $record<'a> {
            fn deserialize<D: $crate::record::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct RecordVisitor<'a>(std::marker::PhantomData<&'a ()>);
                impl<'de: 'a, 'a> $crate::record::serde::de::Visitor<'de> for RecordVisitor<'a> {
                    type Value = $record<'a>;
                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str(concat!("a ", stringify!($record), " object"))
                    }
                    fn visit_map<A: $crate::record::serde::de::MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
                        $(let mut $name: Option<$type> = None;)+
                        let mut extra = $crate::model::Extra::new();
                        while let Some(key) = map.next_key::<$crate::model::Text<'a>>()? {
                            match &*key {
                                $(stringify!($name) => {
                                    if $name.is_some() {
                                        return Err(<A::Error as $crate::record::serde::de::Error>::duplicate_field(stringify!($name)));
                                    }
                                    $name = Some(map.next_value()?);
                                })+
                                _ => extra.push((key, map.next_value()?)),
                            }
                        }
                        $crate::record::check_extra(&extra).map_err(<A::Error as $crate::record::serde::de::Error>::custom)?;
                        Ok($record {
                            $($name: $crate::record!(@unwrap $name, $name, A::Error, $mode $($default)?),)+
                            extra,
                        })
                    }
                }
                deserializer.deserialize_map(RecordVisitor(std::marker::PhantomData))
            }
        }

        impl $crate::record::serde::Serialize for $record<'_> {
            fn serialize<S: $crate::record::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                use $crate::record::serde::ser::SerializeMap;
                let mut map = serializer.serialize_map(None)?;
                $($crate::record!(@write map, $name, &self.$name, $mode $($default)?);)+
                for (name, value) in &self.extra {
                    map.serialize_entry(name, &$crate::record::Verbatim(value))?;
                }
                map.end()
            }
        }
    };
}

// What the macro's text names, in whatever crate it stands.
#[doc(hidden)]
pub use crate::maps::{Given, check_extra};
#[doc(hidden)]
pub use crate::write::Verbatim;
#[doc(hidden)]
pub use serde;
