//! `__shared__` variables on the CPU. To a C++ compiler a variable is a thread's or everybody's, and those of a block are neither: each becomes a
//! reference to memory that the shim keeps for the running block, or, where it is `extern`, to the block's dynamic shared memory.

use std::ops::Range;

use super::tokens::{Kind, group, spaced, tokens};

/// What `__shared__` stands for in preprocessed text (`host/names.hpp`).
const MARK: &str = "amk_of_the_block";

/// The words of a declaration that say where a variable is, which the reference says instead.
const STORAGE: [&str; 4] = [MARK, "static", "extern", "inline"];

/// Preprocessed text with each declaration of `__shared__` variables replaced.
///
/// # Errors
/// A declaration that is not understood: the text of it and why.
pub fn replace(text: &str) -> Result<String, String> {
    let tokens = tokens(text);
    let mut replaced = String::with_capacity(text.len());
    let (mut done, mut count) = (0, 0);
    // The first token of the statement.
    let mut first = 0;
    let mut at = 0;
    while let Some((kind, place)) = tokens.get(at) {
        let word = &text[place.clone()];
        let ends = match word {
            ";" | "{" | "}" => *kind == Kind::Sign,
            ":" => is_label(text, &tokens[first..=at]),
            _ => false,
        };
        if ends {
            first = at + 1;
        } else if word == MARK {
            let end = end_of_declaration(text, &tokens, at)
                .ok_or("the text ends in a declaration of `__shared__`")?;
            let statement = &tokens[first..=end];
            let (lines, statement): (Vec<_>, Vec<_>) =
                statement.iter().partition(|(kind, _)| *kind == Kind::Line);
            let words: Vec<&str> = statement.iter().map(|(_, place)| &text[place.clone()]).collect();
            let start = statement.first().map_or(place.start, |(_, place)| place.start);
            replaced.push_str(&text[done..start]);
            let said = |why: &str| format!("`{}`: {why}", spaced(&words).replace(MARK, "__shared__"));
            let (references, names) = references(&words, &mut count).map_err(|why| said(&why))?;
            replaced.push_str(&references);
            if let Some(name) = copied(text, &tokens[end + 1..], &names) {
                return Err(said(&format!(
                    "a lambda behind it copies `{name}`, which on the CPU is a reference: capture with [&], or not at all"
                )));
            }
            done = tokens[end].1.end;
            // What follows stands where it did.
            if let Some((_, line)) = lines.last() {
                replaced.push('\n');
                replaced.push_str(&text[line.clone()]);
                replaced.push('\n');
            }
            at = end;
            first = end + 1;
        }
        at += 1;
    }
    replaced.push_str(&text[done..]);
    Ok(replaced)
}

/// Where a declaration ends, at the earliest behind a place: with a semicolon, or with a brace that opens no type's members.
fn end_of_declaration(text: &str, tokens: &[(Kind, Range<usize>)], from: usize) -> Option<usize> {
    let (mut depth, mut has_type) = (0_i32, false);
    for (n, (kind, place)) in tokens.iter().enumerate().skip(from) {
        match &text[place.clone()] {
            word if is_type_with_members(word) => has_type = true,
            "{" if *kind == Kind::Sign && (has_type || depth > 0) => depth += 1,
            "}" if *kind == Kind::Sign && depth > 0 => depth -= 1,
            ";" | "{" | "}" if *kind == Kind::Sign && depth == 0 => return Some(n),
            _ => {}
        }
    }
    None
}

fn is_type_with_members(word: &str) -> bool {
    matches!(word, "struct" | "union" | "class")
}

/// Whether tokens, of which the last is a colon, are the label of a case.
fn is_label(text: &str, tokens: &[(Kind, Range<usize>)]) -> bool {
    let mut words = tokens.iter().filter(|(kind, _)| *kind != Kind::Line).map(|(_, place)| place);
    let begins = words.next().is_some_and(|place| matches!(&text[place.clone()], "case" | "default"));
    let colon = tokens.last().map_or(0, |(_, place)| place.start);
    let beside = [colon.wrapping_sub(1), colon + 1].map(|at| text.as_bytes().get(at) == Some(&b':'));
    begins && beside == [false, false]
}

/// Which of these names a lambda has that captures by copy, in the rest of the block.
fn copied<'a>(text: &str, tokens: &[(Kind, Range<usize>)], names: &'a [String]) -> Option<&'a String> {
    let words: Vec<&str> = tokens.iter().map(|(_, place)| &text[place.clone()]).collect();
    let mut depth = 0_i32;
    for (n, word) in words.iter().enumerate() {
        depth += i32::from(*word == "{") - i32::from(*word == "}");
        if depth < 0 {
            return None;
        }
        if *word == "[" && words.get(n + 1) == Some(&"=") {
            let opens = n + words[n..].iter().position(|word| *word == "{")?;
            let body = &words[opens..opens + group(&words[opens..], ["{", "}"])?];
            let found = names.iter().find(|name| body.contains(&name.as_str()));
            if found.is_some() {
                return found;
            }
        }
    }
    None
}

/// A declaration, with the semicolon at its end, as references; and their names. `count` numbers what is named for them.
fn references(words: &[&str], count: &mut usize) -> Result<(String, Vec<String>), String> {
    let is_extern = words.contains(&"extern");
    let (mut alignment, mut rest) = (Vec::new(), Vec::new());
    let (mut next, mut depth) = (0, 0_i32);
    while let Some(word) = words.get(next) {
        depth += i32::from(*word == "{") - i32::from(*word == "}");
        let last = |is: &dyn Fn(&str) -> bool| rest.iter().rposition(|word: &&str| is(word));
        // What stands between `struct` and its members is theirs.
        let of_type = last(&is_type_with_members) > last(&|word| word == "}");
        if depth == 0 && *word == "[" && words.get(next + 1) == Some(&"[") {
            next += group(&words[next..], ["[", "]"]).ok_or("a bracket is not closed")? - 1;
        } else if depth == 0 && !of_type && matches!(*word, "alignas" | "__attribute__") {
            let group = group(&words[next + 1..], ["(", ")"]).ok_or("a parenthesis is not closed")?;
            alignment.push(spaced(&words[next..=next + group]));
            next += group;
        } else if depth > 0 || !STORAGE.contains(word) {
            rest.push(*word);
        }
        next += 1;
    }
    let name = name(&rest).ok_or("no name of a variable is found")?;
    let declared = spaced(&rest[..name]);
    // The names with what follows each of them.
    let mut declarators = vec![Vec::new()];
    let mut depth = 0_i32;
    for word in &rest[name..] {
        match *word {
            "[" | "(" => depth += 1,
            "]" | ")" => depth -= 1,
            "=" | "{" | "}" => return Err("shared memory has no first value".to_owned()),
            "," if depth == 0 => {
                declarators.push(Vec::new());
                continue;
            }
            ";" => break,
            _ => {}
        }
        if let Some(last) = declarators.last_mut() {
            last.push(*word);
        }
    }
    if declarators.len() > 1 && rest[..name].contains(&"*") {
        return Err("one pointer a declaration, please".to_owned());
    }
    let (mut text, mut names) = (String::new(), Vec::new());
    for declarator in declarators {
        let (name, extents) = declarator.split_first().ok_or("a name is missing")?;
        if !name.starts_with(|first: char| first.is_alphabetic() || first == '_')
            || extents.contains(&"(") && extents[0] == "("
        {
            return Err("only variables and arrays are understood".to_owned());
        }
        names.push((*name).to_owned());
        *count += 1;
        let n = *count;
        let extents = spaced(extents);
        text += &format!("typedef {declared} amk_type_{n} {extents}; ");
        text += &if is_extern {
            format!("amk_type_{n}& {name} = shim::dynamic<amk_type_{n}>(\"{name}\");")
        } else {
            let least = [&alignment[..], &["char byte;".to_owned()]].concat().join(" ");
            format!(
                "struct amk_least_{n} {{ {least} }}; static char amk_key_{n}; \
                 amk_type_{n}& {name} = shim::variable<amk_type_{n}>(&amk_key_{n}, alignof(amk_least_{n}), \"{name}\");"
            )
        };
    }
    Ok((text, names))
}

/// Where the first name stands that a declaration declares: before its extents, a comma or its end, but for what the type's own brackets have.
fn name(words: &[&str]) -> Option<usize> {
    let (mut angles, mut n) = (0_i32, 0);
    while let Some(word) = words.get(n) {
        match *word {
            "<" => angles += 1,
            ">" => angles -= 1,
            "(" if n > 0 => n += group(&words[n..], ["(", ")"])? - 1,
            "{" if words[..n].iter().any(|word| is_type_with_members(word)) => {
                n += group(&words[n..], ["{", "}"])? - 1
            }
            "[" | "," | ";" | "=" | "{" if angles == 0 => return n.checked_sub(1).filter(|name| *name > 0),
            _ => {}
        }
        n += 1;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn replaced(text: &str) -> String {
        replace(&text.replace("__shared__", MARK)).unwrap_or_else(|why| why)
    }

    #[test]
    fn variables_become_references() {
        assert_eq!(
            replaced("void f() { __shared__ float x[2 * N][33]; x[0] = 1; }"),
            "void f() { typedef float amk_type_1 [2 * N][33]; struct amk_least_1 { char byte; }; static char amk_key_1; \
             amk_type_1& x = shim::variable<amk_type_1>(&amk_key_1, alignof(amk_least_1), \"x\"); x[0] = 1; }"
        );
        assert_eq!(
            replaced("void f() { extern __shared__ __attribute__((aligned(16))) unsigned char s[]; }"),
            "void f() { typedef unsigned char amk_type_1 []; amk_type_1& s = shim::dynamic<amk_type_1>(\"s\"); }"
        );
    }

    /// Type, name and extents of each variable of a declaration.
    #[track_caller]
    fn assert_declares(declaration: &str, expected: &[(&str, &str, &str)]) {
        let text = replaced(declaration);
        let found: Vec<_> = text
            .split("typedef ")
            .skip(1)
            .map(|each| {
                let (declared, rest) = each.split_once(" amk_type_").unwrap_or_default();
                let (_, rest) = rest.split_once(' ').unwrap_or_default();
                let (extents, rest) = rest.split_once(';').unwrap_or_default();
                let name =
                    rest.split_once("& ").and_then(|(_, rest)| rest.split_once(" =")).unwrap_or_default().0;
                (declared, name, extents)
            })
            .collect();
        assert_eq!(found, expected, "{text}");
    }

    #[test]
    fn declarations_of_all_kinds_are_understood() {
        assert_declares("__shared__ int n;", &[("int", "n", "")]);
        assert_declares("static __shared__ volatile float x[4];", &[("volatile float", "x", "[4]")]);
        assert_declares(
            "__shared__ float a[4], b, c[2][3];",
            &[("float", "a", "[4]"), ("float", "b", ""), ("float", "c", "[2][3]")],
        );
        assert_declares(
            "__shared__ typename R<T, (N > 1), 4>::Room room;",
            &[("typename R<T, (N > 1), 4>::Room", "room", "")],
        );
        assert_declares(
            "__shared__ decltype(f(1, 2)) x[f(1, 2)];",
            &[("decltype(f(1, 2))", "x", "[f(1, 2)]")],
        );
        assert_declares("__shared__ const float* p;", &[("const float*", "p", "")]);
        assert_declares("alignas(T) __shared__ T x[1'000];", &[("T", "x", "[1'000]")]);
        assert_declares(
            "__shared__ struct { float a; alignas(8) int b[2]; } s[2];",
            &[("struct { float a; alignas(8) int b[2]; }", "s", "[2]")],
        );
        assert_declares(
            "__shared__ union U { struct { int a; } x; float y; } u;",
            &[("union U { struct { int a; } x; float y; }", "u", "")],
        );
        assert_declares("__shared__ struct S s;", &[("struct S", "s", "")]);
        assert_declares("[[maybe_unused]] __shared__ int x;", &[("int", "x", "")]);
        assert_declares("case A::B: __shared__ int x;", &[("int", "x", "")]);
        assert_declares("default: __shared__ A::B x;", &[("A::B", "x", "")]);
        let aligned = "struct __attribute__((aligned(16))) F { float x, y, z; }";
        assert_declares(&format!("__shared__ {aligned} s[4];"), &[(aligned, "s", "[4]")]);
        assert_declares("{ } __shared__ unsigned long long x; y;", &[("unsigned long long", "x", "")]);
        assert!(
            replaced("alignas(T) __shared__ __attribute__((aligned(8))) T x;")
                .contains("{ alignas(T) __attribute__((aligned(8))) char byte; }")
        );
    }

    #[test]
    fn what_is_not_understood_is_said() {
        for (declaration, why) in [
            ("__shared__ int n = 1;", "`__shared__ int n = 1;`: shared memory has no first value"),
            ("__shared__ int n{};", "shared memory has no first value"),
            ("__shared__ struct S n{};", "shared memory has no first value"),
            ("__shared__ float *a, *b;", "one pointer a declaration"),
            ("__shared__;", "no name"),
            ("__shared__ x;", "no name"),
            ("__shared__ int x", "the text ends"),
            (
                "__shared__ int x; auto f = [=, &y](int i) { return i + x; };",
                "`__shared__ int x;`: a lambda behind it copies `x`",
            ),
        ] {
            assert!(replaced(declaration).contains(why), "{declaration}: {}", replaced(declaration));
        }
    }

    #[test]
    fn what_stands_around_stays_as_it_is() {
        for text in [
            "",
            "int x = 1'000'000; // é",
            "auto s = \"__shared__ int x; \\\" \"; char c = '\"'; auto r = R\"a(__shared__ \" int x; )a\"; auto t = u8\"é\";",
            "# 1 \"a __shared__ int b;\"\nint amk_of_the_blocks;\n",
            "'",
            "R\"(",
            "auto f = [=] { return x; };",
        ] {
            assert_eq!(replace(text), Ok(text.to_owned()));
        }
        let text = "int a;\n# 7 \"k.cu\"\n__shared__\n# 8 \"k.cu\" 3\nint\n# 8 \"k.cu\"\n n; int b;";
        let (before, after) =
            ("int a;\n# 7 \"k.cu\"\ntypedef int amk_type_1 ;", "\"n\");\n# 8 \"k.cu\"\n int b;");
        let found = replaced(text);
        assert!(found.starts_with(before) && found.ends_with(after), "{found}");
    }
}
