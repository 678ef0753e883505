//! What `--bandwidth` found: as tables, as JSON, and read from that again.

use std::fmt::Write as _;
use std::path::Path;

use megakernel_ir::protocol::Facts;
use serde::{Deserialize, Serialize};

/// What was measured, and of what.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The day, in UTC.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) date: Option<String>,
    /// The GPU and the kernels, as the handshake and records of evidence have them.
    pub(super) device: Facts,
    pub(super) blocks: usize,
    pub(super) mebibytes: usize,
    /// Billions of bytes a second that a plain copy reads and writes.
    pub(super) copy: f64,
    pub(super) opcodes: Vec<Line>,
    pub(super) steps: Vec<Step>,
}

/// Tasks of one opcode that fill the GPU.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Line {
    pub(super) opcode: String,
    pub(super) what: String,
    /// That have to be read and written.
    pub(super) bytes: usize,
    pub(super) microseconds: f64,
    /// Billions of bytes a second.
    pub(super) rate: f64,
    pub(super) of_the_copy: f64,
    /// Trillions of operations a second, where they are what counts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(super) teraflops: Option<f64>,
}

/// A step of a decoder, as one launch.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(super) struct Step {
    pub(super) model: String,
    pub(super) context: usize,
    pub(super) tasks: usize,
    pub(super) bytes: usize,
    pub(super) microseconds: f64,
    pub(super) tokens_per_second: f64,
    pub(super) of_the_copy: f64,
    pub(super) token: i32,
}

/// What a GPU can do at most by the record of a target: as its maker publishes it, not as anybody measured it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct Peaks {
    pub(super) target: Peak,
    /// The GPUs that the record is of, as their driver calls them.
    devices: Vec<String>,
}

/// The members of a target that are peaks.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(super) struct Peak {
    pub(super) name: String,
    /// Billions of bytes a second.
    pub(super) hbm_bandwidth_gbs: f64,
    /// Trillions of operations a second with matrix units.
    pub(super) fp16_tflops: f64,
}

impl Peaks {
    /// Reads the record of the GPU that figures are of.
    ///
    /// # Errors
    /// The file cannot be read, is no record of a target, or is that of another GPU.
    pub fn read(path: &Path, report: &Report) -> Result<Peaks, String> {
        let named = |cause: String| format!("{}: {cause}", path.display());
        let text = std::fs::read_to_string(path).map_err(|cause| named(cause.to_string()))?;
        let peaks: Peaks =
            serde_json::from_str(&text).map_err(|cause| named(format!("no record of a target: {cause}")))?;
        if !peaks.devices.contains(&report.device.name) {
            let devices = peaks.devices.join(", ");
            return Err(named(format!(
                "the record is of {devices}, and the figures are of {}",
                report.device.name
            )));
        }
        Ok(peaks)
    }

    /// Which share of what can be attained was attained, and what is the limit: bytes, or operations where they are known to count.
    pub(super) fn attained(
        &self,
        bytes: usize,
        microseconds: f64,
        teraflops: Option<f64>,
    ) -> (f64, &'static str) {
        let moved = bytes as f64 / microseconds / 1e3 / self.target.hbm_bandwidth_gbs;
        let computed = teraflops.unwrap_or_default() / self.target.fp16_tflops;
        if computed > moved { (computed, "matrix units") } else { (moved, "memory") }
    }
}

impl Report {
    /// Reads the figures of an earlier run.
    ///
    /// # Errors
    /// The file cannot be read, or does not hold what [`Report::json`] writes.
    pub fn read(path: &Path) -> Result<Report, String> {
        let named = |cause: String| format!("{}: {cause}", path.display());
        let text = std::fs::read_to_string(path).map_err(|cause| named(cause.to_string()))?;
        serde_json::from_str(&text).map_err(|cause| named(format!("no figures of --bandwidth: {cause}")))
    }

    /// As JSON, ended by a line feed.
    ///
    /// # Errors
    /// None that figures can cause; they are passed on rather than hidden.
    pub fn json(&self) -> Result<String, String> {
        serde_json::to_string_pretty(self).map(|text| text + "\n").map_err(|cause| cause.to_string())
    }

    /// What was run where, in a few words.
    pub(super) fn setting(&self) -> String {
        let threads = self.device.threads_per_block.unwrap_or_default();
        format!(
            "{} blocks of {threads} threads, {} MiB in each launch; a plain copy moves {:.0} GB/s",
            self.blocks, self.mebibytes, self.copy
        )
    }

    /// As tables.
    pub fn text(&self) -> String {
        let mut text = format!(
            "{}, {}: {}\n\n\
             | opcode | what | us | TFLOP/s | GB/s | of the copy |\n| --- | --- | ---: | ---: | ---: | ---: |\n",
            self.device.name,
            self.device.target,
            self.setting()
        );
        for line in &self.opcodes {
            let flops = line.teraflops.map(|flops| format!("{flops:.1}")).unwrap_or_default();
            let Line { opcode, what, microseconds, rate, of_the_copy, .. } = line;
            let share = 100.0 * of_the_copy;
            let _ = writeln!(
                text,
                "| {opcode} | {what} | {microseconds:.0} | {flops} | {rate:.0} | {share:.0} % |"
            );
        }
        if !self.steps.is_empty() {
            text += "\n| one step | context | tasks | us | tokens/s | of the copy |\n| --- | ---: | ---: | ---: | ---: | ---: |\n";
        }
        for Step { model, context, tasks, microseconds, tokens_per_second, of_the_copy, .. } in &self.steps {
            let share = 100.0 * of_the_copy;
            let _ = writeln!(
                text,
                "| {model} | {context} | {tasks} | {microseconds:.0} | {tokens_per_second:.0} | {share:.0} % |"
            );
        }
        text
    }
}
