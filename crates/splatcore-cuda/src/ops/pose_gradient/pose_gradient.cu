// pose_gradient: the gradient of a frame's loss by the pose of its camera.
//
// Contract. Derivation: splatcore-core/src/pose_gradient.rs. Reads the splats' `sums` after
// blend_backward and leaves them; goes through project_backward.cuh once more, so that a step that
// asks for no pose runs the same kernels as ever.
// - sum_poses: `partials` ([blocks][NUMBERS], f32): dL/d(rotation of the scene about the camera),
//   dL/d(its translation), world axes, summed over a block's Gaussians.
// - finish_pose: adds the blocks in a fixed order (f64) and writes `gradient`: both in view axes.
// Gaussians are taken in the order of their rows, not of their splats: the same bits every time.
// Constants: those of camera_sums.cuh; SH_ROW floats stored for a Gaussian.
//
// Launch. Blocks of 128, one thread a Gaussian; then one block, a warp a number.
//
// Bound. Memory: 4 bytes a Gaussian and 332 a splat.
//
// Now. 100 us (500,000 Gaussians, fox at 1080x1920, H200).

#include "camera_sums.cuh"

#define STRIDE (USED | 1)

extern "C" __global__ void __launch_bounds__(BLOCK)
    sum_poses(const __grid_constant__ SumCameraParams args) {
    begin_kernel();
    __shared__ float warp_sums[BLOCK / WARP][NUMBERS];
    if (args.counters->overflowed) return;
    const u32 block = args.first_block + blockIdx.x;
    const u32 i = block * BLOCK + threadIdx.x, count = args.gaussians[0];
    const u32 splat_index = i < count ? args.splat_of[i] & ~IN_VIEW : NO_SPLAT;
    const bool valid = splat_index != NO_SPLAT;
    float pose[NUMBERS] = {};
#if SH_DEGREE >= 1
    // The warp's rows of harmonics.
    __shared__ float harmonics[BLOCK / WARP][WARP * STRIDE];
    const u32 lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    if (__ballot_sync(FULL_MASK, valid)) {
        const u32 rows = min(count - (i - lane), (u32)WARP);
#pragma unroll 8
        for (u32 step = 0; step < USED; ++step) {
            u32 k = step * WARP + lane, row = k / USED, column = k - row * USED;
            if (row < rows)
                harmonics[warp][row * STRIDE + column] =
                    args.sh[(u64)(i - lane + row) * SH_ROW + column];
        }
    }
    __syncwarp();
#endif
    if (valid) {
        float total[12];
        load_sums(args.sums, splat_index, total);
        const Splat splat = args.splats[splat_index];
        const Vec3 mean = mean_of(args, i);
        const float4 q = args.rotations[i];
        const SplatGradient d = gradient_of(args, i, mean, splat, total);
        const float x = mean.x - args.camera.position[0], y = mean.y - args.camera.position[1],
                    z = mean.z - args.camera.position[2];
        const float* g = d.rotation;
        pose[0] = y * d.mean.z - z * d.mean.y +
                  0.5f * (-q.y * g[0] + q.x * g[1] - q.w * g[2] + q.z * g[3]);
        pose[1] = z * d.mean.x - x * d.mean.z +
                  0.5f * (-q.z * g[0] + q.w * g[1] + q.x * g[2] - q.y * g[3]);
        pose[2] = x * d.mean.y - y * d.mean.x +
                  0.5f * (-q.w * g[0] - q.z * g[1] + q.y * g[2] + q.x * g[3]);
        pose[3] = d.mean.x;
        pose[4] = d.mean.y;
        pose[5] = d.mean.z;
#if SH_DEGREE >= 1
        // The colour follows the camera's place, and not how it is turned.
        const Vec3 colour = colour_gradient(total, splat.clamped);
        const float* row = &harmonics[warp][lane * STRIDE];
        float along[USED / 3];
#pragma unroll
        for (int k = 1; k < USED / 3; ++k)
            along[k] = fmaf(row[3 * k], colour.x,
                            fmaf(row[3 * k + 1], colour.y, row[3 * k + 2] * colour.z));
        const Vec3 more = direction_gradient(mean, along, args.camera);
        pose[3] += more.x;
        pose[4] += more.y;
        pose[5] += more.z;
#endif
    }
    add_block(warp_sums, pose, block, args.partials);
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
