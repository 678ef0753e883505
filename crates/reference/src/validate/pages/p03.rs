//! P03 bad-mapping: the mapping binds buffers that exist to pages that exist.

use megakernel_ir::Rule;
use megakernel_order::Findings;

pub(super) fn check(buffer: i64, page: i64, has_buffer: bool, has_page: bool, findings: &mut Findings) {
    let missing = match (has_buffer, has_page) {
        (true, true) => return,
        (false, true) => format!("there is no buffer {buffer}"),
        (true, false) => format!("there is no page {page}"),
        (false, false) => format!("there is neither a buffer {buffer} nor a page {page}"),
    };
    findings.broken(Rule::P03, format!("/pages/buffer_to_page/{buffer}"), missing);
}
