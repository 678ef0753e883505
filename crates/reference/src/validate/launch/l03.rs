//! L03 cooperative-launch: the blocks of a megakernel wait for each other, so all have to be resident at once.

use megakernel_ir::Rule;
use megakernel_ir::model::Target;
use megakernel_order::Findings;

pub(super) fn check(target: &Target<'_>, findings: &mut Findings) {
    if !target.supports_cooperative {
        let message = format!(
            "the target `{}` cannot launch cooperatively; a block could wait for one that never becomes resident",
            target.name
        );
        findings.broken(Rule::L03, "/target/supports_cooperative", message);
    }
}
