//! Whether `spec/adequacy.md` is of the corpus as it is. To measure again takes minutes; but each case names the faults that it
//! rejects, and the page counts the same rejections by column. So another corpus shows in the sums.

use std::collections::BTreeMap;

use super::cases::Case;

const PAGE: &str = "spec/adequacy.md";
const REPAIR: &str = "run `cargo xtask adequacy --write`";

/// Rows of the page's table of faults that do not add up to what the cases say, and numbers of cases that are not theirs.
pub fn stale(page: &str, cases: &[Case]) -> Vec<String> {
    let mut problems = Vec::new();
    let executed = cases.iter().filter_map(|case| case.execute.as_ref());
    let mut rejections: BTreeMap<&str, usize> = BTreeMap::new();
    for fault in executed.clone().flat_map(|execution| &execution.certificate) {
        *rejections.entry(fault).or_default() += 1;
    }
    let graphs = cases.iter().filter(|case| case.profiles.iter().any(|profile| profile == "task-graph"));
    for (count, text) in [(executed.count(), "are judged on {} cases"), (graphs.count(), "how many of {}\n")]
    {
        let text = text.replace("{}", &count.to_string());
        if !page.contains(&text) {
            problems
                .push(format!("{PAGE}: there is no `{}`, and the corpus has so many: {REPAIR}", text.trim()));
        }
    }
    let mut rows = rows(page);
    for (fault, count) in rejections {
        match rows.remove(fault) {
            Some(found) if found == count => {}
            Some(found) => problems
                .push(format!("{PAGE}: {found} cases reject `{fault}`, in the corpus {count}: {REPAIR}")),
            None => {
                problems.push(format!("{PAGE}: no row for `{fault}`, which {count} cases reject: {REPAIR}"))
            }
        }
    }
    problems.extend(rows.keys().map(|fault| format!("{PAGE}: no case rejects `{fault}`: {REPAIR}")));
    problems
}

/// By fault, the sum over the columns of the first table, in which alone rows have so many.
fn rows(page: &str) -> BTreeMap<&str, usize> {
    let row = |line: &'_ str| -> Option<(usize, usize)> {
        let cells: Vec<&str> = line.trim_matches('|').split('|').map(str::trim).collect();
        let [_, _, counts @ ..] = cells.as_slice() else { return None };
        let count = |cell: &&str| cell.trim_matches('*').parse().unwrap_or(0);
        Some((counts.len(), counts.iter().map(count).sum()))
    };
    let named = |line| Some((line, str::strip_prefix(line, "| `")?.split_once('`')?.0));
    let all = page.lines().filter_map(named);
    all.filter_map(|(line, fault)| {
        row(line).filter(|(columns, _)| *columns == 7).map(|(_, sum)| (fault, sum))
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const TABLE: &str = "All are judged on 2 cases; how many of 1\n\
        | fault | an implementation that | F32 | F16 | BF16 | F8E4M3 | F8E5M2 | I32 | any |\n\
        | `gelu-tanh` | uses tanh | 1 | – | **1** | – | – | – | – |\n\
        | `gelu-tanh` | 3 | 4 |\n";

    fn cases(certificates: &[&[&str]]) -> Vec<Case> {
        let case = |profile: &str| json!({"id": "a", "clauses": [], "profiles": [profile], "expect": {"verdict": "accept"}});
        let mut all = vec![case("task-graph")];
        for certificate in certificates {
            let mut case = case("execute");
            case["execute"] = json!({"certificate": certificate});
            all.push(case);
        }
        serde_json::from_value(all.into()).expect("cases")
    }

    #[test]
    fn a_page_of_this_corpus_passes() {
        assert_eq!(stale(TABLE, &cases(&[&["gelu-tanh"], &["gelu-tanh"]])), Vec::<String>::new());
    }

    #[test]
    fn another_corpus_shows() {
        let problems = stale(TABLE, &cases(&[&["gelu-tanh", "rope-sign"], &[]]));
        assert_eq!(problems.len(), 2, "{problems:?}");
        assert!(problems[0].contains("2 cases reject `gelu-tanh`, in the corpus 1"), "{problems:?}");
        assert!(problems[1].contains("no row for `rope-sign`"), "{problems:?}");
        let problems = stale(TABLE, &cases(&[&[]]));
        assert!(problems[0].contains("`are judged on 1 cases`"), "{problems:?}");
        assert!(problems[1].contains("no case rejects `gelu-tanh`"), "{problems:?}");
    }
}
