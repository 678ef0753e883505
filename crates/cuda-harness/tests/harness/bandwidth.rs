//! `--bandwidth` on the stand-in for a GPU: as tables, as JSON and as a picture.

use megakernel_test_support::root;
use serde_json::{Value, json};

use crate::cuda::plain;

#[test]
#[ignore = "needs minutes; the release gate runs it"]
fn minutes_bandwidth_is_a_table_of_shapes_beside_a_copy() {
    let folder = tempfile::tempdir().expect("a folder");
    let at = |name: &str| folder.path().join(name).to_string_lossy().into_owned();
    let (json, picture, again) = (at("figures.json"), at("picture.svg"), at("again.svg"));
    let output = plain().run("", &["--bandwidth", "1", "--out", &json, "--picture", &picture]);
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let head = "stand-in, sm_90a: 16 blocks of 256 threads, 1 MiB in each launch; a plain copy moves ";
    assert!(text.starts_with(head), "{text}");
    let rows: Vec<Vec<&str>> =
        text.lines().filter(|line| line.ends_with(" % |")).map(|line| line.split(" | ").collect()).collect();
    assert_eq!(rows.len(), 13 + 2, "{text}");
    for row in rows {
        let number = |at: usize| row[at].trim_end_matches(" % |").parse::<f64>().unwrap_or(-1.0);
        assert!(number(4) >= 0.0 && number(5) >= 0.0, "{text}");
    }
    // The same as JSON, with what it is of as the handshake has it.
    let read = |path: &str| std::fs::read_to_string(path).expect("a file");
    let figures: Value = serde_json::from_str(&read(&json)).expect("JSON");
    let hello = plain().worker("", &[]).say(&json!({"type": "hello", "protocol": "1.0"}));
    let mut device = hello["device"].clone();
    // What is of launches of the handshake, and of those that are judged.
    for member in ["placement", "fixed_threads", "seed", "repeats", "delays", "undefined"] {
        assert!(device.as_object_mut().expect("an object").remove(member).is_some(), "{member}");
    }
    assert_eq!(figures["device"], device, "{figures}");
    assert!(figures["date"].as_str().is_some_and(|date| date.len() == "2026-11-27".len()), "{figures}");
    let of = |list: &str, member: &str| -> Vec<String> {
        let list = figures[list].as_array().expect("a list");
        list.iter().map(|entry| entry[member].as_str().unwrap_or_default().to_owned()).collect()
    };
    let mut opcodes = of("opcodes", "opcode");
    opcodes.dedup();
    assert_eq!(opcodes, ["GEMV_TILE", "GEMM_TILE", "ATTENTION_TILE", "RMSNORM", "SILU_MUL", "ADD"]);
    assert_eq!(of("steps", "model"), ["Llama-3.2-1B, shrunk to 1/64", "Qwen3-0.6B, shrunk to 1/64"]);
    let whats = of("opcodes", "what");
    assert!(whats.iter().any(|what| what == "BF16, 128 cubed, tiles of 128 by 128"), "{whats:?}");
    // A bar for each, and the same picture where there is no GPU any more.
    let drawn = read(&picture);
    assert_eq!(
        (drawn.matches("<rect class=\"bar\"").count(), drawn.matches("<rect class=\"step\"").count()),
        (13, 2)
    );
    let output = plain().run("none", &["--figures", &json, "--picture", &again]);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!((output.stdout.as_slice(), read(&again)), (&b""[..], drawn));
    let h100 = root().join("targets/h100.json").to_string_lossy().into_owned();
    for (options, said) in [
        (&["--picture", &again][..], "--picture draws what --bandwidth measures"),
        (&["--figures", &picture, "--picture", &again], "no figures of --bandwidth"),
        (&["--figures", &at("nothing"), "--picture", &again], "nothing: "),
        (&["--figures", &json], "--picture <FILE>"),
        // A record as it is, of another GPU.
        (&["--figures", &json, "--picture", &again, "--peaks", &h100], "and the figures are of stand-in"),
    ] {
        let output = plain().run("none", options);
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && error.contains(said), "{options:?}: {error}");
    }
}
