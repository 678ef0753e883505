//! Directories that a worker can reach: whatever it does with them, the runner reads nothing else and leaves nothing behind.
//!
//! A directory is known by a handle, not by its path: a worker can rename it, and put a link in its place. Nothing here
//! follows a link, or waits for a pipe.

use std::fs::{File, Metadata};
use std::io::{self, ErrorKind, Write};
use std::os::fd::{AsFd, AsRawFd, OwnedFd};
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use nix::dir::Dir;
use nix::errno::Errno;
use nix::fcntl::{OFlag, open, openat, renameat};
use nix::sys::stat::{FchmodatFlags, Mode, fchmod, fchmodat, fstat, mkdirat};
use nix::unistd::{UnlinkatFlags, unlinkat};

use crate::text::secret;

/// What the names of the runner's directories begin with, in the directory for temporary files.
pub const PREFIX: &str = "megakernel-conform-";

/// How long a worker may go on filling a directory before the runner stops to empty it, and leaves the rest to the end of the run.
const PATIENCE: Duration = Duration::from_secs(1);

/// The same at the end, when no worker is left.
const LAST: Duration = Duration::from_secs(60);

/// Files and directories that a worker may make in a directory.
pub const ENTRIES: usize = 10_000;

/// A directory that is removed when this goes.
#[derive(Debug)]
pub struct Folder {
    handle: OwnedFd,
    path: PathBuf,
    patience: Duration,
}

impl Folder {
    /// Makes a directory for others like it below the one for temporary files. Who knows no name in it finds none: it cannot be
    /// listed.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn outer() -> io::Result<Folder> {
        let path = std::env::temp_dir().join(format!("{PREFIX}{}", secret()));
        // With what is above it: a worker may have removed that too.
        std::fs::DirBuilder::new().mode(0o700).recursive(true).create(&path)?;
        let handle = open(&path, directory(), Mode::empty())?;
        let folder = Folder { handle, path, patience: LAST };
        fchmod(&folder.handle, Mode::S_IWUSR | Mode::S_IXUSR)?;
        Ok(folder)
    }

    /// Makes a directory in this one, which nobody else can enter.
    ///
    /// # Errors
    /// It cannot be made.
    pub fn inner(&self) -> io::Result<Folder> {
        let name = secret();
        mkdirat(&self.handle, name.as_str(), Mode::S_IRWXU)?;
        let handle = openat(&self.handle, name.as_str(), directory(), Mode::empty())?;
        Ok(Folder { handle, path: self.path.join(name), patience: PATIENCE })
    }

    /// Where it was made.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether it is still there.
    pub fn is_in_place(&self) -> bool {
        let found = std::fs::symlink_metadata(&self.path);
        matches!((fstat(&self.handle), found), (Ok(own), Ok(found)) if (own.st_dev, own.st_ino) == (found.dev(), found.ino()))
    }

    /// Writes a new file.
    ///
    /// # Errors
    /// It is there already, or cannot be written.
    pub fn write(&self, name: &str, bytes: &[u8]) -> io::Result<()> {
        let flags = OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        File::from(openat(&self.handle, name, flags, Mode::S_IRUSR | Mode::S_IWUSR)?).write_all(bytes)
    }

    /// Opens a plain file, once: what is looked at is what is read.
    ///
    /// # Errors
    /// There is none of that name ([`ErrorKind::NotFound`]), or it is something else ([`ErrorKind::InvalidInput`]).
    pub fn open(&self, name: &str) -> io::Result<File> {
        // Whatever the worker permits.
        fchmod(&self.handle, Mode::S_IRWXU)?;
        let flags = OFlag::O_RDONLY | OFlag::O_NONBLOCK | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC;
        let file = match openat(&self.handle, name, flags, Mode::empty()) {
            Ok(file) => File::from(file),
            // A link; a socket, or a device that nothing serves.
            Err(Errno::ELOOP | Errno::ENXIO) => return Err(ErrorKind::InvalidInput.into()),
            Err(cause) => return Err(cause.into()),
        };
        if file.metadata()?.is_file() { Ok(file) } else { Err(ErrorKind::InvalidInput.into()) }
    }

    /// The bytes that its files take on the disk, with those below it; nothing if they are too many to count, or hidden.
    pub fn taken(&self) -> Option<u64> {
        let (mut sum, mut entries) = (0u64, 0);
        let mut open = vec![self.link()];
        while let Some(folder) = open.pop() {
            let found = match std::fs::read_dir(&folder) {
                Ok(found) => found,
                // Gone again.
                Err(cause) if cause.kind() == ErrorKind::NotFound => continue,
                Err(_) => return None,
            };
            for entry in found.flatten() {
                entries += 1;
                if entries > ENTRIES {
                    return None;
                }
                let Ok(metadata) = entry.metadata() else { continue };
                sum = sum.saturating_add(taken(&metadata));
                if metadata.is_dir() {
                    open.push(entry.path());
                }
            }
        }
        Some(sum)
    }

    /// A path of the handle, wherever the directory is now, if the system has such paths.
    fn link(&self) -> PathBuf {
        let link = PathBuf::from(format!("/proc/self/fd/{}", self.handle.as_raw_fd()));
        if cfg!(target_os = "linux") { link } else { self.path.clone() }
    }

    fn remove(&self) -> io::Result<()> {
        fchmod(&self.handle, Mode::S_IRWXU)?;
        let deadline = Instant::now() + self.patience;
        while empty(&self.handle)? && Instant::now() < deadline {}
        if !self.is_in_place() {
            // It was moved; the system knows where to.
            if let Ok(place) = std::fs::read_link(self.link()) {
                let _ = std::fs::remove_dir(place);
            }
            let _ = std::fs::remove_file(&self.path);
        }
        // Whatever stands there now, a directory of somebody's goes only if it is empty.
        let _ = std::fs::remove_dir(&self.path);
        Ok(())
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Who took it away has done it.
        let _ = self.remove();
    }
}

fn directory() -> OFlag {
    OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC
}

/// The bytes that a file takes on the disk: a file with holes takes less than its length.
pub fn taken(found: &Metadata) -> u64 {
    found.blocks().saturating_mul(512)
}

/// Removes what a directory holds, and moves what its directories hold up to it, so that no depth is too much. Says whether
/// there was anything.
fn empty(folder: &OwnedFd) -> io::Result<bool> {
    let mut found = false;
    for name in names(folder)? {
        found = true;
        let name = name.as_c_str();
        match unlinkat(folder, name, UnlinkatFlags::NoRemoveDir) {
            Ok(()) => continue,
            Err(Errno::EISDIR | Errno::EPERM) => {}
            Err(_) => continue,
        }
        if unlinkat(folder, name, UnlinkatFlags::RemoveDir).is_ok() {
            continue;
        }
        let Some(inner) = entered(folder, name) else { continue };
        for child in names(&inner).unwrap_or_default() {
            if unlinkat(&inner, child.as_c_str(), UnlinkatFlags::NoRemoveDir).is_err() {
                // What is to be moved has to be writable.
                drop(entered(&inner, child.as_c_str()));
                let _ = renameat(&inner, child.as_c_str(), folder, secret().as_str());
            }
        }
        let _ = unlinkat(folder, name, UnlinkatFlags::RemoveDir);
    }
    Ok(found)
}

/// Opens a directory, whatever its owner permits.
fn entered(folder: &OwnedFd, name: &std::ffi::CStr) -> Option<OwnedFd> {
    fchmodat(folder, name, Mode::S_IRWXU, FchmodatFlags::FollowSymlink).ok()?;
    openat(folder, name, directory(), Mode::empty()).ok()
}

fn names(folder: &OwnedFd) -> io::Result<Vec<std::ffi::CString>> {
    let mut folder = Dir::openat(folder.as_fd(), ".", directory(), Mode::empty())?;
    let names = folder.iter().flatten().map(|entry| entry.file_name().to_owned());
    Ok(names.filter(|name| !matches!(name.to_bytes(), b"." | b"..")).collect())
}
