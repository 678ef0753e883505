//! Examples in documents: JSON is JSON. Whether it fits its schema is a test of the runner's.

use megakernel_codegen::markdown::code_blocks;
use serde::de::IgnoredAny;

use super::tree::Files;

/// Blocks marked as JSON that are none, neither whole nor line by line.
pub fn broken(files: &Files) -> Vec<String> {
    let mut problems = Vec::new();
    for (path, text) in files.texts().filter(|(path, _)| path.ends_with(".md")) {
        for block in code_blocks(text).into_iter().filter(|block| block.info == "json") {
            let lines = || block.text.lines().all(|line| line.trim().is_empty() || json(line).is_ok());
            if let Err(cause) = json(&block.text)
                && !lines()
            {
                problems.push(format!("{path}:{}: the example is no JSON: {cause}", block.line));
            }
        }
    }
    problems
}

fn json(text: &str) -> serde_json::Result<IgnoredAny> {
    serde_json::from_str(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_are_json_whole_or_by_lines() {
        let found = broken(&Files::from_texts(&[(
            "a.md",
            "```json\n{\"a\": 1}\n{\"a\": 2}\n```\n\n```json\n[1,\n 2]\n```\n\n```json\n{\"a\": }\n```\n",
        )]));
        assert_eq!(found.len(), 1, "{found:?}");
        assert!(found[0].starts_with("a.md:11: the example is no JSON"), "{found:?}");
    }
}
