// Sums over a block of BLOCK threads and the search for the owner of a row or pair: for
// intersect.cu, intersect_macro_tiles.cu, bin_large_splats.cu and sort_bins.cu.

#pragma once
#include "device.cuh"

// Exclusive sum over the block; `total` gets the sum. `scratch` is free again after the next
// barrier.
__device__ __forceinline__ u32 block_scan(u32 value, u32* scratch, u32& total) {
    u32 lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    u32 before = warp_scan(value, lane);
    if (lane == WARP - 1) scratch[warp] = before;
    __syncthreads();
    total = 0;
    for (u32 w = 0; w < BLOCK / WARP; ++w) {
        if (w < warp) before += scratch[w];
        total += scratch[w];
    }
    return before - value;
}

// Exclusive sums of N values at a time. `scratch` is free again after the next barrier.
template <int N>
__device__ __forceinline__ void block_scans(u32 (&values)[N], u32 (&scratch)[N][BLOCK / WARP],
                                            u32 (&totals)[N]) {
    u32 lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
#pragma unroll
    for (int n = 0; n < N; ++n) {
        u32 until = warp_scan(values[n], lane);
        if (lane == WARP - 1) scratch[n][warp] = until;
        values[n] = until - values[n];
    }
    __syncthreads();
#pragma unroll
    for (int n = 0; n < N; ++n) {
        totals[n] = 0;
        for (u32 w = 0; w < BLOCK / WARP; ++w) {
            if (w < warp) values[n] += scratch[n][w];
            totals[n] += scratch[n][w];
        }
    }
}

// The index of the last of BLOCK ascending `starts` that is at most k.
__device__ __forceinline__ u32 owner_of(const u32* starts, u32 k) {
    u32 low = 0;
#pragma unroll
    for (u32 step = BLOCK / 2; step > 0; step /= 2)
        if (starts[low + step] <= k) low += step;
    return low;
}
