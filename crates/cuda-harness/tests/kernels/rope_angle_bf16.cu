// Holds the angle in BF16.
#define ANGLE(a) amk_bf16::decode(amk_bf16::encode(a))
#include "rope.inc"
