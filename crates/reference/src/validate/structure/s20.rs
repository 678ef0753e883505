//! S20 shape-range: extents are positive and the buffer's size fits 63 bits.

use megakernel_ir::Rule;
use megakernel_ir::model::Buffer;
use megakernel_order::Findings;

pub(super) fn check(index: usize, buffer: &Buffer<'_>, findings: &mut Findings) {
    if buffer.nbytes().is_some() {
        return;
    }
    let message = match buffer.shape.iter().find(|extent| **extent < 1) {
        Some(extent) => format!("extent {extent}; every extent is at least 1"),
        None => format!(
            "a buffer of shape {:?} and dtype {} has more than 2^63 - 1 elements or bytes",
            &buffer.shape[..],
            buffer.dtype
        ),
    };
    findings.broken(Rule::S20, format!("/buffers/{index}/shape"), message);
}
