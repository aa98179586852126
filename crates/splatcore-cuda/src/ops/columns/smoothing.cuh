// Mip-Splatting's 3D filter (Yu et al. 2024, section 4.1, equation 8), for shape_columns.cuh: each
// Gaussian is convolved with a Gaussian whose log standard deviation is `filter`, which the learner
// keeps. Its log scales grow, and ln opacity falls by the sum of their growths. Twin:
// splatcore-cpu/src/columns/smoothing.rs.

#pragma once
#include "splat.cuh"

// By how much a log scale grows: ln sqrt(1 + e^(2 (filter - log_scale))).
__device__ __forceinline__ float smoothing_growth(float log_scale, float filter) {
    float over = filter - log_scale;
    return fmaxf(over, 0.0f) + 0.5f * log1pf(expf(-2.0f * fabsf(over)));
}

__device__ __forceinline__ Vec3 smoothing_growth(Vec3 log_scales, float filter) {
    return {smoothing_growth(log_scales.x, filter), smoothing_growth(log_scales.y, filter),
            smoothing_growth(log_scales.z, filter)};
}

// dL/d(log scale), given that of the grown one and the one with respect to ln opacity.
__device__ __forceinline__ float smoothing_backward(float gradient, float growth,
                                                    float opacity_gradient) {
    float own = expf(-2.0f * growth);
    return fmaf(own, gradient - opacity_gradient, opacity_gradient);
}
