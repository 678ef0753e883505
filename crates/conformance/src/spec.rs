//! The text of the specification, where the runner finds it: beside the corpus.

use std::path::Path;

use megakernel_ir::registry;
use megakernel_ir::rule::Clause;

/// The clause or rule with this id, and its section, Markdown as it stands in the file.
///
/// # Errors
/// There is no such id, or no text beside the corpus.
pub fn section(corpus: &Path, id: &str) -> Result<(&'static Clause, String), String> {
    let clause = registry::heading(id)
        .ok_or_else(|| format!("no rule and no clause has the id `{id}`, such as R01 or EXE-07"))?;
    let path = corpus.parent().unwrap_or(corpus).join(clause.document);
    let text = std::fs::read_to_string(&path).map_err(|cause| {
        format!("{}: {cause}; the folder `spec` of the suite belongs beside the corpus", path.display())
    })?;
    let section = find(&text, id)
        .ok_or_else(|| format!("{} has no section {id}; it is of another suite", path.display()))?;
    Ok((clause, section.to_owned()))
}

/// The section whose heading begins with an id, up to the next heading that is not below it.
fn find<'a>(text: &'a str, id: &str) -> Option<&'a str> {
    let mut fenced = false;
    let mut start: Option<(usize, usize)> = None;
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        fenced ^= line.starts_with("```");
        let level = line.bytes().take_while(|&byte| byte == b'#').count();
        if level > 0 && !fenced && line.as_bytes().get(level) == Some(&b' ') {
            match start {
                Some((begin, of)) if level <= of => return text.get(begin..offset).map(str::trim_end),
                None if line.split_whitespace().nth(1) == Some(id) => start = Some((offset, level)),
                _ => {}
            }
        }
        offset += line.len();
    }
    start.and_then(|(begin, _)| text.get(begin..)).map(str::trim_end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_section_ends_with_the_next_heading_that_is_not_below_it() {
        let text = "# A\n\n### R01 one\n\ntext\n```sh\n### R02 no heading\n```\n#### below\n\n### R02 two\nmore\n## B\n";
        assert_eq!(
            find(text, "R01"),
            Some("### R01 one\n\ntext\n```sh\n### R02 no heading\n```\n#### below")
        );
        assert_eq!(find(text, "R02"), Some("### R02 two\nmore"));
        assert_eq!(find(text, "R03"), None);
    }
}
