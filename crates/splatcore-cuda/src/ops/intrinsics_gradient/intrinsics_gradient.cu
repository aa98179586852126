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
// Launch. Blocks of 64 for 128 Gaussians, one thread a splat; then one block, a warp a number.
//
// Bound. Memory: 4 bytes a Gaussian and 140 a splat; with LENS 1 and 2 arithmetic.
//
// Now. Some 30 us (500,000 Gaussians, fox at 1080x1920, H200).

#include "camera_sums.cuh"

extern "C" __global__ void __launch_bounds__(THREADS)
    sum_intrinsics(const __grid_constant__ SumCameraParams args) {
    begin_kernel();
    __shared__ RowNumbers numbers;
    __shared__ Seen seen;
    if (args.counters->overflowed) return;
    const u32 own = blockIdx.x * BLOCK, first = row_of(own, args.blocks);
    clear(numbers);
    const u32 count = list_seen(args, own, first, seen);
    for (u32 place = threadIdx.x; place < count; place += THREADS) {
        const u32 row = seen.rows[place];
        put(numbers, row, gradient_of(args, first + row, seen.splats[place]).by.intrinsics);
    }
    add_block(numbers, blockIdx.x, args.partials);
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
