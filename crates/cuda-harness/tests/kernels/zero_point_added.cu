// Adds the zero point instead of subtracting it.
#define AMK_EVEN(byte) ((byte) & 15)
#define AMK_ODD(byte) ((byte) >> 4)
#define AMK_LESS +
#include "dequant.inc"
