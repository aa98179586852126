// intrinsics_gradient: the gradient of a frame's loss by the intrinsics of its camera.
//
// Contract. What the numbers are: splatcore-core/src/intrinsics_gradient.rs. Reads the splats'
// `sums` after blend_backward and leaves them; goes through project_backward.cuh once more, with
// INTRINSICS, the count of numbers.
// - sum_intrinsics: `partials` ([blocks][NUMBERS], f32), summed over a block's Gaussians; the
//   principal point in pixels.
// - finish_intrinsics: adds the blocks in a fixed order (f64) and writes `gradient`; the principal
//   point as a share of the image's sides.
// Gaussians are taken in the order of their rows, not of their splats: the same bits every time.
// Constants: those of camera_sums.cuh with SH_DEGREE 0 and INTRINSICS the same as NUMBERS.
//
// Launch. Blocks of 128, one thread a Gaussian; then one block, a warp a number.
//
// Bound. Memory: 4 bytes a Gaussian and 140 a splat; with LENS 1 and 2 arithmetic.
//
// Now. Some 30 us (500,000 Gaussians, fox at 1080x1920, H200).

#include "camera_sums.cuh"

extern "C" __global__ void __launch_bounds__(BLOCK)
    sum_intrinsics(const __grid_constant__ SumCameraParams args) {
    begin_kernel();
    __shared__ float warp_sums[BLOCK / WARP][NUMBERS];
    if (args.counters->overflowed) return;
    const u32 block = args.first_block + blockIdx.x;
    const u32 i = block * BLOCK + threadIdx.x, count = args.gaussians[0];
    const u32 splat_index = i < count ? args.splat_of[i] & ~IN_VIEW : NO_SPLAT;
    SplatGradient d = {};
    if (splat_index != NO_SPLAT) {
        float total[12];
        load_sums(args.sums, splat_index, total);
        d = gradient_of(args, i, mean_of(args, i), args.splats[splat_index], total);
    }
    add_block(warp_sums, d.intrinsics, block, args.partials);
}

extern "C" __global__ void __launch_bounds__(NUMBERS* WARP)
    finish_intrinsics(const __grid_constant__ FinishCameraParams args) {
    begin_kernel();
    if (args.counters->overflowed) return;
    const u32 number = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    double total = add_blocks(args, number, lane);
    if (lane != 0) return;
    if (number == 2) total *= args.camera.width;
    if (number == 3) total *= args.camera.height;
    args.gradient[number] = total;
}
