// blend_backward, method `splatcore`: gradients as products on the matrix units (DESIGN section 6,
// idea 8), behind the forward pass of the same name. A warp owns 8x4 pixels, culls its list as the
// forward pass does and takes 16 survivors at a time:
//   weights   exactly those of the forward pass (training_weights.cuh), as halves: w = alpha T. So
//   what lies
//             behind a fragment is the pixel's colour minus what was added up so far, without a
//             difference of roundings in it.
//   toward    dL/dcolour(pixel) . colour(splat): 32 pixels times 16 splats, K = 3 of 8: 4 m16n8k8.
//   v         dL/d(ln alpha) = w (toward - behind / (T after it)), with behind = dL/dcolour .
//             (colour behind the fragment), in f32: a lane chains its four neighbours in depth for
//             each of four pixels, two shuffles scan over the pixel's lanes.
//   sums      v (16 splats x 32 pixels) times the basis (1, x, y, x^2, xy, y^2), and w times
//             dL/dcolour: 4 m16n8k16 with sums in f32. A score has its pixel in lane / 4, a sum
//             over pixels wants it in lane % 4: 16 movmatrix turn w and v.
// A queue's sums go to shared memory, 64 of its places at a time; then each of the list's splats
// has a thread that adds up its at most 8 rows in a fixed order and writes the row of its (tile,
// splat) pair. No atomic addition: the same bits in every run. dL/dcolour is scaled by a power of
// two to below 32 in its tile, and rounded to halves, once, for all its uses. CPU twin (in f32):
// splatcore-cpu/src/blend_backward.rs. Formulas: blend_backward_atomic.cu.
//
// Launch: a block of 256 threads (8 warps) a tile, lists of 256 splats through shared memory (48
// KB), 80 registers (5 of the hot loop's values spill), 3 blocks a multiprocessor.
// Bound by instructions and barriers. Counted a batch of 16 splats: 137 as in the forward pass then
// (some 115 since alphas are kept as training_weights.cuh says), 112 for v, 16 movmatrix, 8
// products, 40 for the scan and the results; adding up 5 a pair and warp. Prediction for fox_220k
// on an H200: 381 k batches x 310 + 35 M + 15 M = 170 M warp instructions, 160 us at full rate, 250
// in practice
// (`subtile`: 818). Measured: 409 us (`subtile` 818), mcmc_1m 959 us (2040); 430 and 1008 with
// alphas as they are. Without LEAST_LEFT, 12 instructions a batch on a pipe that is not the
// busiest, 427 and 1001; 435 was predicted for it. Then 415 k batches of 345 instructions, 70 M
// outside them (set-up 22, loading and queues 20, adding up 24); half of the issue slots busy:
// waiting at barriers a fifth of the time, for results of fixed latency another fifth, MUFU and
// shuffles a tenth. Tried, on fox_220k: 127 registers and 2 blocks 460 us, 64 registers and 4
// blocks 451, 3 blocks without the list's slots fetched ahead 438, 32 places 461.

#include "training_weights.cuh"

#define PLACES 64  // of every warp's queue that have room for their results
#define PITCH 10   // floats a result: 6 of v, 3 of w, one unused
#define SUMS 9
#define LARGEST 5  // dL/dcolour is scaled to less than 2^LARGEST
// No fragment that counts leaves less, and what a stopped pixel has behind it, the background times
// 0.0102 at most, stays a finite half when divided by it: a weight of 0 times an infinite one would
// not be 0.
#define LEAST_LEFT (0.5f * TRANSMITTANCE_MIN)

// What a lane needs of its pixels besides their weights.
struct Gradients {
    u32 left[2][2];   // A of `toward`: dL/dcolour of the lane's channel (member) at its pixels
    u32 right[2][2];  // B of the sums over w: dL/dcolour of channel lane / 4
    u32 basis[2][2];  // B of the sums over v: function lane / 4 of the basis
    float behind[4];  // dL/dcolour . colour behind the splats so far
};

// The sums of 16 splats over the warp's pixels, to `out`: a row of PITCH a splat, in the order of
// the queue.
__device__ __forceinline__ void backward_batch(Pixels& pixels, Gradients& gradients,
                                               const uint4* rows, u32 row, u32 colour_row, u32 lane,
                                               u32 alpha_max, float* out) {
    const u32 minus[2] = {join_lows(MINUS_ALPHA_UNIT, MINUS_ALPHA_UNIT),
                          join_lows(MINUS_ALPHA_UNIT, MINUS_ALPHA_UNIT)};
    const float none[4] = {0.0f, 0.0f, 0.0f, 0.0f};
    u32 colours[2], fronts[2], weights[2][4], caps = 0;
    weigh_batch(
        pixels, rows, row, lane, alpha_max, fronts,
        [&](const u32(&alphas)[2][4], const u32(&left)[2]) {
            // Only where a lane's four leave 0.0104 or less can one of them be capped at 0.99.
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
    load_matrix_x2_at(colours, rows, colour_row);
    float odd = lane & 1 ? 1.0f : 0.0f, upper = lane & 2 ? 1.0f : 0.0f;
    float sums_v[4] = {0.0f, 0.0f, 0.0f, 0.0f}, sums_w[4] = {0.0f, 0.0f, 0.0f, 0.0f};
#pragma unroll
    for (int f = 0; f < 2; ++f) {
        float toward[2][4];
        mma_m16n8k8(toward[0], gradients.left[f], colours[0], none);
        mma_m16n8k8(toward[1], gradients.left[f], colours[1], none);
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
            // In units of kept weights, as w is. Colours are in their inverse, so g and u are, and
            // w g and w u are what they should be. A pixel that has stopped has weights of 0 from
            // there on.
            float t = fmaxf((1.0f / ALPHA_UNIT) * (i ? half_high(fronts[f]) : half_low(fronts[f])),
                            LEAST_LEFT);
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                // One fragment leaves something; behind two that leave a hundredth each, the
                // rounding of their weights may not.
                t = k == 0 ? t - w[k] : fmaxf(t - w[k], LEAST_LEFT);
                behind = fmaf(-w[k], g[k], behind);
                u[k] = fmaf(-behind, reciprocal_approx(t), g[k]);
            }
            v[i] = multiply_half2(pack_half2(u[0], u[1]), weights[f][i]);
            v[i + 2] = multiply_half2(pack_half2(u[2], u[3]), weights[f][i + 2]);
        }
        // Nothing flows through the cap.
        if (caps >> (4 * f) & 0x000f000fu) {
#pragma unroll
            for (int k = 0; k < 4; ++k) {
                u32 half = k % 2 ? 0xffff0000u : 0x0000ffffu;
                if (caps >> (4 * f + k) & 1) v[k / 2 * 2] &= ~half;
                if (caps >> (4 * f + k + 16) & 1) v[k / 2 * 2 + 1] &= ~half;
            }
        }
        // From pixels x splats to splats x pixels: what was row group becomes column group.
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

extern "C" __global__ void __launch_bounds__(BLOCK, 3)
    blend_backward(const Splat* __restrict__ splats, const u32* __restrict__ pairs,
                   const u32* __restrict__ pair_slots, const uint2* __restrict__ ranges,
                   Camera camera, const Counters* counters, const float* __restrict__ image,
                   const float* __restrict__ gradient, float4* pair_sums) {
    begin_kernel();
    __shared__ uint4 rows[(BLOCK + 1) * (ROW_BYTES / 16)];
    __shared__ __align__(8) u8 masks[BLOCK];
    __shared__ u16 survivors[BLOCK / WARP][BLOCK + BATCH];
    __shared__ __align__(8) u8 ranks[BLOCK / WARP][BLOCK];  // where in a warp's queue a splat is
    __shared__ __align__(8) float results[BLOCK / WARP][PLACES * PITCH];
    __shared__ float totals[BLOCK][SUMS];
    __shared__ u32 ends[BLOCK / WARP];  // how far a warp is in its queue
    if (counters->halted) return;
    u32 thread = threadIdx.x, lane = thread % WARP, warp = thread / WARP, group = lane / 4,
        member = lane % 4;
    u32 block_x = blockIdx.x % camera.tiles_x * TILE, block_y = blockIdx.x / camera.tiles_x * TILE;
    u32 x0 = block_x + warp % COLUMNS * RECTANGLE_X, y0 = block_y + warp / COLUMNS * RECTANGLE_Y,
        x = x0 + group;
    float centre_x = block_x + 0.5f * TILE, centre_y = block_y + 0.5f * TILE;
    uint2 range = list_range(ranges, blockIdx.x);
    u32 alpha_max = kept_alpha_max(camera);

    // A piece of the list ahead.
    u32 number = range.x + thread < range.y ? pairs[range.x + thread] : 0,
        slot = pair_slots[number];
    Pixels pixels;
    start_pixels(pixels, x, y0, member, camera, block_x, block_y);
    Gradients gradients;
    float own[4], colour[4];
    u32 plane = camera.width * camera.height, largest = 0;
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        u32 at = member * plane + (y0 + k) * camera.width + x;
        bool inside = member < 3 && x < camera.width && y0 + k < camera.height;
        own[k] = inside ? gradient[at] : 0.0f;
        colour[k] = inside ? image[at] : 0.0f;
        largest = max(largest, __float_as_uint(own[k]) & 0x7fffffffu);
    }
    for (u32 offset = 16; offset > 0; offset /= 2)
        largest = max(largest, __shfl_xor_sync(FULL_MASK, largest, offset));
    if (lane == 0) ends[warp] = largest;
    __syncthreads();
#pragma unroll
    for (u32 w = 0; w < BLOCK / WARP; ++w) largest = max(largest, ends[w]);
    // A power of two and its inverse, both normal numbers.
    u32 exponent = min(max(largest >> 23, 1u + LARGEST), 253u + LARGEST) - LARGEST;
    float scale = __uint_as_float((253 - exponent) << 23),
          unscale = __uint_as_float((exponent + 1) << 23);
    // Function `group` of the basis at pixels 2 member and + 1, as polynomials of y.
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
        behind += __shfl_xor_sync(FULL_MASK, behind, 1);
        gradients.behind[k] = behind + __shfl_xor_sync(FULL_MASK, behind, 2);
        // Of pixels 2 member and + 1, channel `group`.
        u32 first = __shfl_sync(FULL_MASK, gradients.left[k / 2][k % 2], 8 * member + group % 4);
        u32 second =
            __shfl_sync(FULL_MASK, gradients.left[k / 2][k % 2], 8 * member + 4 + group % 4);
        gradients.right[k / 2][k % 2] = group < 3 ? join_lows(first, second) : 0;
        float by = y0 + k + 0.5f - centre_y;
        u32 pair = pack_half2(fmaf(by, fmaf(by, square, slope[0]), constant[0]),
                              fmaf(by, fmaf(by, square, slope[1]), constant[1]));
        gradients.basis[k / 2][k % 2] = pair;
    }
    if (thread == 0) write_empty_row(rows + BLOCK * (ROW_BYTES / 16));

    u32 column = lane % 8 / 2 * 4 + lane % 2;
    const u16* own_survivors = survivors[warp] + column + lane / 16 * 2;
    const u16* colour_survivors = survivors[warp] + column + lane / 8 % 2 * 2;
    // Without a gradient there is nothing to do but zeros.
    u32 begin = range.x;
    for (; begin < range.y; begin += BLOCK) {
        if (__syncthreads_and(pixels.finished || largest == 0)) break;
        u32 mask = 0;
        if (begin + thread < range.y) {
            const float4* from = (const float4*)(splats + slot);
            float4 centre = from[0], power = from[1], colour = from[2];
            bool fits = write_row(rows + thread * (ROW_BYTES / 16), centre, power, colour, centre_x,
                                  centre_y);
            mask = fits ? touched_rectangles(centre, power, block_x, block_y) : 0;
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
                backward_batch(pixels, gradients, rows, own_survivors[first] + lane / 8 % 2 * 16,
                               colour_survivors[first] + 32, lane, alpha_max,
                               results[warp] + (first - start) * PITCH);
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
            // Also the barrier that keeps the next results from overwriting these.
            if (!__syncthreads_or(count > start + PLACES && !pixels.finished)) break;
        }
        if (begin + thread < range.y) {
            float4 centre = ((const float4*)(splats + slot))[0];
            float total[SUMS];
#pragma unroll
            for (u32 i = 0; i < SUMS; ++i)
                total[i] = (i < 6 ? unscale : WEIGHT_UNIT * unscale) * totals[thread][i];
            // From the tile's centre to the splat's.
            float dx = centre_x - centre.x, dy = centre_y - centre.y;
            float sx = fmaf(dx, total[0], total[1]), sy = fmaf(dy, total[0], total[2]);
            float sxx = fmaf(dx, total[1] + sx, total[3]),
                  sxy = fmaf(dx, total[2], fmaf(dy, sx, total[4]));
            float syy = fmaf(dy, total[2] + sy, total[5]);
            float4* to = pair_sums + 3ull * number;
            to[0] = make_float4(total[0], sx, sy, sxx);
            to[1] = make_float4(sxy, syy, total[6], total[7]);
            to[2] = make_float4(total[8], 0.0f, 0.0f, 0.0f);
        }
        if (begin + BLOCK + thread < range.y) {
            number = pairs[begin + BLOCK + thread];
            slot = pair_slots[number];
        }
    }
    // Pairs behind the point where every pixel had stopped.
    for (u32 i = begin + thread / 4; i < range.y; i += BLOCK / 4)
        if (thread % 4 < 3)
            pair_sums[3ull * pairs[i] + thread % 4] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
}
