//! Clauses and rules as the ledger has them: digests of the text, and of the part that binds.

use megakernel_codegen::markdown::outside_fences;
use megakernel_codegen::spec::Definition;
use serde::{Deserialize, Serialize};

use super::digest;

/// A section of the specification.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Clause {
    /// The file.
    pub path: String,
    /// The line of the heading; a ledger that was read has none.
    #[serde(skip)]
    pub line: usize,
    /// How often MUST stands there without NOT.
    pub must: usize,
    /// How often MUST NOT.
    pub must_not: usize,
    /// How often SHOULD or SHOULD NOT.
    pub should: usize,
    /// How often MAY.
    pub may: usize,
    /// Digest of what binds: see [`binding`].
    pub binding: String,
    /// Digest of heading and text, with each run of white space as one space.
    pub text: String,
}

impl Clause {
    /// The entry of a section.
    pub fn of(definition: &Definition) -> Clause {
        let blocks = blocks(&definition.body);
        let words: Vec<&str> = blocks.iter().flat_map(|block| block.split_whitespace()).map(bare).collect();
        let count = |wanted: &str| words.iter().filter(|word| **word == wanted).count();
        let not = words.windows(2).filter(|pair| *pair == ["MUST", "NOT"]).count();
        let text = format!("{} {}", definition.title, definition.body);
        Clause {
            path: definition.path.clone(),
            line: definition.line,
            must: count("MUST") - not,
            must_not: not,
            should: count("SHOULD"),
            may: count("MAY"),
            binding: digest(&binding(&blocks).join("\n")),
            text: digest(&text.split_whitespace().collect::<Vec<_>>().join(" ")),
        }
    }
}

/// What binds of blocks of text: those with a normative word as they are; of others, which define, the numbers and what stands in
/// backticks. Definitions can be put in other words, and their figures and names cannot.
fn binding(blocks: &[String]) -> Vec<String> {
    let explains = |block: &&String| {
        ["*Why", "*Consequence", "**Why", "**Consequence"].iter().any(|mark| block.starts_with(mark))
    };
    let of = |block: &String| {
        let normative = ["MUST", "SHOULD", "MAY"];
        if block.split_whitespace().any(|word| normative.contains(&bare(word))) {
            return block.clone();
        }
        // Every second part of a text that is split at backticks stood between two.
        let code = block.split('`').enumerate().filter(|(n, _)| n % 2 == 1).map(|(_, part)| part);
        let plain = block.split('`').enumerate().filter(|(n, _)| n % 2 == 0).map(|(_, part)| part);
        let numbers = plain.flat_map(str::split_whitespace).map(bare);
        let numbers = numbers.filter(|word| word.starts_with(|c: char| c.is_ascii_digit()));
        code.chain(numbers).collect::<Vec<_>>().join(" ")
    };
    blocks.iter().filter(|block| !explains(block)).map(of).filter(|text| !text.is_empty()).collect()
}

/// Paragraphs, items of lists and rows of tables, outside code, each in one line with single spaces.
fn blocks(body: &str) -> Vec<String> {
    let mut blocks: Vec<String> = Vec::new();
    let mut before = 0;
    for (number, line) in outside_fences(body) {
        let line = line.split_whitespace().collect::<Vec<_>>().join(" ");
        let item = ["- ", "* ", "| "].iter().any(|mark| line.starts_with(mark))
            || line.split_once(". ").is_some_and(|(number, _)| number.parse::<u32>().is_ok());
        let goes_on = number == before + 1 && !line.is_empty() && !item;
        match blocks.last_mut() {
            Some(block) if goes_on && !block.is_empty() => *block += &format!(" {line}"),
            _ => blocks.push(line),
        }
        before = number;
    }
    blocks.retain(|block| !block.is_empty());
    blocks
}

/// A word without what stands around it.
fn bare(word: &str) -> &str {
    word.trim_matches(|c: char| !c.is_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clause(body: &str) -> Clause {
        Clause::of(&Definition {
            id: "FMT-01".to_owned(),
            kind: megakernel_codegen::spec::IdKind::Clause,
            title: "Text".to_owned(),
            path: "spec/a.md".to_owned(),
            line: 1,
            anchor: String::new(),
            body: body.to_owned(),
        })
    }

    const BODY: &str = "A reader MUST NOT guess. It MUST stop, and MAY say why.\n\n- At most `limit`, 8 of them, are\n  read.\n\n\
                        *Why:* it SHOULD be quick.\n\n```text\nMUST\n```\n";

    #[test]
    fn words_are_counted_outside_of_code() {
        let Clause { must, must_not, should, may, .. } = clause(BODY);
        assert_eq!((must, must_not, should, may), (1, 1, 1, 1));
    }

    #[test]
    fn white_space_changes_nothing() {
        assert_eq!(
            clause(BODY),
            clause(&BODY.replace("are\n  read", "are read").replace("It MUST stop", "It  MUST\n  stop"))
        );
    }

    #[test]
    fn what_binds_is_told_from_what_explains() {
        let (before, same) = (clause(BODY), |from, to| clause(&BODY.replace(from, to)));
        for (from, to) in [("guess", "wait"), ("8 of", "9 of"), ("`limit`", "`most`"), ("It MUST", "It MAY")]
        {
            assert_ne!(same(from, to).binding, before.binding, "{from}");
        }
        for (from, to) in [("are\n  read", "are looked at"), ("it SHOULD be quick", "nobody waits")] {
            assert_eq!(same(from, to).binding, before.binding, "{from}");
            assert_ne!(same(from, to).text, before.text, "{from}");
        }
    }
}
