// blend_interpolated, for RenderOptions::interpolate: samples one position per four pixels and
// interpolates.
//
// Contract. Writes `image` ([3][height][width], f32) and `transmittances` ([height][width]) where
// interpolation is safe; leaves the other squares of 8x8 pixels to blend_refined.cu, in
// `refined_tiles`: the list's range, the tile and a bit a square. A warp has a tile: 8x8 samples at
// 0, 2, 4.25, 6.5, 8.5, 10.75, 13 and 15 pixels from the first in both directions, blended as
// blend_splatcore_inference.cu blends pixels, until 1/512 of the transmittance is left, as four
// pixels are made of each. Equations: docs/methods/interpolation.md. Images whose splats are small
// (SMOOTH) or whose lists are short (FEW) are left to blend_refined as a whole. Not with depth: the
// mean's divisor is not smooth where a splat begins. Twin: tests/interpolated.rs has the spline
// in f64.
//
// Launch. Blocks of four warps, 72 registers, 18 KB of shared memory, 7 blocks a multiprocessor.
// SEARCHED tiles at a time, far apart as long lists lie side by side, are searched for lists longer
// than LONG halves of the average, which begin first; then come the others.
//
// Bound. Instructions: 71 M warp instructions a view of fox_220k, 65 % of the issue slots.
//
// Now. 201 us for fox_220k at 3840x2160 on an H200 with blend_refined (all pixels blended: 288).
// History: docs/log/kernels/blend-samples.md.

#include "blend.cuh"
#include "inference.cuh"

#define WARPS (BLOCK / WARP)
#define SAMPLES 8  // along a tile's side
// Blocks that fit a multiprocessor; tiles that each of the first warps searches for long lists.
#define BLOCKS 7    // tune: 5 6 7 8
#define SEARCHED 4  // tune: 1 2 4 8 16 32
#define INTERPOLATED_BLOCKS (HAS_SM80 ? BLOCKS : 8)

// The sum, over the channels of all pixels of a square, of differences squared, as a whole number:
// 1/1150 a pixel in the mean.
#define STEP_UNIT 32768.0f
#define STEP ((u32)(STEP_UNIT * BEYOND_UNIT * BEYOND_UNIT * SQUARE * SQUARE / (1150.0f * 1150.0f)))

#define MIN_LIGHT_OF_SAMPLES 0x30003000u  // half2 of TRANSMITTANCE_UNIT / 512

#define LONG 3

// Whether sampling pays: the splats are large, measured by the tiles that they touch of a
// macro-tile's 4x4 on average (`placed` over `pairs`), and the lists are long, FEW splats on
// average.
#define SMOOTH 4
#define FEW 32
__device__ __forceinline__ bool is_smooth(const Counters* counters, u32 tiles) {
    return counters->placed >= max(SMOOTH * counters->pairs, FEW * (u64)tiles);
}

// What is left to blend_refined: LENGTHS lists of tiles, by the length of the tiles' lists, as the
// longest begin first; behind them the list of tiles without splats. An entry is (first, one past
// the last, tile, a bit for each square).
#define EMPTY_LIST LENGTHS

// 1448 splats and more, 1024, 724 and so on.
__device__ __forceinline__ u32 length_class(u32 length) {
    return (u32)fminf(fmaxf(21.0f - floorf(2.0f * log2_approx((float)length)), 0.0f),
                      LENGTHS - 1.0f);
}

// Leaves a block's BLOCK tiles from `first` on as a whole. The block reserves room for all of them
// with one atomic a list, as all blocks use the same few addresses.
__device__ __forceinline__ void leave_tiles(uint4* refined, ReadOnly<uint2> ranges, u32 first,
                                            u32 tiles, Counters* counters) {
    __shared__ u32 places[EMPTY_LIST + 1];
    u32 thread = threadIdx.x, tile = first + thread, list = EMPTY_LIST, place = 0;
    uint2 range = make_uint2(0, 0);
    if (thread <= EMPTY_LIST) places[thread] = 0;
    __syncthreads();
    if (tile < tiles) {
        range = list_range(ranges, tile);
        if (range.x < range.y) list = length_class(range.y - range.x);
        place = atomicAdd(&places[list], 1);
    }
    __syncthreads();
    if (thread <= EMPTY_LIST && places[thread])
        places[thread] = atomicAdd(&counters->refined_tiles[thread], places[thread]);
    __syncthreads();
    if (tile < tiles)
        refined[list * tiles + places[list] + place] =
            make_uint4(range.x, range.y, tile, ALL_SQUARES);
}

// The squares of the tile at (x0, y0) that have pixels of the image.
__device__ __forceinline__ u32 squares_inside(u32 x0, u32 y0, const Camera& camera) {
    u32 upper = x0 + SQUARE < camera.width ? 3 : 1;
    return y0 + SQUARE < camera.height ? upper | upper << 2 : upper;
}

// Whether a splat could lie unseen between samples: it is not nearly transparent; it lies along an
// axis, within a pixel in eight, or along none; and if it lies halfway between samples 2.25 pixels
// apart, less than FINE_SEEN of it is left at them. Without this test a white point of 0.82 was
// off by 0.19 (tests/interpolated.rs).
#define FINE_LIGHT 0.1f
#define LOG2_FINE_LIGHT -3.3219281f
#define FINE_SEEN \
    -1.5f  // log2; reckoned from the weights, of what is off by some 0.02 at a sample STEP becomes
           // aware
__device__ __forceinline__ bool is_fine(float4 mean2d, float4 conic) {
    float across = fminf(conic.x, conic.z);
    return mean2d.z > LOG2_FINE_LIGHT && across < FINE_SEEN / (1.125f * 1.125f) &&
           fabsf(conic.y) < -0.25f * across;
}

// The distance in pixels, along an axis, to the nearest sample, from a position in the tile
// between pixels 0 and 15.
__device__ __forceinline__ float to_sample(float place) {
    float half = fminf(place, TILE - 1 - place);  // symmetric: 0, 2, 4.25, 6.5
    float sample = fminf(rintf(fmaf(half, 1.0f / 2.25f, 0.25f / 2.25f)), 3.0f);
    return fabsf(fmaxf(fmaf(2.25f, sample, -0.25f), 0.0f) - half);
}

// The squares of the tile at (x0, y0), a bit each, in which fine splats of the warp's lanes hide:
// where its weight is largest within eight columns (or rows, whichever it lies along), a splat
// takes more than FINE_LIGHT of the transmittance in front of it, and the nearest sample has less
// than FINE_SEEN of that.
__device__ __forceinline__ u32 squares_of_hidden(const Pixels& pixels, bool is_fine, float4 mean2d,
                                                 float4 conic, u32 x0, u32 y0) {
    u32 lights = max_half2(max_half2(pixels.transmittance[0], pixels.transmittance[1]),
                           max_half2(pixels.transmittance[2], pixels.transmittance[3]));
    for (u32 offset = 16; offset >= 4; offset /= 2)
        lights = max_half2(lights, __shfl_xor_sync(FULL_MASK, lights, offset));
    float transmittance = fmaxf(half_low(lights), half_high(lights)) / TRANSMITTANCE_UNIT;
    // Coordinates along the splat's axis, and across it.
    bool is_upright = conic.x < conic.z;
    float x = mean2d.x - x0 - 0.5f, y = mean2d.y - y0 - 0.5f, u = is_upright ? y : x,
          v = is_upright ? x : y;
    float across = is_upright ? conic.x : conic.z,
          slope = -0.5f * conic.y * reciprocal_approx(across);
    float along = fmaf(0.5f * conic.y, slope, is_upright ? conic.z : conic.x);  // on the ridge
    // A cheap bound first, as mostly no splat can hide: the nearest sample is at most 1.125 pixels
    // away along the axis, and the loop looks at the ridge within 8 columns of where it is nearest
    // to the mean.
    float near =
        to_sample(fmaf(slope, fminf(fmaxf(u, 0.0f), TILE - 1) - u, v)) + SQUARE * fabsf(slope);
    bool can_hide = is_fine && exp2_approx(mean2d.z) * transmittance > FINE_LIGHT &&
                    fmaf(along, 1.125f * 1.125f, across * near * near) < FINE_SEEN;
    if (!__any_sync(FULL_MASK, can_hide)) return 0;
    u32 squares = 0;
#pragma unroll 1
    for (u32 half = 0; half < 2; ++half) {
        // The position in these columns where the splat is strongest.
        float at = fminf(fmaxf(u, (float)(half * SQUARE)), (float)(half * SQUARE + SQUARE - 1)),
              du = at - u, ridge = fmaf(slope, du, v);
        float place = fminf(fmaxf(ridge, 0.0f), TILE - 1), beyond = place - ridge,
              off_u = to_sample(at), off_v = to_sample(place);
        float exponent = fmaf(along * du, du, fmaf(across * beyond, beyond, mean2d.z));
        bool hides = can_hide && exp2_approx(exponent) * transmittance > FINE_LIGHT &&
                     fmaf(along * off_u, off_u, across * off_v * off_v) < FINE_SEEN;
        // Both squares, if it lies between the two.
        u32 before = 1u << (is_upright ? half * 2 : half), behind = before << (is_upright ? 1 : 2);
        if (hides)
            squares |= (place < SQUARE + 0.5f ? before : 0) | (place > SQUARE - 1.5f ? behind : 0);
    }
    return or_all(squares);
}

// A batch of rows: eight of ROW_BYTES, then as many again 64 bytes further, so that no two pieces
// of 16 bytes that are written or read at a time share banks.
#define HALF_BATCH_BYTES (8 * ROW_BYTES + 64)
#define BATCH_BYTES (2 * HALF_BATCH_BYTES)

// A warp's own shared memory: 32 splats on their way, one a lane, and their rows.
struct SamplesShared {
    uint4 rows[2 * BATCH_BYTES / 16];
    uint4 staged[3][WARP];
};

// Blends the list `range` to the samples of the tile at (x0, y0). Returns whether all samples
// stopped before its end; adds the squares in which splats hide to `refined`. No splat is tested,
// as a tile's list has only splats that reach it, and no barrier is needed, as a warp's rows are
// its own.
__device__ __forceinline__ bool blend_list(Pixels& pixels, SamplesShared& shared,
                                           const Splat* splats, ReadOnly<u32> pairs, uint2 range,
                                           u32 lane, u32 x0, u32 y0, const Camera& camera,
                                           u32& refined) {
    // The splats whose addresses this lane gives to ldmatrix: as in `blend_tile` (inference.cuh),
    // but rows lie in the order in which they are read, bit 1 of the splat's number in front.
    u32 row = lane / 16 * HALF_BATCH_BYTES + lane % 8 * ROW_BYTES + lane / 8 % 2 * 16;
    u32 colour_row = lane / 16 * HALF_BATCH_BYTES + (lane % 8 / 2 * 2 + lane / 8 % 2) * ROW_BYTES +
                     32 + lane % 2 * 16;
    float centre_x = x0 + 0.5f * TILE, centre_y = y0 + 0.5f * TILE;
    u32 own = lane % BATCH, alpha_max = kept_alpha_max(camera);
    uint4* to = shared.rows + (lane / BATCH * BATCH_BYTES + own / 2 % 2 * HALF_BATCH_BYTES +
                               (own / 4 * 2 + own % 2) * ROW_BYTES) /
                                  16;
    auto stage = [&](u32 splat_index) {
        ReadOnly<uint4> from = {(const uint4*)(splats + splat_index)};
#pragma unroll
        for (int k = 0; k < 3; ++k) copy_async_cached_16(&shared.staged[k][lane], from + k);
        copy_async_commit();
    };
    u32 at = range.x + lane, next = 0;
    bool is_left_out = false;
    if (at < range.y) stage(pairs[at]);
    if (at + WARP < range.y) next = pairs[at + WARP];
    for (u32 begin = range.x; begin < range.y; begin += WARP, at += WARP) {
        copy_async_wait<0>();
        bool fits = false, fine = false;
        float4 mean2d, conic;
        if (at < range.y) {
            mean2d = *(const float4*)&shared.staged[0][lane];
            conic = *(const float4*)&shared.staged[1][lane];
            fine = is_fine(mean2d, conic);
            fits = write_row(to, mean2d, conic, *(const float4*)&shared.staged[2][lane], centre_x,
                             centre_y, camera);
        }
        if (!fits) write_empty_row(to);
        if (__any_sync(FULL_MASK, fine))
            refined |= squares_of_hidden(pixels, fine, mean2d, conic, x0, y0);
        if (at + WARP < range.y) stage(next);
        if (at + 2 * WARP < range.y) next = pairs[at + 2 * WARP];
        __syncwarp();
        bool is_dark = blend_batch(pixels, shared.rows, row, colour_row, lane, alpha_max,
                                   MIN_LIGHT_OF_SAMPLES);
        u32 end = begin + BATCH;
        if (!is_dark && end < range.y) {
            u32 next_row = row + BATCH_BYTES, next_colour_row = colour_row + BATCH_BYTES;
            is_dark = blend_batch(pixels, shared.rows, next_row, next_colour_row, lane, alpha_max,
                                  MIN_LIGHT_OF_SAMPLES);
            end += BATCH;
        }
        if (is_dark || refined == ALL_SQUARES) {
            is_left_out = end < range.y;
            break;
        }
        __syncwarp();
    }
    copy_async_wait<0>();
    __syncwarp();
    return is_left_out;
}

// The weights of samples 0 to 7 in pixels 0 to 7, by the natural cubic spline through all samples;
// those of pixels 15 to 8 are the same from the other end.
__device__ constexpr float SPLINE[8][SAMPLES] = {
    {1, 0, 0, 0, 0, 0, 0, 0},
    {0.405002f, 0.702149f, -0.136252f, 0.038113f, -0.011064f, 0.002600f, -0.000677f, 0.000129f},
    {0, 1, 0, 0, 0, 0, 0, 0},
    {-0.092394f, 0.656251f, 0.530750f, -0.123905f, 0.035970f, -0.008453f, 0.002201f, -0.000420f},
    {-0.019099f, 0.101583f, 0.975957f, -0.076539f, 0.022219f, -0.005222f, 0.001360f, -0.000259f},
    {0.024743f, -0.129824f, 0.794822f, 0.394872f, -0.103879f, 0.024412f, -0.006357f, 0.001212f},
    {0.010757f, -0.056441f, 0.227705f, 0.925585f, -0.132109f, 0.031046f, -0.008085f, 0.001541f},
    {-0.005154f, 0.027042f, -0.103843f, 0.863747f, 0.264336f, -0.058449f, 0.015221f, -0.002901f},
};
// The same less the weights of the cubic polynomial through the four nearest samples (Lagrange),
// times BEYOND_UNIT, so that halves hold the squares of the differences found with them.
#define BEYOND_UNIT 32
__device__ constexpr float BEYOND_CUBIC[8][SAMPLES] = {
    {0, 0, 0, 0, 0, 0, 0, 0},
    {2.607130f, -5.778150f, 3.820048f, -0.360644f, -0.354050f, 0.083204f, -0.021668f, 0.004130f},
    {0, 0, 0, 0, 0, 0, 0, 0},
    {-0.422672f, 0.259300f, 1.367430f, -2.141604f, 1.151028f, -0.270499f, 0.070442f, -0.013425f},
    {0.112811f, -0.699959f, 1.484791f, -1.476785f, 0.711015f, -0.167093f, 0.043514f, -0.008293f},
    {0.791776f, -2.239853f, 2.009474f, 0.191461f, -1.369389f, 0.781193f, -0.203436f, 0.038772f},
    {0.344221f, -0.742468f, -0.149881f, 1.964386f, -2.200329f, 0.993483f, -0.258720f, 0.049309f},
    {-0.164926f, 0.865354f, -1.874997f, 1.757536f, -0.168692f, -0.808517f, 0.487072f, -0.092830f},
};

// A half that is 0 or normal, by its bits. Rounded to the nearest.
__device__ constexpr u32 half_bits(float value) {
    float size = value < 0.0f ? -value : value;
    u32 sign = value < 0.0f ? 0x8000u : 0, exponent = 15;
    if (size == 0.0f) return 0;
    for (; size >= 2.0f; size *= 0.5f) ++exponent;
    for (; size < 1.0f; size *= 2.0f) --exponent;
    // A fraction that rounds up to 2 carries over into the exponent.
    return sign | ((exponent << 10) + (u32)((size - 1.0f) * 1024.0f + 0.5f));
}

// The weights as a matrix of 16 pixels by 8 samples, the A operand of a product, or, transposed,
// the B operand of two: the words of each lane.
struct Weights {
    uint4 lanes[WARP];  // of both tables
    __device__ constexpr Weights() : lanes() {
        for (u32 lane = 0; lane < WARP; ++lane) {
            u32 pixel = lane / 4, sample = lane % 4 * 2;
            lanes[lane].x = half_bits(SPLINE[pixel][sample]) | half_bits(SPLINE[pixel][sample + 1])
                                                                   << 16;
            lanes[lane].y = half_bits(SPLINE[7 - pixel][7 - sample]) |
                            half_bits(SPLINE[7 - pixel][6 - sample]) << 16;
            lanes[lane].z = half_bits(BEYOND_CUBIC[pixel][sample]) |
                            half_bits(BEYOND_CUBIC[pixel][sample + 1]) << 16;
            lanes[lane].w = half_bits(BEYOND_CUBIC[7 - pixel][7 - sample]) |
                            half_bits(BEYOND_CUBIC[7 - pixel][6 - sample]) << 16;
        }
    }
};
__device__ constexpr Weights WEIGHTS;

// Transposes four lanes with four words each: word l of lane k becomes word k of lane l.
__device__ __forceinline__ void transpose_words(u32 (&words)[4], u32 lane) {
#pragma unroll
    for (int bit = 1; bit < 4; bit *= 2) {
        bool is_odd = lane & bit;
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            u32 &low = words[bit == 1 ? 2 * i : i], &high = words[bit == 1 ? 2 * i + 1 : i + 2];
            u32 given = __shfl_xor_sync(FULL_MASK, is_odd ? low : high, bit);
            (is_odd ? low : high) = given;
        }
    }
}

__device__ __forceinline__ void store_two(float* at, float first, float second, bool is_even) {
    if (is_even) {
        *(float2*)at = make_float2(first, second);
    } else {
        at[0] = first;
        at[1] = second;
    }
}

// Interpolates a tile from its samples, of which a lane has the column lane / 4 as finish_pixel
// says: two products for each channel, of which the first leaves its result in the layout of the
// second's operand. Writes those of the four squares that are not in `refined` and where the spline
// and the cubic polynomial differ by less than STEP in the mean; returns the others, a bit each.
__device__ __forceinline__ u32 interpolate(const Pixels& pixels, bool is_left_out, u32 refined,
                                           u32 x0, u32 y0, u32 lane, const Camera& camera,
                                           float* image, float* transmittances) {
    float2 own[PAIRS];
#pragma unroll
    for (int k = 0; k < PAIRS; ++k) {
        float share;
        own[k] = finish_pixel(pixels, k, is_left_out, lane, camera, share);
    }
    uint4 weights = WEIGHTS.lanes[lane];
    u32 spline[2] = {weights.x, weights.y}, beyond[2] = {weights.z, weights.w};
    // Halves hold the samples less one of them near the middle, sample 3 of row 3, so that
    // roundings are small; sums are f32.
    float bases[4];
#pragma unroll
    for (int k = 0; k < 4; ++k)
        bases[k] = __shfl_sync(FULL_MASK, k % 2 ? own[1].y : own[1].x, 14 + k / 2);
    float first_base = lane % 2 ? bases[2] : bases[0], second_base = lane % 2 ? bases[3] : bases[1];
    u32 words[4];
#pragma unroll
    for (int k = 0; k < 4; ++k)
        words[k] = pack_half2(own[k].x - first_base, own[k].y - second_base);
    // The words are now of rows 2 (lane % 4) and 2 (lane % 4) + 1: red and green, blue and
    // transmittance of the first, the same of the second.
    transpose_words(words, lane);
    // Sums over the channels of squared differences: for columns of samples, then for columns of
    // pixels (upper, lower; left, right).
    u32 in_rows[2] = {0, 0}, in_columns[2][2] = {{0, 0}, {0, 0}};
    float sums[4][2][4];
    float seen = 0.0f;
    const u32 none[2] = {0, 0};
#pragma unroll
    for (int channel = 0; channel < 4; ++channel) {
        u32 one = words[channel / 2], other = words[channel / 2 + 2];
        u32 samples = channel % 2 ? join_highs(one, other) : join_lows(one, other);
        u32 rows[2], beyond_rows[2];
        mma_m16n8k8(rows, spline, samples, none);
        mma_m16n8k8(beyond_rows, beyond, samples, none);
#pragma unroll
        for (int half = 0; half < 2; ++half)
            in_rows[half] = multiply_add_half2(beyond_rows[half], beyond_rows[half], in_rows[half]);
#pragma unroll
        for (int side = 0; side < 2; ++side) {
            float base[4] = {bases[channel], bases[channel], bases[channel], bases[channel]};
            u32 beyond_columns[2];
            mma_m16n8k8(sums[channel][side], rows, spline[side], base);
            mma_m16n8k8(beyond_columns, rows, beyond[side], none);
#pragma unroll
            for (int half = 0; half < 2; ++half)
                in_columns[half][side] = multiply_add_half2(
                    beyond_columns[half], beyond_columns[half], in_columns[half][side]);
        }
        // A sample that is not a number makes all of these sums not a number.
        seen += sums[channel][0][0];
    }
    if (__any_sync(FULL_MASK, seen != seen)) refined = ALL_SQUARES;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        u32 found = in_columns[k / 2][k % 2];
        if (lane / 2 % 2 == k % 2) found = add_half2(found, in_rows[k / 2]);
        // The cap keeps the sum of the lanes within 32 bits; it is far above STEP.
        refined |=
            add_all((u32)fminf(STEP_UNIT * (half_low(found) + half_high(found)), 1e8f)) >= STEP
                ? 1u << k
                : 0;
    }
    bool is_even = camera.width % 2 == 0;
    u32 plane = camera.width * camera.height;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
        float* at = image + ((y0 + half * SQUARE + lane / 4) * camera.width + x0 + lane % 4 * 2);
        float* light_at = transmittances + (at - image);
#pragma unroll
        for (int side = 0; side < 2; ++side) {
            if (refined >> (2 * half + side) & 1) continue;
#pragma unroll
            for (int channel = 0; channel < 4; ++channel) {
                float* to = (channel == 3 ? light_at : at + channel * plane) + side * SQUARE;
                store_two(to, sums[channel][side][2 * half], sums[channel][side][2 * half + 1],
                          is_even);
            }
        }
    }
    return refined;
}

// If the image is not smooth, all tiles are left to blend_refined, those without splats in a list
// of their own behind the others.
extern "C" __global__ void __launch_bounds__(BLOCK, INTERPOLATED_BLOCKS)
    blend_interpolated(const __grid_constant__ BlendParams args) {
    begin_kernel();
    __shared__ SamplesShared all_shared[WARPS];
    u64 all_pairs = args.counters->placed;
    bool has_overflowed = args.counters->overflowed;
    u32 lane = threadIdx.x % WARP, warp = threadIdx.x / WARP,
        tiles = args.camera.tiles_x * args.camera.tiles_y, work = blockIdx.x * WARPS + warp;
    if (has_overflowed || !is_smooth(args.counters, tiles)) {
        if (!has_overflowed && blockIdx.x * BLOCK < tiles)
            leave_tiles(args.refined_tiles, args.ranges, blockIdx.x * BLOCK, tiles, args.counters);
        return;
    }
    // SEARCHED tiles for each of the first `looks` warps, then one tile a warp.
    u32 looks = (tiles + SEARCHED - 1) / SEARCHED;
    bool is_first = work < looks;
    u32 seen = is_first ? work + lane * looks : work - looks + lane;
    bool has_tile = seen < tiles && lane < (is_first ? SEARCHED : 1);
    uint2 range = has_tile ? list_range(args.ranges, seen) : make_uint2(0, 0);
    bool is_long = 2ull * (range.y - range.x) * tiles > LONG * all_pairs;
    for (u32 todo = __ballot_sync(FULL_MASK, has_tile && is_long == is_first); todo;
         todo &= todo - 1) {
        u32 from = __ffs(todo) - 1, tile = __shfl_sync(FULL_MASK, seen, from), left = 0;
        uint2 list = make_uint2(__shfl_sync(FULL_MASK, range.x, from),
                                __shfl_sync(FULL_MASK, range.y, from));
        u32 y0 = quotient(tile, args.camera.tiles_x), x0 = (tile - y0 * args.camera.tiles_x) * TILE;
        y0 *= TILE;
        if (x0 + TILE <= args.camera.width && y0 + TILE <= args.camera.height) {
            Pixels pixels;
            u32 column = lane / 4;
            set_pixels<true>(pixels, x0 + column, y0, lane % 4, x0, y0);
            bool is_left_out = blend_list(pixels, all_shared[warp], args.splats, args.pairs, list,
                                          lane, x0, y0, args.camera, left);
            if (left != ALL_SQUARES)
                left = interpolate(pixels, is_left_out, left, x0, y0, lane, args.camera, args.image,
                                   args.transmittances);
        } else {
            // Some samples lie outside the image: nothing is interpolated.
            left = squares_inside(x0, y0, args.camera);
        }
        if (left && lane == 0) {
            u32 to = length_class(list.y - list.x);
            args.refined_tiles[to * tiles + atomicAdd(&args.counters->refined_tiles[to], 1)] =
                make_uint4(list.x, list.y, tile, left);
        }
        __syncwarp();
    }
}

// The second kernel of this program.
#include "blend_refined.cu"
