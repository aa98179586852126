// What the gradients of a camera's pose and of its intrinsics have in common: their parameters, a
// splat's gradient, and sums in a fixed order. Constants: those of project_backward.cuh; BLOCK;
// NUMBERS, of a gradient.

#pragma once
#include "block_sum.cuh"
#include "project_backward.cuh"

// Parameters of the kernel that sums over a block's Gaussians; in Rust by the same name.
struct SumCameraParams {
    ReadOnly<float> means;           // [count][3], world
    ReadOnly<float> log_scales;      // [count][3]
    ReadOnly<float4> rotations;      // [count], quaternions (w, x, y, z)
    ReadOnly<float> opacity_logits;  // [count]
    ReadOnly<float> sh;              // [count][coefficients][3]
    ReadOnly<float> smoothing;       // [count], radius of the 3D filter; null: none
    ReadOnly<u32> gaussians;         // the number of Gaussians
    ReadOnly<u32> splat_of;          // compacted index of each Gaussian, see NO_SPLAT
    const Splat* splats;             // by compacted index
    ReadOnly<float4> sums;           // a row of 12 floats for each compacted index
    const Counters* counters;
    float* partials;  // [blocks][NUMBERS]
    u32 first_block;  // of those that are summed here
    Camera camera;
    Lens lens;  // unless LENS is 0
};

// Parameters of the kernel that adds the blocks; in Rust by the same name.
struct FinishCameraParams {
    ReadOnly<float> partials;  // [blocks][NUMBERS]
    u32 blocks;
    const Counters* counters;
    double* gradient;  // [NUMBERS]
    Camera camera;
};

// The mean of Gaussian i.
__device__ __forceinline__ Vec3 mean_of(const SumCameraParams& args, u32 i) {
    return {args.means[3 * i], args.means[3 * i + 1], args.means[3 * i + 2]};
}

// The gradient of Gaussian i by the sums of its splat.
__device__ __forceinline__ SplatGradient gradient_of(const SumCameraParams& args, u32 i, Vec3 mean,
                                                     const Splat& splat, const float (&total)[12]) {
    const Vec3 log_scale = {args.log_scales[3 * i], args.log_scales[3 * i + 1],
                            args.log_scales[3 * i + 2]};
    return splat_gradient(total, splat.a, splat.b, splat.c, mean, log_scale, args.rotations[i],
                          args.opacity_logits[i], SMOOTHING ? args.smoothing[i] : 0.0f, args.camera,
                          args.lens);
}

// Adds the numbers of a block's threads, warp by warp, into the place of this block of Gaussians in
// `partials`.
__device__ __forceinline__ void add_block(float (&warp_sums)[BLOCK / WARP][NUMBERS],
                                          const float (&numbers)[NUMBERS], u32 block,
                                          float* partials) {
    const u32 lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
#pragma unroll
    for (int n = 0; n < NUMBERS; ++n) {
        const float sum = warp_sum(numbers[n]);
        if (lane == 0) warp_sums[warp][n] = sum;
    }
    __syncthreads();
    if (threadIdx.x >= NUMBERS) return;
    float sum = 0.0f;
    for (u32 w = 0; w < BLOCK / WARP; ++w) sum += warp_sums[w][threadIdx.x];
    partials[(u64)block * NUMBERS + threadIdx.x] = sum;
}

// The sum of all blocks of a number, by a warp; right in its lane 0.
__device__ __forceinline__ double add_blocks(const FinishCameraParams& args, u32 number, u32 lane) {
    double total = 0.0;
#pragma unroll 4
    for (u32 i = lane; i < args.blocks; i += WARP)
        total += args.partials[(u64)i * NUMBERS + number];
    return warp_total(total);
}
