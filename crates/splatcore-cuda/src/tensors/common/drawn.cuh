// Which splats are drawn, as every kernel decides it.

#pragma once
#include "device.cuh"

// Whether splat m has a box: radii [M][2], pixels.
__device__ __forceinline__ bool is_drawn_with(ReadOnly<int> radii, u64 m) {
    return radii[2 * m] > 0 && radii[2 * m + 1] > 0;
}
