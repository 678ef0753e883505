// Acquires after the first counter, and not after the others.
#define FAULTY_POLLED(w) if (w == 0) amk_fence()
#define FAULTY_PROCEED
#include "wait.inc"
