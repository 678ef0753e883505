//! What somebody gives in place of kernels of ours, and what it is compiled with.

use std::path::{Path, PathBuf};

use crate::includes::closure;

/// What is given, and where it finds what it needs.
#[derive(Clone, Debug, Default)]
pub struct Given {
    /// A file that replaces instructions.
    pub kernels: Option<PathBuf>,
    /// A virtual machine in place of ours: a source, or code for a GPU ([`crate::cuda::binary`]).
    pub vm: Option<PathBuf>,
    /// Folders in which it finds headers.
    pub includes: Vec<PathBuf>,
    /// Macros, as `NAME` or `NAME=VALUE`.
    pub defines: Vec<String>,
}

/// A source that was given.
#[derive(Clone, Debug)]
pub struct Source {
    /// Its path, which can stand between quotes.
    pub path: String,
    /// Whether it is a virtual machine, and not instructions.
    pub is_vm: bool,
    /// The compiler's options for what it includes.
    pub includes: Vec<String>,
    /// The compiler's options that decide what it computes.
    pub defines: Vec<String>,
    /// It and all that it includes, by name.
    pub files: Vec<(String, Vec<u8>)>,
}

/// Dynamic shared memory that a block has in any case for what is given.
const SHARED_BYTES: u64 = 48 << 10;

impl Given {
    /// What a block has of dynamic shared memory at least.
    pub fn shared_bytes(&self) -> u64 {
        if self.kernels.is_some() || self.vm.is_some() { SHARED_BYTES } else { 0 }
    }

    /// The source, if one was given.
    ///
    /// # Errors
    /// A file or folder cannot be read, or has a path that cannot stand in a source; or a macro has no name.
    pub fn source(&self) -> Result<Option<Source>, String> {
        let (path, is_vm) = match (&self.vm, &self.kernels) {
            (Some(path), _) => (path, true),
            (None, Some(path)) => (path, false),
            (None, None) if self.includes.is_empty() && self.defines.is_empty() => return Ok(None),
            (None, None) => {
                return Err(
                    "--include and --define are for the file of --kernels or --vm, and there is none"
                        .to_owned(),
                );
            }
        };
        let about = |path: &Path, cause: std::io::Error| format!("{}: {cause}", path.display());
        let real = |path: &PathBuf| path.canonicalize().map_err(|cause| about(path, cause));
        let path = real(path)?;
        let folders: Vec<PathBuf> = self.includes.iter().map(real).collect::<Result<_, _>>()?;
        if let Some(file) = folders.iter().find(|folder| !folder.is_dir()) {
            return Err(format!("{} is no folder, and --include takes one", file.display()));
        }
        let is_name = |name: &str| {
            name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
                && name.bytes().next().is_some_and(|byte| !byte.is_ascii_digit())
        };
        if let Some(define) =
            self.defines.iter().find(|define| !define.split('=').next().is_some_and(is_name))
        {
            return Err(format!("`{define}` is no macro: --define takes NAME or NAME=VALUE"));
        }
        let files = closure(&path, &folders).map_err(|cause| about(&path, cause))?;
        let includes = folders.iter().map(|folder| format!("-I{}", folder.display())).collect();
        let defines = self.defines.iter().map(|define| format!("-D{define}")).collect();
        let path = path.to_str().filter(|path| !path.contains(['"', '\\']));
        let path =
            path.ok_or("the path of the kernels has a quote or a backslash, or is not UTF-8")?.to_owned();
        Ok(Some(Source { path, is_vm, includes, defines, files }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_compiled_with_is_said() {
        let folder = tempfile::tempdir().unwrap_or_else(|cause| unreachable!("{cause}"));
        let file = folder.path().join("a.cu");
        std::fs::write(&file, "").unwrap_or_else(|cause| unreachable!("{cause}"));
        let said = |kernels: bool, include: Option<&Path>, define: Option<&str>| {
            let given = Given {
                kernels: kernels.then(|| file.clone()),
                includes: include.map(Path::to_path_buf).into_iter().collect(),
                defines: define.map(str::to_owned).into_iter().collect(),
                ..Given::default()
            };
            given.source().err().unwrap_or_default()
        };
        assert_eq!(said(true, Some(folder.path()), Some("_A1=(2)")), "");
        assert_eq!(said(false, None, None), "");
        assert!(said(false, Some(folder.path()), None).contains("there is none"));
        assert!(said(true, Some(&file), None).ends_with("is no folder, and --include takes one"));
        assert!(said(true, Some(&folder.path().join("absent")), None).contains("absent: "));
        for define in ["", "=1", "1A", "-A", "A B=1"] {
            assert_eq!(
                said(true, None, Some(define)),
                format!("`{define}` is no macro: --define takes NAME or NAME=VALUE")
            );
        }
    }
}
