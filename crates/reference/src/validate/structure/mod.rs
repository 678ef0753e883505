//! Class S beyond reading: rules S08 to S22. Each rule looks at the program as it was read and trusts nothing;
//! where none of them is broken, ids are indices and every reference holds, so that the later classes can index.

mod s08;
mod s09;
mod s10;
mod s11;
mod s12;
mod s13;
mod s14;
mod s15;
mod s16;
mod s17;
mod s18;
mod s19;
mod s20;
mod s21;
mod s22;

use std::ops::Range;

use megakernel_ir::model::{Buffer, Program};
use megakernel_order::{Findings, Threads};

use crate::validate::columns::Columns;

/// Judges S08 to S22 in one pass over the program. Gives back what the later stages want of its tasks.
pub fn check(program: &Program<'_>, threads: Threads, findings: &mut Findings) -> Columns {
    s08::before_tasks(program, findings);
    for (index, buffer) in program.buffers.iter().enumerate() {
        s12::buffer(index, buffer, findings);
        s20::check(index, buffer, findings);
        s21::check(index, buffer, findings);
    }
    for (index, counter) in program.counters.iter().enumerate() {
        s17::check(index, counter, findings);
    }
    let mut produced = vec![false; program.buffers.len()];
    let mut columns = Columns::default();
    for part in threads.by_ranges(program.tasks.len(), |range| tasks(program, range, findings.part())) {
        columns.append(part.columns);
        findings.append(part.findings);
        produced.iter_mut().zip(part.produced).for_each(|(all, some)| *all |= some);
    }
    s08::pages(program, findings);
    s09::assignment(program, findings);
    s19::check(program, &produced, findings);
    s22::records(program, findings);
    columns
}

/// What comes of some of the tasks.
struct Part {
    columns: Columns,
    findings: Findings,
    /// Of each buffer, whether one of them writes it.
    produced: Vec<bool>,
}

fn tasks(program: &Program<'_>, range: Range<usize>, mut findings: Findings) -> Part {
    let mut columns = Columns::with_capacity(range.len());
    let mut produced = vec![false; program.buffers.len()];
    for (index, task) in range.clone().zip(&program.tasks[range]) {
        columns.push(task);
        s08::task(index, task, &mut findings);
        s09::task(program, index, task, &mut findings);
        s10::check(program, index, task, &mut findings);
        s11::check(index, task, &mut findings);
        s12::task(index, task, &mut findings);
        s13::check(index, task, &mut findings);
        s14::check(index, task, &mut findings);
        s15::check(index, task, &mut findings);
        s16::check(index, task, &mut findings);
        s18::check(program, index, task, &mut findings);
        s22::task(index, task, &mut findings);
        for &output in &task.outputs {
            if let Some(produced) = usize::try_from(output).ok().and_then(|output| produced.get_mut(output)) {
                *produced = true;
            }
        }
    }
    Part { columns, findings, produced }
}

/// The buffer with this id, if there is one.
fn buffer<'p>(program: &'p Program<'p>, id: i64) -> Option<&'p Buffer<'p>> {
    usize::try_from(id).ok().and_then(|id| program.buffers.get(id))
}
