//! Which Python the tests run.

use std::path::PathBuf;

/// The Python to use: the one that `PYTHON` names, or that of `checks/run`, which has numpy, or that of the system.
pub fn python() -> String {
    // A test stands in `deps/` of a profile's folder.
    let target = std::env::current_exe().ok().and_then(|path| Some(path.ancestors().nth(3)?.to_owned()));
    let prepared: Option<PathBuf> =
        target.map(|target| target.join("checks-venv/bin/python")).filter(|path| path.exists());
    std::env::var("PYTHON")
        .ok()
        .or_else(|| prepared?.into_os_string().into_string().ok())
        .unwrap_or_else(|| "python3".to_owned())
}
