//! A builder of documents: tasks from a line of text.
//!
//! A task is its phases between `|`, perhaps after its queue, as in `q0: ?e:2 <x | >y[0,4] +z@g !f`. A phase waits with `?e:2` for
//! 2 of the event `e`, reads with `<x`, writes with `>x`, adds with `+x@g` within a group, and signals with `!e:2` an amount of 2. Without a
//! number it is 1, without a region it is all of the tensor.

use serde_json::{Map, Value, json};

/// A document.
#[derive(Clone, Debug)]
pub struct Doc(pub Map<String, Value>);

/// A document of these tasks, which access tensors of 8 elements that the host fills for each launch: `x`, `y` and `z`.
pub fn doc(tasks: &[&str]) -> Doc {
    let tensor = json!({"shape": [8], "init": true});
    let mut members = Map::new();
    members.insert("tensors".to_owned(), json!({"x": tensor, "y": tensor, "z": tensor}));
    members.insert("tasks".to_owned(), tasks.iter().map(|text| task(text)).collect());
    Doc(members)
}

impl Doc {
    /// With another member.
    #[must_use]
    pub fn with(mut self, name: &str, value: Value) -> Doc {
        self.0.insert(name.to_owned(), value);
        self
    }

    /// With these tensors in place of the three.
    #[must_use]
    pub fn tensors(self, tensors: Value) -> Doc {
        self.with("tensors", tensors)
    }

    /// With a member of a task.
    #[must_use]
    pub fn of_task(mut self, task: usize, name: &str, value: Value) -> Doc {
        let member = self.0.get_mut("tasks").and_then(|tasks| tasks.get_mut(task)?.as_object_mut());
        if let Some(members) = member {
            members.insert(name.to_owned(), value);
        }
        self
    }

    /// The text, a task a line.
    pub fn text(&self) -> String {
        let mut parts = Vec::new();
        for (name, value) in &self.0 {
            let value = match value.as_array().filter(|list| name == "tasks" && !list.is_empty()) {
                Some(tasks) => {
                    let lines: Vec<String> = tasks.iter().map(|task| format!("\n  {task}")).collect();
                    format!("[{}]", lines.join(","))
                }
                None => value.to_string(),
            };
            parts.push(format!("{}: {value}", json!(name)));
        }
        format!("{{{}}}", parts.join(",\n "))
    }
}

/// A task.
pub fn task(text: &str) -> Value {
    let (queue, phases) = match text.strip_prefix('q').and_then(|rest| rest.split_once(':')) {
        Some((number, phases)) if number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-') => {
            (number.parse::<i64>().ok(), phases)
        }
        _ => (None, text),
    };
    let mut members = Map::new();
    if let Some(queue) = queue {
        members.insert("queue".to_owned(), json!(queue));
    }
    let phases: Value = match phases.trim() {
        "" => json!([]),
        phases => phases.split('|').map(phase).collect(),
    };
    members.insert("phases".to_owned(), phases);
    Value::Object(members)
}

fn phase(text: &str) -> Value {
    let mut members = Map::new();
    for token in text.split_whitespace() {
        let (list, entry) = match (token.get(..1), token.get(1..).unwrap_or_default()) {
            (Some("?"), rest) => ("waits", count(rest)),
            (Some("!"), rest) => ("signals", count(rest)),
            (Some("<"), rest) => ("reads", json!(access(rest))),
            (Some(">"), rest) => ("writes", json!(access(rest))),
            (_, rest) => {
                let (part, group) =
                    rest.split_once('@').map_or((rest, None), |(part, group)| (part, Some(group)));
                let mut entry = access(part);
                entry.extend(group.map(|group| json!(group)));
                ("adds", json!(entry))
            }
        };
        if let Some(list) = members.entry(list).or_insert_with(|| json!([])).as_array_mut() {
            list.push(entry);
        }
    }
    Value::Object(members)
}

pub(crate) fn count(text: &str) -> Value {
    let (event, number) = text.rsplit_once(':').unwrap_or((text, "1"));
    json!([event, number.parse::<i64>().unwrap_or(1)])
}

/// A tensor and its region: `x`, or `x[0,4]`, or `x[0,4][2,8]` for two axes.
pub(crate) fn access(text: &str) -> Vec<Value> {
    let Some((tensor, bounds)) = text.split_once('[') else { return vec![json!(text), Value::Null] };
    let interval = |part: &str| {
        let numbers = part.trim_matches(['[', ']']).split(',');
        numbers.map(|number| json!(number.parse::<i64>().unwrap_or(0))).collect::<Value>()
    };
    vec![json!(tensor), bounds.split("][").map(interval).collect()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_task() {
        let expected = json!({"queue": 3, "phases": [
            {"waits": [["e", 2]], "reads": [["x", null]]},
            {"writes": [["y", [[0, 4], [2, 8]]]], "adds": [["z", null, "g"], ["z", [[1, 2]]]], "signals": [["f", 1]]}]});
        assert_eq!(task("q3: ?e:2 <x | >y[0,4][2,8] +z@g +z[1,2] !f"), expected);
        assert_eq!(task("|"), json!({"phases": [{}, {}]}));
        assert_eq!(task("q-1:"), json!({"queue": -1, "phases": []}));
    }
}
