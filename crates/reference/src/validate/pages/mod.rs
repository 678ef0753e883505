//! Class P: buffers that share a page do not clobber each other.

mod p01;
mod p02;
mod p03;
mod p04;
mod p05;
mod p06;

use megakernel_ir::BufferId;
use megakernel_ir::model::{Buffer, Page, Program};
use megakernel_order::{Findings, HappensBefore};

use crate::validate::accesses::Accesses;

/// Judges P02 to P06, and P01 where there is a happens-before order.
pub fn check(
    program: &Program<'_>,
    accesses: &Accesses<'_>,
    order: Option<&HappensBefore<'_>>,
    findings: &mut Findings,
) {
    let Some(allocation) = &program.pages else { return };
    let mut bound = Vec::new();
    for &(buffer, page) in &allocation.buffer_to_page.0 {
        let (buffer_record, page_record) = (get(&program.buffers, buffer), get(&allocation.pages, page));
        p03::check(buffer, page, buffer_record.is_some(), page_record.is_some(), findings);
        let (Some(buffer_record), Some(page_record)) = (buffer_record, page_record) else { continue };
        let binding =
            Binding { buffer: BufferId::stated(buffer), page: page as u32, buffer_record, page_record };
        p02::check(&binding, findings);
        p04::check(&binding, findings);
        p05::check(&binding, findings);
        bound.push(binding);
    }
    p06::check(program, &allocation.pages, &bound, accesses, findings);
    if let Some(order) = order {
        p01::check(program, bound, accesses, order, findings);
    }
}

/// A buffer and the page that holds it; both exist.
struct Binding<'p> {
    buffer: BufferId,
    page: u32,
    buffer_record: &'p Buffer<'p>,
    page_record: &'p Page<'p>,
}

impl Binding<'_> {
    fn pointer(&self) -> String {
        format!("/pages/buffer_to_page/{}", self.buffer)
    }
}

fn get<T>(list: &[T], id: i64) -> Option<&T> {
    usize::try_from(id).ok().and_then(|id| list.get(id))
}
