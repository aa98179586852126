// depth_log: the loss `log` of splatcore-core/src/depth/log.rs; kernels and contract in
// depth_loss.cuh.

#include "splat.cuh"

// Of a rendered and a known inverse depth, and its derivative by the former.
__device__ __forceinline__ float residual(float rendered, float known, float, float& slope) {
    slope = 1.0f / rendered;
    return logf(rendered / known);
}

#include "depth_loss.cuh"
