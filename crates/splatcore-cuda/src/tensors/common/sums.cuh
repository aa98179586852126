// Sums over a warp of several values at a time.

#pragma once
#include "device.cuh"

// Values that `warp_sums` adds up together.
#define SUMS 16

// Adds a lane's half of the first 2 * HALF values to the same half of its partner, and goes on with
// half as many. A template, since a loop over HALF keeps the values in memory rather than
// registers.
template <u32 HALF>
__device__ __forceinline__ void fold(float (&values)[SUMS], u32 lane) {
    bool is_upper = lane & HALF;
#pragma unroll
    for (u32 k = 0; k < HALF; ++k) {
        float kept = is_upper ? values[k + HALF] : values[k];
        float given = is_upper ? values[k] : values[k + HALF];
        values[k] = kept + __shfl_xor_sync(FULL_MASK, given, HALF);
    }
    if constexpr (HALF > 1) fold<HALF / 2>(values, lane);
}

// The sum over the warp of values[lane % SUMS]: 16 shuffles for 16 sums, not 80.
__device__ __forceinline__ float warp_sums(float (&values)[SUMS], u32 lane) {
    fold<SUMS / 2>(values, lane);
    return values[0] + __shfl_xor_sync(FULL_MASK, values[0], SUMS);
}
