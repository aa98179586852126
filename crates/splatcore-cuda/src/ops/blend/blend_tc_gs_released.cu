// blend, methods `tc-gs-released` and the same with one difference taken away each: TC-GS (Liao et
// al. 2025, section 4) in the arithmetic of the code that its authors released.
//
// Contract. As blend_tc_gs.cu with EARLY_CULL and LOCAL. Its differences, of which the paper says
// nothing:
//   HALF_EXP 1: alpha is the exponential of two halves at once.
//   HALF_BLEND 1: transmittance, weight and the sums of colour are halves; a colour is added as two
//   fused products of pairs. A pixel is off by 2^-11 of its sums for each fragment at most.
//   STOP_EACH 0: a pixel looks once every 16 Gaussians whether its transmittance is below 1e-4, and
//   blends until then; 1: in front of each fragment that would leave less.
//   VOTE 0: each lane branches for itself; 1: a warp passes over what no lane blends, and ends when
//   all its pixels have stopped.
// tc-gs-released 1 1 0 0; -exp-f32 0 1 0 0; -blend-f32 1 0 0 0; -stop-each 1 1 1 0; -vote 1 1 0 1.
// Fragments are counted by `tc-gs`.
//
// Launch. A block of 256 threads a tile, a warp 8x4 pixels, a lane one pixel. 14 KB of shared
// memory, 256 Gaussians at a time.
//
// Bound. Instructions.
//
// Now. 227 us (accutile, fox_220k, 1080x1920, H200). History:
// docs/log/kernels/blend-tc-gs.md.

#include "tc_gs.cuh"

#define GROUP 16  // Gaussians of two products

// A half twice, from a pair's low (0) or high (1) half.
__device__ __forceinline__ u32 twice(u32 pair, u32 high) {
    return (pair >> 16 * high & 0xffffu) * 0x10001u;
}

// What a pixel has gathered.
#if HALF_BLEND
typedef uint2 Colour;  // halves: red and green, blue and nothing

struct Pixel {
    u32 transmittance;  // a half twice
    u32 red_green, blue;

    __device__ __forceinline__ float left() const { return half_low(transmittance); }

    // Blends a fragment; with STOP_EACH false, and nothing done, if it would leave too little.
    __device__ __forceinline__ bool add(u32 alpha, Colour colour) {
        u32 next = subtract_product_half2(transmittance, alpha, transmittance);
#if STOP_EACH
        if (half_low(next) < TRANSMITTANCE_MIN) return false;
#endif
        u32 weight = multiply_half2(alpha, transmittance);
        red_green = multiply_add_half2(weight, colour.x, red_green);
        blue = multiply_add_half2(weight, colour.y, blue);
        transmittance = next;
        return true;
    }
};
#else
typedef float4 Colour;

struct Pixel {
    float transmittance, red, green, blue;

    __device__ __forceinline__ float left() const { return transmittance; }

    __device__ __forceinline__ bool add(u32 alpha, Colour colour) {
        float weight = half_low(alpha) * transmittance, next = transmittance - weight;
#if STOP_EACH
        if (next < TRANSMITTANCE_MIN) return false;
#endif
        red = fmaf(weight, colour.x, red);
        green = fmaf(weight, colour.y, green);
        blue = fmaf(weight, colour.z, blue);
        transmittance = next;
        return true;
    }
};
#endif

// Alphas of two Gaussians, from their exponents.
__device__ __forceinline__ u32 alphas_of(u32 betas, u32 alpha_max) {
#if HALF_EXP
    u32 alphas = exp2_half2(betas);
#else
    u32 alphas = pack_half2(exp2_approx(half_low(betas)), exp2_approx(half_high(betas)));
#endif
    return min_half2(alphas, alpha_max);
}

extern "C" __global__ void __launch_bounds__(BLOCK, 4)
    blend(const __grid_constant__ BlendParams args) {
    begin_kernel();
    __shared__ uint4 vectors[BLOCK];  // V, a splat's 8 halves; 8 splats form a B operand
    __shared__ Colour colours[BLOCK];
    // Exponents of each pixel with 8 Gaussians and with the next 8, in the order of the products.
    __shared__ uint4 exponents[BLOCK / WARP][2][WARP];
    if (args.counters->overflowed) return;
    u32 thread = threadIdx.x, lane = thread % WARP, warp = thread / WARP;
    u32 tile = blockIdx.x;
    u32 tile_x = tile % args.camera.tiles_x * TILE, tile_y = tile / args.camera.tiles_x * TILE;
    u32 warp_x = tile_x + warp % (TILE / WARP_WIDTH) * WARP_WIDTH;
    u32 warp_y = tile_y + warp / (TILE / WARP_WIDTH) * WARP_HEIGHT;
    u32 x = warp_x + lane % WARP_WIDTH, y = warp_y + lane / WARP_WIDTH;
    Point origin = {tile_x + TILE / 2.0f, tile_y + TILE / 2.0f};

    // U^T, a row a pixel: the A operands of two products, pixels 0 to 15 and 16 to 31 of the warp.
    u32 pixels[2][2];
    for (u32 part = 0; part < 4; ++part) {
        u32 row = part * 8 + lane / 4, member = lane % 4;
        Point p = {(float)(warp_x + row % WARP_WIDTH) + 0.5f - origin.x,
                   (float)(warp_y + row / WARP_WIDTH) + 0.5f - origin.y};
        pixels[part / 2][part % 2] = pack_half2(basis(2 * member, p), basis(2 * member + 1, p));
    }

    uint2 range = list_range(args.ranges, tile);
    bool inside = x < args.camera.width && y < args.camera.height, done = !inside;
    u32 least = pack_half2(-LOG2_255, -LOG2_255),
        alpha_max = pack_half2(args.camera.alpha_max, args.camera.alpha_max);
#if HALF_BLEND
    Pixel pixel = {0x3c003c00u, 0, 0};  // 1, 1
#else
    Pixel pixel = {1.0f, 0.0f, 0.0f, 0.0f};
#endif
    for (u32 start = range.x; start < range.y; start += BLOCK) {
        // This barrier also keeps the next batch from overwriting this one.
        if (__syncthreads_and(done)) break;
        // Beyond the list's end, an exponent that no pixel blends.
        float v[6] = {-6e4f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
        if (start + thread < range.y) {
            ReadOnly<float4> from = splat_of_pair(args, args.pairs[start + thread]);
            coefficients(v, from[0], from[1], origin);
            float4 colour = from[2];
#if HALF_BLEND
            colours[thread] =
                make_uint2(pack_half2(colour.x, colour.y), pack_half2(colour.z, 0.0f));
#else
            colours[thread] = colour;
#endif
        }
        vectors[thread] = in_halves(v);
        __syncthreads();
        u32 batch = min(range.y - start, (u32)BLOCK);
        for (u32 first = 0; first < batch; first += GROUP) {
#if VOTE
            if (__all_sync(FULL_MASK, done)) break;
#endif
            // All lanes have read the exponents of the Gaussians before.
            __syncwarp();
            const u32 none[2] = {0, 0};
            for (u32 part = 0; part < 4; ++part) {
                u32 d[2], column = ((const u32*)&vectors[first + part / 2 * 8])[lane];
                mma_m16n8k8(d, pixels[part % 2], column, none);
                u32* to = (u32*)exponents[warp][part / 2] + part % 2 * 64 + lane;
                to[0] = d[0];
                to[32] = d[1];
            }
            __syncwarp();
            uint4 low = exponents[warp][0][lane], high = exponents[warp][1][lane];
            const u32 betas[GROUP / 2] = {low.x,  low.y,  low.z,  low.w,
                                          high.x, high.y, high.z, high.w};
#pragma unroll
            for (u32 k = 0; k < GROUP; ++k) {
                u32 seen = mask_ge_half2(betas[k / 2], least) >> 16 * (k % 2) & 1;
                bool visible = seen && !done;
#if VOTE
                if (!__any_sync(FULL_MASK, visible)) continue;
#endif
                if (!visible) continue;
                u32 alpha = twice(alphas_of(betas[k / 2], alpha_max), k % 2);
                if (!pixel.add(alpha, colours[first + k])) done = true;
            }
            if (pixel.left() < TRANSMITTANCE_MIN) done = true;
        }
    }
    if (!inside) return;
    u32 at = y * args.camera.width + x;
#if HALF_BLEND
    write_pixel(args, at, pixel.left(), half_low(pixel.red_green), half_high(pixel.red_green),
                half_low(pixel.blue));
#else
    write_pixel(args, at, pixel.left(), pixel.red, pixel.green, pixel.blue);
#endif
}
