//! A worker that judges two rules: S01, a document is JSON, and S02, no object has two members of one name.

use megakernel_adapter::{Answer, Request, Worker, accept, json, reject};

fn validate(request: &Request) -> Result<Answer, String> {
    Ok(match json::parse_with_repeats(&request.document) {
        Err(error) => reject("S01", &error.to_string(), ""),
        Ok((_, repeated)) => match repeated.first() {
            Some(name) => reject("S02", &format!("the member `{name}` occurs twice in one object"), ""),
            None => accept(),
        },
    })
}

fn main() -> std::process::ExitCode {
    Worker::new("minimal-rust", "0.1.0", &["format"]).rules(&["S01", "S02"]).on("validate", validate).run()
}
