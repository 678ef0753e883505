//! Each library is broken in ways in which adapters are: the conversation notices.

use std::time::Duration;

use super::conversation;
use super::languages::Language;

/// What goes wrong, the language, and the text of which file of the library stands for which.
type Fault = (&'static str, Language, &'static str, &'static str, &'static str);

const PYTHON: &str = "src/megakernel_adapter/worker.py";
const HEADER: &str = "megakernel_adapter.hpp";
const GO: &str = "adapter.go";
const RUST: &str = "src/lib.rs";

#[rustfmt::skip]
const FAULTS: &[Fault] = &[
    ("no flush", Language::Python, PYTHON, "            output.flush()  # the runner waits for it\n", ""),
    ("two answers", Language::Python, PYTHON, "output.write(self.reply(line))", "output.write(self.reply(line) * 2)"),
    ("another id", Language::Python, PYTHON, "\"id\": request.id, **", "\"id\": request.id + 1, **"),
    ("a swallowed exception", Language::Python, PYTHON, "            traceback.print_exc()\n            raise BadMessage(\"%s: %s\" % (type(error).__name__, error), request.id) from error",
        "            return json.dumps({\"type\": \"response\", \"id\": request.id, \"outcome\": \"accept\"}).encode()"),
    ("base64 as text", Language::Python, PYTHON, "base64.b64decode(message[\"document_base64\"], validate=True)", "message[\"document_base64\"].encode()"),
    ("big-endian tensors", Language::Python, "src/megakernel_adapter/tensors.py", "data = struct.pack(\"<%d%s\" % (len(given), FORMATS[dtype]), *given)", "return cls(dtype, tuple(shape), struct.pack(\">%d%s\" % (len(given), FORMATS[dtype]), *given))"),
    ("an exit code", Language::Python, PYTHON, "                self.serve(sys.stdin.buffer, output)\n", "                self.serve(sys.stdin.buffer, output)\n                sys.exit(1)\n"),
    ("no flush", Language::Cpp, HEADER, "if (!written || std::fflush(output) != 0)", "if (!written)"),
    ("two answers", Language::Cpp, HEADER, "this->reply(line) + \"\\n\"", "this->reply(line) + \"\\n\" + this->reply(line) + \"\\n\""),
    ("another id", Language::Cpp, HEADER, "answer.response(request.id)", "answer.response(request.id + 1)"),
    ("a swallowed exception", Language::Cpp, HEADER, "      error.members.emplace_back(\"message\", why.what());", "      error.members.emplace_back(\"outcome\", \"accept\"), error.members[0].second = \"response\", (void)why;"),
    ("base64 as text", Language::Cpp, HEADER, "request.document = base64(message.need", "request.document = std::string(message.need"),
    ("big-endian tensors", Language::Cpp, HEADER, "return little ? n", "return !little ? n"),
    ("no flush", Language::Go, GO, "output.Write(append(w.reply(line), '\\n'))", "bufio.NewWriterSize(output, 1<<20).Write(append(w.reply(line), '\\n'))"),
    ("two answers", Language::Go, GO, "append(w.reply(line), '\\n')", "append(w.reply(line), append([]byte{'\\n'}, append(w.reply(line), '\\n')...)...)"),
    ("another id", Language::Go, GO, "{\"response\", given, answer}", "{\"response\", given + 1, answer}"),
    ("a swallowed exception", Language::Go, GO, "\t\t\terr = fmt.Errorf(\"panic: %v\", cause)", "\t\t\tanswer, err = Accept(), nil"),
    ("base64 as text", Language::Go, GO, "\t\tmember(\"document_base64\", &request.Document)", "\t\tvar text string\n\t\tmember(\"document_base64\", &text)\n\t\trequest.Document = []byte(text)"),
    ("big-endian tensors", Language::Go, "tensors.go", "binary.LittleEndian.AppendUint32(data, math.Float32bits(value))", "binary.BigEndian.AppendUint32(data, math.Float32bits(value))"),
    ("no flush", Language::Rust, RUST, "            output.write_all(reply.as_bytes())?;\n            output.flush()?; // the runner waits for it", "            std::io::BufWriter::with_capacity(1 << 20, &mut *output).into_parts().0.flush()?;"),
    ("two answers", Language::Rust, RUST, "            reply.push('\\n');", "            reply = format!(\"{reply}\\n{reply}\\n\");"),
    ("another id", Language::Rust, RUST, "Json::from(\"response\")), (\"id\".to_owned(), Json::from(given))", "Json::from(\"response\")), (\"id\".to_owned(), Json::from(given + 1))"),
    ("a swallowed exception", Language::Rust, RUST, "let answer = self.answer(&request)?;", "let answer = self.answer(&request).unwrap_or(accept());"),
    ("base64 as text", Language::Rust, RUST, "request.document = base64(&text(&message, \"document_base64\")?)?;", "request.document = text(&message, \"document_base64\")?.into_bytes();"),
    ("big-endian tensors", Language::Rust, "src/tensors.rs", "let data = values.iter().flat_map(|value| value.to_le_bytes()).collect();\n        Tensor { dtype: \"F32\"", "let data = values.iter().flat_map(|value| value.to_be_bytes()).collect();\n        Tensor { dtype: \"F32\""),
];

/// Which sentence of the conversation says so.
fn sentence(what: &str) -> &'static str {
    match what {
        "no flush" => "no answer",
        "another id" => "`id` is not",
        "base64 as text" => "document_base64",
        "big-endian tensors" => "the output is {",
        "an exit code" => "it ended with exit status: 1",
        // An answer too many stands where the next one should, and an acceptance where an error should.
        _ => "`type` is not",
    }
}

fn notice(language: Language) {
    let faults: Vec<_> = FAULTS.iter().filter(|fault| fault.1 == language).collect();
    assert!(faults.len() >= 6, "{} faults", faults.len());
    for (what, _, file, from, to) in faults {
        let directory = tempfile::tempdir().expect("a temporary directory");
        let command = language.broken(file, from, to, directory.path());
        // An answer without a flush comes when the input is closed, which is never as long as somebody waits for it.
        let patience = Duration::from_secs(if *what == "no flush" { 2 } else { 30 });
        let noticed = conversation::checked(language, &command, patience).expect_err(what);
        assert!(noticed.contains(sentence(what)), "{language:?}: {what} is noticed as: {noticed}");
    }
}

#[test]
fn a_broken_library_in_python_is_noticed() {
    notice(Language::Python);
}

#[test]
#[ignore = "needs minutes; the release gate runs it"]
fn minutes_of_broken_libraries_in_cpp_are_noticed() {
    notice(Language::Cpp);
}

#[test]
#[ignore = "needs minutes; the release gate runs it"]
fn minutes_of_broken_libraries_in_rust_are_noticed() {
    notice(Language::Rust);
}

#[test]
#[ignore = "needs minutes, and Go; the release gate runs it"]
fn minutes_of_broken_libraries_in_go_are_noticed() {
    notice(Language::Go);
}
