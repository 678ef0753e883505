//! Findings that one cause explains: those of a rule that say the same of other tasks.
//!
//! What a message has in backticks (the name of a tensor) and in parentheses (a type or an opcode) makes a cause; the numbers of tasks,
//! events and ranks do not, nor those in a name in backticks and in parentheses (that of a task).

use std::collections::BTreeMap;
use std::fmt::Write as _;

use megakernel_ir::{Diagnostic, Rule};

/// Findings of one cause.
#[derive(Debug)]
pub struct Group {
    /// The rule that they break.
    pub rule: Rule,
    /// Their indices among the diagnostics, ascending; never none.
    pub members: Vec<usize>,
    /// What would repair the first of them, in words.
    pub repair: Option<String>,
}

impl Group {
    /// The index of the one that stands for all.
    pub fn first(&self) -> usize {
        self.members.first().copied().unwrap_or_default()
    }
}

/// Puts findings together, in the order of the first of each cause.
pub fn groups(diagnostics: &[Diagnostic]) -> Vec<Group> {
    let mut groups: Vec<Group> = Vec::new();
    let mut known: BTreeMap<(Rule, String), usize> = BTreeMap::new();
    for (index, diagnostic) in diagnostics.iter().enumerate() {
        let rule = diagnostic.rule;
        let group = *known.entry((rule, pattern(&diagnostic.message))).or_insert_with(|| {
            groups.push(Group { rule, members: Vec::new(), repair: None });
            groups.len() - 1
        });
        groups[group].members.push(index);
    }
    groups
}

/// A message without the numbers that stand for themselves, outside of backticks and parentheses.
fn pattern(message: &str) -> String {
    let mut pattern = String::with_capacity(message.len());
    let (mut is_quoted, mut depth, mut before) = (false, 0u32, ' ');
    for character in message.chars() {
        match character {
            '`' => is_quoted = !is_quoted,
            '(' if !is_quoted => depth += 1,
            ')' if !is_quoted => depth = depth.saturating_sub(1),
            _ => {}
        }
        let is_digit = character.is_ascii_digit();
        let is_number = is_digit && !is_quoted && depth == 0;
        let is_of_name = is_digit && is_quoted && depth > 0;
        if (is_number || is_of_name) && before == '#' {
            continue;
        }
        let is_own = is_number && !before.is_alphanumeric() && before != '_' || is_of_name;
        before = if is_own { '#' } else { character };
        pattern.push(before);
    }
    pattern
}

/// How many stretches of numbers are spelt out.
const STRETCHES: usize = 6;

/// Where findings are: pointers that differ in the number of a task or event only are one, `/all_tasks/{3-6,9}/inputs/0`.
pub fn places<'p>(pointers: impl Iterator<Item = &'p str>) -> String {
    let mut by_pattern: BTreeMap<(&str, &str), Vec<u64>> = BTreeMap::new();
    let mut order: Vec<(&str, &str)> = Vec::new();
    let mut others: Vec<&str> = Vec::new();
    for pointer in pointers {
        let Some((before, number, after)) = element(pointer) else {
            others.push(pointer);
            continue;
        };
        let numbers = by_pattern.entry((before, after)).or_insert_with(|| {
            order.push((before, after));
            Vec::new()
        });
        numbers.push(number);
    }
    let mut said: Vec<String> = Vec::new();
    for key in order {
        let Some(mut numbers) = by_pattern.remove(&key) else { continue };
        numbers.sort_unstable();
        numbers.dedup();
        said.push(format!("{}{}{}", key.0, stretches(&numbers), key.1));
    }
    others.sort_unstable();
    others.dedup();
    said.extend(others.into_iter().map(str::to_owned));
    let more = said.len().saturating_sub(STRETCHES);
    said.truncate(STRETCHES);
    let mut text = said.join(", ");
    if more > 0 {
        let _ = write!(text, ", and {more} more");
    }
    text
}

/// A pointer taken apart at the index of the task, event or other element that it leads into: not at that of a rank.
fn element(pointer: &str) -> Option<(&str, u64, &str)> {
    let mut start = 0;
    let mut list = "";
    for token in pointer.split('/') {
        let end = start + token.len();
        if let (Ok(number), false) = (token.parse(), list == "ranks") {
            return Some((&pointer[..start], number, &pointer[end..]));
        }
        list = token;
        start = end + 1;
    }
    None
}

/// Ascending numbers, those that follow each other as one stretch.
fn stretches(numbers: &[u64]) -> String {
    let mut found: Vec<[u64; 2]> = Vec::new();
    for &number in numbers {
        match found.last_mut() {
            Some([_, last]) if *last + 1 == number => *last = number,
            _ => found.push([number, number]),
        }
    }
    let said: Vec<String> = found
        .iter()
        .take(STRETCHES)
        .map(|[first, last]| if first == last { first.to_string() } else { format!("{first}-{last}") })
        .collect();
    match (&*said, found.len() > said.len()) {
        ([one], false) if !one.contains('-') => one.clone(),
        (_, true) => format!("{{{},..}}", said.join(",")),
        (_, false) => format!("{{{}}}", said.join(",")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(rule: Rule, message: &str) -> Diagnostic {
        Diagnostic::new(rule, "/tasks", message)
    }

    #[test]
    fn tasks_whose_names_differ_in_numbers_are_one_cause() {
        let race = |name: &str, source: &str, tensor: &str| {
            found(Rule::ER01, &format!("task 3 (`{name}`{source}) reads `{tensor}` in phase 0"))
        };
        let all = [
            race("i1.3 op5 l0", "", "x1"),
            race("i10.3 op5 l12", "", "x1"),
            race("i1.3 op5 l0", "", "x2"),
            race("i1.3 down l0", "", "x1"),
            race("i1.3 op5 l0", ", up.cu:3", "x1"),
            race("i2.3 op5 l0", ", up.cu:4", "x1"),
        ];
        let members: Vec<Vec<usize>> = groups(&all).into_iter().map(|group| group.members).collect();
        assert_eq!(members, [vec![0, 1], vec![2], vec![3], vec![4], vec![5]]);
    }

    #[test]
    fn one_cause_is_one_group() {
        let race = |task: u32, rank: u32, tensor: &str, kind: &str| {
            found(Rule::TR02, &format!("task {task} of rank {rank} ({kind}) reads `{tensor}` too early"))
        };
        let all = [
            race(3, 0, "x1", "REDUCE"),
            race(14, 1, "x1", "REDUCE"),
            race(3, 0, "x2", "REDUCE"),
            race(3, 0, "x1", "ATTENTION_1"),
            race(3, 0, "x1", "ATTENTION_2"),
            Diagnostic { rule: Rule::TR03, ..race(5, 0, "x1", "REDUCE") },
            race(700, 0, "x1", "REDUCE"),
        ];
        let members: Vec<Vec<usize>> = groups(&all).into_iter().map(|group| group.members).collect();
        assert_eq!(members, [vec![0, 1, 6], vec![2], vec![3], vec![4], vec![5]]);
    }

    #[test]
    fn numbers_within_words_stay() {
        assert_eq!(pattern("task 12 (type 7) of `k_3` by I32, 4x"), "task # (type 7) of `k_3` by I32, #x");
    }

    #[test]
    fn places_are_stretches() {
        let pointers = ["/ranks/1/all_tasks/4/inputs/0", "/ranks/1/all_tasks/6/inputs/0"];
        let more = ["/ranks/1/all_tasks/5/inputs/0", "/ranks/0/all_tasks/5/inputs/0", "/first_tasks"];
        let all = pointers.into_iter().chain(more).chain(["/ranks/1/all_tasks/9/inputs/0"]);
        assert_eq!(
            places(all),
            "/ranks/1/all_tasks/{4-6,9}/inputs/0, /ranks/0/all_tasks/5/inputs/0, /first_tasks"
        );
    }
}
