//! `cargo xtask dist`: what a release publishes, for people without Rust.

pub mod archive;
mod book;
mod runner;
mod schemas;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use crate::print;
use archive::{Packing, pack};

/// The version of the suite, which everything here has.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Make what a release publishes: the runner for a machine without Rust, the corpus, the schemas as packages, and the book
///
/// The same state gives the same bytes, with the same compiler and the same tar, gzip, zstd and mdBook. The runner needs what static
/// programs of glibc are linked from (on Debian, libc6-dev), and the book mdBook: `cargo install mdbook`. docs/versioning.md says what is in
/// the files.
#[derive(clap::Args)]
#[command(after_help = "Exit code: 0 if everything was made, 2 if not.")]
pub struct Args {
    /// The folder for what is made. What an earlier call has left there is removed
    #[arg(long, value_name = "FOLDER", default_value = "target/dist")]
    out: PathBuf,

    /// This part only; may be repeated
    #[arg(long = "part", value_name = "PART", value_enum)]
    parts: Vec<Part>,
}

/// A part of a release.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Part {
    /// The runner and the reference, linked statically, with corpus, schemas and specification
    Runner,
    /// The corpus alone
    Corpus,
    /// The schemas as packages for npm and for pip
    Schemas,
    /// The specification and the documents as a book
    Book,
}

/// The command: 0 when all is made.
pub fn run(root: &Path, args: &Args) -> ExitCode {
    match dist(root, args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("error: {message}");
            ExitCode::from(2)
        }
    }
}

fn dist(root: &Path, args: &Args) -> Result<(), String> {
    let out = root.join(&args.out);
    // What is half made lies in a folder of its own, and nothing of an earlier call is removed before all is made.
    let stage = out.join("megakernel-stage");
    let ready = stage.join("ready");
    remove(&stage)?;
    create(&ready)?;
    let wanted = |part| args.parts.is_empty() || args.parts.contains(&part);
    let mut made = Vec::new();
    if wanted(Part::Schemas) {
        made.push(schemas::npm(root, &stage, &ready)?);
        made.push(schemas::wheel(root, &stage, &ready)?);
    }
    if wanted(Part::Book) {
        let folder = stage.join(format!("megakernel-book-{VERSION}"));
        book::make(root, &stage.join("book"), &folder)?;
        made.push(pack(&folder, &ready, Packing::Gzip)?);
    }
    if wanted(Part::Corpus) {
        let name = format!("megakernel-corpus-{VERSION}");
        let folder = stage.join(&name);
        archive::gather(root, &["corpus", "LICENSE-APACHE", "LICENSE-MIT"], &folder)?;
        made.push(pack(&folder, &ready, Packing::Zstd)?);
    }
    if wanted(Part::Runner) {
        made.push(runner::make(root, &stage, &ready)?);
    }
    let sums = checksums(&ready, &made)?;
    forget(&out)?;
    made.sort();
    let mut said = String::new();
    for path in made.iter().chain([&sums]) {
        let to = out.join(path.file_name().unwrap_or_default());
        let bytes = fs::rename(path, &to).and_then(|()| fs::metadata(&to));
        let bytes = bytes.map_err(|cause| format!("{}: {cause}", to.display()))?.len();
        said += &format!("{:>9.2} MB  {}\n", bytes as f64 / 1e6, to.display());
    }
    remove(&stage)?;
    print(&said)
}

/// Removes what an earlier call has made: the files that its checksums name, and no others.
fn forget(out: &Path) -> Result<(), String> {
    let sums = out.join(SUMS);
    let Ok(text) = fs::read_to_string(&sums) else { return Ok(()) };
    let names = text.lines().filter_map(|line| line.split_once("  ")).map(|(_, name)| name);
    for name in names.filter(|name| name.starts_with("megakernel") && !name.contains('/')) {
        remove(&out.join(name))?;
    }
    remove(&sums)
}

/// The file of checksums, which `sha256sum --check` reads.
const SUMS: &str = "SHA256SUMS";

fn checksums(out: &Path, made: &[PathBuf]) -> Result<PathBuf, String> {
    let mut names: Vec<_> = made.iter().filter_map(|path| path.file_name()).collect();
    names.sort();
    let sums =
        succeed(Command::new("sha256sum").args(&names).current_dir(out), "it comes with GNU coreutils")?;
    let path = out.join(SUMS);
    write(&path, sums)?;
    Ok(path)
}

/// Writes a file, and the folders above it.
fn write(path: &Path, content: impl AsRef<[u8]>) -> Result<(), String> {
    create(path.parent().unwrap_or(path))?;
    fs::write(path, content).map_err(|cause| format!("{}: {cause}", path.display()))
}

/// Makes a folder, with those that it lies in.
///
/// # Errors
/// The file system refuses.
pub fn create(folder: &Path) -> Result<(), String> {
    fs::create_dir_all(folder).map_err(|cause| format!("{}: {cause}", folder.display()))
}

/// Removes a file or a folder, if it is there.
///
/// # Errors
/// The file system refuses.
pub fn remove(path: &Path) -> Result<(), String> {
    let done = match fs::symlink_metadata(path) {
        Err(_) => Ok(()),
        Ok(meta) if meta.is_dir() => fs::remove_dir_all(path),
        Ok(_) => fs::remove_file(path),
    };
    done.map_err(|cause| format!("{}: {cause}", path.display()))
}

/// Runs a program whose output is nobody's business unless it fails. `hint` says what brings the program.
fn succeed(command: &mut Command, hint: &str) -> Result<Vec<u8>, String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|cause| format!("{program} cannot be started: {cause}; {hint}"))?;
    if output.status.success() {
        return Ok(output.stdout);
    }
    let said =
        String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
    Err(format!("{program} failed ({}): {}\n({hint})", output.status, said.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_has_its_checksum() {
        let folder = tempfile::tempdir().expect("a folder");
        let made = ["b", "a"].map(|name| folder.path().join(name));
        made.iter().for_each(|path| write(path, "x").expect("a file"));
        let sums = checksums(folder.path(), &made).expect("checksums");
        let x = "2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881";
        assert_eq!(fs::read_to_string(sums).expect("a file"), format!("{x}  a\n{x}  b\n"));
        fs::remove_file(&made[0]).expect("removed");
        assert!(checksums(folder.path(), &made).is_err_and(|error| error.contains("No such file")));
    }

    /// The names in a folder, sorted.
    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).expect("a folder");
        let names = entries.map(|entry| entry.expect("an entry").file_name().into_string().expect("UTF-8"));
        let mut names: Vec<String> = names.collect();
        names.sort();
        names
    }

    #[test]
    fn what_is_made_replaces_what_was_made_once_all_is_there() {
        let folder = tempfile::tempdir().expect("a folder");
        let out = folder.path().join("out");
        let earlier = out.join("megakernel-a");
        write(&earlier, "x").expect("a file");
        checksums(&out, &[earlier]).expect("checksums");
        let args = Args { out: out.clone(), parts: vec![Part::Schemas] };
        // Without schemas nothing is made, and what was made before stays.
        assert!(dist(folder.path(), &args).is_err_and(|error| error.contains("schemas")));
        fs::remove_dir_all(out.join("megakernel-stage")).expect("what is half made");
        assert_eq!(names(&out), [SUMS, "megakernel-a"]);

        dist(&megakernel_test_support::root(), &args).expect("packages");
        let made = [
            SUMS.to_owned(),
            format!("megakernel-schemas-{VERSION}.tgz"),
            format!("megakernel_schemas-{VERSION}-py3-none-any.whl"),
        ];
        assert_eq!(names(&out), made);
        let mut check = Command::new("sha256sum");
        succeed(check.args(["--check", "--strict", SUMS]).current_dir(&out), "").expect("they hold");
    }

    #[test]
    fn what_an_earlier_call_made_is_removed_and_nothing_else() {
        let folder = tempfile::tempdir().expect("a folder");
        let out = folder.path().join("out");
        let made = ["megakernel-a", "megakernel-b"].map(|name| out.join(name));
        made.iter().for_each(|path| write(path, "x").expect("a file"));
        checksums(&out, &made[..1]).expect("checksums");
        forget(&out).expect("forgotten");
        assert!(!made[0].exists() && made[1].exists() && !out.join(SUMS).exists());
        write(&folder.path().join("megakernel-c"), "x").expect("a file");
        write(&out.join(SUMS), "0  ../megakernel-c\n0  megakernel-x/../../megakernel-c\n0  notes\n")
            .expect("a file");
        write(&out.join("notes"), "x").expect("a file");
        create(&out.join("megakernel-x")).expect("a folder");
        forget(&out).expect("forgotten");
        assert!(folder.path().join("megakernel-c").exists() && out.join("notes").exists());
    }

    #[test]
    fn a_program_that_fails_or_is_missing_is_said() {
        let hint = "install it";
        assert_eq!(succeed(Command::new("echo").arg("a"), hint), Ok(b"a\n".to_vec()));
        let failed = succeed(Command::new("sh").args(["-c", "echo why >&2; exit 3"]), hint);
        assert_eq!(failed, Err("sh failed (exit status: 3): why\n(install it)".to_owned()));
        let missing = succeed(&mut Command::new("no-such-program-at-all"), hint);
        assert!(missing.is_err_and(|error| error.ends_with("; install it")));
    }
}
