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
// - v = w (toward - behind / (T after it)) in f32; a lane chains four splats, two shuffles scan.
// - Sums: v^T (1, x, y, x^2, xy, y^2) and w^T dL/dcolour, 4 m16n8k16 into f32; 16 movmatrix
//   transpose.
// A thread a splat adds up the at most 8 warps' sums in a fixed order: equal bits in every run.
// dL/dcolour is scaled by a power of two to below 32 in its tile and rounded once to halves. CPU
// twin in f32: splatcore-cpu/src/blend_backward.rs.
//
// Launch. One block of 256 threads a part of a tile's list (training_weights.cuh), lists of 256
// splats, 48 KB of shared memory, 80 registers (8 values spill, two are read in each batch), 3
// blocks a multiprocessor.
//
// Bound. Instructions and barriers: 415 k batches x 345 + 70 M outside them, half of the issue
// slots; a fifth of the time barriers, a fifth fixed latency (fox_220k).
//
// Now. docs/log/kernels/blend-backward.md has times before and with parts of lists.

#include "blend_backward.cuh"
#include "training_weights.cuh"
#if TENSORS
#include "halves.cuh"
typedef BlendBackwardTensorsParams Params;
#else
typedef BlendBackwardParams Params;
#endif

// Blocks that fit a multiprocessor.
#define BLOCKS 3  // tune: 2 3 4

#define COLOURS (TENSORS ? TENSORS : 3)
// Splats of each warp's queue whose results fit shared memory at a time.
#define PLACES (COLOURS == 4 ? 48 : 64)
#define PITCH 10  // floats a result: 6 of v, COLOURS of w, the rest unused
#define SUMS (6 + COLOURS)
// dL/dcolour is scaled to less than 2^MAX. A pixel that stops has up to TRANSMITTANCE_MIN / (1 -
// alpha_max) of the background behind it, with TENSORS a tenth; see MIN_LEFT.
#define MAX (TENSORS ? 6 - TENSORS : 5)
// A floor of the transmittance that v divides by. No fragment that counts leaves less. A stopped
// pixel has at most 0.0102 of the background behind it; divided by this floor it stays a finite
// half. An infinite value would turn a weight of 0 into not-a-number.
#define MIN_LEFT (0.5f * TRANSMITTANCE_MIN)

// A lane's operands for its pixels, besides their weights.
struct Gradients {
    u32 left[2][2];   // A of `toward`: dL/dcolour of the lane's channel (member) at its pixels
    u32 right[2][2];  // B of the sums over w: dL/dcolour of channel lane / 4
    u32 basis[2][2];  // B of the sums over v: function lane / 4 of the basis
    float behind[4];  // dL/dcolour . colour behind the splats so far
};

// Writes the sums of 16 splats over the warp's pixels to `out`: a row of PITCH floats a splat, in
// the order of the queue.
__device__ __forceinline__ void backward_batch(Pixels& pixels, Gradients& gradients,
                                               const uint4* rows, u32 row, u32 lane, u32 alpha_max,
                                               float* out) {
    const u32 minus[2] = {join_lows(MINUS_ALPHA_UNIT, MINUS_ALPHA_UNIT),
                          join_lows(MINUS_ALPHA_UNIT, MINUS_ALPHA_UNIT)};
    const float none[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    u32 in_front[2], weights[2][4], caps = 0;
    weigh_batch(
        pixels, rows + lane / 8 % 2, row, lane, alpha_max, in_front,
        [&](const u32(&alphas)[2][4], const u32(&left)[2]) {
            // One of a lane's four alphas can be at the cap of 0.99 only where the four together
            // leave a transmittance of 0.0104 or less.
            u32 most = subtract_product_half2(0x3c003c00u, alpha_max, ALPHA_UNITS);
            most = add_half2(most, multiply_half2(most, 0x2c002c00u));
            if (!__any_sync(FULL_MASK, mask_ge_half2(most, min_half2(left[0], left[1])) != 0))
                return;
#pragma unroll
            for (int k = 0; k < 8; ++k)
                caps |= (mask_ge_half2(alphas[k / 4][k % 4], alpha_max) & 0x00010001u) << k;
        },
        [&](int f, const u32* a) {
#pragma unroll
            for (int k = 0; k < 4; ++k) weights[f][k] = a[k];
            mma_m16n8k16(pixels.sums[f], a, minus, pixels.sums[f]);
        });
    u32 colours[4];  // of each eight splats twice: one address serves coefficients and colours
    load_matrix_x4_at(colours, rows, row + 32);
    float odd = lane & 1 ? 1.0f : 0.0f, upper = lane & 2 ? 1.0f : 0.0f;
    float sums_v[4] = {0.0f, 0.0f, 0.0f, 0.0f}, sums_w[4] = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll
    for (int f = 0; f < 2; ++f) {
        float toward[2][4];
        mma_m16n8k8(toward[0], gradients.left[f], colours[0], none);
        mma_m16n8k8(toward[1], gradients.left[f], colours[2], none);
        u32 v[4];
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            float w[4], g[4], u[4];
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                w[k] = k % 2 ? half_high(weights[f][i + k / 2 * 2])
                             : half_low(weights[f][i + k / 2 * 2]);
                g[k] = toward[k / 2][k % 2 + 2 * i];
            }
            float own = fmaf(w[3], g[3], fmaf(w[2], g[2], fmaf(w[1], g[1], w[0] * g[0])));
            float neighbour = __shfl_xor_sync(FULL_MASK, own, 1), both = own + neighbour;
            float others = __shfl_xor_sync(FULL_MASK, both, 2);
            float behind = gradients.behind[2 * f + i];
            gradients.behind[2 * f + i] = behind - (both + others);
            behind = fmaf(-upper, others, fmaf(-odd, neighbour, behind));
            // T is in the unit of the stored weights, as w is. Colours are stored in the inverse
            // unit, as g and u are, so w g and w u carry no factor. A stopped pixel has weights of
            // 0 from there on.
            float t =
                fmaxf((1.0f / ALPHA_UNIT) * (i ? half_high(in_front[f]) : half_low(in_front[f])),
                      MIN_LEFT);
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                // After one splat T stays positive. After two that leave a hundredth each, the
                // rounding of their weights can make T zero or negative: hence the floor.
                t = k == 0 ? t - w[k] : fmaxf(t - w[k], MIN_LEFT);
                behind = fmaf(-w[k], g[k], behind);
                u[k] = fmaf(-behind, reciprocal_approx(t), g[k]);
            }
            v[i] = multiply_half2(pack_half2(u[0], u[1]), weights[f][i]);
            v[i + 2] = multiply_half2(pack_half2(u[2], u[3]), weights[f][i + 2]);
        }
        // A capped alpha is constant, so its derivative is 0.
        if (caps >> (4 * f) & 0x000f000fu) {
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                u32 half = k % 2 ? 0xffff0000u : 0x0000ffffu;
                if (caps >> (4 * f + k) & 1) v[k / 2 * 2] &= ~half;
                if (caps >> (4 * f + k + 16) & 1) v[k / 2 * 2 + 1] &= ~half;
            }
        }
        // Transposes pixels x splats to splats x pixels.
        u32 turned[4];
#pragma unroll
        for (int k = 0; k < 4; ++k) turned[k] = transpose_matrix(weights[f][k % 2 * 2 + k / 2]);
        mma_m16n8k16(sums_w, turned, gradients.right[f], sums_w);
#pragma unroll
        for (int k = 0; k < 4; ++k) turned[k] = transpose_matrix(v[k % 2 * 2 + k / 2]);
        mma_m16n8k16(sums_v, turned, gradients.basis[f], sums_v);
    }
    u32 group = lane / 4, member = lane % 4;
    float* to = out + (group / 2 * 4 + group % 2) * PITCH + 2 * member;
    if (member < 3) {
        *(float2*)to = make_float2(sums_v[0], sums_v[1]);
        *(float2*)(to + 2 * PITCH) = make_float2(sums_v[2], sums_v[3]);
    }
    if (member < 2) {
        *(float2*)(to + 6) = make_float2(sums_w[0], sums_w[1]);
        *(float2*)(to + 6 + 2 * PITCH) = make_float2(sums_w[2], sums_w[3]);
    }
}

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
    u32 full = (list.y - list.x) / PART, number = full;
    if (full > 0) {
        u32 first = args.bucket_tiles[first_part(part.tile)];
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
    pixels.finished = 1;
    if (!(args.bucket_tiles[tile_of_part(tiles_of(args.camera), part.before)] & IS_LEFT)) return;
    float4 state = args.checkpoints[(u64)part.before * BLOCK + thread];
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

extern "C" __global__ void __launch_bounds__(BLOCK, BLOCKS)
    blend_backward(const __grid_constant__ Params args) {
    begin_kernel();
    __shared__ uint4 rows[(BLOCK + 1) * (ROW_BYTES / 16)];
    __shared__ __align__(8) u8 masks[BLOCK];
    __shared__ u16 survivors[BLOCK / WARP][BLOCK + BATCH];
    __shared__ __align__(8) u8 ranks[BLOCK / WARP][BLOCK];  // a splat's place in a warp's queue
    __shared__ __align__(8) float results[BLOCK / WARP][PLACES * PITCH];
    __shared__ float totals[BLOCK][SUMS];
    __shared__ u32 ends[BLOCK / WARP];  // processed splats of a warp's queue; first max |G|
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

    // Loads the pair and the compacted index of the next 256 splats in advance.
#if TENSORS
    uint2 range = tile.range;
    const Splat* splats = args.lists.splats;
    u32 splat_index = range.x + thread < range.y ? args.lists.flatten_ids[range.x + thread] : 0;
#else
    uint2 range = part.range;
    const Splat* splats = args.splats;
    u32 number = range.x + thread < range.y ? args.pairs[range.x + thread] : 0,
        splat_index = args.pair_splats[number];
#endif
    Pixels pixels;
    start_pixels(pixels, x, y0, member, camera, block_x, block_y);
    Gradients gradients;
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
        largest = max(largest, __float_as_uint(own[k]) & 0x7fffffffu);
    }
    if (part.behind) restore_pixels(args, part, thread, member, pixels, colour);
#endif
    for (u32 offset = 16; offset > 0; offset /= 2)
        largest = max(largest, __shfl_xor_sync(FULL_MASK, largest, offset));
    if (lane == 0) ends[warp] = largest;
    __syncthreads();
#pragma unroll
    for (u32 w = 0; w < BLOCK / WARP; ++w) largest = max(largest, ends[w]);
    // The scale is a power of two; it and its inverse are normal numbers.
    u32 exponent = min(max(largest >> 23, 1u + MAX), 253u + MAX) - MAX;
    float scale = __uint_as_float((253 - exponent) << 23),
          unscale = __uint_as_float((exponent + 1) << 23);
    // Function `group` (lane / 4) of the basis at pixels 2 member and 2 member + 1, as polynomials
    // of y.
    float constant[2], slope[2], square = group == 5 ? 1.0f : 0.0f;
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        float bx = x0 + 2 * member + i + 0.5f - centre_x;
        constant[i] = group == 0 ? 1.0f : group == 1 ? bx : group == 3 ? bx * bx : 0.0f;
        slope[i] = group == 2 ? 1.0f : group == 4 ? bx : 0.0f;
    }
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        gradients.left[k / 2][k % 2] = pack_half2(own[k] * scale, 0.0f);
        float behind = half_low(gradients.left[k / 2][k % 2]) * colour[k];
#if TENSORS
        behind = fmaf(scale, rest[k], behind);
#endif
        behind += __shfl_xor_sync(FULL_MASK, behind, 1);
        gradients.behind[k] = behind + __shfl_xor_sync(FULL_MASK, behind, 2);
        // Channel `group` of pixels 2 member and 2 member + 1.
        u32 first = __shfl_sync(FULL_MASK, gradients.left[k / 2][k % 2], 8 * member + group % 4);
        u32 second =
            __shfl_sync(FULL_MASK, gradients.left[k / 2][k % 2], 8 * member + 4 + group % 4);
        gradients.right[k / 2][k % 2] = group < COLOURS ? join_lows(first, second) : 0;
        float by = y0 + k + 0.5f - centre_y;
        u32 pair = pack_half2(fmaf(by, fmaf(by, square, slope[0]), constant[0]),
                              fmaf(by, fmaf(by, square, slope[1]), constant[1]));
        gradients.basis[k / 2][k % 2] = pair;
    }
    if (thread == 0) write_empty_row(rows + BLOCK * (ROW_BYTES / 16));

    u32 column = lane % 8 / 2 * 4 + lane % 2;
    // In bytes, as in the forward pass.
    u32 own_survivors = opaque(sizeof(u16) * (warp * (BLOCK + BATCH) + column + lane / 16 * 2));
    // If the tile's gradient is 0, all rows are zeros.
    u32 begin = range.x;
    for (; begin < range.y; begin += BLOCK) {
        if (__syncthreads_and(pixels.finished || largest == 0)) break;
        u32 mask = 0;
        if (begin + thread < range.y) {
            ReadOnly<float4> from = splat_row(splats, splat_index);
            float4 mean2d = from[0], conic = from[1], colour = from[2];
            bool fits = write_row(rows + thread * (ROW_BYTES / 16), mean2d, conic, colour, centre_x,
                                  centre_y);
            mask = fits ? touched_rectangles(mean2d, conic, block_x, block_y) : 0;
        }
        masks[thread] = (u8)mask;
        __syncthreads();
        u32 count = 0;
        if (!pixels.finished)
            count = queue_survivors(masks, survivors[warp], ranks[warp], warp, lane);
#pragma unroll
        for (u32 i = 0; i < SUMS; ++i) totals[thread][i] = 0.0f;
        for (u32 start = 0;; start += PLACES) {
            u32 first = start, end = min(start + PLACES, count);
            for (; first < end && !pixels.finished; first += BATCH)
                backward_batch(
                    pixels, gradients, rows,
                    *(const u16*)((const u8*)survivors + own_survivors + sizeof(u16) * first), lane,
                    alpha_max, results[warp] + (first - start) * PITCH);
            if (lane == 0) ends[warp] = min(first, count);
            __syncthreads();
            mask = masks[thread];
            float total[SUMS];
#pragma unroll
            for (u32 i = 0; i < SUMS; ++i) total[i] = totals[thread][i];
            for (u32 w = 0; w < BLOCK / WARP; ++w) {
                u32 rank = ranks[w][thread];
                if (!(mask >> w & 1) || rank < start || rank >= ends[w]) continue;
                const float2* from = (const float2*)(results[w] + (rank - start) * PITCH);
#pragma unroll
                for (u32 i = 0; i < SUMS; ++i) total[i] += i % 2 ? from[i / 2].y : from[i / 2].x;
            }
#pragma unroll
            for (u32 i = 0; i < SUMS; ++i) totals[thread][i] = total[i];
            // This barrier also keeps the next results from overwriting the present ones.
            if (!__syncthreads_or(count > start + PLACES && !pixels.finished)) break;
        }
#if TENSORS
        bool is_wanted = masks[thread] != 0 && begin + thread < range.y;
#else
        bool is_wanted = begin + thread < range.y;
#endif
        if (is_wanted) {
            float4 mean2d = splat_row(splats, splat_index)[0];
            float total[SUMS];
#pragma unroll
            for (u32 i = 0; i < SUMS; ++i)
                total[i] = (i < 6 ? unscale : WEIGHT_UNIT * unscale) * totals[thread][i];
            // From moments about the tile's centre to moments about the splat's mean.
            float dx = centre_x - mean2d.x, dy = centre_y - mean2d.y;
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
        if (begin + BLOCK + thread < range.y) {
#if TENSORS
            splat_index = args.lists.flatten_ids[begin + BLOCK + thread];
#else
            number = args.pairs[begin + BLOCK + thread];
            splat_index = args.pair_splats[number];
#endif
        }
    }
#if !TENSORS
    // Pairs behind the point where every pixel has stopped have sums of 0.
    for (u32 i = begin + thread / 4; i < range.y; i += BLOCK / 4)
        if (thread % 4 < 3)
            args.pair_sums[3ull * args.pairs[i] + thread % 4] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
#endif
}
