// Acquires at the scope of the block.
#define FAULTY_PROCEED __threadfence_block()
#include "wait.inc"
