//! The request loop of a worker.

use std::borrow::Cow;
use std::io::{self, BufRead, Write};

use base64::Engine;
use base64::engine::general_purpose::STANDARD as BASE64;
use serde::Serialize;

use super::{Answer, DocumentBytes, Execute, Hello, Method, Request, ToWorker};
use crate::diagnostic::Diagnostic;

/// An implementation behind the protocol.
pub trait Worker {
    /// What it claims.
    fn hello(&self) -> Hello;

    /// Judges one document.
    fn answer(&mut self, request: &Request<'_>) -> Answer;

    /// Executes launches and writes their files before it returns. A worker that does not execute leaves this out.
    fn execute(&mut self, request: &Execute<'_>) -> Answer {
        let _ = request;
        Answer::Unsupported { reason: "method `execute` is not implemented".to_owned() }
    }
}

/// Answers every line of `input` with one line on `output` until `input` ends.
///
/// A line that is not a message of the protocol is answered with `{"type":"error","message":"..."}`, so that one bad
/// line costs one answer and not the process. Blank lines are passed over.
///
/// # Errors
/// Reading or writing failed; after that nobody listens.
pub fn serve(worker: &mut dyn Worker, input: &mut dyn BufRead, output: &mut dyn Write) -> io::Result<()> {
    let mut line = Vec::new();
    loop {
        line.clear();
        if input.read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        match read(&line) {
            Ok(Incoming::Hello) => write_line(output, &HelloLine { kind: "hello", hello: worker.hello() })?,
            Ok(Incoming::Request(id, request)) => {
                write_answer(output, id, worker.answer(&request))?;
            }
            Ok(Incoming::Execute(id, request)) => {
                write_answer(output, id, worker.execute(&request))?;
            }
            Ok(Incoming::Unsupported(id, reason)) => {
                write_answer(output, id, Answer::Unsupported { reason })?;
            }
            Err(BadLine { id, message }) => write_line(output, &ErrorLine { kind: "error", id, message })?,
        }
    }
}

/// A line that can be answered.
enum Incoming<'a> {
    Hello,
    Request(u64, Request<'a>),
    Execute(u64, Execute<'a>),
    /// A request for something that this version of the protocol does not have.
    Unsupported(u64, String),
}

/// A line that cannot, with the number of its request where that could be read.
struct BadLine {
    id: Option<u64>,
    message: String,
}

fn read(line: &[u8]) -> Result<Incoming<'_>, BadLine> {
    let bad = |id, message: String| BadLine { id, message };
    let text = std::str::from_utf8(line).map_err(|error| bad(None, format!("line is not UTF-8: {error}")))?;
    let message: ToWorker<'_> = serde_json::from_str(text)
        .map_err(|error| bad(None, format!("line is not a message of the protocol: {error}")))?;
    match &*message.kind {
        "hello" => return Ok(Incoming::Hello),
        "request" => {}
        other => return Err(bad(message.id, format!("no message is of type `{other}`"))),
    }
    let id = message.id.ok_or_else(|| bad(None, "request has no `id`".to_owned()))?;
    let lacks = |member: &str| bad(Some(id), format!("request has no `{member}`"));
    let method = message.method.ok_or_else(|| lacks("method"))?;
    let Some(method) = Method::from_name(&method) else {
        return Ok(Incoming::Unsupported(id, format!("method `{method}` is not known")));
    };
    let profile = message.profile.ok_or_else(|| lacks("profile"))?;
    let profile = match profile.parse() {
        Ok(profile) => profile,
        Err(reason) => return Ok(Incoming::Unsupported(id, reason)),
    };
    if method == Method::EXECUTE {
        let launches = message.launches.filter(|launches| !launches.is_empty());
        let launches = launches.ok_or_else(|| lacks("launches"))?;
        return Ok(Incoming::Execute(id, Execute { profile, launches }));
    }
    let document = match (message.document, message.document_base64) {
        (Some(text), None) => DocumentBytes::Text(text),
        (None, Some(encoded)) => DocumentBytes::Binary(
            BASE64
                .decode(encoded.as_bytes())
                .map_err(|error| bad(Some(id), format!("`document_base64` is not base64: {error}")))?,
        ),
        (None, None) => return Err(lacks("document")),
        (Some(_), Some(_)) => {
            return Err(bad(Some(id), "request has both `document` and `document_base64`".to_owned()));
        }
    };
    Ok(Incoming::Request(id, Request { method, profile, document, arguments: message.arguments }))
}

fn write_answer(output: &mut dyn Write, id: u64, answer: Answer) -> io::Result<()> {
    let response = match &answer {
        Answer::Accept { diagnostics, document } => Response {
            diagnostics: Some(diagnostics),
            document: document.as_deref().map(Cow::Borrowed),
            ..Response::blank(id, "accept")
        },
        Answer::Reject { diagnostics } => {
            Response { diagnostics: Some(diagnostics), ..Response::blank(id, "reject") }
        }
        Answer::Unsupported { reason } => {
            Response { reason: Some(reason), ..Response::blank(id, "unsupported") }
        }
        Answer::Failed { message } => {
            let message = message.clone();
            return write_line(output, &ErrorLine { kind: "error", id: Some(id), message });
        }
    };
    write_line(output, &response)
}

fn write_line(output: &mut dyn Write, message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    output.write_all(&line)?;
    output.flush()
}

#[derive(Serialize)]
struct HelloLine {
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(flatten)]
    hello: Hello,
}

#[derive(Serialize)]
struct ErrorLine {
    #[serde(rename = "type")]
    kind: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<u64>,
    message: String,
}

#[derive(Serialize)]
struct Response<'a> {
    #[serde(rename = "type")]
    kind: &'static str,
    id: u64,
    outcome: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    diagnostics: Option<&'a [Diagnostic]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    document: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
}

impl Response<'_> {
    fn blank(id: u64, outcome: &'static str) -> Self {
        Response { kind: "response", id, outcome, diagnostics: None, document: None, reason: None }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{Accumulator, Launch, Profile};
    use crate::rule::Rule;

    /// Accepts what has an even number of bytes.
    struct Even;

    impl Worker for Even {
        fn hello(&self) -> Hello {
            Hello::new("even", "1", &[Profile::FORMAT])
        }

        fn answer(&mut self, request: &Request<'_>) -> Answer {
            let document = request.document.as_bytes();
            if document.len().is_multiple_of(2) {
                let document = (request.method == Method::ROUNDTRIP).then(|| "{}".to_owned());
                return Answer::Accept { diagnostics: Vec::new(), document };
            }
            let message = format!("{} bytes", document.len());
            Answer::Reject { diagnostics: vec![Diagnostic::new(Rule::S01, "", message)] }
        }
    }

    fn answers(input: &[u8]) -> Vec<String> {
        let mut output = Vec::new();
        serve(&mut Even, &mut &*input, &mut output).expect("a slice can be read and a vector written");
        String::from_utf8(output).expect("UTF-8").lines().map(str::to_owned).collect()
    }

    fn request(id: u64, method: Method, document: &[u8]) -> Vec<u8> {
        let mut line = serde_json::to_vec(&ToWorker::request(id, method, Profile::FORMAT, document))
            .expect("serialises");
        line.push(b'\n');
        line
    }

    #[test]
    fn hello_and_requests_are_answered_in_order() {
        let mut input = serde_json::to_vec(&ToWorker::hello()).expect("serialises");
        input.push(b'\n');
        input.extend(request(1, Method::VALIDATE, b"{}"));
        input.extend(request(2, Method::VALIDATE, b"{ }"));
        input.extend(request(3, Method::ROUNDTRIP, b"[]"));
        input.extend(request(4, Method::VALIDATE, b"\xff\xfe\xfd"));
        let lines = answers(&input);
        assert_eq!(
            lines,
            [
                r#"{"type":"hello","protocol":"1.0","name":"even","version":"1","profiles":["format"]}"#,
                r#"{"type":"response","id":1,"outcome":"accept","diagnostics":[]}"#,
                r#"{"type":"response","id":2,"outcome":"reject","diagnostics":[{"rule":"S01","severity":"error","message":"3 bytes","pointer":""}]}"#,
                r#"{"type":"response","id":3,"outcome":"accept","diagnostics":[],"document":"{}"}"#,
                r#"{"type":"response","id":4,"outcome":"reject","diagnostics":[{"rule":"S01","severity":"error","message":"3 bytes","pointer":""}]}"#,
            ]
        );
    }

    #[test]
    fn bad_lines_cost_one_answer_each() {
        let mut input = b"garbage\n\xff\n\n[]\n{\"type\":\"bye\"}\n".to_vec();
        input.extend(b"{\"type\":\"request\",\"id\":7,\"method\":\"validate\",\"profile\":\"format\"}\n");
        input.extend(
            b"{\"type\":\"request\",\"id\":8,\"method\":\"validate\",\"profile\":\"format\",\"document_base64\":\"!\"}\n",
        );
        input.extend(b"{\"type\":\"request\",\"id\":\"nine\",\"method\":\"validate\"}\n");
        input.extend(b"{\"type\":\"request\",\"id\":10,\"method\":\"paint\",\"profile\":\"execute\",\"document\":\"\"}\n");
        input.extend(request(11, Method::VALIDATE, b"{}"));
        input.extend(b"{\"type\":\"request\",\"id\":12,\"method\":\"execute\",\"profile\":\"execute\",\"launches\":[]}\n");
        let lines = answers(&input);
        let errors = lines.iter().filter(|line| line.starts_with(r#"{"type":"error""#)).count();
        assert_eq!(errors, 8, "{lines:#?}");
        assert!(lines[4].starts_with(r#"{"type":"error","id":7,"#), "{}", lines[4]);
        assert_eq!(
            lines[7],
            r#"{"type":"response","id":10,"outcome":"unsupported","reason":"method `paint` is not known"}"#
        );
        assert_eq!(lines[8], r#"{"type":"response","id":11,"outcome":"accept","diagnostics":[]}"#);
    }

    #[test]
    fn launches_reach_a_worker_that_executes() {
        /// Tells what it was asked for.
        struct Echo;

        impl Worker for Echo {
            fn hello(&self) -> Hello {
                Hello {
                    trace: true,
                    accumulator: Accumulator::Truncating,
                    ..Hello::new("echo", "1", &[Profile::EXECUTE])
                }
            }

            fn answer(&mut self, _: &Request<'_>) -> Answer {
                Answer::Unsupported { reason: "only `execute`".to_owned() }
            }

            fn execute(&mut self, request: &Execute<'_>) -> Answer {
                Answer::Unsupported { reason: format!("{:?}", request.launches) }
            }
        }

        let launch = Launch {
            document: r#"{"a":"\n"}"#.into(),
            tensors: vec!["/a".into()],
            output: "/b".into(),
            trace: None,
        };
        let mut input = serde_json::to_vec(&ToWorker::hello()).expect("serialises");
        input.push(b'\n');
        let request = ToWorker::execute(1, vec![launch.clone()]);
        input.extend(serde_json::to_vec(&request).expect("serialises"));
        let mut output = Vec::new();
        serve(&mut Echo, &mut &*input, &mut output).expect("a slice can be read and a vector written");
        let output = String::from_utf8(output).expect("UTF-8");
        let lines: Vec<serde_json::Value> =
            output.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        assert_eq!((&lines[0]["trace"], &lines[0]["accumulator"]), (&true.into(), &"truncating".into()));
        assert_eq!(lines[1]["reason"], format!("{:?}", [launch]));
        let unable: Vec<String> = answers(&input);
        assert!(unable[1].contains("method `execute` is not implemented"), "{unable:?}");
    }

    #[test]
    fn a_last_line_without_newline_is_answered() {
        let mut input = request(1, Method::VALIDATE, b"{}");
        input.pop();
        assert_eq!(answers(&input).len(), 1);
    }
}
