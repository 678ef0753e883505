//! A conversation with the worker `careless` of a library, line by line: what the protocol asks of every worker (CON-02, CON-03), hostile
//! lines, and handlers that go wrong. The answers are the same in every language.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStderr, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
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
    /// None once it is closed.
    input: Option<ChildStdin>,
    lines: Receiver<String>,
    said: Receiver<String>,
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
        let mut child = start(command);
        let input = child.stdin.take();
        let said = drained(child.stderr.take().expect("a pipe"));
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in output.lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        Talk { child, input, lines, said, patience }
    }

    /// Sends a line and asks for the answer: its members have to hold those of `wanted`, and a `message` has to contain that one.
    fn ask(&mut self, line: &[u8], wanted: &Value) -> Result<(), String> {
        let sent = String::from_utf8_lossy(line).into_owned();
        let input = self.input.as_mut().ok_or("the input is closed")?;
        input.write_all(line).and_then(|()| input.write_all(b"\n")).map_err(|e| format!("{sent}: {e}"))?;
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
        self.input = None;
        match self.lines.recv_timeout(self.patience) {
            Ok(more) => return Err(format!("after its input was closed it wrote {more}")),
            Err(RecvTimeoutError::Timeout) => return Err("it goes on after its input was closed".to_owned()),
            Err(RecvTimeoutError::Disconnected) => {}
        }
        let said = self.said.recv_timeout(self.patience);
        let said = said.map_err(|e| format!("its standard error stays open: {e}"))?;
        let status = self.child.wait().map_err(|e| e.to_string())?;
        if status.success() { Ok(said) } else { Err(format!("it ended with {status}: {said}")) }
    }
}

/// A worker whose standard output is closed has to end with 1, and to say so.
fn without_output(command: &[String], patience: Duration) -> Result<(), String> {
    let mut child = start(command);
    drop(child.stdout.take());
    let mut input = child.stdin.take().expect("a pipe");
    let said = drained(child.stderr.take().expect("a pipe"));
    let hello: &[u8] = b"{\"type\":\"hello\",\"protocol\":\"1.0\"}\n";
    let written = input.write_all(hello);
    let said = said.recv_timeout(patience);
    if said.is_err() {
        let _ = child.kill(); // it hangs, or has just ended
    }
    let status = child.wait().map_err(|e| e.to_string())?;
    written.map_err(|e| format!("without an output: {e}"))?;
    match said {
        Ok(said) if status.code() == Some(1) && !said.is_empty() => Ok(()),
        said => Err(format!("without an output it ended with {status}: {said:?}")),
    }
}

fn start(command: &[String]) -> Child {
    let (program, arguments) = command.split_first().expect("a program");
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.spawn().expect("the worker starts")
}

/// Reads on, so that the worker never waits for it; sends the whole text when the stream is closed.
fn drained(mut stream: ChildStderr) -> Receiver<String> {
    let (sender, said) = channel();
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes); // what came until then
        let _ = sender.send(String::from_utf8_lossy(&bytes).into_owned()); // to nobody where the talk has failed
    });
    said
}

/// The same with an error in words, and the time that an answer may take.
pub fn checked(language: Language, command: &[String], patience: Duration) -> Result<(), String> {
    let mut talk = Talk::start(command, patience);
    let hello = json!({"type": "hello", "protocol": "1.0", "name": "careless", "version": "1", "profiles": ["format", "execute"],
        "rules": [], "opcodes": ["ADD"], "targets": null, "trace": null});
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
        without_output(command, patience)
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
    let lines: [(&[u8], Value); 24] = [
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
        (
            br#"{"type":"request","id":9223372036854775808,"method":"validate","profile":"format","document":""}"#,
            json!({"type": "error", "id": null}),
        ),
        // Halves of surrogate pairs, which are no characters: in a value, in a name, in the wrong order, and behind an escaped backslash.
        (
            br#"{"type":"request","id":10,"method":"validate","profile":"format","document":"\ud800"}"#,
            json!({"type": "error"}),
        ),
        (
            br#"{"type":"request","id":10,"method":"validate","profile":"format","document":"\udc00\ud800"}"#,
            json!({"type": "error"}),
        ),
        (
            br#"{"type":"request","id":10,"method":"validate","profile":"format","document":"\\\uD83D\\ude00"}"#,
            json!({"type": "error"}),
        ),
        (
            br#"{"type":"request","id":10,"method":"validate","profile":"format","document":"x","\ud800":0}"#,
            json!({"type": "error"}),
        ),
        // What some readers take for a number.
        (
            br#"{"type":"request","id":10,"method":"validate","profile":"format","document":"x","later":NaN}"#,
            json!({"type": "error"}),
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
        // No string, and a line break within.
        (
            br#"{"type":"request","id":14,"method":"validate","profile":"format","document_base64":[47]}"#,
            json!({"type": "error", "id": 14}),
        ),
        (
            br#"{"type":"request","id":15,"method":"validate","profile":"format","document_base64":"AAEC\n"}"#,
            json!({"type": "error", "id": 15}),
        ),
        (
            br#"{"type":"request","id":8,"method":"execute","profile":"execute","launches":[{}]}"#,
            json!({"type": "error", "id": 8}),
        ),
        // Paths that are no strings.
        (
            br#"{"type":"request","id":11,"method":"execute","profile":"execute","launches":[{"document":"{}","tensors":[5],"output":"o"}]}"#,
            json!({"type": "error", "id": 11, "message": " no string"}),
        ),
        (
            br#"{"type":"request","id":12,"method":"execute","profile":"execute","launches":[{"document":"{}","tensors":[null],"output":"o"}]}"#,
            json!({"type": "error", "id": 12, "message": " no string"}),
        ),
        (
            br#"{"type":"request","id":13,"method":"execute","profile":"execute","launches":[{"document":"{}","tensors":[],"output":"o","trace":null}]}"#,
            json!({"type": "error", "id": 13}),
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
    let escaped = br#"{"type":"request","id":2,"method":"validate","profile":"format","document":"\u00e9\ud83d\ude00\/\\\b\\ud800"}"#;
    talk.ask(escaped, &reject(2, "c3a9f09f98802f5c085c7564383030"))?;
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
    let word = if language == Language::Python { "RuntimeError" } else { "without a word" };
    talk.ask(request(26, "validate", "silent").as_bytes(), &error(26, word))?;
    talk.ask(request(27, "validate", "long").as_bytes(), &error(27, "line"))?;
    match language {
        Language::Python => {
            talk.ask(request(28, "validate", "number").as_bytes(), &error(28, "no `message`"))?;
            talk.ask(request(29, "roundtrip", "number").as_bytes(), &error(29, "`document`"))?;
            talk.ask(request(36, "validate", "name").as_bytes(), &error(36, "surrogates"))?;
        }
        // Strings of these languages are any bytes.
        Language::Cpp | Language::Go => {
            talk.ask(request(28, "validate", "bytes").as_bytes(), &error(28, "UTF-8"))?;
            talk.ask(request(29, "validate", "unsupported bytes").as_bytes(), &error(29, "UTF-8"))?;
            talk.ask(request(36, "validate", "name").as_bytes(), &error(36, "UTF-8"))?;
        }
        Language::Rust => {
            let accept = json!({"type": "response", "id": 28, "outcome": "accept"});
            talk.ask(request(28, "validate", "lock").as_bytes(), &accept)?;
        }
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
    let trace = directory.join("trace.safetensors");
    let ask = |id: i64| {
        let launch = json!({"document": "{}", "tensors": [input], "output": output, "trace": trace});
        json!({"type": "request", "id": id, "method": "execute", "profile": "execute", "launches": [launch]})
            .to_string()
    };
    talk.ask(ask(30).as_bytes(), &json!({"type": "response", "id": 30, "outcome": "accept"}))?;
    let (header, data) = parts(&output)?;
    let wanted = json!({"y": {"dtype": "F32", "shape": [3, 1], "data_offsets": [0, 12]}});
    if header != wanted || data != elements([0x4040_0000, 0xc080_0000, 0x0000_0002]) {
        return Err(format!("the output is {header} {data:x?}"));
    }
    every_dtype(&input)?;
    talk.ask(ask(31).as_bytes(), &json!({"type": "response", "id": 31, "outcome": "accept"}))?;
    let (read, back) = (described(&input)?, described(&trace)?);
    if read.len() != 12 || read != back {
        return Err(format!("the trace is {back:?}, and not {read:?}"));
    }
    // Cut short, and headers that lie.
    for broken in [&file[..7], &file[..40], &file[..file.len() - 1]] {
        std::fs::write(&input, broken).map_err(|e| e.to_string())?;
        talk.ask(ask(32).as_bytes(), &json!({"type": "error", "id": 32, "message": "input.safetensors"}))?;
    }
    for lie in [
        // 2^62 elements of 4 bytes, which a product of 64 bits takes for none.
        r#"{"x":{"dtype":"F32","shape":[4611686018427387904],"data_offsets":[0,0]}}"#,
        r#"{"x":{"dtype":"F32","shape":[-1,0],"data_offsets":[0,0]}}"#,
        r#"{"x":{"dtype":"F32","shape":[1],"data_offsets":[0,0]}}"#,
        // A dtype that is none, and elements that end before they begin, or begin before the first.
        r#"{"x":{"dtype":"F31","shape":[0],"data_offsets":[0,0]}}"#,
        r#"{"x":{"dtype":"F32","shape":[0],"data_offsets":[8,4]}}"#,
        r#"{"x":{"dtype":"F32","shape":[1],"data_offsets":[-4,0]}}"#,
        // Extents that are no integers, no list of extents, and half of a surrogate pair as a name.
        r#"{"x":{"dtype":"F32","shape":[0.0],"data_offsets":[0,0]}}"#,
        r#"{"x":{"dtype":"F32","shape":"","data_offsets":[0,4]}}"#,
        r#"{"\ud800":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},"x":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}"#,
        r#"{"x":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},"x":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}"#,
    ] {
        std::fs::write(&input, tensor_file(lie, &[0; 8])).map_err(|e| e.to_string())?;
        talk.ask(ask(33).as_bytes(), &json!({"type": "error", "id": 33, "message": "input.safetensors"}))
            .map_err(|e| format!("{lie}: {e}"))?;
    }
    // No file, and a folder in its place.
    std::fs::remove_file(&input).map_err(|e| e.to_string())?;
    talk.ask(ask(34).as_bytes(), &json!({"type": "error", "id": 34, "message": "input.safetensors"}))?;
    std::fs::create_dir(&input).map_err(|e| e.to_string())?;
    talk.ask(ask(35).as_bytes(), &json!({"type": "error", "id": 35, "message": "input.safetensors"}))
}

/// A file with this header and these elements.
fn tensor_file(header: &str, elements: &[u8]) -> Vec<u8> {
    [&(header.len() as u64).to_le_bytes(), header.as_bytes(), elements].concat()
}

/// Header and elements of a file; the elements have to begin at a multiple of 8.
fn parts(path: &Path) -> Result<(Value, Vec<u8>), String> {
    let file = std::fs::read(path).map_err(|e| format!("{}: {e}", path.display()))?;
    let (length, rest) = file.split_first_chunk::<8>().ok_or("a file that was written is empty")?;
    let length = usize::try_from(u64::from_le_bytes(*length)).map_err(|e| e.to_string())?;
    let (text, data) = rest.split_at_checked(length).ok_or("a file that was written has no header")?;
    let header = serde_json::from_slice(text).map_err(|e| format!("{}: its header: {e}", path.display()))?;
    if length % 8 != 0 {
        return Err(format!("{}: its header has {length} bytes", path.display()));
    }
    Ok((header, data.to_vec()))
}

/// Writes a file with a tensor of rank 0 of every dtype, an empty one, and the `x` that the worker looks for.
fn every_dtype(path: &Path) -> Result<(), String> {
    let dtypes = [
        ("F64", 8),
        ("F16", 2),
        ("BF16", 2),
        ("I32", 4),
        ("I8", 1),
        ("U8", 1),
        ("BOOL", 1),
        ("F8_E4M3", 1),
        ("F8_E5M2", 1),
        ("F32", 4),
    ];
    let (mut header, mut data) = (serde_json::Map::new(), Vec::new());
    let mut add = |name: &str, dtype: &str, shape: Value, size: u8| {
        let first = data.len();
        data.extend((0..size).map(|n| if dtype == "BOOL" { 1 } else { n + 1 }));
        header.insert(
            name.to_owned(),
            json!({"dtype": dtype, "shape": shape, "data_offsets": [first, data.len()]}),
        );
    };
    dtypes.iter().for_each(|(dtype, size)| add(dtype, dtype, json!([]), *size));
    add("empty", "F16", json!([2, 0]), 0);
    add("x", "F32", json!([3, 1]), 12);
    let mut header = Value::Object(header).to_string();
    header.push_str(&" ".repeat(header.len().next_multiple_of(8) - header.len()));
    std::fs::write(path, tensor_file(&header, &data)).map_err(|e| e.to_string())
}

/// Dtype, shape and bytes of each tensor of a file, by name: where they lie is for the writer to say.
fn described(path: &Path) -> Result<BTreeMap<String, Value>, String> {
    let (header, data) = parts(path)?;
    let members = header.as_object().ok_or("the header is no object")?;
    let described = members.iter().map(|(name, tensor)| {
        let [first, end] =
            [0, 1].map(|n| tensor["data_offsets"][n].as_u64().and_then(|n| usize::try_from(n).ok()));
        let bytes = first
            .zip(end)
            .and_then(|(first, end)| data.get(first..end))
            .ok_or(format!("`{name}` lies beyond {}", path.display()))?;
        Ok((name.clone(), json!([tensor["dtype"], tensor["shape"], bytes])))
    });
    described.collect()
}
