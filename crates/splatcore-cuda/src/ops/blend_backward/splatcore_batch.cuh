// Sums over a warp's 32 pixels of 16 splats, for blend_backward_splatcore.cu, which has the
// formulas.

#pragma once
#include "training_weights.cuh"

#define COLOURS (TENSORS ? TENSORS : 3)
#define SUMS (6 + COLOURS)
// A floor of the transmittance that v divides by. No fragment that counts leaves less. A stopped
// pixel has at most 0.0102 of the background behind it; divided by this floor it stays a finite
// half. An infinite value would turn a weight of 0 into not-a-number.
#define MIN_LEFT (0.5f * TRANSMITTANCE_MIN)

// Warps add up their sums in fixed point, whose sums do not depend on the order: an integer of
// whole units, and one of the rests in REST. The units of sums over v are by the degree of their
// function. A pixel's v is a finite half, and x and y are below 8: the sums of 256 pixels are less
// than 2^31 units. Halves are multiples of 2^-24, x and y of 2^-1: the sums are multiples of REST
// units.
#define REST (1.0f / 16777216.0f)
#define UNITS_0 64.0f
#define UNITS_1 16.0f
#define UNITS_2 4.0f
#define UNITS_W 64.0f
#define HALVES_UNITS_W 0x54005400u  // two halves of UNITS_W
// Integers of a splat: SUMS whole numbers, SUMS rests. An odd number, so that splats lie in other
// banks.
#define PITCH (2 * SUMS | 1)

// A lane's operands for its pixels, besides their weights.
struct Gradients {
    u32 left[2][2];     // A of `toward`: dL/dcolour of the lane's channel (member) at its pixels
    u32 identity;       // B: column lane / 4 of the identity
    u32 in_front;       // B of the scan over a pixel's lanes: even columns take off the sums of
                        // those in front of lane column / 2, odd ones those of all
    float behind[4];    // dL/dcolour . colour behind the splats so far
    const uint4* sums;  // in shared memory, for each row pair, BLOCK apart: B of the sums over w,
                        // then of those over v
};

// Adds a number of units.
__device__ __forceinline__ void add_fixed(int* to, float units) {
    int whole = __float2int_rn(units);
    atomicAdd(to, whole);
    atomicAdd(to + SUMS, __float2int_rn((1.0f / REST) * (units - (float)whole)));
}

__device__ __forceinline__ float fixed_units(const int* sum) {
    return fmaf(REST, (float)sum[SUMS], (float)sum[0]);
}

// B of the sums over pixels 2 member and 2 member + 1 of rows k: column lane / 4 is function 0 to 5
// of the basis, then channels 0 and 1; of the sums over w the other channels come first.
__device__ __forceinline__ u32 channel_of_column(u32 column) {
    return column < 6 ? column + 2 : column - 6;
}

// dL/dcolour . colour behind the lane's first splat at its pixels of rows 2 f and 2 f + 1, and
// behind the batch, by each lane's sum over its own splats: a product of each as two halves.
__device__ __forceinline__ void scan_lanes(Gradients& gradients, int f, const float (&own)[2],
                                           float (&behind)[2]) {
    const float none[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    u32 high = pack_half2(own[0], own[1]);
    u32 parts[2] = {pack_half2(own[0], own[0] - half_low(high)),
                    pack_half2(own[1], own[1] - half_high(high))};
    float taken[4];
    mma_m16n8k8(taken, parts, gradients.in_front, none);
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        behind[i] = gradients.behind[2 * f + i] + taken[2 * i];
        gradients.behind[2 * f + i] += taken[2 * i + 1];
    }
}

// Halves v = w (toward - behind / T) of a lane's four splats at one of its pixels.
__device__ __forceinline__ void differentiate(const float (&w)[4], const float (&g)[4], float t,
                                              float behind, u32 low, u32 high, u32& v_low,
                                              u32& v_high) {
    float u[4];
    t = fmaxf(t, MIN_LEFT);
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        // After one splat T stays positive. After two that leave a hundredth each, the rounding of
        // their weights can make T zero or negative: hence the floor.
        t = k == 0 ? t - w[k] : fmaxf(t - w[k], MIN_LEFT);
        behind = fmaf(-w[k], g[k], behind);
        u[k] = fmaf(-behind, reciprocal_approx(t), g[k]);
    }
    v_low = multiply_half2(pack_half2(u[0], u[1]), low);
    v_high = multiply_half2(pack_half2(u[2], u[3]), high);
}

// Adds the sums of 16 splats over the warp's pixels to `totals`, rows of PITCH; `queue` has the
// offsets of their rows, of which `row` is the lane's.
__device__ __forceinline__ void backward_batch(Pixels& pixels, Gradients& gradients,
                                               const uint4* rows, u32 row, u32 lane, u32 alpha_max,
                                               const u16* queue, int* totals) {
    const u32 minus[2] = {join_lows(MINUS_ALPHA_UNIT, MINUS_ALPHA_UNIT),
                          join_lows(MINUS_ALPHA_UNIT, MINUS_ALPHA_UNIT)};
    const float none[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    u32 in_front[2], weights[2][4], caps = 0;
    weigh_batch(
        pixels, rows + lane / 8 % 2, row, lane, alpha_max, in_front,
        [&](const u32(&alphas)[2][4], const u32(&left)[2]) {
            // One of a lane's four alphas can be at the cap of 0.99 only where the four together
            // leave a transmittance of 0.0104 or less.
            u32 most = subtract_product_half2(0x3c003c00u, alpha_max, ALPHA_UNITS);
            most = add_half2(most, multiply_half2(most, 0x2c002c00u));
            if (!__any_sync(FULL_MASK, mask_ge_half2(most, min_half2(left[0], left[1])) != 0))
                return;
#pragma unroll
            for (int k = 0; k < 8; ++k)
                caps |= (mask_ge_half2(alphas[k / 4][k % 4], alpha_max) & 0x00010001u) << k;
        },
        [&](int f, const u32* a) {
#pragma unroll
            for (int k = 0; k < 4; ++k) weights[f][k] = a[k];
            mma_m16n8k16(pixels.sums[f], a, minus, pixels.sums[f]);
        });
    u32 colours[4];  // of each eight splats twice: one address serves coefficients and colours
    load_matrix_x4_at(colours, rows, row + 32);
    float sums_v[4] = {0.0f, 0.0f, 0.0f, 0.0f}, sums_w[4] = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll
    for (int f = 0; f < 2; ++f) {
        float toward[2][4], wide[2][4];  // `wide`: the weights in f32, exact, as `toward` lies
        u32 near[2] = {weights[f][0], weights[f][1]}, far[2] = {weights[f][2], weights[f][3]};
        mma_m16n8k8(toward[0], gradients.left[f], colours[0], none);
        mma_m16n8k8(toward[1], gradients.left[f], colours[2], none);
        mma_m16n8k8(wide[0], near, gradients.identity, none);
        mma_m16n8k8(wide[1], far, gradients.identity, none);
        float own[2], behind[2];
#pragma unroll
        for (int i = 0; i < 2; ++i)
            own[i] = fmaf(wide[1][1 + 2 * i], toward[1][1 + 2 * i],
                          fmaf(wide[1][2 * i], toward[1][2 * i],
                               fmaf(wide[0][1 + 2 * i], toward[0][1 + 2 * i],
                                    wide[0][2 * i] * toward[0][2 * i])));
        scan_lanes(gradients, f, own, behind);
        u32 v[4];
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            float w[4], g[4];
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                w[k] = wide[k / 2][k % 2 + 2 * i];
                g[k] = toward[k / 2][k % 2 + 2 * i];
            }
            // T is in the unit of the stored weights, as w is. Colours are stored in the inverse
            // unit, as g and u are, so w g and w u carry no factor. A stopped pixel has weights of
            // 0 from there on.
            float t = (1.0f / ALPHA_UNIT) * (i ? half_high(in_front[f]) : half_low(in_front[f]));
            differentiate(w, g, t, behind[i], weights[f][i], weights[f][i + 2], v[i], v[i + 2]);
        }
        // A capped alpha is constant, so its derivative is 0.
        if (caps >> (4 * f) & 0x000f000fu) {
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                u32 half = k % 2 ? 0xffff0000u : 0x0000ffffu;
                if (caps >> (4 * f + k) & 1) v[k / 2 * 2] &= ~half;
                if (caps >> (4 * f + k + 16) & 1) v[k / 2 * 2 + 1] &= ~half;
            }
        }
        const uint4 b = gradients.sums[f * BLOCK];
        const u32 over_w[2] = {b.x, b.y}, over_v[2] = {b.z, b.w};
        // Transposes pixels x splats to splats x pixels.
        u32 turned[4];
#pragma unroll
        for (int k = 0; k < 4; ++k) turned[k] = transpose_matrix(weights[f][k % 2 * 2 + k / 2]);
        mma_m16n8k16(sums_w, turned, over_w, sums_w);
#pragma unroll
        for (int k = 0; k < 4; ++k) turned[k] = transpose_matrix(v[k % 2 * 2 + k / 2]);
        mma_m16n8k16(sums_v, turned, over_v, sums_v);
    }
    u32 group = lane / 4, member = lane % 4, place = group / 2 * 4 + group % 2;
    int* to = totals + (u32)queue[place] / ROW_BYTES * PITCH + 2 * member;
    int* next = totals + (u32)queue[place + 2] / ROW_BYTES * PITCH + 2 * member;
    // The fourth lane has the first two channels, the first lane the others.
#pragma unroll
    for (int k = 0; k < 4; ++k)
        add_fixed((k < 2 ? to : next) + k % 2, member == 3 ? sums_w[k] : sums_v[k]);
    if (member == 0) {
#pragma unroll
        for (int k = 0; k < COLOURS - 2; ++k) {
            add_fixed(to + 8 + k, sums_w[k]);
            add_fixed(next + 8 + k, sums_w[2 + k]);
        }
    }
}
