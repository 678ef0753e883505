//! Enumerations whose members have a name and a code.

/// Declares an enumeration whose members have a name, which JSON uses, and a code, which the ABI uses.
#[macro_export]
macro_rules! names {
    ($(#[$meta:meta])* $type:ident, $what:literal { $($(#[$vmeta:meta])* $variant:ident = $code:literal $name:literal,)+ }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum $type { $($(#[$vmeta])* $variant = $code,)+ }

        impl $type {
            /// Every member, by code.
            pub const ALL: &'static [$type] = &[$($type::$variant,)+];
            /// Every name, by code.
            pub const NAMES: &'static [&'static str] = &[$($name,)+];

            /// The name that JSON uses.
            pub const fn name(self) -> &'static str {
                match self { $($type::$variant => $name,)+ }
            }

            /// The code that the ABI uses.
            pub const fn code(self) -> u8 {
                self as u8
            }

            /// The member with this name.
            pub fn from_name(name: &str) -> Option<$type> {
                match name { $($name => Some($type::$variant),)+ _ => None }
            }
        }

        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }

        impl $crate::serde::Serialize for $type {
            fn serialize<S: $crate::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.name())
            }
        }

        impl<'de> $crate::serde::Deserialize<'de> for $type {
            fn deserialize<D: $crate::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Visitor;
                impl $crate::serde::de::Visitor<'_> for Visitor {
                    type Value = $type;
                    fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                        f.write_str(concat!("the name of ", $what))
                    }
                    fn visit_str<E: $crate::serde::de::Error>(self, name: &str) -> Result<$type, E> {
                        $type::from_name(name).ok_or_else(|| E::unknown_variant(name, $type::NAMES))
                    }
                }
                deserializer.deserialize_str(Visitor)
            }
        }
    };
}
