// Leaves out the last row of the window.
#define LAST_ROW (p.kv_start + p.kv_len - (p.kv_len > 1))
#include "attention.inc"
