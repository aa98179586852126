// blend, method `splatcore`: cull twice, then scores and colours as products on the matrix units (DESIGN section 6, items 1
// to 5). Lists are per 16x16 tile; inside, a warp owns 8x4 pixels, tests 32 splats of the list at once against its
// rectangle, and blends the survivors 16 at a time:
//   scores   log2 alpha = basis (1, x, y, x^2, xy, y^2) of 32 pixels times coefficients of 16 splats: 4 m16n8k16. The basis is
//            exact in half precision, coefficients are a high and a low half (K = 8 + 8, two of each unused), sums are f32.
//   weights  alpha in halves, two pixels of a splat in a register: capped, cut below 1/255. A lane holds four splats that are
//            neighbours in depth for each of four pixels (the rows of B are permuted for that), chains them, and scans over
//            the four lanes of a pixel by two shuffles.
//   colours  the weights lie as the A operand of the next product already: (r, 1, g, 1, b, 1, 0, 1) of 16 splats, summed in
//            f32. The columns of ones sum the weights as applied, so transmittance = 1 - that sum, in f32, in every lane,
//            and errors of half precision do not build up in it. The seventh column is free for one more channel.
// A batch that takes a pixel below the least transmittance goes on with every fragment's transmittance in f32, so that a pixel
// stops before the same fragment as everywhere else.
// CPU twin (in f32): splatcore-cpu/src/blend.rs.
//
// Launch: a block of 256 threads (8 warps) a tile, 64 registers, 18 KB of shared memory, 4 blocks a multiprocessor. The list
// comes through shared memory, 256 splats at a time, as rows of 24 halves (16 of coefficients, 8 of colour) that ldmatrix
// gathers by address: compaction is a list of offsets. A thread tests its splat against all eight rectangles.
// Bound by instructions: 137 a batch (16 of them MUFU, which alone take 128 of a scheduler's clocks; some 58 on the ALU pipe,
// 116 clocks), and as many again outside: tests and rows 225 for 32 pairs, queues 113, set-up 134 and output 57 a warp.
// Prediction for fox_220k on an H200: 1.28 M pairs, 4.5 M survivors in 310 k batches: 60 us if all overlaps, 85 in practice.
// Measured: 139 us (subtile: 298), mcmc_1m 302 us (720), 79 dB. 381 k batches (tails), 86 M warp instructions for one view, 71 %
// of the issue slots busy; 46 k batches need transmittances in f32.
// Tried, on fox_220k: ex2.approx.f16x2 is two MUFU and a PRMT: no gain over f32. Alpha cut by a product with 1 or 0 in place of
// LOP3: 138 us. Tests by every warp (30 instructions for 32 of its own) 180 us with 77 instructions a row of output, 155 with 15;
// tests by rows of the list 138. Blocks of 4 warps 144, 5 of those with 48 registers 147; of 16 warps on lists of 32x32 pixels 174;
// 8 warps on such lists 158 (64x64: 212). Blocks that stay, take tiles by ticket and load two pieces ahead: 157. Queues by
// ballots over 32 splats in place of a scan over 8 a lane: 143 (registers spill).

#define COLUMNS 2
#define ROWS 4
#define BLOCK (WARP * COLUMNS * ROWS)
#define BATCH 16
#define ROW_BYTES 48

// n / d, for n < 2^24, without the long division.
__device__ __forceinline__ u32 quotient(u32 n, u32 d) {
    u32 q = (u32)((float)n * reciprocal_approx((float)d));
    if (q * d > n) --q;
    if ((q + 1) * d <= n) ++q;
    return q;
}

// A splat's coefficients around (0, 0) = the tile's centre, as high and low halves (the low ones times LOW_SCALE, as the basis
// is divided by it there), and its colour.
#define LOW_SCALE 256.0f
#define LOW_UNIT 0x1c001c00u  // half2 of 1 / LOW_SCALE
__device__ __forceinline__ void write_row(uint4* row, float4 centre, float4 power, float4 colour, float tile_x, float tile_y) {
    float mx = centre.x - tile_x, my = centre.y - tile_y;
    float gx = fmaf(power.x, mx, power.y * my);  // a mx + b my
    float constant = fmaf(gx, mx, fmaf(power.z * my, my, centre.z));
    float slope_x = -fmaf(power.x, mx, gx), slope_y = -fmaf(2.0f * power.z, my, power.y * mx);
    float k[6] = {constant, slope_x, slope_y, power.x, power.y, power.z};
    u32 high[3], low[3];
#pragma unroll
    for (int i = 0; i < 3; ++i) {
        high[i] = pack_half2(k[2 * i], k[2 * i + 1]);
        low[i] = pack_half2(LOW_SCALE * (k[2 * i] - half_low(high[i])), LOW_SCALE * (k[2 * i + 1] - half_high(high[i])));
    }
    row[0] = make_uint4(high[0], high[1], high[2], 0);
    row[1] = make_uint4(low[0], low[1], low[2], 0);
    row[2] = make_uint4(pack_half2(colour.x, 1.0f), pack_half2(colour.y, 1.0f), pack_half2(colour.z, 1.0f), pack_half2(0.0f, 1.0f));
}

// Bit r * COLUMNS + c says whether the splat reaches 1/255 in rectangle (c, r) of the block's, the first of which starts at
// (x0, y0): as touches_subtile, with what rectangles share computed once.
__device__ __forceinline__ u32 touched_rectangles(float4 centre, float4 power, float x0, float y0) {
    // The margin covers what rounding can do to the exponents here and in the blend.
    float needed = -(centre.z + LOG2_255 + 1e-3f) * (1.0f + 1e-4f);
    float across = -0.5f * power.y * reciprocal_approx(power.x), along = -0.5f * power.y * reciprocal_approx(power.z);
    float best_y[COLUMNS], slope_y[COLUMNS], rest_y[COLUMNS];  // along the edge x = near_x: the best y, and the exponent's other terms
    float left[COLUMNS];
#pragma unroll
    for (int c = 0; c < COLUMNS; ++c) {
        left[c] = x0 + (c * SUBTILE_X + 0.5f) - centre.x;
        float near_x = fminf(fmaxf(0.0f, left[c]), left[c] + (SUBTILE_X - 1));
        best_y[c] = along * near_x;
        slope_y[c] = power.y * near_x;
        rest_y[c] = power.x * near_x * near_x;
    }
    u32 mask = 0;
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
        float top = y0 + (r * SUBTILE_Y + 0.5f) - centre.y, bottom = top + (SUBTILE_Y - 1);
        float near_y = fminf(fmaxf(0.0f, top), bottom);
        float best_x = across * near_y, slope_x = power.y * near_y, rest_x = power.z * near_y * near_y;
#pragma unroll
        for (int c = 0; c < COLUMNS; ++c) {
            float y = fminf(fmaxf(best_y[c], top), bottom), x = fminf(fmaxf(best_x, left[c]), left[c] + (SUBTILE_X - 1));
            float on_x = fmaf(y, fmaf(power.z, y, slope_y[c]), rest_y[c]), on_y = fmaf(x, fmaf(power.x, x, slope_x), rest_x);
            mask |= fmaxf(on_x, on_y) >= needed ? 1u << (COLUMNS * r + c) : 0;
        }
    }
    return mask;
}

// The pixels of a lane: column `lane / 4` of the warp's rectangle, rows 0 to 3. Lanes 4 g to 4 g + 3 share them; lane % 4 says
// which four of a batch's splats are the lane's, and which channel (red, green, blue, none) it sums.
struct Pixels {
    u32 basis[2][4];   // A of the scores for rows 0 and 1, then 2 and 3
    float sums[2][4];  // of the colours: (channel, weights) of rows 0 and 1, then 2 and 3
    float start[4];    // transmittance = start - sum of weights: 1, or the sum itself once the pixel has stopped
    bool finished;     // all pixels of the warp have stopped
    u32 stopped[2];    // half2 of rows 0 and 1, then 2 and 3: 1 once the pixel has stopped, else 0
};

// Blends 16 splats.
__device__ __forceinline__ void blend_batch(Pixels& pixels, const uint4* rows, u32 row, u32 colour_row, u32 lane, u32 alpha_max) {
    const u32 one = 0x3c003c00u;
    const float none[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    u32 coefficients[4], colours[2];
    load_matrix_x4_at(coefficients, rows, row);
    load_matrix_x2_transposed_at(colours, rows, colour_row);
    bool odd = lane & 1, upper = lane & 2;
    u32 alphas[2][4], fronts[2];  // halves of two pixels: alpha of the lane's four splats, transmittance in front of them
    float transmittances[4];
    u32 lowest = one;
#pragma unroll
    for (int f = 0; f < 2; ++f) {
#pragma unroll
        for (int n = 0; n < 2; ++n) {
            float scores[4];
            mma_m16n8k16(scores, pixels.basis[f], coefficients + 2 * n, none);
#pragma unroll
            for (int k = 0; k < 2; ++k) {
                u32 alpha = pack_half2(exp2_approx(scores[k]), exp2_approx(scores[k + 2]));
                // 0x1c04 is the half nearest to 1/255.
                alphas[f][2 * n + k] = min_half2(alpha, alpha_max) & mask_ge_half2(alpha, 0x1c041c04u);
            }
        }
        // What the lane's four leave, then what those in front of them leave.
        u32 own = subtract_half2(one, alphas[f][0]);
#pragma unroll
        for (int k = 1; k < 4; ++k) own = subtract_product_half2(own, own, alphas[f][k]);
        u32 neighbour = __shfl_xor_sync(FULL_MASK, own, 1);
        u32 others = __shfl_xor_sync(FULL_MASK, multiply_half2(own, neighbour), 2);
        u32 before = multiply_half2(odd ? neighbour : one, upper ? others : one);
        transmittances[2 * f] = pixels.start[2 * f] - pixels.sums[f][1];
        transmittances[2 * f + 1] = pixels.start[2 * f + 1] - pixels.sums[f][3];
        fronts[f] = multiply_half2(before, pack_half2(transmittances[2 * f], transmittances[2 * f + 1]));
        lowest = min_half2(lowest, multiply_half2(fronts[f], own) | pixels.stopped[f]);
    }
    // 0x06ae is 1.02e-4: more than the least transmittance by more than halves can be wrong.
    if (!__any_sync(FULL_MASK, mask_ge_half2(lowest, 0x06ae06aeu) != FULL_MASK)) {
#pragma unroll
        for (int f = 0; f < 2; ++f) {
            u32 t = fronts[f], weights[4];
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                weights[k] = multiply_half2(alphas[f][k], t);
                t = subtract_half2(t, weights[k]);
            }
            u32 a[4] = {join_lows(weights[0], weights[1]), join_highs(weights[0], weights[1]), join_lows(weights[2], weights[3]),
                        join_highs(weights[2], weights[3])};
            mma_m16n8k16(pixels.sums[f], a, colours, pixels.sums[f]);
        }
        return;
    }
    // Some pixel may stop: every fragment's transmittance in f32.
#pragma unroll
    for (int f = 0; f < 2; ++f) {
        u32 a[4];
        bool stops[2];
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            float t = i ? half_high(fronts[f]) : half_low(fronts[f]), weights[4];
            stops[i] = false;
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                float weight = t * (i ? half_high(alphas[f][k]) : half_low(alphas[f][k])), next = t - weight;
                // Transmittance only falls, so whoever is above the limit is in front of whoever stopped.
                stops[i] = stops[i] || next < TRANSMITTANCE_MIN;
                weights[k] = next < TRANSMITTANCE_MIN ? 0.0f : weight;
                t = next;
            }
            a[i] = pack_half2(weights[0], weights[1]);
            a[i + 2] = pack_half2(weights[2], weights[3]);
        }
        mma_m16n8k16(pixels.sums[f], a, colours, pixels.sums[f]);
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            // Whichever of the pixel's four lanes saw it.
            u32 seen = __ballot_sync(FULL_MASK, stops[i]);
            if (seen >> (lane & ~3u) & 15) {
                pixels.start[2 * f + i] = pixels.sums[f][2 * i + 1];
                pixels.stopped[f] |= i ? 0x3c000000u : 0x3c00u;
            }
        }
    }
    pixels.finished = __all_sync(FULL_MASK, (pixels.stopped[0] & pixels.stopped[1]) == one);
}

extern "C" __global__ void __launch_bounds__(BLOCK, 1024 / BLOCK) blend(const Splat* __restrict__ splats, const u32* __restrict__ pairs,
                                                          const u32* __restrict__ pair_slots, const uint2* __restrict__ ranges,
                                                          Camera camera, Counters* counters, float* image,
                                                          float* transmittances) {
    __shared__ uint4 rows[(BLOCK + 1) * (ROW_BYTES / 16)];  // one more that blends to nothing fills up the last batch
    __shared__ __align__(8) u8 masks[BLOCK];               // bit w: the splat reaches warp w's pixels
    __shared__ u16 survivors[BLOCK / WARP][BLOCK + BATCH];  // where their rows start, front to back
    if (counters->halted) return;
    u32 thread = threadIdx.x, lane = thread % WARP, warp = thread / WARP;
    u32 blocks_x = (camera.width + COLUMNS * SUBTILE_X - 1) / (COLUMNS * SUBTILE_X);
    u32 block_y = quotient(blockIdx.x, blocks_x), block_x = blockIdx.x - block_y * blocks_x;
    block_x *= COLUMNS * SUBTILE_X;
    block_y *= ROWS * SUBTILE_Y;
    u32 x0 = block_x + warp % COLUMNS * SUBTILE_X, y0 = block_y + warp / COLUMNS * SUBTILE_Y;
    float centre_x = block_x + 0.5f * COLUMNS * SUBTILE_X, centre_y = block_y + 0.5f * ROWS * SUBTILE_Y;
    uint2 range = ranges[block_y / TILE * camera.tiles_x + block_x / TILE];
    u32 alpha_max = pack_half2(camera.alpha_max, camera.alpha_max);

    Pixels pixels;
    u32 x = x0 + lane / 4, member = lane % 4;
    // Of (1, x), (y, x^2), (xy, y^2), nothing, the lane's pair as polynomials of y; exact in half precision.
    float bx = x + 0.5f - centre_x;
    float first_0 = member == 0 ? 1.0f : 0.0f, first_1 = member == 1 ? 1.0f : member == 2 ? bx : 0.0f;
    float second_0 = member == 0 ? bx : member == 1 ? bx * bx : 0.0f, second_2 = member == 2 ? 1.0f : 0.0f;
    pixels.stopped[0] = pixels.stopped[1] = 0;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        float by = y0 + k + 0.5f - centre_y;
        u32 pair = pack_half2(fmaf(first_1, by, first_0), fmaf(second_2, by * by, second_0));
        pixels.basis[k / 2][k % 2] = pair;
        pixels.basis[k / 2][k % 2 + 2] = multiply_half2(pair, LOW_UNIT);
        bool inside = x < camera.width && y0 + k < camera.height;
        pixels.start[k] = inside ? 1.0f : 0.0f;
        if (!inside) pixels.stopped[k / 2] |= k % 2 ? 0x3c000000u : 0x3c00u;
    }
#pragma unroll
    for (int k = 0; k < 8; ++k) pixels.sums[k / 4][k % 4] = 0.0f;
    pixels.finished = __all_sync(FULL_MASK, (pixels.stopped[0] & pixels.stopped[1]) == 0x3c003c00u);
    if (thread == 0)
        write_row(rows + BLOCK * (ROW_BYTES / 16), make_float4(centre_x, centre_y, -100.0f, 0.0f), make_float4(0.0f, 0.0f, 0.0f, 0.0f),
                  make_float4(0.0f, 0.0f, 0.0f, 0.0f), centre_x, centre_y);

    // Whose rows this lane hands to ldmatrix: column lane % 8 of product lane / 16 (coefficients), lane / 8 (colours).
    u32 column = lane % 8 / 2 * 4 + lane % 2;
    const u16* own_survivors = survivors[warp] + column + lane / 16 * 2;
    const u16* colour_survivors = survivors[warp] + column + lane / 8 % 2 * 2;
    for (u32 begin = range.x; begin < range.y; begin += BLOCK) {
        // Also the barrier that keeps the next list from overwriting this one.
        if (__syncthreads_and(pixels.finished)) break;
        u32 mask = 0;
        if (begin + thread < range.y) {
            u32 slot = pairs[begin + thread];
            if (pair_slots) slot = pair_slots[slot];
            const float4* from = (const float4*)(splats + slot);
            float4 centre = from[0], power = from[1], colour = from[2];
            write_row(rows + thread * (ROW_BYTES / 16), centre, power, colour, centre_x, centre_y);
            mask = touched_rectangles(centre, power, block_x, block_y);
        }
        masks[thread] = (u8)mask;
        __syncthreads();
        if (pixels.finished) continue;
        // A lane looks at eight splats in a row, one bit each.
        uint2 eight = ((const uint2*)masks)[lane];
        u32 low = eight.x >> warp & 0x01010101u, high = eight.y >> warp & 0x01010101u;
        u32 own = __popc(low) + __popc(high), until = warp_scan(own, lane), count = __shfl_sync(FULL_MASK, until, WARP - 1);
        u16* next = survivors[warp] + until - own;
        u32 at = lane * 8 * ROW_BYTES;
#pragma unroll
        for (int k = 0; k < 8; ++k) {
            if ((k < 4 ? low : high) >> (8 * (k % 4)) & 1) *next++ = (u16)(at + k * ROW_BYTES);
        }
        if (lane < BATCH) survivors[warp][count + lane] = (u16)(BLOCK * ROW_BYTES);
        __syncwarp();
        for (u32 first = 0; first < count && !pixels.finished; first += BATCH)
            blend_batch(pixels, rows, own_survivors[first] + lane / 8 % 2 * 16, colour_survivors[first] + 32, lane, alpha_max);
        __syncwarp();
    }
    if (x >= camera.width) return;
    u64 plane = camera.width * camera.height;
    float* out = (member < 3 ? image + member * plane : transmittances) + (y0 * camera.width + x);
    // The fourth lane of a pixel has a sum of nothing: transmittance is what it adds to that.
    float background = member == 0 ? camera.background[0] : member == 1 ? camera.background[1] : member == 2 ? camera.background[2] : 1.0f;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        float channel = pixels.sums[k / 2][k % 2 * 2], transmittance = fmaxf(1.0f - pixels.sums[k / 2][k % 2 * 2 + 1], 0.0f);
        if (y0 + k < camera.height) *out = fmaf(transmittance, background, channel);
        out += camera.width;
    }
}
