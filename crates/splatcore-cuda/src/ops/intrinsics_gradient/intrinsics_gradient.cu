// intrinsics_gradient: the gradient of a frame's loss by the intrinsics of its camera.
//
// Contract. What the numbers are: splatcore-core/src/intrinsics_gradient.rs. Reads the splats'
// `sums` after blend_backward and leaves them; goes through project_backward.cuh once more, with
// INTRINSICS, the count of numbers.
// - sum_intrinsics: `partials` ([INTRINSICS][blocks], f32), summed over a block's Gaussians; the
//   principal point in pixels.
// - finish_intrinsics: adds the blocks in a fixed order (f64) and writes `intrinsics`; the
// principal
//   point as a share of the image's sides.
// Gaussians are taken in the order of their rows, not of their splats: the same bits every time.
// Constants: those of project_backward.cuh with SH_DEGREE 0; BLOCK.
//
// Launch. Blocks of 128, one thread a Gaussian; then one block, a warp a number.
//
// Bound. Memory: 4 bytes a Gaussian and 140 a splat; with LENS 1 arithmetic.
//
// Now. Not measured; predicted 50 us (fox_220k, 1080x1920, H200).

#include "project_backward.cuh"

// Parameters of `sum_intrinsics`; in Rust by the same name.
struct SumIntrinsicsParams {
    ReadOnly<float> means;           // [count][3], world
    ReadOnly<float> log_scales;      // [count][3]
    ReadOnly<float4> rotations;      // [count], quaternions (w, x, y, z)
    ReadOnly<float> opacity_logits;  // [count]
    ReadOnly<float> smoothing;       // [count], radius of the 3D filter; null: none
    ReadOnly<u32> gaussians;         // the number of Gaussians
    ReadOnly<u32> splat_of;          // compacted index of each Gaussian, see NO_SPLAT
    const Splat* splats;             // by compacted index
    ReadOnly<float4> sums;           // a row of 12 floats for each compacted index
    const Counters* counters;
    float* partials;
    Camera camera;
    Lens lens;  // with LENS 1
};
extern "C" __global__ void __launch_bounds__(BLOCK)
    sum_intrinsics(const __grid_constant__ SumIntrinsicsParams args) {
    begin_kernel();
    __shared__ float warp_sums[BLOCK / WARP][INTRINSICS];
    if (args.counters->overflowed) return;
    const u32 i = blockIdx.x * BLOCK + threadIdx.x, lane = threadIdx.x % WARP,
              warp = threadIdx.x / WARP, count = args.gaussians[0];
    const u32 splat_index = i < count ? args.splat_of[i] & ~IN_VIEW : NO_SPLAT;
    SplatGradient d = {};
    if (splat_index != NO_SPLAT) {
        float total[12];
        load_sums(args.sums, splat_index, total);
        const Splat splat = args.splats[splat_index];
        const Vec3 mean = {args.means[3 * i], args.means[3 * i + 1], args.means[3 * i + 2]},
                   log_scale = {args.log_scales[3 * i], args.log_scales[3 * i + 1],
                                args.log_scales[3 * i + 2]};
        d = splat_gradient(total, splat.a, splat.b, splat.c, mean, log_scale, args.rotations[i],
                           args.opacity_logits[i], SMOOTHING ? args.smoothing[i] : 0.0f,
                           args.camera, args.lens);
    }
#pragma unroll
    for (int n = 0; n < INTRINSICS; ++n) {
        const float sum = warp_sum(d.intrinsics[n]);
        if (lane == 0) warp_sums[warp][n] = sum;
    }
    __syncthreads();
    if (threadIdx.x >= INTRINSICS) return;
    float sum = 0.0f;
    for (u32 w = 0; w < BLOCK / WARP; ++w) sum += warp_sums[w][threadIdx.x];
    args.partials[threadIdx.x * gridDim.x + blockIdx.x] = sum;
}

// Parameters of `finish_intrinsics`; in Rust by the same name.
struct FinishIntrinsicsParams {
    ReadOnly<float> partials;  // [INTRINSICS][blocks]
    u32 blocks;
    const Counters* counters;
    double* intrinsics;  // [INTRINSICS]
    Camera camera;
};
extern "C" __global__ void __launch_bounds__(INTRINSICS* WARP)
    finish_intrinsics(const __grid_constant__ FinishIntrinsicsParams args) {
    begin_kernel();
    if (args.counters->overflowed) return;
    const u32 number = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    double total = 0.0;
#pragma unroll 4
    for (u32 i = lane; i < args.blocks; i += WARP) total += args.partials[number * args.blocks + i];
    for (int step = WARP / 2; step > 0; step /= 2)
        total += __shfl_down_sync(FULL_MASK, total, step);
    if (lane != 0) return;
    if (number == 2) total *= args.camera.width;
    if (number == 3) total *= args.camera.height;
    args.intrinsics[number] = total;
}
