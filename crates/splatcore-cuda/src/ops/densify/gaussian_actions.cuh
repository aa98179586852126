// What a refinement does with each Gaussian, and the properties by which its kernels decide that.
// Included by all other headers of densify.cu, for `item` too. A Gaussian's action (`actions`, u8 a
// Gaussian) has the bits CHOSEN, EQUAL, KEPT, CLONED, SPLIT and DEAD of densify/actions.rs.

#pragma once
#include "splat.cuh"

// Who may grow or be drawn: Gaussians with their mean in a box along the axes of the world, its
// faces included. In Rust by the same name (densify/within.rs).
struct Within {
    ReadOnly<float> means;  // [count][3], world; null: all Gaussians
    float low[3], high[3];
};

__device__ __forceinline__ bool is_within(const Within& within, u32 i) {
    if (!within.means) return true;
    bool inside = true;
    for (u32 k = 0; k < 3; ++k) {
        const float at = within.means[3 * size_t(i) + k];
        inside = inside && within.low[k] <= at && at <= within.high[k];
    }
    return inside;
}

#define WARPS (THREADS / WARP)

__device__ __forceinline__ u32 item() { return blockIdx.x * THREADS + threadIdx.x; }

__device__ __forceinline__ float opacity_of(float logit) { return 1.0f / (1.0f + expf(-logit)); }

__device__ __forceinline__ float largest_scale(const float* log_scales) {
    return expf(fmaxf(fmaxf(log_scales[0], log_scales[1]), log_scales[2]));
}
