//! The last links of the chain: documents as CUDA C++ that is run on the CPU, and as programs of opcodes that the VM runs.

mod cuda;
mod layer;
mod passes;
mod plays;
mod programs;
mod task_types;
mod traffic;
