// blend, method `splatcore`: cull twice, then scores and colours as products on the matrix units
// (DESIGN section 6, items 1 to 5). This is training's; pictures have blend_splatcore_inference.cu.
// Lists are per 16x16 tile; inside, a warp owns 8x4 pixels, tests 32 splats of the list at once
// against its rectangle, and blends the survivors 16 at a time:
//   scores   log2 alpha = basis (1, x, y, x^2, xy, y^2) of 32 pixels times coefficients of 16
//            splats: 4 m16n8k16. The basis is exact in half precision, coefficients are a high and
//            a low half (K = 8 + 8, two of each unused but for one that takes pixels that have
//            stopped to alphas of 0), sums are f32.
//   weights  alpha in halves, two pixels of a splat in a register, as a 64.25th: capped, and cut
//            below 1/255, by one minimum (training_weights.cuh). A lane holds four splats that are
//            neighbours in depth for each of four pixels (the rows of B are permuted for that),
//            chains them, and scans over the four lanes of a pixel by two shuffles.
//   colours  the weights lie as the A operand of the next product already: (r, -1, g, -1, b, -1, 0,
//            -1) of 16 splats, summed in f32. The second columns take the weights as applied off
//            the transmittance, in f32, in every lane, so errors of half precision do not build up
//            in it.
// A batch that takes a pixel below the least transmittance goes on with every fragment's
// transmittance in f32, so that a pixel stops before the same fragment as everywhere else.
// CPU twin (in f32): splatcore-cpu/src/blend.rs.
//
// Launch: a block of 256 threads (8 warps) a tile, 48 registers, 18 KB of shared memory, 5 blocks a
// multiprocessor (sm_75: 64 and 4). The list comes through shared memory, 256 splats at a time, as
// rows of 24 halves (16 of coefficients, 8 of colour) that ldmatrix gathers by address: compaction
// is a list of offsets. A thread tests its splat against all eight rectangles. Nothing bounds it
// alone. Of the warps' time 45 % is in the loop over batches (116 instructions, a chain of two
// shared loads, products, 16 MUFU, two shuffles, a vote and products), 16 % at the barriers, 12 %
// in setting up, 10 % in tests; of 9 warps a scheduler 2.9 are ready, and 77 % of the issue slots
// are used. Outside of batches: tests and rows 224 for 32 pairs, queues 99, set-up 140 and output
// 104 a warp: 33 M of the 87 M for one view. Prediction for fox_220k on an H200: 1.28 M pairs, 4.5
// M survivors in 310 k batches: 60 us if all overlaps, 85 in practice. Measured: 130 us (subtile:
// 298), mcmc_1m 277 us (720). 395 k batches (tails), 51 k of which need transmittances in f32.
// Last: pixels set up by half2 polynomials, the tile's range loaded before anything is computed,
// the constant row written as such, the queue's stores by predicate, the shuffles of both halves
// side by side. Predicted for 9 M instructions less of 90 M: 125 us; 3.5 M less came of it, and 136
// (287) to 130 (277). Before, with alphas as they are (137 instructions a batch: a minimum, a
// comparison and a mask for each two), 64 registers and 4 blocks: 141 and 302 us. Predicted for the
// instructions alone: 115 us. They alone gave nothing; the fifth block did. Tried since, on
// fox_220k (mcmc_1m): 4 M instructions less in output and redone batches 129 (277), not worth what
// they take to read; two batches a turn of the loop 130.5 (282); the queue from votes over 32
// splats 141 (309); four blocks 136 (291), six 136 (294); the next batch's row found during this
// one 132 (280). Tried earlier, on fox_220k: 64 registers and 4 blocks 142 us, with coefficients
// loaded a batch ahead 141; 80 and 3 blocks 158, 153; scores by two m16n8k8, which take 4 registers
// less, with 5 blocks 140, 6 blocks of 40 registers 142; weights as products of what alphas leave,
// so a shorter chain, 143. Tried before, on fox_220k: ex2.approx.f16x2 is two MUFU and a PRMT: no
// gain over f32. Alpha cut by a product with 1 or 0 in place of LOP3: 138 us. Tests by every warp
// (30 instructions for 32 of its own) 180 us with 77 instructions a row of output, 155 with 15;
// tests by rows of the list 138. Blocks of 4 warps 144, 5 of those with 48 registers 147; of 16
// warps on lists of 32x32 pixels 174; 8 warps on such lists 158 (64x64: 212). Blocks that stay,
// take tiles by ticket and load two pieces ahead: 157. Queues by ballots over 32 splats in place of
// a scan over 8 a lane: 143 (registers spill).

#include "training_weights.cuh"

// Blends 16 splats. Returns true if all pixels have stopped.
__device__ __forceinline__ bool blend_batch(Pixels& pixels, const uint4* rows, u32 row,
                                            u32 colour_row, u32 lane, u32 alpha_max) {
    u32 colours[2], fronts[2];
    load_matrix_x2_transposed_at(colours, rows, colour_row);
    return weigh_batch(
        pixels, rows, row, lane, alpha_max, fronts, [](const u32(&)[2][4], const u32(&)[2]) {},
        [&](int f, const u32* weights) {
            mma_m16n8k16(pixels.sums[f], weights, colours, pixels.sums[f]);
        });
}

// A multiprocessor of sm_75 holds 1024 threads; asked for more, the compiler would not mind
// registers at all.
extern "C" __global__ void __launch_bounds__(BLOCK, HAS_SM80 ? 5 : 4)
    blend(const Splat* __restrict__ splats, const u32* __restrict__ pairs,
          const u32* __restrict__ pair_slots, const uint2* __restrict__ ranges, Camera camera,
          Counters* counters, float* image, float* transmittances) {
    begin_kernel();
    __shared__ uint4 rows[(BLOCK + 1) * (ROW_BYTES / 16)];  // one more that blends to nothing fills
                                                            // up the last batch
    __shared__ __align__(8) u8 masks[BLOCK];  // bit w: the splat reaches warp w's pixels
    __shared__ u16 survivors[BLOCK / WARP][BLOCK + BATCH];  // where their rows start, front to back
    // First of all, as everything waits for it.
    uint2 range = list_range(ranges, blockIdx.x);
    u32 thread = threadIdx.x, lane = thread % WARP, warp = thread / WARP;
    u32 blocks_x = (camera.width + COLUMNS * RECTANGLE_X - 1) / (COLUMNS * RECTANGLE_X);
    u32 block_y = quotient(blockIdx.x, blocks_x), block_x = blockIdx.x - block_y * blocks_x;
    block_x *= COLUMNS * RECTANGLE_X;
    block_y *= ROWS * RECTANGLE_Y;
    u32 x0 = block_x + warp % COLUMNS * RECTANGLE_X, y0 = block_y + warp / COLUMNS * RECTANGLE_Y;
    float centre_x = block_x + 0.5f * COLUMNS * RECTANGLE_X,
          centre_y = block_y + 0.5f * ROWS * RECTANGLE_Y;
    // A halted frame's image is not looked at; leaving here would have the range wait for the
    // answer.
    if (counters->halted) range.y = range.x;
    u32 alpha_max = kept_alpha_max(camera);

    Pixels pixels;
    u32 x = x0 + lane / 4, member = lane % 4;
    start_pixels(pixels, x, y0, member, camera, block_x, block_y);
    if (thread == 0) write_empty_row(rows + BLOCK * (ROW_BYTES / 16));

    // Whose rows this lane hands to ldmatrix: column lane % 8 of product lane / 16 (coefficients),
    // lane / 8 (colours).
    u32 column = lane % 8 / 2 * 4 + lane % 2;
    // As bytes from the start of `survivors`: an address of 64 bits would have to be added up at
    // every batch.
    u32 own_survivors = sizeof(u16) * (warp * (BLOCK + BATCH) + column + lane / 16 * 2);
    u32 colour_survivors = sizeof(u16) * (warp * (BLOCK + BATCH) + column + lane / 8 % 2 * 2);
    auto survivor = [&](u32 at) { return *(const u16*)((const u8*)survivors + at); };
    for (u32 begin = range.x; begin < range.y; begin += BLOCK) {
        // Also the barrier that keeps the next list from overwriting this one.
        if (begin != range.x && __syncthreads_and(pixels.finished)) break;
        u32 mask = 0;
        if (begin + thread < range.y) {
            u32 slot = pairs[begin + thread];
            if (pair_slots) slot = pair_slots[slot];
            const float4* from = (const float4*)(splats + slot);
            float4 centre = from[0], power = from[1], colour = from[2];
            bool fits = write_row(rows + thread * (ROW_BYTES / 16), centre, power, colour, centre_x,
                                  centre_y);
            mask = fits ? touched_rectangles(centre, power, block_x, block_y) : 0;
        }
        masks[thread] = (u8)mask;
        __syncthreads();
        if (pixels.finished) continue;
        u32 count = queue_survivors(masks, survivors[warp], nullptr, warp, lane);
        for (u32 at = 0; at < sizeof(u16) * count; at += sizeof(u16) * BATCH) {
            u32 row = survivor(own_survivors + at) + lane / 8 % 2 * 16,
                colour_row = survivor(colour_survivors + at) + 32;
            if (blend_batch(pixels, rows, row, colour_row, lane, alpha_max)) break;
        }
        __syncwarp();
    }
    if (x >= camera.width) return;
    u64 plane = camera.width * camera.height;
    float* out = (member < 3 ? image + member * plane : transmittances) + (y0 * camera.width + x);
    // The fourth lane of a pixel has a sum of nothing: transmittance is what it adds to that.
    float background = member == 0   ? camera.background[0]
                       : member == 1 ? camera.background[1]
                       : member == 2 ? camera.background[2]
                                     : 1.0f;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        float channel = pixels.sums[k / 2][k % 2 * 2],
              transmittance = transmittance_of(pixels.sums[k / 2][k % 2 * 2 + 1]);
        if (y0 + k < camera.height) *out = fmaf(transmittance, background, channel);
        out += camera.width;
    }
}
