// What a refinement does with each Gaussian, and the properties by which its kernels decide that.
// Included by all other headers of densify.cu, for `item` too. A Gaussian's action (`actions`, u8 a
// Gaussian) has the bits CHOSEN, EQUAL, KEPT, CLONED, SPLIT and DEAD of densify/actions.rs.

#pragma once
#include "splat.cuh"

#define WARPS (THREADS / WARP)

__device__ __forceinline__ u32 item() { return blockIdx.x * THREADS + threadIdx.x; }

__device__ __forceinline__ float opacity_of(float logit) { return 1.0f / (1.0f + expf(-logit)); }

__device__ __forceinline__ float largest_scale(const float* log_scales) {
    return expf(fmaxf(fmaxf(log_scales[0], log_scales[1]), log_scales[2]));
}
