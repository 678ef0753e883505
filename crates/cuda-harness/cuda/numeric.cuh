// Elements of the ten dtypes, to and from binary32. Correctly rounded, without saturation (NUM-01, NUM-02).
#pragma once

#include "platform.cuh"

// A float format with E exponent bits and P fraction bits; FINITE: it has no infinities, and one NaN (F8E4M3).
template <int E, int P, bool FINITE>
struct amk_format {
    enum : int { BIAS = (1 << (E - 1)) - 1 };
    enum : amk_u32 {
        // The code of infinity; of the NaN, where there is no infinity.
        OVERFLOW = FINITE ? (1u << (E + P)) - 1 : ((1u << E) - 1) << P,
        NOT_A_NUMBER = FINITE ? OVERFLOW : OVERFLOW | 1u << (P - 1),
    };

    AMK_METHOD static float decode(amk_u32 code) {
        // With the exponent of binary32, its upper bits: whose subnormal numbers binary32 has no room below.
        if (E == 8) return __uint_as_float(code << (23 - P));
        const amk_u32 sign = (code >> (E + P)) << 31;
        const amk_u32 magnitude = code & ((1u << (E + P)) - 1);
        if (magnitude >= OVERFLOW) {
            const bool infinite = magnitude == OVERFLOW && !FINITE;
            return __uint_as_float(sign | (infinite ? 0x7f800000u : 0x7fc00000u));
        }
        const amk_u32 exponent = magnitude >> P;
        if (exponent == 0) {
            // A fraction times the smallest subnormal number: exact, for binary32 has room below it.
            const float smallest = __uint_as_float(amk_u32(127 + 1 - BIAS - P) << 23);
            const float value = float(magnitude) * smallest;
            return __uint_as_float(__float_as_uint(value) | sign);
        }
        return __uint_as_float(sign | ((magnitude << (23 - P)) + (amk_u32(127 - BIAS) << 23)));
    }

    AMK_METHOD static amk_u32 encode(float value) {
        const amk_u32 bits = __float_as_uint(value);
        if (E == 8) {
            // With the exponent of binary32, its upper bits: what is cut off rounds them, and a carry goes where it has to.
            const amk_u32 rounded = (bits + ((1u << (22 - P)) - 1 + (bits >> (23 - P) & 1u))) >> (23 - P);
            return (bits & 0x7fffffffu) > 0x7f800000u ? (bits >> 31 << (E + P)) | amk_u32(NOT_A_NUMBER) : rounded;
        }
        const amk_u32 sign = (bits >> 31) << (E + P);
        const amk_u32 magnitude = bits & 0x7fffffffu;
        if (magnitude > 0x7f800000u) return sign | NOT_A_NUMBER;
        if (magnitude == 0x7f800000u) return sign | OVERFLOW;
        const int exponent = magnitude >> 23 ? int(magnitude >> 23) : 1;
        const amk_u32 significand = magnitude >> 23 ? (magnitude & 0x7fffffu) | 0x800000u : magnitude;
        // The value is significand * 2^(exponent - 150). The unit of the result is 2^unit, never below the smallest
        // subnormal number.
        const int normal = exponent - 127 - P, least = 1 - BIAS - P;
        const int unit = normal > least ? normal : least;
        const int shift = unit - (exponent - 150);
        if (shift > 25) return sign;
        const amk_u32 kept = significand >> shift, rest = significand & ((1u << shift) - 1), half = 1u << (shift - 1);
        const amk_u32 rounded = kept + (rest > half || (rest == half && (kept & 1u)) ? 1u : 0u);
        // A carry out of the fraction goes into the exponent by itself.
        const amk_u32 code = (amk_u32(unit - least) << P) + rounded;
        return sign | (code >= OVERFLOW ? amk_u32(OVERFLOW) : code);
    }
};

typedef amk_format<5, 10, false> amk_f16;
typedef amk_format<8, 7, false> amk_bf16;
typedef amk_format<4, 3, true> amk_e4m3;
typedef amk_format<5, 2, false> amk_e5m2;

#ifdef AMK_HOST
AMK_DEVICE float amk_of_half(amk_u16 code) { return amk_f16::decode(code); }
#endif

// The elements of a chunk of one dtype: as many as N.
template <int DTYPE>
struct amk_elements;

template <>
struct amk_elements<AMK_DTYPE_F32> {
    static constexpr int N = 4;
    AMK_METHOD static float at(const amk_chunk& chunk, int i) { return __uint_as_float(chunk.word[i]); }
    AMK_METHOD static float one(const void* data, amk_i64 i) { return static_cast<const float*>(data)[i]; }
    // Elements are set in order, in a chunk of zeros.
    AMK_METHOD static void set(amk_chunk& chunk, int i, float value) { chunk.word[i] = __float_as_uint(value); }
};

template <>
struct amk_elements<AMK_DTYPE_F16> {
    static constexpr int N = 8;
    AMK_METHOD static float at(const amk_chunk& chunk, int i) {
        return amk_of_half(amk_u16(chunk.word[i / 2] >> (i % 2 ? 16 : 0)));
    }
    AMK_METHOD static float one(const void* data, amk_i64 i) { return amk_of_half(static_cast<const amk_u16*>(data)[i]); }
    AMK_METHOD static void set(amk_chunk& chunk, int i, float value) {
        chunk.word[i / 2] |= amk_f16::encode(value) << (i % 2 ? 16 : 0);
    }
};

template <>
struct amk_elements<AMK_DTYPE_BF16> {
    static constexpr int N = 8;
    AMK_METHOD static float at(const amk_chunk& chunk, int i) {
        const amk_u32 word = chunk.word[i / 2];
        return __uint_as_float(i % 2 ? word & 0xffff0000u : word << 16);
    }
    AMK_METHOD static float one(const void* data, amk_i64 i) {
        return __uint_as_float(amk_u32(static_cast<const amk_u16*>(data)[i]) << 16);
    }
    AMK_METHOD static void set(amk_chunk& chunk, int i, float value) {
        chunk.word[i / 2] |= amk_bf16::encode(value) << (i % 2 ? 16 : 0);
    }
};

// Integers of a chunk as they are meant: 16 signed bytes (I8), or 32 nibbles less 8 (I4). Each becomes bits of the fraction of 2^23, where
// it stands, and a multiplication and a difference in one, which are exact, bring it to its size: faster than a shift and a conversion.
template <int QDTYPE>
struct amk_integers;

template <>
struct amk_integers<AMK_DTYPE_I8> {
    static constexpr int N = 16;
    AMK_METHOD static float at(const amk_chunk& chunk, int i) {
        const amk_u32 word = chunk.word[i / 4] ^ 0x80808080u, half = i % 4 < 2 ? word : word >> 16, place = 8 * (i % 2);
        const float unit = float(1u << place);
        return fmaf(__uint_as_float(0x4b000000u | (half & 0xffu << place)), 1.0f / unit, -(8388608.0f / unit + 128.0f));
    }
};

template <>
struct amk_integers<AMK_DTYPE_I4> {
    static constexpr int N = 32;
    AMK_METHOD static float at(const amk_chunk& chunk, int i) {
        const amk_u32 word = chunk.word[i / 8], half = i % 8 < 4 ? word : word >> 16, place = 4 * (i % 4);
        const float unit = float(1u << place);
        return fmaf(__uint_as_float(0x4b000000u | (half & 15u << place)), 1.0f / unit, -(8388608.0f / unit + 8.0f));
    }
};

// Element i of a buffer of a dtype that is seldom an operand. There is one of it in a kernel: code
// that a task runs for the first time comes from far away, so that little of it is faster than much.
AMK_CALLED float amk_load_rare(const amk_buffer_t& buffer, amk_i64 i) {
    const amk_u8* data = static_cast<const amk_u8*>(buffer.ptr);
    switch (buffer.dtype) {
        case AMK_DTYPE_F8E4M3: return amk_e4m3::decode(data[i]);
        case AMK_DTYPE_F8E5M2: return amk_e5m2::decode(data[i]);
        case AMK_DTYPE_I4: return float(i % 2 ? data[i / 2] >> 4 : data[i / 2] & 15);
        default: return float(data[i]);
    }
}

// Element i of a buffer as a number. BOOL is 0 or 1; a nibble is its bits, 0 to 15.
AMK_DEVICE float amk_load(const amk_buffer_t& buffer, amk_i64 i) {
    const void* data = buffer.ptr;
    switch (buffer.dtype) {
        case AMK_DTYPE_F32: return static_cast<const float*>(data)[i];
        case AMK_DTYPE_F16: return amk_of_half(static_cast<const amk_u16*>(data)[i]);
        case AMK_DTYPE_BF16: return __uint_as_float(amk_u32(static_cast<const amk_u16*>(data)[i]) << 16);
        case AMK_DTYPE_I32: return float(static_cast<const int*>(data)[i]);
        case AMK_DTYPE_I8: return float(static_cast<const signed char*>(data)[i]);
        default: return amk_load_rare(buffer, i);
    }
}

// The same where no element is of 8 bits with a point, or of 4 bits: little enough for an inner loop.
AMK_DEVICE float amk_load_plain(const amk_buffer_t& buffer, amk_i64 i) {
    const void* data = buffer.ptr;
    switch (buffer.dtype) {
        case AMK_DTYPE_F32: return static_cast<const float*>(data)[i];
        case AMK_DTYPE_F16: return amk_of_half(static_cast<const amk_u16*>(data)[i]);
        case AMK_DTYPE_BF16: return __uint_as_float(amk_u32(static_cast<const amk_u16*>(data)[i]) << 16);
        case AMK_DTYPE_I8: return float(static_cast<const signed char*>(data)[i]);
        default: return float(static_cast<const amk_u8*>(data)[i]);
    }
}

AMK_DEVICE bool amk_is_plain(const amk_buffer_t& buffer) {
    return buffer.dtype <= AMK_DTYPE_BF16 || buffer.dtype == AMK_DTYPE_I8 || buffer.dtype == AMK_DTYPE_U8;
}

// What `amk_store` does of F16 and of 8 bits, once in a kernel.
AMK_CALLED void amk_store_rare(const amk_buffer_t& buffer, amk_i64 i, float value) {
    void* data = buffer.ptr;
    switch (buffer.dtype) {
        case AMK_DTYPE_F16: static_cast<amk_u16*>(data)[i] = amk_u16(amk_f16::encode(value)); break;
        case AMK_DTYPE_F8E4M3: static_cast<amk_u8*>(data)[i] = amk_u8(amk_e4m3::encode(value)); break;
        case AMK_DTYPE_F8E5M2: static_cast<amk_u8*>(data)[i] = amk_u8(amk_e5m2::encode(value)); break;
        default: break;
    }
}

// Casts a number to element i of a buffer of a float dtype (NUM-02).
AMK_DEVICE void amk_store(const amk_buffer_t& buffer, amk_i64 i, float value) {
    void* data = buffer.ptr;
    switch (buffer.dtype) {
        case AMK_DTYPE_F32: static_cast<float*>(data)[i] = value; break;
        case AMK_DTYPE_BF16: static_cast<amk_u16*>(data)[i] = amk_u16(amk_bf16::encode(value)); break;
        default: amk_store_rare(buffer, i, value); break;
    }
}

AMK_DEVICE int amk_dtype_bits(int dtype) {
    switch (dtype) {
        case AMK_DTYPE_F32:
        case AMK_DTYPE_I32: return 32;
        case AMK_DTYPE_F16:
        case AMK_DTYPE_BF16: return 16;
        case AMK_DTYPE_I4: return 4;
        default: return 8;
    }
}
