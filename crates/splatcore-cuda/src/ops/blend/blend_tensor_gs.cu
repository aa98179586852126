// blend, methods `tensor-gs-1x1`, `-2x2`, `-4x4` and the same with `-half` (TensorGS, "Accelerating
// 3D Gaussian Splatting using Tensor Cores", sections 4.2 to 4.5, algorithm 1).
//
// Contract. As blend_scalar.cu, with the same outputs, but a list is of a macro-tile of
// MACRO_TILE_SIDE x MACRO_TILE_SIDE tiles (`macro-tile` in the code), each pair with a mask of the
// tiles that its Gaussian touches (intersect_macro_tiles.cu; 1x1, the paper's naive tensorization,
// has no masks). The exponents of 16 Gaussians and 16 pixels are one product: equations 14 to 18
// about a common origin, the middle of the macro-tile, since the paper's columns (dx^2, dx dy,
// dy^2) serve one Gaussian only. K = 16: 6 coefficients as halves, 6 of what the halves leave, 4
// zeros; with `-half` 6 coefficients as halves and 10 zeros (the paper: 3 and 13).
// docs/methods/tensor-gs.md.
//   MACRO_TILE_SIDE 1, 2 or 4; TWO_HALVES 0: `-half`; COUNT as in blend_scalar.cu. No checkpoints:
//   training uses `subtile`.
//
// Launch. A block of 256 threads a macro-tile, 256 Gaussians of its list at a time (sections 4.2.4
// and 4.4.2). On sm_90 40, 39 and 48 registers, 35, 36 and 39 KB of shared memory for 1x1, 2x2 and
// 4x4: 6, 6 and 5 blocks a multiprocessor. Local memory: 16 bytes a tile, none at 1x1. `-half`: 4
// KB of shared memory less.
//
// Bound. Instructions (sm_90): for a Gaussian and warp 3 for the product and its way through
// shared memory, 9 for alpha and its test, 17 more if any of the 32 pixels takes it (scalar: 22 in
// all); loading takes some 250 for 256 Gaussians and a warp.
//
// Now. 471 us for fox_220k at 1080x1920, 2x2 with `exact`, on an H200 (1x1: 362). History:
// docs/log/kernels/blend-tensor-gs.md.

#include "blend.cuh"
#include "matrix.cuh"

#define TILES (MACRO_TILE_SIDE * MACRO_TILE_SIDE)
#define PANEL 16
// Floats from a pixel's exponents to the next's: 16 Gaussians, and 4 so that neither the product's
// writes (8 Gaussians of 4 pixels at once) nor the pixels' reads (4 Gaussians of 8 pixels at once)
// meet in a bank.
#define SCORE_ROW (PANEL + 4)
// If a Gaussian's constant coefficient is below this, no pixel of the macro-tile (`macro-tile`)
// blends it: over the macro-tile the exponent can rise to at most -(sqrt(30000) - sqrt(0.5 / 0.3
// log2(e)) 32 sqrt(2))^2, about -10000. Halves end at 65504.
#define MIN_CONSTANT -30000.0f
// The other coefficients are then below 600, unless rounding has taken a needle's whole width.
#define MAX_COEFFICIENT 60000.0f

// The least alpha of a pixel that has stopped: no alpha is so large.
#define NO_ALPHA 2.0f

struct Pixel {
    float transmittance, red, green, blue;
};

// A Gaussian's row of the product: coefficients as halves, and what the halves leave.
struct Row {
    uint4 high, low;
};

// The coefficients of x^2, xy, y^2, x, y, 1 about an origin that is (dx, dy) from the mean.
__device__ __forceinline__ Row make_row(float4 mean2d, float4 conic, float dx, float dy) {
    float along_x = fmaf(conic.x, dx, conic.y * dy), along_y = conic.z * dy;
    float linear_x = fmaf(conic.x, dx, along_x), linear_y = fmaf(conic.y, dx, 2.0f * along_y);
    float constant = fmaf(along_x, dx, fmaf(along_y, dy, mean2d.z));
    float values[6] = {conic.x, conic.y, conic.z, linear_x, linear_y, constant}, largest = 0.0f;
    for (int k = 0; k < 5; ++k) largest = fmaxf(largest, fabsf(values[k]));
    // A Gaussian with not-a-number is not blended: if another coefficient is not a number, neither
    // is the constant.
    bool counts = constant > MIN_CONSTANT && largest < MAX_COEFFICIENT;
    u32 halves[3], rests[3];
#pragma unroll
    for (int k = 0; k < 3; ++k) {
        float first = counts ? values[2 * k] : 0.0f, second = counts   ? values[2 * k + 1]
                                                              : k == 2 ? MIN_CONSTANT
                                                                       : 0.0f;
        halves[k] = pack_half2(first, second);
        rests[k] = pack_half2(first - half_low(halves[k]), second - half_high(halves[k]));
    }
    return {make_uint4(halves[0], halves[1], halves[2], 0),
            make_uint4(rests[0], rests[1], rests[2], 0)};
}

// The Gaussian-side operand of 16 rows, of which each lane names one, `row` of `high` and `low`.
__device__ __forceinline__ void load_rows(u32 a[4], const uint4* high, const uint4* low, u32 row,
                                          u32 lane) {
#if TWO_HALVES
    load_matrix_x4(a, (lane < PANEL ? high : low) + row);
#else
    load_matrix_x2(a, high + row);
    a[2] = a[3] = 0;
#endif
}

// Two channels of the basis at (x, y), as this lane holds them of column `lane / 4` of B; both
// halves of K have the same.
__device__ __forceinline__ u32 basis(float x, float y, u32 member) {
    float first = member == 0 ? x * x : member == 1 ? y * y : member == 2 ? y : 0.0f;
    float second = member == 0 ? x * y : member == 1 ? x : member == 2 ? 1.0f : 0.0f;
    return pack_half2(first, second);
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    blend(const __grid_constant__ BlendParams args) {
    begin_kernel();
    // The Gaussian-side operand, channels 0 to 7 and 8 to 15; behind the chunk a row that blends
    // to nothing, which fills up panels.
    __shared__ uint4 high_rows[BLOCK + 1];
#if TWO_HALVES
    __shared__ uint4 low_rows[BLOCK + 1];
#else
    const uint4* low_rows = nullptr;
#endif
    __shared__ float4 colours[BLOCK];
    __shared__ u32 chunk_masks[BLOCK];
    __shared__ __align__(4) u8 lists[TILES][BLOCK];  // of each tile: positions in the chunk
    __shared__ u32 lengths[TILES];
    __shared__ __align__(
        16) float scores[BLOCK / WARP][WARP * SCORE_ROW];  // of each warp: 32 pixels x 16 Gaussians
    if (args.counters->overflowed) return;
    u32 thread = threadIdx.x, lane = thread % WARP, warp = thread / WARP, column = lane / 4,
        member = lane % 4;
    u32 macro_tiles_x = (args.camera.tiles_x + MACRO_TILE_SIDE - 1) / MACRO_TILE_SIDE;
    u32 tile_x = blockIdx.x % macro_tiles_x * MACRO_TILE_SIDE,
        tile_y = blockIdx.x / macro_tiles_x * MACRO_TILE_SIDE;
    // The centre of the pixel right of and below the macro-tile's middle, so that halves hold the
    // basis exactly (`Half::off_middle` tells the tests).
    float origin_x = (tile_x + 0.5f * MACRO_TILE_SIDE) * TILE + 0.5f,
          origin_y = (tile_y + 0.5f * MACRO_TILE_SIDE) * TILE + 0.5f;
    u32 in_tile_x = lane % PANEL, in_tile_y = 2 * warp + lane / PANEL;
    Pixel pixels[TILES];
    u32 done = 0;  // a bit a tile: this thread's pixel there has stopped
    for (u32 tile = 0; tile < TILES; ++tile) {
        pixels[tile] = {1.0f, 0.0f, 0.0f, 0.0f};
        u32 x = (tile_x + tile % MACRO_TILE_SIDE) * TILE + in_tile_x,
            y = (tile_y + tile / MACRO_TILE_SIDE) * TILE + in_tile_y;
        if (x >= args.camera.width || y >= args.camera.height) done |= 1u << tile;
    }
#if COUNT
    u32 evaluated = 0, blended = 0;
#endif
    auto store_row = [&](u32 k, Row row) {
        high_rows[k] = row.high;
#if TWO_HALVES
        low_rows[k] = row.low;
#endif
    };
    if (thread == 0)
        store_row(BLOCK, make_row(make_float4(0.0f, 0.0f, MIN_CONSTANT, 0.0f),
                                  make_float4(0.0f, 0.0f, 0.0f, 0.0f), 0.0f, 0.0f));
    uint2 range = list_range(args.ranges, blockIdx.x);
    for (u32 start = range.x; start < range.y; start += BLOCK) {
        // Also the barrier that keeps the next chunk from overwriting this one.
        if (__syncthreads_and(done == (1u << TILES) - 1)) break;
        u32 mask = 0;
        if (start + thread < range.y) {
            u32 pair = args.pairs[start + thread];
#if MACRO_TILE_SIDE > 1
            mask = args.masks[pair];
#else
            mask = 1;
#endif
            ReadOnly<float4> from = splat_of_pair(args, pair);
            float4 mean2d = from[0], conic = from[1];
            colours[thread] = from[2];
            store_row(thread, make_row(mean2d, conic, origin_x - mean2d.x, origin_y - mean2d.y));
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
            float x = (float)(int)(tile % MACRO_TILE_SIDE * TILE + column) -
                      0.5f * MACRO_TILE_SIDE * TILE;
            float y = (float)(int)(tile / MACRO_TILE_SIDE * TILE + 2 * warp) -
                      0.5f * MACRO_TILE_SIDE * TILE;
            u32 b[4] = {basis(x, y, member), basis(x + 8.0f, y, member), basis(x, y + 1.0f, member),
                        basis(x + 8.0f, y + 1.0f, member)};
            for (u32 k = 0; k < length; k += PANEL) {
                if (__all_sync(FULL_MASK, least == NO_ALPHA)) break;
                u32 place = k + lane % PANEL, row = place < length ? list[place] : BLOCK, a[4];
                load_rows(a, high_rows, low_rows, row, lane);
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
                        float alpha = fminf(exp2_approx(exponents[i]), args.camera.alpha_max);
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
    add_fragments(args.counters, evaluated, blended, lane);
#else
#pragma unroll 1
    for (u32 tile = 0; tile < TILES; ++tile) {
        u32 x = (tile_x + tile % MACRO_TILE_SIDE) * TILE + in_tile_x,
            y = (tile_y + tile / MACRO_TILE_SIDE) * TILE + in_tile_y;
        if (x >= args.camera.width || y >= args.camera.height) continue;
        Pixel pixel = pixels[tile];
        u32 at = y * args.camera.width + x;
        write_pixel(args, at, pixel.transmittance, pixel.red, pixel.green, pixel.blue);
    }
#endif
}
