//! What every program of ours does when it writes for people or speaks with a runner.

use std::io::{self, ErrorKind, IsTerminal, Write};

use crate::protocol::{Worker, serve};

/// Whether to colour what goes to a stream: it is a terminal, and `NO_COLOR` is unset or empty.
pub fn colours(stream: &impl IsTerminal) -> bool {
    stream.is_terminal() && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty())
}

/// The result of writing, where a reader that has seen enough, such as `head`, is no failure.
///
/// # Errors
/// Any other that writing met.
pub fn unless_closed(written: io::Result<()>) -> io::Result<()> {
    match written {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// Writes to standard output. A reader that has seen enough does not change the result.
///
/// # Errors
/// Standard output cannot be written, in words.
pub fn print(text: &str) -> Result<(), String> {
    print_bytes(text.as_bytes())
}

/// The same for bytes that need not be text.
///
/// # Errors
/// See [`print`](fn@print).
pub fn print_bytes(bytes: &[u8]) -> Result<(), String> {
    let mut out = io::stdout().lock();
    unless_closed(out.write_all(bytes).and_then(|()| out.flush()))
        .map_err(|error| format!("cannot write to standard output: {error}"))
}

/// Answers the requests of a runner on standard input until it closes the pipe.
///
/// # Errors
/// The pipes fail in another way, in words.
pub fn work(worker: &mut impl Worker) -> Result<(), String> {
    spoken(serve(worker, &mut io::stdin().lock(), &mut io::stdout().lock()))
}

/// How a conversation with a runner has ended; one that has closed the pipe need not be told.
///
/// # Errors
/// The pipes have failed in another way, in words.
pub fn spoken(result: io::Result<()>) -> Result<(), String> {
    unless_closed(result).map_err(|error| format!("standard input or output failed: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_closed_pipe_is_no_failure() {
        assert!(unless_closed(Err(ErrorKind::BrokenPipe.into())).is_ok());
        assert!(unless_closed(Err(ErrorKind::StorageFull.into())).is_err());
    }
}
