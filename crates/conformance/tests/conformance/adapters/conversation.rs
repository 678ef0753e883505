//! A conversation with the worker `careless` of a library, line by line: what the protocol asks of every worker (CON-02, CON-03), hostile
//! lines, and handlers that go wrong. The answers are the same in every language.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

use super::languages::Language;

/// Holds the whole conversation, up to the first thing that is wrong.
#[track_caller]
pub fn hold(language: Language, command: &[String]) {
    assert_eq!(checked(language, command, Duration::from_secs(30)), Ok(()), "{language:?}");
}

struct Talk {
    child: Child,
    input: ChildStdin,
    lines: Receiver<String>,
    patience: Duration,
}

impl Drop for Talk {
    fn drop(&mut self) {
        // It has ended, or it hangs.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Talk {
    fn start(command: &[String], patience: Duration) -> Talk {
        let (program, arguments) = command.split_first().expect("a program");
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().expect("the worker starts");
        let input = child.stdin.take().expect("a pipe");
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Talk { child, input, lines, patience }
    }

    /// Sends a line and asks for the answer: its members have to hold those of `wanted`, and a `message` has to contain that one.
    fn ask(&mut self, line: &[u8], wanted: &Value) -> Result<(), String> {
        let sent = String::from_utf8_lossy(line).into_owned();
        self.input
            .write_all(line)
            .and_then(|()| self.input.write_all(b"\n"))
            .map_err(|e| format!("{sent}: {e}"))?;
        let answer = self.lines.recv_timeout(self.patience).map_err(|e| format!("{sent}: no answer: {e}"))?;
        let found: Value = serde_json::from_str(&answer).map_err(|e| format!("{sent}: {answer}: {e}"))?;
        for (name, value) in wanted.as_object().expect("an object") {
            let same = match (name.as_str(), value) {
                ("message", Value::String(part)) => {
                    found[name].as_str().is_some_and(|text| text.contains(part))
                }
                ("diagnostics", Value::String(message)) => found["diagnostics"][0]["message"] == **message,
                _ => found.get(name) == Some(value) || (value.is_null() && found.get(name).is_none()),
            };
            if !same {
                return Err(format!("{sent}: `{name}` is not {value}: {answer}"));
            }
        }
        Ok(())
    }

    /// Closes the worker's standard input; it has to end with 0, and to say nothing more. Returns what it wrote to standard error.
    fn end(mut self) -> Result<String, String> {
        // A pipe that is replaced is closed.
        let mut devoured = Command::new("true").stdin(Stdio::piped()).spawn().map_err(|e| e.to_string())?;
        self.input = devoured.stdin.take().expect("a pipe");
        let _ = devoured.wait();
        if let Ok(more) = self.lines.recv_timeout(self.patience) {
            return Err(format!("after its input was closed it wrote {more}"));
        }
        let mut said = String::new();
        let mut errors = self.child.stderr.take().expect("a pipe");
        errors.read_to_string(&mut said).map_err(|e| e.to_string())?;
        let status = self.child.wait().map_err(|e| e.to_string())?;
        if status.success() { Ok(said) } else { Err(format!("it ended with {status}: {said}")) }
    }
}

/// The same with an error in words, and the time that an answer may take.
pub fn checked(language: Language, command: &[String], patience: Duration) -> Result<(), String> {
    let mut talk = Talk::start(command, patience);
    let hello = json!({"type": "hello", "protocol": "1.0", "name": "careless", "version": "1", "profiles": ["format", "execute"],
        "rules": ["S01"], "opcodes": ["ADD"], "trace": null});
    talk.ask(br#"{"type":"hello","protocol":"1.0","later":[]}"#, &hello)?;
    broken_lines(&mut talk)?;
    documents(&mut talk)?;
    mistakes(&mut talk, language)?;
    let directory = tempfile::tempdir().map_err(|e| e.to_string())?;
    tensors(&mut talk, directory.path())?;
    // Twice the same, since nothing depends on what came before.
    documents(&mut talk)?;
    let said = talk.end()?;
    if said.contains("thrown on purpose") {
        Ok(())
    } else {
        Err(format!("standard error lacks what was thrown: {said}"))
    }
}

fn request(id: i64, method: &str, document: &str) -> String {
    json!({"type": "request", "id": id, "method": method, "profile": "format", "document": document})
        .to_string()
}

/// Lines that are no messages, or no requests: an error with the id if there is one, and the worker goes on.
fn broken_lines(talk: &mut Talk) -> Result<(), String> {
    let lines: [(&[u8], Value); 13] = [
        (b"nonsense", json!({"type": "error", "id": null})),
        (b"", json!({"type": "error", "id": null})),
        (b"{\"type\":\"request\",\"id\":", json!({"type": "error", "id": null})),
        (b"[]", json!({"type": "error", "id": null})),
        (b"\"\xff\"", json!({"type": "error", "id": null})),
        (br#"{"type":"later","id":1}"#, json!({"type": "error"})),
        (br#"{"type":"hello","protocol":"2.0"}"#, json!({"type": "error", "message": "2.0"})),
        (
            br#"{"type":"request","id":"4","method":"validate","profile":"format","document":""}"#,
            json!({"type": "error", "id": null}),
        ),
        (
            br#"{"type":"request","id":-1,"method":"validate","profile":"format","document":""}"#,
            json!({"type": "error", "id": null}),
        ),
        (br#"{"type":"request","id":5}"#, json!({"type": "error", "id": 5})),
        (
            br#"{"type":"request","id":6,"method":"validate","profile":"format"}"#,
            json!({"type": "error", "id": 6}),
        ),
        (
            br#"{"type":"request","id":7,"method":"validate","profile":"format","document_base64":"/w="}"#,
            json!({"type": "error", "id": 7}),
        ),
        (
            br#"{"type":"request","id":8,"method":"execute","profile":"execute","launches":[{}]}"#,
            json!({"type": "error", "id": 8}),
        ),
    ];
    lines.iter().try_for_each(|(line, wanted)| talk.ask(line, wanted))
}

/// Documents as text and as base64 reach the handler byte by byte, and come back so.
fn documents(talk: &mut Talk) -> Result<(), String> {
    let reject = |id: i64, hex: &str| json!({"type": "response", "id": id, "outcome": "reject", "diagnostics": hex, "reason": null});
    let validate = |id: i64, member: &str, text: &str| {
        json!({"type": "request", "id": id, "method": "validate", "profile": "format", member: text})
            .to_string()
    };
    talk.ask(validate(0, "document", "é😀\u{0}\n\"").as_bytes(), &reject(0, "c3a9f09f9880000a22"))?;
    let escaped = br#"{"type":"request","id":2,"method":"validate","profile":"format","document":"\u00e9\ud83d\ude00\/\\\b"}"#;
    talk.ask(escaped, &reject(2, "c3a9f09f98802f5c08"))?;
    talk.ask(validate(3, "document_base64", "/wA=").as_bytes(), &reject(3, "ff00"))?;
    talk.ask(validate(4, "document_base64", "AAECA/8=").as_bytes(), &reject(4, "00010203ff"))?;
    talk.ask(validate(5, "document_base64", "+/9+").as_bytes(), &reject(5, "fbff7e"))?;
    let largest = (1 << 53) - 1;
    talk.ask(validate(largest, "document", "x").as_bytes(), &reject(largest, "78"))?;
    let text = "{\"a\": \"é😀\u{1}\u{7f}\\\\ </b>\"}\n";
    let back = json!({"type": "response", "id": 6, "outcome": "accept", "document": text});
    talk.ask(request(6, "roundtrip", text).as_bytes(), &back)?;
    let unsupported =
        |id: i64| json!({"type": "response", "id": id, "outcome": "unsupported", "diagnostics": null});
    talk.ask(request(7, "simulate", "{}").as_bytes(), &unsupported(7))?;
    talk.ask(
        br#"{"type":"request","id":8,"method":"validate","profile":"launch","document":"{}"}"#,
        &unsupported(8),
    )
}

/// Handlers that throw, and answers that the protocol does not admit: errors, never a verdict; and the worker goes on.
fn mistakes(talk: &mut Talk, language: Language) -> Result<(), String> {
    let error = |id: i64, part: &str| json!({"type": "error", "id": id, "message": part});
    talk.ask(request(20, "validate", "throw").as_bytes(), &error(20, "thrown on purpose"))?;
    talk.ask(request(21, "validate", "nothing").as_bytes(), &error(21, "a rejection has no diagnostic"))?;
    talk.ask(request(22, "validate", "both").as_bytes(), &error(22, "an acceptance has a diagnostic"))?;
    talk.ask(request(23, "roundtrip", "nothing").as_bytes(), &error(23, "answers with a document"))?;
    if matches!(language, Language::Go | Language::Rust) {
        talk.ask(request(24, "validate", "panic").as_bytes(), &error(24, "a panic on purpose"))?;
    }
    // In Rust nothing can be done about what a handler prints.
    if language != Language::Rust {
        let accept = json!({"type": "response", "id": 25, "outcome": "accept"});
        talk.ask(request(25, "validate", "print").as_bytes(), &accept)?;
    }
    Ok(())
}

/// A tensor file as NUM-11 describes it, byte by byte, in and out.
fn tensors(talk: &mut Talk, directory: &Path) -> Result<(), String> {
    let (input, output) = (directory.join("input.safetensors"), directory.join("output.safetensors"));
    let header = br#"{"__metadata__":{"a":"b"},"x":{"dtype":"F32","shape":[3,1],"data_offsets":[0,12]}}  "#;
    let elements = |bits: [u32; 3]| bits.map(u32::to_le_bytes).concat();
    let mut file = (header.len() as u64).to_le_bytes().to_vec();
    file.extend_from_slice(header);
    file.extend(elements([0x3fc0_0000, 0xc000_0000, 0x0000_0001])); // 1.5, -2, and the smallest number
    std::fs::write(&input, &file).map_err(|e| e.to_string())?;
    let ask = |id: i64| {
        let launch = json!({"document": "{}", "tensors": [input], "output": output});
        json!({"type": "request", "id": id, "method": "execute", "profile": "execute", "launches": [launch]})
            .to_string()
    };
    talk.ask(ask(30).as_bytes(), &json!({"type": "response", "id": 30, "outcome": "accept"}))?;
    let written = std::fs::read(&output).map_err(|e| format!("the output: {e}"))?;
    let (length, rest) = written.split_first_chunk::<8>().ok_or("the output is empty")?;
    let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|e| e.to_string())?;
    let (text, data) = rest.split_at_checked(length).ok_or("the output has no header")?;
    let header: Value = serde_json::from_slice(text).map_err(|e| format!("the header of the output: {e}"))?;
    let wanted = json!({"y": {"dtype": "F32", "shape": [3, 1], "data_offsets": [0, 12]}});
    if header != wanted || data != elements([0x4040_0000, 0xc080_0000, 0x0000_0002]) || length % 8 != 0 {
        return Err(format!("the output is {header} {data:x?}"));
    }
    // Cut short, and a header that lies.
    for broken in [&file[..7], &file[..40], &file[..file.len() - 1]] {
        std::fs::write(&input, broken).map_err(|e| e.to_string())?;
        talk.ask(ask(31).as_bytes(), &json!({"type": "error", "id": 31, "message": "input.safetensors"}))?;
    }
    Ok(())
}
