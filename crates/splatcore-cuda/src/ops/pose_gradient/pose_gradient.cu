// pose_gradient: the gradient of a frame's loss by the pose of its camera.
//
// Contract. Derivation: splatcore-core/src/pose_gradient.rs. Reads the splats' `sums` after
// blend_backward and leaves them; goes through project_backward.cuh once more, so that a step that
// asks for no pose runs the same kernels as ever.
// - sum_poses: `partials` ([blocks][NUMBERS], f32): dL/d(rotation of the scene about the camera),
//   dL/d(its translation), world axes, summed over a block's Gaussians.
// - finish_pose: adds the blocks in a fixed order (f64) and writes `gradient`: both in view axes.
// Gaussians are taken in the order of their rows, not of their splats: the same bits every time.
// Constants: those of camera_sums.cuh and of harmonic_rows.cuh.
//
// Launch. Blocks of 64 for 128 Gaussians, 12 a multiprocessor, 72 registers, 19 KB. A block lists
// its Gaussians with splats; a warp takes 32 of them and waits for no other. Then one block, a warp
// a number.
//
// Bound. Memory: 4 bytes a Gaussian and 328 a splat. As many instructions as arithmetic: 720 a warp
// of splats, 250 a warp besides.
//
// Now. 94 us, both kernels (500,000 Gaussians, fox at 1080x1920, H200); 24 were predicted for
// 200,000 splats (docs/log/training-poses.md).

#include "camera_sums.cuh"
#include "harmonic_rows.cuh"
#include "matrix.cuh"

#define BLOCKS (LENS ? 10 : 12)  // that fit a multiprocessor
#define LANES_OF_ROW 4           // that copy a row of harmonics

#if SH_DEGREE >= 1
// Begins to copy the harmonics of a warp's Gaussians: `here` of the list from `start` on; those of
// the block begin at row `first` of their array.
__device__ __forceinline__ void copy_harmonics(const SumCameraParams& args, u32 first,
                                               const Seen& seen, u32 start, u32 here,
                                               Harmonic* to) {
    const u32 lane = threadIdx.x % WARP, column = lane % LANES_OF_ROW;
#pragma unroll
    for (u32 k = 0; k < LANES_OF_ROW; ++k) {
        const u32 row = k * (WARP / LANES_OF_ROW) + lane / LANES_OF_ROW;
        if (row >= here) break;
        const u64 i = first + seen.rows[start + row];
        const Harmonic* from = args.sh + (i * SH_ROW + column * WIDE);
        Harmonic* place = to + (row * PITCH + column * WIDE);
#pragma unroll
        for (u32 unit = 0; unit < UNITS; unit += LANES_OF_ROW) {
            if (unit + column >= UNITS) break;
            copy_harmonics_async(place + unit * WIDE, from + unit * WIDE);
        }
    }
    copy_async_commit();
}

// Each basis function's gradient, given a Gaussian's harmonics and that of its colour.
__device__ __forceinline__ void basis_gradient(const Harmonic* row, Vec3 colour,
                                               float (&along)[USED / 3]) {
    float values[UNITS * WIDE];
#pragma unroll
    for (u32 unit = 0; unit < UNITS; ++unit)
        *(Several<float, WIDE>*)(values + unit * WIDE) = read_harmonics(row + unit * WIDE);
#pragma unroll
    for (u32 k = 1; k < USED / 3; ++k)
        along[k] = fmaf(values[3 * k], colour.x,
                        fmaf(values[3 * k + 1], colour.y, values[3 * k + 2] * colour.z));
}
#endif

extern "C" __global__ void __launch_bounds__(THREADS, BLOCKS)
    sum_poses(const __grid_constant__ SumCameraParams args) {
    begin_kernel();
    __shared__ RowNumbers numbers;
    __shared__ Seen seen;
#if SH_DEGREE >= 1
    __shared__ __align__(16) Harmonic harmonics[THREADS / WARP][WARP * PITCH];
#endif
    if (args.counters->overflowed) return;
    const u32 lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    const u32 own = blockIdx.x * BLOCK, first = row_of(own, args.blocks);
    clear(numbers);
    const u32 count = list_seen(args, own, first, seen);
    for (u32 start = warp * WARP; start < count; start += THREADS) {
        const u32 here = min(count - start, (u32)WARP);
#if SH_DEGREE >= 1
        copy_harmonics(args, stored_row(own, first, args.blocks), seen, start, here,
                       harmonics[warp]);
#endif
        // Lanes without a Gaussian do what the last one with one does.
        const u32 place = min(lane, here - 1), row = seen.rows[start + place];
        const GaussianGradient d = gradient_of(args, first + row, seen.splats[start + place]);
        const Vec3 mean = d.mean, by_mean = d.by.mean;
        const float4 q = d.rotation;
        const float* g = d.by.rotation;
        const float x = mean.x - args.camera.position[0], y = mean.y - args.camera.position[1],
                    z = mean.z - args.camera.position[2];
        float pose[NUMBERS] = {y * by_mean.z - z * by_mean.y +
                                   0.5f * (-q.y * g[0] + q.x * g[1] - q.w * g[2] + q.z * g[3]),
                               z * by_mean.x - x * by_mean.z +
                                   0.5f * (-q.z * g[0] + q.w * g[1] + q.x * g[2] - q.y * g[3]),
                               x * by_mean.y - y * by_mean.x +
                                   0.5f * (-q.w * g[0] - q.z * g[1] + q.y * g[2] + q.x * g[3]),
                               by_mean.x,
                               by_mean.y,
                               by_mean.z};
#if SH_DEGREE >= 1
        copy_async_wait<0>();
        __syncwarp();
        // The colour follows the camera's place, and not how it is turned.
        float along[USED / 3];
        basis_gradient(&harmonics[warp][place * PITCH], d.by_colour, along);
        const Vec3 more = direction_gradient(mean, along, args.camera);
        pose[3] += more.x;
        pose[4] += more.y;
        pose[5] += more.z;
        __syncwarp();  // the next harmonics come to the same place
#endif
        if (lane < here) put(numbers, row, pose);
    }
    add_block(numbers, blockIdx.x, args.partials);
}

extern "C" __global__ void __launch_bounds__(NUMBERS* WARP)
    finish_pose(const __grid_constant__ FinishCameraParams args) {
    begin_kernel();
    __shared__ double totals[NUMBERS];
    if (args.counters->overflowed) return;
    const u32 number = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    const double total = add_blocks(args, number, lane);
    if (lane == 0) totals[number] = total;
    __syncthreads();
    if (threadIdx.x >= NUMBERS) return;
    const u32 axis = threadIdx.x % 3, from = threadIdx.x - axis;
    double turned = 0.0;
    for (u32 k = 0; k < 3; ++k) turned += args.camera.rotation[3 * axis + k] * totals[from + k];
    args.gradient[threadIdx.x] = turned;
}
