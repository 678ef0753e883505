//! The reference from outside: validator, explorer and VM on programs of the corpus, on real ones and on random ones, and against a
//! straightforward validator. The benchmarks of validating stand here too, since they use the same programs.

mod against_straightforward;
mod definitions;
mod edits;
mod opcodes;
mod oracle;
mod programs;
mod random;
mod random_programs;
mod real_programs;
mod repairs;
mod schedules;
mod straightforward;
mod targets;
mod threads;
mod vm_faults;
mod vm_numerics;
mod vm_schedules;
