//! `megakernel-codegen [--check]`: what `cargo xtask codegen` does, as a program that compiles in seconds.

use std::path::Path;
use std::process::ExitCode;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let check = match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => false,
        ["--check"] => true,
        _ => {
            eprintln!("usage: megakernel-codegen [--check]");
            return ExitCode::from(2);
        }
    };
    match megakernel_codegen::update(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../.."), check) {
        Ok(done) => {
            println!("{done}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
