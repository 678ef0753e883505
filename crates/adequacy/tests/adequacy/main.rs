//! The second VM, and the faulty and legitimate implementations that are made of it.

mod opcodes;
mod workers;
