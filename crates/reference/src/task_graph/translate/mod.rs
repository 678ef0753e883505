//! Kernel graphs to task graphs: the published algorithm to the letter, and a sound one (clauses TGR-11 to TGR-17).
