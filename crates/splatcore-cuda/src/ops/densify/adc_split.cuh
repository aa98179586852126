// Adaptive density control, second part: whether a Gaussian stays, is cloned or is split, and the
// children of a split.

#pragma once
#include "random.cuh"
#include "refinement_totals.cuh"

// Decides whether each Gaussian stays, is cloned or is split, pruning included.
// Parameters of `adc_decide`; in Rust by the same name.
struct AdcDecideParams {
    ReadOnly<float> log_scales;      // [count][3]
    ReadOnly<float> opacity_logits;  // [count]
    u32 n;                           // Gaussians
    float split_scale;
    float min_opacity;
    float max_scale;
    float log_shrink;
    u8* actions;  // [n], bits of a Gaussian's fate
    u64* totals;  // numbers of this refinement
};
extern "C" __global__ void __launch_bounds__(THREADS)
    adc_decide(const __grid_constant__ AdcDecideParams args) {
    begin_kernel();
    const u32 i = item();
    u32 cloned = 0, split = 0;
    if (i < args.n) {
        ReadOnly<float> scales = {args.log_scales + 3 * size_t(i)};
        const float largest = largest_scale(scales);
        const bool visible = opacity_of(args.opacity_logits[i]) >= args.min_opacity;
        const bool chosen = args.actions[i] & CHOSEN;
        split = chosen && largest > args.split_scale;
        cloned = chosen && !split;
        const float child[3] = {scales[0] - args.log_shrink, scales[1] - args.log_shrink,
                                scales[2] - args.log_shrink};
        u32 action = 0;
        if (!split && visible && largest <= args.max_scale) action = cloned ? KEPT | CLONED : KEPT;
        if (split && visible && largest_scale(child) <= args.max_scale) action = SPLIT;
        args.actions[i] = u8(action);
    }
    cloned = __syncthreads_count(cloned);
    split = __syncthreads_count(split);
    if (threadIdx.x == 0 && cloned) atomicAdd(&args.totals[TOTAL_CLONED], u64(cloned));
    if (threadIdx.x == 0 && split) atomicAdd(&args.totals[TOTAL_SPLIT], u64(split));
}

// Turns the SPLIT_INTO copies of each listed parent, which lie behind the clones, into its
// children: means are drawn from the parent's distribution, log scales decrease by `log_shrink`.
// Parameters of `split_children`; in Rust by the same name.
struct SplitChildrenParams {
    float* means;               // [count][3], world
    float* log_scales;          // [count][3]
    ReadOnly<float> rotations;  // [count], quaternions (w, x, y, z)
    ReadOnly<u32> parents;
    ReadOnly<u64> totals;  // numbers of this refinement
    float log_shrink;
    u64 seed;
    u64 step;
};
extern "C" __global__ void __launch_bounds__(THREADS)
    split_children(const __grid_constant__ SplitChildrenParams args) {
    begin_kernel();
    const u32 k = item();
    if (k >= args.totals[TOTAL_CHILDREN]) return;
    const size_t row = args.totals[TOTAL_ALL] + args.totals[TOTAL_CLONES] + k;
    float* mean = args.means + 3 * row;
    float* scales = args.log_scales + 3 * row;
    ReadOnly<float> quaternion = {args.rotations + 4 * row};
    const u64 index = SPLIT_INTO * u64(args.parents[k / SPLIT_INTO]) + k % SPLIT_INTO;
    const Vec3 drawn = normal3(args.seed, args.step, index);
    const float normal[3] = {drawn.x, drawn.y, drawn.z};
    double q[4], square = 0.0;
    for (int c = 0; c < 4; ++c) {
        q[c] = quaternion[c];
        square += q[c] * q[c];
    }
    const double norm = sqrt(square);
    if (norm > 0.0 && norm < __longlong_as_double(0x7ff0000000000000ll)) {
        const double w = q[0] / norm, x = q[1] / norm, y = q[2] / norm, z = q[3] / norm;
        const double rotation[3][3] = {
            {1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)},
            {2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)},
            {2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)},
        };
        double offset[3];
        for (int c = 0; c < 3; ++c) offset[c] = normal[c] * expf(scales[c]);
        for (int c = 0; c < 3; ++c)
            mean[c] += float(rotation[c][0] * offset[0] + rotation[c][1] * offset[1] +
                             rotation[c][2] * offset[2]);
    }
    for (int c = 0; c < 3; ++c) scales[c] -= args.log_shrink;
}
