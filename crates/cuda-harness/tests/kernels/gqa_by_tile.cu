// Gives the heads of the kv heads in turns.
#define KV_HEAD(h) ((h) % p.n_kv_heads)
#include "attention.inc"
