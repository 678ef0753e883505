//! CUDA C++ of a task graph: variants, dispatcher, tables (clause TGR-20).
