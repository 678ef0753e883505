//! A worker that makes the mistakes that its documents name, and says what bytes it was given: for tests of the library.

use std::collections::BTreeMap;

use megakernel_adapter::{
    Answer, Diagnostic, Json, Request, Tensor, Worker, accept, read_tensors, reject, write_tensors,
};

fn validate(request: &Request) -> Result<Answer, String> {
    match request.document.as_slice() {
        b"throw" => Err("thrown on purpose".to_owned()),
        b"panic" => Err(format!("no {}", [0_u8; 0].get(..1).expect("a panic on purpose").len())),
        b"silent" => Err(String::new()),
        // Each character is six bytes of the line.
        b"long" => Ok(reject("S01", &"\u{1}".repeat((1 << 26) / 6), "")),
        // What other threads print is no message, but nobody waits for ever.
        b"lock" => {
            let other = std::thread::spawn(|| drop(std::io::stdout().lock()));
            other.join().map_err(|_| "a thread that printed has failed".to_owned())?;
            Ok(accept())
        }
        b"nothing" => Ok(Answer::Reject(Vec::new())),
        b"both" => Ok(Answer::Accept(vec![Diagnostic::error("S01", "no", "")], None)),
        document => {
            let hex: String = document.iter().map(|byte| format!("{byte:02x}")).collect();
            Ok(reject("S01", &hex, ""))
        }
    }
}

fn roundtrip(request: &Request) -> Result<Answer, String> {
    if request.document == b"nothing" {
        return Ok(accept());
    }
    let text = String::from_utf8(request.document.clone()).map_err(|error| error.to_string())?;
    Ok(Answer::Accept(Vec::new(), Some(text)))
}

fn execute(request: &Request) -> Result<Answer, String> {
    for launch in &request.launches {
        let read = read_tensors(launch.tensors.first().ok_or("no file")?)?;
        let x = read.get("x").ok_or("no x")?;
        let twice: Vec<f32> = x.floats()?.iter().map(|value| value + value).collect();
        write_tensors(
            &launch.output,
            &BTreeMap::from([("y".to_owned(), Tensor::of_floats(&x.shape, &twice))]),
        )?;
        if let Some(trace) = &launch.trace {
            write_tensors(trace, &read)?;
        }
    }
    Ok(accept())
}

fn main() -> std::process::ExitCode {
    Worker::new("careless", "1", &["format", "execute"])
        .rules(&[])
        .claim("opcodes", Json::strings(&["ADD"]))
        .on("validate", validate)
        .on("roundtrip", roundtrip)
        .on("execute", execute)
        .run()
}
