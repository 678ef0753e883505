//! The worker's side of the protocol of the megakernel conformance suite (CON-02, CON-03): handshake, loop, tensors. It needs the standard
//! library only.
//!
//! ```text
//! fn main() -> std::process::ExitCode {
//!     Worker::new("my-validator", "0.3", &["format"])
//!         .rules(&["S01"])
//!         .on("validate", |request| {
//!             Ok(if mine::accepts(&request.document) { accept() } else { reject("S01", "it is no JSON", "") })
//!         })
//!         .run()
//! }
//! ```

pub mod json;
pub mod tensors;

use std::collections::BTreeMap;
use std::io::{BufRead, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process::ExitCode;

pub use json::Json;
pub use tensors::{Tensor, read_tensors, write_tensors};

/// The version of the protocol that is spoken.
pub const PROTOCOL: &str = "1.0";

/// Bytes of a line, which the runner reads at most (CON-04).
const LONGEST: usize = 64 << 20;

/// One launch of a session (CON-11). The paths are absolute.
#[derive(Clone, Debug)]
pub struct Launch {
    /// The text of the program.
    pub document: String,
    /// Files to read.
    pub tensors: Vec<PathBuf>,
    /// The file to write.
    pub output: PathBuf,
    /// The file to write what each task wrote to, where that is asked for.
    pub trace: Option<PathBuf>,
}

/// What is asked.
#[derive(Clone, Debug)]
pub struct Request {
    /// The id.
    pub id: i64,
    /// The method.
    pub method: String,
    /// The profile under which to judge.
    pub profile: String,
    /// The bytes, whichever way they came; empty for `execute`.
    pub document: Vec<u8>,
    /// Of `execute`.
    pub launches: Vec<Launch>,
    /// All members, as they came.
    pub members: Json,
}

/// A finding (CON-10).
#[derive(Clone, Debug)]
pub struct Diagnostic {
    /// The id of a rule.
    pub rule: String,
    /// `error` or `warning`.
    pub severity: String,
    /// What is wrong, for people.
    pub message: String,
    /// Where, a JSON pointer.
    pub pointer: String,
    /// What else is known, such as `line` or `tasks`.
    pub more: Vec<(String, Json)>,
}

impl Diagnostic {
    /// An error.
    pub fn error(rule: &str, message: &str, pointer: &str) -> Diagnostic {
        let severity = "error".to_owned();
        Diagnostic {
            rule: rule.to_owned(),
            severity,
            message: message.to_owned(),
            pointer: pointer.to_owned(),
            more: Vec::new(),
        }
    }
}

/// An answer, without the id.
#[derive(Clone, Debug)]
pub enum Answer {
    /// Nothing is wrong, beside warnings. With the text that a round trip, or another method that writes one, came to.
    Accept(Vec<Diagnostic>, Option<String>),
    /// Rules are broken.
    Reject(Vec<Diagnostic>),
    /// The implementation does not deal with this, and why: the case is skipped.
    Unsupported(String),
}

/// Nothing is wrong.
pub fn accept() -> Answer {
    Answer::Accept(Vec::new(), None)
}

/// A rule is broken, and where.
pub fn reject(rule: &str, message: &str, pointer: &str) -> Answer {
    Answer::Reject(vec![Diagnostic::error(rule, message, pointer)])
}

/// The implementation does not deal with this.
pub fn unsupported(reason: &str) -> Answer {
    Answer::Unsupported(reason.to_owned())
}

impl Answer {
    /// Members of the response.
    ///
    /// # Errors
    /// The protocol does not admit it, so that a mistake is reported where it is made.
    fn members(&self, method: &str) -> Result<Vec<(String, Json)>, String> {
        let (outcome, diagnostics): (_, &[Diagnostic]) = match self {
            Answer::Accept(warnings, _) => ("accept", warnings),
            Answer::Reject(found) => ("reject", found),
            Answer::Unsupported(_) => ("unsupported", &[]),
        };
        let mut members = vec![("outcome".to_owned(), Json::from(outcome))];
        if diagnostics.iter().any(|found| found.rule.is_empty() || found.message.is_empty()) {
            return Err("a diagnostic has no `rule` or no `message`".to_owned());
        }
        if diagnostics.iter().any(|found| !["error", "warning"].contains(&found.severity.as_str())) {
            return Err("the severity of a diagnostic is neither `error` nor `warning`".to_owned());
        }
        let error = diagnostics.iter().any(|found| found.severity == "error");
        match self {
            Answer::Accept(..) if error => {
                return Err("an acceptance has a diagnostic of severity `error`".to_owned());
            }
            Answer::Accept(_, None) if !["validate", "execute", "trace"].contains(&method) => {
                return Err(format!("an accepted `{method}` answers with a document"));
            }
            Answer::Reject(_) if !error => {
                return Err("a rejection has no diagnostic of severity `error`".to_owned());
            }
            Answer::Unsupported(reason) if reason.is_empty() => {
                return Err("`unsupported` has no reason".to_owned());
            }
            Answer::Unsupported(reason) => members.push(("reason".to_owned(), Json::from(reason.as_str()))),
            Answer::Accept(_, Some(document)) => {
                members.push(("document".to_owned(), Json::from(document.as_str())))
            }
            _ => {}
        }
        let diagnostic = |found: &Diagnostic| {
            let texts = [
                ("rule", &found.rule),
                ("severity", &found.severity),
                ("message", &found.message),
                ("pointer", &found.pointer),
            ];
            let mut members: Vec<_> =
                texts.map(|(name, text)| (name.to_owned(), Json::from(text.as_str()))).into();
            members.extend(found.more.iter().cloned());
            Json::Object(members)
        };
        if !matches!(self, Answer::Unsupported(_)) {
            members
                .push(("diagnostics".to_owned(), Json::Array(diagnostics.iter().map(diagnostic).collect())));
        }
        Ok(members)
    }
}

type Handler = Box<dyn Fn(&Request) -> Result<Answer, String>>;

/// An implementation, as the handshake describes it (CON-02), and its handlers: one for each method.
///
/// Standard output belongs to the protocol: what a handler has to say goes to standard error, by `eprintln!`.
pub struct Worker {
    hello: Vec<(String, Json)>,
    profiles: Vec<String>,
    handlers: BTreeMap<String, Handler>,
}

impl Worker {
    /// A worker that claims profiles.
    pub fn new(name: &str, version: &str, profiles: &[&str]) -> Worker {
        let texts = [("type", "hello"), ("protocol", PROTOCOL), ("name", name), ("version", version)];
        let mut hello: Vec<_> = texts.map(|(member, text)| (member.to_owned(), Json::from(text))).into();
        hello.push(("profiles".to_owned(), Json::strings(profiles)));
        Worker {
            hello,
            profiles: profiles.iter().map(|&p| p.to_owned()).collect(),
            handlers: BTreeMap::new(),
        }
    }

    /// Claims the rules that are implemented. Without, all rules of the profiles.
    pub fn rules(self, rules: &[&str]) -> Worker {
        self.claim("rules", Json::strings(rules))
    }

    /// Any member of the handshake: `every_rule`, `opcodes`, `dtypes`, `targets`, `trace`, `accumulator`, `device`.
    ///
    /// # Panics
    /// The handshake has no such member.
    pub fn claim(mut self, member: &str, value: Json) -> Worker {
        const CLAIMS: [&str; 8] =
            ["rules", "every_rule", "opcodes", "dtypes", "targets", "trace", "accumulator", "device"];
        assert!(
            CLAIMS.contains(&member),
            "the handshake has no member `{member}`; it has {}",
            CLAIMS.join(", ")
        );
        self.hello.push((member.to_owned(), value));
        self
    }

    /// Sets the function that answers a method; the request's `members` have what is not named. An error, and a panic, fails the case and is
    /// said on standard error; the next one is answered.
    pub fn on(
        mut self,
        method: &str,
        handler: impl Fn(&Request) -> Result<Answer, String> + 'static,
    ) -> Worker {
        self.handlers.insert(method.to_owned(), Box::new(handler));
        self
    }

    /// Answers until the standard input is closed.
    pub fn run(&self) -> ExitCode {
        // Standard output is not locked meanwhile: a thread that prints would wait for ever.
        match self.serve(&mut std::io::stdin().lock(), &mut std::io::stdout()) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("megakernel_adapter: {error}");
                ExitCode::FAILURE
            }
        }
    }

    /// The same on two streams.
    ///
    /// # Errors
    /// One cannot be read or written.
    pub fn serve(&self, source: &mut dyn BufRead, output: &mut dyn Write) -> std::io::Result<()> {
        let mut line = Vec::new();
        while source.read_until(b'\n', &mut line)? > 0 {
            let mut reply = self.reply(&line);
            reply.push('\n');
            output.write_all(reply.as_bytes())?;
            output.flush()?; // the runner waits for it
            line.clear();
        }
        Ok(())
    }

    /// The line that answers a line.
    fn reply(&self, line: &[u8]) -> String {
        let mut id = None;
        let why = match self.message(line, &mut id) {
            Ok(text) if text.len() < LONGEST => return text,
            Ok(text) => format!("the answer has {} bytes, and a line at most {LONGEST}", text.len()),
            Err(why) if why.is_empty() => "the handler failed without a word".to_owned(),
            Err(why) => why,
        };
        eprintln!("megakernel_adapter: {why}");
        let mut members =
            vec![("type".to_owned(), Json::from("error")), ("message".to_owned(), Json::from(why.as_str()))];
        members.extend(id.map(|id| ("id".to_owned(), Json::from(id))));
        Json::Object(members).dump()
    }

    /// The message that answers a line. Sets the id, if that can be read.
    fn message(&self, line: &[u8], id: &mut Option<i64>) -> Result<String, String> {
        let message = json::parse(line).map_err(|error| format!("the line is no JSON: {error}"))?;
        match message.get("type").and_then(Json::as_str) {
            Some("hello") => {
                let version = message.get("protocol").and_then(Json::as_str).unwrap_or_default();
                if version.split('.').next() != Some("1") {
                    return Err(format!("the protocol is {PROTOCOL} here, and not {version}"));
                }
                return Ok(Json::Object(self.hello.clone()).dump());
            }
            Some("request") => {}
            _ => return Err("the line is neither a `hello` nor a `request`".to_owned()),
        }
        let given = message.get("id").and_then(Json::as_i64).filter(|id| *id >= 0);
        let given = given.ok_or("the request has no `id` that is an integer")?;
        *id = Some(given);
        let request = read(given, message)?;
        let answer = self.answer(&request)?;
        let mut members =
            vec![("type".to_owned(), Json::from("response")), ("id".to_owned(), Json::from(given))];
        members.extend(answer.members(&request.method)?);
        Ok(Json::Object(members).dump())
    }

    /// What the handler of the method answers.
    fn answer(&self, request: &Request) -> Result<Answer, String> {
        if !self.profiles.contains(&request.profile) {
            return Ok(unsupported(&format!("profile `{}` is not implemented", request.profile)));
        }
        let Some(handler) = self.handlers.get(&request.method) else {
            return Ok(unsupported(&format!("method `{}` is not implemented", request.method)));
        };
        // The panic itself is said by the hook of the standard library.
        catch_unwind(AssertUnwindSafe(|| handler(request))).unwrap_or_else(|cause| {
            let text = cause.downcast_ref::<&str>().map(|text| (*text).to_owned());
            Err(format!("panic: {}", text.or(cause.downcast_ref::<String>().cloned()).unwrap_or_default()))
        })
    }
}

fn text(message: &Json, member: &str) -> Result<String, String> {
    let found = message.get(member).and_then(Json::as_str);
    found.map(str::to_owned).ok_or_else(|| format!("the request has no `{member}` that is a string"))
}

fn read(id: i64, message: Json) -> Result<Request, String> {
    let (method, profile) = (text(&message, "method")?, text(&message, "profile")?);
    let mut request =
        Request { id, method, profile, document: Vec::new(), launches: Vec::new(), members: Json::Null };
    if request.method == "execute" {
        let launches =
            message.get("launches").and_then(Json::as_array).ok_or("the request has no `launches`")?;
        request.launches = launches.iter().map(launch).collect::<Result<_, _>>()?;
    } else if message.get("document").is_some() {
        request.document = text(&message, "document")?.into_bytes();
    } else {
        request.document = base64(&text(&message, "document_base64")?)?;
    }
    request.members = message;
    Ok(request)
}

fn launch(launch: &Json) -> Result<Launch, String> {
    let paths = launch.get("tensors").and_then(Json::as_array).ok_or("a launch has no `tensors`")?;
    let path = |path: &Json| path.as_str().map(PathBuf::from).ok_or_else(|| "a path is no string".to_owned());
    Ok(Launch {
        document: text(launch, "document")?,
        tensors: paths.iter().map(path).collect::<Result<_, _>>()?,
        output: text(launch, "output")?.into(),
        trace: launch.get("trace").map(path).transpose()?,
    })
}

/// The bytes that base64 with padding stands for (RFC 4648).
fn base64(text: &str) -> Result<Vec<u8>, String> {
    const ALPHABET: &[u8] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let padding = text.bytes().rev().take(2).take_while(|byte| *byte == b'=').count();
    if !text.len().is_multiple_of(4) {
        return Err("`document_base64` is not padded".to_owned());
    }
    let mut found = Vec::with_capacity(text.len() / 4 * 3);
    let mut bits = 0_u32;
    for (n, byte) in text.bytes().enumerate() {
        let value = if n + padding >= text.len() {
            Some(0)
        } else {
            ALPHABET.iter().position(|known| *known == byte)
        };
        let value = value.ok_or("`document_base64` has a character that is none of base64")?;
        bits = bits << 6 | u32::try_from(value).unwrap_or_default();
        if n % 4 == 3 {
            found.extend_from_slice(bits.to_be_bytes().get(1..).unwrap_or_default());
            bits = 0;
        }
    }
    found.truncate(found.len().saturating_sub(padding));
    Ok(found)
}
