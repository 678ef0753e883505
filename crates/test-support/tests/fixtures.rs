//! The fixtures are those that `fixtures/BLAKE3SUMS` lists, byte for byte, and its README names each.

use std::fmt::Write;
use std::path::Path;

use megakernel_test_support::{files, root};

#[test]
fn fixtures_are_as_recorded() {
    let folder = root().join("fixtures");
    let mut found = String::new();
    for path in files::json_below(&folder) {
        let name = path.strip_prefix(&folder).expect("a path below the folder").display();
        let digest = blake3::hash(&files::bytes(&path)).to_hex();
        writeln!(found, "{digest}  {name}").expect("a line");
    }
    let list = folder.join("BLAKE3SUMS");
    if std::env::var_os("BLESS").is_some() {
        std::fs::write(&list, &found).expect("the list is written");
    }
    assert_eq!(found, files::text(&list), "fixtures differ from what {} lists", list.display());
}

#[test]
fn the_readme_names_every_fixture() {
    let folder = root().join("fixtures");
    let readme = files::text(&folder.join("README.md"));
    for path in files::json_below(&folder) {
        let stem = path.file_stem().and_then(|stem| stem.to_str()).expect("a name");
        let graph = stem.trim_end_matches(".kernel");
        // The second rank stands beside the first.
        let beside = graph.strip_suffix("_r1").map(|pair| format!("{pair}_r0`, `_r1"));
        let named = readme.contains(graph) || beside.is_some_and(|pair| readme.contains(&pair));
        assert!(named, "fixtures/README.md does not name {}", Path::new(graph).display());
    }
}
