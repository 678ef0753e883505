//! What a worker says of its device and kernels, for records of evidence.

use serde::{Deserialize, Serialize};

/// A device, and the kernels that run on it: what a record of evidence says of both (clause CON-14).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Facts {
    /// As its driver or the system calls it, such as `NVIDIA H100 80GB HBM3`.
    pub name: String,
    /// What the kernels are compiled for, such as `sm_90a`; `host` for a CPU.
    pub target: String,
    /// Version of the driver, where there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    /// The compiler of the kernels and its version, where it is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub toolkit: Option<String>,
    /// BLAKE3 of the sources of the kernels and of the options that they are compiled with, in hexadecimal.
    pub kernels: String,
    /// BLAKE3 of the compiled kernels that were loaded, in hexadecimal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub binary: Option<String>,
    /// The options of the compiler that decide what the kernels compute.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub options: Vec<String>,
    /// Which device of its name it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub uuid: Option<String>,
    /// Threads of a block.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub threads_per_block: Option<u32>,
    /// How fast its clocks may go, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clocks: Option<String>,
    /// Whether it is a whole device or a part of one, and whether others' kernels run beside, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sharing: Option<String>,
    /// Where blocks run that fill the device, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub placement: Option<String>,
    /// Whether all blocks have [`Facts::threads_per_block`], also those of programs that ask for others.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub fixed_threads: Option<bool>,
    /// From which places, turns and delays are drawn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// How often each launch runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub repeats: Option<u64>,
    /// Whether tasks are delayed at random.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delays: Option<bool>,
    /// What memory holds that starts undefined, in words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub undefined: Option<String>,
    /// The files of which the kernels are made.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub sources: Vec<SourceFile>,
}

/// A file of which kernels are made.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SourceFile {
    /// Its path below the folder of the sources, or beside the file that was given.
    pub name: String,
    /// SHA-256, in hexadecimal.
    pub sha256: String,
    /// Whether it was given for a run, beside the sources that the implementation brings.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub given: bool,
}
