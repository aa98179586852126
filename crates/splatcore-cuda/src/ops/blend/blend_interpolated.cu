// blend_samples, method `samples`: of large pictures one place in four is blended. Where those tell
// the pixels, the pixels are interpolated; where they do not, they are blended by blend_refined.cu.
//
// A warp has a tile: 8x8 places in its 16x16 pixels, at 0, 2, 4.25, 6.5, 8.5, 10.75, 13 and 15
// pixels from the first in both directions, take the place of the warp's pixels in
// blend_splatcore_inference.cu and are blended the same way. Of quarters of pixels halves still
// hold all products. No splat needs to be tested, as a tile's list has those that reach it, and no
// barrier is needed, as a warp's rows are its own.
//   pixels     They are on the natural cubic spline through the eight samples of their row and
//              column: two products of matrices for each channel, the result of the first of which
//              lies as the second takes it. In halves, of the samples less one of them, so that
//              roundings are small; sums in f32.
//   rough      The same products with what the spline is beyond the cubic polynomial through the
//              four nearest samples say how far two fair guesses are apart. Squares of 8x8 pixels
//              in which these are STEP apart or more, in the mean, are blended.
//   hidden     A splat that is about as thin as a pixel can lie between samples unseen. A square is
//              blended too where one takes more than FINE_LIGHT of the light in front of it, and
//              the nearest sample has less than a share, FINE_SEEN, of it. Without this a white
//              point of 0.82 was off by 0.19 (tests/samples.rs).
//   the end    Samples go on until less light is left than pixels do, as four pixels are made of
//              each.
//   details    Nothing is sampled of pictures whose splats are small, those that reach less than
//              SMOOTH of a group's 4x4 tiles on average, or whose lists are short, FEW splats on
//              average: all tiles are left to blend_rough.
//   order      Long lists begin first: LOOKED tiles at a time, far apart as long lists lie side by
//              side, are looked at for those longer than LONG halves of the average, then all for
//              the others.
// Not with depth: what a mean of depths is divided by is not smooth where a splat begins.
// CPU twin: none on the way to a picture, as `samples` is `splatcore` there; of the spline, in f64,
// tests/samples.rs.
//
// Launch: blocks of four warps, seven a multiprocessor: 72 registers, 18 KB of shared memory;
// blend_rough 24 KB. Bound: 71 M instructions a view of fox_220k, 65 % of the issue slots used;
// blend_rough 43 M and 50 %, its warps wait for each other. On an H200 at 3840x2160, us of the
// blend alone, both kernels, fox_220k (mcmc_1m); that of all pixels takes 288 (562). Reckoned from
// three pictures of the CPU: 87 % (72 %) of all 8x8 pixels can be interpolated with 64 dB, so
// predicted 160 to 180 (390). Each line against the one before:
//   interpolation by each thread, a grid that strides over rough tiles          265 (565)
//   rough squares by a warp each, copies past the first-level cache             289 (649)
//   rough tiles by blocks that ask for them; the first-level cache; 7 blocks    239 (503)
//   32 splats at a time, copied while the 32 before are blended                 227 (460)
//   the natural spline for the cubic polynomial: as good with fewer rough       221 (451)
//   long lists first                                                            215 (438), each at
//   the limit that suits it long: 1.5 times the average; differences as squares, over the channels
//   210 (424) pictures of details left out, which costs nothing here                      204
//   (412), 63.3 (61.4) dB against all of f32 hidden splats looked for wherever one is thin; warps
//   ask for tiles          264 (553), 64.7 (62.3) dB only where they hide
//   242 (502), 63.4 (61.4) dB a warp a tile again, which no ticket is needed for
//   -13 (-50) whether one hides by two places along it, not by four squares; not of those that lie
//   aslant; predicted half of what looking takes
//                                                                               215 (438), where
//                                                                               not to look at all
//                                                                               takes 213 (433)
//   rough tiles in classes by the length of their lists                         215 (431)
//   weights in one word a lane's load, no exponential for whether one is thin   212 (423),
//   predicted 1.5 % of it samples at quarters of pixels, gaps of 2 and 2.25 in place of 2 and 3;
//   the mean of a square in place of its largest pixel: both as good with fewer rough, so the limit
//   was set for the worst view to have 60 dB          213 (419), 63.8 (61.8) dB, at worst 62.2
//   (60.1) samples until 1/512 of the light is left, not 1/256, and the limit at 1/1150 for 1/1250
//                                                                               209 (411), 64.1
//                                                                               (62.1) dB, at worst
//                                                                               63.0 (60.1);
//                                                                               predicted 192 (365)
//   a rough tile's list told with its number, a load less to wait for            203, from 209 in
//   the same runs (404) rough tiles asked for when a block has none
//   201 (394), from 205 (404) in the same run: blend_refined.cu
// Slower or no faster: both kernels in one, 225 to 247 (458 to 515); tiles with long lists not
// sampled, 222 to 224 (449 to 554); tiles with several thin splats or very long lists not sampled,
// 212 (432); one or two rough squares by the warp that sampled them, +22 (+55), predicted -20; by a
// warp or two warps of blend_rough, +3 and -3 (+1 and -9), but details take up to 27 and 9 %
// longer; both forms in it, or in two kernels, -2 to +2 (-3 to 0); blend_rough begun while
// blend_samples ends, from a queue, -2 (-1). Other weights and places: a gain of 0.1 dB at most,
// docs/measurements/rendering.md. Raw: docs/measurements/rendering/samples.txt.

#include "inference.cuh"

#define WARPS (BLOCK / WARP)
#define SAMPLES 8                          // along a tile's side
#define SAMPLES_BLOCKS (HAS_SM80 ? 7 : 8)  // of a multiprocessor

// The sum, over the channels of all pixels of a square, of differences squared, as a whole number:
// 1/1150 a pixel in the mean.
#define STEP_UNIT 32768.0f
#define STEP ((u32)(STEP_UNIT * BEYOND_UNIT * BEYOND_UNIT * SQUARE * SQUARE / (1150.0f * 1150.0f)))

#define LEAST_LIGHT_OF_SAMPLES 0x30003000u  // half2 of LIGHT_UNIT / 512

#define LONG 3
#define LOOKED 4

// Whether samples are worth it: the picture's splats are large, which how many of a group's tiles
// they reach on average says, and lists are long.
#define SMOOTH 4
#define FEW 32
__device__ __forceinline__ bool is_smooth(const Counters* counters, u32 tiles) {
    return counters->placed >= max(SMOOTH * counters->pairs, FEW * (u64)tiles);
}

// What is left to blend_rough: in lists of tiles, by the length of their own lists, as the longest
// are to begin first; behind those the list of tiles without splats. Of each tile where its list
// begins and ends, its number, and a bit for each of its squares.
#define EMPTY_LIST LENGTHS

// 1448 splats and more, 1024, 724 and so on.
__device__ __forceinline__ u32 length_class(u32 length) {
    return (u32)fminf(fmaxf(21.0f - floorf(2.0f * log2_approx((float)length)), 0.0f),
                      LENGTHS - 1.0f);
}

// Leaves a block's BLOCK tiles from `first` on whole: places in the lists are asked for by the
// block, as all ask at the same few addresses.
__device__ __forceinline__ void leave_tiles(uint4* rough, const uint2* __restrict__ ranges,
                                            u32 first, u32 tiles, Counters* counters) {
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
        places[thread] = atomicAdd(&counters->rough_tiles[thread], places[thread]);
    __syncthreads();
    if (tile < tiles)
        rough[list * tiles + places[list] + place] =
            make_uint4(range.x, range.y, tile, ALL_SQUARES);
}

// The squares of the tile at (x0, y0) that have pixels of the image.
__device__ __forceinline__ u32 squares_inside(u32 x0, u32 y0, const Camera& camera) {
    u32 upper = x0 + SQUARE < camera.width ? 3 : 1;
    return y0 + SQUARE < camera.height ? upper | upper << 2 : upper;
}

// Whether a splat could hide between samples: it lies along an axis, within a pixel in eight, or
// along none; and halfway between samples 2.25 pixels apart less than FINE_SEEN of it is left where
// they are. Not if it is nearly transparent.
#define FINE_LIGHT 0.1f
#define LOG2_FINE_LIGHT -3.3219281f
#define FINE_SEEN \
    -1.5f  // log2; reckoned from the weights, of what is off by some 0.02 at a sample STEP becomes
           // aware
__device__ __forceinline__ bool is_fine(float4 centre, float4 power) {
    float across = fminf(power.x, power.z);
    return centre.z > LOG2_FINE_LIGHT && across < FINE_SEEN / (1.125f * 1.125f) &&
           fabsf(power.y) < -0.25f * across;
}

// How far the nearest sample is along an axis, in pixels, from a place in the tile between pixels 0
// and 15.
__device__ __forceinline__ float to_sample(float place) {
    float half = fminf(place, TILE - 1 - place);  // symmetric: 0, 2, 4.25, 6.5
    float sample = fminf(rintf(fmaf(half, 1.0f / 2.25f, 0.25f / 2.25f)), 3.0f);
    return fabsf(fmaxf(fmaf(2.25f, sample, -0.25f), 0.0f) - half);
}

// The squares of the tile at (x0, y0), a bit each, in which the fine splats of the warp's lanes
// hide: what they take of the light that is left in front of them is more than FINE_LIGHT where
// they take most of eight columns (or rows, whichever they lie along), and the nearest sample is as
// far as FINE_SEEN from there.
__device__ __forceinline__ u32 squares_of_hidden(const Pixels& pixels, bool is_fine, float4 centre,
                                                 float4 power, u32 x0, u32 y0) {
    u32 lights = max_half2(max_half2(pixels.light[0], pixels.light[1]),
                           max_half2(pixels.light[2], pixels.light[3]));
    for (u32 offset = 16; offset >= 4; offset /= 2)
        lights = max_half2(lights, __shfl_xor_sync(FULL_MASK, lights, offset));
    float light = fmaxf(half_low(lights), half_high(lights)) / LIGHT_UNIT;
    // Along the axis that it lies along, and across.
    bool is_upright = power.x < power.z;
    float x = centre.x - x0 - 0.5f, y = centre.y - y0 - 0.5f, u = is_upright ? y : x,
          v = is_upright ? x : y;
    float across = is_upright ? power.x : power.z,
          slope = -0.5f * power.y * reciprocal_approx(across);
    float along = fmaf(0.5f * power.y, slope, is_upright ? power.z : power.x);  // on the ridge
    // Mostly none can: the nearest sample is not more than 1.125 away along the axis, and the ridge
    // where the loop looks is within 8 columns of where it comes nearest to the mean.
    float near =
        to_sample(fmaf(slope, fminf(fmaxf(u, 0.0f), TILE - 1) - u, v)) + SQUARE * fabsf(slope);
    bool can_hide = is_fine && exp2_approx(centre.z) * light > FINE_LIGHT &&
                    fmaf(along, 1.125f * 1.125f, across * near * near) < FINE_SEEN;
    if (!__any_sync(FULL_MASK, can_hide)) return 0;
    u32 squares = 0;
#pragma unroll 1
    for (u32 half = 0; half < 2; ++half) {
        // Where the tile has most of it in these columns.
        float at = fminf(fmaxf(u, (float)(half * SQUARE)), (float)(half * SQUARE + SQUARE - 1)),
              du = at - u, ridge = fmaf(slope, du, v);
        float place = fminf(fmaxf(ridge, 0.0f), TILE - 1), beyond = place - ridge,
              off_u = to_sample(at), off_v = to_sample(place);
        float exponent = fmaf(along * du, du, fmaf(across * beyond, beyond, centre.z));
        bool hides = can_hide && exp2_approx(exponent) * light > FINE_LIGHT &&
                     fmaf(along * off_u, off_u, across * off_v * off_v) < FINE_SEEN;
        // Both where it lies between the two.
        u32 before = 1u << (is_upright ? half * 2 : half), behind = before << (is_upright ? 1 : 2);
        if (hides)
            squares |= (place < SQUARE + 0.5f ? before : 0) | (place > SQUARE - 1.5f ? behind : 0);
    }
    return or_all(squares);
}

// A batch of rows: eight of ROW_BYTES, then as many again 64 bytes further, so that no 16 bytes
// that are written or read at a time lie in the same banks.
#define HALF_BATCH_BYTES (8 * ROW_BYTES + 64)
#define BATCH_BYTES (2 * HALF_BATCH_BYTES)

// What a warp has for itself: 32 splats on their way, each lane's its own, and their rows.
struct SamplesShared {
    uint4 rows[2 * BATCH_BYTES / 16];
    uint4 staged[3][WARP];
};

// Blends the list `range` to samples of the tile at (x0, y0). Returns whether all were dark before
// its end; adds the squares in which splats hide to `rough`.
__device__ __forceinline__ bool blend_list(Pixels& pixels, SamplesShared& shared,
                                           const Splat* __restrict__ splats,
                                           const u32* __restrict__ pairs, uint2 range, u32 lane,
                                           u32 x0, u32 y0, const Camera& camera, u32& rough) {
    // Whose rows this lane hands to ldmatrix: as in blend_splatcore_inference.cu, but a splat's row
    // lies where it is read, bit 1 of its number in front.
    u32 row = lane / 16 * HALF_BATCH_BYTES + lane % 8 * ROW_BYTES + lane / 8 % 2 * 16;
    u32 colour_row = lane / 16 * HALF_BATCH_BYTES + (lane % 8 / 2 * 2 + lane / 8 % 2) * ROW_BYTES +
                     32 + lane % 2 * 16;
    float centre_x = x0 + 0.5f * TILE, centre_y = y0 + 0.5f * TILE;
    u32 own = lane % BATCH, alpha_max = kept_alpha_max(camera);
    uint4* to = shared.rows + (lane / BATCH * BATCH_BYTES + own / 2 % 2 * HALF_BATCH_BYTES +
                               (own / 4 * 2 + own % 2) * ROW_BYTES) /
                                  16;
    auto stage = [&](u32 slot) {
        const uint4* from = (const uint4*)(splats + slot);
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
        float4 centre, power;
        if (at < range.y) {
            centre = *(const float4*)&shared.staged[0][lane];
            power = *(const float4*)&shared.staged[1][lane];
            fine = is_fine(centre, power);
            fits = write_row(to, centre, power, *(const float4*)&shared.staged[2][lane], centre_x,
                             centre_y, camera);
        }
        if (!fits) write_empty_row(to);
        if (__any_sync(FULL_MASK, fine))
            rough |= squares_of_hidden(pixels, fine, centre, power, x0, y0);
        if (at + WARP < range.y) stage(next);
        if (at + 2 * WARP < range.y) next = pairs[at + 2 * WARP];
        __syncwarp();
        bool is_dark = blend_batch(pixels, shared.rows, row, colour_row, lane, alpha_max,
                                   LEAST_LIGHT_OF_SAMPLES);
        u32 end = begin + BATCH;
        if (!is_dark && end < range.y) {
            u32 next_row = row + BATCH_BYTES, next_colour_row = colour_row + BATCH_BYTES;
            is_dark = blend_batch(pixels, shared.rows, next_row, next_colour_row, lane, alpha_max,
                                  LEAST_LIGHT_OF_SAMPLES);
            end += BATCH;
        }
        if (is_dark || rough == ALL_SQUARES) {
            is_left_out = end < range.y;
            break;
        }
        __syncwarp();
    }
    copy_async_wait<0>();
    __syncwarp();
    return is_left_out;
}

// How much samples 0 to 7 are of pixels 0 to 7; of pixels 15 to 8 the same from the other end. The
// natural cubic spline through all of them.
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
// The same less the cubic polynomial through the four nearest (Lagrange), times BEYOND_UNIT, so
// that halves hold squares of what is found by them.
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
    // What rounds up to 2 carries over into the exponent.
    return sign | ((exponent << 10) + (u32)((size - 1.0f) * 1024.0f + 0.5f));
}

// Such weights as a matrix of 16 pixels by 8 samples, A of a product, or, transposed, B of two: the
// words of each lane.
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

// Of four lanes with four words each: word l of lane k becomes word k of lane l.
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
// says. Writes those of its four squares that are not in `rough` and where the spline and the cubic
// polynomial differ by less than STEP; returns the others, a bit each.
__device__ __forceinline__ u32 interpolate(const Pixels& pixels, bool is_left_out, u32 rough,
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
    // Halves are of what the samples are beyond one of them near the middle: sample 3 of row 3.
    float bases[4];
#pragma unroll
    for (int k = 0; k < 4; ++k)
        bases[k] = __shfl_sync(FULL_MASK, k % 2 ? own[1].y : own[1].x, 14 + k / 2);
    float first_base = lane % 2 ? bases[2] : bases[0], second_base = lane % 2 ? bases[3] : bases[1];
    u32 words[4];
#pragma unroll
    for (int k = 0; k < 4; ++k)
        words[k] = pack_half2(own[k].x - first_base, own[k].y - second_base);
    // Now of rows 2 (lane % 4) and one more: red and green, blue and transmittance of the one, the
    // same of the other.
    transpose_words(words, lane);
    // Squares, added up over the channels: of columns of samples, then of columns of pixels (upper,
    // lower; left, right).
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
        // Whatever is not a number makes all of them none.
        seen += sums[channel][0][0];
    }
    if (__any_sync(FULL_MASK, seen != seen)) rough = ALL_SQUARES;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        u32 found = in_columns[k / 2][k % 2];
        if (lane / 2 % 2 == k % 2) found = add_half2(found, in_rows[k / 2]);
        // What would not fit is far more than enough.
        rough |= add_all((u32)fminf(STEP_UNIT * (half_low(found) + half_high(found)), 1e8f)) >= STEP
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
            if (rough >> (2 * half + side) & 1) continue;
#pragma unroll
            for (int channel = 0; channel < 4; ++channel) {
                float* to = (channel == 3 ? light_at : at + channel * plane) + side * SQUARE;
                store_two(to, sums[channel][side][2 * half], sums[channel][side][2 * half + 1],
                          is_even);
            }
        }
    }
    return rough;
}

// Of a picture that is not smooth all tiles are left to blend_rough, those without splats in a list
// of their own behind the others.
extern "C" __global__ void __launch_bounds__(BLOCK, SAMPLES_BLOCKS)
    blend_samples(const Splat* __restrict__ splats, const u32* __restrict__ pairs,
                  const uint2* __restrict__ ranges, Camera camera, Counters* counters, float* image,
                  float* transmittances, uint4* rough) {
    begin_kernel();
    __shared__ SamplesShared all_shared[WARPS];
    u64 all_pairs = counters->placed;
    bool is_halted = counters->halted;
    u32 lane = threadIdx.x % WARP, warp = threadIdx.x / WARP,
        tiles = camera.tiles_x * camera.tiles_y, work = blockIdx.x * WARPS + warp;
    if (is_halted || !is_smooth(counters, tiles)) {
        if (!is_halted && blockIdx.x * BLOCK < tiles)
            leave_tiles(rough, ranges, blockIdx.x * BLOCK, tiles, counters);
        return;
    }
    // LOOKED tiles for each of the first `looks` warps, then one.
    u32 looks = (tiles + LOOKED - 1) / LOOKED;
    bool is_first = work < looks;
    u32 seen = is_first ? work + lane * looks : work - looks + lane;
    bool has_tile = seen < tiles && lane < (is_first ? LOOKED : 1);
    uint2 range = has_tile ? list_range(ranges, seen) : make_uint2(0, 0);
    bool is_long = 2ull * (range.y - range.x) * tiles > LONG * all_pairs;
    for (u32 todo = __ballot_sync(FULL_MASK, has_tile && is_long == is_first); todo;
         todo &= todo - 1) {
        u32 from = __ffs(todo) - 1, tile = __shfl_sync(FULL_MASK, seen, from), left = 0;
        uint2 list = make_uint2(__shfl_sync(FULL_MASK, range.x, from),
                                __shfl_sync(FULL_MASK, range.y, from));
        u32 y0 = quotient(tile, camera.tiles_x), x0 = (tile - y0 * camera.tiles_x) * TILE;
        y0 *= TILE;
        if (x0 + TILE <= camera.width && y0 + TILE <= camera.height) {
            Pixels pixels;
            u32 column = lane / 4;
            light_pixels<true>(pixels, x0 + column, y0, lane % 4, x0, y0);
            bool is_left_out = blend_list(pixels, all_shared[warp], splats, pairs, list, lane, x0,
                                          y0, camera, left);
            if (left != ALL_SQUARES)
                left = interpolate(pixels, is_left_out, left, x0, y0, lane, camera, image,
                                   transmittances);
        } else {
            // Not all samples are in the image.
            left = squares_inside(x0, y0, camera);
        }
        if (left && lane == 0) {
            u32 to = length_class(list.y - list.x);
            rough[to * tiles + atomicAdd(&counters->rough_tiles[to], 1)] =
                make_uint4(list.x, list.y, tile, left);
        }
        __syncwarp();
    }
}

// The second kernel of this program.
#include "blend_refined.cu"
