//! What can go wrong with a worker process, as opposed to a wrong answer.

use std::fmt;
use std::process::ExitStatus;
use std::time::Duration;

use megakernel_ir::protocol::PROTOCOL;

use super::LINE_LIMIT;
use crate::text::excerpt;

/// A failure of the process (clause CON-04). The message needs no context.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Failure {
    /// Nothing came before the deadline.
    NoAnswer(Duration),
    /// Nothing came before the deadline of the handshake.
    NoHandshake(Duration),
    /// The run was asked to stop. That is nobody's fault.
    Stopped,
    /// The process ended instead of answering.
    Exited(ExitStatus),
    /// The process closed its output and lives on.
    ClosedOutput,
    /// A line is not a message of the protocol.
    Unreadable {
        /// What is wrong with it.
        cause: String,
        /// The line.
        line: Vec<u8>,
    },
    /// A line is over the limit.
    LineTooLong,
    /// The files in its directory take more than this many bytes.
    TooMuchWritten(u64),
    /// There are more than so many files in its directory, or some that cannot be counted.
    TooManyFiles(usize),
    /// The directory of a session was taken away again and again while the runner prepared it.
    Meddled,
    /// The first line is of this type.
    NotHello(String),
    /// An answer is of this type.
    NotResponse(String),
    /// The worker speaks this version of the protocol.
    OtherProtocol(String),
    /// The answer belongs to another request.
    OtherId,
    /// The answer does not say to which request it belongs.
    NoId,
    /// A worker that was started again describes itself otherwise than before.
    HelloChanged,
    /// The oracle that judges what the worker wrote was killed, or silent, each time that it was asked about this.
    NoOracle(String),
    /// A worker that was started before could not be started again.
    Restart(String),
    /// The process failed when its input was closed.
    BadExit(ExitStatus),
    /// The process goes on after its input was closed.
    DoesNotEnd(Duration),
}

impl Failure {
    /// How the message of [`Failure::NoAnswer`] begins, and of no other.
    pub const LATE: &str = "worker gave no answer within";
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Failure::NoAnswer(timeout) => {
                write!(f, "{} {timeout:?}, the limit that --timeout sets", Failure::LATE)
            }
            Failure::NoHandshake(timeout) => {
                write!(
                    f,
                    "worker did not complete the handshake within {timeout:?}, the limit that --handshake-timeout sets"
                )
            }
            Failure::Stopped => f.write_str("the run was asked to stop"),
            Failure::NoOracle(cause) => write!(f, "what worker wrote could not be judged: {cause}"),
            Failure::Exited(status) => write!(f, "worker ended before it answered ({status})"),
            Failure::ClosedOutput => write!(f, "worker closed its standard output before it answered"),
            Failure::Unreadable { cause, line } => {
                write!(
                    f,
                    "worker wrote a line that is no message of the protocol: {cause}; the line is `{}`",
                    excerpt(line)
                )
            }
            Failure::LineTooLong => write!(f, "worker wrote a line of more than {} MiB", LINE_LIMIT >> 20),
            Failure::TooMuchWritten(limit) => {
                write!(f, "worker wrote files of more than {limit} bytes before it answered")
            }
            Failure::TooManyFiles(limit) => {
                write!(
                    f,
                    "worker made more than {limit} files before it answered, or some that cannot be counted"
                )
            }
            Failure::Meddled => f.write_str("workers of this run took away the directories of its sessions"),
            Failure::NotHello(kind) => {
                write!(
                    f,
                    "worker wrote a message of type `{}`, but a `hello` is required first",
                    excerpt(kind.as_bytes())
                )
            }
            Failure::NotResponse(kind) => write!(
                f,
                "worker answered with a message of type `{}`, but a `response` or an `error` is required",
                excerpt(kind.as_bytes())
            ),
            Failure::OtherProtocol(version) => write!(
                f,
                "worker speaks version `{}` of the protocol, but the runner speaks {PROTOCOL}",
                excerpt(version.as_bytes())
            ),
            // Without the numbers, which are others each time.
            Failure::OtherId => f.write_str(
                "worker answered with an `id` that is not that of the request: twice, too late, or too early",
            ),
            Failure::NoId => f.write_str("worker answered without the `id` of the request"),
            Failure::HelloChanged => {
                write!(f, "worker was started again and gave another `hello` than the first time")
            }
            Failure::Restart(cause) => write!(f, "worker could not be started again: {cause}"),
            Failure::BadExit(status) => write!(f, "worker failed when its input was closed ({status})"),
            Failure::DoesNotEnd(patience) => {
                write!(f, "worker still ran {patience:?} after its input was closed and was killed")
            }
        }
    }
}
