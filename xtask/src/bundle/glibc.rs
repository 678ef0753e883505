//! Which C library programs need, and how they are linked for an older one than this machine's.

use std::fmt;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::str::FromStr;

use crate::dist::create;

/// What is linked by another linker. Named, so that no build script and no macro is.
pub const TARGET: &str = "x86_64-unknown-linux-gnu";

/// A version of glibc.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Glibc {
    major: u32,
    minor: u32,
}

impl Glibc {
    /// The oldest that the standard library of Rust runs with.
    pub const LEAST: Glibc = Glibc { major: 2, minor: 17 };

    /// What a program needs: the latest version that its symbols name.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn of(program: &Path) -> Result<Glibc, String> {
        let bytes = fs::read(program).map_err(|cause| format!("{}: {cause}", program.display()))?;
        Ok(latest(&bytes).unwrap_or(Glibc::LEAST))
    }

    /// What programs need has to be no later than what was asked for: a linker may not do as it is told.
    ///
    /// # Errors
    /// It is later.
    pub fn within(self, asked: Glibc) -> Result<(), String> {
        if self <= asked {
            return Ok(());
        }
        Err(format!("the programs need glibc {self}, and have to run with {asked}; is what links them zig?"))
    }
}

fn latest(bytes: &[u8]) -> Option<Glibc> {
    const MARK: &[u8] = b"GLIBC_";
    let marks = bytes.windows(MARK.len()).enumerate().filter(|(_, part)| *part == MARK);
    let versions = marks.filter_map(|(at, _)| {
        let rest =
            bytes.get(at + MARK.len()..)?.split(|byte| !byte.is_ascii_digit() && *byte != b'.').next()?;
        let mut parts = std::str::from_utf8(rest).ok()?.split('.');
        Some(Glibc { major: parts.next()?.parse().ok()?, minor: parts.next()?.parse().ok()? })
    });
    versions.max()
}

impl fmt::Display for Glibc {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.major, self.minor)
    }
}

impl FromStr for Glibc {
    type Err = String;

    fn from_str(text: &str) -> Result<Glibc, String> {
        let parts = text.split_once('.');
        let parsed = parts.and_then(|(major, minor)| {
            Some(Glibc { major: major.parse().ok()?, minor: minor.parse().ok()? })
        });
        let found = parsed.ok_or_else(|| format!("`{text}` is no version of glibc, such as 2.28"))?;
        if found < Glibc::LEAST {
            return Err(format!("the standard library of Rust needs glibc {} or later", Glibc::LEAST));
        }
        Ok(found)
    }
}

const NO_ZIG: &str = "--glibc needs zig, and there is none: `pip install ziglang`, with PYTHON as the python that has it, or name a zig in ZIG";

/// What links programs for a version of glibc: zig, which has the symbols of each.
pub struct Linker {
    script: PathBuf,
}

impl Linker {
    /// Writes the script below a folder that cargo starts as its linker.
    ///
    /// # Errors
    /// There is no zig, or the script cannot be written.
    pub fn new(floor: Glibc, folder: &Path) -> Result<Linker, String> {
        let named = std::env::var("ZIG").ok();
        let usual = || {
            let python = std::env::var("PYTHON").unwrap_or_else(|_| "python3".to_owned());
            let zigs = ["zig".to_owned(), format!("{python} -m ziglang")];
            zigs.into_iter().find(|zig| starts(zig)).ok_or(NO_ZIG)
        };
        let zig = named.map_or_else(usual, Ok)?;
        // Cargo links anew where its linker has another name, and does not look into it.
        let script = folder.join(format!("zig-cc-{floor}"));
        let about = |cause: std::io::Error| format!("{}: {cause}", script.display());
        create(folder)?;
        let text = format!("#!/bin/sh\nexec {zig} cc -target x86_64-linux-gnu.{floor} \"$@\"\n");
        fs::write(&script, text).map_err(about)?;
        fs::set_permissions(&script, Permissions::from_mode(0o755)).map_err(about)?;
        Ok(Linker { script })
    }

    /// Has cargo link by it.
    pub fn link(&self, build: &mut Command) {
        build.args(["--target", TARGET]);
        build.env("CARGO_ENCODED_RUSTFLAGS", format!("-Clinker={}", self.script.display()));
    }
}

/// Whether a command of a shell is zig.
fn starts(zig: &str) -> bool {
    let mut version = Command::new("sh");
    version.args(["-c", &format!("{zig} version")]).stdout(Stdio::null()).stderr(Stdio::null());
    version.status().is_ok_and(|status| status.success())
}

#[cfg(test)]
mod tests {
    use super::{Glibc, latest};

    #[test]
    fn the_latest_version_of_a_symbol_is_the_floor() {
        let symbols = b"\0GLIBC_2.2.5\0GLIBC_2.34\0GLIBC_2.9\0GLIBC_PRIVATE\0";
        assert_eq!(latest(symbols), "2.34".parse().ok());
        assert_eq!(latest(b"static"), None);
    }

    #[test]
    fn programs_that_need_a_later_version_than_asked_for_are_refused() {
        let within = |found: &str, asked: &str| found.parse::<Glibc>()?.within(asked.parse()?);
        assert_eq!((within("2.28", "2.28"), within("2.18", "2.28")), (Ok(()), Ok(())));
        assert!(within("2.34", "2.28").is_err_and(|why| why.contains("need glibc 2.34")));
    }

    #[test]
    fn a_floor_is_a_version_that_rust_runs_with() {
        for (text, why) in [
            ("2", "no version"),
            ("2.x", "no version"),
            ("2.28.1", "no version"),
            ("2.9", "needs glibc 2.17"),
        ] {
            let found = text.parse::<Glibc>();
            assert!(found.as_ref().is_err_and(|found| found.contains(why)), "{text}: {found:?}");
        }
        let versions = ["2.17", "2.28", "2.34", "3.0"].map(|text| text.parse::<Glibc>());
        assert!(
            versions.iter().all(Result::is_ok)
                && versions.is_sorted_by(|a, b| a.as_ref().ok() < b.as_ref().ok())
        );
    }
}
