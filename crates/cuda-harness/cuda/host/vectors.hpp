// CUDA's vectors, with its alignment: those of two and four elements lie as a load of theirs wants it, up to 16 bytes.
#pragma once

#define AMK_VECTORS(T, NAME)                                                            \
    struct NAME##1 {                                                                    \
        T x;                                                                            \
    };                                                                                  \
    struct alignas(2 * sizeof(T)) NAME##2 {                                             \
        T x, y;                                                                         \
    };                                                                                  \
    struct NAME##3 {                                                                    \
        T x, y, z;                                                                      \
    };                                                                                  \
    struct alignas(4 * sizeof(T) < 16 ? 4 * sizeof(T) : 16) NAME##4 {                   \
        T x, y, z, w;                                                                   \
    };                                                                                  \
    inline NAME##1 make_##NAME##1(T x) { return {x}; }                                  \
    inline NAME##2 make_##NAME##2(T x, T y) { return {x, y}; }                          \
    inline NAME##3 make_##NAME##3(T x, T y, T z) { return {x, y, z}; }                  \
    inline NAME##4 make_##NAME##4(T x, T y, T z, T w) { return {x, y, z, w}; }

AMK_VECTORS(signed char, char)
AMK_VECTORS(unsigned char, uchar)
AMK_VECTORS(short, short)
AMK_VECTORS(unsigned short, ushort)
AMK_VECTORS(int, int)
AMK_VECTORS(unsigned, uint)
AMK_VECTORS(long, long)
AMK_VECTORS(unsigned long, ulong)
AMK_VECTORS(long long, longlong)
AMK_VECTORS(unsigned long long, ulonglong)
AMK_VECTORS(float, float)
AMK_VECTORS(double, double)
#undef AMK_VECTORS

// Extents; those that are not given are 1.
struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
    constexpr dim3(uint3 all) : x(all.x), y(all.y), z(all.z) {}
};
