// The first thread waits, and the others go on at once.
#define FAULTY_PROCEED amk_fence()
#define FAULTY_BARRIER if (threadIdx.x != 0) return true
#include "wait.inc"
