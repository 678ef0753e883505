//! The program `megakernel-reference`: what it runs, and what it says of the specification's examples.

mod run_cli;
mod spec_examples;
