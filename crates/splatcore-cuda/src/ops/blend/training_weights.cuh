// What blend_splatcore_training.cu and blend_backward_splatcore.cu share: the weights of 16 splats
// on a warp's 32 pixels (docs/methods/splatcore.md, equations 1 to 3). The backward pass repeats
// the forward's weights bit for bit with it, so that the colour behind a fragment is the image
// minus the sum up to it.

#pragma once
#include "half_rows.cuh"

// 3 or 4: on a tensor library's splats and lists, to images of so many channels
// (tensors/rasterize/halves.cuh); 0: a frame's.
#ifndef TENSORS
#define TENSORS 0
#endif

#define MIN_SURE \
    0x1ee11ee1u  // half2 of 1.05e-4 TRANSMITTANCE_UNIT: above the least transmittance by more than
                 // halves can be wrong

// The pixels of a lane: column `lane / 4` of the warp's rectangle, rows 0 to 3. Lanes 4 g to 4 g +
// 3 share them; lane % 4 says which four of a batch's splats are the lane's, and which channel
// (red, green, blue, none) it sums.
struct Pixels {
    u32 basis[2][4];   // A of the scores for rows 0 and 1, then 2 and 3; those of the fourth lane
                       // say which pixels have stopped
    float sums[2][4];  // (channel, transmittance) of rows 0 and 1, then 2 and 3; see
                       // `transmittance_of`
    u32 finished;      // all pixels of the warp have stopped
};

#if !TENSORS
// The backward pass differentiates a tile's list in parts of PART splats, a block each, so that a
// long list is no longer way than a short one. Behind each full part the forward pass leaves the
// pixels' state, if a pixel goes on there. Full parts are numbered as tiles come to them, those of
// a list one after the other; `bucket_tiles` has how many there are, then the number of each tile's
// first, then the tile of each, with IS_LEFT if the state behind it was left.
#define IS_LEFT 0x80000000u
__device__ __forceinline__ u32 first_part(u32 tile) { return 1 + tile; }
__device__ __forceinline__ u32 tile_of_part(u32 tiles, u32 part) { return 1 + tiles + part; }

// threadIdx.x in a register that no earlier one is.
__device__ __forceinline__ u32 thread_anew() {
#ifdef EMULATED
    return threadIdx.x;
#else
    u32 thread;
    asm volatile("mov.u32 %0, %%tid.x;" : "=r"(thread));
    return thread;
#endif
}
#endif

// The same value, in one register: the compiler does not know what it was computed from, which it
// else keeps, in several, for a loop to compute the value anew.
__device__ __forceinline__ u32 opaque(u32 value) {
#ifndef EMULATED
    asm volatile("" : "+r"(value));
#endif
    return value;
}

// Writes a splat's row of halves; returns whether it can be used. The second columns of its
// colours take the weights off the transmittance.
__device__ __forceinline__ bool write_row(uint4* row, float4 mean2d, float4 conic, float4 colour,
                                          float tile_x, float tile_y) {
    bool fits = write_coefficients(row, mean2d, conic, tile_x, tile_y);
    u32 red_green = pack_half2(WEIGHT_UNIT * colour.x, WEIGHT_UNIT * colour.y),
        blue = pack_half2(WEIGHT_UNIT * colour.z, TENSORS == 4 ? WEIGHT_UNIT * colour.w : 0.0f);
    row[2] = make_uint4(
        join_lows(red_green, MINUS_ALPHA_UNIT), __byte_perm(red_green, MINUS_ALPHA_UNIT, 0x5432),
        join_lows(blue, MINUS_ALPHA_UNIT), __byte_perm(blue, MINUS_ALPHA_UNIT, 0x5432));
    return fits;
}

// The row of a splat that blends to nothing, black.
__device__ __forceinline__ void write_empty_row(uint4* row) {
    write_empty_coefficients(row);
    u32 column = MINUS_ALPHA_UNIT << 16;
    row[2] = make_uint4(column, column, column, column);
}

// A transmittance is kept times TRANSMITTANCE_UNIT, and TRANSMITTANCE_UNIT more once its pixel has
// stopped.
__device__ __forceinline__ bool is_stopped(float kept) { return kept > TRANSMITTANCE_UNIT; }
__device__ __forceinline__ float transmittance_of(float kept) {
    // Without a branch, which each of the four pixels would execute.
    return (1.0f / TRANSMITTANCE_UNIT) *
           fmaxf(kept - (is_stopped(kept) ? TRANSMITTANCE_UNIT : 0.0f), 0.0f);
}

// A lane's pixels (x, y0) to (x, y0 + 3) before the first splat; coefficients are about the centre
// of the block's pixels, which begin at (block_x, block_y).
__device__ __forceinline__ void start_pixels(Pixels& pixels, u32 x, u32 y0, u32 member,
                                             const Camera& camera, u32 block_x, u32 block_y) {
    make_basis<false>(pixels.basis, x, y0, member, block_x, block_y);
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        pixels.sums[k / 2][k % 2 * 2] = 0.0f;
        pixels.sums[k / 2][k % 2 * 2 + 1] = TRANSMITTANCE_UNIT;
    }
    pixels.finished = 0;
    // Pixels beyond the image's edges count as stopped: the last pair of the basis takes their
    // alphas to 0.
    if (block_x + COLUMNS * RECTANGLE_X > camera.width ||
        block_y + ROWS * RECTANGLE_Y > camera.height) {
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            if (x < camera.width && y0 + k < camera.height) continue;
            if (member == 3) pixels.basis[k / 2][k % 2] = 0x3c00u;
            pixels.sums[k / 2][k % 2 * 2 + 1] = 2.0f * TRANSMITTANCE_UNIT;
        }
        pixels.finished = __all_sync(FULL_MASK, x >= camera.width || y0 >= camera.height);
    }
}

// Blends 16 splats: `add(f, weights)` adds the weights of rows 2 f and 2 f + 1, as the A operand
// of a product over splats, to the pixels' sums. `look(alphas, left)` receives the alphas (in
// ALPHA_UNIT) of the lane's four splats, half2 of two pixels, and the product of their 1 - alpha;
// `in_front` receives the transmittance (times TRANSMITTANCE_UNIT) in front of them. Returns true
// if all pixels have stopped.
template <typename Look, typename Add>
__device__ __forceinline__ bool weigh_batch(Pixels& pixels, const uint4* rows, u32 row, u32 lane,
                                            u32 alpha_max, u32 (&in_front)[2], Look look, Add add) {
    const u32 one = 0x3c003c00u;
    u32 coefficients[4];
    load_matrix_x4_at(coefficients, rows, row);
    bool odd = lane & 1, upper = lane & 2;
    u32 alphas[2][4], left[2], lowest[2];
#pragma unroll
    for (int f = 0; f < 2; ++f) {
        make_alphas(alphas[f], pixels.basis[f], coefficients, alpha_max);
        // The product of 1 - alpha of the lane's four splats, then of the splats in front of them.
        u32 leaves[4];
#pragma unroll
        for (int k = 0; k < 4; ++k)
            leaves[k] = subtract_product_half2(one, alphas[f][k], ALPHA_UNITS);
        left[f] = multiply_half2(multiply_half2(leaves[0], leaves[1]),
                                 multiply_half2(leaves[2], leaves[3]));
    }
    // Both shuffles side by side, as a warp stalls at the first use of a result.
    u32 neighbours[2], others[2];
#pragma unroll
    for (int f = 0; f < 2; ++f) neighbours[f] = __shfl_xor_sync(FULL_MASK, left[f], 1);
#pragma unroll
    for (int f = 0; f < 2; ++f)
        others[f] = __shfl_xor_sync(FULL_MASK, multiply_half2(left[f], neighbours[f]), 2);
#pragma unroll
    for (int f = 0; f < 2; ++f) {
        u32 before = multiply_half2(odd ? neighbours[f] : one, upper ? others[f] : one);
        in_front[f] = multiply_half2(before, pack_half2(pixels.sums[f][1], pixels.sums[f][3]));
        lowest[f] = multiply_half2(in_front[f], left[f]);
    }
    look(alphas, left);
    if (__builtin_expect(!__any_sync(FULL_MASK, mask_ge_half2(min_half2(lowest[0], lowest[1]),
                                                              MIN_SURE) != FULL_MASK),
                         true)) {
#pragma unroll
        for (int f = 0; f < 2; ++f) {
            u32 t = in_front[f], weights[4];
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                weights[k] = multiply_half2(alphas[f][k], t);
                // The transmittance left by the rounded weights, not a product of 1 - alpha: the
                // backward pass divides the colour behind by it.
                t = subtract_product_half2(t, weights[k], ALPHA_UNITS);
            }
            u32 a[4] = {join_lows(weights[0], weights[1]), join_highs(weights[0], weights[1]),
                        join_lows(weights[2], weights[3]), join_highs(weights[2], weights[3])};
            add(f, a);
        }
        return false;
    }
    // Some pixel may stop: every fragment's transmittance in f32, so that the pixel stops before
    // the same fragment as in every other method.
#pragma unroll
    for (int f = 0; f < 2; ++f) {
        u32 a[4];
        bool stops[2];
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            float t = i ? half_high(in_front[f]) : half_low(in_front[f]), weights[4];
            stops[i] = false;
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                float weight = t * (i ? half_high(alphas[f][k]) : half_low(alphas[f][k])),
                      next = fmaf(-ALPHA_UNIT, weight, t);
                // Transmittance only falls, so fragments above the limit lie in front of the one
                // that stops the pixel.
                stops[i] = stops[i] || next < TRANSMITTANCE_UNIT * TRANSMITTANCE_MIN;
                weights[k] = next < TRANSMITTANCE_UNIT * TRANSMITTANCE_MIN ? 0.0f : weight;
                t = next;
            }
            a[i] = pack_half2(weights[0], weights[1]);
            a[i + 2] = pack_half2(weights[2], weights[3]);
        }
        add(f, a);
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            // Any of the pixel's four lanes may have found it.
            u32 seen = __ballot_sync(FULL_MASK, stops[i]);
            if (seen >> (lane & ~3u) & 15) {
                // Rounded weights may have added up to all of the transmittance.
                pixels.sums[f][2 * i + 1] =
                    TRANSMITTANCE_UNIT +
                    fmaxf(pixels.sums[f][2 * i + 1], TRANSMITTANCE_UNIT * TRANSMITTANCE_MIN);
                if (odd && upper) pixels.basis[f][i] = 0x3c00u;
            }
        }
    }
    pixels.finished =
        __all_sync(FULL_MASK, is_stopped(fminf(fminf(pixels.sums[0][1], pixels.sums[0][3]),
                                               fminf(pixels.sums[1][1], pixels.sums[1][3]))));
    return pixels.finished;
}
