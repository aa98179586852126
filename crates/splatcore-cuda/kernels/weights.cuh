// What blend_splatcore.cu and blend_backward_splatcore.cu share: a block's 2x4 rectangles of 8x4 pixels, the rows that its list
// becomes, and the weights of 16 splats on a warp's 32 pixels. The backward pass repeats the forward's weights bit for bit by
// it, so that what a pixel has behind a fragment is the image minus what has been added up so far. The steps are explained
// in blend_splatcore.cu.

#define COLUMNS 2
#define ROWS 4
#define BLOCK (WARP * COLUMNS * ROWS)
#define BATCH 16
#define ROW_BYTES 48

// Gradients are never of a picture.
#ifndef PICTURE
#define PICTURE 0
#endif

#if DEPTH
// What 1/z is multiplied by to become a half: at most 2^14, and still of 11 bits for z of 2^28 near planes.
#define INVERSE_DEPTH_MAX 65000.0f  // times WEIGHT_UNIT still a half
__device__ __forceinline__ float depth_unit(const Camera& camera) { return 16384.0f * fmaxf(camera.near_plane, 1e-6f); }
#endif

// n / d, for n < 2^24, without the long division.
__device__ __forceinline__ u32 quotient(u32 n, u32 d) {
    u32 q = (u32)((float)n * reciprocal_approx((float)d));
    if (q * d > n) --q;
    if ((q + 1) * d <= n) ++q;
    return q;
}

// Alphas are kept as alpha / ALPHA_UNIT: 1/255 becomes the least half that is not subnormal (within 2e-5), so that one instruction, a
// minimum that takes subnormal numbers for 0, caps alphas and cuts those below 1/255. Transmittances are kept times LIGHT_UNIT, a
// power of two, so that the weight of what nothing is in front of is its alpha without another rounding; so weights are
// kept as weight * LIGHT_UNIT / ALPHA_UNIT, and what they are multiplied by makes up for it.
#define ALPHA_UNIT 64.25f
#define ALPHA_UNITS 0x54045404u   // half2
#define MINUS_ALPHA_UNIT 0xd404u  // half: a kept weight times it comes off the kept transmittance
#define LOG2_ALPHA_UNIT 6.0056245f
#define LIGHT_UNIT 64.0f
#define WEIGHT_UNIT (ALPHA_UNIT / LIGHT_UNIT)
#define LEAST_LIGHT 0x30003000u  // half2 of LIGHT_UNIT / 512, see PICTURE in blend_splatcore.cu
#define LEAST_SURE 0x1ee11ee1u  // half2 of 1.05e-4 LIGHT_UNIT: above the least transmittance by more than halves can be wrong

// The cap on alphas, as they are kept.
__device__ __forceinline__ u32 kept_alpha_max(const Camera& camera) {
    float kept = camera.alpha_max * (1.0f / ALPHA_UNIT);
    return pack_half2(kept, kept);
}

#define STOPPED -60000.0f  // added to the scores of pixels that have stopped, takes their alphas to 0
#define COEFFICIENT_MAX 60000.0f

// A splat's coefficients around (0, 0) = the tile's centre, as high and low halves (the low ones times LOW_SCALE, as the basis
// is divided by it there), and its colour. Whether halves can hold them; if not, what was written is not to be used.
#define LOW_SCALE 256.0f
#define LOW_UNIT 0x1c001c00u  // half2 of 1 / LOW_SCALE
__device__ __forceinline__ bool write_row(uint4* row, float4 centre, float4 power, float4 colour, float tile_x, float tile_y) {
    float mx = centre.x - tile_x, my = centre.y - tile_y;
    float gx = fmaf(power.x, mx, power.y * my);  // a mx + b my
    float constant = fmaf(gx, mx, fmaf(power.z * my, my, centre.z - LOG2_ALPHA_UNIT));
    float slope_x = -fmaf(power.x, mx, gx), slope_y = -fmaf(2.0f * power.z, my, power.y * mx);
    float k[6] = {constant, slope_x, slope_y, power.x, power.y, power.z};
    u32 high[3], low[3];
#pragma unroll
    for (int i = 0; i < 3; ++i) {
        high[i] = pack_half2(k[2 * i], k[2 * i + 1]);
        low[i] = pack_half2(LOW_SCALE * (k[2 * i] - half_low(high[i])), LOW_SCALE * (k[2 * i + 1] - half_high(high[i])));
    }
    row[0] = make_uint4(high[0], high[1], high[2], pack_half2(STOPPED, 0.0f));
    row[1] = make_uint4(low[0], low[1], low[2], 0);
#if DEPTH
    float fourth = colour.w;
#else
    float fourth = 0.0f;
#endif
    // The second columns take what is applied off the transmittance.
    u32 red_green = pack_half2(WEIGHT_UNIT * colour.x, WEIGHT_UNIT * colour.y);
    u32 blue_fourth = pack_half2(WEIGHT_UNIT * colour.z, WEIGHT_UNIT * fourth);
    row[2] = make_uint4(join_lows(red_green, MINUS_ALPHA_UNIT), __byte_perm(red_green, MINUS_ALPHA_UNIT, 0x5432),
                        join_lows(blue_fourth, MINUS_ALPHA_UNIT), __byte_perm(blue_fourth, MINUS_ALPHA_UNIT, 0x5432));
    // Not a number where one of them is none.
    return fabsf(k[0]) + fabsf(k[1]) + fabsf(k[2]) + fabsf(k[3]) + fabsf(k[4]) + fabsf(k[5]) < COEFFICIENT_MAX;
}

// The row of a splat that blends to nothing: an alpha of 2^-100, black.
__device__ __forceinline__ void write_empty_row(uint4* row) {
    row[0] = make_uint4(pack_half2(-100.0f, 0.0f), 0, 0, pack_half2(STOPPED, 0.0f));
    row[1] = make_uint4(0, 0, 0, 0);
    u32 column = MINUS_ALPHA_UNIT << 16;
    row[2] = make_uint4(column, column, column, column);
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
    u32 basis[2][4];   // A of the scores for rows 0 and 1, then 2 and 3; those of the fourth lane say which pixels have stopped
    float sums[2][4];  // (channel, transmittance) of rows 0 and 1, then 2 and 3; see `transmittance_of`
    u32 finished;      // all pixels of the warp have stopped
};

// A transmittance is kept times LIGHT_UNIT, and LIGHT_UNIT more once its pixel has stopped (no pixel of a picture does).
__device__ __forceinline__ bool is_stopped(float kept) { return !PICTURE && kept > LIGHT_UNIT; }
__device__ __forceinline__ float transmittance_of(float kept) {
    // A branch here costs each of the four pixels one.
    return (1.0f / LIGHT_UNIT) * fmaxf(kept - (is_stopped(kept) ? LIGHT_UNIT : 0.0f), 0.0f);
}

// A lane's pixels (x, y0) to (x, y0 + 3) before the first splat; coefficients are around the centre of the block's pixels, the
// first of which are those of (block_x, block_y).
__device__ __forceinline__ void start_pixels(Pixels& pixels, u32 x, u32 y0, u32 member, const Camera& camera, u32 block_x, u32 block_y) {
    // Of (1, x), (y, x^2), (xy, y^2), (stopped, nothing), the lane's pair as a polynomial of y; exact in half precision.
    float bx = (float)(int)(x - block_x) + (0.5f - 0.5f * COLUMNS * SUBTILE_X);
    float by = (float)(int)(y0 - block_y) + (0.5f - 0.5f * ROWS * SUBTILE_Y);
    u32 one_x = pack_half2(1.0f, bx), x_square = pack_half2(0.0f, bx * bx), only_x = pack_half2(bx, 0.0f), y = pack_half2(by, by);
    u32 constant = member == 0 ? one_x : member == 1 ? x_square : 0, slope = member == 1 ? 0x3c00u : member == 2 ? only_x : 0;
    u32 square = member == 2 ? 0x3c000000u : 0;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        u32 pair = multiply_add_half2(multiply_add_half2(square, y, slope), y, constant);
        pixels.basis[k / 2][k % 2] = pair;
        pixels.basis[k / 2][k % 2 + 2] = multiply_half2(pair, LOW_UNIT);
        pixels.sums[k / 2][k % 2 * 2] = 0.0f;
        pixels.sums[k / 2][k % 2 * 2 + 1] = LIGHT_UNIT;
        y = add_half2(y, 0x3c003c00u);
    }
    pixels.finished = 0;
    // Pixels beyond the image's edges have stopped; in a picture they are dark.
    if (block_x + COLUMNS * SUBTILE_X > camera.width || block_y + ROWS * SUBTILE_Y > camera.height) {
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            if (x < camera.width && y0 + k < camera.height) continue;
#if PICTURE
            pixels.sums[k / 2][k % 2 * 2 + 1] = 0.0f;
#else
            if (member == 3) pixels.basis[k / 2][k % 2] = 0x3c00u;
            pixels.sums[k / 2][k % 2 * 2 + 1] = 2.0f * LIGHT_UNIT;
#endif
        }
        pixels.finished = __all_sync(FULL_MASK, x >= camera.width || y0 >= camera.height);
    }
}

// Writes to shared memory, one place after the other.
struct Appender {
#ifdef EMULATED
    u16* next;
    void append_if(u32 wanted, u32 value) {
        if (wanted) *next++ = (u16)value;
    }
#else
    u32 next;
    __device__ __forceinline__ Appender(u16* first) : next(shared_address(first)) {}
    // The compiler would make address and value anew for each, six instructions in place of four.
    __device__ __forceinline__ void append_if(u32 wanted, u32 value) {
        asm volatile("{.reg .pred p; .reg .b16 h; setp.ne.u32 p, %1, 0; cvt.u16.u32 h, %2; @p st.shared.u16 [%0], h; @p add.u32 %0, %0, 2;}"
                     : "+r"(next)
                     : "r"(wanted), "r"(value)
                     : "memory");
    }
#endif
};

// Makes the warp's queue: where the rows of the splats that touch its rectangle start, front to back, and a batch of empty
// rows. Returns their number. A lane looks at eight splats in a row, one bit each. If `ranks` is not null, it gets the
// place in the queue of each splat of the list that is in it.
__device__ __forceinline__ u32 queue_survivors(const u8* masks, u16* survivors, u8* ranks, u32 warp, u32 lane) {
    uint2 eight = ((const uint2*)masks)[lane];
    u32 low = eight.x >> warp & 0x01010101u, high = eight.y >> warp & 0x01010101u;
    u32 own = __popc(low) + __popc(high), until = warp_scan(own, lane), count = __shfl_sync(FULL_MASK, until, WARP - 1);
    Appender next = {survivors + (until - own)};
#pragma unroll
    for (int k = 0; k < 8; ++k) next.append_if((k < 4 ? low : high) & 1u << (8 * (k % 4)), (lane * 8 + k) * ROW_BYTES);
    if (ranks) {
        // A product adds up the bytes below each byte; none exceeds 255.
        u32 first = until - own;
        ((uint2*)ranks)[lane] = make_uint2(first * 0x01010101u + low * 0x01010100u, (first + __popc(low)) * 0x01010101u + high * 0x01010100u);
    }
    if (lane < BATCH) survivors[count + lane] = (u16)(BLOCK * ROW_BYTES);
    __syncwarp();
    return count;
}

// Blends 16 splats: `add(f, weights)` is to add the weights of rows 2 f and 2 f + 1, as the A operand of a product over
// splats, to the pixels' sums. `look(alphas, left)` sees the alphas (of ALPHA_UNIT) of the lane's four splats, half2 of two
// pixels, and the share of the light that they leave; `fronts` gets the transmittance (times LIGHT_UNIT) in front of them.
// Returns true if all pixels have stopped, or have all less than LEAST_LIGHT in a picture.
template <typename Look, typename Add>
__device__ __forceinline__ bool weigh_batch(Pixels& pixels, const uint4* rows, u32 row, u32 lane, u32 alpha_max, u32 (&fronts)[2],
                                            Look look, Add add) {
    const u32 one = 0x3c003c00u;
    const float none[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    u32 coefficients[4];
    load_matrix_x4_at(coefficients, rows, row);
    bool odd = lane & 1, upper = lane & 2;
    u32 alphas[2][4], left[2], lowest[2];  // `lowest`: the transmittance behind the lane's four
#pragma unroll
    for (int f = 0; f < 2; ++f) {
#pragma unroll
        for (int n = 0; n < 2; ++n) {
            float scores[4];
            mma_m16n8k16(scores, pixels.basis[f], coefficients + 2 * n, none);
#pragma unroll
            for (int k = 0; k < 2; ++k)
                alphas[f][2 * n + k] = min_normal_half2(pack_half2(exp2_approx(scores[k]), exp2_approx(scores[k + 2])), alpha_max);
        }
        // What the lane's four leave, then what those in front of them leave.
#if PICTURE
        // Alphas become weights with nothing in front of the four.
        left[f] = subtract_product_half2(one, alphas[f][0], ALPHA_UNITS);
#pragma unroll
        for (int k = 1; k < 4; ++k) {
            alphas[f][k] = multiply_half2(alphas[f][k], left[f]);
            left[f] = subtract_product_half2(left[f], alphas[f][k], ALPHA_UNITS);
        }
#else
        u32 leaves[4];
#pragma unroll
        for (int k = 0; k < 4; ++k) leaves[k] = subtract_product_half2(one, alphas[f][k], ALPHA_UNITS);
        left[f] = multiply_half2(multiply_half2(leaves[0], leaves[1]), multiply_half2(leaves[2], leaves[3]));
#endif
    }
    // The shuffles of both next to each other: a warp does not go on behind one that waits.
    u32 neighbours[2], others[2];
#pragma unroll
    for (int f = 0; f < 2; ++f) neighbours[f] = __shfl_xor_sync(FULL_MASK, left[f], 1);
#pragma unroll
    for (int f = 0; f < 2; ++f) others[f] = __shfl_xor_sync(FULL_MASK, multiply_half2(left[f], neighbours[f]), 2);
#pragma unroll
    for (int f = 0; f < 2; ++f) {
        fronts[f] = pack_half2(pixels.sums[f][1], pixels.sums[f][3]);
#if PICTURE
        // Each a product by predicate.
        if (odd) fronts[f] = multiply_half2(fronts[f], neighbours[f]);
        if (upper) fronts[f] = multiply_half2(fronts[f], others[f]);
#else
        u32 before = multiply_half2(odd ? neighbours[f] : one, upper ? others[f] : one);
        fronts[f] = multiply_half2(before, fronts[f]);
#endif
        lowest[f] = multiply_half2(fronts[f], left[f]);
    }
    look(alphas, left);
#if PICTURE
    // Behind the batch, as the last of a pixel's four lanes knows it.
    bool finished = !__any_sync(FULL_MASK, odd && upper && (mask_ge_half2(lowest[0], LEAST_LIGHT) | mask_ge_half2(lowest[1], LEAST_LIGHT)));
#else
    const bool finished = false;
    if (__builtin_expect(!__any_sync(FULL_MASK, mask_ge_half2(min_half2(lowest[0], lowest[1]), LEAST_SURE) != FULL_MASK), true))
#endif
    {
#pragma unroll
        for (int f = 0; f < 2; ++f) {
            u32 t = fronts[f], weights[4];
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                weights[k] = multiply_half2(alphas[f][k], t);
                if (PICTURE) continue;
                // What rounded weights leave, and not a product of what alphas leave: the backward pass divides what is behind by it.
                t = subtract_product_half2(t, weights[k], ALPHA_UNITS);
            }
            u32 a[4] = {join_lows(weights[0], weights[1]), join_highs(weights[0], weights[1]), join_lows(weights[2], weights[3]),
                        join_highs(weights[2], weights[3])};
            add(f, a);
        }
        pixels.finished = finished;
        return finished;
    }
#if !PICTURE
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
                float weight = t * (i ? half_high(alphas[f][k]) : half_low(alphas[f][k])), next = fmaf(-ALPHA_UNIT, weight, t);
                // Transmittance only falls, so whoever is above the limit is in front of whoever stopped.
                stops[i] = stops[i] || next < LIGHT_UNIT * TRANSMITTANCE_MIN;
                weights[k] = next < LIGHT_UNIT * TRANSMITTANCE_MIN ? 0.0f : weight;
                t = next;
            }
            a[i] = pack_half2(weights[0], weights[1]);
            a[i + 2] = pack_half2(weights[2], weights[3]);
        }
        add(f, a);
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            // Whichever of the pixel's four lanes saw it.
            u32 seen = __ballot_sync(FULL_MASK, stops[i]);
            if (seen >> (lane & ~3u) & 15) {
                // Rounded weights may have added up to everything.
                pixels.sums[f][2 * i + 1] = LIGHT_UNIT + fmaxf(pixels.sums[f][2 * i + 1], LIGHT_UNIT * TRANSMITTANCE_MIN);
                if (odd && upper) pixels.basis[f][i] = 0x3c00u;
            }
        }
    }
    pixels.finished = __all_sync(FULL_MASK, is_stopped(fminf(fminf(pixels.sums[0][1], pixels.sums[0][3]),
                                                             fminf(pixels.sums[1][1], pixels.sums[1][3]))));
    return pixels.finished;
#endif
}
