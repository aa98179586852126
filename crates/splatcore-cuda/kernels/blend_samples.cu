// blend_samples, method `samples`: of large pictures one pixel in four is blended. Where those tell the others, the others are interpolated; where they do
// not, all pixels are blended by blend_rough.cu.
//
// A warp has a tile: 8x8 of its 16x16 pixels, every other one from both ends of its rows and columns, take the place of the warp's pixels in blend_picture.cu
// and are blended the same way. No splat needs to be tested, as a tile's list has those that reach it, and no barrier is needed, as a warp's rows are its own.
//   pixels     Those between are on the natural cubic spline through the eight samples of their row and column: two products of matrices for each
//              channel, the result of the first of which lies as the second takes it. In halves, of the samples less one of them, so that roundings are small; sums in f32.
//   rough      The same products with what the spline is beyond the cubic polynomial through the four nearest samples say how far two fair guesses are
//              apart. Where that is STEP or more, anywhere in 8x8 pixels, these are blended.
//   hidden     A splat that is about as thin as a pixel can lie between samples unseen. A square is blended too where one takes more than FINE_LIGHT of the light in front
//              of it, unless one of the four samples about that place has a share, FINE_SEEN, of it. Without this a white point of 0.82 was off by 0.44 (tests/samples.rs).
//   details    Nothing is sampled of pictures whose splats are small: those that reach less than SMOOTH of a group's 4x4 tiles on average.
//   order      Long lists begin first: LOOKED tiles at a time, far apart as long lists lie side by side, are looked at for those longer than LONG halves of the
//              average, then all for the others. A warp asks for the next while it has work.
// Not with depth: what a mean of depths is divided by is not smooth where a splat begins.
// CPU twin: none on the way to a picture, as `samples` is `splatcore` there; of the spline, in f64, tests/samples.rs.
//
// Launch: blocks of four warps, seven a multiprocessor: 72 registers, 18 KB of shared memory; blend_rough 24 KB. Bound, in the form of the fifth line below: 68 M instructions
// a view of fox_220k, 55 % of them batches, 18 % what follows the last one; 61 % of the issue slots used, and multiprocessors that are through wait for long lists.
// On an H200 at 3840x2160, us of the blend alone, both kernels, fox_220k (mcmc_1m); that of all pixels takes 288 (562). Reckoned from three pictures of the CPU: 87 % (72 %) of
// all 8x8 pixels can be interpolated with 64 dB, so predicted 160 to 180 (390). Each line against the one before:
//   interpolation by each thread, a grid that strides over rough tiles          265 (565)
//   rough squares by a warp each, copies past the first-level cache             289 (649)
//   rough tiles by blocks that ask for them; the first-level cache; 7 blocks    239 (503)
//   32 splats at a time, copied while the 32 before are blended                 227 (460)
//   the natural spline for the cubic polynomial: as good with fewer rough       221 (451)
//   long lists first                                                            215 (438), each at the limit that suits it
//   long: 1.5 times the average; differences as squares, over the channels      210 (424)
//   pictures of details left out, which costs nothing here                      204 (412), 63.3 (61.4) dB against all of f32
//   hidden splats looked for; warps ask for tiles                               264 (553), 64.7 (62.3) dB
//   only where they hide                                                        not timed yet. Of a cut-out of 768x512 pixels (emulator) 14.9 % (30.3 %) of the squares are
//                                                                               rough without looking for any, 25.9 % (37.4 %) by the line above, now 15.0 % (30.4 %)
// Slower: both kernels in one, 225 to 247 (458 to 515); tiles with long lists not sampled, 222 to 224 (449 to 554); tiles with several thin splats or
// very long lists not sampled, 212 (432). Orbits of small models, most of which is details, take 16 to 56 % longer than with all pixels. All of it raw:
// docs/measurements/rendering/samples.txt.

#define WARPS (BLOCK / WARP)
#define SAMPLES 8       // along a tile's side
#define SAMPLES_BLOCKS (HAS_SM80 ? 7 : 8)  // of a multiprocessor
#define STEP 0x21d321d3u                   // half2 of (BEYOND_UNIT / 300)^2, of the squares' sum over the channels
#define LONG 3
#define LOOKED 4

// Whether the picture's splats are so large that samples are worth it: how many of a group's tiles they reach on average says how large they are.
#define SMOOTH 4
__device__ __forceinline__ bool is_smooth(const Counters* counters) { return counters->placed >= SMOOTH * counters->pairs; }

// The squares of the tile at (x0, y0) that have pixels of the image.
__device__ __forceinline__ u32 squares_inside(u32 x0, u32 y0, const Camera& camera) {
    u32 upper = x0 + SQUARE < camera.width ? 3 : 1;
    return y0 + SQUARE < camera.height ? upper | upper << 2 : upper;
}

// Whether a splat could hide between samples: its sigma across is so small that where samples are 3 pixels apart in both directions they may see less of it than FINE_SEEN. By
// the larger eigenvalue of its form against that of such a circle. Not if it is nearly transparent.
#define FINE_SIGMA 1.12f
#define FINE_LIGHT 0.1f
#define FINE_SEEN -1.5f  // log2; of what differs by 0.017 at a sample STEP becomes aware
__device__ __forceinline__ bool is_fine(float4 centre, float4 power) {
    const float circle = 0.5f / LN2 / (FINE_SIGMA * FINE_SIGMA);
    float x = -power.x - circle, y = -power.z - circle, slant = 0.5f * power.y;
    return exp2_approx(centre.z) > FINE_LIGHT && (x > 0.0f || y > 0.0f || x * y < slant * slant);
}

// The samples, as pixels of the tile, before and behind a place between pixels 0 and 15.
__device__ __forceinline__ float2 samples_about(float place) {
    float half = place < 7.5f ? place : 15.0f - place;  // symmetric
    float before = half < 6.0f ? 2.0f * floorf(0.5f * half) : 6.0f, behind = half < 6.0f ? before + 2.0f : 9.0f;
    return place < 7.5f ? make_float2(before, behind) : make_float2(15.0f - behind, 15.0f - before);
}

// The squares of the tile at (x0, y0), a bit each, in which the fine splats of the warp's lanes hide: what they take of the light that is left in front of
// them is more than FINE_LIGHT where they take most of a square, and at none of the four samples about that place are they as much as FINE_SEEN of it.
__device__ __forceinline__ u32 squares_of_hidden(const Pixels& pixels, bool is_fine, float4 centre, float4 power, u32 x0, u32 y0, u32 lane) {
    // The most light of the samples of each square: columns of lanes 0 to 15 or of the others, rows of the first two pairs or of the others.
    float lights[SQUARES];
#pragma unroll
    for (u32 k = 0; k < SQUARES; ++k) {
        u32 light = max_half2(pixels.light[k / 2 * 2], pixels.light[k / 2 * 2 + 1]);
        lights[k] = lane / 16 == k % 2 ? fmaxf(half_low(light), half_high(light)) : 0.0f;
        for (u32 offset = 16; offset >= 4; offset /= 2) lights[k] = fmaxf(lights[k], __shfl_xor_sync(FULL_MASK, lights[k], offset));
    }
    u32 squares = 0;
#pragma unroll 1
    for (u32 k = 0; k < SQUARES; ++k) {
        float left = x0 + k % 2 * SQUARE + 0.5f, top = y0 + k / 2 * SQUARE + 0.5f, x, y;
        float best = best_in_rectangle(centre, power, left, top, SQUARE - 1, SQUARE - 1, x, y);
        float most = k == 0 ? lights[0] : k == 1 ? lights[1] : k == 2 ? lights[2] : lights[3];
        bool hides = is_fine && exp2_approx(centre.z + best) * most > FINE_LIGHT * LIGHT_UNIT;
        if (!__any_sync(FULL_MASK, hides)) continue;
        // From the mean to the samples about the place.
        float2 xs = samples_about(centre.x + x - x0 - 0.5f), ys = samples_about(centre.y + y - y0 - 0.5f);
#pragma unroll
        for (int sample = 0; sample < 4; ++sample) {
            float dx = x0 + 0.5f + (sample % 2 ? xs.y : xs.x) - centre.x, dy = y0 + 0.5f + (sample / 2 ? ys.y : ys.x) - centre.y;
            float exponent = fmaf(fmaf(power.x, dx, power.y * dy), dx, power.z * dy * dy);
            hides = hides && exponent < best + FINE_SEEN;
        }
        squares |= __any_sync(FULL_MASK, hides) ? 1u << k : 0;
    }
    return squares;
}

// A batch of rows: eight of ROW_BYTES, then as many again 64 bytes further, so that no 16 bytes that are written or read at a time lie in the same banks.
#define HALF_BATCH_BYTES (8 * ROW_BYTES + 64)
#define BATCH_BYTES (2 * HALF_BATCH_BYTES)

// What a warp has for itself: 32 splats on their way, each lane's its own, and their rows.
struct SamplesShared {
    uint4 rows[2 * BATCH_BYTES / 16];
    uint4 staged[3][WARP];
};

// Blends the list `range` to samples of the tile at (x0, y0). Returns whether all were dark before its end; adds the squares in which splats hide to `rough`.
__device__ __forceinline__ bool blend_list(Pixels& pixels, SamplesShared& shared, const Splat* __restrict__ splats, const u32* __restrict__ pairs,
                                          uint2 range, u32 lane, u32 x0, u32 y0, const Camera& camera, u32& rough) {
    // Whose rows this lane hands to ldmatrix: as in blend_picture.cu, but a splat's row lies where it is read, bit 1 of its number in front.
    u32 row = lane / 16 * HALF_BATCH_BYTES + lane % 8 * ROW_BYTES + lane / 8 % 2 * 16;
    u32 colour_row = lane / 16 * HALF_BATCH_BYTES + (lane % 8 / 2 * 2 + lane / 8 % 2) * ROW_BYTES + 32 + lane % 2 * 16;
    float centre_x = x0 + 0.5f * TILE, centre_y = y0 + 0.5f * TILE;
    u32 own = lane % BATCH, alpha_max = kept_alpha_max(camera);
    uint4* to = shared.rows + (lane / BATCH * BATCH_BYTES + own / 2 % 2 * HALF_BATCH_BYTES + (own / 4 * 2 + own % 2) * ROW_BYTES) / 16;
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
            fits = write_row(to, centre, power, *(const float4*)&shared.staged[2][lane], centre_x, centre_y, camera);
        }
        if (!fits) write_empty_row(to);
        if (__any_sync(FULL_MASK, fine)) rough |= squares_of_hidden(pixels, fine, centre, power, x0, y0, lane);
        if (at + WARP < range.y) stage(next);
        if (at + 2 * WARP < range.y) next = pairs[at + 2 * WARP];
        __syncwarp();
        bool is_dark = blend_batch(pixels, shared.rows, row, colour_row, lane, alpha_max);
        u32 end = begin + BATCH;
        if (!is_dark && end < range.y) {
            is_dark = blend_batch(pixels, shared.rows, row + BATCH_BYTES, colour_row + BATCH_BYTES, lane, alpha_max);
            end += BATCH;
        }
        if (is_dark) {
            is_left_out = end < range.y;
            break;
        }
        __syncwarp();
    }
    copy_async_wait<0>();
    __syncwarp();
    return is_left_out;
}

// How much samples 0 to 7, at pixels 0, 2, 4, 6, 9, 11, 13 and 15, are of pixels 0 to 7; of pixels 15 to 8 the same from the other end. The natural
// cubic spline through all of them.
__device__ constexpr float SPLINE[8][SAMPLES] = {
    {1, 0, 0, 0, 0, 0, 0, 0},
    {0.399609f, 0.727349f, -0.159394f, 0.037592f, -0.007511f, 0.002977f, -0.000744f, 0.000124f},
    {0, 1, 0, 0, 0, 0, 0, 0},
    {-0.073826f, 0.567954f, 0.603182f, -0.112775f, 0.022534f, -0.008931f, 0.002233f, -0.000372f},
    {0, 0, 1, 0, 0, 0, 0, 0},
    {0.020694f, -0.124166f, 0.621665f, 0.538508f, -0.082626f, 0.032747f, -0.008187f, 0.001364f},
    {0, 0, 0, 1, 0, 0, 0, 0},
    {-0.009740f, 0.058438f, -0.233750f, 0.886083f, 0.418729f, -0.151276f, 0.037819f, -0.006303f},
};
// The same less the cubic polynomial through the four nearest (Lagrange), times BEYOND_UNIT, so that halves hold squares of what is found by them.
#define BEYOND_UNIT 32
__device__ constexpr float BEYOND_CUBIC[8][SAMPLES] = {
    {0, 0, 0, 0, 0, 0, 0, 0},
    {2.787488f, -6.724832f, 4.899392f, -0.797056f, -0.240352f, 0.095264f, -0.023808f, 0.003968f},
    {0, 0, 0, 0, 0, 0, 0, 0},
    {-0.362432f, 0.174528f, 1.301824f, -1.608800f, 0.721088f, -0.285792f, 0.071456f, -0.011904f},
    {0, 0, 0, 0, 0, 0, 0, 0},
    {0.662208f, -1.687616f, 0.693280f, 1.232256f, -1.729728f, 1.047904f, -0.261984f, 0.043648f},
    {0, 0, 0, 0, 0, 0, 0, 0},
    {-0.311680f, 1.870016f, -3.822880f, 2.754656f, 0.599328f, -2.097984f, 1.210208f, -0.201696f},
};

// Such weights as a matrix of 16 pixels by 8 samples: A of a product, or, transposed, B of two.
__device__ __forceinline__ void load_weights(u32 (&words)[2], const float (&table)[8][SAMPLES], u32 lane) {
    u32 pixel = lane / 4, sample = lane % 4 * 2;
    words[0] = pack_half2(table[pixel][sample], table[pixel][sample + 1]);
    words[1] = pack_half2(table[7 - pixel][7 - sample], table[7 - pixel][6 - sample]);
}

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

// Interpolates a tile from its samples, of which a lane has the column lane / 4 as finish_pixel says. Writes those of its four squares that are not in `rough` and where the
// spline and the cubic polynomial differ by less than STEP; returns the others, a bit each.
__device__ __forceinline__ u32 interpolate(const Pixels& pixels, bool is_left_out, u32 rough, u32 x0, u32 y0, u32 lane, const Camera& camera, float* image,
                                           float* transmittances) {
    float2 own[PAIRS];
#pragma unroll
    for (int k = 0; k < PAIRS; ++k) {
        float share;
        own[k] = finish_pixel(pixels, k, is_left_out, lane, camera, share);
    }
    u32 spline[2], beyond[2];
    load_weights(spline, SPLINE, lane);
    load_weights(beyond, BEYOND_CUBIC, lane);
    // Halves are of what the samples are beyond one of them near the middle: sample 3 of row 3.
    float bases[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) bases[k] = __shfl_sync(FULL_MASK, k % 2 ? own[1].y : own[1].x, 14 + k / 2);
    float first_base = lane % 2 ? bases[2] : bases[0], second_base = lane % 2 ? bases[3] : bases[1];
    u32 words[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) words[k] = pack_half2(own[k].x - first_base, own[k].y - second_base);
    // Now of rows 2 (lane % 4) and one more: red and green, blue and transmittance of the one, the same of the other.
    transpose_words(words, lane);
    // Squares, added up over the channels: of columns of samples, then of columns of pixels (upper, lower; left, right).
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
        for (int half = 0; half < 2; ++half) in_rows[half] = multiply_add_half2(beyond_rows[half], beyond_rows[half], in_rows[half]);
#pragma unroll
        for (int side = 0; side < 2; ++side) {
            float base[4] = {bases[channel], bases[channel], bases[channel], bases[channel]};
            u32 beyond_columns[2];
            mma_m16n8k8(sums[channel][side], rows, spline[side], base);
            mma_m16n8k8(beyond_columns, rows, beyond[side], none);
#pragma unroll
            for (int half = 0; half < 2; ++half)
                in_columns[half][side] = multiply_add_half2(beyond_columns[half], beyond_columns[half], in_columns[half][side]);
        }
        // Whatever is not a number makes all of them none.
        seen += sums[channel][0][0];
    }
    if (__any_sync(FULL_MASK, seen != seen)) rough = ALL_SQUARES;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        u32 found = in_columns[k / 2][k % 2];
        if (lane / 2 % 2 == k % 2) found = add_half2(found, in_rows[k / 2]);
        rough |= __any_sync(FULL_MASK, mask_ge_half2(found, STEP)) ? 1u << k : 0;
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
                store_two(to, sums[channel][side][2 * half], sums[channel][side][2 * half + 1], is_even);
            }
        }
    }
    return rough;
}

// Lists the tiles that are left to blend_rough, with their squares: those with long lists from the front of `rough`, others from the back; none of a
// picture that is not smooth.
extern "C" __global__ void __launch_bounds__(BLOCK, SAMPLES_BLOCKS)
    blend_samples(const Splat* __restrict__ splats, const u32* __restrict__ pairs, const uint2* __restrict__ ranges, Camera camera,
                  Counters* counters, float* image, float* transmittances, u32* rough) {
    begin_kernel();
    __shared__ SamplesShared all_shared[WARPS];
    u64 all_pairs = counters->placed;
    if (counters->halted || !is_smooth(counters)) return;
    u32 lane = threadIdx.x % WARP, warp = threadIdx.x / WARP, tiles = camera.tiles_x * camera.tiles_y;
    // A warp asks for its next work while it has some: LOOKED tiles for each of the first `looks`, then one.
    u32 looks = (tiles + LOOKED - 1) / LOOKED;
    for (u32 work = blockIdx.x * WARPS + warp; work < looks + tiles;) {
        u32 next = 0;
        if (lane == 0) next = gridDim.x * WARPS + atomicAdd(&counters->samples_begun, 1);
        bool is_first = work < looks;
        u32 seen = is_first ? work + lane * looks : work - looks + lane;
        bool has_tile = seen < tiles && lane < (is_first ? LOOKED : 1);
        uint2 range = has_tile ? list_range(ranges, seen) : make_uint2(0, 0);
        bool is_long = 2ull * (range.y - range.x) * tiles > LONG * all_pairs;
        for (u32 todo = __ballot_sync(FULL_MASK, has_tile && is_long == is_first); todo; todo &= todo - 1) {
            u32 from = __ffs(todo) - 1, tile = __shfl_sync(FULL_MASK, seen, from), left = 0;
            uint2 list = make_uint2(__shfl_sync(FULL_MASK, range.x, from), __shfl_sync(FULL_MASK, range.y, from));
            u32 y0 = quotient(tile, camera.tiles_x), x0 = (tile - y0 * camera.tiles_x) * TILE;
            y0 *= TILE;
            if (x0 + TILE <= camera.width && y0 + TILE <= camera.height) {
                Pixels pixels;
                u32 column = lane / 4;
                light_pixels<2>(pixels, x0 + 2 * column + (column < SAMPLES / 2 ? 0 : 1), y0, lane % 4, x0, y0);
                bool is_left_out = blend_list(pixels, all_shared[warp], splats, pairs, list, lane, x0, y0, camera, left);
                left = interpolate(pixels, is_left_out, left, x0, y0, lane, camera, image, transmittances);
            } else {
                // Not all samples are in the image.
                left = squares_inside(x0, y0, camera);
            }
            if (left && lane == 0) {
                u32 place = is_first ? atomicAdd(&counters->firsts, 1) : tiles - 1 - atomicAdd(&counters->lasts, 1);
                rough[place] = tile * (ALL_SQUARES + 1) + left;
            }
            __syncwarp();
        }
        work = __shfl_sync(FULL_MASK, next, 0);
    }
}
