// What a refinement does with each Gaussian (`actions`, u8 a Gaussian), and the properties by which
// its kernels decide that. Included by all other headers of densify.cu, for THREADS and `item` too.

#pragma once
#include "splat.cuh"

#define THREADS 256
#define WARPS (THREADS / WARP)

// Bits of a Gaussian's action (`actions`, u8 a Gaussian).
#define CHOSEN 1u  // grows: is cloned or split
#define EQUAL 2u   // its gradient equals the smallest that the limit on growth admits
#define KEPT 4u    // stays
#define CLONED 8u  // a copy of it is appended
#define SPLIT 16u  // two children of it are appended
#define DEAD 32u   // MCMC: to be relocated

__device__ __forceinline__ u32 item() { return blockIdx.x * THREADS + threadIdx.x; }

__device__ __forceinline__ float opacity_of(float logit) { return 1.0f / (1.0f + expf(-logit)); }

__device__ __forceinline__ float largest_scale(const float* log_scales) {
    return expf(fmaxf(fmaxf(log_scales[0], log_scales[1]), log_scales[2]));
}
