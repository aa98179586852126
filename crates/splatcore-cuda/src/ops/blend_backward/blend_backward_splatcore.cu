// blend_backward, method `splatcore`, behind the blend of the same name.
//
// Contract. Writes the nine sums of each (tile, splat) pair, the first of which is the opacity's
// gradient, into `pair_sums` ([pairs][12], f32; blend_backward.cuh says what a row holds), and
// zeros for pairs behind the point where all pixels stopped; blend_backward_atomic.cu has the
// inputs and formulas, docs/methods/backward-splatcore.md the method. A warp owns 8x4 pixels, culls
// its list as the forward pass does and takes 16 surviving splats at a time:
// - Weights w = alpha T in halves, bit for bit those of the forward pass (training_weights.cuh), so
//   that colour behind = image - sum so far contains no difference of roundings.
// - toward = dL/dcolour(pixel) . colour(splat): 4 m16n8k8, K = 3 of 8.
// - v = w (toward - behind / (T after it)) in f32; a lane chains four splats. A product scans over
//   a pixel's four lanes, with each lane's sum as two halves.
// - Sums: v^T (1, x, y, x^2, xy, y^2) and w^T dL/dcolour, 4 m16n8k16 into f32; 16 movmatrix
//   transpose.
// The at most 8 warps' sums are added in fixed point, in shared memory (splatcore_batch.cuh): equal
// bits in every run. dL/dcolour is scaled by a power of two to below 32 in its tile and rounded
// once to halves. CPU twin in f32: splatcore-cpu/src/blend_backward.rs.
//
// Launch. One block of 256 threads a part of a tile's list (training_weights.cuh), lists of 256
// splats, 45 KB of shared memory, 80 registers (none spills), 3 blocks a multiprocessor.
//
// Bound. Instructions: 402 k batches x 370 (fox_220k), and two barriers for 256 splats of a list.
//
// Now. 483 us for fox after 5,000 steps on an H200. History: docs/log/kernels/blend-backward.md.

#include "blend_backward.cuh"
#include "splatcore_batch.cuh"
#if TENSORS
#include "halves.cuh"
typedef BlendBackwardTensorsParams Params;
#else
typedef BlendBackwardParams Params;
#endif

// Blocks that fit a multiprocessor.
#define BLOCKS 3  // tune: 2 3 4

// dL/dcolour is scaled to less than 2^MAX. A pixel that stops has up to TRANSMITTANCE_MIN / (1 -
// alpha_max) of the background behind it, with TENSORS a tenth; see MIN_LEFT.
#define MAX (TENSORS ? 6 - TENSORS : 5)

#if TENSORS
// The gradients and values of a lane's channel at its pixels (x, y0) to (x, y0 + 3), and in the
// fourth lane of a pixel what the gradient of its alpha adds to what is behind all splats. Returns
// the bits of the largest gradient, times what it has of the background if that is more.
__device__ __forceinline__ u32 load_gradients(const Params& args, u32 image, u32 x, u32 y0,
                                              u32 member, float (&own)[4], float (&colour)[4],
                                              float (&rest)[4]) {
    const Camera& camera = args.lists.camera;
    u64 area = (u64)camera.width * camera.height, row = (u64)TENSORS * image + member;
    bool has_channel = member < TENSORS;
    u32 largest = 0;
    float unit = channel_unit(args.lists, member), inverse = inverse_unit(unit), share = 1.0f;
    if (has_channel && args.backgrounds) share = fmaxf(share, fabsf(unit * args.backgrounds[row]));
#pragma unroll
    for (u32 k = 0; k < 4; ++k) {
        own[k] = colour[k] = rest[k] = 0.0f;
        if (x >= camera.width || y0 + k >= camera.height) continue;
        u64 at = (u64)(y0 + k) * camera.width + x, pixel = image * area + at;
        if (has_channel) {
            own[k] = inverse * args.v_render_colors[TENSORS * pixel + member];
            colour[k] = unit * args.planes[row * area + at];
        }
        largest = max(largest, __float_as_uint(share * own[k]) & 0x7fffffffu);
        if (member != 3 || !args.v_render_alphas) continue;
        float v_alpha = args.v_render_alphas[pixel];
        rest[k] = v_alpha * (args.render_alphas[pixel] - 1.0f);
        largest = max(largest, __float_as_uint(v_alpha) & 0x7fffffffu);
    }
    return largest;
}
#endif

#if !TENSORS
// A part of a tile's list.
struct Part {
    u32 tile;
    uint2 range;  // in `pairs`; empty if the block has no part
    u32 before;   // number of the full part in front of it
    bool behind;  // there is one
};

__device__ __forceinline__ u32 tiles_of(const Camera& camera) {
    return camera.tiles_x * ((camera.height + TILE - 1) / TILE);
}

// The part of the block: first come the full parts, as the longest, then for each tile what is left
// of its list; the other blocks have none.
__device__ __forceinline__ Part part_of_block(const Params& args) {
    // Both at once: the way to the first splat has one load less that waits for another.
    u32 overflowed = args.counters->overflowed, parts = args.bucket_tiles[0],
        tiles = tiles_of(args.camera), block = blockIdx.x;
    Part part = {0, make_uint2(0, 0), 0, false};
    if (overflowed || block >= parts + tiles) return part;  // an overflowed frame is void
    bool is_full = block < parts;
    part.tile = is_full ? args.bucket_tiles[tile_of_part(tiles, block)] & ~IS_LEFT : block - parts;
    uint2 list = list_range(args.ranges, part.tile);
    // Loaded beside the range; not used if the list has no full part.
    u32 first = args.bucket_tiles[first_part(part.tile)];
    u32 full = (list.y - list.x) / PART, number = full;
    if (full > 0) {
        if (is_full) number = block - first;
        part.before = first + number - 1;
        part.behind = number > 0;
    }
    u32 begin = list.x + PART * number;
    if (begin < list.y) part.range = make_uint2(begin, min(begin + PART, list.y));
    return part;
}

// The pixels behind the part in front; `colour`, a lane's channel of the image, becomes what comes
// from there on.
__device__ __forceinline__ void restore_pixels(const Params& args, const Part& part, u32 thread,
                                               u32 member, Pixels& pixels, float (&colour)[4]) {
    // Both at once; the state is not used if no pixel was left.
    float4 state = args.checkpoints[(u64)part.before * BLOCK + thread];
    u32 tile = args.bucket_tiles[tile_of_part(tiles_of(args.camera), part.before)];
    pixels.finished = 1;
    if (!(tile & IS_LEFT)) return;
    float left[4] = {state.x, state.y, state.z, state.w};
    bool all = true;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        if (member < 3) colour[k] -= left[k];
        float transmittance = __shfl_sync(FULL_MASK, left[k], threadIdx.x % WARP | 3);
        pixels.sums[k / 2][k % 2 * 2 + 1] = transmittance;
        bool stopped = is_stopped(transmittance);
        if (stopped && member == 3) pixels.basis[k / 2][k % 2] = 0x3c00u;
        all = all && stopped;
    }
    pixels.finished = __all_sync(FULL_MASK, all);
}
#endif

// Writes a thread's splat of a list as a row, and zeros for its sums. Returns the rectangles that
// the splat reaches; none behind the list's end, where no warp adds to the sums.
__device__ __forceinline__ u32 load_splat(ReadOnly<float4> from, bool is_in_list, uint4* row,
                                          int* sums, u32 block_x, u32 block_y) {
    if (!is_in_list) return 0;
    float4 mean2d = from[0], conic = from[1], colour = from[2];
    bool fits = write_row(row, mean2d, conic, colour, block_x + 0.5f * TILE, block_y + 0.5f * TILE);
#pragma unroll
    for (u32 i = 0; i < 2 * SUMS; ++i) sums[i] = 0;
    return fits ? touched_rectangles(mean2d, conic, block_x, block_y) : 0;
}

extern "C" __global__ void __launch_bounds__(BLOCK, BLOCKS)
    blend_backward(const __grid_constant__ Params args) {
    begin_kernel();
    __shared__ uint4 rows[(BLOCK + 1) * (ROW_BYTES / 16)];
    __shared__ __align__(8) u8 masks[BLOCK];
    __shared__ u16 survivors[BLOCK / WARP][BLOCK + BATCH];
    __shared__ uint4 operands[2 * BLOCK];     // of the sums, see Gradients
    __shared__ int totals[BLOCK + 1][PITCH];  // in fixed point; the last is no splat's
    __shared__ u32 maxima[BLOCK / WARP];      // the largest dL/dcolour of each warp
    u32 thread = threadIdx.x, lane = thread % WARP, warp = thread / WARP, group = lane / 4,
        member = lane % 4;
#if TENSORS
    const Camera& camera = args.lists.camera;
    const TensorTile tile = tensor_tile(args.lists);
    u32 block_x = tile.x, block_y = tile.y;
#else
    const Camera& camera = args.camera;
    const Part part = part_of_block(args);
    if (part.range.y == 0) return;
    u32 block_x = part.tile % camera.tiles_x * TILE, block_y = part.tile / camera.tiles_x * TILE;
#endif
    u32 x0 = block_x + warp % COLUMNS * RECTANGLE_X, y0 = block_y + warp / COLUMNS * RECTANGLE_Y,
        x = x0 + group;
    float centre_x = block_x + 0.5f * TILE, centre_y = block_y + 0.5f * TILE;
    u32 alpha_max = kept_alpha_max(camera);

    // The pair and the compacted index of a list's 256 splats are loaded in advance.
#if TENSORS
    uint2 range = tile.range;
    const Splat* splats = args.lists.splats;
    u32 splat_index = range.x + thread < range.y ? args.lists.flatten_ids[range.x + thread] : 0;
#else
    uint2 range = part.range;
    const Splat* splats = args.splats;
    u32 number = range.x + thread < range.y ? args.pairs[range.x + thread] : 0;
#endif
    // Function `group` (lane / 4) of the basis at pixels 2 member and 2 member + 1, as polynomials
    // of y.
    float constant[2], slope[2], square = group == 5 ? UNITS_2 : 0.0f;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        float bx = x0 + 2 * member + i + 0.5f - centre_x;
        constant[i] = group == 0   ? UNITS_0
                      : group == 1 ? UNITS_1 * bx
                      : group == 3 ? UNITS_2 * bx * bx
                                   : 0.0f;
        slope[i] = group == 2 ? UNITS_1 : group == 4 ? UNITS_2 * bx : 0.0f;
    }
    u32 over_v[2][2];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        float by = y0 + k + 0.5f - centre_y;
        over_v[k / 2][k % 2] = pack_half2(fmaf(by, fmaf(by, square, slope[0]), constant[0]),
                                          fmaf(by, fmaf(by, square, slope[1]), constant[1]));
    }
    Gradients gradients;
    gradients.identity = group / 2 != member ? 0 : group % 2 ? 0x3c000000u : 0x00003c00u;
    gradients.in_front = group % 2 || member < group / 2 ? 0xbc00bc00u : 0;

    Pixels pixels;
    start_pixels(pixels, x, y0, member, camera, block_x, block_y);
    float own[4], colour[4];
#if TENSORS
    float rest[4];
    u32 largest = load_gradients(args, tile.image, x, y0, member, own, colour, rest);
#else
    u32 plane = camera.width * camera.height, largest = 0;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        u32 at = member * plane + (y0 + k) * camera.width + x;
        bool inside = member < 3 && x < camera.width && y0 + k < camera.height;
        own[k] = inside ? args.gradient[at] : 0.0f;
        colour[k] = inside ? args.image[at] : 0.0f;
    }
    u32 splat_index = args.pair_splats[number];
#pragma unroll
    for (int k = 0; k < 4; ++k) largest = max(largest, __float_as_uint(own[k]) & 0x7fffffffu);
    if (part.behind) restore_pixels(args, part, thread, member, pixels, colour);
#endif

    // The first list. The barrier that shows its rows shows the warps' maxima too.
    u32 begin = range.x;
    uint4* row = rows + thread * (ROW_BYTES / 16);
    bool is_in_list = begin + thread < range.y;
    u32 mask = load_splat(splat_row(splats, splat_index), is_in_list, row, totals[thread], block_x,
                          block_y);
    masks[thread] = (u8)mask;
    if (thread == 0) write_empty_row(rows + BLOCK * (ROW_BYTES / 16));
    largest = max_all(largest);
    if (lane == 0) maxima[warp] = largest;
    // A warp without gradient adds nothing; if that is all of them, all rows are zeros.
    bool is_over = __syncthreads_and(pixels.finished || largest == 0);
#pragma unroll
    for (u32 w = 0; w < BLOCK / WARP; ++w) largest = max(largest, maxima[w]);
    // The scale is a power of two; it and its inverse are normal numbers.
    u32 exponent = min(max(largest >> 23, 1u + MAX), 253u + MAX) - MAX;
    float scale = __uint_as_float((253 - exponent) << 23),
          unscale = __uint_as_float((exponent + 1) << 23);
    u32 over_w[2][2], channel = channel_of_column(group);
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        gradients.left[k / 2][k % 2] = pack_half2(own[k] * scale, 0.0f);
        float behind = half_low(gradients.left[k / 2][k % 2]) * colour[k];
#if TENSORS
        behind = fmaf(scale, rest[k], behind);
#endif
        behind += __shfl_xor_sync(FULL_MASK, behind, 1);
        gradients.behind[k] = behind + __shfl_xor_sync(FULL_MASK, behind, 2);
        // The column's channel of pixels 2 member and 2 member + 1.
        u32 own_left = gradients.left[k / 2][k % 2];
        u32 first = __shfl_sync(FULL_MASK, own_left, 8 * member + channel % 4);
        u32 second = __shfl_sync(FULL_MASK, own_left, 8 * member + 4 + channel % 4);
        over_w[k / 2][k % 2] =
            channel < COLOURS ? multiply_half2(join_lows(first, second), HALVES_UNITS_W) : 0;
    }
#pragma unroll
    for (int f = 0; f < 2; ++f)
        operands[f * BLOCK + thread] =
            make_uint4(over_w[f][0], over_w[f][1], over_v[f][0], over_v[f][1]);
    gradients.sums = operands + thread;

    u32 column = lane % 8 / 2 * 4 + lane % 2;
    // In bytes, as in the forward pass.
    u32 own_survivors = opaque(sizeof(u16) * (warp * (BLOCK + BATCH) + column + lane / 16 * 2));
    while (begin < range.y && !is_over) {
        if (!pixels.finished) {
            u32 count = uniform(queue_survivors(masks, survivors[warp], warp, lane));
            for (u32 first = 0; first < count && !pixels.finished; first += BATCH)
                backward_batch(
                    pixels, gradients, rows,
                    *(const u16*)((const u8*)survivors + own_survivors + sizeof(u16) * first), lane,
                    alpha_max, survivors[warp] + first, totals[0]);
        }
        // What is needed behind the barrier is loaded before it.
        float2 mean = make_float2(0.0f, 0.0f);
        if (is_in_list) {
            float4 mean2d = splat_row(splats, splat_index)[0];
            mean = make_float2(mean2d.x, mean2d.y);
        }
        u32 next = begin + BLOCK + thread;
#if TENSORS
        next = next < range.y ? args.lists.flatten_ids[next] : 0;
#else
        next = next < range.y ? args.pairs[next] : 0;
#endif
        // From here to the next list's barrier a thread reads and writes its own rows alone.
        is_over = __syncthreads_and(pixels.finished);
#if TENSORS
        bool is_wanted = mask != 0;
#else
        bool is_wanted = is_in_list;
#endif
        if (is_wanted) {
            float total[SUMS];
#pragma unroll
            for (u32 i = 0; i < SUMS; ++i) {
                float units = i == 0 ? UNITS_0 : i < 3 ? UNITS_1 : i < 6 ? UNITS_2 : UNITS_W;
                total[i] = (i < 6 ? unscale : WEIGHT_UNIT * unscale) *
                           ((1.0f / units) * fixed_units(totals[thread] + i));
            }
            // From moments about the tile's centre to moments about the splat's mean.
            float dx = centre_x - mean.x, dy = centre_y - mean.y;
            float sx = fmaf(dx, total[0], total[1]), sy = fmaf(dy, total[0], total[2]);
            float sxx = fmaf(dx, total[1] + sx, total[3]),
                  sxy = fmaf(dx, total[2], fmaf(dy, sx, total[4]));
            float syy = fmaf(dy, total[2] + sy, total[5]);
#if TENSORS
            float4* to = args.sums + 3ull * splat_index;
            add_float4(to, total[0], sx, sy, sxx);
            add_float4(to + 1, sxy, syy, total[6], total[7]);
            atomicAdd((float*)(to + 2), total[8]);
#if TENSORS == 4
            atomicAdd((float*)(to + 2) + 1, channel_unit(args.lists, 3) * total[9]);
#endif
#else
            float4* to = args.pair_sums + 3ull * number;
            to[0] = make_float4(total[0], sx, sy, sxx);
            to[1] = make_float4(sxy, syy, total[6], total[7]);
            to[2] = make_float4(total[8], 0.0f, 0.0f, 0.0f);
#endif
        }
#if TENSORS
        splat_index = next;
#else
        number = next;
        splat_index = args.pair_splats[number];
#endif
        begin += BLOCK;
        if (begin >= range.y || is_over) break;
        is_in_list = begin + thread < range.y;
        mask = load_splat(splat_row(splats, splat_index), is_in_list, row, totals[thread], block_x,
                          block_y);
        masks[thread] = (u8)mask;
        __syncthreads();
    }
#if !TENSORS
    // Pairs behind the point where every pixel has stopped have sums of 0.
    for (u32 i = begin + thread / 4; i < range.y; i += BLOCK / 4)
        if (thread % 4 < 3)
            args.pair_sums[3ull * args.pairs[i] + thread % 4] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#endif
}
