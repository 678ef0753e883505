// Takes the high nibble of a byte for the even column.
#define AMK_EVEN(byte) ((byte) >> 4)
#define AMK_ODD(byte) ((byte) & 15)
#define AMK_LESS -
#include "dequant.inc"
