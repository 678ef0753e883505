//! Where buffers are stored (clause PAG-01).

use megakernel_ir::BufferId;
use megakernel_ir::model::{Page, Program};

/// The storage of a buffer.
#[derive(Clone, Copy, Debug)]
pub(super) enum Storage<'p> {
    /// Of its own.
    Own,
    /// On a page, from its first byte on, together with other buffers.
    Page(usize, &'p Page<'p>),
    /// It is mapped to a page that does not exist, or to one of another memory space: there is nothing to access.
    Missing,
}

/// The storage that the program gives a buffer.
pub(super) fn storage<'p>(program: &'p Program<'p>, buffer: BufferId) -> Storage<'p> {
    let Some(allocation) = &program.pages else { return Storage::Own };
    let mapped = allocation.buffer_to_page.0.iter().find(|&&(id, _)| id == i64::from(buffer));
    let Some(&(_, page)) = mapped else { return Storage::Own };
    let index = usize::try_from(page).unwrap_or(usize::MAX);
    match (allocation.pages.get(index), program.buffers.get(buffer.index())) {
        (Some(page), Some(buffer)) if page.space == buffer.space => Storage::Page(index, page),
        _ => Storage::Missing,
    }
}

/// The bytes of elements `first .. first + count` of this many bits each: first byte, and the one behind the last.
pub(super) fn bytes(bits: u32, first: u64, count: u64) -> (u64, u64) {
    let bits = u64::from(bits);
    (first.saturating_mul(bits) / 8, first.saturating_add(count).saturating_mul(bits).div_ceil(8))
}
