// Sums of f64 over a warp and a block, in a fixed order.

#pragma once
#include "device.cuh"

// The sum over the warp, valid in lane 0.
__device__ __forceinline__ double warp_total(double value) {
    for (int step = WARP / 2; step > 0; step /= 2)
        value += __shfl_down_sync(FULL_MASK, value, step);
    return value;
}

// The block's sum of one value a thread, valid in thread 0; `warps` has room for one a warp.
__device__ __forceinline__ double block_sum(double value, double* warps) {
    value = warp_total(value);
    if (threadIdx.x % WARP == 0) warps[threadIdx.x / WARP] = value;
    __syncthreads();
    double sum = 0.0;
    if (threadIdx.x == 0)
        for (u32 w = 0; w < blockDim.x / WARP; ++w) sum += warps[w];
    return sum;
}
