//! Records of evidence, figure by figure: what no run can have written. Whether a record is of this corpus and these kernels, the
//! runner says.

use std::collections::BTreeSet;

use serde_json::Value;

/// The implementation whose kernels are in this repository.
const OURS: &str = "megakernel-cuda";

/// A GPU as its target record has it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The name of the record.
    pub name: String,
    /// Compute capability, without the point.
    pub arch: u64,
    /// What the driver calls such devices.
    pub devices: Vec<String>,
}

/// What is wrong with a record: each line has a pointer into it. Of a text that is no JSON nothing is said; the runner does.
pub fn wrong(text: &str, targets: &[Target]) -> Vec<String> {
    let Ok(record) = serde_json::from_str::<Value>(text) else { return Vec::new() };
    let mut found = lines(&record);
    for at in ["/device/kernels", "/device/binary", "/corpus/digest"] {
        let digest = record.pointer(at).and_then(Value::as_str).unwrap_or_default();
        let hex = |c: char| c.is_ascii_digit() || ('a'..='f').contains(&c);
        let is_digest = digest.len() == 64 && digest.chars().all(hex);
        if !digest.is_empty() && !is_digest {
            found.push(format!("{at}: `{digest}` is no BLAKE3 digest, 64 digits in hexadecimal"));
        }
    }
    let text = |at: &str| record.pointer(at).and_then(Value::as_str).unwrap_or_default();
    if let Some(date) = record.get("date").and_then(Value::as_str).filter(|date| !is_day(date)) {
        found.push(format!("/date: `{date}` is no day, such as 2026-11-22"));
    }
    let (name, target) = (text("/device/name"), text("/device/target"));
    if target == "host" || target.is_empty() {
        return found;
    }
    let arch = target.trim_start_matches("sm_").trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let of = targets.iter().find(|of| of.devices.iter().any(|device| device == name));
    if let Some(of) = of.filter(|of| of.arch.to_string() != arch) {
        found.push(format!(
            "/device/target: `{target}` is none of `{name}`, which targets/{}.json has as sm_{}",
            of.name, of.arch
        ));
    }
    if text("/implementation/name") == OURS {
        for at in ["/date", "/device/driver", "/device/toolkit", "/device/binary", "/device/clocks"] {
            if text(at).is_empty() {
                found.push(format!("{at}: is missing, and the harness always writes it on a GPU"));
            }
        }
        if !is_uuid(text("/device/uuid")) {
            found.push(format!("/device/uuid: `{}` is no UUID of a GPU", text("/device/uuid")));
        }
    }
    found
}

/// Rows of opcodes and dtypes.
fn lines(record: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let mut seen = BTreeSet::new();
    let cases = record["corpus"]["cases"].as_u64().unwrap_or(u64::MAX);
    for (n, line) in record["executed"].as_array().into_iter().flatten().enumerate() {
        let what = format!(
            "{} in {}",
            line["opcode"].as_str().unwrap_or("programs of several opcodes"),
            line["dtype"].as_str().unwrap_or_default()
        );
        if let Some(error) = line.get("largest_error") {
            // Of elements that passed, as a share of their bounds.
            if !error.as_f64().is_some_and(|error| (0.0..=1.0).contains(&error)) {
                found.push(format!(
                    "/executed/{n}/largest_error: {error} of {what}, and an element that passes lies within its bound, from 0 to 1"
                ));
            }
        }
        let (of, failed) = (line["cases"].as_u64().unwrap_or(0), line["failed"].as_u64().unwrap_or(0));
        if failed > of || of > cases {
            found.push(format!(
                "/executed/{n}: {failed} of {of} cases of {what} failed, in a corpus with {cases}"
            ));
        }
        if !seen.insert(what.clone()) {
            found.push(format!("/executed/{n}: a second row of {what}"));
        }
    }
    found
}

/// Whether the record is what somebody else claims: nobody here can tell which kernels ran.
pub fn claimed(text: &str) -> bool {
    let record = serde_json::from_str::<Value>(text).unwrap_or_default();
    record["implementation"]["name"].as_str().is_some_and(|name| name != OURS)
}

fn is_day(text: &str) -> bool {
    let parts: Vec<Option<u32>> = text.split('-').map(|part| part.parse().ok()).collect();
    let [Some(year), Some(month), Some(day)] = parts.as_slice() else { return false };
    text.len() == 10 && *year >= 2026 && (1..=12).contains(month) && (1..=31).contains(day)
}

fn is_uuid(text: &str) -> bool {
    // Of a whole GPU, or of a part of one.
    let number = text.strip_prefix("GPU-").or(text.strip_prefix("MIG-"));
    let parts: Vec<&str> = number.unwrap_or_default().split('-').collect();
    let hex = |part: &&str| part.chars().all(|c| c.is_ascii_hexdigit());
    parts.iter().map(|part| part.len()).eq([8, 4, 4, 4, 12]) && parts.iter().all(hex)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn targets() -> Vec<Target> {
        vec![Target { name: "h100".to_owned(), arch: 90, devices: vec!["NVIDIA H100 80GB HBM3".to_owned()] }]
    }

    const GOOD: &str = r#"{"date": "2026-11-22", "implementation": {"name": "megakernel-cuda"}, "corpus": {"cases": 3},
        "device": {"name": "NVIDIA H100 80GB HBM3", "target": "sm_90a", "driver": "d", "toolkit": "t", "clocks": "c",
                   "binary": "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
                   "uuid": "GPU-da252806-4fa3-3763-9b64-2b334c3c24f2"},
        "executed": [{"opcode": "ADD", "dtype": "F32", "cases": 2, "failed": 1, "largest_error": 0.5},
                     {"dtype": "I32", "cases": 2, "failed": 0}]}"#;

    #[test]
    fn what_no_run_can_have_written_is_named() {
        assert_eq!(wrong(GOOD, &targets()), [""; 0]);
        assert_eq!(wrong(&GOOD.replacen("GPU-", "MIG-", 1), &targets()), [""; 0]);
        for (from, to, place) in [
            ("0.5", "1.01", "/executed/0/largest_error: 1.01 of ADD in F32"),
            ("0.5", "-0.5", "/executed/0/largest_error"),
            ("0.5", "\"small\"", "/executed/0/largest_error"),
            (r#""failed": 1"#, r#""failed": 3"#, "/executed/0: 3 of 2 cases"),
            (
                r#""cases": 3"#,
                r#""cases": 1"#,
                "/executed/0: 1 of 2 cases of ADD in F32 failed, in a corpus with 1",
            ),
            (r#"{"dtype": "I32""#, r#"{"opcode": "ADD", "dtype": "F32""#, "/executed/1: a second row"),
            ("sm_90a", "sm_80", "/device/target: `sm_80` is none of"),
            ("2026-11-22", "2026-13-22", "/date: `2026-13-22`"),
            ("0123456789abcdef0123456789", "0123456789abcdef012345678", "/device/binary: "),
            ("GPU-da252806", "GPU-da25", "/device/uuid: "),
            (r#""driver": "d""#, r#""driver": """#, "/device/driver: is missing"),
        ] {
            let found = wrong(&GOOD.replacen(from, to, 1), &targets());
            assert!(found.iter().any(|what| what.starts_with(place)), "{to}: {found:?}");
        }
    }

    #[test]
    fn who_is_unknown_claims() {
        assert!(!claimed(GOOD) && claimed(&GOOD.replace("megakernel-cuda", "my-vm")));
    }
}
