//! Writing a program back as JSON: the canonical text of clauses FMT-03, FMT-04 and FMT-06.

use std::io;

use serde::ser::{Error, Serialize, SerializeMap, SerializeSeq, Serializer};
use serde_json::ser::{CompactFormatter, Formatter, PrettyFormatter};
use serde_json::value::RawValue;

use crate::model::Program;
use crate::read::tree::{Kind, Node};

/// How the document is laid out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// On one line.
    Compact,
    /// A member or item a line, indented by this many spaces a level.
    Indent(u8),
}

/// The canonical text of a program. Reading it and writing it again gives the same bytes.
pub fn write(program: &Program<'_>, layout: Layout) -> String {
    write_record(program, layout)
}

/// The same of a record of a companion.
pub fn write_record(document: &impl Serialize, layout: Layout) -> String {
    let mut bytes = Vec::new();
    let indent = [b' '; u8::MAX as usize];
    let written = match layout {
        Layout::Compact => serialize(document, &mut bytes, CompactFormatter),
        Layout::Indent(width) => {
            serialize(document, &mut bytes, PrettyFormatter::with_indent(&indent[..usize::from(width)]))
        }
    };
    assert!(written.is_ok(), "a document has only string keys and finite numbers");
    String::from_utf8(bytes).unwrap_or_default()
}

fn serialize<F: Formatter>(
    document: &impl Serialize,
    bytes: &mut Vec<u8>,
    layout: F,
) -> serde_json::Result<()> {
    document.serialize(&mut serde_json::Serializer::with_formatter(bytes, Canonical(layout)))
}

/// The text of a float: the shortest digits that read back as the same binary64 value, in decimal notation for
/// magnitudes from 1e-4 up to 1e16 and in exponent notation elsewhere (clause FMT-04).
pub fn float_text(value: f64) -> String {
    let scientific = format!("{value:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else { return scientific };
    match exponent.parse::<i32>() {
        Ok(exponent) if (-4..16).contains(&exponent) => format!("{value:?}"),
        Ok(exponent) => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:02}", exponent.unsigned_abs())
        }
        Err(_) => scientific,
    }
}

/// A layout with our own floats and with ASCII strings.
struct Canonical<F>(F);

impl<F: Formatter> Formatter for Canonical<F> {
    fn write_f64<W: ?Sized + io::Write>(&mut self, writer: &mut W, value: f64) -> io::Result<()> {
        writer.write_all(float_text(value).as_bytes())
    }
    fn write_string_fragment<W: ?Sized + io::Write>(&mut self, writer: &mut W, text: &str) -> io::Result<()> {
        let mut rest = text;
        while let Some(at) = rest.find(|c: char| !c.is_ascii() || c == '\x7f') {
            let (plain, tail) = rest.split_at(at);
            writer.write_all(plain.as_bytes())?;
            let mut chars = tail.chars();
            for unit in chars.next().into_iter().flat_map(|c| c.encode_utf16(&mut [0; 2]).to_vec()) {
                write!(writer, "\\u{unit:04x}")?;
            }
            rest = chars.as_str();
        }
        writer.write_all(rest.as_bytes())
    }
    fn begin_array<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_array(writer)
    }
    fn end_array<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array(writer)
    }
    fn begin_array_value<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_array_value(writer, first)
    }
    fn end_array_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_array_value(writer)
    }
    fn begin_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object(writer)
    }
    fn end_object<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object(writer)
    }
    fn begin_object_key<W: ?Sized + io::Write>(&mut self, writer: &mut W, first: bool) -> io::Result<()> {
        self.0.begin_object_key(writer, first)
    }
    fn begin_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.begin_object_value(writer)
    }
    fn end_object_value<W: ?Sized + io::Write>(&mut self, writer: &mut W) -> io::Result<()> {
        self.0.end_object_value(writer)
    }
}

/// A value that is written with its number tokens as they were read, so that no digit of it is lost.
pub struct Verbatim<'a>(pub &'a RawValue);

impl Serialize for Verbatim<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        Tree(Node::root(self.0.get())).serialize(serializer)
    }
}

struct Tree<'a>(Node<'a>);

impl Serialize for Tree<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.kind() {
            Kind::Null => serializer.serialize_unit(),
            Kind::Bool(value) => serializer.serialize_bool(value),
            Kind::String(text) => serializer.serialize_str(&text),
            Kind::Number(number) => {
                RawValue::from_string(number.to_owned()).map_err(S::Error::custom)?.serialize(serializer)
            }
            Kind::Array => {
                let mut seq = serializer.serialize_seq(None)?;
                for element in self.0.elements() {
                    seq.serialize_element(&Tree(element))?;
                }
                seq.end()
            }
            Kind::Object => {
                let mut map = serializer.serialize_map(None)?;
                for (name, value) in self.0.members() {
                    map.serialize_entry(&name, &Tree(value))?;
                }
                map.end()
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_written_as_python_does() {
        for (value, text) in [
            (1e-6, "1e-06"),
            (1e-5, "1e-05"),
            (0.0001, "0.0001"),
            (10000.0, "10000.0"),
            (1e15, "1000000000000000.0"),
            (1e16, "1e+16"),
            (1.5e300, "1.5e+300"),
            (5e-324, "5e-324"),
            (f64::MAX, "1.7976931348623157e+308"),
            (-0.0, "-0.0"),
            (0.25, "0.25"),
            (123456.789e3, "123456789.0"),
        ] {
            assert_eq!(float_text(value), text);
        }
    }
}
