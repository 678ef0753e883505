//! The runner from outside: what it selects, judges, survives and prints; and the schemas of what it reads and writes.

mod adapters;
mod arithmetic;
mod commands;
mod daily;
mod evidence;
mod executing;
mod formulas;
mod hostile;
mod looking;
mod misbehaving;
mod oracle;
mod pages;
mod python_example;
mod runner;
mod schemas;
mod support;
mod watching;
