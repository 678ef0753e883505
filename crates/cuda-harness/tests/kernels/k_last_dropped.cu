// Leaves out the last product of each sum.
#define AMK_FAULTY_SUM \
    for (amk_i64 k = 0; k + 1 < K; ++k) sum = fmaf(a(k), b(k), sum);
#include "gemv.inc"
