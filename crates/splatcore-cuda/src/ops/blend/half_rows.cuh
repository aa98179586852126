// What blend_splatcore_training.cu, its backward pass (blend_backward_splatcore.cu) and
// inference.cuh share: the rectangles of pixels of a tile, one a warp; the rows of halves that a
// list becomes; a splat's test against the rectangles; the queue of the splats that pass; alphas
// from scores. docs/methods/splatcore.md, equations 1 and 2.

#pragma once
#include "matrix.cuh"
#include "subtile.cuh"

// A warp's pixels: RECTANGLE_X x RECTANGLE_Y, COLUMNS x ROWS of which are a tile.
#define RECTANGLE_X SUBTILE_X
#ifndef RECTANGLE_Y
#define RECTANGLE_Y SUBTILE_Y
#endif
#define COLUMNS (TILE / RECTANGLE_X)
#define ROWS (TILE / RECTANGLE_Y)
static_assert(BLOCK == WARP * COLUMNS * ROWS, "a warp has a rectangle of the tile");
#define PIECE 256  // splats of a list at a time
#define BATCH 16
#ifndef ROW_BYTES
#define ROW_BYTES 48
#endif

// n / d, for n < 2^24, without the long division.
__device__ __forceinline__ u32 quotient(u32 n, u32 d) {
    u32 q = (u32)((float)n * reciprocal_approx((float)d));
    if (q * d > n) --q;
    if ((q + 1) * d <= n) ++q;
    return q;
}

// Alphas are kept as alpha / ALPHA_UNIT: 1/255 becomes the least half that is not subnormal
// (within 2e-5), so that one instruction, a minimum that takes subnormal numbers for 0, caps
// alphas and cuts those below 1/255. Transmittances are kept times
// TRANSMITTANCE_UNIT, a power of two, so that the weight of the front splat is its alpha without
// another rounding. Weights are therefore kept as weight * TRANSMITTANCE_UNIT / ALPHA_UNIT, and the
// colours are scaled by WEIGHT_UNIT in turn.
#define ALPHA_UNIT 64.25f
#define ALPHA_UNITS 0x54045404u   // half2
#define MINUS_ALPHA_UNIT 0xd404u  // half: a kept weight times it comes off the kept transmittance
#define LOG2_ALPHA_UNIT 6.0056245f
#define TRANSMITTANCE_UNIT 64.0f
#define WEIGHT_UNIT (ALPHA_UNIT / TRANSMITTANCE_UNIT)

// The cap on alphas, as they are kept.
__device__ __forceinline__ u32 kept_alpha_max(const Camera& camera) {
    float kept = camera.alpha_max * (1.0f / ALPHA_UNIT);
    return pack_half2(kept, kept);
}

#define STOPPED \
    -60000.0f  // added to the scores of pixels that have stopped, takes their alphas to 0
#define COEFFICIENT_MAX 60000.0f

// The first two parts of a row, 16 bytes each: a splat's coefficients around (0, 0) = the tile's
// centre, as high and low halves. The low halves are times LOW_SCALE, and the basis that they are
// multiplied by is divided by it. Returns whether halves can hold the coefficients; if not, the
// row must not be used.
#define LOW_SCALE 256.0f
#define LOW_UNIT 0x1c001c00u  // half2 of 1 / LOW_SCALE
__device__ __forceinline__ bool write_coefficients(uint4* row, float4 mean2d, float4 conic,
                                                   float tile_x, float tile_y) {
    float mx = mean2d.x - tile_x, my = mean2d.y - tile_y;
    float gx = fmaf(conic.x, mx, conic.y * my);  // a mx + b my
    float constant = fmaf(gx, mx, fmaf(conic.z * my, my, mean2d.z - LOG2_ALPHA_UNIT));
    float slope_x = -fmaf(conic.x, mx, gx), slope_y = -fmaf(2.0f * conic.z, my, conic.y * mx);
    float k[6] = {constant, slope_x, slope_y, conic.x, conic.y, conic.z};
    u32 high[3], low[3];
#pragma unroll
    for (int i = 0; i < 3; ++i) {
        high[i] = pack_half2(k[2 * i], k[2 * i + 1]);
        low[i] = pack_half2(LOW_SCALE * (k[2 * i] - half_low(high[i])),
                            LOW_SCALE * (k[2 * i + 1] - half_high(high[i])));
    }
    row[0] = make_uint4(high[0], high[1], high[2], pack_half2(STOPPED, 0.0f));
    row[1] = make_uint4(low[0], low[1], low[2], 0);
    // The sum is not a number if a coefficient is none, and the comparison is then false.
    return fabsf(k[0]) + fabsf(k[1]) + fabsf(k[2]) + fabsf(k[3]) + fabsf(k[4]) + fabsf(k[5]) <
           COEFFICIENT_MAX;
}

// The same for a splat that blends to nothing: its alpha is 2^-100.
__device__ __forceinline__ void write_empty_coefficients(uint4* row) {
    row[0] = make_uint4(pack_half2(-100.0f, 0.0f), 0, 0, pack_half2(STOPPED, 0.0f));
    row[1] = make_uint4(0, 0, 0, 0);
}

// Bit r * COLUMNS + c says whether the splat reaches 1/255 in rectangle (c, r) of the block's, the
// first of which starts at (x0, y0): as touches_subtile, with the terms that rectangles share
// computed once.
__device__ __forceinline__ u32 touched_rectangles(float4 mean2d, float4 conic, float x0, float y0) {
    // The margin covers the rounding of exponents here and in the blend.
    float needed = -(mean2d.z + LOG2_255 + 1e-3f) * (1.0f + 1e-4f);
    float across = -0.5f * conic.y * reciprocal_approx(conic.x),
          along = -0.5f * conic.y * reciprocal_approx(conic.z);
    float best_y[COLUMNS], slope_y[COLUMNS],
        rest_y[COLUMNS];  // along the edge x = near_x: the best y, and the exponent's other terms
    float left[COLUMNS];
#pragma unroll
    for (int c = 0; c < COLUMNS; ++c) {
        left[c] = x0 + (c * RECTANGLE_X + 0.5f) - mean2d.x;
        float near_x = fminf(fmaxf(0.0f, left[c]), left[c] + (RECTANGLE_X - 1));
        best_y[c] = along * near_x;
        slope_y[c] = conic.y * near_x;
        rest_y[c] = conic.x * near_x * near_x;
    }
    u32 mask = 0;
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        float top = y0 + (r * RECTANGLE_Y + 0.5f) - mean2d.y, bottom = top + (RECTANGLE_Y - 1);
        float near_y = fminf(fmaxf(0.0f, top), bottom);
        float best_x = across * near_y, slope_x = conic.y * near_y,
              rest_x = conic.z * near_y * near_y;
#pragma unroll
        for (int c = 0; c < COLUMNS; ++c) {
            float y = fminf(fmaxf(best_y[c], top), bottom),
                  x = fminf(fmaxf(best_x, left[c]), left[c] + (RECTANGLE_X - 1));
            float on_x = fmaf(y, fmaf(conic.z, y, slope_y[c]), rest_y[c]),
                  on_y = fmaf(x, fmaf(conic.x, x, slope_x), rest_x);
            mask |= fmaxf(on_x, on_y) >= needed ? 1u << (COLUMNS * r + c) : 0;
        }
    }
    return mask;
}

// A lane's pixels before the first splat, PAIRS pairs of rows from (x, y0) down: its part of their
// basis (1, x, y, x^2, xy, y^2 and two more, about the centre of the tile that begins at (block_x,
// block_y)), as the A operand of the scores for high and low halves. SAMPLED: for the tile's
// samples (blend_interpolated.cu), of which x counts the columns.
template <bool SAMPLED, int PAIRS>
__device__ __forceinline__ void make_basis(u32 (&basis)[PAIRS][4], u32 x, u32 y0, u32 member,
                                           u32 block_x, u32 block_y) {
    // Of (1, x), (y, x^2), (xy, y^2), (0, 0), the lane's pair as a polynomial of y; exact in half
    // precision, for quarters of pixels too.
    int column = (int)(x - block_x);
    float bx = (SAMPLED ? 2.25f * column - 0.25f * ((column + 2) / 3) : (float)column) +
               (0.5f - 0.5f * TILE);
    float by = (float)(int)(y0 - block_y) + (0.5f - 0.5f * TILE);
    u32 one_x = pack_half2(1.0f, bx), x_square = pack_half2(0.0f, bx * bx),
        only_x = pack_half2(bx, 0.0f), y = pack_half2(by, by);
    u32 constant = member == 0   ? one_x
                   : member == 1 ? x_square
                                 : 0,
        slope = member == 1   ? 0x3c00u
                : member == 2 ? only_x
                              : 0;
    u32 square = member == 2 ? 0x3c000000u : 0;
#pragma unroll
    for (int k = 0; k < 2 * PAIRS; ++k) {
        u32 pair = multiply_add_half2(multiply_add_half2(square, y, slope), y, constant);
        basis[k / 2][k % 2] = pair;
        basis[k / 2][k % 2 + 2] = multiply_half2(pair, LOW_UNIT);
        y = add_half2(y, !SAMPLED     ? 0x3c003c00u
                         : k % 3 == 0 ? 0x40004000u
                                      : 0x40804080u);  // 1, 2, 2.25
    }
}

// Alphas, in ALPHA_UNIT, of the lane's four splats for a pair of rows, half2 of the two pixels.
__device__ __forceinline__ void make_alphas(u32 (&alphas)[4], const u32 (&basis)[4],
                                            const u32 (&coefficients)[4], u32 alpha_max) {
    const float none[4] = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll
    for (int n = 0; n < 2; ++n) {
        float scores[4];
        mma_m16n8k16(scores, basis, coefficients + 2 * n, none);
#pragma unroll
        for (int k = 0; k < 2; ++k)
            alphas[2 * n + k] = min_normal_half2(
                pack_half2(exp2_approx(scores[k]), exp2_approx(scores[k + 2])), alpha_max);
    }
}

// Appends to a list in shared memory.
struct Appender {
#ifdef EMULATED
    u16* next;
    void append_if(u32 wanted, u32 value) {
        if (wanted) *next++ = (u16)value;
    }
#else
    u32 next;
    __device__ __forceinline__ Appender(u16* first) : next(shared_address(first)) {}
    // By hand, as the compiler computes address and value anew for each store: six instructions in
    // place of four.
    __device__ __forceinline__ void append_if(u32 wanted, u32 value) {
        asm volatile(
            "{.reg .pred p; .reg .b16 h; setp.ne.u32 p, %1, 0; cvt.u16.u32 h, %2; @p st.shared.u16 "
            "[%0], h; @p add.u32 %0, %0, 2;}"
            : "+r"(next)
            : "r"(wanted), "r"(value)
            : "memory");
    }
#endif
};

// Makes the warp's queue: the offsets of the rows of the splats that touch its rectangle, front to
// back, and a batch of empty rows behind them. Returns the number of splats. A lane reads the
// masks of eight consecutive splats, one bit each.
__device__ __forceinline__ u32 queue_survivors(const u8* masks, u16* survivors, u32 warp,
                                               u32 lane) {
    uint2 eight = ((const uint2*)masks)[lane];
    u32 low = eight.x >> warp & 0x01010101u, high = eight.y >> warp & 0x01010101u;
    u32 own = __popc(low) + __popc(high), until = warp_scan(own, lane),
        count = __shfl_sync(FULL_MASK, until, WARP - 1);
    Appender next = {survivors + (until - own)};
#pragma unroll
    for (int k = 0; k < 8; ++k)
        next.append_if((k < 4 ? low : high) & 1u << (8 * (k % 4)), (lane * 8 + k) * ROW_BYTES);
    if (lane < BATCH) survivors[count + lane] = (u16)(PIECE * ROW_BYTES);
    __syncwarp();
    return count;
}
