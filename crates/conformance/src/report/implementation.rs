//! Who was judged.

use megakernel_ir::protocol::{Accumulator, Facts, Hello, Profile, SourceFile};
use serde::{Deserialize, Serialize};

use crate::text::excerpt;

/// What the worker said about itself.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Implementation {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// The protocol version that it speaks.
    pub protocol: String,
    /// The profiles that it claims, known ones and others.
    pub profiles: Vec<String>,
    /// The rules that it claims, if not all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rules: Option<Vec<String>>,
    /// Whether it claims to name every rule that a document breaks.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub every_rule: bool,
    /// The opcodes that it executes, if not all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub opcodes: Vec<String>,
    /// The dtypes that it executes, if not all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dtypes: Vec<String>,
    /// How it adds up products, where it executes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub accumulator: Option<Accumulator>,
    /// Whether its tasks were judged one by one.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub traced: bool,
    /// What its kernels run on, if it says so.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<Facts>,
}

impl Implementation {
    pub(crate) fn new(hello: &Hello, traced: bool) -> Implementation {
        let excerpts = |names: &[String]| names.iter().map(|name| excerpt(name.as_bytes())).collect();
        let words = |text: &Option<String>| text.as_ref().map(|text| excerpt(text.as_bytes()));
        let source = |file: &SourceFile| SourceFile {
            name: excerpt(file.name.as_bytes()),
            sha256: excerpt(file.sha256.as_bytes()),
            given: file.given,
        };
        Implementation {
            name: excerpt(hello.name.as_bytes()),
            version: excerpt(hello.version.as_bytes()),
            protocol: excerpt(hello.protocol.as_bytes()),
            profiles: excerpts(&hello.profiles),
            rules: hello.rules.as_deref().map(excerpts),
            every_rule: hello.every_rule,
            opcodes: excerpts(&hello.opcodes),
            dtypes: excerpts(&hello.dtypes),
            accumulator: hello.claims(Profile::EXECUTE).then_some(hello.accumulator),
            traced,
            device: hello.device.as_ref().map(|device| Facts {
                name: excerpt(device.name.as_bytes()),
                target: excerpt(device.target.as_bytes()),
                driver: words(&device.driver),
                toolkit: words(&device.toolkit),
                kernels: excerpt(device.kernels.as_bytes()),
                binary: words(&device.binary),
                options: excerpts(&device.options),
                uuid: words(&device.uuid),
                threads_per_block: device.threads_per_block,
                clocks: words(&device.clocks),
                sharing: words(&device.sharing),
                placement: words(&device.placement),
                fixed_threads: device.fixed_threads,
                seed: device.seed,
                repeats: device.repeats,
                delays: device.delays,
                undefined: words(&device.undefined),
                sources: device.sources.iter().map(source).collect(),
            }),
        }
    }

    /// Whether it claims a profile.
    pub(crate) fn claims(&self, profile: Profile) -> bool {
        self.profiles.iter().any(|name| name == profile.name())
    }
}
