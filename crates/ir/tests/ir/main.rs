//! Reading and writing programs.

mod real_programs;
mod round_trip;
