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

use megakernel_ir::model::{Buffer, Program};

use crate::validate::columns::Columns;
use crate::validate::findings::Findings;

/// Judges S08 to S22 in one pass over the program. Gives back what the later stages want of its tasks.
pub fn check(program: &Program<'_>, findings: &mut Findings) -> Columns {
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
    let mut columns = Columns::with_capacity(program.tasks.len());
    for (index, task) in program.tasks.iter().enumerate() {
        columns.push(task);
        s08::task(index, task, findings);
        s09::task(program, index, task, findings);
        s10::check(program, index, task, findings);
        s11::check(index, task, findings);
        s12::task(index, task, findings);
        s13::check(index, task, findings);
        s14::check(index, task, findings);
        s15::check(index, task, findings);
        s16::check(index, task, findings);
        s18::check(program, index, task, findings);
        s22::task(index, task, findings);
        for &output in &task.outputs {
            if let Some(produced) = usize::try_from(output).ok().and_then(|output| produced.get_mut(output)) {
                *produced = true;
            }
        }
    }
    s08::pages(program, findings);
    s09::assignment(program, findings);
    s19::check(program, &produced, findings);
    s22::records(program, findings);
    columns
}

/// The buffer with this id, if there is one.
fn buffer<'p>(program: &'p Program<'p>, id: i64) -> Option<&'p Buffer<'p>> {
    usize::try_from(id).ok().and_then(|id| program.buffers.get(id))
}
