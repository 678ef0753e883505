//! The text of an `asm` statement as PTX: statements with operands, by the syntax of NVIDIA's PTX ISA.

/// A statement.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Statement {
    /// A brace that opens names of its own.
    Open,
    /// Its end.
    Close,
    /// A place that branches name.
    Label(String),
    /// `.reg`: registers of a type.
    Registers(String, Vec<String>),
    /// An instruction.
    Instruction(Instruction),
}

/// An instruction with its operands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// The predicate on which it depends, and whether that has to hold.
    pub guard: Option<(String, bool)>,
    /// Its name, with modifiers.
    pub name: String,
    /// Destinations and sources.
    pub operands: Vec<Operand>,
}

/// An operand as it is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operand {
    /// A register by its name, which begins with `%` where it is a special one.
    Register(String),
    /// An operand of the `asm` statement.
    Given(usize),
    /// An integer.
    Integer(i128),
    /// An expression of integers, in C++.
    Expression(String),
    /// A number by its bits: `0f` of 32, `0d` of 64.
    Bits(u64, u32),
    /// A number with a point.
    Real(String),
    /// `[base + offset]`.
    Address(Box<Operand>, Option<Box<Operand>>),
    /// `[map, {coordinates}]`.
    Tensor,
    /// `{a, b}`.
    Vector(Vec<Operand>),
    /// `p|q`.
    Pair(Box<Operand>, Box<Operand>),
    /// `!p`.
    Not(Box<Operand>),
    /// `_`.
    Nowhere,
}

/// What stands in an `asm` statement.
///
/// # Errors
/// It is no PTX that is understood: where and why.
pub fn parse(template: &str, names: &[Option<String>]) -> Result<Vec<Statement>, String> {
    let text = without_comments(template);
    let mut statements = Vec::new();
    let mut rest = text.trim_start();
    while let Some(first) = rest.chars().next() {
        let (statement, after) = match first {
            ';' => (None, &rest[1..]),
            '{' => (Some(Statement::Open), &rest[1..]),
            '}' => (Some(Statement::Close), &rest[1..]),
            _ => match label(rest) {
                Some((name, after)) => (Some(Statement::Label(name.to_owned())), after),
                None => {
                    let (text, after) = rest.split_once(';').unwrap_or((rest, ""));
                    (statement(text.trim(), names)?, after)
                }
            },
        };
        statements.extend(statement);
        rest = after.trim_start();
    }
    Ok(statements)
}

/// Text with a blank in place of each comment.
fn without_comments(text: &str) -> String {
    let (mut left, mut rest) = (String::new(), text);
    while let Some(at) = rest.find("//").into_iter().chain(rest.find("/*")).min() {
        left.push_str(&rest[..at]);
        left.push(' ');
        let end = if rest[at..].starts_with("//") { "\n" } else { "*/" };
        rest = rest[at + 2..].split_once(end).map_or("", |(_, after)| after);
    }
    left + rest
}

fn is_of_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || matches!(c, '_' | '$')
}

/// The label with which a text begins.
fn label(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|c: char| !is_of_name(c))?;
    let after = text[end..].trim_start().strip_prefix(':')?;
    (end > 0 && !after.starts_with(':')).then(|| (&text[..end], after))
}

/// What stands before a semicolon.
fn statement(text: &str, names: &[Option<String>]) -> Result<Option<Statement>, String> {
    if let Some(directive) = text.strip_prefix('.') {
        // The type may follow at once.
        let end = directive.find(|c: char| !c.is_ascii_lowercase()).unwrap_or(directive.len());
        let (word, rest) = directive.split_at(end);
        return match word {
            "reg" => registers(rest.trim()).map(Some),
            "pragma" | "loc" => Ok(None),
            _ => Err(format!("`.{word}` is not understood")),
        };
    }
    let (guard, text) = match text.strip_prefix('@') {
        Some(guarded) => {
            let (predicate, rest) = guarded
                .split_once(char::is_whitespace)
                .ok_or_else(|| format!("`{text}` is no instruction"))?;
            let holds = !predicate.starts_with('!');
            (Some((name_of(predicate.trim_start_matches('!')), holds)), rest.trim_start())
        }
        None => (None, text),
    };
    // A bracket may follow at once.
    let (name, rest) =
        text.split_at(text.find(|c: char| c.is_whitespace() || matches!(c, '[' | '{')).unwrap_or(text.len()));
    let operands = split(rest.trim_start())?
        .into_iter()
        .map(|text| operand(text, names))
        .collect::<Result<_, _>>()
        .map_err(|why| format!("`{name}`: {why}"))?;
    Ok(Some(Statement::Instruction(Instruction { guard, name: name.to_owned(), operands })))
}

/// A name without the sign that escapes the next one.
fn name_of(word: &str) -> String {
    word.replace("%%", "%")
}

/// `.reg .b32 a, b<3>`, after the first word.
fn registers(text: &str) -> Result<Statement, String> {
    let why = || format!("`.reg {text}` is not understood");
    let (kind, names) =
        text.strip_prefix('.').and_then(|text| text.split_once(char::is_whitespace)).ok_or_else(why)?;
    let mut all = Vec::new();
    for name in names.split(',').map(str::trim) {
        match name.strip_suffix('>').and_then(|name| name.split_once('<')) {
            Some((name, count)) => {
                let count: u32 = count.trim().parse().map_err(|_| why())?;
                all.extend((0..count.min(4096)).map(|n| format!("{}{n}", name_of(name))));
            }
            None if name.is_empty() || !name.chars().all(|c| is_of_name(c) || c == '%') => return Err(why()),
            None => all.push(name_of(name)),
        }
    }
    Ok(Statement::Registers(kind.to_owned(), all))
}

/// Operands apart, at the commas outside brackets.
fn split(text: &str) -> Result<Vec<&str>, String> {
    let (mut parts, mut depth, mut start) = (Vec::new(), 0_i32, 0);
    for (at, c) in text.char_indices() {
        match c {
            '[' | '{' | '(' => depth += 1,
            ']' | '}' | ')' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    if depth != 0 {
        return Err(format!("the brackets of `{text}` do not match"));
    }
    parts.push(text[start..].trim());
    Ok(if parts == [""] { Vec::new() } else { parts })
}

fn operand(text: &str, names: &[Option<String>]) -> Result<Operand, String> {
    let why = || format!("the operand `{text}` is not understood");
    let within = |open, close| text.strip_prefix(open).and_then(|text| text.strip_suffix(close));
    if let Some(elements) = within('{', '}') {
        return split(elements)?
            .into_iter()
            .map(|text| operand(text, names))
            .collect::<Result<_, _>>()
            .map(Operand::Vector);
    }
    if let Some(address) = within('[', ']') {
        if address.contains(',') {
            return Ok(Operand::Tensor);
        }
        // Not the sign of a number.
        let sign = address.char_indices().skip(1).find(|(_, c)| matches!(c, '+' | '-')).map(|(at, _)| at);
        let Some(sign) = sign else {
            return Ok(Operand::Address(Box::new(operand(address.trim(), names)?), None));
        };
        let offset = address[sign..].trim_start_matches('+').trim();
        let parts = [address[..sign].trim(), offset].map(|text| operand(text, names).map(Box::new));
        let [base, offset] = parts;
        return Ok(Operand::Address(base?, Some(offset?)));
    }
    if let Some((one, other)) = text.split_once('|') {
        return Ok(Operand::Pair(
            Box::new(operand(one.trim(), names)?),
            Box::new(operand(other.trim(), names)?),
        ));
    }
    if let Some(negated) = text.strip_prefix('!') {
        return Ok(Operand::Not(Box::new(operand(negated.trim(), names)?)));
    }
    match text {
        "_" => return Ok(Operand::Nowhere),
        "WARP_SZ" => return Ok(Operand::Integer(32)),
        _ => {}
    }
    if text.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '-' | '.' | '(' | '~')) {
        return number(text).or_else(|| expression(text)).ok_or_else(why);
    }
    if let Some(name) = text.strip_prefix("%[").and_then(|text| text.strip_suffix(']')) {
        let given = names.iter().position(|known| known.as_deref() == Some(name));
        return given.map(Operand::Given).ok_or_else(|| format!("no operand has the name `{name}`"));
    }
    if let Some(given) = text.strip_prefix('%').and_then(|text| text.parse().ok()) {
        return Ok(if given < names.len() {
            Operand::Given(given)
        } else {
            return Err(format!("there is no operand `{text}`"));
        });
    }
    let name = name_of(text);
    let is_name = name.chars().all(|c| is_of_name(c) || matches!(c, '%' | '.')) && !name.is_empty();
    if is_name { Ok(Operand::Register(name)) } else { Err(why()) }
}

/// An expression of constants, whose integers have 64 bits.
fn expression(text: &str) -> Option<Operand> {
    let (mut cxx, mut rest) = (String::new(), text);
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
        if end > 0 {
            let Operand::Integer(value) = number(&rest[..end])? else { return None };
            cxx += &format!("{value}ll");
            rest = &rest[end..];
        } else {
            if !first.is_ascii_whitespace() && !"+-*/%<>&|^~!()?:=".contains(first) {
                return None;
            }
            cxx.push(first);
            rest = &rest[1..];
        }
    }
    Some(Operand::Expression(cxx))
}

/// An immediate number.
fn number(text: &str) -> Option<Operand> {
    let (negative, digits) =
        text.strip_prefix('-').map_or((false, text), |digits| (true, digits.trim_start()));
    let lower = digits.to_ascii_lowercase();
    let bits = |digits: &str, n: u32| {
        let bits = u64::from_str_radix(digits, 16).ok()?;
        Some(Operand::Bits(if negative { bits ^ 1 << (n - 1) } else { bits }, n))
    };
    match lower.get(..2) {
        Some("0f") => return bits(&lower[2..], 32),
        Some("0d") => return bits(&lower[2..], 64),
        _ => {}
    }
    let whole = lower.trim_end_matches('u');
    let (digits, radix) = match (whole.get(..2), whole.strip_prefix('0')) {
        (Some("0x"), _) => (&whole[2..], 16),
        (Some("0b"), _) => (&whole[2..], 2),
        (_, Some(octal)) if !octal.is_empty() && octal.bytes().all(|digit| digit.is_ascii_digit()) => {
            (octal, 8)
        }
        _ => (whole, 10),
    };
    if let Ok(value) = i128::from_str_radix(digits, radix) {
        return Some(Operand::Integer(if negative { -value } else { value }));
    }
    lower.parse::<f64>().ok().filter(|value| value.is_finite())?;
    Some(Operand::Real(format!("{}{lower}", if negative { "-" } else { "" })))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn parsed(text: &str) -> Vec<Statement> {
        parse(text, &[None, Some("x".to_owned()), None]).expect(text)
    }

    #[track_caller]
    fn operands(text: &str) -> Vec<Operand> {
        let mut statements = parsed(text).into_iter();
        let Some(Statement::Instruction(instruction)) = statements.next() else { return Vec::new() };
        assert_eq!(statements.next(), None);
        instruction.operands
    }

    #[test]
    fn statements_are_told_apart() {
        let text = "{\n\t.reg .pred p<2>, q; // two\n.reg.b32 %%r;\nAGAIN: mbarrier.try_wait.parity.shared::cta.b64 p1, [%0], %1;\n@!p1 bra.uni AGAIN;/* so */}";
        let instruction = |guard: Option<(&str, bool)>, name: &str, operands| {
            let guard = guard.map(|(name, holds)| (name.to_owned(), holds));
            Statement::Instruction(Instruction { guard, name: name.to_owned(), operands })
        };
        let register = |name: &str| Operand::Register(name.to_owned());
        assert_eq!(
            parsed(text),
            [
                Statement::Open,
                Statement::Registers("pred".to_owned(), ["p0", "p1", "q"].map(str::to_owned).into()),
                Statement::Registers("b32".to_owned(), vec!["%r".to_owned()]),
                Statement::Label("AGAIN".to_owned()),
                instruction(
                    None,
                    "mbarrier.try_wait.parity.shared::cta.b64",
                    vec![
                        register("p1"),
                        Operand::Address(Box::new(Operand::Given(0)), None),
                        Operand::Given(1)
                    ],
                ),
                instruction(Some(("p1", false)), "bra.uni", vec![register("AGAIN")]),
                Statement::Close,
            ]
        );
        assert_eq!(
            parsed("bar.warp.sync -1"),
            [instruction(None, "bar.warp.sync", vec![Operand::Integer(-1)])]
        );
        assert_eq!(parsed("  ; trap; "), [instruction(None, "trap", vec![])]);
    }

    #[test]
    fn operands_of_all_kinds_are_understood() {
        let register = |name: &str| Operand::Register(name.to_owned());
        let boxed = |operand| Box::new(operand);
        assert_eq!(
            operands("ld.v2 {%0, _}, [%[x] + 0x10];"),
            [
                Operand::Vector(vec![Operand::Given(0), Operand::Nowhere]),
                Operand::Address(boxed(Operand::Given(1)), Some(boxed(Operand::Integer(16)))),
            ]
        );
        assert_eq!(
            operands("st [a-8], !p, p | q;"),
            [
                Operand::Address(boxed(register("a")), Some(boxed(Operand::Integer(-8)))),
                Operand::Not(boxed(register("p"))),
                Operand::Pair(boxed(register("p")), boxed(register("q"))),
            ]
        );
        assert_eq!(operands("st[%0+-4], %%tid.x;")[1], register("%tid.x"));
        assert_eq!(
            operands("f 0f3F800000, -0f3f800000, 0dBFF0000000000000, 1.5e3, 017, 0b101, -0x1U, 4294967295U;"),
            [
                Operand::Bits(0x3f80_0000, 32),
                Operand::Bits(0xbf80_0000, 32),
                Operand::Bits(0xbff0_0000_0000_0000, 64),
                Operand::Real("1.5e3".to_owned()),
                Operand::Integer(15),
                Operand::Integer(5),
                Operand::Integer(-1),
                Operand::Integer(0xffff_ffff),
            ]
        );
        assert_eq!(operands("mov (2+ 0x10) * ~1;"), [Operand::Expression("(2ll+ 16ll) * ~1ll".to_owned())]);
    }

    #[test]
    fn what_is_no_ptx_is_said() {
        for (text, why) in [
            (".shared .b32 x;", "`.shared` is not understood"),
            ("mov.u32 %0, [%1;", "brackets"),
            ("mov.u32 %7, 1;", "there is no operand `%7`"),
            ("mov.u32 %[y], 1;", "no operand has the name `y`"),
            ("mov.u32 %0, 1 << x;", "the operand `1 << x` is not understood"),
            (".reg x;", "`.reg x` is not understood"),
            ("@p", "`@p` is no instruction"),
        ] {
            let found = parse(text, &[None, None]);
            assert!(found.as_ref().is_err_and(|error| error.contains(why)), "{text}: {found:?}");
        }
    }
}
