//! The reference of task graphs from outside: every rule, real and random graphs, replays, translations and generated code. The
//! benchmark of translating stands here too, since it uses the same kernel graphs.

mod against_straightforward;
mod code;
mod kernel_graphs;
mod kernels;
mod patient;
mod random_graphs;
mod real;
mod repairs;
mod replay;
mod rules;
mod sound;
mod straightforward;
mod support;
mod translate;
