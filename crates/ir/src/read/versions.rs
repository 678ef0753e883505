//! Rules S06 ir-version and S07 abi-version (clause FMT-05).

use crate::diagnostic::Diagnostic;
use crate::read::tree::{Kind, Node};
use crate::rule::Rule;

/// The version of the format that this crate reads and writes.
pub const IR_VERSION: &str = "0.2.0";
/// The version of the ABI that this crate describes.
pub const ABI_VERSION: &str = "0.2";

/// Diagnostics for versions that are malformed or of another major version.
pub(super) fn check(ir_version: &str, abi_version: &str) -> Vec<Diagnostic> {
    let ir = check_one(Rule::S06, "ir_version", ir_version, IR_VERSION);
    let abi = check_one(Rule::S07, "abi_version", abi_version, ABI_VERSION);
    ir.into_iter().chain(abi).collect()
}

/// The same where the document could not be read: a newer major version may have any members.
pub(super) fn check_tree(root: Node<'_>) -> Vec<Diagnostic> {
    let text = |wanted: &str| match root.members().find(|(name, _)| name == wanted)?.1.kind() {
        Kind::String(text) => Some(text),
        _ => None,
    };
    check(
        text("ir_version").as_deref().unwrap_or(IR_VERSION),
        text("abi_version").as_deref().unwrap_or(ABI_VERSION),
    )
}

fn check_one(rule: Rule, member: &str, found: &str, ours: &str) -> Option<Diagnostic> {
    let problem = match major(found) {
        None => format!("`{found}` is not a version; write it as `{ours}`"),
        Some("0") => return None,
        Some(major) => {
            format!("version {found} has major version {major}; this reader knows major version 0 ({ours})")
        }
    };
    Some(Diagnostic::new(rule, format!("/{member}"), problem))
}

/// The first part of a version of two or three decimal parts without leading zeros.
fn major(version: &str) -> Option<&str> {
    let decimal = |part: &str| {
        !part.is_empty()
            && part.bytes().all(|b| b.is_ascii_digit())
            && (part == "0" || !part.starts_with('0'))
    };
    let well_formed = (2..=3).contains(&version.split('.').count()) && version.split('.').all(decimal);
    version.split('.').next().filter(|_| well_formed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn minor_versions_are_compatible_and_major_ones_are_not() {
        let rules = |ir, abi| check(ir, abi).iter().map(|d| d.rule).collect::<Vec<_>>();
        assert_eq!(rules("0.2.0", "0.2"), []);
        assert_eq!(rules("0.9", "0.17"), []);
        assert_eq!(rules("0.2.11", "0.2.1"), []);
        assert_eq!(rules("0.2.0.0", "0.2.0.0"), [Rule::S06, Rule::S07]);
        assert_eq!(rules("1.0.0", "0.2"), [Rule::S06]);
        assert_eq!(rules("0.2.0", "1.0"), [Rule::S07]);
        assert_eq!(rules("", "0.2.x"), [Rule::S06, Rule::S07]);
        assert_eq!(rules("00.2", "0"), [Rule::S06, Rule::S07]);
    }
}
