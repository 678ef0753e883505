//! Logs of runs from short texts.
//!
//! A launch is a line of entries: `3` and `3@0`, task 3 begins on no queue or on queue 0; and `3.1?e:2`, `3.1<x`, `3.1>x[0,4]`, `3.1+x`, `3.1!e:2`
//! for its phase 1, with the marks of [`crate::build`]. What begins with a bracket is JSON.

use serde_json::{Value, json};

use crate::build::{Doc, access, count, task};

/// The member `launches`.
pub fn launches(lines: &[&str]) -> Value {
    lines.iter().map(|line| line.split_whitespace().map(entry).collect::<Value>()).collect()
}

fn entry(token: &str) -> Value {
    if token.starts_with('[') {
        return serde_json::from_str(token).unwrap_or(Value::Null);
    }
    let number = |text: &str| json!(text.parse::<i64>().unwrap_or(0));
    let Some(place) = token.find(['?', '<', '>', '+', '!']) else {
        let (task, queue) = token.split_once('@').map_or((token, Value::Null), |(t, q)| (t, number(q)));
        return json!(["begin", number(task), queue]);
    };
    let (who, what) = token.split_at(place);
    let (task, phase) = who.split_once('.').unwrap_or((who, "0"));
    let (mark, rest) = what.split_at(1);
    let name = match mark {
        "?" => "wait",
        "!" => "signal",
        "<" => "read",
        ">" => "write",
        _ => "add",
    };
    let pair = if let "?" | "!" = mark { count(rest) } else { json!(access(rest)) };
    let mut entry = vec![json!(name), number(task), number(phase)];
    entry.extend(pair.as_array().into_iter().flatten().cloned());
    json!(entry)
}

/// A schedule that is traced. Tasks are lines of [`crate::build`], or JSON. `x` of 8 elements holds nothing at first, `y` and `z` are filled for each launch,
/// `s` once; `v` shows `x`; `p` and `q` share half of their bytes; `m` has two axes; `o` is an output, `c` a cache, and `k` one in a storage. The events
/// `t` and `u` count over launches, and queue 7 is in any order.
pub fn traced(tasks: &[&str]) -> Doc {
    let tasks: Value = tasks
        .iter()
        .map(|text| serde_json::from_str(text).ok().filter(Value::is_object).unwrap_or_else(|| task(text)))
        .collect();
    crate::build::doc(&[])
        .tensors(json!({
            "x": {"shape": [8]}, "v": {"shape": [2, 4], "view": "x"},
            "y": {"shape": [8], "init": true}, "z": {"shape": [8], "init": true}, "s": {"shape": [8], "init": "once"},
            "p": {"shape": [8], "init": true, "storage": "a"}, "q": {"shape": [8], "init": true, "storage": "a", "offset": 4},
            "m": {"shape": [4, 8], "element": 2, "init": true}, "o": {"shape": [8], "kind": "output"},
            "c": {"shape": [8], "kind": "cache"}, "k": {"shape": [8], "kind": "cache", "storage": "b"}}))
        .with("storages", json!({"a": {"bytes": 12}, "b": {"bytes": 8}}))
        .with("events", json!({"t": {"period": 2}, "u": {"period": 1}}))
        .with("any_order", json!([7]))
        .with("tasks", tasks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_launch() {
        let expected = json!([
            [["begin", 3, null], ["begin", 2, -1], ["wait", 3, 1, "e", 2], ["read", 3, 0, "x", null]],
            [
                ["write", 0, 0, "m", [[0, 4], [2, 3]]],
                ["add", 0, -1, "x", null],
                ["signal", 0, 0, "e", 1],
                ["end"]
            ]
        ]);
        let found = launches(&["3 2@-1 3.1?e:2 3.0<x", "0.0>m[0,4][2,3] 0.-1+x 0.0!e [\"end\"]"]);
        assert_eq!(found, expected);
    }
}
