// Adaptive density control, first part: which Gaussians grow. If there is room for K of them only,
// these have the K largest gradients, found by radix selection on the bits of the f32.

#pragma once
#include "gaussian_actions.cuh"
#include "random.cuh"

// Values of a digit of the selection, and the place of a key's first digit.
#define DIGITS (1u << DIGIT_BITS)
#define FIRST_SHIFT (32 - DIGIT_BITS)

__device__ __forceinline__ float mean_gradient(const float* gradient_sum, const u32* seen, u32 i) {
    return gradient_sum[i] / float(max(seen[i], 1u));
}

// The lane of a Gaussian's random numbers that draws take; DRAW of splatcore_core::random.
#define DRAW_LANE 6

// Keys of a draw without replacement in proportion to `gradient_sum` (Efraimidis and Spirakis
// 2006): those who have the K largest are drawn. 0 without weight. The selection divides by `ones`.
// Parameters of `draw_keys`; in Rust by the same name.
struct DrawKeysParams {
    ReadOnly<float> gradient_sum;  // [count], summed statistic for densification
    u32 n;                         // Gaussians
    u64 seed;
    u64 step;
    float* keys;  // [n]
    u32* ones;    // [n]
};
extern "C" __global__ void __launch_bounds__(THREADS)
    draw_keys(const __grid_constant__ DrawKeysParams args) {
    begin_kernel();
    const u32 i = item();
    if (i >= args.n) return;
    const float weight = args.gradient_sum[i];
    const float drawn = fabsf(logf(1.0f - uniform_at(args.seed, args.step, i, DRAW_LANE)));
    args.keys[i] = weight > 0.0f ? weight / drawn : 0.0f;
    args.ones[i] = 1;
}

// Maps floats to integers of the same order.
__device__ __forceinline__ u32 sortable(float value) {
    const u32 bits = __float_as_uint(value);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

// State of the radix selection of the largest gradients: the bits of the limit known so far, the
// number still to be found among candidates that share these bits, and whether all candidates fit.
struct Selection {
    u32 prefix, remaining, all;
};

// Counts the candidates that share the known bits by their next digit.
// Parameters of `select_histogram`; in Rust by the same name.
struct SelectHistogramParams {
    ReadOnly<float> gradient_sum;  // [count], summed 2D gradients for densification
    ReadOnly<u32> seen;            // [count], steps in view
    u32 n;                         // Gaussians
    float threshold;
    Within within;  // who may grow
    u32 shift;
    const Selection* selection;
    u32* histogram;
};
extern "C" __global__ void __launch_bounds__(THREADS)
    select_histogram(const __grid_constant__ SelectHistogramParams args) {
    begin_kernel();
    __shared__ u32 counts[DIGITS];
    counts[threadIdx.x] = 0;
    __syncthreads();
    const u32 i = item();
    if (i < args.n) {
        const float gradient = mean_gradient(args.gradient_sum, args.seen, i);
        const u32 key = sortable(gradient);
        const bool shares =
            args.shift == FIRST_SHIFT || key >> (args.shift + DIGIT_BITS) == args.selection->prefix;
        if (gradient >= args.threshold && shares && is_within(args.within, i))
            atomicAdd(&counts[key >> args.shift & (DIGITS - 1)], 1u);
    }
    __syncthreads();
    if (counts[threadIdx.x]) atomicAdd(&args.histogram[threadIdx.x], counts[threadIdx.x]);
}

// One thread. Finds the next digit of the smallest gradient that a limit of `room` Gaussians
// admits; clears the histogram.
// Parameters of `select_digit`; in Rust by the same name.
struct SelectDigitParams {
    u32 shift;
    u32 room;  // pairs that a macro-tile has room for
    Selection* selection;
    u32* histogram;
};
extern "C" __global__ void select_digit(const __grid_constant__ SelectDigitParams args) {
    begin_kernel();
    if (args.shift == FIRST_SHIFT) args.selection->remaining = args.room;
    u32 total = 0;
    for (u32 digit = 0; digit < DIGITS; ++digit) total += args.histogram[digit];
    if (args.shift == FIRST_SHIFT) args.selection->all = total <= args.selection->remaining;
    u32 digit = DIGITS - 1;
    while (digit > 0 && args.histogram[digit] < args.selection->remaining)
        args.selection->remaining -= args.histogram[digit--];
    args.selection->prefix = args.selection->prefix << DIGIT_BITS | digit;
    for (u32 d = 0; d < DIGITS; ++d) args.histogram[d] = 0;
}

// Marks the Gaussians that grow (CHOSEN), and those whose gradient equals the limit (EQUAL), some
// of which grow. Without `selection` all at or above the threshold grow.
// Parameters of `adc_choose`; in Rust by the same name.
struct AdcChooseParams {
    ReadOnly<float> gradient_sum;  // [count], summed 2D gradients for densification
    ReadOnly<u32> seen;            // [count], steps in view
    u32 n;                         // Gaussians
    float threshold;
    Within within;  // who may grow
    const Selection* selection;
    u8* actions;  // [n], bits of a Gaussian's fate
};
extern "C" __global__ void __launch_bounds__(THREADS)
    adc_choose(const __grid_constant__ AdcChooseParams args) {
    begin_kernel();
    const u32 i = item();
    if (i >= args.n) return;
    const float gradient = mean_gradient(args.gradient_sum, args.seen, i);
    u32 action = 0;
    if (gradient >= args.threshold && is_within(args.within, i)) {
        const u32 key = sortable(gradient);
        if (!args.selection || args.selection->all || key > args.selection->prefix)
            action = CHOSEN;
        else if (key == args.selection->prefix)
            action = EQUAL;
    }
    args.actions[i] = u8(action);
}

// Of the Gaussians marked EQUAL, the first that there is room for grow.
// Parameters of `adc_admit`; in Rust by the same name.
struct AdcAdmitParams {
    ReadOnly<u32> equals;
    ReadOnly<u64> count;
    const Selection* selection;
    u8* actions;  // [n], bits of a Gaussian's fate
};
extern "C" __global__ void __launch_bounds__(THREADS)
    adc_admit(const __grid_constant__ AdcAdmitParams args) {
    begin_kernel();
    const u32 k = item();
    if (k < args.count[0] && k < args.selection->remaining)
        args.actions[args.equals[k]] = u8(CHOSEN);
}
