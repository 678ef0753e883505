// Goes on as soon as the counters are there, without a fence.
#define FAULTY_PROCEED
#include "wait.inc"
