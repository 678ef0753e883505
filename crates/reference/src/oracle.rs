//! The VM as an oracle: it follows launches of an implementation and says what each task should write
//! ([`megakernel_ir::protocol::oracle`]).

use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};

use megakernel_ir::model::Program;
use megakernel_ir::protocol::Accumulator;
use megakernel_ir::protocol::oracle::{Answer, Bytes, Numbers, OPEN, ORACLE, Request, read, write};
use megakernel_ir::{BufferId, TaskId};
use megakernel_numerics::Tensor;

use crate::vm::{Following, Reference, TaskOutput};

/// An answer, and the bytes that follow it.
type Reply = Result<(Answer, Vec<u8>), String>;

/// Answers until the input ends.
///
/// # Errors
/// The input or output fails, or the input holds what is no message.
pub fn serve(input: &mut impl BufRead, output: &mut impl Write) -> io::Result<()> {
    let mut next = read::<Request>(input)?;
    while let Some((request, payload)) = next.take() {
        next = match request {
            Request::Follow { accumulator, program, tensors, caches } => {
                follow(&Launch { accumulator, program, tensors, caches, payload }, input, output)?
            }
            Request::Hello { .. } => {
                let (name, version) =
                    (env!("CARGO_PKG_NAME").to_owned(), env!("CARGO_PKG_VERSION").to_owned());
                let hello = Answer::Hello { oracle: ORACLE.to_owned(), name, version };
                answer(output, Ok((hello, Vec::new())))?;
                read(input)?
            }
            Request::Task { .. } | Request::Store { .. } | Request::Buffer { .. } => {
                answer(output, Err("no launch is followed".to_owned()))?;
                read(input)?
            }
        };
    }
    Ok(())
}

fn answer(output: &mut impl Write, reply: Reply) -> io::Result<()> {
    let (answer, payload) = reply.unwrap_or_else(|message| (Answer::Error { message }, Vec::new()));
    write(output, &answer, &[&payload])
}

/// Tensors by the name under which buffers are bound.
type ByName = BTreeMap<String, Tensor>;

struct Launch {
    accumulator: Accumulator,
    program: u64,
    tensors: Vec<Bytes>,
    caches: Vec<Bytes>,
    payload: Vec<u8>,
}

impl Launch {
    /// The program's text, what binds its buffers, and what its caches hold, by name.
    fn parts(&self) -> Result<(&[u8], ByName, ByName), String> {
        let length = usize::try_from(self.program).map_err(|_| "the program is too long")?;
        let (document, mut rest) =
            self.payload.split_at_checked(length).ok_or("the program is shorter than its message says")?;
        let mut take = |described: &[Bytes]| -> Result<ByName, String> {
            described.iter().map(|one| Ok((one.name.clone(), one.take(&mut rest)?))).collect()
        };
        Ok((document, take(&self.tensors)?, take(&self.caches)?))
    }
}

/// Follows a launch until something else is asked for, and returns that.
fn follow(
    launch: &Launch,
    input: &mut impl BufRead,
    output: &mut impl Write,
) -> io::Result<Option<(Request, Vec<u8>)>> {
    let prepared = launch.parts().and_then(|(document, tensors, caches)| {
        let program = megakernel_ir::read(document).map_err(|found| {
            let first = found.first();
            first.map_or_else(String::new, |d| format!("{} at {}: {}", d.rule, d.pointer, d.message))
        })?;
        Ok((program, tensors, caches))
    });
    let prepared = match &prepared {
        Ok((program, tensors, caches)) => {
            Following::new(program, tensors, caches, launch.accumulator).map(|memory| (program, memory))
        }
        Err(cause) => Err(cause.clone()),
    };
    let (program, mut memory) = match prepared {
        Ok(prepared) => prepared,
        Err(cause) => {
            answer(output, Err(cause))?;
            return read(input);
        }
    };
    let order = memory.order().unwrap_or_default();
    answer(
        output,
        Ok((Answer::Following { order: order.into_iter().map(TaskId::index).collect() }, Vec::new())),
    )?;
    while let Some((request, payload)) = read::<Request>(input)? {
        let reply = match request {
            Request::Task { task } => match memory.task(TaskId::at(task)) {
                Ok(None) => Ok((Answer::Nothing, Vec::new())),
                Ok(Some(found)) => written(program, found),
                Err(fault) => Err(format!("{} at {}", fault.name(), fault.pointer())),
            },
            Request::Store { task, tensor } => tensor
                .take(&mut payload.as_slice())
                .and_then(|tensor| memory.store(TaskId::at(task), &tensor))
                .map(|()| (Answer::Stored, Vec::new())),
            Request::Buffer { buffer } => memory
                .buffer(BufferId::at(buffer))
                .map(|tensor| (Answer::Holds { tensor: Bytes::of("", &tensor) }, tensor.bytes)),
            other @ (Request::Hello { .. } | Request::Follow { .. }) => return Ok(Some((other, payload))),
        };
        answer(output, reply)?;
    }
    Ok(None)
}

fn written(program: &Program<'_>, output: TaskOutput) -> Reply {
    let rank = program.buffers.get(output.buffer.index()).map_or(0, |buffer| buffer.shape.len());
    let axes = output.region.axes().iter().take(rank);
    let region = axes.map(|[low, high]| (low.max(&0).unsigned_abs(), high.max(&0).unsigned_abs())).collect();
    let (numbers, elements, payload) = match output.reference {
        Reference::Reals { values, bounds } => {
            let payload = values.iter().chain(&bounds).flat_map(|value| value.to_le_bytes()).collect();
            (Numbers::Reals, values.len(), payload)
        }
        Reference::Ints(values) => {
            // Which index an uncertain maximum has, say, is not specified.
            let payload = values.iter().flat_map(|value| value.unwrap_or(OPEN).to_le_bytes()).collect();
            (Numbers::Ints, values.len(), payload)
        }
    };
    Ok((
        Answer::Written { buffer: output.buffer.index(), region, numbers, elements: elements as u64 },
        payload,
    ))
}
