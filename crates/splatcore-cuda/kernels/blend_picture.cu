// blend, method `splatcore`, of a picture that nothing is learned from. blend_splatcore.cu says how it works; training, whose backward
// pass repeats every fragment, keeps that one. What is different here:
//   the end   A warp goes on until each of its pixels has less than LEAST_LIGHT, 1/256, left. No batch is done again in f32 to find the
//             fragment behind which a pixel stops; pixels whose list was not looked at to its end take what is behind for what is
//             in front, so they are off by a step of 8 bits at most, mostly by far less.
//   weights   A lane's alphas become weights with nothing in front of its four, and those are multiplied by what is left in front:
//             eight products of halves fewer a batch.
//   pixels    A warp has 8x4 pixels, or 8x8 of a large picture (RECTANGLE_Y): less to set up, test, queue and write for each pixel,
//             more fragments that miss.
// Depth keys are shorter too (project.cu).
// CPU twin (in f32): splatcore-cpu/src/blend.rs. What may differ from it: splatcore-core/src/precision.rs, `LIGHT_LEFT`.
//
// Constants: RECTANGLE_Y, 4 or 8; DEPTH 1 sums 1/z in the seventh column of the colour product (a product and a minimum more for each splat
// of a list, a quotient and a store for each pixel).
//
// Launch: a block of 32 * 32 / RECTANGLE_Y threads a tile. 4 rows: 48 registers, 18 KB of shared memory, 5 blocks a multiprocessor;
// 8 rows: 64, 16 KB, 8 blocks.
// Measured on an H200, fox_220k (mcmc_1m), us of the blend alone, each against the line before:
//   as in training                                     130 (277)
//   the end at 1/512 in place of 1e-4, nothing redone  111 (228), 72 to 74 dB against vanilla
//   eight products fewer                               predicted -7 % of the loop: 109 (223)
//   what is in front taken by predicated products      106 (220)
//   1/256                                              104 (213), 67 to 68 dB
//   8 rows                                             105 (241); at 3840x2160, from 339 (627): 312 (623). Predicted from counts of
//                                                      instructions: 10 % less at 1080x1920, 17 % at 3840x2160
// Other ends: 1/1024 3 us more, 1/8192 8 more. The large pictures' kernel with 7 or 9 blocks: 1 more, 10 blocks 10 more. 6 blocks of 40
// registers with 4 rows: 8 more. The slot of the next piece fetched ahead: nothing. Low halves of the coefficients without a scale, so
// that they share the high ones' basis: 2 more, as the registers of A must lie side by side.

#define PAIRS (RECTANGLE_Y / 2)  // pairs of rows of pixels, 16 of a warp's pixels each
#ifndef SIDE_BY_SIDE
#define SIDE_BY_SIDE 2  // of them
#endif
// Of a multiprocessor; that of sm_75 holds 1024 threads.
#ifndef BLOCKS
#define BLOCKS (HAS_SM80 ? (RECTANGLE_Y == 4 ? 5 : 8) : 1024 / BLOCK)
#endif
#define LEAST_LIGHT 0x34003400u  // half2 of LIGHT_UNIT / 256

// What is known of a warp's pixels.
#define FINISHED 1u  // they are done
#define LEFT_OUT 2u  // before their list was

#if DEPTH
// What 1/z is multiplied by to become a half: at most 2^14, and still of 11 bits for z of 2^28 near planes.
#define INVERSE_DEPTH_MAX 65000.0f  // times WEIGHT_UNIT still a half
__device__ __forceinline__ float depth_unit(const Camera& camera) { return 16384.0f * fmaxf(camera.near_plane, 1e-6f); }
#endif

// The pixels of a lane: column `lane / 4` of the warp's rectangle, all rows. Lanes 4 g to 4 g + 3 share them; lane % 4 says which
// four of a batch's splats are the lane's, and which channel (red, green, blue, none) it sums.
struct Pixels {
    u32 basis[PAIRS][4];   // A of the scores
    float sums[PAIRS][4];  // (channel, transmittance times LIGHT_UNIT) of two rows
};

// A lane's pixels (x, y0) and below before the first splat; coefficients are around the centre of the block's pixels, the
// first of which are those of (block_x, block_y). Pixels beyond the image's edges are dark. Returns whether all are.
__device__ __forceinline__ bool start_pixels(Pixels& pixels, u32 x, u32 y0, u32 member, const Camera& camera, u32 block_x, u32 block_y) {
    start_rows(pixels.basis, pixels.sums, x, y0, member, block_x, block_y);
    if (block_x + TILE <= camera.width && block_y + TILE <= camera.height) return false;
#pragma unroll
    for (int k = 0; k < RECTANGLE_Y; ++k)
        if (x >= camera.width || y0 + k >= camera.height) pixels.sums[k / 2][k % 2 * 2 + 1] = 0.0f;
    return __all_sync(FULL_MASK, x >= camera.width || y0 >= camera.height);
}

// Blends 16 splats. Returns true if all pixels have less than LEAST_LIGHT left.
__device__ __forceinline__ bool blend_batch(Pixels& pixels, const uint4* rows, u32 row, u32 colour_row, u32 lane, u32 alpha_max) {
    u32 colours[2], coefficients[4], lit = 0;
    bool finished = false;
    load_matrix_x2_transposed_at(colours, rows, colour_row);
    load_matrix_x4_at(coefficients, rows, row);
    bool odd = lane & 1, upper = lane & 2;
#pragma unroll
    for (int first = 0; first < PAIRS; first += SIDE_BY_SIDE) {
        // Weights with nothing in front of the lane's four, and the share of the light that these leave.
        u32 weights[SIDE_BY_SIDE][4], left[SIDE_BY_SIDE], neighbours[SIDE_BY_SIDE], others[SIDE_BY_SIDE];
#pragma unroll
        for (int i = 0; i < SIDE_BY_SIDE; ++i) {
            make_alphas(weights[i], pixels.basis[first + i], coefficients, alpha_max);
            left[i] = subtract_product_half2(0x3c003c00u, weights[i][0], ALPHA_UNITS);
#pragma unroll
            for (int k = 1; k < 4; ++k) {
                weights[i][k] = multiply_half2(weights[i][k], left[i]);
                left[i] = subtract_product_half2(left[i], weights[i][k], ALPHA_UNITS);
            }
        }
        // The shuffles of all next to each other: a warp does not go on behind one that waits.
#pragma unroll
        for (int i = 0; i < SIDE_BY_SIDE; ++i) neighbours[i] = __shfl_xor_sync(FULL_MASK, left[i], 1);
#pragma unroll
        for (int i = 0; i < SIDE_BY_SIDE; ++i) others[i] = __shfl_xor_sync(FULL_MASK, multiply_half2(left[i], neighbours[i]), 2);
        u32 fronts[SIDE_BY_SIDE];
#pragma unroll
        for (int i = 0; i < SIDE_BY_SIDE; ++i) {
            fronts[i] = pack_half2(pixels.sums[first + i][1], pixels.sums[first + i][3]);
            // Each a product by predicate.
            if (odd) fronts[i] = multiply_half2(fronts[i], neighbours[i]);
            if (upper) fronts[i] = multiply_half2(fronts[i], others[i]);
            lit |= mask_ge_half2(multiply_half2(fronts[i], left[i]), LEAST_LIGHT);
        }
        // Behind the batch, as the last of a pixel's four lanes knows it; asked before the products, which take as long as the answer.
        if (first + SIDE_BY_SIDE == PAIRS) finished = !__any_sync(FULL_MASK, odd && upper && lit);
#pragma unroll
        for (int i = 0; i < SIDE_BY_SIDE; ++i) {
            u32* w = weights[i];
#pragma unroll
            for (int k = 0; k < 4; ++k) w[k] = multiply_half2(w[k], fronts[i]);
            u32 a[4] = {join_lows(w[0], w[1]), join_highs(w[0], w[1]), join_lows(w[2], w[3]), join_highs(w[2], w[3])};
            mma_m16n8k16(pixels.sums[first + i], a, colours, pixels.sums[first + i]);
        }
    }
    return finished;
}

extern "C" __global__ void __launch_bounds__(BLOCK, BLOCKS) blend(const Splat* __restrict__ splats, const u32* __restrict__ pairs,
                                                                  const u32* __restrict__ pair_slots, const uint2* __restrict__ ranges,
                                                                  Camera camera, Counters* counters, float* image, float* transmittances
#if DEPTH
                                                                  ,
                                                                  float* inverse_depths
#endif
) {
    begin_kernel();
    __shared__ uint4 rows[(PIECE + 1) * (ROW_BYTES / 16)];  // one more that blends to nothing fills up the last batch
    __shared__ __align__(8) u8 masks[PIECE];                // bit w: the splat reaches warp w's pixels
    __shared__ u16 survivors[BLOCK / WARP][PIECE + BATCH];  // where their rows start, front to back
    // First of all, as everything waits for it.
    uint2 range = list_range(ranges, blockIdx.x);
    u32 thread = threadIdx.x, lane = thread % WARP, warp = thread / WARP;
    u32 block_y = quotient(blockIdx.x, camera.tiles_x), block_x = (blockIdx.x - block_y * camera.tiles_x) * TILE;
    block_y *= TILE;
    u32 x = block_x + warp % COLUMNS * RECTANGLE_X + lane / 4, y0 = block_y + warp / COLUMNS * RECTANGLE_Y, member = lane % 4;
    float centre_x = block_x + 0.5f * TILE, centre_y = block_y + 0.5f * TILE;
    // A halted frame's image is not looked at; leaving here would have the range wait for the answer.
    if (counters->halted) range.y = range.x;
    u32 alpha_max = kept_alpha_max(camera);

    Pixels pixels;
    u32 done = start_pixels(pixels, x, y0, member, camera, block_x, block_y) ? FINISHED : 0;
    if (thread == 0) write_empty_row(rows + PIECE * (ROW_BYTES / 16));

    // Whose rows this lane hands to ldmatrix: column lane % 8 of product lane / 16 (coefficients), lane / 8 (colours).
    u32 column = lane % 8 / 2 * 4 + lane % 2;
    // As bytes from the start of `survivors`: an address of 64 bits would have to be added up at every batch.
    u32 own_survivors = sizeof(u16) * (warp * (PIECE + BATCH) + column + lane / 16 * 2);
    u32 colour_survivors = sizeof(u16) * (warp * (PIECE + BATCH) + column + lane / 8 % 2 * 2);
    auto survivor = [&](u32 at) { return *(const u16*)((const u8*)survivors + at); };
    for (u32 begin = range.x; begin < range.y; begin += PIECE) {
        // Also the barrier that keeps the next list from overwriting this one.
        if (begin != range.x && __syncthreads_and(done)) break;
#pragma unroll 1
        for (u32 k = 0; k < PIECE / BLOCK; ++k) {
            u32 s = k * BLOCK + thread, mask = 0;
            if (begin + s < range.y) {
                u32 slot = pairs[begin + s];
                if (pair_slots) slot = pair_slots[slot];
                const float4* from = (const float4*)(splats + slot);
                float4 centre = from[0], power = from[1], colour = from[2];
#if DEPTH
                float fourth = fminf(colour.w * depth_unit(camera), INVERSE_DEPTH_MAX);
#else
                float fourth = 0.0f;
#endif
                bool fits = write_row(rows + s * (ROW_BYTES / 16), centre, power, colour, fourth, centre_x, centre_y);
                mask = fits ? touched_rectangles(centre, power, block_x, block_y) : 0;
            }
            masks[s] = (u8)mask;
        }
        __syncthreads();
        if (done) continue;
        u32 count = queue_survivors(masks, survivors[warp], nullptr, warp, lane);
        for (u32 at = 0; at < sizeof(u16) * count; at += sizeof(u16) * BATCH) {
            u32 row = survivor(own_survivors + at) + lane / 8 % 2 * 16, colour_row = survivor(colour_survivors + at) + 32;
            if (blend_batch(pixels, rows, row, colour_row, lane, alpha_max)) {
                done = at + sizeof(u16) * BATCH < sizeof(u16) * count || begin + PIECE < range.y ? FINISHED | LEFT_OUT : FINISHED;
                break;
            }
        }
        __syncwarp();
    }
    if (x >= camera.width) return;
    u64 plane = camera.width * camera.height;
    float* out = (member < 3 ? image + member * plane : transmittances) + (y0 * camera.width + x);
    // The fourth lane of a pixel has a sum of nothing: transmittance is what it adds to that.
    float background = member == 0 ? camera.background[0] : member == 1 ? camera.background[1] : member == 2 ? camera.background[2] : 1.0f;
#pragma unroll
    for (int k = 0; k < RECTANGLE_Y; ++k) {
        float channel = pixels.sums[k / 2][k % 2 * 2];
        float transmittance = fmaxf((1.0f / LIGHT_UNIT) * pixels.sums[k / 2][k % 2 * 2 + 1], 0.0f);
        if (done & LEFT_OUT) {
            // Whatever is behind is taken to be as what is in front.
            channel *= reciprocal_approx(1.0f - transmittance);
            transmittance = 0.0f;
        }
#if DEPTH
        if (member == 3) {
            if (y0 + k < camera.height) inverse_depths[(y0 + k) * camera.width + x] = channel / depth_unit(camera);
            channel = 0.0f;
        }
#endif
        if (y0 + k < camera.height) *out = fmaf(transmittance, background, channel);
        out += camera.width;
    }
}
