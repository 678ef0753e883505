//! Commands of the suite.
fn main() {}
