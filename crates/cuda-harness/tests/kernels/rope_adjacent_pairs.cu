// Pairs each element with its neighbour.
#define FIRST(i) (2 * (i))
#define SECOND(i) (2 * (i) + 1)
#include "rope.inc"
