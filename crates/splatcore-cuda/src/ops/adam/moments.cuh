// How Adam's moments lie in memory. Host twin of the formats: src/moments.rs, which says why they
// are these.
//
// A value between two stored ones goes to one of them by chance, to each with the probability that
// makes the expectation the value itself: beta 0.999 changes a second moment by far less than a
// format's step, and always rounding to nearest would never let it decay. Chance is a hash of
// (seed, step, number), so equal runs round equally.

#pragma once
#include "random.cuh"

// The high half of an f32.
struct Bf16 {
    u16 bits;
};

// 0, or 2^(LOG8_TOP - (255 - code) LOG8_STEP): from 3.5e-31 to 64, neighbours a factor 1.34 apart.
struct Log8 {
    u8 code;
};

#define LOG8_TOP 6.0f
#define LOG8_STEP 0.421875f  // 27/64: exponents are exact
#define LOG8_BOTTOM (LOG8_TOP - 254.0f * LOG8_STEP)
#define LOG8_RATIO 1.33966752f  // 2^LOG8_STEP

__device__ __forceinline__ float load(float from) { return from; }
__device__ __forceinline__ float load(Bf16 from) { return __uint_as_float((u32)from.bits << 16); }
__device__ __forceinline__ float load(Log8 from) {
    // 2^23 has the code as its last bits: a conversion would wait for the special-function unit.
    float code = __uint_as_float(0x4b000000u | from.code) - 8388608.0f;
    float value = exp2_approx(fmaf(code, LOG8_STEP, LOG8_BOTTOM - LOG8_STEP));
    return from.code ? value : 0.0f;
}

// `chance`: 16 random bits.
__device__ __forceinline__ void store(float& to, float value, u32) { to = value; }

__device__ __forceinline__ void store(Bf16& to, float value, u32 chance) {
    u32 bits = __float_as_uint(value);
    // What is not finite must not be carried into something else.
    if ((bits & 0x7f800000u) != 0x7f800000u) bits += chance;
    to.bits = (u16)(bits >> 16);
}

// The code below a value and how far above that code's it lies decide. One code too low with a
// share of 1, or one too high with a share of 0, mean the same, so the logarithm need not be exact.
// Rounding is by adding 1.5 2^23, and the share comes from the value times 1 / the code's:
// conversions and the quotient would wait for the special-function unit, of which every number
// already wants five.
__device__ __forceinline__ void store(Log8& to, float value, u32 chance) {
    // The last code whose value is not above, code 0 below the range; at the top one less, from
    // which the excess goes up.
    float code =
        fmaf(log2_approx(value), 1.0f / LOG8_STEP, 0.5f - LOG8_BOTTOM * (1.0f / LOG8_STEP));
    float rounded = fminf(fmaxf(code, 0.0f), 254.0f) + 12582912.0f;
    code = rounded - 12582912.0f;
    float times = value * exp2_approx(fmaf(fmaxf(code, 1.0f), -LOG8_STEP, LOG8_STEP - LOG8_BOTTOM));
    // In 65,536 parts: the value as one of the lowest code's, or how much of the way to the next
    // code's.
    const float part = 65536.0f / (LOG8_RATIO - 1.0f);
    float share = code > 0.0f ? fmaf(times, part, -part - 0.5f) : fmaf(times, 65536.0f, -0.5f);
    to.code = (u8)(__float_as_uint(rounded) + ((float)chance < share));
}

// What all numbers of a step share.
__device__ __forceinline__ u32 rounding_key(u64 seed, u32 step) {
    return (u32)mix(mix(seed) ^ step);
}

// 32 random bits (the finaliser of MurmurHash3): the low half for the first moment, the high half
// for the second. Every Gaussian has 64 numbers; that 2^26 Gaussians on they come again does not
// matter.
__device__ __forceinline__ u32 rounding_bits(u32 key, u32 gaussian, u32 number) {
    u32 x = key ^ (64 * gaussian + number);
    x = (x ^ (x >> 16)) * 0x85ebca6bu;
    x = (x ^ (x >> 13)) * 0xc2b2ae35u;
    return x ^ (x >> 16);
}
