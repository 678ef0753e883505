//! Task graphs to programs and back (clauses TGR-18 and TGR-19).
