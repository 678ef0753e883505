//! The schemas as packages: for npm, and for pip. Both hold the files as they stand in `schemas/`, and have the version of the suite.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use super::archive::{Packing, pack_as};
use super::{VERSION, succeed, write};

/// What both packages say of themselves.
const SUMMARY: &str =
    "JSON Schemas of the megakernel conformance suite: programs, cases, protocol, diagnostics, reports";
const LICENSE: &str = "MIT OR Apache-2.0";

/// Files of `schemas/` that people validate by, and what explains them: names and texts, sorted.
fn files(root: &Path) -> Result<Vec<(String, String)>, String> {
    let folder = root.join("schemas");
    let failed = |path: &Path, cause: std::io::Error| format!("{}: {cause}", path.display());
    let mut files = Vec::new();
    for entry in fs::read_dir(&folder).map_err(|cause| failed(&folder, cause))? {
        let path = entry.map_err(|cause| failed(&folder, cause))?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if name.ends_with(".schema.json") || name == "README.md" {
            let text = fs::read_to_string(&path).map_err(|cause| failed(&path, cause))?;
            files.push((name, text));
        }
    }
    if files.is_empty() {
        return Err(format!("{} holds no schema", folder.display()));
    }
    for license in ["LICENSE-APACHE", "LICENSE-MIT"] {
        let path = root.join(license);
        files.push((license.to_owned(), fs::read_to_string(&path).map_err(|cause| failed(&path, cause))?));
    }
    files.sort();
    Ok(files)
}

/// What `npm install FILE` takes, as `npm pack` would make it: the path of it.
///
/// # Errors
/// There are no schemas, or they cannot be packed.
pub fn npm(root: &Path, stage: &Path, out: &Path) -> Result<PathBuf, String> {
    // Every such archive has this folder.
    let folder = stage.join("npm/package");
    let package = json!({
        "name": "megakernel-schemas",
        "version": VERSION,
        "description": SUMMARY,
        "license": LICENSE,
        "files": ["*.schema.json"],
        "exports": {"./*.schema.json": "./*.schema.json", "./package.json": "./package.json"},
    });
    write(&folder.join("package.json"), format!("{package:#}\n"))?;
    for (name, text) in files(root)? {
        write(&folder.join(name), text)?;
    }
    let path = out.join(format!("megakernel-schemas-{VERSION}.tgz"));
    pack_as(&folder, &path, Packing::Gzip)?;
    Ok(path)
}

/// What `pip install FILE` takes: the path of it.
///
/// # Errors
/// There are no schemas, or Python is missing or fails.
pub fn wheel(root: &Path, stage: &Path, out: &Path) -> Result<PathBuf, String> {
    let folder = stage.join("wheel");
    let package = folder.join("megakernel_schemas");
    write(&package.join("__init__.py"), include_str!("package.py"))?;
    let info = folder.join(format!("megakernel_schemas-{VERSION}.dist-info"));
    write(
        &info.join("METADATA"),
        format!(
            "Metadata-Version: 2.4\nName: megakernel-schemas\nVersion: {VERSION}\nSummary: {SUMMARY}\n\
             License-Expression: {LICENSE}\nLicense-File: LICENSE-APACHE\nLicense-File: LICENSE-MIT\nRequires-Python: >=3.9\n"
        ),
    )?;
    write(
        &info.join("WHEEL"),
        "Wheel-Version: 1.0\nGenerator: xtask\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    )?;
    for (name, text) in files(root)? {
        let place = if name.starts_with("LICENSE") { info.join("licenses") } else { package.clone() };
        write(&place.join(name), text)?;
    }
    let path = out.join(format!("megakernel_schemas-{VERSION}-py3-none-any.whl"));
    let mut zip = Command::new("python3");
    zip.args(["-c", include_str!("wheel.py")]).args([&folder, &path]);
    succeed(&mut zip, "Python 3 has to be installed")?;
    Ok(path)
}

#[cfg(test)]
mod tests {
    use megakernel_test_support::root;

    use super::*;

    fn names(root: &Path) -> Vec<String> {
        let names = fs::read_dir(root.join("schemas")).expect("schemas");
        let names = names.map(|entry| entry.expect("a file").file_name().into_string().expect("UTF-8"));
        let mut names: Vec<String> = names.filter(|name| name.ends_with(".schema.json")).collect();
        names.sort();
        assert!(names.len() > 30, "{names:?}");
        names
    }

    fn twice(make: impl Fn(&Path, &Path) -> Result<PathBuf, String>) -> (tempfile::TempDir, PathBuf) {
        let folder = tempfile::tempdir().expect("a folder");
        let [one, two] = ["one", "two"].map(|name| {
            let out = folder.path().join(name);
            fs::create_dir(&out).expect("a folder");
            make(&folder.path().join(format!("stage-{name}")), &out).expect("a package")
        });
        assert!(fs::read(&one).expect("bytes") == fs::read(two).expect("bytes"));
        (folder, one)
    }

    #[test]
    fn the_package_for_npm_has_every_schema_as_it_is() {
        let root = root();
        let (folder, path) = twice(|stage, out| npm(&root, stage, out));
        assert_eq!(path.file_name().unwrap_or_default(), &*format!("megakernel-schemas-{VERSION}.tgz"));
        succeed(Command::new("tar").arg("xzf").arg(&path).arg("-C").arg(folder.path()), "")
            .expect("unpacked");
        let package = folder.path().join("package");
        for name in names(&root) {
            let unpacked = fs::read(package.join(&name)).expect("a schema");
            assert!(unpacked == fs::read(root.join("schemas").join(&name)).expect("a schema"), "{name}");
        }
        let text = fs::read(package.join("package.json")).expect("a description");
        let json: serde_json::Value = serde_json::from_slice(&text).expect("JSON");
        assert_eq!((&json["name"], &json["version"]), (&json!("megakernel-schemas"), &json!(VERSION)));
        let mut all = fs::read_dir(&package).expect("files").count();
        all -= names(&root).len();
        // The description, the page, two licences.
        assert_eq!(all, 4);
    }

    /// A wheel is a zip that Python imports from: what it says there is what an installed one says.
    #[test]
    fn the_package_for_pip_has_every_schema_as_it_is() {
        let root = root();
        let (_folder, path) = twice(|stage, out| wheel(&root, stage, out));
        let asks = "import sys; sys.path.insert(0, sys.argv[1])\n\
                    import importlib.resources, pathlib, megakernel_schemas as schemas, json\n\
                    for path in sorted(pathlib.Path(sys.argv[2]).glob('*.schema.json')):\n\
                    \x20   data = importlib.resources.files('megakernel_schemas').joinpath(path.name).read_bytes()\n\
                    \x20   assert data == path.read_bytes(), path\n\
                    \x20   assert schemas.load(path.name.removesuffix('.schema.json')) == json.loads(data), path\n\
                    print('\\n'.join(schemas.names()))\n";
        let mut python = Command::new("python3");
        python.env("PYTHONDONTWRITEBYTECODE", "1").args(["-c", asks]).arg(&path).arg(root.join("schemas"));
        let said = String::from_utf8(succeed(&mut python, "").expect("it imports")).expect("UTF-8");
        let mut said: Vec<String> = said.lines().map(|name| format!("{name}.schema.json")).collect();
        // Names are sorted without their common end.
        assert!(said.is_sorted_by_key(|name| name.trim_end_matches(".schema.json").to_owned()));
        said.sort();
        assert_eq!(said, names(&root));
    }

    /// As an installer does: each file against its line in the record.
    #[test]
    fn the_record_of_the_package_for_pip_holds() {
        let (_folder, path) = twice(|stage, out| wheel(&root(), stage, out));
        let asks = "import sys, zipfile, csv, hashlib, base64\n\
                    with zipfile.ZipFile(sys.argv[1]) as wheel:\n\
                    \x20   names = wheel.namelist()\n\
                    \x20   record = next(name for name in names if name.endswith('/RECORD'))\n\
                    \x20   rows = {row[0]: row[1:] for row in csv.reader(wheel.read(record).decode().splitlines())}\n\
                    \x20   assert sorted(rows) == sorted(names), (rows, names)\n\
                    \x20   for name in names:\n\
                    \x20       data = wheel.read(name)\n\
                    \x20       digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b'=').decode()\n\
                    \x20       assert rows[name] == (['', ''] if name == record else [f'sha256={digest}', str(len(data))]), name\n\
                    \x20       assert wheel.getinfo(name).date_time == (1980, 1, 1, 0, 0, 0), name\n\
                    print(len(names))\n";
        let said = succeed(Command::new("python3").args(["-c", asks]).arg(&path), "").expect("it holds");
        let count = names(&root()).len() + 1 + 1 + 2 + 2 + 1;
        assert_eq!(String::from_utf8_lossy(&said), format!("{count}\n"));
    }
}
