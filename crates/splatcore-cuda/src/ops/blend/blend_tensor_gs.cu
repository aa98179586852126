// blend, methods `tensor-gs-1x1`, `tensor-gs-2x2`, `tensor-gs-4x4`: the exponents of 16 Gaussians
// and 16 pixels as one product on the matrix units, and one list for a group of tiles, whose
// Gaussians are loaded once for all of them (TensorGS, "Accelerating 3D Gaussian Splatting using
// Tensor Cores", sections 4.2 to 4.5 and algorithm 1). 1x1 is the paper's naive tensorization
// (section 4.3): a group of one tile, whose list needs no masks.
//
// The product (equations 14 to 18). Equation 14 has a row of conic coefficients for each Gaussian
// and a column (dx^2, dx dy, dy^2) for each pixel; but dx is the pixel's distance from the
// Gaussian, so no column serves two Gaussians, and as printed the product holds for one row at a
// time. What can be one product is the same polynomial about a common origin: six coefficients a
// Gaussian times (x^2, xy, y^2, x, y, 1), x and y from the middle of the group. The coefficients
// are the Gaussian's alone, so they are made once for all tiles of the group, as the paper wants of
// its Gaussian-side operand. Section 4.2.3 pads K = 3 to 16 with zeros. Here 6 channels hold the
// coefficients as halves, 6 what the halves leave of them, for the same basis, and 4 are zero: at
// the price of plain halves, since all 16 channels are multiplied anyway. The basis is exact, whole
// numbers of at most 32 * 32. Far from the middle the six terms are in the thousands and cancel,
// and plain halves do not bear that: 2500 Gaussians a pixel or two wide, against f32 (emulated,
// with exact sums), are at 56, 44 and 32 dB with groups of 1x1, 2x2 and 4x4; with the low halves at
// 128, 116 and 103 dB.
//
// Work (sections 4.2.4 and 4.4.2). A block takes a group and has 256 threads however many tiles
// that is; it walks the group's list in chunks of 256, and in each chunk the tiles one after
// another. For each chunk:
//   1. A thread a Gaussian: load, coefficients, operand rows into shared memory.
//   2. A warp a tile: the Gaussians of the chunk whose mask has the tile's bit, in depth order.
//   3. For each tile, a warp takes two panels of 16 pixels (two rows of the tile, a thread a pixel)
//      and that list 16 Gaussians at a time: rows gathered by ldmatrix, a product of m16n16k16 a
//      panel (WMMA's shape; in PTX two m16n8k16, which share A), f32 exponents through shared
//      memory to the pixels' threads, and there alpha, transmittance and colour in f32 as in
//      blend_scalar.cu. Warps meet again only at the end of the chunk.
// A pixel's state waits in local memory while its thread works on other tiles: 8 instructions a
// chunk and tile.
//
// Launch: a block of 256 threads a group. On sm_90 40, 39 and 48 registers and 35, 36 and 39 KB of
// shared memory for 1x1, 2x2 and 4x4: 6, 6 and 5 blocks an SM. Local memory 16 bytes a tile, none
// at 1x1. Bound by instructions (sm_90, counted): for a Gaussian and warp 3 for the product and its
// way through shared memory (45 for 16 Gaussians), 9 for alpha and its test, and 17 more if any of
// the 32 pixels takes it; blend_scalar.cu has 22 in all. Loading is not the bound that the paper
// found on its card (table 4): some 250 instructions for a chunk of 256 Gaussians and a warp.
// Prediction for fox_220k on an H200, exact: 1.28 M pairs x 8 warps, 9 M before their pixels stop,
// 60 % of them taken: 200 M warp instructions, 190 us at full rate, 265 us in practice
// (blend_scalar.cu: 225 M, 333 us); 2x2 the same 265 us; 4x4 with 510 blocks, fewer than fit at
// once, as long as the longest list: 400 us. With aabb, 30 M visits of which 20 % are taken, 620
// us. Measured: 2x2 with exact 473 us, 4x4 904, 1x1 309; with aabb 1074, 1965, 823.
//
// Constants: GROUP 1, 2 or 4 tiles a side; COUNT as in blend_scalar.cu. No checkpoints: training
// passes use `subtile`.

#include "matrix.cuh"
#include "splat.cuh"

#define BLOCK 256
#define TILES (GROUP * GROUP)
#define PANEL 16
// Floats from a pixel's exponents to the next's: 16 Gaussians, and 4 so that neither the product's
// writes (8 Gaussians of 4 pixels at once) nor the pixels' reads (4 Gaussians of 8 pixels at once)
// meet in a bank.
#define SCORE_ROW (PANEL + 4)
// A constant coefficient below this is of a Gaussian that is nothing to the group: over the group
// the exponent can rise to at most -(sqrt(30000) - sqrt(0.5 / 0.3 log2(e)) 32 sqrt(2))^2, about
// -10000. Halves end at 65504.
#define LOWEST_CONSTANT -30000.0f
// The other coefficients stay below 600 then. They are larger only where rounding has eaten a
// needle's width.
#define LARGEST_COEFFICIENT 60000.0f

// What a pixel that has stopped takes: no alpha is so large.
#define NO_ALPHA 2.0f

struct Pixel {
    float transmittance, red, green, blue;
};

// The coefficients of x^2, xy, y^2, x, y, 1 about an origin that is (dx, dy) from the mean, as
// halves and what these leave.
__device__ __forceinline__ void make_rows(float4 centre, float4 power, float dx, float dy,
                                          uint4& high, uint4& low) {
    float along_x = fmaf(power.x, dx, power.y * dy), along_y = power.z * dy;
    float linear_x = fmaf(power.x, dx, along_x), linear_y = fmaf(power.y, dx, 2.0f * along_y);
    float constant = fmaf(along_x, dx, fmaf(along_y, dy, centre.z));
    float values[6] = {power.x, power.y, power.z, linear_x, linear_y, constant}, largest = 0.0f;
    for (int k = 0; k < 5; ++k) largest = fmaxf(largest, fabsf(values[k]));
    // Not-a-number counts as nothing; where another coefficient is none, so is the constant.
    bool counts = constant > LOWEST_CONSTANT && largest < LARGEST_COEFFICIENT;
    u32 halves[3], rests[3];
#pragma unroll
    for (int k = 0; k < 3; ++k) {
        float first = counts ? values[2 * k] : 0.0f, second = counts   ? values[2 * k + 1]
                                                              : k == 2 ? LOWEST_CONSTANT
                                                                       : 0.0f;
        halves[k] = pack_half2(first, second);
        rests[k] = pack_half2(first - half_low(halves[k]), second - half_high(halves[k]));
    }
    high = make_uint4(halves[0], halves[1], halves[2], 0);
    low = make_uint4(rests[0], rests[1], rests[2], 0);
}

// Two channels of the basis at (x, y), as column `lane / 4` of B wants them of this lane; both
// halves of K have the same.
__device__ __forceinline__ u32 basis(float x, float y, u32 member) {
    float first = member == 0 ? x * x : member == 1 ? y * y : member == 2 ? y : 0.0f;
    float second = member == 0 ? x * y : member == 1 ? x : member == 2 ? 1.0f : 0.0f;
    return pack_half2(first, second);
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    blend(const Splat* __restrict__ splats, const u32* __restrict__ pairs,
          const u32* __restrict__ pair_slots, const uint2* __restrict__ ranges, Camera camera,
          Counters* counters, float* image, float* transmittances
#if GROUP > 1
          ,
          const u16* __restrict__ masks
#endif
    ) {
    begin_kernel();
    // The Gaussian-side operand, channels 0 to 7 and 8 to 15; behind the chunk a row that is
    // nothing, to fill up panels.
    __shared__ uint4 high_rows[BLOCK + 1], low_rows[BLOCK + 1];
    __shared__ float4 colours[BLOCK];
    __shared__ u32 chunk_masks[BLOCK];
    __shared__ __align__(4) u8 lists[TILES][BLOCK];  // of each tile: places in the chunk
    __shared__ u32 lengths[TILES];
    __shared__ __align__(
        16) float scores[BLOCK / WARP][WARP * SCORE_ROW];  // of each warp: 32 pixels x 16 Gaussians
    if (counters->halted) return;
    u32 thread = threadIdx.x, lane = thread % WARP, warp = thread / WARP, column = lane / 4,
        member = lane % 4;
    u32 groups_x = (camera.tiles_x + GROUP - 1) / GROUP;
    u32 tile_x = blockIdx.x % groups_x * GROUP, tile_y = blockIdx.x / groups_x * GROUP;
    // The middle of the group, at a pixel's centre.
    float origin_x = (tile_x + 0.5f * GROUP) * TILE + 0.5f,
          origin_y = (tile_y + 0.5f * GROUP) * TILE + 0.5f;
    u32 in_tile_x = lane % PANEL, in_tile_y = 2 * warp + lane / PANEL;
    Pixel pixels[TILES];
    u32 done = 0;  // a bit a tile: this thread's pixel there takes nothing more
    for (u32 tile = 0; tile < TILES; ++tile) {
        pixels[tile] = {1.0f, 0.0f, 0.0f, 0.0f};
        u32 x = (tile_x + tile % GROUP) * TILE + in_tile_x,
            y = (tile_y + tile / GROUP) * TILE + in_tile_y;
        if (x >= camera.width || y >= camera.height) done |= 1u << tile;
    }
#if COUNT
    u32 evaluated = 0, blended = 0;
#endif
    if (thread == 0)
        make_rows(make_float4(0.0f, 0.0f, LOWEST_CONSTANT, 0.0f),
                  make_float4(0.0f, 0.0f, 0.0f, 0.0f), 0.0f, 0.0f, high_rows[BLOCK],
                  low_rows[BLOCK]);
    uint2 range = list_range(ranges, blockIdx.x);
    for (u32 start = range.x; start < range.y; start += BLOCK) {
        // Also the barrier that keeps the next chunk from overwriting this one.
        if (__syncthreads_and(done == (1u << TILES) - 1)) break;
        u32 mask = 0;
        if (start + thread < range.y) {
            u32 pair = pairs[start + thread];
            u32 slot = pair_slots ? pair_slots[pair] : pair;
#if GROUP > 1
            mask = masks[pair];
#else
            mask = 1;
#endif
            const float4* from = (const float4*)(splats + slot);
            float4 centre = from[0], power = from[1];
            colours[thread] = from[2];
            make_rows(centre, power, origin_x - centre.x, origin_y - centre.y, high_rows[thread],
                      low_rows[thread]);
        }
        chunk_masks[thread] = mask;
        __syncthreads();
        for (u32 tile = warp; tile < TILES; tile += BLOCK / WARP) {
            u32 length = 0;
            for (u32 k = lane; k < BLOCK; k += WARP) {
                bool member_of = chunk_masks[k] >> tile & 1;
                u32 members = __ballot_sync(FULL_MASK, member_of);
                if (member_of) lists[tile][length + __popc(members & ((1u << lane) - 1))] = (u8)k;
                length += __popc(members);
            }
            if (lane == 0) lengths[tile] = length;
        }
        __syncthreads();
#pragma unroll 1
        for (u32 tile = 0; tile < TILES; ++tile) {
            u32 length = lengths[tile];
            // The least alpha that this pixel takes.
            float least = done >> tile & 1 ? NO_ALPHA : ALPHA_MIN;
            if (length == 0) continue;
            const u8* list = lists[tile];
            Pixel pixel = pixels[tile];
            // The pixel-side operand: 4 x 8 pixels.
            float x = (float)(int)(tile % GROUP * TILE + column) - 0.5f * GROUP * TILE;
            float y = (float)(int)(tile / GROUP * TILE + 2 * warp) - 0.5f * GROUP * TILE;
            u32 b[4] = {basis(x, y, member), basis(x + 8.0f, y, member), basis(x, y + 1.0f, member),
                        basis(x + 8.0f, y + 1.0f, member)};
            for (u32 k = 0; k < length; k += PANEL) {
                if (__all_sync(FULL_MASK, least == NO_ALPHA)) break;
                u32 place = k + lane % PANEL, row = place < length ? list[place] : BLOCK, a[4];
                load_matrix_x4(a, (lane < PANEL ? high_rows : low_rows) + row);
                const float zero[4] = {};
#pragma unroll
                for (u32 n = 0; n < 4; ++n) {
                    float d[4];
                    u32 both[2] = {b[n], b[n]};
                    mma_m16n8k16(d, a, both, zero);
                    float* to = scores[warp] + (8 * n + 2 * member) * SCORE_ROW + column;
                    to[0] = d[0];
                    to[SCORE_ROW] = d[1];
                    to[8] = d[2];
                    to[SCORE_ROW + 8] = d[3];
                }
                __syncwarp();
                u32 batch = min(length - k, (u32)PANEL);
                for (u32 j = 0; j < batch; j += 4) {
                    float4 four = *(const float4*)(scores[warp] + lane * SCORE_ROW + j);
                    float exponents[4] = {four.x, four.y, four.z, four.w};
                    u32 places = *(const u32*)(list + k + j);
#pragma unroll
                    for (u32 i = 0; i < 4; ++i) {
                        float alpha = fminf(exp2_approx(exponents[i]), camera.alpha_max);
#if COUNT
                        if (j + i < batch && least < NO_ALPHA) ++evaluated;
#endif
                        if (alpha < least) continue;
                        float next = fmaf(-alpha, pixel.transmittance, pixel.transmittance);
                        if (next < TRANSMITTANCE_MIN) {
                            least = NO_ALPHA;
                            continue;
                        }
#if COUNT
                        ++blended;
#endif
                        float weight = alpha * pixel.transmittance;
                        float4 colour = colours[places >> 8 * i & 255];
                        pixel.red = fmaf(weight, colour.x, pixel.red);
                        pixel.green = fmaf(weight, colour.y, pixel.green);
                        pixel.blue = fmaf(weight, colour.z, pixel.blue);
                        pixel.transmittance = next;
                    }
                }
                // The next panel overwrites these exponents.
                __syncwarp();
            }
            pixels[tile] = pixel;
            if (least == NO_ALPHA) done |= 1u << tile;
        }
    }
#if COUNT
    for (int offset = 16; offset > 0; offset /= 2) {
        evaluated += __shfl_xor_sync(FULL_MASK, evaluated, offset);
        blended += __shfl_xor_sync(FULL_MASK, blended, offset);
    }
    if (lane == 0) {
        atomicAdd(&counters->evaluated, (u64)evaluated);
        atomicAdd(&counters->blended, (u64)blended);
    }
#else
#pragma unroll 1
    for (u32 tile = 0; tile < TILES; ++tile) {
        u32 x = (tile_x + tile % GROUP) * TILE + in_tile_x,
            y = (tile_y + tile / GROUP) * TILE + in_tile_y;
        if (x >= camera.width || y >= camera.height) continue;
        Pixel pixel = pixels[tile];
        u32 plane = camera.width * camera.height, at = y * camera.width + x;
        image[at] = fmaf(pixel.transmittance, camera.background[0], pixel.red);
        image[plane + at] = fmaf(pixel.transmittance, camera.background[1], pixel.green);
        image[2 * plane + at] = fmaf(pixel.transmittance, camera.background[2], pixel.blue);
        transmittances[at] = pixel.transmittance;
    }
#endif
}
