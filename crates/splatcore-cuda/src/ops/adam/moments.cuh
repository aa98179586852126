// Formats of Adam's moments in memory, and the rounding of them and of harmonics, for adam.cu. Host
// twin: src/ops/adam/moments.rs, which gives the reasons for the formats.
//
// Rounding is stochastic: a value between two stored ones becomes either, with the probability that
// makes the expectation the value itself. With beta 0.999 a second moment changes by far less than
// a format's step, so rounding to nearest would never let it decay. The random bits are a hash of
// (seed, step, number), so equal runs round equally.
//
// Constants (moments.rs): LOG8_TOP, the exponent of the largest value of Log8; LOG8_STEP, that
// between two codes; LOG8_RATIO, 2^LOG8_STEP.

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

// A moment that is not kept: 0, and nothing is read or written.
struct Nothing {};

#define LOG8_BOTTOM (LOG8_TOP - 254.0f * LOG8_STEP)

__device__ __forceinline__ float load(float from) { return from; }
__device__ __forceinline__ float load(Bf16 from) { return __uint_as_float((u32)from.bits << 16); }
__device__ __forceinline__ float load(Log8 from) {
    // 2^23 + code has the code as its last bits. A conversion instruction would wait for the
    // special-function unit.
    float code = __uint_as_float(0x4b000000u | from.code) - 8388608.0f;
    float value = exp2_approx(fmaf(code, LOG8_STEP, LOG8_BOTTOM - LOG8_STEP));
    return from.code ? value : 0.0f;
}

__device__ __forceinline__ float load(const Nothing&) { return 0.0f; }

// `chance`: 16 random bits.
__device__ __forceinline__ void store(float& to, float value, u32) { to = value; }

__device__ __forceinline__ void store(Bf16& to, float value, u32 chance) {
    u32 bits = __float_as_uint(value);
    // A carry must not turn infinity or not-a-number into another value.
    if ((bits & 0x7f800000u) != 0x7f800000u) bits += chance;
    to.bits = (u16)(bits >> 16);
}

__device__ __forceinline__ void store(Nothing&, float, u32) {}

// Takes the largest code whose value is not above `value`, or the next one with the probability
// `share`, the position between the two. A code one too low with a share of 1 equals the code
// itself with a share of 0, so the logarithm need not be exact. Adding 1.5 2^23 rounds, and a
// product with the inverse replaces the quotient: conversions and quotients would wait for the
// special-function unit, which every number uses five times already.
__device__ __forceinline__ void store(Log8& to, float value, u32 chance) {
    // The largest code whose value is not above `value`, 0 below the range. At the top it is capped
    // at 254, from which the share can lead to 255.
    float code =
        fmaf(log2_approx(value), 1.0f / LOG8_STEP, 0.5f - LOG8_BOTTOM * (1.0f / LOG8_STEP));
    float rounded = fminf(fmaxf(code, 0.0f), 254.0f) + 12582912.0f;
    code = rounded - 12582912.0f;
    float times = value * exp2_approx(fmaf(fmaxf(code, 1.0f), -LOG8_STEP, LOG8_STEP - LOG8_BOTTOM));
    // The share in units of 1/65,536: for code 0 value / (value of code 1), else the position
    // between the code's value and the next one's.
    const float part = 65536.0f / (LOG8_RATIO - 1.0f);
    float share = code > 0.0f ? fmaf(times, part, -part - 0.5f) : fmaf(times, 65536.0f, -0.5f);
    to.code = (u8)(__float_as_uint(rounded) + ((float)chance < share));
}

#define MAX_HALF 65504.0f
// From here on halves have 11 bits; those below are as far apart as those just above, 2^-24.
#define NORMAL_HALF 6.103515625e-5f
#define HALF_APART 5.9604644775390625e-8f

// The half below or above a number, towards 0 or away from it, with the probability that makes the
// expectation the number. `chance`: 16 random bits.
__device__ __forceinline__ float rounded_to_half(float number, u32 chance) {
    const float size = fabsf(number);
    if (!(size < MAX_HALF)) return size > MAX_HALF ? copysignf(MAX_HALF, number) : number;
    const float share = float(chance) * (1.0f / 65536.0f);
    const float rounded = size < NORMAL_HALF
                              ? floorf(fmaf(size, 1.0f / HALF_APART, share)) * HALF_APART
                              : __uint_as_float((__float_as_uint(size) + (chance >> 3)) & ~0x1fffu);
    return copysignf(rounded, number);
}

// The part of the hash that all numbers of a step share.
__device__ __forceinline__ u32 rounding_key(u64 seed, u32 step) {
    return (u32)mix(mix(seed) ^ step);
}

// 32 random bits (the finaliser of MurmurHash3): the low half for the first moment, the high half
// for the second. A Gaussian takes 64 inputs, so the bits repeat after 2^26 Gaussians, which is
// harmless.
__device__ __forceinline__ u32 rounding_bits(u32 key, u32 gaussian, u32 number) {
    u32 x = key ^ (64 * gaussian + number);
    x = (x ^ (x >> 16)) * 0x85ebca6bu;
    x = (x ^ (x >> 13)) * 0xc2b2ae35u;
    return x ^ (x >> 16);
}
