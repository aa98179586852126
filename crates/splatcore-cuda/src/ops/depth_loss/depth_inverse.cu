// depth_inverse: the loss `inverse` of splatcore-core/src/depth/inverse.rs; kernels and contract in
// depth_loss.cuh.

#include "splat.cuh"

// Of a rendered and a known inverse depth, and its derivative by the former.
__device__ __forceinline__ float residual(float rendered, float known, float unit, float& slope) {
    slope = unit;
    return (rendered - known) * unit;
}

#include "depth_loss.cuh"
