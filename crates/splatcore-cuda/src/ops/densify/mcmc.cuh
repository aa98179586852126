// MCMC (Kheradmand et al. 2024): which Gaussians are dead, which are drawn in proportion to their
// opacity, and what those share with their copies.

#pragma once
#include "list_gaussians.cuh"
#include "random.cuh"

// 64 random bits for (seed, step, index, lane); random.cuh has the other generators.
__device__ __forceinline__ u64 random_bits(u64 seed, u64 step, u64 index, u64 lane) {
    return mix(mix(mix(seed ^ (step << 32)) ^ index) ^ lane);
}

// Parameters of `mcmc_mark_dead`; in Rust by the same name.
struct McmcMarkDeadParams {
    ReadOnly<float> opacity_logits;  // [count]
    u32 n;                           // Gaussians
    float min_opacity;
    u8* actions;  // [n], bits of a Gaussian's fate
};
extern "C" __global__ void __launch_bounds__(THREADS)
    mcmc_mark_dead(const __grid_constant__ McmcMarkDeadParams args) {
    begin_kernel();
    const u32 i = item();
    if (i < args.n)
        args.actions[i] = opacity_of(args.opacity_logits[i]) > args.min_opacity ? 0 : DEAD;
}

// A Gaussian's opacity in units of 2^-32: 0 for dead ones and outside of the region, at least 1 for
// others. `actions` may be null: none is dead.
template <typename Params>
__device__ __forceinline__ u64 weight(const Params& args, u32 i) {
    if (args.actions && (args.actions[i] & DEAD)) return 0;
    if (!is_within(args.within, i)) return 0;
    const float opacity = opacity_of(args.opacity_logits[i]);
    return opacity > 0.0f ? max(u64(double(opacity) * 4294967296.0), u64(1)) : u64(1);
}

// Parameters of `weight_sums`; in Rust by the same name.
struct WeightSumsParams {
    ReadOnly<float> opacity_logits;  // [count]
    ReadOnly<u8> actions;            // [n], bits of a Gaussian's fate
    Within within;                   // who may be drawn
    u32 n;                           // Gaussians
    u64* sums;                       // one a block
};
extern "C" __global__ void __launch_bounds__(THREADS)
    weight_sums(const __grid_constant__ WeightSumsParams args) {
    begin_kernel();
    __shared__ u64 warps[WARPS];
    const u32 i = item();
    const u64 sum = sum_block(i < args.n ? weight(args, i) : u64(0), warps);
    if (threadIdx.x == 0) args.sums[blockIdx.x] = sum;
}

// cumulative[i]: the inclusive sum of the weights up to i.
// Parameters of `weight_scan`; in Rust by the same name.
struct WeightScanParams {
    ReadOnly<float> opacity_logits;  // [count]
    ReadOnly<u8> actions;            // [n], bits of a Gaussian's fate
    Within within;                   // who may be drawn
    u32 n;                           // Gaussians
    ReadOnly<u64> sums;              // one a block
    u64* cumulative;                 // [n], sums of the weights up to each Gaussian
};
extern "C" __global__ void __launch_bounds__(THREADS)
    weight_scan(const __grid_constant__ WeightScanParams args) {
    begin_kernel();
    __shared__ u64 warps[WARPS];
    const u32 i = item();
    const u64 through = scan_block(i < args.n ? weight(args, i) : u64(0), warps);
    if (i < args.n) args.cumulative[i] = args.sums[blockIdx.x] + through;
}

// Draws Gaussians with replacement, in proportion to their weights, and counts how often each was
// drawn (`copies`). The number of draws is `wanted`, or `at_most` if that is null; 0 if the total
// weight or `all` is 0. It is written to `moved`.
// Parameters of `mcmc_draw`; in Rust by the same name.
struct McmcDrawParams {
    ReadOnly<u64> cumulative;  // [n], sums of the weights up to each Gaussian
    u32 n;                     // Gaussians
    ReadOnly<u64> total;
    ReadOnly<u64> all;
    ReadOnly<u64> wanted;  // how many, on the device
    u32 at_most;
    u64 seed;
    u64 step;
    u64 lane;
    u32* drawn;   // indices drawn
    u32* copies;  // [n], how often each was drawn
    u64* moved;
};
extern "C" __global__ void __launch_bounds__(THREADS)
    mcmc_draw(const __grid_constant__ McmcDrawParams args) {
    begin_kernel();
    const u32 count = args.total[0] == 0 || args.all[0] == 0 ? 0
                      : args.wanted                          ? u32(args.wanted[0])
                                                             : args.at_most;
    const u32 k = item();
    if (k == 0) *args.moved = count;
    if (k >= count) return;
    const u64 at = __umul64hi(random_bits(args.seed, args.step, k, args.lane), args.total[0]);
    u32 low = 0, high = args.n - 1;  // the first whose cumulative weight exceeds `at`
    while (low < high) {
        const u32 middle = low + (high - low) / 2;
        if (args.cumulative[middle] > at)
            high = middle;
        else
            low = middle + 1;
    }
    args.drawn[k] = low;
    atomicAdd(&args.copies[low], 1u);
}

// The opacity and scales that a Gaussian and its copies get so that the image changes least
// (equation 9):
//   o' = 1 - (1 - o)^(1/N),  s' = s o / sum over i = 1..N, k = 0..i-1 of C(i-1, k) (-1)^k o'^(k+1)
//   / sqrt(k + 1).
// The sums are exchanged: the sum over i of C(i-1, k) is C(N, k+1), so N terms are left.
// Parameters of `mcmc_share`; in Rust by the same name.
struct McmcShareParams {
    float* opacity_logits;  // [count]
    float* log_scales;      // [count][3]
    u32 n;                  // Gaussians
    ReadOnly<u32> copies;   // [n], how often each was drawn
    float min_opacity;
};
extern "C" __global__ void __launch_bounds__(THREADS)
    mcmc_share(const __grid_constant__ McmcShareParams args) {
    begin_kernel();
    const u32 i = item();
    if (i >= args.n || args.copies[i] == 0) return;
    const int among = int(min(args.copies[i], 50u)) + 1;  // 51 as in the authors' code
    const double opacity = opacity_of(args.opacity_logits[i]);
    const double shared = 1.0 - pow(1.0 - opacity, 1.0 / among);
    double sum = 0.0, power = shared, binomial = among;
    for (int k = 0; k < among; ++k) {
        sum += binomial * power / sqrt(k + 1.0);
        power *= -shared;
        binomial *= double(among - 1 - k) / (k + 2);
    }
    const float factor = float(log(opacity / sum));
    const float clamped = fminf(fmaxf(float(shared), args.min_opacity), 1.0f - 1.1920929e-7f);
    args.opacity_logits[i] = logf(clamped / (1.0f - clamped));
    for (int c = 0; c < 3; ++c) args.log_scales[3 * size_t(i) + c] += factor;
}
