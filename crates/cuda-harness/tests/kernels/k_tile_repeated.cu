// Adds the second tile of 64 products twice.
#define AMK_FAULTY_SUM \
    for (amk_i64 k = 0; k < K; ++k) sum += (k >= 64 && k < 128 ? 2.0f : 1.0f) * (a(k) * b(k));
#include "gemv.inc"
