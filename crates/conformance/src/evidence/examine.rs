//! Whether a record is current, and supports a release (clause CON-14).

use std::collections::BTreeSet;

use megakernel_ir::{ABI_VERSION, IR_VERSION, Opcode};

use super::{Evidence, Subject};

/// The implementation whose kernels are in this repository.
const OURS: &str = "megakernel-cuda";

/// The option with which they use matrix units.
const TENSOR_CORES: &str = "-DAMK_TENSOR_CORES";

/// Skips that are written out at most.
const SHOWN: usize = 5;

/// Digests of the kernels in this repository.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Kernels {
    /// With what stands in for CUDA on the CPU.
    pub host: String,
    /// As a GPU runs them.
    pub gpu: String,
    /// As a GPU runs them with its matrix units.
    pub tensor_cores: String,
}

/// What there is to say about a record.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Findings {
    /// Why it is stale. Made anew, the record may be in order.
    pub stale: Vec<String>,
    /// Why it does not support a release even if it is current.
    pub wrong: Vec<String>,
    /// What a reader should know.
    pub notes: Vec<String>,
}

impl Findings {
    /// Whether the record supports a release.
    pub fn supports(&self) -> bool {
        self.stale.is_empty() && self.wrong.is_empty()
    }
}

impl Evidence {
    /// Compares a record with the state of the repository.
    pub fn examine(&self, subject: &Subject, kernels: &Kernels) -> Findings {
        let mut findings = Findings { stale: self.stale(subject, kernels), ..Findings::default() };
        if self.conforms_in_part() {
            let (passed, cases) = (self.passed, self.corpus.cases);
            findings.notes.push(format!("conforms in part: {passed} of {cases} cases"));
        } else if !self.conforms {
            let named: Vec<&str> = self.failures.iter().take(SHOWN).map(String::as_str).collect();
            let named = if named.is_empty() { "no case passed".to_owned() } else { named.join(", ") };
            let more = if self.failures.len() > SHOWN { ", ..." } else { "" };
            findings.wrong.push(format!("does not conform: {} cases failed: {named}{more}", self.failed));
        }
        let counted = self.passed + self.failed + self.skipped;
        if counted != self.corpus.cases {
            findings.wrong.push(format!("counts {counted} cases, of a corpus with {}", self.corpus.cases));
        }
        for check in self.checks.iter().filter(|check| !check.passed) {
            findings.wrong.push(format!("its check {} failed: {}", check.name, check.said.join("; ")));
        }
        let missing = self.missing(subject);
        if !missing.is_empty() {
            findings.wrong.push(format!("says nothing about {}", missing.join(", ")));
        }
        for skip in &self.skips {
            findings.notes.push(format!("{} cases were skipped: {}", skip.cases.len(), skip.reason));
        }
        if self.suite != env!("CARGO_PKG_VERSION") {
            findings.notes.push(format!("was made by version {} of the suite", self.suite));
        }
        findings
    }

    /// What has changed since it was made.
    fn stale(&self, subject: &Subject, kernels: &Kernels) -> Vec<String> {
        let mut stale = Vec::new();
        for (what, found, now) in
            [("IR", &self.ir_version, IR_VERSION), ("ABI", &self.abi_version, ABI_VERSION)]
        {
            if found != now {
                stale.push(format!("is about {what} {found}, and the specification is about {now}"));
            }
        }
        if self.corpus != subject.cases {
            stale.push(format!(
                "is about another corpus: {} cases, digest {}; there are {}, digest {}",
                self.corpus.cases,
                short(&self.corpus.digest),
                subject.cases.cases,
                short(&subject.cases.digest)
            ));
        }
        let with_matrix_units = self.device.options.iter().any(|option| option == TENSOR_CORES);
        let now = match (self.device.target.as_str(), with_matrix_units) {
            ("host", _) => &kernels.host,
            (_, true) => &kernels.tensor_cores,
            (_, false) => &kernels.gpu,
        };
        if self.implementation.name == OURS && self.device.kernels != *now {
            stale.push(format!(
                "is about other kernels, or other options of their compiler: digest {}, and now it is {}",
                short(&self.device.kernels),
                short(now)
            ));
        }
        stale
    }

    /// Opcodes and dtypes that the corpus judges and the record has no case of.
    fn missing(&self, subject: &Subject) -> Vec<String> {
        let lines = self.executed.iter().filter(|line| line.cases > line.failed);
        let found: BTreeSet<(Option<&str>, &str)> =
            lines.map(|line| (line.opcode.as_deref(), line.dtype.as_str())).collect();
        let judged = subject.judged.iter().map(|(opcode, dtype)| (opcode.map(Opcode::name), dtype.name()));
        let missing = judged.filter(|key| !found.contains(key));
        missing
            .map(|(opcode, dtype)| format!("{} in {dtype}", opcode.unwrap_or("programs of several opcodes")))
            .collect()
    }
}

/// The beginning of a digest, as people compare it.
fn short(digest: &str) -> &str {
    digest.get(..12).unwrap_or(digest)
}

#[cfg(test)]
mod tests {
    use megakernel_ir::DType;

    use super::*;
    use crate::evidence::{Cases, Check};

    const EXAMPLE: &str = include_str!("../../../../schemas/tests/evidence/pass/conforms.json");

    const IN_PART: &str = include_str!("../../../../schemas/tests/evidence/pass/in-part.json");

    fn subject() -> Subject {
        let judged =
            [(Some(Opcode::Add), DType::F32), (Some(Opcode::SampleArgmax), DType::I32), (None, DType::F32)];
        let digest = "fedcba9876543210".repeat(4);
        Subject { cases: Cases { cases: 3, digest }, judged: judged.into() }
    }

    fn kernels() -> Kernels {
        Kernels {
            host: "host".to_owned(),
            gpu: "0123456789abcdef".repeat(4),
            tensor_cores: "with matrix units".to_owned(),
        }
    }

    /// What is found after an edit: what makes it stale, then what is wrong.
    fn after(edit: fn(&mut Evidence)) -> (Vec<String>, Vec<String>) {
        let mut record = Evidence::read(EXAMPLE).expect("a record");
        record.implementation.name = OURS.to_owned();
        edit(&mut record);
        let Findings { stale, wrong, .. } = record.examine(&subject(), &kernels());
        (stale, wrong)
    }

    #[track_caller]
    fn assert_stale(part: &str, edit: fn(&mut Evidence)) {
        let (stale, wrong) = after(edit);
        assert!(stale.len() == 1 && stale[0].contains(part), "{stale:?}");
        assert_eq!(wrong, [""; 0]);
    }

    #[track_caller]
    fn assert_wrong(part: &str, edit: fn(&mut Evidence)) {
        let (stale, wrong) = after(edit);
        assert!(wrong.len() == 1 && wrong[0].contains(part), "{wrong:?}");
        assert_eq!(stale, [""; 0]);
    }

    #[test]
    fn a_current_record_that_conforms_supports_a_release() {
        assert_eq!(after(|_| {}), (Vec::new(), Vec::new()));
        let findings = Evidence::read(IN_PART).expect("a record").examine(&subject(), &kernels());
        assert!(findings.supports());
        assert_eq!(findings.notes[0], "conforms in part: 2 of 3 cases");
        assert!(findings.notes[1].contains("200 blocks"), "{findings:?}");
    }

    #[test]
    fn what_has_changed_makes_it_stale() {
        assert_stale("is about another corpus: 3 cases, digest 000", |record| {
            record.corpus.digest = "0".repeat(64)
        });
        assert_stale("other kernels", |record| record.device.kernels = "0".repeat(64));
        assert_stale("other kernels", |record| record.device.target = "host".to_owned());
        assert_stale("other kernels", |record| record.device.options.push(TENSOR_CORES.to_owned()));
        assert_stale("IR 0.1.0", |record| record.ir_version = "0.1.0".to_owned());
        assert_stale("ABI 0.1", |record| record.abi_version = "0.1".to_owned());
        // Of somebody else's kernels, nobody here knows whether they have changed.
        let others = after(|record| {
            record.implementation.name = "my-vm".to_owned();
            record.device.kernels = "0".repeat(64);
        });
        assert_eq!(others, (Vec::new(), Vec::new()));
    }

    #[test]
    fn what_it_lacks_is_named() {
        assert_wrong("says nothing about ADD in F32", |record| drop(record.executed.remove(0)));
        assert_wrong("several opcodes in F32", |record| drop(record.executed.remove(2)));
        assert_wrong("SAMPLE_ARGMAX in I32", |record| record.executed[1].failed = 1);
        assert_wrong("its check memcheck failed: 3 errors", |record| {
            let line = r#"{"name": "memcheck", "passed": false, "said": ["3 errors"]}"#;
            record.checks = Check::read(line).expect("a check");
        });
        assert_wrong("counts 2 cases", |record| record.passed = 2);
        assert_wrong("1 cases failed: a/b", |record| {
            (record.conforms, record.passed, record.failed) = (false, 2, 1);
            record.failures = vec!["a/b".to_owned()];
        });
    }

    #[test]
    fn a_record_that_contradicts_itself_is_not_read() {
        let edited = |from: &str, to: &str| {
            assert!(EXAMPLE.contains(from), "{from}");
            Evidence::read(&EXAMPLE.replacen(from, to, 1)).expect_err(to)
        };
        assert!(edited(r#""failures": []"#, r#""failures": ["a/b"]"#).contains("under `failures`"));
        assert!(edited(r#""skipped": 0"#, r#""skipped": 2"#).contains("under `skips`"));
        assert!(edited(r#""conforms": true"#, r#""conforms": false"#).contains("`conforms`"));
        let whole = IN_PART.replace(r#""conforms": false"#, r#""conforms": true"#);
        assert!(Evidence::read(&whole).is_err_and(|why| why.contains("`conforms`")));
        assert!(edited(r#""evidence": "1.1""#, r#""evidence": "2.0""#).contains("reads 1.1 and 1.0"));
        assert!(edited(r#""evidence": "1.1""#, r#""evidence": "1.0""#).contains("ADD in F32 has 2 sizes"));
        let unsized_ = IN_PART.replace(r#""evidence": "1.0""#, r#""evidence": "1.1""#);
        assert!(Evidence::read(&unsized_).is_err_and(|why| why.contains("ADD in F32 has 0 sizes")));
        let largest = r#""largest_error": 0.25,"#;
        assert!(edited(largest, r#""largest_error": 0.5,"#).contains("F32: the largest error is not"));
        for (from, to) in [("2", "1"), ("2", "4")] {
            let cases = |n: &str| format!(r#""dtype": "F32", "cases": {n}, "failed": 0, {largest}"#);
            assert!(edited(&cases(from), &cases(to)).contains("F32: cases are not those of its sizes"));
        }
        assert!(edited(r#""up_to": 4096"#, r#""up_to": 16"#).contains("F32: sizes are not in order"));
        assert!(edited(r#""suite""#, r#""suit""#).contains("unknown field"));
    }
}
