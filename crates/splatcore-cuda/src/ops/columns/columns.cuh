// Columns that learn (splatcore-core/src/columns/), for adam.cu: of each the gradient of its
// numbers, one a Gaussian. Constants: COLUMNS, how many there are; COLUMN_MASK, the place of masks
// among them; OFF_OPACITY_LOGIT, which a Gaussian gets that a column says is drawn no more. CPU
// twin: splatcore-cpu/src/columns/.

#pragma once
#include "device.cuh"
#include "learned_masks.cuh"

// Field by field as LearnedColumn in ops/columns/kernels.rs.
struct LearnedColumn {
    float* values;  // [count], and Adam's moments; null if the step does not learn it
    float* first;
    float* second;
    float weight;  // of the column's term in the loss
    float rate;    // with Adam's first bias correction
    float min;     // a Gaussian below it, or not a number, is drawn no more
    u32 padding;
};

// dL/dnumber of column k. `d_log_scales` and `d_ln_opacity` are of the image; `share` is the weight
// of the column's term for each Gaussian.
__device__ __forceinline__ float column_gradient(int k, float number,
                                                 const float (&d_log_scales)[3], float d_ln_opacity,
                                                 float share) {
    if (k == COLUMN_MASK) return mask_gradient(number, d_log_scales, d_ln_opacity, share);
    return 0.0f;
}
