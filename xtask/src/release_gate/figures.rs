//! Figures in documents that are counts of the corpus.

use std::collections::{BTreeMap, BTreeSet};

use megakernel_codegen::markdown::code_blocks;

use crate::tidy::cases::Case;
use crate::tidy::tree::Files;

/// What the corpus has of a profile.
#[derive(Default)]
struct Profile<'c> {
    cases: usize,
    /// Those that are expected as a rejection or a warning.
    rules: BTreeSet<&'c str>,
}

/// Figures in transcripts of runs that cannot be those of a run on these cases: in rows of the table of profiles, its last line, and
/// lines on skips. Only transcripts in README.md and docs/ are looked at.
pub fn wrong(files: &Files, cases: &[Case]) -> Vec<String> {
    let mut profiles: BTreeMap<&str, Profile<'_>> = BTreeMap::new();
    for case in cases {
        for profile in &case.profiles {
            let profile = profiles.entry(profile).or_default();
            profile.cases += 1;
            profile.rules.extend(case.expect.rules.iter().chain(&case.expect.warnings).map(String::as_str));
        }
    }
    let mut problems = Vec::new();
    let page = |path: &str| path == "README.md" || path.starts_with("docs/") && path.ends_with(".md");
    for (path, text) in files.texts().filter(|(path, _)| page(path)) {
        for block in code_blocks(text) {
            let mut sums = [0; 3];
            for (n, line) in block.text.lines().enumerate() {
                let found = row(line, &profiles, &mut sums);
                let place = format!("{path}:{}", block.line + 1 + n);
                problems.extend(found.into_iter().map(|what| format!("{place}: {what}: correct the figure")));
            }
        }
    }
    problems
}

/// What is wrong with a line of a transcript. Rows of the table of profiles are added to the sums.
fn row(line: &str, profiles: &BTreeMap<&str, Profile<'_>>, sums: &mut [usize; 3]) -> Vec<String> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let number = |n: usize| words.get(n).and_then(|word| word.parse::<usize>().ok());
    if let (Some(count), ["profile", name, "is", "not", "claimed"]) =
        (number(0), words.get(1..).unwrap_or_default())
    {
        let cases = profiles.get(name).map_or(0, |profile| profile.cases);
        let wrong =
            (cases != count).then(|| format!("{count} cases of profile {name}, the corpus has {cases}"));
        return wrong.into_iter().collect();
    }
    if let [passed, "passed,", failed, "failed,", skipped, "skipped"] = words.as_slice() {
        let stated = [*passed, *failed, *skipped].map(|word| word.parse::<usize>().unwrap_or(usize::MAX));
        let wrong = stated != *sums && *sums != [0; 3];
        return wrong
            .then(|| format!("the rows above add up to {sums:?}, not {stated:?}"))
            .into_iter()
            .collect();
    }
    let (Some(profile), [Some(passed), Some(failed), Some(skipped)]) =
        (words.first().and_then(|name| profiles.get(name)), [1, 2, 3].map(number))
    else {
        return Vec::new();
    };
    for (sum, count) in sums.iter_mut().zip([passed, failed, skipped]) {
        *sum += count;
    }
    let mut wrong = Vec::new();
    let Profile { cases, rules } = profile;
    if passed + failed + skipped != *cases {
        wrong.push(format!("the row has {} cases, the corpus {cases}", passed + failed + skipped));
    }
    for share in words.windows(4).filter(|four| four.get(1) == Some(&"of")) {
        let [part, _, whole, what] = share else { continue };
        let whole: Option<usize> = whole.parse().ok();
        match what.trim_matches(',') {
            "rules" if whole != Some(rules.len()) => {
                wrong.push(format!("the corpus has {} rules of it", rules.len()))
            }
            "cases" if whole != Some(*cases) || part.parse() != Ok(passed) => {
                wrong.push(format!("the row says {passed} of {cases} cases"));
            }
            _ => {}
        }
    }
    wrong
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn figures_of_other_cases_are_named() {
        let case = |id: &str, rule: &str| json!({"id": id, "clauses": [], "profiles": ["launch"], "expect": {"verdict": "reject", "rules": [rule]}});
        let cases: Vec<Case> =
            serde_json::from_value(json!([case("a", "L01"), case("b", "L02")])).expect("cases");
        let good = "  2  profile launch is not claimed\nlaunch  1  0  1  conforms in part: 1 of 2 rules, 1 of 2 cases\n1 passed, 0 failed, 1 skipped\n";
        let found = |text: &str| {
            wrong(&Files::from_texts(&[("README.md", &format!("```text\n{text}```\n"))]), &cases)
        };
        assert_eq!(found(good), [""; 0]);
        for (from, to, part) in [
            ("2  profile", "3  profile", "README.md:2: 3 cases of profile launch, the corpus has 2"),
            ("1 of 2 rules", "1 of 3 rules", "README.md:3: the corpus has 2 rules"),
            ("1 of 2 cases", "1 of 3 cases", "README.md:3: the row says 1 of 2 cases"),
            ("0 failed", "1 failed", "README.md:4: the rows above add up to [1, 0, 1]"),
        ] {
            let problems = found(&good.replace(from, to));
            assert!(problems.len() == 1 && problems[0].starts_with(part), "{to}: {problems:?}");
        }
    }
}
