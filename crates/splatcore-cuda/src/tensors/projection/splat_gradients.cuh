// What the gradients of tensors' projections share. `Args` are the parameters of a kernel, with the
// fields of those of `projection_backward` that are named here.

#pragma once
#include "linear.cuh"
#include "sums.cuh"

// Keeps the gradient of a compensation of 0 finite; gsplat's value.
#define MIN_COMPENSATION 1e-6f

// The gradient of the covariance in the image, without eps2d, of a splat.
template <class Args>
__device__ __forceinline__ Mat2 of_covariance(const Args& args, u64 row) {
    float a = args.conics[3 * row], b = args.conics[3 * row + 1], c = args.conics[3 * row + 2];
    float g = 0.5f * args.v_conics[3 * row + 1];
    Mat2 p = {{{a, b}, {b, c}}};
    Mat2 v = {{{-args.v_conics[3 * row], -g}, {-g, -args.v_conics[3 * row + 2]}}};
    Mat2 out = multiply(multiply(p, v), p);
    if (args.v_compensations) {
        float compensation = args.compensations[row];
        float of_square = 0.5f * args.v_compensations[row] / (compensation + MIN_COMPENSATION);
        float rest = of_square * (1.0f - compensation * compensation);
        float blur = of_square * args.eps2d * (a * c - b * b);
        out.at[0][0] += rest * a - blur, out.at[1][1] += rest * c - blur;
        out.at[0][1] += rest * b, out.at[1][0] += rest * b;
    }
    return out;
}

// Adds the sum of a camera's gradient number `which` to its place in the outputs.
template <class Args>
__device__ __forceinline__ void add_to_camera(const Args& args, u64 camera, u32 which, float sum) {
    if (which < 12) {
        if (args.v_viewmats) atomicAdd(args.v_viewmats + 16 * camera + which, sum);
    } else if (args.v_ks) {
        // Places of fx, fy, cx, cy in a 3x3 matrix.
        u32 place = which == 12 ? 0 : which == 13 ? 4 : which == 14 ? 2 : 5;
        atomicAdd(args.v_ks + 9 * camera + place, sum);
    }
}

// Adds a block's gradients of a camera to the outputs, rotation and translation by rows (12), focal
// lengths, principal point; every thread calls it.
template <class Args>
__device__ __forceinline__ void sum_camera(const Args& args, u64 camera, float (&of_camera)[SUMS],
                                           bool is_visible, float (&block_sums)[SUMS]) {
    u32 lane = threadIdx.x % WARP;
    if (threadIdx.x < SUMS) block_sums[threadIdx.x] = 0.0f;
    if (!__syncthreads_or(is_visible)) return;
    if (__any_sync(FULL_MASK, is_visible)) {
        float sum = warp_sums(of_camera, lane);
        if (lane < SUMS) atomicAdd(block_sums + lane, sum);
    }
    __syncthreads();
    if (threadIdx.x < SUMS) add_to_camera(args, camera, threadIdx.x, block_sums[threadIdx.x]);
    // The thread that zeroes a sum is the one that read it.
}
