// Numbers of 8 bits, for kernels on the CPU. As in CUDA, a conversion by a constructor saturates: what is too large becomes the largest number,
// which a cast of the specification does not (NUM-02).
#pragma once

#include "cuda_bf16.h"
#include "cuda_fp16.h"

typedef unsigned char __nv_fp8_storage_t;
typedef unsigned short __nv_fp8x2_storage_t;
enum __nv_saturation_t { __NV_NOSAT, __NV_SATFINITE };
enum __nv_fp8_interpretation_t { __NV_E4M3, __NV_E5M2 };

inline __nv_fp8_storage_t __nv_cvt_float_to_fp8(float value, __nv_saturation_t saturates, __nv_fp8_interpretation_t kind) {
    const float most = kind == __NV_E4M3 ? 448.0f : 57344.0f;
    if (saturates == __NV_SATFINITE && value == value) value = fminf(fmaxf(value, -most), most);
    return __nv_fp8_storage_t(kind == __NV_E4M3 ? amk_e4m3::encode(value) : amk_e5m2::encode(value));
}
inline __nv_fp8_storage_t __nv_cvt_double_to_fp8(double value, __nv_saturation_t saturates, __nv_fp8_interpretation_t kind) {
    return __nv_cvt_float_to_fp8(shim::to_odd(value), saturates, kind);
}
inline __nv_fp8x2_storage_t __nv_cvt_float2_to_fp8x2(float2 value, __nv_saturation_t saturates, __nv_fp8_interpretation_t kind) {
    return __nv_fp8x2_storage_t(__nv_cvt_float_to_fp8(value.x, saturates, kind) | __nv_cvt_float_to_fp8(value.y, saturates, kind) << 8);
}

namespace shim {

template <typename Format, __nv_fp8_interpretation_t KIND>
struct Quarter {
    __nv_fp8_storage_t __x;

    Quarter() = default;
    explicit Quarter(float value) : __x(__nv_cvt_float_to_fp8(value, __NV_SATFINITE, KIND)) {}
    explicit Quarter(double value) : __x(__nv_cvt_double_to_fp8(value, __NV_SATFINITE, KIND)) {}
    explicit Quarter(__half value) : Quarter(float(value)) {}
    explicit Quarter(__nv_bfloat16 value) : Quarter(float(value)) {}
    explicit operator float() const { return Format::decode(__x); }
    explicit operator __half() const { return float(*this); }
    explicit operator __nv_bfloat16() const { return float(*this); }
};

// So many of them in one word, the first one in its lowest bits.
template <typename Q, typename Word, typename Floats>
struct Quarters {
    Word __x;

    Quarters() = default;
    explicit Quarters(Floats values) : __x(0) {
        float each[sizeof(Word)];
        std::memcpy(each, &values, sizeof values);
        for (unsigned i = 0; i < sizeof(Word); ++i) __x = Word(__x | Word(Q(each[i]).__x) << 8 * i);
    }
    explicit operator Floats() const {
        float each[sizeof(Word)];
        for (unsigned i = 0; i < sizeof(Word); ++i) {
            Q one;
            one.__x = __nv_fp8_storage_t(__x >> 8 * i);
            each[i] = float(one);
        }
        Floats values;
        std::memcpy(&values, each, sizeof values);
        return values;
    }
};

}  // namespace shim

using __nv_fp8_e4m3 = shim::Quarter<amk_e4m3, __NV_E4M3>;
using __nv_fp8_e5m2 = shim::Quarter<amk_e5m2, __NV_E5M2>;
using __nv_fp8x2_e4m3 = shim::Quarters<__nv_fp8_e4m3, std::uint16_t, float2>;
using __nv_fp8x2_e5m2 = shim::Quarters<__nv_fp8_e5m2, std::uint16_t, float2>;
using __nv_fp8x4_e4m3 = shim::Quarters<__nv_fp8_e4m3, std::uint32_t, float4>;
using __nv_fp8x4_e5m2 = shim::Quarters<__nv_fp8_e5m2, std::uint32_t, float4>;
