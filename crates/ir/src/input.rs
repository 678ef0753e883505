//! Reading files of which nobody knows how large they are.

use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

/// The largest file that is read unless another limit is set, in bytes: four times a program of a million tasks.
pub const LIMIT: u64 = 1 << 30;

static CURRENT: AtomicU64 = AtomicU64::new(LIMIT);

/// Sets the limit of [`read`] for the whole process, as a command is told to by `--max-size`.
pub fn set_limit(bytes: u64) {
    CURRENT.store(bytes, Ordering::Relaxed);
}

/// Reads a file, up to the limit. A device that never ends has more.
///
/// # Errors
/// It cannot be read, or is larger ([`ErrorKind::FileTooLarge`]).
pub fn read(path: &Path) -> Result<Vec<u8>> {
    read_limited(path, CURRENT.load(Ordering::Relaxed))
}

fn read_limited(path: &Path, limit: u64) -> Result<Vec<u8>> {
    let too_large = || {
        let message = format!("more than {limit} bytes, the limit for a file; --max-size raises it");
        Error::new(ErrorKind::FileTooLarge, message)
    };
    let file = File::open(path)?;
    let size = file.metadata()?.len();
    if size > limit {
        return Err(too_large());
    }
    let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or_default());
    file.take(limit.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > limit { Err(too_large()) } else { Ok(bytes) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_may_be_as_large_as_the_limit() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR")).join("Cargo.toml");
        let all = std::fs::read(&here).expect("a file");
        let size = all.len() as u64;
        assert_eq!(read_limited(&here, size).expect("not too large"), all);
        let error = read_limited(&here, size - 1).expect_err("too large");
        assert_eq!(error.kind(), ErrorKind::FileTooLarge);
        assert!(error.to_string().contains("--max-size"), "{error}");
        let error = read(Path::new("/no/such/file")).expect_err("not there");
        assert_eq!(error.kind(), ErrorKind::NotFound);
    }

    #[cfg(unix)]
    #[test]
    fn what_never_ends_is_too_large() {
        let error = read_limited(Path::new("/dev/zero"), 1 << 20).expect_err("endless");
        assert_eq!(error.kind(), ErrorKind::FileTooLarge);
    }
}
