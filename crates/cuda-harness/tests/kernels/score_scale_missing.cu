// Does not scale the scores.
#define SCALE 1.0f
#include "attention.inc"
