// Rounds the running sum to BF16 after each product.
#define AMK_FAULTY_SUM \
    for (amk_i64 k = 0; k < K; ++k) sum = amk_bf16::decode(amk_bf16::encode(fmaf(a(k), b(k), sum)));
#include "gemv.inc"
