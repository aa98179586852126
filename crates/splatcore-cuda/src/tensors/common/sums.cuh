// Sums over a warp of several values at a time.

#pragma once
#include "device.cuh"

// Values that `warp_sums` adds up together.
#define SUMS 16

// The sum over the warp of values[lane % SUMS]. Each step adds a lane's half of the values to the
// same half of its partner and halves their number: 16 shuffles for 16 sums, not 80.
__device__ __forceinline__ float warp_sums(float (&values)[SUMS], u32 lane) {
#pragma unroll
    for (u32 half = SUMS / 2; half > 0; half /= 2) {
        bool is_upper = lane & half;
#pragma unroll
        for (u32 k = 0; k < half; ++k) {
            float kept = is_upper ? values[k + half] : values[k];
            float given = is_upper ? values[k] : values[k + half];
            values[k] = kept + __shfl_xor_sync(FULL_MASK, given, half);
        }
    }
    return values[0] + __shfl_xor_sync(FULL_MASK, values[0], SUMS);
}

__device__ __forceinline__ u32 warp_max(u32 value) {
    for (u32 offset = WARP / 2; offset > 0; offset /= 2)
        value = max(value, __shfl_xor_sync(FULL_MASK, value, offset));
    return value;
}
