//! The commands of a spec author as a person meets them, and what holds between the corpus and the reference.

mod adequacy;
mod agree;
mod commands;
mod fuzz;
mod prove;
mod replay;
mod second_opinion;
