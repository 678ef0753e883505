//! Documents in lines, which `;` or a new line ends. Values are declared first: `in X 8 16`, `out`, `kept` (stored, and no output), `hidden` (without a
//! boundary) and `bound X` (a boundary alone) are tensors; `shared x 4 4 *2 iteration` and `register` are tiles, with one slot and for the block where
//! nothing else is said. A dtype follows a name: `X:F16`. `target shared 32` is a limit. Then come regions: `region copy i=8/4` (extent and step),
//! `stream j 4 from 0 to 16 i+4`, `state s 0`, and nodes, of `each` behind that word and of `end` behind that one: `load X x i 2j-1`, `fetch 1 X x i`,
//! `wait x 0 y 1`, `store x Y i`, `y = exp x`, `y = add.rows x r`, `y = scale.1/2 x`, `y = mask x i j 4`, `y = sum.0 x` and `s := add s x`.

use megakernel_corpus::builder::{Error, Result};
use serde_json::{Value, json};

use crate::build::{Draft, Kernel, Tile};

fn integer(text: &str) -> Result<i64> {
    text.parse().map_err(|_| Error(format!("`{text}` is no integer")))
}

fn integers(words: &[&str]) -> Result<Vec<i64>> {
    words.iter().map(|word| integer(word)).collect()
}

/// `2i-j+1` as an index.
fn index(text: &str) -> Result<Value> {
    if let Ok(number) = text.parse::<i64>() {
        return Ok(json!(number));
    }
    let mut terms = Vec::new();
    for term in text.replace('-', "+-").split('+').filter(|term| !term.is_empty()) {
        let (factor, axis) = term.split_at(term.find(char::is_alphabetic).unwrap_or(term.len()));
        terms.push(match (factor, axis) {
            (factor, "") => json!(integer(factor)?),
            ("", axis) => json!(axis),
            ("-", axis) => json!([-1, axis]),
            (factor, axis) => json!([integer(factor)?, axis]),
        });
    }
    match terms.as_slice() {
        [only] if only.is_string() => Ok(only.clone()),
        _ => Ok(json!(terms)),
    }
}

fn indices(words: &[&str]) -> Result<Value> {
    words.iter().map(|word| index(word)).collect()
}

/// Axes as `i=8/4`.
fn axes<'t>(words: &[&'t str]) -> Result<Vec<(&'t str, i64, i64)>> {
    let axis = |word: &&'t str| {
        let parts = word.split_once('=').and_then(|(name, rest)| Some((name, rest.split_once('/')?)));
        let (name, (extent, step)) = parts.ok_or_else(|| Error(format!("`{word}` is no axis")))?;
        Ok((name, integer(extent)?, integer(step)?))
    };
    words.iter().map(axis).collect()
}

fn tile(draft: &mut Draft, memory: &str, name: &str, words: &[&str]) -> Result<()> {
    let (name, dtype) = name.split_once(':').unwrap_or((name, "F32"));
    let (mut extents, mut lifetime, mut slots) = (Vec::new(), "block", 1);
    for word in words {
        match word.strip_prefix('*') {
            Some(number) => slots = integer(number)?,
            None if word.starts_with(char::is_alphabetic) => lifetime = word,
            None => extents.push(integer(word)?),
        }
    }
    draft.tiles(&[Tile(name, &extents, dtype, memory, lifetime)]);
    draft.buffers(name, slots);
    Ok(())
}

fn stream(kernel: &mut Kernel, axis: &str, step: &str, words: &[&str]) -> Result<()> {
    let to = words.iter().position(|word| *word == "to").unwrap_or(0);
    let from = if words.first() == Some(&"from") { Some(indices(&words[1..to])?) } else { None };
    kernel.stream(axis, integer(step)?, from, indices(&words[to + 1..])?);
    Ok(())
}

/// A node that computes: what stands behind the dot of its function depends on that.
fn compute(kernel: &mut Kernel, id: &str, out: &str, function: &str, ins: &[&str]) -> Result<()> {
    let (name, more) = function.split_once('.').unwrap_or((function, ""));
    match (name, more.split_once('/'), ins) {
        ("sum" | "max", None, [tile]) => kernel.reduce(id, name, integer(more)?, tile, out),
        ("scale", Some((p, q)), _) => {
            kernel.compute(id, name, ins, out, json!({"by": [integer(p)?, integer(q)?]}));
        }
        ("mask", None, [tile, rows, columns, window @ ..]) => {
            let mut members = json!({"rows": index(rows)?, "columns": index(columns)?});
            if let [window] = window {
                members["window"] = json!(integer(window)?);
            }
            kernel.compute(id, name, &[tile], out, members);
        }
        (_, None, _) if !more.is_empty() => kernel.compute(id, name, ins, out, json!({"along": more})),
        _ => kernel.compute(id, name, ins, out, json!({})),
    }
    Ok(())
}

fn node(kernel: &mut Kernel, id: &str, words: &[&str]) -> Result<()> {
    match words {
        ["load", tensor, tile, at @ ..] => kernel.load(id, tensor, tile, indices(at)?),
        ["fetch", version, tensor, tile, at @ ..] => {
            kernel.prefetch(id, tensor, tile, indices(at)?, integer(version)?);
        }
        ["store", tile, tensor, at @ ..] => kernel.store(id, tile, tensor, indices(at)?),
        ["wait", waits @ ..] => {
            let pair = |pair: &[&str]| Ok(json!([pair[0], integer(pair[1])?]));
            kernel.wait(id, waits.chunks_exact(2).map(pair).collect::<Result<Value>>()?);
        }
        [out, "=", function, ins @ ..] => compute(kernel, id, out, function, ins)?,
        _ => {
            let Some(place) = words.iter().position(|word| *word == ":=") else {
                return Err(Error(format!("`{}` is no line", words.join(" "))));
            };
            let [function, ins @ ..] = &words[place + 1..] else {
                return Err(Error("an update without a function".to_owned()));
            };
            kernel.update(id, function, ins, &words[..place]);
        }
    }
    Ok(())
}

/// The document that a text stands for.
pub(super) fn document(text: &str) -> Result<Value> {
    let mut draft = Draft::default();
    let mut kernel: Option<Kernel> = None;
    let mut target = json!({});
    let mut nodes = 0;
    for line in text.split([';', '\n']) {
        let words: Vec<&str> = line.split_whitespace().collect();
        match words.as_slice() {
            [] => {}
            ["region", id, blocks @ ..] => {
                kernel.replace(Kernel::new(id, &axes(blocks)?)).into_iter().for_each(|done| draft.push(done));
            }
            ["bound", name] => draft.boundary(name),
            ["target", memory, bytes] => target[format!("{memory}_bytes")] = json!(integer(bytes)?),
            [kind @ ("in" | "out" | "kept" | "hidden"), name, extents @ ..] => {
                let (name, dtype) = name.split_once(':').unwrap_or((name, "F32"));
                let extents = integers(extents)?;
                match *kind {
                    "in" => draft.input(name, &extents, dtype),
                    "out" => draft.output(name, &extents, dtype),
                    "kept" => draft.stored(name, &extents, dtype),
                    _ => draft.tensor(name, &extents, dtype),
                }
            }
            [memory @ ("shared" | "register"), name, rest @ ..] => tile(&mut draft, memory, name, rest)?,
            line => {
                let Some(kernel) = &mut kernel else {
                    return Err(Error(format!("`{}` stands before a region", line.join(" "))));
                };
                match line {
                    ["stream", axis, step, rest @ ..] => stream(kernel, axis, step, rest)?,
                    ["state", name, init] => {
                        kernel.state(
                            name,
                            init.parse::<i64>().map_or_else(|_| json!(init), |init| json!(init)),
                        );
                    }
                    ["each"] => kernel.each(),
                    ["end"] => kernel.end(),
                    line => {
                        nodes += 1;
                        node(kernel, &format!("n{nodes}"), line)?;
                    }
                }
            }
        }
    }
    kernel.into_iter().for_each(|done| draft.push(done));
    let mut document = draft.value();
    if target.as_object().is_some_and(|limits| !limits.is_empty()) {
        document["target"] = target;
    }
    Ok(document)
}
