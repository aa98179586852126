// What blend_splatcore_inference.cu, blend_interpolated.cu and blend_refined.cu share: a splat's
// row of halves, a warp's pixels, the blend of 16 splats to them, the pixels' final values, and
// the blend of a tile by a block. docs/methods/splatcore.md, equations 1 to 4. `light` in names is
// the transmittance, in halves, times TRANSMITTANCE_UNIT.

#pragma once
#include "half_rows.cuh"

#define PAIRS (RECTANGLE_Y / 2)  // pairs of rows of pixels, 16 of a warp's pixels each
#define SQUARE 8   // pixels along a side of a square, which is interpolated or blended as a whole
#define SQUARES 4  // of a tile
#define ALL_SQUARES 15                 // as bits
#define MIN_TRANSMITTANCE 0x34003400u  // half2 of TRANSMITTANCE_UNIT / 256

// A transmittance is 1 minus the sum of the weights in f32, which loses digits as it falls. Below
// this the product in halves is nearer.
#define FAINT 0.125f

#if DEPTH
// The factor that makes 1/z fit a half: at most 2^14, and of full precision (11 bits) up to z =
// 2^28 near planes.
#define INVERSE_DEPTH_MAX 65000.0f  // times WEIGHT_UNIT still a half
__device__ __forceinline__ float depth_unit(const Camera& camera) {
    return 16384.0f * fmaxf(camera.near_plane, 1e-6f);
}
#endif

// Writes a splat's row of halves: coefficients, then its columns of the colour product for upper
// pixels, and for lower ones. One column takes the weights off the transmittance. Returns whether
// the row can be used.
__device__ __forceinline__ bool write_row(uint4* row, float4 mean2d, float4 conic, float4 colour,
                                          float centre_x, float centre_y, const Camera& camera) {
    bool fits = write_coefficients(row, mean2d, conic, centre_x, centre_y);
    u32 red_green = pack_half2(WEIGHT_UNIT * colour.x, WEIGHT_UNIT * colour.y);
    u32 blue_light = join_lows(pack_half2(WEIGHT_UNIT * colour.z, 0.0f), MINUS_ALPHA_UNIT);
    row[2] = make_uint4(red_green, blue_light, 0, 0);
    row[3] = make_uint4(0, 0, red_green, blue_light);
#if DEPTH
    u32 depth =
        pack_half2(WEIGHT_UNIT * fminf(colour.w * depth_unit(camera), INVERSE_DEPTH_MAX), 0.0f);
    row[4] = make_uint4(depth, 0, 0, 0);
    row[5] = make_uint4(0, 0, depth, 0);
#endif
    return fits;
}

// The row of a splat that blends to nothing.
__device__ __forceinline__ void write_empty_row(uint4* row) {
    write_empty_coefficients(row);
    for (u32 k = 2; k < ROW_BYTES / 16; ++k) row[k] = make_uint4(0, 0, 0, 0);
}

// The pixels of a lane: column `lane / 4` of the warp's rectangle, all rows. Lanes 4 g to 4 g + 3
// share them; lane % 4 says which four of a batch's splats are the lane's. A pair of rows is one
// half2, and one row of the colour product: its lower four columns sum the channels of the upper
// pixel, the others those of the lower one.
struct Pixels {
    u32 basis[PAIRS][4];  // A of the scores
    // Of two pairs: red and green (lanes 0 and 2 of four), or blue and the transmittance times
    // TRANSMITTANCE_UNIT (lanes 1 and 3), of the upper pixels (lanes 0 and 1) or the lower ones.
    float sums[PAIRS / 2][4];
#if DEPTH
    float depths[PAIRS / 2][4];  // 1/z in lanes 0 and 2, 0 in the others
#endif
    u32 transmittance[PAIRS];  // the transmittance that weights are multiplied by: halves, times
                               // TRANSMITTANCE_UNIT
};

// A lane's pixels before the first splat.
template <bool SAMPLED>
__device__ __forceinline__ void set_pixels(Pixels& pixels, u32 x, u32 y0, u32 member, u32 block_x,
                                           u32 block_y) {
    make_basis<SAMPLED>(pixels.basis, x, y0, member, block_x, block_y);
#pragma unroll
    for (int k = 0; k < PAIRS; ++k) {
        pixels.transmittance[k] = 0x54005400u;  // half2 of TRANSMITTANCE_UNIT
        pixels.sums[k / 2][k % 2 * 2] = 0.0f;
        pixels.sums[k / 2][k % 2 * 2 + 1] = member % 2 == 0 ? 0.0f : TRANSMITTANCE_UNIT;
#if DEPTH
        pixels.depths[k / 2][k % 2 * 2] = pixels.depths[k / 2][k % 2 * 2 + 1] = 0.0f;
#endif
    }
}

// A lane's pixels (x, y0) and below before the first splat; coefficients are around the centre of
// the block's pixels, the first of which are those of (block_x, block_y). Pixels beyond the
// image's edges have a transmittance of 0. Returns whether all pixels do.
__device__ __forceinline__ bool start_pixels(Pixels& pixels, u32 x, u32 y0, u32 member,
                                             const Camera& camera, u32 block_x, u32 block_y) {
    set_pixels<false>(pixels, x, y0, member, block_x, block_y);
    if (block_x + TILE <= camera.width && block_y + TILE <= camera.height) return false;
#pragma unroll
    for (int k = 0; k < PAIRS; ++k) {
        u32 inside = (y0 + 2 * k < camera.height ? 0xffffu : 0) |
                     (y0 + 2 * k + 1 < camera.height ? 0xffff0000u : 0);
        pixels.transmittance[k] = x < camera.width ? pixels.transmittance[k] & inside : 0;
    }
    return __all_sync(FULL_MASK, x >= camera.width || y0 >= camera.height);
}

// Blends 16 splats. Returns true if all pixels have a transmittance below `min_transmittance` (in
// halves, times TRANSMITTANCE_UNIT).
__device__ __forceinline__ bool blend_batch(Pixels& pixels, const uint4* rows, u32 row,
                                            u32 colour_row, u32 lane, u32 alpha_max,
                                            u32 min_transmittance) {
    u32 colours[4], coefficients[4], lit;
    bool finished = false;
    load_matrix_x4_transposed_at(colours, rows, colour_row);
#if DEPTH
    u32 depths[4];
    load_matrix_x4_transposed_at(depths, rows, colour_row + 32);
#endif
    load_matrix_x4_at(coefficients, rows, row);
    bool odd = lane & 1, upper = lane & 2;
#pragma unroll
    for (int first = 0; first < PAIRS; first += 2) {
        // Weights as if the lane's four splats were the first, and the transmittance of these
        // four. Eight products fewer than weights with the splats in front taken in at once.
        u32 weights[2][4], left[2], neighbours[2], others[2];
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            make_alphas(weights[i], pixels.basis[first + i], coefficients, alpha_max);
            left[i] = subtract_product_half2(0x3c003c00u, weights[i][0], ALPHA_UNITS);
#pragma unroll
            for (int k = 1; k < 4; ++k) {
                weights[i][k] = multiply_half2(weights[i][k], left[i]);
                left[i] = subtract_product_half2(left[i], weights[i][k], ALPHA_UNITS);
            }
        }
        // Both shuffles side by side, as a warp stalls at the first use of a result.
#pragma unroll
        for (int i = 0; i < 2; ++i) neighbours[i] = __shfl_xor_sync(FULL_MASK, left[i], 1);
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            left[i] = multiply_half2(left[i], neighbours[i]);
            others[i] = __shfl_xor_sync(FULL_MASK, left[i], 2);
        }
        u32 in_front[2];
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            u32& transmittance = pixels.transmittance[first + i];
            in_front[i] = transmittance;
            // Each compiles to a predicated product.
            if (odd) in_front[i] = multiply_half2(in_front[i], neighbours[i]);
            if (upper) in_front[i] = multiply_half2(in_front[i], others[i]);
            // The same bits in all four lanes, as a product of two does not depend on their order.
            transmittance = multiply_half2(transmittance, multiply_half2(left[i], others[i]));
            lit = first + i == 0 ? transmittance : max_half2(lit, transmittance);
        }
        // Voted before the products, which take as long as the vote.
        if (first + 2 == PAIRS)
            finished = !__any_sync(FULL_MASK, mask_ge_half2(lit, min_transmittance));
#pragma unroll
        for (int i = 0; i < 2; ++i)
#pragma unroll
            for (int k = 0; k < 4; ++k) weights[i][k] = multiply_half2(weights[i][k], in_front[i]);
#pragma unroll
        for (int k = 0; k < 2; ++k) {
            // Two pixels, one below the other, share a half2 from their alphas to this product, in
            // which they are neighbours of K. B has a splat's channels in four columns for the
            // upper pixels and in four for the lower ones, zero elsewhere, so that nothing is
            // moved between the halves of a register.
            u32 a[4] = {weights[0][2 * k], weights[1][2 * k], weights[0][2 * k + 1],
                        weights[1][2 * k + 1]};
            mma_m16n8k16(pixels.sums[first / 2], a, colours + 2 * k, pixels.sums[first / 2]);
#if DEPTH
            mma_m16n8k16(pixels.depths[first / 2], a, depths + 2 * k, pixels.depths[first / 2]);
#endif
        }
    }
    return finished;
}

// Two channels of one of a lane's pixels, over the background: red and green, or blue and the
// transmittance in odd lanes. Of the k-th pair of rows lanes 0 and 1 of four have the upper pixel,
// the others the lower. `left_out`: the pixel stopped before the end of its list, so its colour is
// renormalised by `share` = 1/(1 - T): the hidden remainder is assumed to match what was already
// blended. All lanes of the warp call it.
__device__ __forceinline__ float2 finish_pixel(const Pixels& pixels, int k, bool left_out, u32 lane,
                                               const Camera& camera, float& share) {
    bool odd = lane % 2;
    float first = pixels.sums[k / 2][k % 2 * 2], second = pixels.sums[k / 2][k % 2 * 2 + 1];
    float summed =
        fmaxf((1.0f / TRANSMITTANCE_UNIT) * __shfl_sync(FULL_MASK, second, lane | 1), 0.0f);
    float product = (1.0f / TRANSMITTANCE_UNIT) * (lane & 2 ? half_high(pixels.transmittance[k])
                                                            : half_low(pixels.transmittance[k]));
    float transmittance = left_out ? 0.0f : summed < FAINT ? product : summed;
    share = left_out ? reciprocal_approx(1.0f - summed) : 1.0f;
    first = fmaf(transmittance, odd ? camera.background[2] : camera.background[0], first * share);
    second = odd ? transmittance : fmaf(transmittance, camera.background[1], second * share);
    return make_float2(first, second);
}

// Writes a lane's pixels, column x from y0 down.
__device__ __forceinline__ void write_pixels(const Pixels& pixels, bool left_out, u32 x, u32 y0,
                                             u32 lane, const Camera& camera, float* image,
                                             float* transmittances, float* inverse_depths) {
    // A lane writes two channels: red and green, or blue and the transmittance.
    bool odd = lane % 2;
    u32 plane = camera.width * camera.height, y = y0 + lane % 4 / 2, at = y * camera.width + x;
    float* first_out = image + (odd ? 2 * plane : 0);
    float* second_out = odd ? transmittances : image + plane;
#pragma unroll
    for (int k = 0; k < PAIRS; ++k) {
        float share;
        float2 two = finish_pixel(pixels, k, left_out, lane, camera, share);
        if (x < camera.width && y < camera.height) {
#if DEPTH
            if (!odd)
                inverse_depths[at] = share * pixels.depths[k / 2][k % 2 * 2] / depth_unit(camera);
#endif
            first_out[at] = two.x;
            second_out[at] = two.y;
        }
        y += 2;
        at += 2 * camera.width;
    }
}

// The state of a warp's pixels.
#define FINISHED 1u  // all have stopped
#define LEFT_OUT 2u  // before the end of their list

// A block's shared memory.
struct InferenceShared {
    uint4 rows[(PIECE + 1) *
               (ROW_BYTES / 16)];  // one more, which blends to nothing, fills up the last batch
    __align__(8) u8 masks[PIECE];  // bit w: the splat reaches warp w's pixels
    u16 survivors[BLOCK / WARP][PIECE + BATCH];  // offsets of their rows, front to back
};

// Blends a tile by a block; `entry` is (first, one past the last of its list, tile). Only warps
// that have a bit in `wanted` blend and write their pixels.
__device__ __forceinline__ void blend_tile(InferenceShared& shared, uint4 entry, u32 wanted,
                                           const Splat* splats, ReadOnly<u32> pairs,
                                           const Camera& camera, float* image,
                                           float* transmittances, float* inverse_depths) {
    u32 thread = threadIdx.x, lane = thread % WARP, warp = thread / WARP;
    uint2 range = make_uint2(entry.x, entry.y);
    u32 block_y = quotient(entry.z, camera.tiles_x),
        block_x = (entry.z - block_y * camera.tiles_x) * TILE;
    block_y *= TILE;
    u32 x = block_x + warp % COLUMNS * RECTANGLE_X + lane / 4,
        y0 = block_y + warp / COLUMNS * RECTANGLE_Y, member = lane % 4;
    float centre_x = block_x + 0.5f * TILE, centre_y = block_y + 0.5f * TILE;
    u32 alpha_max = kept_alpha_max(camera);

    Pixels pixels;
    u32 done =
        start_pixels(pixels, x, y0, member, camera, block_x, block_y) || !(wanted >> warp & 1)
            ? FINISHED
            : 0;
    if (thread == 0) write_empty_row(shared.rows + PIECE * (ROW_BYTES / 16));

    // The splats whose addresses this lane gives to ldmatrix: column lane % 8 of product lane / 16
    // (coefficients); the lane's splat lane / 8, row lane % 8 of its matrix (colours).
    u32 column = lane % 8 / 2 * 4;
    // Offsets in bytes from the start of `survivors`: an address of 64 bits would cost an addition
    // at every batch.
    u32 own_survivors = sizeof(u16) * (warp * (PIECE + BATCH) + column + lane % 2 + lane / 16 * 2);
    u32 colour_survivors = sizeof(u16) * (warp * (PIECE + BATCH) + column + lane / 8);
    auto survivor = [&](u32 at) { return *(const u16*)((const u8*)shared.survivors + at); };
    for (u32 begin = range.x; begin < range.y; begin += PIECE) {
        // This barrier also keeps the next part of the list from overwriting this one.
        if (begin != range.x && __syncthreads_and(done)) break;
#pragma unroll 1
        for (u32 k = 0; k < PIECE / BLOCK; ++k) {
            u32 s = k * BLOCK + thread, mask = 0;
            if (begin + s < range.y) {
                u32 splat_index = pairs[begin + s];
                ReadOnly<float4> from = splat_row(splats, splat_index);
                float4 mean2d = from[0], conic = from[1], colour = from[2];
                bool fits = write_row(shared.rows + s * (ROW_BYTES / 16), mean2d, conic, colour,
                                      centre_x, centre_y, camera);
                mask = fits ? touched_rectangles(mean2d, conic, block_x, block_y) : 0;
            }
            shared.masks[s] = (u8)mask;
        }
        __syncthreads();
        if (done) continue;
        u32 count = queue_survivors(shared.masks, shared.survivors[warp], warp, lane);
        for (u32 at = 0; at < sizeof(u16) * count; at += sizeof(u16) * BATCH) {
            u32 row = survivor(own_survivors + at) + lane / 8 % 2 * 16,
                colour_row = survivor(colour_survivors + at) + 32 + lane % 2 * 16;
            if (blend_batch(pixels, shared.rows, row, colour_row, lane, alpha_max,
                            MIN_TRANSMITTANCE)) {
                done = at + sizeof(u16) * BATCH < sizeof(u16) * count || begin + PIECE < range.y
                           ? FINISHED | LEFT_OUT
                           : FINISHED;
                break;
            }
        }
        __syncwarp();
    }
    if (wanted >> warp & 1)
        write_pixels(pixels, done & LEFT_OUT, x, y0, lane, camera, image, transmittances,
                     inverse_depths);
}
