// Columns that change how a Gaussian is drawn (splatcore-core/src/columns/), for project.cu,
// project_backward.cuh and the reset of opacities: log scales grow, and ln opacity falls by the sum
// of their growths. SHAPE_COLUMNS 1: the scene has such a column.

#pragma once
#include "smoothing.cuh"

// In Rust by the same name. A column that the scene lacks is null.
struct ShapeColumns {
    ReadOnly<float> filter;  // [count], radius of the 3D filter
};

// Their numbers of a Gaussian.
struct ShapeNumbers {
    float filter;
};

__device__ __forceinline__ bool any(const ShapeColumns& columns) { return columns.filter; }

__device__ __forceinline__ ShapeNumbers load_shape(const ShapeColumns& columns, u32 i) {
    return {columns.filter[i]};
}

// By how much log scales grow.
__device__ __forceinline__ Vec3 shape_growth(Vec3 log_scales, ShapeNumbers numbers) {
    return smoothing_growth(log_scales, numbers.filter);
}

// dL/d(log scale), given that of the grown one and the one with respect to ln opacity.
__device__ __forceinline__ float shape_backward(float gradient, float growth,
                                                float opacity_gradient) {
    return smoothing_backward(gradient, growth, opacity_gradient);
}
