//! Archives that have the same bytes each time they are made of the same files.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::{create, succeed};
use crate::tidy::tree::listed;

/// How an archive is packed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Packing {
    /// What every system unpacks.
    Gzip,
    /// What is smaller, and needs a program that a bare system lacks.
    Zstd,
}

impl Packing {
    /// The end of the file's name, the program that packs, with its arguments, and what brings it. Threads are a given number, and
    /// the name and the time of what is packed are left out.
    const fn program(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Packing::Gzip => ("tar.gz", "gzip -9 --no-name", "gzip has to be installed"),
            Packing::Zstd => {
                ("tar.zst", "zstd -15 --threads=2", "zstd has to be installed: `apt install zstd`")
            }
        }
    }
}

/// 1980-01-01, the first day that a zip can hold. At 0, tar warns of every file that it unpacks.
pub const DATE: &str = "315532800";

/// Packs a folder, under its own name, into `out`: the path of the archive. Its bytes follow from the names of the files, what they hold
/// and who may execute them: not from their dates, their owners, or the order of the folder.
///
/// # Errors
/// A file cannot be read, or tar or the packer is missing or fails.
pub fn pack(folder: &Path, out: &Path, packing: Packing) -> Result<PathBuf, String> {
    let (end, _, _) = packing.program();
    let name = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let to = out.join(format!("{name}.{end}"));
    pack_as(folder, &to, packing)?;
    Ok(to)
}

/// The same as a file of any name.
///
/// # Errors
/// As of [`pack`].
pub fn pack_as(folder: &Path, to: &Path, packing: Packing) -> Result<(), String> {
    let (_, packer, hint) = packing.program();
    // tar says of a missing packer only that its child has died.
    let packer_alone = packer.split(' ').next().unwrap_or(packer);
    succeed(Command::new(packer_alone).arg("--version"), hint)?;
    let mut tar = Command::new("tar");
    tar.env("LC_ALL", "C").env_remove("TAR_OPTIONS").env_remove("GZIP").env_remove("ZSTD_CLEVEL");
    tar.args(["--create", "--format=gnu", "--sort=name", "--owner=0", "--group=0", "--numeric-owner"]);
    tar.args(["--mode=u+rwX,go+rX,go-w,a-st", "--hard-dereference"]).arg(format!("--mtime=@{DATE}"));
    tar.arg(format!("--use-compress-program={packer}")).arg("--file").arg(to);
    tar.arg("--directory").arg(folder.parent().unwrap_or(folder)).arg(folder.file_name().unwrap_or_default());
    succeed(&mut tar, "tar has to be installed, GNU's, of at least 1.28").map(|_| ())
}

/// Copies files and folders of the repository to another folder, under their own paths. What git ignores is left out.
///
/// # Errors
/// One is missing or holds no file, something in it is no file, such as a link, or cannot be read.
pub fn gather(root: &Path, what: &[&str], to: &Path) -> Result<(), String> {
    let paths = listed(root, what)?;
    for part in what {
        let is_of = |path: &String| {
            path.strip_prefix(part).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
        };
        if !paths.iter().any(is_of) {
            return Err(format!("{part}: git knows no file of it"));
        }
    }
    for path in &paths {
        let (from, below) = (root.join(path), to.join(path));
        let meta = fs::symlink_metadata(&from).map_err(|cause| format!("{path}: {cause}"))?;
        if !meta.is_file() {
            return Err(format!("{path}: is no file"));
        }
        create(below.parent().unwrap_or(to))?;
        fs::copy(&from, &below).map_err(|cause| format!("{path}: {cause}"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;
    use std::time::{Duration, SystemTime};

    use super::*;
    use crate::dist::write;

    /// A tree whose names were written in some order, at some time, under some mask.
    fn tree(folder: &Path, names: &[&str], time: u64, mode: u32) -> PathBuf {
        let tree = folder.join("tree");
        for name in names {
            let path = tree.join(name);
            write(&path, format!("this is {name}\n")).expect("a file");
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("a mode");
            let file = fs::File::options().write(true).open(&path).expect("a file");
            file.set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(time)).expect("a time");
        }
        let run = tree.join("b/run");
        fs::set_permissions(run, fs::Permissions::from_mode(mode | 0o100)).expect("a mode");
        // Folders that hand on their group, as some systems have them.
        fs::set_permissions(tree.join("b"), fs::Permissions::from_mode(mode | 0o2111)).expect("a mode");
        tree
    }

    #[test]
    fn the_same_files_give_the_same_bytes() {
        are_the_same(Packing::Gzip);
    }

    #[test]
    #[ignore = "needs zstd"]
    fn the_same_files_give_the_same_bytes_where_they_are_small() {
        are_the_same(Packing::Zstd);
    }

    #[track_caller]
    fn are_the_same(packing: Packing) {
        let names = ["b/run", "a.json", "b/z.md", "c", "b/a/deep"];
        let backwards: Vec<&str> = names.iter().rev().copied().collect();
        let folders = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
        let one = tree(folders[0].path(), &names, 1_000_000_000, 0o644);
        let two = tree(folders[1].path(), &backwards, 1_700_000_000, 0o600);
        // One is two names of a file in the first, and two files in the second.
        fs::hard_link(one.join("c"), one.join("d")).expect("a link");
        fs::copy(two.join("c"), two.join("d")).expect("a copy");
        let packed = [pack(&one, folders[0].path(), packing), pack(&two, folders[1].path(), packing)];
        let [one, two] = packed.map(|path| path.expect("an archive"));
        assert!(fs::read(&one).expect("bytes") == fs::read(&two).expect("bytes"), "{packing:?}");

        let list = Command::new("tar").args(["--list", "--verbose", "--utc", "--file"]).arg(&one).output();
        let list = String::from_utf8(list.expect("tar").stdout).expect("UTF-8");
        let words = |line: &str| line.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        let lines: Vec<String> = list
            .lines()
            .map(|line| match words(line).as_slice() {
                [mode, owner, _, day, _, name] => format!("{mode} {owner} {day} {name}"),
                _ => line.to_owned(),
            })
            .collect();
        let expected = [
            "drwxr-xr-x 0/0 1980-01-01 tree/",
            "-rw-r--r-- 0/0 1980-01-01 tree/a.json",
            "drwxr-xr-x 0/0 1980-01-01 tree/b/",
            "drwxr-xr-x 0/0 1980-01-01 tree/b/a/",
            "-rw-r--r-- 0/0 1980-01-01 tree/b/a/deep",
            "-rwxr-xr-x 0/0 1980-01-01 tree/b/run",
            "-rw-r--r-- 0/0 1980-01-01 tree/b/z.md",
            "-rw-r--r-- 0/0 1980-01-01 tree/c",
            "-rw-r--r-- 0/0 1980-01-01 tree/d",
        ];
        assert_eq!(lines, expected, "{packing:?}");
    }

    #[test]
    fn other_files_give_other_bytes_and_missing_ones_are_said() {
        let folder = tempfile::tempdir().expect("a folder");
        let made = tree(folder.path(), &["b/run", "a"], 1, 0o644);
        let pack = || {
            let path = pack(&made, folder.path(), Packing::Gzip).expect("an archive");
            fs::read(path).expect("bytes")
        };
        let before = pack();
        write(&made.join("a"), "this is b\n").expect("a file");
        assert!(before != pack());
        let gone = super::pack(&folder.path().join("gone"), folder.path(), Packing::Gzip);
        assert!(gone.is_err_and(|error| error.contains("gone")));
    }

    #[test]
    fn what_is_gathered_keeps_its_path() {
        let folder = tempfile::tempdir().expect("a folder");
        let made = folder.path().join("made");
        for (name, text) in [
            ("b/run", ""),
            ("a", ""),
            ("b/a/deep", "this is deep\n"),
            ("b/c", ""),
            ("ab", ""),
            (".gitignore", "c\n"),
        ] {
            write(&made.join(name), text).expect("a file");
        }
        succeed(Command::new("git").args(["init", "--quiet"]).current_dir(&made), "").expect("a repository");
        let to = folder.path().join("to");
        gather(&made, &["b", "a"], &to).expect("gathered");
        assert_eq!(fs::read_to_string(to.join("b/a/deep")).expect("a file"), "this is deep\n");
        assert!(to.join("a").is_file() && to.join("b/run").is_file());
        assert!(!to.join("b/c").exists() && !to.join("ab").exists());

        for none in ["none", "b/c"] {
            let gathered = gather(&made, &["a", none], &folder.path().join("other"));
            assert!(gathered.is_err_and(|error| error.starts_with(&format!("{none}: "))), "{none}");
        }
        std::os::unix::fs::symlink("run", made.join("b/link")).expect("a link");
        let linked = gather(&made, &["b"], &folder.path().join("linked"));
        assert_eq!(linked, Err("b/link: is no file".to_owned()));
    }
}
