//! `__shared__` variables on the CPU. To a C++ compiler a variable is a thread's or everybody's, and those of a block are neither: each becomes a
//! reference to memory that the shim keeps for the running block, or, where it is `extern`, to the block's dynamic shared memory. One that is
//! declared outside a function is such a reference in each function that names it; and as nothing of a block is captured, each lambda has its own, too.

use std::ops::Range;

use super::tokens::{Kind, group, spaced, tokens};

/// What `__shared__` stands for in preprocessed text (`host/names.hpp`).
const MARK: &str = "amk_of_the_block";

/// The words of a declaration that say where a variable is, which the reference says instead.
const STORAGE: [&str; 4] = [MARK, "static", "extern", "inline"];

/// What a brace opens.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Brace {
    Namespace,
    Function,
    Other,
}

/// A variable: what is declared of it once, and the reference that has its name.
struct Variable {
    name: String,
    declared: String,
    reference: String,
}

/// Preprocessed text with each declaration of `__shared__` variables replaced.
///
/// # Errors
/// A declaration that is not understood: the text of it and why.
pub fn replace(text: &str) -> Result<String, String> {
    let tokens = tokens(text);
    // In place of what stands where, in its order.
    let mut edits: Vec<(Range<usize>, String)> = Vec::new();
    let mut count = 0;
    let mut open = Vec::new();
    let mut outside: Vec<Variable> = Vec::new();
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
            if word == "{" {
                let before = words(text, &tokens[first..at]);
                let brace = opened_by(&before);
                if brace == Brace::Function && !open.contains(&Brace::Function) {
                    let named = outside.iter().filter(|variable| !before.contains(&variable.name.as_str()));
                    edits.extend(in_function(text, &tokens[at..], named));
                }
                open.push(brace);
            } else if word == "}" {
                open.pop();
            }
            first = at + 1;
        } else if word == MARK {
            let end = end_of_declaration(text, &tokens, at)
                .ok_or("the text ends in a declaration of `__shared__`")?;
            let statement = &tokens[first..=end];
            let words = words(text, statement);
            let start = statement
                .iter()
                .find(|(kind, _)| *kind != Kind::Line)
                .map_or(place.start, |(_, place)| place.start);
            let variables = variables(&words, &mut count).map_err(|why| said(&words, &why))?;
            let mut declared: String = if open.iter().all(|brace| *brace == Brace::Namespace) {
                let declared = variables.iter().map(|variable| variable.declared.as_str()).collect();
                outside.extend(variables);
                declared
            } else {
                edits.extend(in_lambdas(text, &tokens[end + 1..], &variables.iter().collect::<Vec<_>>()));
                variables
                    .iter()
                    .map(|variable| [variable.declared.as_str(), &variable.reference].concat())
                    .collect()
            };
            // What follows stands where it did.
            if let Some((_, line)) = statement.iter().rfind(|(kind, _)| *kind == Kind::Line) {
                declared += &format!("\n{}\n", &text[line.clone()]);
            }
            edits.push((start..tokens[end].1.end, declared));
            at = end;
            first = end + 1;
        }
        at += 1;
    }
    edits.sort_by_key(|(place, _)| place.start);
    let mut replaced = String::with_capacity(text.len());
    let mut done = 0;
    for (place, edit) in edits {
        replaced.push_str(&text[done..place.start]);
        replaced.push_str(&edit);
        done = place.end;
    }
    replaced.push_str(&text[done..]);
    Ok(replaced)
}

/// The words of tokens, without the lines that say where they stand.
fn words<'a>(text: &'a str, tokens: &[(Kind, Range<usize>)]) -> Vec<&'a str> {
    tokens.iter().filter(|(kind, _)| *kind != Kind::Line).map(|(_, place)| &text[place.clone()]).collect()
}

/// What is wrong with a declaration.
fn said(declaration: &[&str], why: &str) -> String {
    format!("`{}`: {why}", spaced(declaration).replace(MARK, "__shared__"))
}

/// What a brace opens that these words stand before.
fn opened_by(words: &[&str]) -> Brace {
    match words {
        [.., "namespace"] | ["namespace", ..] | ["inline", "namespace", ..] | ["extern", _] => {
            Brace::Namespace
        }
        // The end of its parameters, or what may stand behind them.
        [.., ")" | "const" | "noexcept" | "override" | "final"] if words.contains(&"(") => Brace::Function,
        _ if words.contains(&"(") && words.windows(2).any(|two| two == ["-", ">"]) => Brace::Function,
        _ => Brace::Other,
    }
}

/// Of the variables that are declared outside, the references of those that a function names whose body begins with these tokens.
fn in_function<'a>(
    text: &str,
    tokens: &[(Kind, Range<usize>)],
    outside: impl Iterator<Item = &'a Variable>,
) -> Vec<(Range<usize>, String)> {
    let Some(body) = body(text, tokens) else { return Vec::new() };
    let named: Vec<&Variable> =
        outside.filter(|variable| is_named(&words(text, body), &variable.name)).collect();
    named
        .iter()
        .flat_map(|variable| around(body, variable))
        .chain(in_lambdas(text, &body[1..], &named))
        .collect()
}

/// The references of variables in the lambdas, in the rest of a block, that name them and do not capture all by reference.
fn in_lambdas(
    text: &str,
    tokens: &[(Kind, Range<usize>)],
    variables: &[&Variable],
) -> Vec<(Range<usize>, String)> {
    let mut depth = 0_i32;
    let end = tokens.iter().position(|(_, place)| {
        let word = &text[place.clone()];
        depth += i32::from(word == "{") - i32::from(word == "}");
        depth < 0
    });
    let tokens = &tokens[..end.unwrap_or(tokens.len())];
    let word = |n: usize| tokens.get(n).map_or("", |(_, place)| &text[place.clone()]);
    let mut edits = Vec::new();
    for n in 0..tokens.len() {
        if word(n) != "[" || matches!(word(n + 1), "&" | "[") {
            continue;
        }
        let rest = words(text, &tokens[n..]);
        let Some(captures) = group(&rest, ["[", "]"]) else { continue };
        if !matches!(rest.get(captures), Some(&("(" | "{" | "<" | "mutable"))) {
            continue;
        }
        // What stands behind an array's name is no lambda either, since no body follows.
        let Some(opens) = (n..tokens.len()).take_while(|at| word(*at) != ";").find(|at| word(*at) == "{")
        else {
            continue;
        };
        let (Some(body), before) = (body(text, &tokens[opens..]), words(text, &tokens[n..opens])) else {
            continue;
        };
        let body_words = words(text, body);
        for variable in variables {
            if is_named(&body_words, &variable.name) && !before.contains(&variable.name.as_str()) {
                edits.extend(around(body, variable));
            }
        }
    }
    edits
}

/// The tokens of a body that begins with these, with its braces.
fn body<'a>(text: &str, tokens: &'a [(Kind, Range<usize>)]) -> Option<&'a [(Kind, Range<usize>)]> {
    let mut depth = 0_i32;
    let close = tokens.iter().position(|(_, place)| {
        let word = &text[place.clone()];
        depth += i32::from(word == "{") - i32::from(word == "}");
        depth == 0
    })?;
    Some(&tokens[..=close])
}

/// Whether a body names something that is no member of something.
fn is_named(body: &[&str], name: &str) -> bool {
    (1..body.len())
        .any(|n| body[n] == name && !matches!(body[..n], [.., "."] | [.., "-", ">"] | [.., ":", ":"]))
}

/// A variable's reference around a body, in which other things may have its name.
fn around(body: &[(Kind, Range<usize>)], variable: &Variable) -> Vec<(Range<usize>, String)> {
    let [(_, opens), .., (_, closes)] = body else { return Vec::new() };
    vec![
        (opens.end..opens.end, format!(" {} {{", variable.reference)),
        (closes.start..closes.start, "} ".to_owned()),
    ]
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

/// What a declaration declares, which ends with its semicolon. `count` numbers what is named for each.
fn variables(words: &[&str], count: &mut usize) -> Result<Vec<Variable>, String> {
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
    let mut variables = Vec::new();
    for declarator in declarators {
        let (name, extents) = declarator.split_first().ok_or("a name is missing")?;
        if !name.starts_with(|first: char| first.is_alphabetic() || first == '_')
            || extents.contains(&"(") && extents[0] == "("
        {
            return Err("only variables and arrays are understood".to_owned());
        }
        *count += 1;
        let n = *count;
        let mut of_it = format!("typedef {declared} amk_type_{n} {}; ", spaced(extents));
        let reference = if is_extern {
            format!("amk_type_{n}& {name} = shim::dynamic<amk_type_{n}>(\"{name}\");")
        } else {
            let least = [&alignment[..], &["char byte;".to_owned()]].concat().join(" ");
            of_it += &format!("struct amk_least_{n} {{ {least} }}; static char amk_key_{n}; ");
            format!(
                "amk_type_{n}& {name} = shim::variable<amk_type_{n}>(&amk_key_{n}, alignof(amk_least_{n}), \"{name}\");"
            )
        };
        variables.push(Variable { name: (*name).to_owned(), declared: of_it, reference });
    }
    Ok(variables)
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
mod tests;
