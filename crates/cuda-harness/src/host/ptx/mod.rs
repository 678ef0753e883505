//! Inline PTX on the CPU: each `asm` of preprocessed text becomes C++ that does the same by the functions of `host/ptx/`. What is not there
//! ends the launch where it is come to, with a sentence: headers that are shipped have much that nobody calls.

use std::ops::Range;

use super::tokens::{Kind, group, spaced, tokens};

mod assembly;
mod cxx;
mod types;

/// The words with which the statement begins.
const MARKS: [&str; 3] = ["asm", "__asm__", "__asm"];

/// Where in which file text stands, by the lines that a preprocessor leaves.
#[derive(Debug, Default)]
struct Place<'a> {
    file: &'a str,
    line: usize,
    is_systems: bool,
}

/// Preprocessed text with each `asm` in it replaced, but for those of the system's headers.
pub fn replace(text: &str) -> String {
    let tokens = tokens(text);
    let mut replaced = String::with_capacity(text.len());
    let (mut done, mut count, mut at) = (0, 0, 0);
    let mut place = Place::default();
    // The place holds from here.
    let mut from = 0;
    while let Some((kind, range)) = tokens.get(at) {
        let word = &text[range.clone()];
        at += 1;
        if *kind == Kind::Line {
            place = marked(word).unwrap_or(place);
            from = range.end + 1;
        }
        if place.is_systems || *kind != Kind::Word || !MARKS.contains(&word) {
            continue;
        }
        let Some((qualifiers, body, end)) = parts(text, &tokens, at) else { continue };
        let words: Vec<&str> = body
            .iter()
            .filter(|(kind, _)| *kind != Kind::Line)
            .map(|(_, range)| &text[range.clone()])
            .collect();
        let line = place.line + text[from.min(range.start)..range.start].matches('\n').count();
        let here = format!("{}:{line}", place.file.rsplit('/').next().unwrap_or_default());
        let Some(written) = written(&words, count, qualifiers, &here) else { continue };
        count += 1;
        replaced.push_str(&text[done..range.start]);
        replaced.push_str(&written.unwrap_or_else(|why| {
            format!(
                "{{ shim::fault(\"%s\", {:?}); }}",
                format!("{here}: the kernel comes to PTX that is not there on the CPU: {why}")
            )
        }));
        // What follows stands on the line where it did.
        let left = &text[range.start..end];
        match body.iter().rev().find(|(kind, _)| *kind == Kind::Line) {
            Some((_, line)) => replaced.push_str(&format!("\n{}\n", &text[line.clone()])),
            None => replaced.extend(left.matches('\n')),
        }
        done = end;
        while tokens.get(at).is_some_and(|(_, range)| range.start < end) {
            if let (Kind::Line, range) = &tokens[at] {
                place = marked(&text[range.clone()]).unwrap_or(place);
                from = range.end + 1;
            }
            at += 1;
        }
    }
    replaced.push_str(&text[done..]);
    replaced
}

/// What a line `# 12 "file" 1 3` says.
fn marked(line: &str) -> Option<Place<'_>> {
    let (number, rest) = line.trim_start_matches(['#', ' ']).split_once(' ')?;
    let (file, flags) = rest.strip_prefix('"')?.rsplit_once('"')?;
    Some(Place { file, line: number.parse().ok()?, is_systems: flags.split(' ').any(|flag| flag == "3") })
}

/// Tokens with where they are.
type Tokens = [(Kind, Range<usize>)];

/// Of an `asm`: how many words stand before its parenthesis, what is between the parentheses, and where it ends, with its semicolon.
fn parts<'a>(text: &str, tokens: &'a Tokens, at: usize) -> Option<(usize, &'a Tokens, usize)> {
    let qualifiers = tokens[at..].iter().take_while(|(kind, _)| *kind == Kind::Word).count();
    let opens = at + qualifiers;
    // Parentheses within strings are of their tokens.
    let depths = tokens[opens..].iter().scan(0_i32, |depth, (kind, range)| {
        let word = &text[range.clone()];
        *depth +=
            i32::from(*kind == Kind::Sign && word == "(") - i32::from(*kind == Kind::Sign && word == ")");
        Some(*depth)
    });
    let length = depths.take_while(|depth| *depth > 0).count() + 1;
    if length == 1 || opens + length > tokens.len() {
        return None;
    }
    let body = &tokens[opens + 1..opens + length - 1];
    let closes = &tokens[opens + length - 1].1;
    let next =
        tokens.get(opens + length).filter(|(kind, range)| *kind == Kind::Sign && &text[range.clone()] == ";");
    Some((qualifiers, body, next.map_or(closes.end, |(_, range)| range.end)))
}

/// An operand of the statement.
#[derive(Debug)]
struct Given {
    name: Option<String>,
    constraint: String,
    expression: String,
}

/// The statement as C++; none where it is to stay as it is, since it does nothing. What it is made of are the words between its parentheses.
fn written(words: &[&str], number: usize, qualifiers: usize, place: &str) -> Option<Result<String, String>> {
    let sections = sections(words);
    let template: Option<String> = sections[0].iter().map(|word| literal(word)).collect();
    match template {
        // A macro of the compiler's own, or an operand of another kind.
        None => Some(Err("its text is no string".to_owned())),
        // Nothing, which a compiler for a CPU may have no registers for.
        Some(template) if template.trim().is_empty() => {
            let has_operands = sections[1..].iter().take(2).any(|section| !section.is_empty());
            has_operands.then(|| translated("", &sections[1..], number, place).ok()).flatten().map(Ok)
        }
        Some(_) if qualifiers > 2 => Some(Err("it jumps to labels of C++".to_owned())),
        Some(template) => Some(translated(&template, &sections[1..], number, place)),
    }
}

fn translated(template: &str, sections: &[&[&str]], number: usize, place: &str) -> Result<String, String> {
    let given = |at: usize| sections.get(at).map_or(Ok(Vec::new()), |section| operands(section));
    let (outputs, inputs) = (given(0)?, given(1)?);
    let mut text = String::from("{ ");
    let mut given_back = String::new();
    let mut names = Vec::new();
    for (n, operand) in outputs.iter().chain(&inputs).enumerate() {
        let is_output = n < outputs.len();
        let kind = operand.constraint.trim_matches(['=', '+', '&']);
        let both = operand.constraint.starts_with('+');
        let bits = match kind {
            "n" | "i" if !is_output => {
                text += &format!(
                    "const shim::ptx::Constant amk_given_{n}{{static_cast<long long>({})}}; ",
                    operand.expression
                );
                names.push(operand.name.clone());
                continue;
            }
            "b" => 8,
            "h" => 16,
            "r" | "f" => 32,
            "l" | "d" => 64,
            "q" => 128,
            other => return Err(format!("the constraint `{other}` is not understood")),
        };
        let bits = if bits == 128 { "unsigned __int128".to_owned() } else { format!("std::uint{bits}_t") };
        if is_output {
            text += &format!("auto&& amk_place_{n} = ({}); ", operand.expression);
            let first = if both {
                format!("shim::ptx::bits<{bits}>(amk_place_{n})")
            } else {
                format!("shim::ptx::unset<{bits}>()")
            };
            text += &format!("auto amk_given_{n} = {first}; ");
            given_back += &format!("shim::ptx::give(amk_place_{n}, amk_given_{n}); ");
        } else {
            // Not const: some write to what they are given, which nobody sees.
            text += &format!("auto amk_given_{n} = shim::ptx::bits<{bits}>({}); ", operand.expression);
        }
        names.push(operand.name.clone());
    }
    // A number that no other statement has.
    let template = template.replace("%=", &number.to_string());
    let statements = assembly::parse(&template, &names)?;
    text += &cxx::Writer::new(number, place).write(&statements)?;
    Ok(text + &given_back + "}")
}

/// The parts between colons.
fn sections<'a, 'b>(words: &'b [&'a str]) -> Vec<&'b [&'a str]> {
    let (mut sections, mut depth, mut start) = (Vec::new(), 0_i32, 0);
    for (n, word) in words.iter().enumerate() {
        match *word {
            "(" | "[" | "{" => depth += 1,
            ")" | "]" | "}" => depth -= 1,
            ":" if depth == 0 => {
                sections.push(&words[start..n]);
                start = n + 1;
            }
            _ => {}
        }
    }
    sections.push(&words[start..]);
    sections
}

/// `[name] "constraint" (expression)`, between commas.
fn operands(words: &[&str]) -> Result<Vec<Given>, String> {
    let mut all = Vec::new();
    let mut rest = words;
    while !rest.is_empty() {
        let (mut name, mut constraint) = (None, String::new());
        if let ["[", word, "]", after @ ..] = rest {
            name = Some((*word).to_owned());
            rest = after;
        }
        while let Some(text) = rest.first().and_then(|word| literal(word)) {
            constraint += &text;
            rest = &rest[1..];
        }
        let length = group(rest, ["(", ")"]).filter(|_| rest.first() == Some(&"("));
        let length = length.ok_or("an operand of it is not understood")?;
        all.push(Given { name, constraint, expression: replace(&spaced(&rest[1..length - 1])) });
        rest = &rest[length..];
        if let [",", after @ ..] = rest {
            rest = after;
        }
    }
    Ok(all)
}

/// What a string of C++ has in it.
fn literal(word: &str) -> Option<String> {
    if let Some(raw) = word.strip_prefix("R\"") {
        let (delimiter, rest) = raw.split_once('(')?;
        return rest.strip_suffix(&format!("){delimiter}\"")).map(str::to_owned);
    }
    let mut text = String::new();
    let mut chars = word.strip_prefix('"')?.strip_suffix('"')?.chars();
    while let Some(c) = chars.next() {
        text.push(match c {
            '\\' => match chars.next()? {
                'n' => '\n',
                't' => '\t',
                'r' => '\r',
                // A line that goes on.
                '\n' => continue,
                other => other,
            },
            other => other,
        });
    }
    Some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the statements of an `asm` become, without what binds its operands.
    #[track_caller]
    fn becomes(assembly: &str) -> String {
        let text = replace(&format!("asm volatile({assembly});"));
        let (_, text) = text.split_once("(void)amk_carry; ").unwrap_or(("", &text));
        // Without what says where a fault is found.
        let mut parts = text.split("shim::self().doing = ");
        let first = parts.next().unwrap_or_default().to_owned();
        let text = parts.fold(first, |text, part| text + part.split_once("; ").map_or("", |(_, rest)| rest));
        let text = text.split_once("shim::ptx::give").map_or(&*text, |(text, _)| text);
        text.strip_suffix("}").unwrap_or(text).trim_end().replace("shim::ptx::", "")
    }

    #[test]
    fn operands_are_bound_and_given_back() {
        assert_eq!(
            replace(
                "int f() { asm(\"add.s32 %0, %1, %[n];\" : \"=r\"(x[i, 0]) : \"r\"(a), [n] \"n\"(N + 1)); }"
            ),
            "int f() { { auto&& amk_place_0 = (x[i, 0]); auto amk_given_0 = shim::ptx::unset<std::uint32_t>(); \
             auto amk_given_1 = shim::ptx::bits<std::uint32_t>(a); \
             const shim::ptx::Constant amk_given_2{static_cast<long long>(N + 1)}; \
             bool amk_carry = false; (void)amk_carry; shim::self().doing = \":0, add.s32\"; \
             shim::ptx::put<std::int32_t>(amk_given_0, shim::ptx::add_of<0>(shim::ptx::as<std::int32_t>(amk_given_1), \
             shim::ptx::as<std::int32_t>(amk_given_2))); shim::self().doing = nullptr; shim::ptx::give(amk_place_0, amk_given_0); } }"
        );
        assert!(
            replace("asm(\"neg.f64 %0, %0;\" : \"+d\"(x));")
                .contains("amk_given_0 = shim::ptx::bits<std::uint64_t>(amk_place_0)")
        );
    }

    #[test]
    fn instructions_become_calls() {
        for (assembly, expected) in [
            (
                "\"{ .reg .pred p; setp.ne.b32 p, %1, 0; @!p mov.b32 %0, 0f3f800000; }\" : \"=f\"(y) : \"r\"(x)",
                "bool amk_register_1 = false; put<bool>(amk_register_1, compare_ne<0>(as<std::uint32_t>(amk_given_1), \
                 as<std::uint32_t>(Constant{0ll}))); \
                 if (as<bool>(amk_register_1) == false) { put<std::uint32_t>(amk_given_0, \
                 as<std::uint32_t>(std::uint32_t(0x3f800000u))); }",
            ),
            ("\"A: bra.uni A;\"", "amk_label_0_A: ; goto amk_label_0_A;"),
            (
                "\"ld.acquire.gpu.global.u32 %0, [%1+4];\" : \"=r\"(y) : \"l\"(p)",
                "poll<std::uint32_t, true>(place<GLOBAL>(amk_given_1, offset(Constant{4ll}), 1 * sizeof(std::uint32_t)), \
                 shim::ACQUIRES, amk_given_0);",
            ),
            (
                "\"red.release.cta.shared::cta.add.u64 [%0], %1;\" :: \"r\"(p), \"l\"(x)",
                "atomic<std::uint64_t, false>(add_word{}, place<SHARED>(amk_given_0, 0, 1 * sizeof(std::uint64_t)), \
                 shim::RELEASES, values<std::uint64_t>(as<std::uint64_t>(amk_given_1)), nowhere);",
            ),
            (
                "\"mov.b64 {%0, _}, %1;\" : \"=r\"(y) : \"l\"(x)",
                "unpack<std::uint64_t>(as<std::uint64_t>(amk_given_1), amk_given_0, nowhere);",
            ),
            (
                "\"mov.u32 %0, %%laneid;\" : \"=r\"(y)",
                "put<std::uint32_t>(amk_given_0, as<std::uint32_t>(std::uint32_t(amk_lane())));",
            ),
            ("\"fence.acq_rel.gpu;\" ::: \"memory\"", "shim::fence();"),
            ("\"membar.cta;\"", "shim::fence_block();"),
            (
                "\"mbarrier.arrive_drop.shared.b64 _, [%0];\" :: \"r\"(p)",
                "put<std::uint64_t>(nowhere, arrive_drop(place<SHARED>(amk_given_0, 0, 8), 1u, 0u, shim::RELEASES));",
            ),
            (
                "\"tcgen05.st.sync.aligned.16x32bx2.x1.unpack::16b.b32 [%0+8], 4, {%1};\" :: \"r\"(a), \"r\"(b)",
                "tensor_store({2, 1, true, as<std::uint32_t>(Constant{4ll})}, tensor_address(amk_given_0, offset(Constant{8ll})), \
                 registers(amk_given_1));",
            ),
            (
                "\"tcgen05.mma.cta_group::1.kind::f16.collector::a::fill [%0], [%0], %1, %0, 0, 3;\" :: \"r\"(a), \"l\"(b)",
                "shim::tensor_multiply({shim::TensorKind::F16, tensor_address(amk_given_0, 0), true, tensor_address(amk_given_0, 0), \
                 as<std::uint64_t>(amk_given_1), as<std::uint32_t>(amk_given_0), as<bool>(Constant{0ll}), 3, {0u, 0u, 0u, 0u}});",
            ),
            (
                "R\"(bar.sync 1, 64;)\"",
                "meet(as<std::uint32_t>(Constant{1ll}), as<std::uint32_t>(Constant{64ll}), true);",
            ),
        ] {
            assert_eq!(becomes(assembly), expected, "{assembly}");
        }
    }

    #[test]
    fn what_is_not_there_is_said_where_it_is_come_to() {
        for (assembly, why) in [
            (
                "\"tcgen05.shift.cta_group::1.down [%0];\" :: \"r\"(a)",
                "`tcgen05.shift.cta_group::1.down`: it is not there on the CPU",
            ),
            (
                "\"tcgen05.mma.cta_group::1.kind::mxf4 [%0], %1, %1, %0, 1;\" :: \"r\"(a), \"l\"(b)",
                "no kind is named that is there",
            ),
            (
                "\"tcgen05.dealloc.cta_group::2.sync.aligned.b32 %0, 32;\" :: \"r\"(a)",
                "`.cta_group::1` is what is there",
            ),
            (
                "\"tcgen05.ld.sync.aligned.16x256b.x1.b32 {%0, %0}, [%0];\" : \"+r\"(a)",
                "4 registers are expected",
            ),
            ("\"add.rn.f32.bf16 %0, %0, %0;\" : \"+f\"(x)", "`.f32` is not understood"),
            ("\"ld.global.nc.lazy.u32 %0, [%1];\" : \"=r\"(y) : \"l\"(p)", "`.lazy` is not understood"),
            ("\"mov.u32 %0, q;\" : \"=r\"(y)", "the register `q` is not declared in this statement"),
            ("\"mov.u32 %1, 1;\" : \"=r\"(y)", "there is no operand `%1`"),
            (
                "\"cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, %2}], [%0];\" :: \"r\"(a), \"l\"(b), \"r\"(c)",
                "not there",
            ),
            (
                "\"mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0}, {%0}, {%0}, {%0};\" : \"+d\"(x)",
                "`.m8n8k4` is not there",
            ),
            (
                "\"wgmma.mma_async.sync.aligned.m64n40k32.s32.s8.u8 {%0}, %1, %1, 1;\" : \"+r\"(x) : \"l\"(a)",
                "`.m64n40k32` is no shape of such numbers",
            ),
            (
                "\"wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%0}, %1, %1, 1, 1, 1, 0;\" : \"+f\"(x) : \"l\"(a)",
                "8 operands are expected",
            ),
            ("\"}\"", "a brace is closed"),
            ("\"addc.u32 %0, %0, 0;\" : \"+r\"(x)", "what another statement carries is not kept"),
            ("\"atom.global.exch.b128 %0, [%1], %0;\" : \"+q\"(x) : \"l\"(p)", "words of 16, 32 and 64 bits"),
            ("\"nop;\" :: \"x\"(y)", "the constraint `x` is not understood"),
            ("TEXT", "its text is no string"),
            ("\"mov.u32 %0, [é+1];\" : \"=r\"(y)", "é"),
            ("\"mov.u32 %0, (1 +2);\" : \"=r\"(y)", "is not understood"),
        ] {
            let found = replace(&format!("# 7 \"a/b.cu\"\n\nasm({assembly});"));
            assert!(
                found.contains("shim::fault(\"%s\", \"b.cu:8: the kernel comes to PTX")
                    && found.contains(why),
                "{assembly}: {found}"
            );
        }
    }

    #[test]
    fn what_stands_around_stays_where_it_is() {
        for text in [
            "asm volatile(\"\" : \"+m\"(x) :: \"memory\");",
            "asm volatile(\"\" ::: \"memory\");",
            "# 3 \"/usr/include/x.h\" 1 3 4\nextern int f(int) __asm__(\"\" \"g\");",
            "int asm_ = 1; // asm",
            "asm; __asm { trap } asm volatile asm( asm(\"trap;\"",
            "auto s = \"asm(\\\"trap;\\\")\";",
        ] {
            assert_eq!(replace(text), text);
        }
        // Nothing has no registers, and what is within an operand is PTX too.
        assert!(replace("asm(\"\" : \"+f\"(x));").starts_with("{ auto&& amk_place_0 = (x);"));
        let within =
            replace("asm(\"mov.u32 %0, 1;\" : \"=r\"(*[&] { asm(\"trap; L%=: bra L%=;\"); return &x; }()));");
        assert!(
            within.contains("__trap();")
                && within.contains("goto amk_label_0_L0;")
                && !within.contains("asm"),
            "{within}"
        );
        // Of the lines that follow, each has the number that it had.
        let lines = replace("# 7 \"k.cu\"\nasm(\"trap;\"\n    :\n    :);\nint x;\n");
        assert!(lines.starts_with("# 7 \"k.cu\"\n{ ") && lines.ends_with(" }\n\n\nint x;\n"), "{lines}");
        let lines = replace("asm(\n# 8 \"k.cu\" 3\n\"trap;\"\n# 8 \"k.cu\"\n);\nint x;\n");
        assert!(lines.ends_with(" }\n# 8 \"k.cu\"\n\nint x;\n"), "{lines}");
    }

    #[test]
    fn text_that_breaks_off_anywhere_is_no_panic() {
        let text = "int x; asm volatile(\"{ .reg .pred p<2>; L%=: @!p1 ld.shared.v2.u32 {%0, _}, [%[a] + (1 << 2)]; \\n\" R\"x(bra L%=; // é)x\" \
                    : \"=r\"(y[f(1, 2)]), \"+f\"(z) : [a] \"r\"(u), \"n\"(N) : \"memory\"); int é;";
        for (end, _) in text.char_indices().filter(|(end, _)| *end > 6) {
            assert!(replace(&text[..end]).starts_with("int x;"), "{}", &text[..end]);
            // Without one character, too.
            let rest = text[end..].char_indices().nth(1).map_or("", |(next, _)| &text[end + next..]);
            let without = format!("{}{rest}", &text[..end]);
            assert!(replace(&without).starts_with("int x;"), "{without}");
        }
    }
}
