//! Instructions that change numbers, bits and predicates.

use super::{Found, Operand, SPACES, Type, Words, Writer};

const U32: Type = Type::Unsigned(32);
const U64: Type = Type::Unsigned(64);
const F32: Type = Type::Float(32);

/// Words that say how a result is rounded, and how it is in `host/ptx/values.hpp`.
const MODES: [(&str, &str); 18] = [
    ("rn", "RN"),
    ("rz", "RZ"),
    ("rm", "RM"),
    ("rp", "RP"),
    ("rna", "AWAY"),
    ("rni", "WHOLE"),
    ("rzi", "WHOLE | shim::ptx::RZ"),
    ("rmi", "WHOLE | shim::ptx::RM"),
    ("rpi", "WHOLE | shim::ptx::RP"),
    ("ftz", "FTZ"),
    ("sat", "SAT"),
    ("satfinite", "FINITE"),
    ("relu", "RELU"),
    ("NaN", "KEEPS_NAN"),
    ("abs", "MAGNITUDE"),
    ("approx", "APPROX"),
    ("full", "APPROX"),
    ("shiftamt", "SHIFT"),
];

/// What the words of a name say of this, as an argument of a template.
fn mode(words: &mut Words) -> String {
    let taken: Vec<String> = MODES
        .iter()
        .filter(|(word, _)| words.take(word))
        .map(|(_, name)| format!("shim::ptx::{name}"))
        .collect();
    if taken.is_empty() { "0".to_owned() } else { taken.join(" | ") }
}

/// Comparisons by their words, and in C++: of NaN those with a `u` at their end hold.
const COMPARISONS: [&str; 18] = [
    "eq", "ne", "lt", "le", "gt", "ge", "lo", "ls", "hi", "hs", "equ", "neu", "ltu", "leu", "gtu", "geu",
    "num", "nan",
];

impl Writer<'_> {
    pub(super) fn moved(&self, words: &mut Words, operands: &[Operand]) -> Found<String> {
        let kind = words.last_type()?;
        let [to, from] = operands else { return Err("two operands are expected".to_owned()) };
        self.put(kind, to, &self.source(kind, from)?)
    }

    /// All that is one function of values, or does nothing on the CPU.
    pub(super) fn plain(&self, opcode: &str, words: &mut Words, operands: &[Operand]) -> Found<String> {
        match opcode {
            "add" | "sub" | "addc" | "subc" => self.sum(opcode, words, operands),
            "mul" | "mad" | "madc" | "mul24" | "mad24" => self.product(opcode, words, operands),
            "fma" | "div" | "rem" | "min" | "max" | "abs" | "neg" | "rcp" | "sqrt" | "rsqrt" | "ex2"
            | "lg2" | "sin" | "cos" | "tanh" | "sad" | "copysign" => {
                let mode = mode(words);
                let kind = words.last_type()?;
                self.function(&format!("{opcode}_of<{mode}>"), kind, kind, operands)
            }
            "and" | "or" | "xor" | "not" | "cnot" => {
                let kind = words.last_type()?;
                self.function(&format!("bits_{opcode}"), kind, kind, operands)
            }
            "brev" => {
                let kind = words.last_type()?;
                self.function("reversed", kind, kind, operands)
            }
            "popc" | "clz" => {
                let kind = words.last_type()?;
                self.function(opcode, kind, U32, operands)
            }
            "bfind" => {
                let mode = mode(words);
                let kind = words.last_type()?;
                self.function(&format!("bfind<{mode}>"), kind, U32, operands)
            }
            "shl" | "shr" => {
                let kind = words.last_type()?;
                self.mixed(opcode, kind, operands, &[kind, U32])
            }
            "shf" => {
                let side = words.one_of(&["l", "r"]).ok_or("`.l` or `.r` is missing")?;
                let wraps =
                    words.one_of(&["wrap", "clamp"]).ok_or("`.wrap` or `.clamp` is missing")? == "wrap";
                let kind = words.last_type()?;
                self.mixed(&format!("funnel_{side}<{wraps}>"), kind, operands, &[U32, U32, U32])
            }
            "bfe" => {
                let kind = words.last_type()?;
                self.mixed(opcode, kind, operands, &[kind, U32, U32])
            }
            "bfi" => {
                let kind = words.last_type()?;
                self.mixed(opcode, kind, operands, &[kind, kind, U32, U32])
            }
            "lop3" => {
                let kind = words.last_type()?;
                self.function(opcode, kind, kind, operands)
            }
            "prmt" => {
                let kind = words.next_type().ok_or("`.b32` is missing")?;
                let how = words.one_of(&["f4e", "b4e", "rc8", "ecl", "ecr", "rc16"]).unwrap_or("plain");
                self.function(&format!("prmt_{how}"), kind, kind, operands)
            }
            "selp" => {
                let kind = words.last_type()?;
                self.mixed(opcode, kind, operands, &[kind, kind, Type::Predicate])
            }
            "dp4a" | "dp2a" => {
                let side = if opcode == "dp2a" {
                    words.one_of(&["lo", "hi"]).ok_or("`.lo` or `.hi` is missing")?
                } else {
                    ""
                };
                let (b, a) = (words.last_type()?, words.last_type()?);
                let signed = matches!(a, Type::Signed(_)) || matches!(b, Type::Signed(_));
                let sum = if signed { Type::Signed(32) } else { U32 };
                let name = format!(
                    "{opcode}{side}<{}, {}>",
                    matches!(a, Type::Signed(_)),
                    matches!(b, Type::Signed(_))
                );
                self.mixed(&name, sum, operands, &[U32, U32, sum])
            }
            "testp" => {
                let what = words
                    .one_of(&["finite", "infinite", "number", "notanumber", "normal", "subnormal"])
                    .ok_or("what is tested is missing")?;
                let kind = words.last_type()?;
                self.function(&format!("is_{what}"), kind, Type::Predicate, operands)
            }
            "isspacep" => {
                let space = SPACES.iter().find(|(word, _)| words.take(word)).ok_or("no space is named")?.0;
                let shared = if space.starts_with("shared") { "" } else { "!" };
                let [to, from] = operands else { return Err("two operands are expected".to_owned()) };
                self.put(
                    Type::Predicate,
                    to,
                    &format!("{shared}shim::ptx::is_shared({})", self.source(U64, from)?),
                )
            }
            "mapa" => {
                let _ = words.take("shared::cluster");
                let kind = words.last_type()?;
                self.mixed("of_block_of_cluster", kind, operands, &[kind, U32])
            }
            "getctarank" => {
                while words.next().is_some() {}
                self.put(U32, operands.first().ok_or("no operands")?, "0u")
            }
            "createpolicy" => {
                while words.next().is_some() {}
                self.put(U64, operands.first().ok_or("no operands")?, "std::uint64_t(0)")
            }
            "bra" => {
                let _ = words.take("uni");
                match operands {
                    [Operand::Register(name)] => Ok(format!("goto {}", self.label(name))),
                    _ => Err("a label is expected".to_owned()),
                }
            }
            _ => self.effect(opcode, words),
        }
    }

    /// Operands of several types; of a constant type each.
    fn mixed(&self, name: &str, result: Type, operands: &[Operand], kinds: &[Type]) -> Found<String> {
        let (to, sources) = operands.split_first().ok_or("no operands")?;
        if sources.len() != kinds.len() {
            return Err(format!("{} operands are expected", kinds.len() + 1));
        }
        let sources = kinds
            .iter()
            .zip(sources)
            .map(|(kind, source)| self.source(*kind, source))
            .collect::<Found<Vec<_>>>()?;
        self.put(result, to, &format!("shim::ptx::{name}({})", sources.join(", ")))
    }

    fn sum(&self, opcode: &str, words: &mut Words, operands: &[Operand]) -> Found<String> {
        let (takes, gives) = (opcode.ends_with('c'), words.take("cc"));
        let name = opcode.trim_end_matches('c');
        let mode = mode(words);
        let kind = words.last_type()?;
        if !takes && !gives {
            return self.function(&format!("{name}_of<{mode}>"), kind, kind, operands);
        }
        let [to, a, b] = operands else { return Err("three operands are expected".to_owned()) };
        let value = format!(
            "shim::ptx::{name}_carry<{takes}, {gives}>(amk_carry, {}, {})",
            self.source(kind, a)?,
            self.source(kind, b)?
        );
        self.put(kind, to, &value)
    }

    fn product(&self, opcode: &str, words: &mut Words, operands: &[Operand]) -> Found<String> {
        let mode = mode(words);
        let part = words.one_of(&["lo", "hi", "wide"]);
        let (takes, gives) = (opcode == "madc", words.take("cc"));
        let kind = words.last_type()?;
        if !kind.is_integer() {
            let name = if opcode == "mad" { "fma" } else { opcode };
            return self.function(&format!("{name}_of<{mode}>"), kind, kind, operands);
        }
        let part = part.ok_or("`.lo`, `.hi` or `.wide` is missing")?;
        let result = if part == "wide" { kind.wide().ok_or("`.wide` is of 16 and 32 bits")? } else { kind };
        if takes || gives {
            let [to, a, b, c] = operands else { return Err("four operands are expected".to_owned()) };
            let [a, b, c] = [self.source(kind, a)?, self.source(kind, b)?, self.source(kind, c)?];
            let value = format!(
                "shim::ptx::add_carry<{takes}, {gives}>(amk_carry, shim::ptx::mul_{part}<false>({a}, {b}), {c})"
            );
            return self.put(result, to, &value);
        }
        let mut kinds = vec![kind, kind];
        if opcode.starts_with("mad") {
            kinds.push(result);
        }
        let saturates = mode.contains("SAT");
        self.mixed(&format!("{opcode}_{part}<{saturates}>"), result, operands, &kinds)
    }

    pub(super) fn compare(&self, opcode: &str, words: &mut Words, operands: &[Operand]) -> Found<String> {
        let comparison =
            words.next().filter(|word| COMPARISONS.contains(word)).ok_or("no comparison is named")?;
        let joined = words.one_of(&["and", "or", "xor"]);
        let mode = mode(words);
        let kind = words.last_type()?;
        if matches!(kind, Type::Other(name, _) if name.ends_with("x2")) {
            return Err("pairs are not compared on the CPU".to_owned());
        }
        let result = if opcode == "set" { words.last_type()? } else { Type::Predicate };
        let (to, sources) = operands.split_first().ok_or("no operands")?;
        let ([a, b], rest) = sources.split_first_chunk().ok_or("too few operands")?;
        let holds = format!(
            "shim::ptx::compare_{comparison}<{mode}>({}, {})",
            self.source(kind, a)?,
            self.source(kind, b)?
        );
        // With another predicate, both what holds and what does not are joined with it.
        let join = |holds: &str| -> Found<String> {
            match (joined, rest) {
                (None, []) => Ok(holds.to_owned()),
                (Some(word), [other]) => {
                    let operator = match word {
                        "and" => "&&",
                        "or" => "||",
                        _ => "!=",
                    };
                    Ok(format!("({holds} {operator} {})", self.source(Type::Predicate, other)?))
                }
                _ => Err("a predicate is missing, or too many".to_owned()),
            }
        };
        if opcode == "set" {
            let one = if result == F32 { "1.0f".to_owned() } else { format!("{}(-1)", result.name()) };
            return self.put(result, to, &format!("({} ? {one} : {}(0))", join(&holds)?, result.name()));
        }
        match to {
            // Both are found before either is changed.
            Operand::Pair(yes, no) => Ok(format!(
                "{{ const bool amk_holds = {holds}, amk_yes = {}, amk_no = {}; {}; {}; }}",
                join("amk_holds")?,
                join("!amk_holds")?,
                self.put(Type::Predicate, yes, "amk_yes")?,
                self.put(Type::Predicate, no, "amk_no")?
            )),
            _ => self.put(Type::Predicate, to, &join(&holds)?),
        }
    }

    pub(super) fn convert(&self, words: &mut Words, operands: &[Operand]) -> Found<String> {
        let mode = mode(words);
        let (from, to) = (words.last_type()?, words.last_type()?);
        let (place, sources) = operands.split_first().ok_or("no operands")?;
        let sources = sources.iter().map(|source| self.part(from, source)).collect::<Found<Vec<_>>>()?;
        let value = format!("shim::ptx::convert<{}, {mode}>({})", to.name(), sources.join(", "));
        Ok(format!("shim::ptx::put_part<{}>({}, {value})", to.name(), self.place(place)?))
    }

    /// An address of one space becomes one of another.
    pub(super) fn cast(&self, words: &mut Words, operands: &[Operand]) -> Found<String> {
        let to = words.take("to");
        let (word, space) = *SPACES.iter().find(|(word, _)| words.take(word)).ok_or("no space is named")?;
        let kind = words.last_type()?;
        let [place, from] = operands else { return Err("two operands are expected".to_owned()) };
        let from = self.source(kind, from)?;
        let value = match (space, to) {
            ("SHARED", true) => format!("shim::ptx::to_window({from})"),
            ("SHARED", false) => format!("shim::ptx::of_window({from})"),
            _ if word == "global" && to => format!("shim::ptx::to_global({from})"),
            _ => from,
        };
        self.put(kind, place, &format!("{}({value})", kind.name()))
    }
}
