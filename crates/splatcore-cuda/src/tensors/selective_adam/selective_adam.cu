// selective_adam: a step of Adam without bias correction for chosen rows, in place (gsplat's
// SelectiveAdam, INRIA's SparseGaussianAdam).
//
// Contract. exp_avg = b1 exp_avg + (1 - b1) g; exp_avg_sq = b2 exp_avg_sq + (1 - b2) g^2; param -=
// lr exp_avg / (sqrt(exp_avg_sq) + eps). Rows whose `valid` is 0 stay.
//
// Launch. A thread a value, blocks of BLOCK.
//
// Bound. Memory: 28 bytes a value.
//
// Now. Not measured.

#include "device.cuh"

// Parameters of `selective_adam`; in Rust by the same name.
struct SelectiveAdamParams {
    float* param;          // [n][D]
    ReadOnly<float> grad;  // [n][D]
    float* exp_avg;        // [n][D]
    float* exp_avg_sq;     // [n][D]
    const u8* valid;       // [n] or null
    u64 count;             // n D
    u32 channels;          // D
    float lr, b1, b2, eps;
};

extern "C" __global__ void __launch_bounds__(BLOCK)
    selective_adam(const __grid_constant__ SelectiveAdamParams args) {
    begin_kernel();
    u64 i = (u64)blockIdx.x * BLOCK + threadIdx.x;
    if (i >= args.count || (args.valid && !args.valid[i / args.channels])) return;
    float g = args.grad[i];
    float mean = fmaf(args.b1, args.exp_avg[i], (1.0f - args.b1) * g);
    float square = fmaf(args.b2, args.exp_avg_sq[i], (1.0f - args.b2) * g * g);
    args.param[i] -= args.lr * mean / (sqrtf(square) + args.eps);
    args.exp_avg[i] = mean;
    args.exp_avg_sq[i] = square;
}
