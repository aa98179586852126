// blend, methods `tc-gs`, `tc-gs-half`, `frag2mat`, `tc-gs-global-fp16`, `tc-gs-global-tf32`
// (TC-GS, Liao et al. 2025, section 4).
//
// Contract. As blend_scalar.cu, with the same inputs, outputs and shapes, but the exponents beta =
// log2 alpha of a tile's pixels and Gaussians are a matrix product B = U^T V (equation 18). beta =
// u . v (equation 13): u are the pixel's monomials (equation 14), v the Gaussian's coefficients
// (equation 12), about the tile's centre (equations 19 to 21), where halves hold u exactly. v0 is
// split into three thirds, which fill the 8 terms of m16n8k8 (section 5.1). beta is off by at most
// 2^-11 (sum |u v| + |beta|) (tests/tc_gs.rs). The paper has natural logarithms, the code
// base 2.
//   EARLY_CULL LOCAL TF32: tc-gs and tc-gs-half 1 1 0; frag2mat 0 1 0 (table 5); tc-gs-global-fp16
//   1 0 0 and -tf32 1 0 1 (table 6: about the image's corner, squares of coordinates overflow
//   halves from 256 pixels on).
//   HALF_TRANSMITTANCE 1: tc-gs-half, which keeps a pixel's transmittance as a half, as the
//   authors' code does; each blended fragment rounds it once.
//   COUNT 1 counts the fragments that pixels look at and writes no image.
//
// Launch. A block of 256 threads a tile, a warp 8x4 pixels, a lane one pixel. 40 registers, 13 KB
// of shared memory (21 KB with TF32), 256 Gaussians at a time.
//
// Bound. Instructions (sm_90): 20 for a warp and 8 Gaussians, and for each Gaussian 3 if no lane
// blends it, 15 if any does (scalar: 20 and 34).
//
// Now. 220 us for fox_220k at 1080x1920, tc-gs with `exact`, on an H200. History:
// docs/log/kernels/blend-tc-gs.md.

#include "tc_gs.cuh"

#define GROUP 8  // Gaussians of a product

// A fragment is blended if its exponent, or its alpha, is at least this; a pixel that has stopped
// blends nothing more (NEVER).
#if EARLY_CULL
#define MIN -LOG2_255
#else
#define MIN ALPHA_MIN
#endif
#define NEVER __uint_as_float(0x7f800000u)

// A transmittance as a pixel keeps it.
__device__ __forceinline__ float as_kept(float transmittance) {
#if HALF_TRANSMITTANCE
    return half_low(pack_half2(transmittance, 0.0f));
#else
    return transmittance;
#endif
}

// 16 bytes of a vector v.
#if TF32
#define PARTS 2
#else
#define PARTS 1
#endif

extern "C" __global__ void __launch_bounds__(BLOCK, 4)
    blend(const __grid_constant__ BlendParams args) {
    begin_kernel();
    // V. Halves: all 8 entries; TF32: entries 0 to 3 of all Gaussians, then 4 to 7. 8 Gaussians
    // form a B operand in this layout, a word a lane.
    __shared__ uint4 vectors[PARTS][BLOCK];
    __shared__ float4 colours[BLOCK];
    // Exponents of each pixel with 8 Gaussians: halves in the order of the product, or two float4
    // a row, exchanged in every other four rows, so that neither the stores of accumulators nor
    // the loads of rows have bank conflicts. An accumulator's row is one pixel, spread over four
    // lanes; after the exchange a lane has its pixel's 8 exponents.
#if TF32
    __shared__ float4 exponents[BLOCK / WARP][WARP][2];
#else
    __shared__ uint4 exponents[BLOCK / WARP][WARP];
#endif
    if (args.counters->overflowed) return;
    u32 thread = threadIdx.x, lane = thread % WARP, warp = thread / WARP;
    u32 group = lane / 4, member = lane % 4;
    u32 tile = blockIdx.x;
    u32 tile_x = tile % args.camera.tiles_x * TILE, tile_y = tile / args.camera.tiles_x * TILE;
    u32 warp_x = tile_x + warp % (TILE / WARP_WIDTH) * WARP_WIDTH;
    u32 warp_y = tile_y + warp / (TILE / WARP_WIDTH) * WARP_HEIGHT;
    u32 x = warp_x + lane % WARP_WIDTH, y = warp_y + lane / WARP_WIDTH;
    bool inside = x < args.camera.width && y < args.camera.height;
#if LOCAL
    // Equation 19: the tile's centre, a corner of four pixels.
    Point origin = {tile_x + TILE / 2.0f, tile_y + TILE / 2.0f};
#else
    Point origin = {0.0f, 0.0f};
#endif

    // U^T, a row a pixel: the A operands of two products, pixels 0 to 15 and 16 to 31 of the warp.
    u32 pixels[2][2 * PARTS];
    for (u32 part = 0; part < 4; ++part) {
        u32 row = part * 8 + group;
        Point p = {(float)(warp_x + row % WARP_WIDTH) + 0.5f - origin.x,
                   (float)(warp_y + row / WARP_WIDTH) + 0.5f - origin.y};
#if TF32
        pixels[part / 2][part % 2] = to_tf32(basis(member, p));
        pixels[part / 2][part % 2 + 2] = to_tf32(basis(member + 4, p));
#else
        pixels[part / 2][part % 2] = pack_half2(basis(2 * member, p), basis(2 * member + 1, p));
#endif
    }

    uint2 range = list_range(args.ranges, tile);
    float transmittance = 1.0f, red = 0.0f, green = 0.0f, blue = 0.0f;
    float least = inside ? MIN : NEVER;
#if COUNT
    u32 evaluated = 0, blended = 0;
#endif
    for (u32 start = range.x; start < range.y; start += BLOCK) {
        // This barrier also keeps the next batch from overwriting this one.
        if (__syncthreads_and(least == NEVER)) break;
        // Beyond the list's end, an exponent that no pixel blends.
        float v[6] = {-6e4f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
        if (start + thread < range.y) {
            ReadOnly<float4> from = splat_of_pair(args, args.pairs[start + thread]);
            colours[thread] = from[2];
            coefficients(v, from[0], from[1], origin);
        }
#if TF32
        float third = v[0] * (1.0f / 3.0f);
        vectors[0][thread] =
            make_uint4(to_tf32(third), to_tf32(third), to_tf32(third), to_tf32(v[1]));
        vectors[1][thread] = make_uint4(to_tf32(v[2]), to_tf32(v[3]), to_tf32(v[4]), to_tf32(v[5]));
#else
        vectors[0][thread] = in_halves(v);
#endif
        __syncthreads();
        u32 batch = min(range.y - start, (u32)BLOCK);
        const float4* group_colours = colours;
        const u32* columns = (const u32*)vectors + lane;
        for (u32 first = 0; first < batch;
             first += GROUP, group_colours += GROUP, columns += WARP) {
            if (__all_sync(FULL_MASK, least == NEVER)) break;
            // All lanes have read the exponents of the 8 Gaussians before.
            __syncwarp();
            u32 column = columns[0];
#if TF32
            const float none[4] = {0.0f, 0.0f, 0.0f, 0.0f};
            for (u32 half = 0; half < 2; ++half) {
                float d[4];
                u32 both[2] = {column, columns[4 * BLOCK]};
                mma_m16n8k8_tf32(d, pixels[half], both, none);
                u32 row = half * 16 + group, at = (member / 2) ^ (group / 4);
                ((float2*)&exponents[warp][row][at])[member % 2] = make_float2(d[0], d[1]);
                ((float2*)&exponents[warp][row + 8][at])[member % 2] = make_float2(d[2], d[3]);
            }
            __syncwarp();
            u32 exchanged = lane / 4 % 2;
            float4 low = exponents[warp][lane][exchanged],
                   high = exponents[warp][lane][1 - exchanged];
            float betas[GROUP] = {low.x, low.y, low.z, low.w, high.x, high.y, high.z, high.w};
#else
            const u32 none[2] = {0, 0};
            for (u32 half = 0; half < 2; ++half) {
                u32 d[2];
                mma_m16n8k8(d, pixels[half], column, none);
                u32* to = (u32*)exponents[warp] + half * 64 + lane;
                to[0] = d[0];
                to[32] = d[1];
            }
            __syncwarp();
            uint4 row = exponents[warp][lane];
            float betas[GROUP] = {half_low(row.x),  half_high(row.x), half_low(row.y),
                                  half_high(row.y), half_low(row.z),  half_high(row.z),
                                  half_low(row.w),  half_high(row.w)};
#endif
#pragma unroll
            for (u32 k = 0; k < GROUP; ++k) {
#if COUNT
                evaluated += least < NEVER && first + k < batch;
#endif
#if EARLY_CULL
                bool visible = betas[k] >= least;
                if (!__any_sync(FULL_MASK, visible)) continue;
                float alpha = exp2_approx(betas[k]);
#else
                float alpha = exp2_approx(betas[k]);
                bool visible = alpha >= least;
                if (!__any_sync(FULL_MASK, visible)) continue;
#endif
                alpha = fminf(alpha, args.camera.alpha_max);
                float next = as_kept(fmaf(-alpha, transmittance, transmittance));
                bool blends = visible && next >= TRANSMITTANCE_MIN;
                float weight = alpha * transmittance;
                float4 colour = group_colours[k];
                if (visible != blends) least = NEVER;
                if (blends) {
                    red = fmaf(weight, colour.x, red);
                    green = fmaf(weight, colour.y, green);
                    blue = fmaf(weight, colour.z, blue);
                    transmittance = next;
                }
#if COUNT
                blended += blends;
#endif
            }
        }
    }
#if COUNT
    add_fragments(args.counters, evaluated, blended, lane);
#else
    if (inside) {
        u32 at = y * args.camera.width + x;
        write_pixel(args, at, transmittance, red, green, blue);
    }
#endif
}
