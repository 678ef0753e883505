//! The program `megakernel-reference`: what it runs, what pages show of it, and what it says of the specification's examples.

mod mcir_page;
mod run_cli;
mod spec_examples;
