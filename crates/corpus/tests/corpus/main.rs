//! The generator, and what holds for every case that it makes.

mod cases;
mod generator;
