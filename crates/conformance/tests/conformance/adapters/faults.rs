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
    ("no check of shapes", Language::Python, "src/megakernel_adapter/tensors.py", "if any(extent < 0 for extent in self.shape) or math.prod(self.shape) * SIZES[self.dtype] != len(self.data):", "if False:"),
    ("a shape of no integers", Language::Python, "src/megakernel_adapter/tensors.py", "type(number) is int for number", "True for number"),
    ("another size of a dtype", Language::Python, "src/megakernel_adapter/tensors.py", "\"F16\": 2,", "\"F16\": 4,"),
    ("a name twice", Language::Python, "src/megakernel_adapter/tensors.py", "if len(found) < len(pairs):", "if False:"),
    ("another alignment", Language::Python, "src/megakernel_adapter/tensors.py", "(-len(text) % 8)", "(-len(text) % 8 + 1)"),
    ("no trace", Language::Python, PYTHON, "launch.get(\"trace\"))", "None)"),
    ("any id", Language::Python, PYTHON, "not 0 <= id < 2**63", "id < 0"),
    ("a negative id", Language::Python, PYTHON, "not 0 <= id < 2**63", "id >= 2**63"),
    ("an error without an id", Language::Python, PYTHON, "% (len(text), LONGEST), request.id)", "% (len(text), LONGEST))"),
    ("output of handlers", Language::Python, PYTHON, "            os.dup2(2, 1)\n", ""),
    ("no flush", Language::Cpp, HEADER, "if (!written || std::fflush(output) != 0)", "if (!written)"),
    ("two answers", Language::Cpp, HEADER, "this->reply(line) + \"\\n\"", "this->reply(line) + \"\\n\" + this->reply(line) + \"\\n\""),
    ("another id", Language::Cpp, HEADER, "answer.response(request.id)", "answer.response(request.id + 1)"),
    ("a swallowed exception", Language::Cpp, HEADER, "      error.members.emplace_back(\"message\", why.what());", "      error.members.emplace_back(\"outcome\", \"accept\"), error.members[0].second = \"response\", (void)why;"),
    ("base64 as text", Language::Cpp, HEADER, "request.document = base64(message.need", "request.document = std::string(message.need"),
    ("big-endian tensors", Language::Cpp, HEADER, "return little ? n", "return !little ? n"),
    ("a shape that wraps", Language::Cpp, HEADER, "size > std::numeric_limits<std::uint64_t>::max() / times", "false"),
    ("no check of shapes", Language::Cpp, HEADER, "if (size != data.size()) throw", "if (size == 7) throw"),
    ("another size of a dtype", Language::Cpp, HEADER, "if (dtype == \"F64\") return 8;", "if (dtype == \"F64\") return 4;"),
    ("a name twice", Language::Cpp, HEADER, "!repeated.empty() ||", ""),
    ("another alignment", Language::Cpp, HEADER, "(8 - text.size() % 8) % 8", "(8 - text.size() % 8) % 8 + 1"),
    ("no trace", Language::Cpp, HEADER, "        if (launch.find(\"trace\")) one.trace = launch.need(\"trace\", Json::string).text;\n", ""),
    ("a path that is no string", Language::Cpp, HEADER, "if (path.kind != Json::string) throw", "if (path.kind == Json::string && path.text.empty()) throw"),
    ("no words", Language::Cpp, HEADER, "if (why.empty()) why", "if (why == \"?\") why"),
    ("output of handlers", Language::Cpp, HEADER, " || dup2(2, 1) < 0", ""),
    ("a signal", Language::Cpp, HEADER, "    std::signal(SIGPIPE, SIG_IGN);", "    //"),
    ("no empty list", Language::Cpp, HEADER, "if (rules) found", "if (rules && !rules->empty()) found"),
    ("no flush", Language::Go, GO, "output.Write(append(w.reply(line), '\\n'))", "bufio.NewWriterSize(output, 1<<20).Write(append(w.reply(line), '\\n'))"),
    ("two answers", Language::Go, GO, "append(w.reply(line), '\\n')", "append(w.reply(line), append([]byte{'\\n'}, append(w.reply(line), '\\n')...)...)"),
    ("another id", Language::Go, GO, "{\"response\", given, answer}", "{\"response\", given + 1, answer}"),
    ("a swallowed exception", Language::Go, GO, "\t\t\terr = fmt.Errorf(\"panic: %v\", cause)", "\t\t\tanswer, err = Accept(), nil"),
    ("base64 as text", Language::Go, GO, "\t\t\trequest.Document, err = base64.StdEncoding.DecodeString(text)\n", "\t\t\t_, err = base64.StdEncoding.DecodeString(text)\n\t\t\trequest.Document = []byte(text)\n"),
    ("big-endian tensors", Language::Go, "tensors.go", "binary.LittleEndian.AppendUint32(data, math.Float32bits(value))", "binary.BigEndian.AppendUint32(data, math.Float32bits(value))"),
    ("a shape that wraps", Language::Go, "tensors.go", "size > math.MaxUint64/uint64(extent)", "false"),
    ("no check of shapes", Language::Go, "tensors.go", "if size != uint64(len(t.Data)) {", "if size == 7 {"),
    ("another size of a dtype", Language::Go, "tensors.go", "\"F8_E4M3\": 1", "\"F8_E4M3\": 2"),
    ("a name twice", Language::Go, "tensors.go", "names != len(found)", "names < len(found)"),
    ("another alignment", Language::Go, "tensors.go", "len(text)%8 != 0", "len(text)%8 != 1"),
    ("no trace", Language::Go, GO, "\t\t\t\tmemberOf(from, \"trace\", &launch.Trace)\n", ""),
    ("a path that is no string", Language::Go, GO, "\t\t\treturn nil, errors.New(\"null stands for an element\")\n", "\t\t\tcontinue\n"),
    ("half of a pair", Language::Go, GO, "err := characters(line)", "err := characters(nil)"),
    ("bytes that are not UTF-8", Language::Go, GO, "utf8.ValidString(fmt.Sprint(answer.Diagnostics))", "true"),
    ("no words", Language::Go, GO, "if err.Error() == \"\" {", "if err.Error() == \"?\" {"),
    ("output of handlers", Language::Go, GO, "\tos.Stdout = os.Stderr\n", ""),
    ("a signal", Language::Go, GO, "\tsignal.Ignore(syscall.SIGPIPE)", "\tsignal.Reset(syscall.SIGPIPE)"),
    ("no empty list", Language::Go, GO, "if w.Rules != nil {", "if len(w.Rules) > 0 {"),
    ("no flush", Language::Rust, RUST, "            output.write_all(reply.as_bytes())?;\n            output.flush()?; // the runner waits for it", "            std::io::BufWriter::with_capacity(1 << 20, &mut *output).into_parts().0.flush()?;"),
    ("two answers", Language::Rust, RUST, "            reply.push('\\n');", "            reply = format!(\"{reply}\\n{reply}\\n\");"),
    ("another id", Language::Rust, RUST, "Json::from(\"response\")), (\"id\".to_owned(), Json::from(given))", "Json::from(\"response\")), (\"id\".to_owned(), Json::from(given + 1))"),
    ("a swallowed exception", Language::Rust, RUST, "let answer = self.answer(&request)?;", "let answer = self.answer(&request).unwrap_or(accept());"),
    ("base64 as text", Language::Rust, RUST, "request.document = base64(&text(&message, \"document_base64\")?)?;", "request.document = text(&message, \"document_base64\")?.into_bytes();"),
    ("big-endian tensors", Language::Rust, "src/tensors.rs", "let data = values.iter().flat_map(|value| value.to_le_bytes()).collect();\n        Tensor { dtype: \"F32\"", "let data = values.iter().flat_map(|value| value.to_be_bytes()).collect();\n        Tensor { dtype: \"F32\""),
    ("a shape that wraps", Language::Rust, "src/tensors.rs", "bytes.checked_mul(*extent)", "Some(bytes.wrapping_mul(*extent))"),
    ("no check of shapes", Language::Rust, "src/tensors.rs", "if bytes != u64::try_from(self.data.len()).ok() {", "if bytes.is_none() {"),
    ("another size of a dtype", Language::Rust, "src/tensors.rs", "\"F64\" => 8", "\"F64\" => 4"),
    ("a name twice", Language::Rust, "src/tensors.rs", "repeated.first()", "repeated.get(9)"),
    ("another alignment", Language::Rust, "src/tensors.rs", "next_multiple_of(8) - header.len()", "next_multiple_of(8) + 1 - header.len()"),
    ("no trace", Language::Rust, RUST, "launch.get(\"trace\").map(path).transpose()?", "None"),
    ("half of a pair", Language::Rust, "src/json.rs", "0x10000 + ((high", "((high"),
    ("no words", Language::Rust, RUST, "if why.is_empty()", "if why == \"?\""),
    ("a locked output", Language::Rust, RUST, "&mut std::io::stdout())", "&mut std::io::stdout().lock())"),
];

/// Which sentence of the conversation says so.
fn sentence(what: &str) -> &'static str {
    match what {
        "no flush" => "no answer",
        "another id" => "`id` is not",
        "base64 as text" => "document_base64",
        "big-endian tensors" => "the output is {",
        "a shape that wraps" => "[4611686018427387904]",
        "a shape of no integers" => "[0.0]",
        "no check of shapes" => "\"shape\":[",
        "a name twice" => "[0,0]},\"x\"",
        "another alignment" => "its header has",
        "no trace" => "trace.safetensors",
        "any id" | "a negative id" => "`id` is not null",
        "an error without an id" => "`id` is not 27",
        "output of handlers" => "this is no message",
        "a path that is no string" => "\"tensors\":[",
        "no words" => "without a word",
        "a signal" => "without an output it ended with signal: 13",
        "no empty list" => "`rules` is not []",
        "half of a pair" => "ud8",
        "bytes that are not UTF-8" => "\"document\":\"bytes\"",
        "a locked output" => "\"document\":\"lock\"",
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
        let patience = Duration::from_secs(match *what {
            "no flush" => 2,
            "a locked output" => 10,
            _ => 30,
        });
        let noticed = conversation::checked(language, &command, patience).expect_err(what);
        assert!(noticed.contains(sentence(what)), "{language:?}: {what} is noticed as: {noticed}");
    }
}

#[test]
#[ignore = "needs minutes; the release gate runs it"]
fn minutes_a_broken_library_in_python_is_noticed() {
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
