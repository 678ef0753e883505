//! Why an answer is wrong, in words that all failures of one cause share: without numbers, names and messages.

use megakernel_ir::rule::Rule;

/// The longest cause, in characters.
const LONGEST: usize = 160;

/// A document was accepted that breaks one of these rules.
pub(super) fn accepts(rules: &[Rule]) -> String {
    let names: Vec<String> = rules.iter().map(|rule| format!("{} {}", rule.id(), rule.slug())).collect();
    format!("accepts what breaks {}", names.join(" or "))
}

/// A document was rejected under these rules, and does not break one of them at least.
pub(super) fn rejects<'a>(ids: impl Iterator<Item = &'a str>) -> String {
    let named =
        |id: &str| Rule::from_id(id).map_or_else(|| id.to_owned(), |rule| format!("{id} {}", rule.slug()));
    let names: Vec<String> = ids.map(named).collect();
    let them = if names.len() == 1 { "it" } else { "them" };
    format!("rejects under {} what does not break {them}", names.join(" and "))
}

/// The sentence without what differs from failure to failure: numbers become `N`, what stands in backticks becomes an ellipsis.
pub(crate) fn plain(sentence: &str) -> String {
    let mut out = String::new();
    let mut quoted = false;
    let mut number = false;
    for character in sentence.chars() {
        match character {
            '`' => {
                out.push_str(if quoted { "...`" } else { "`" });
                quoted = !quoted;
            }
            _ if quoted => {}
            // A letter before it makes it a part of a name, such as `F32`.
            digit if digit.is_ascii_digit() => {
                if !number && out.ends_with(|last: char| last.is_ascii_alphanumeric()) {
                    out.push(digit);
                } else if !number {
                    out.push('N');
                    number = true;
                }
            }
            '.' if number => {}
            other => {
                number = false;
                out.push(other);
            }
        }
    }
    match out.char_indices().nth(LONGEST) {
        Some((end, _)) => format!("{}...", out.get(..end).unwrap_or_default()),
        None => out,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_differs_from_failure_to_failure_is_left_out() {
        assert_eq!(plain("worker gave no answer within 1.6s"), "worker gave no answer within Ns");
        assert_eq!(plain("step 3: `a` is 12, `b` is 0.25"), "step N: `...` is N, `...` is N");
        assert_eq!(plain("elements of F32 and BF16 differ"), "elements of F32 and BF16 differ");
        assert_eq!(plain(&"é".repeat(500)).chars().count(), LONGEST + 3);
    }

    #[test]
    fn causes_name_rules() {
        assert_eq!(accepts(&[Rule::R01]), "accepts what breaks R01 partial-wait");
        assert_eq!(rejects(["R01"].into_iter()), "rejects under R01 partial-wait what does not break it");
    }
}
