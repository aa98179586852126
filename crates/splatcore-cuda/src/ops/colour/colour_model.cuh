// What the kernels of colour models have in common with the models: a pixel's colour and place, and
// numbers with a derivative, by which a model's factors are differentiated exactly.
//
// A model's file includes this, defines `struct Model` and includes colour_kernels.cuh. Constants:
// PHOTO_NUMBERS, CAMERA_NUMBERS, FACTORS, and those of the kernels. What a model is:
// splatcore-core/src/colour/model.rs.
//
// A `Model` has its factors in PARTS, each of which depends on numbers of its own: `factors` makes
// one part and hands places and factors to `put`; `number_of` is the number in a place of the
// part's `numbers_of`; `derive` adds what pixels need besides, DERIVED numbers behind the factors.
// BLOCKS of `colour_backward` fit a multiprocessor.

#pragma once

#include "splat.cuh"

struct Rgb {
    float value[3];
};

// From the image's centre, in units of its longer side.
struct Place {
    float x, y;
};

// Pixel i of [3][pixels], a pointer or ReadOnly.
template <class Planes>
__device__ __forceinline__ Rgb rgb_at(const Planes& planes, u32 pixels, u32 i) {
    Rgb rgb;
#pragma unroll
    for (u32 c = 0; c < 3; ++c) rgb.value[c] = planes[c * pixels + i];
    return rgb;
}

// A rgb + b, of the rows of [A | b].
__device__ __forceinline__ Rgb affine_of(const float* rows, Rgb rgb) {
    Rgb seen;
#pragma unroll
    for (u32 c = 0; c < 3; ++c) {
        const float* row = rows + 4 * c;
        seen.value[c] = fmaf(row[0], rgb.value[0],
                             fmaf(row[1], rgb.value[1], fmaf(row[2], rgb.value[2], row[3])));
    }
    return seen;
}

// Adds the gradient by [A | b], given that by A rgb + b.
__device__ __forceinline__ void add_affine(const float* by, Rgb rgb, float* sums) {
#pragma unroll
    for (u32 c = 0; c < 3; ++c) {
#pragma unroll
        for (u32 k = 0; k < 3; ++k) sums[4 * c + k] = fmaf(by[c], rgb.value[k], sums[4 * c + k]);
        sums[4 * c + 3] += by[c];
    }
}

// A value and its derivative by some number.
struct Dual {
    float value, slope;
    __device__ __forceinline__ Dual(float value = 0.0f, float slope = 0.0f)
        : value(value), slope(slope) {}
};

__device__ __forceinline__ Dual operator+(Dual a, Dual b) {
    return {a.value + b.value, a.slope + b.slope};
}
__device__ __forceinline__ Dual operator-(Dual a, Dual b) {
    return {a.value - b.value, a.slope - b.slope};
}
__device__ __forceinline__ Dual operator-(Dual a) { return {-a.value, -a.slope}; }
__device__ __forceinline__ Dual operator*(Dual a, Dual b) {
    return {a.value * b.value, a.slope * b.value + a.value * b.slope};
}
__device__ __forceinline__ Dual operator/(Dual a, Dual b) {
    const float value = a.value / b.value;
    return {value, (a.slope - value * b.slope) / b.value};
}
__device__ __forceinline__ Dual exponential(Dual a) {
    const float value = expf(a.value);
    return {value, a.slope * value};
}
__device__ __forceinline__ float exponential(float a) { return expf(a); }
__device__ __forceinline__ Dual logarithm(Dual a) { return {logf(a.value), a.slope / a.value}; }
__device__ __forceinline__ float logarithm(float a) { return logf(a); }
__device__ __forceinline__ Dual larger(Dual a, Dual b) { return a.value > b.value ? a : b; }
__device__ __forceinline__ float larger(float a, float b) { return a > b ? a : b; }
__device__ __forceinline__ float value_of(Dual a) { return a.value; }
__device__ __forceinline__ float value_of(float a) { return a; }
