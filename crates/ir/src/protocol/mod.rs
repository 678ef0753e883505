//! The worker protocol (clauses CON-02 and CON-03) and the loop of a worker.
//!
//! Messages are JSON objects, one a line. The runner writes to the worker's standard input and reads its standard output:
//!
//! ```text
//! -> {"type":"hello","protocol":"1.0"}
//! <- {"type":"hello","protocol":"1.0","name":"my-vm","version":"0.3","profiles":["format","validate"]}
//! -> {"type":"request","id":1,"method":"validate","profile":"validate","document":"{...}"}
//! <- {"type":"response","id":1,"outcome":"reject","diagnostics":[{"rule":"R01","severity":"error",...}]}
//! -> {"type":"request","id":2,"method":"execute","profile":"execute","launches":[{"document":"{...}",...}]}
//! <- {"type":"response","id":2,"outcome":"accept"}
//! ```
//!
//! Readers ignore members that they do not know, so that a later minor version can add some.

use std::borrow::Cow;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::Value;

use crate::diagnostic::Diagnostic;
use crate::registry::{self, Carries};
use crate::rule::Class;

mod facts;
pub mod oracle;
mod serve;

pub use facts::{Facts, SourceFile};
pub use serve::{Worker, serve};

/// Version of the protocol that this crate speaks. The same major version is compatible.
pub const PROTOCOL: &str = "1.0";

/// Something that an implementation can claim to conform to (clause CON-01): [`Profile::VALIDATE`] and so on, or one of an
/// installed companion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Profile(pub(crate) u16);

impl Profile {
    /// The profiles that judge a program without running it.
    pub const STATIC: [Profile; 4] =
        [Profile::FORMAT, Profile::VALIDATE, Profile::MEMORY_SAFETY, Profile::LAUNCH];

    /// The name in messages, cases and on the command line.
    pub fn name(self) -> &'static str {
        registry::profile(self).name
    }

    /// What an implementation does that claims it.
    pub fn summary(self) -> &'static str {
        registry::profile(self).summary
    }

    /// Whether rules of `class` count for the profile's verdict. Warnings reject nowhere; some profiles report their own.
    pub fn judges(self, class: Class) -> bool {
        registry::profile(self).classes.contains(&class)
    }

    /// Its position in [`Profile::ALL`], and in [`registry::profiles`].
    pub const fn index(self) -> usize {
        self.0 as usize
    }
}

impl fmt::Display for Profile {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl FromStr for Profile {
    type Err = String;

    fn from_str(name: &str) -> Result<Profile, String> {
        registry::profiles().find(|profile| profile.name() == name).ok_or_else(|| {
            let known = registry::profiles().map(Profile::name).collect::<Vec<_>>().join(", ");
            format!("no profile is called `{name}`; the profiles are {known}")
        })
    }
}

impl Serialize for Profile {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Profile {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Cow::<str>::deserialize(deserializer)?.parse().map_err(serde::de::Error::custom)
    }
}

/// What a request asks for: [`Method::VALIDATE`] and so on, or a method of an installed companion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Method(pub(crate) u16);

impl Method {
    /// The name in messages and cases.
    pub fn name(self) -> &'static str {
        registry::method(self).name
    }

    /// The method with this name.
    pub fn from_name(name: &str) -> Option<Method> {
        registry::methods().find(|method| method.name() == name)
    }

    /// What an accepting answer carries beside its diagnostics.
    pub fn answer(self) -> Carries {
        registry::method(self).answer
    }
}

impl fmt::Display for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

impl Serialize for Method {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.name())
    }
}

impl<'de> Deserialize<'de> for Method {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let name = Cow::<str>::deserialize(deserializer)?;
        Method::from_name(&name)
            .ok_or_else(|| serde::de::Error::custom(format_args!("no method is called `{name}`")))
    }
}

/// The bytes of a document. In a message they are the member `document`, or `document_base64` where they are not UTF-8.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum DocumentBytes<'a> {
    /// UTF-8.
    Text(Cow<'a, str>),
    /// Anything else.
    Binary(Vec<u8>),
}

impl DocumentBytes<'_> {
    /// The bytes themselves.
    pub fn as_bytes(&self) -> &[u8] {
        match self {
            DocumentBytes::Text(text) => text.as_bytes(),
            DocumentBytes::Binary(bytes) => bytes,
        }
    }
}

/// A request to judge a document, as the worker sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request<'a> {
    /// What to do; any method but [`Method::EXECUTE`].
    pub method: Method,
    /// The profile whose classes of rules count for the verdict.
    pub profile: Profile,
    /// The document to judge.
    pub document: DocumentBytes<'a>,
    /// What else the method takes; none of the core's takes any.
    pub arguments: Option<Value>,
}

/// A request to execute, as the worker sees it: one session of launches, in order. `KV_CACHE` buffers keep their
/// contents from launch to launch; all else starts afresh.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Execute<'a> {
    /// The profile; [`Profile::EXECUTE`].
    pub profile: Profile,
    /// At least one.
    pub launches: Vec<Launch<'a>>,
}

/// One launch of a request to execute: the document, and the files to read and to write (clause CON-11).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Launch<'a> {
    /// The program.
    #[serde(borrow)]
    pub document: Cow<'a, str>,
    /// Tensor files that bind the buffers that the host binds; absolute paths.
    #[serde(default)]
    pub tensors: Vec<PathBuf>,
    /// The tensor file to write: every `IO_OUTPUT` and `KV_CACHE` by name, as they are after the launch.
    pub output: PathBuf,
    /// The tensor file to write what each task wrote to, by the task's id. Only a worker that claims `trace` gets one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub trace: Option<PathBuf>,
}

/// How an implementation adds up the products of a matrix product or of attention (clause NUM-06).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Accumulator {
    /// Every addition is correctly rounded to binary32, or better.
    #[default]
    Binary32,
    /// Addends are aligned and truncated, as tensor cores do it.
    Truncating,
}

impl Accumulator {
    /// The name in the handshake.
    pub const fn name(self) -> &'static str {
        match self {
            Accumulator::Binary32 => "binary32",
            Accumulator::Truncating => "truncating",
        }
    }
}

/// A worker's answer to a request.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// The document breaks no rule of the profile; or the launches were executed, and their files are written.
    Accept {
        /// Warnings only.
        diagnostics: Vec<Diagnostic>,
        /// The document written back, for [`Method::ROUNDTRIP`], or the translation, for [`Method::TRANSLATE`].
        document: Option<String>,
    },
    /// The document breaks a rule of the profile.
    Reject {
        /// At least one of them is an error.
        diagnostics: Vec<Diagnostic>,
    },
    /// The worker does not do this.
    Unsupported {
        /// Shown in the report.
        reason: String,
    },
    /// The worker does this, and it went wrong: a message of type `error`, which fails the case (clause CON-04).
    Failed {
        /// Shown in the report.
        message: String,
    },
}

/// What a worker says about itself in the handshake (clause CON-02).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hello {
    /// Version of the protocol that the worker speaks.
    pub protocol: String,
    /// Name of the implementation.
    pub name: String,
    /// Version of the implementation.
    pub version: String,
    /// The profiles that it claims. Names that the reader does not know are kept.
    pub profiles: Vec<String>,
    /// Ids of the rules that it implements; absent: all rules of its profiles.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rules: Option<Vec<String>>,
    /// Whether it names every rule that a document breaks, of those that it implements.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub every_rule: bool,
    /// Opcodes that it executes; empty: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub opcodes: Vec<String>,
    /// Element types that it executes; empty: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dtypes: Vec<String>,
    /// Targets that it executes on.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub targets: Vec<String>,
    /// Whether it can write what each task wrote.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub trace: bool,
    /// How it adds up products.
    #[serde(default, skip_serializing_if = "is_default")]
    pub accumulator: Accumulator,
    /// What its kernels run on, where it executes with kernels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub device: Option<Facts>,
}

fn is_default(accumulator: &Accumulator) -> bool {
    *accumulator == Accumulator::default()
}

impl Hello {
    /// The handshake of an implementation of this crate's protocol that claims all rules of `profiles`.
    pub fn new(name: &str, version: &str, profiles: &[Profile]) -> Hello {
        Hello {
            protocol: PROTOCOL.to_owned(),
            name: name.to_owned(),
            version: version.to_owned(),
            profiles: profiles.iter().map(|profile| profile.name().to_owned()).collect(),
            rules: None,
            opcodes: Vec::new(),
            dtypes: Vec::new(),
            targets: Vec::new(),
            every_rule: false,
            trace: false,
            accumulator: Accumulator::default(),
            device: None,
        }
    }

    /// Whether `profile` is among the claimed ones.
    pub fn claims(&self, profile: Profile) -> bool {
        self.profiles.iter().any(|name| name == profile.name())
    }

    /// Whether `rule` is among the claimed ones, whatever its profile.
    pub fn implements(&self, rule: &str) -> bool {
        self.rules.as_ref().is_none_or(|rules| rules.iter().any(|id| id == rule))
    }
}

/// A line from the runner to the worker. One flat record reads every kind of line in one pass over a large document.
#[derive(Debug, Serialize, Deserialize)]
pub struct ToWorker<'a> {
    /// `hello` or `request`.
    #[serde(borrow, rename = "type")]
    pub kind: Cow<'a, str>,
    /// Of a `hello`.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub protocol: Option<Cow<'a, str>>,
    /// Of a `request`; its response carries the same number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub id: Option<u64>,
    /// Of a `request`.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub method: Option<Cow<'a, str>>,
    /// Of a `request`.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub profile: Option<Cow<'a, str>>,
    /// Of a `request` whose document is UTF-8.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub document: Option<Cow<'a, str>>,
    /// Of a `request` whose document is not UTF-8.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub document_base64: Option<Cow<'a, str>>,
    /// Of a `request` for a method that takes some.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub arguments: Option<Value>,
    /// Of a `request` to execute.
    #[serde(borrow, default, skip_serializing_if = "Option::is_none")]
    pub launches: Option<Vec<Launch<'a>>>,
}

impl<'a> ToWorker<'a> {
    /// The runner's handshake.
    pub fn hello() -> ToWorker<'a> {
        ToWorker {
            kind: "hello".into(),
            protocol: Some(PROTOCOL.into()),
            id: None,
            method: None,
            profile: None,
            document: None,
            document_base64: None,
            arguments: None,
            launches: None,
        }
    }

    /// A request to judge `document`.
    pub fn request(id: u64, method: Method, profile: Profile, document: &'a [u8]) -> ToWorker<'a> {
        let (document, document_base64) = match std::str::from_utf8(document) {
            Ok(text) => (Some(text.into()), None),
            Err(_) => (None, Some(BASE64.encode(document).into())),
        };
        ToWorker {
            kind: "request".into(),
            protocol: None,
            id: Some(id),
            method: Some(method.name().into()),
            profile: Some(profile.name().into()),
            document,
            document_base64,
            arguments: None,
            launches: None,
        }
    }

    /// The same request with arguments.
    #[must_use]
    pub fn with_arguments(mut self, arguments: Option<Value>) -> ToWorker<'a> {
        self.arguments = arguments;
        self
    }

    /// A request to execute `launches` in one session.
    pub fn execute(id: u64, launches: Vec<Launch<'a>>) -> ToWorker<'a> {
        ToWorker {
            kind: "request".into(),
            protocol: None,
            id: Some(id),
            method: Some(Method::EXECUTE.name().into()),
            profile: Some(Profile::EXECUTE.name().into()),
            document: None,
            document_base64: None,
            arguments: None,
            launches: Some(launches),
        }
    }
}

/// A line from the worker to the runner other than a `hello`, as the runner reads it: third parties may add members,
/// and a diagnostic counts by its rule and severity alone.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct FromWorker {
    /// `response`, or `error` for a line that the worker could not read.
    #[serde(rename = "type")]
    pub kind: String,
    /// The number of the request.
    #[serde(default)]
    pub id: Option<u64>,
    /// Of a `response`: `accept`, `reject` or `unsupported`.
    #[serde(default)]
    pub outcome: Option<String>,
    /// Of a `response`.
    #[serde(default)]
    pub diagnostics: Option<Vec<Reported>>,
    /// Of a `response` to [`Method::ROUNDTRIP`] or [`Method::TRANSLATE`].
    #[serde(default)]
    pub document: Option<String>,
    /// Of an `unsupported` response.
    #[serde(default)]
    pub reason: Option<String>,
    /// Of an `error`.
    #[serde(default)]
    pub message: Option<String>,
}

/// A diagnostic as any worker may report it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Reported {
    /// Id of the rule; not necessarily one that the specification has.
    pub rule: String,
    /// `error` or `warning`.
    pub severity: String,
    /// For people, never compared.
    #[serde(default)]
    pub message: Option<String>,
    /// Where; never compared.
    #[serde(default)]
    pub pointer: Option<String>,
}
