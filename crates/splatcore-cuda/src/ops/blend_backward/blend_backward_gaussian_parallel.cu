// blend_backward, method `gaussian-parallel`.
//
// Contract. Writes the nine sums of each (tile, splat) pair into `pair_sums` ([pairs][12], f32, the
// last 3 unused); blend_backward_atomic.cu has the inputs and formulas. A warp takes a bucket of 32
// consecutive splats of a tile's list. A lane holds one splat and its sums in registers; the tile's
// pixels pass from lane to lane with their transmittance and remainder R ("Taming 3DGS", Mallick et
// al. 2024, section 5). The forward pass (CHECKPOINTS in blend_scalar.cu and blend_subtile.cu)
// writes what this kernel reads: `bucket_tiles` (the tile of each bucket + 1, 0 for none),
// `checkpoints` (T and colour of each pixel before each bucket but a tile's first) and `stops` (the
// place in the list where a pixel stopped).
// Two differences from the paper: a lane writes its pair's own row instead of adding atomically,
// and `sum_pairs` adds the rows in a fixed order, so equal runs give equal bits; rows of 32 pixels
// that all stopped before the bucket are left out.
// Place i of a tile's list [x, y) is in bucket x/32 + tile + (i - x)/32, which needs no scan:
// floor(x / 32) + ceil((y - x) / 32) <= floor(y / 32) + 1, so no two tiles share a number. Some
// stay unused.
//
// Launch. One block of one warp a bucket, so that the compiler can treat all branches but one as
// uniform; 1.5 KB of shared memory.
//
// Bound. Instructions: 50 a step, 9 x 32 steps a bucket (the last 32 drain the warp), whatever the
// splats touch. fox_220k: 44 k buckets, an estimated 630 M warp instructions, 600 us at full rate.
//
// Now. 859 us (fox_220k, 1080x1920, H200). History: docs/log/kernels/blend-backward.md

#include "blend_backward.cuh"

#define CHUNKS (TILE * TILE / WARP)  // two rows of the tile's pixels each
#define SUMS 9

extern "C" __global__ void __launch_bounds__(WARP)
    blend_backward(const __grid_constant__ BlendBackwardParams args) {
    begin_kernel();
    // The chunk that passes through the lanes, then the chunk that enters: (gradient, x) and y.
    // `states` holds transmittance and remainder R of the chunk that enters.
    __shared__ float4 pixels[2 * WARP];
    __shared__ float pixels_y[2 * WARP];
    __shared__ float2 states[WARP];
    if (args.counters->overflowed) return;  // a buffer overflowed: the frame is void
    u32 lane = threadIdx.x, bucket = blockIdx.x;
    u32 tile = args.bucket_tiles[bucket];
    if (tile == 0) return;
    --tile;
    uint2 range = list_range(args.ranges, tile);
    u32 first = range.x + WARP * (bucket - tile - range.x / WARP);
    u32 length = min(range.y - first, (u32)WARP);
    u32 number = lane < length ? args.pairs[first + lane] : 0;
    u32 x = tile % args.camera.tiles_x * TILE + lane % TILE,
        y0 = tile / args.camera.tiles_x * TILE + lane / TILE;
    u32 plane = args.camera.width * args.camera.height;

    // Bit c: the lane's pixel of chunk c has not stopped before this bucket.
    u32 going = 0;
    for (u32 chunk = 0; chunk < CHUNKS; ++chunk) {
        u32 y = y0 + chunk * (WARP / TILE);
        if (x < args.camera.width && y < args.camera.height &&
            args.stops[y * args.camera.width + x] > first)
            going |= 1u << chunk;
    }

    float total[SUMS] = {};
    if (__any_sync(FULL_MASK, going != 0)) {
        // Lanes without a splat have opacity 0 and let pixels pass unchanged.
        float4 mean2d = make_float4(0.0f, 0.0f, -1e9f, 0.0f), conic = {}, colour = {};
        if (lane < length) {
            ReadOnly<float4> from = splat_row(args.splats, args.pair_splats[number]);
            mean2d = from[0];
            conic = from[1];
            colour = from[2];
        }
        // No pixel has arrived yet: transmittance 0 makes a placeholder pixel add nothing.
        float transmittance = 0.0f, behind = 0.0f;
        float4 entered = {};
        float entered_y = 0.0f;
        // The extra iteration moves the last chunk through to the last splat.
        for (u32 chunk = 0; chunk <= CHUNKS; ++chunk) {
            bool alive = going >> chunk & 1;
            if (chunk < CHUNKS && !__any_sync(FULL_MASK, alive)) continue;
            // All lanes have read the last chunk's pixels before they are overwritten.
            __syncwarp();
            pixels[lane] = entered;
            pixels_y[lane] = entered_y;
            u32 y = y0 + chunk * (WARP / TILE);
            entered = make_float4(0.0f, 0.0f, 0.0f, x + 0.5f);
            entered_y = y + 0.5f;
            float2 state = make_float2(0.0f, 0.0f);
            if (alive) {
                u32 at = y * args.camera.width + x;
                entered.x = args.gradient[at];
                entered.y = args.gradient[plane + at];
                entered.z = args.gradient[2 * plane + at];
                float red = args.image[at], green = args.image[plane + at],
                      blue = args.image[2 * plane + at];
                state.x = 1.0f;
                if (first > range.x) {
                    float4 before = args.checkpoints[(u64)(bucket - tile - 1) * (TILE * TILE) +
                                                     chunk * WARP + lane];
                    state.x = before.x;
                    red -= before.y;
                    green -= before.z;
                    blue -= before.w;
                }
                state.y = fmaf(entered.x, red, fmaf(entered.y, green, entered.z * blue));
            }
            pixels[WARP + lane] = entered;
            pixels_y[WARP + lane] = entered_y;
            states[lane] = state;
            __syncwarp();
#pragma unroll 4
            for (u32 step = 0; step < WARP; ++step) {
                transmittance = __shfl_up_sync(FULL_MASK, transmittance, 1);
                behind = __shfl_up_sync(FULL_MASK, behind, 1);
                float2 entering = states[step];
                if (lane == 0) {
                    transmittance = entering.x;
                    behind = entering.y;
                }
                float4 pixel = pixels[WARP - lane + step];
                float dx = pixel.w - mean2d.x, dy = pixels_y[WARP - lane + step] - mean2d.y;
                float exponent =
                    fmaf(fmaf(conic.x, dx, conic.y * dy), dx, fmaf(conic.z * dy, dy, mean2d.z));
                float raw = exp2_approx(exponent);
                float alpha = fminf(raw, args.camera.alpha_max);
                if (!(raw >= ALPHA_MIN)) alpha = 0.0f;
                float weight = alpha * transmittance;
                float next = fmaf(-alpha, transmittance, transmittance);
                // The pixel stops here, or stopped before.
                if (next < TRANSMITTANCE_MIN) next = weight = 0.0f;
                float toward = transmittance;
                transmittance = next;
                if (!(weight > 0.0f)) continue;
                toward *= fmaf(pixel.x, colour.x, fmaf(pixel.y, colour.y, pixel.z * colour.z));
                behind = fmaf(-alpha, toward, behind);
                float v = alpha * fmaf(-behind, reciprocal_approx(1.0f - alpha), toward);
                // A capped alpha is constant, so its derivative is 0.
                if (raw >= args.camera.alpha_max) v = 0.0f;
                float vx = v * dx, vy = v * dy;
                total[0] += v;
                total[1] += vx;
                total[2] += vy;
                total[3] = fmaf(vx, dx, total[3]);
                total[4] = fmaf(vx, dy, total[4]);
                total[5] = fmaf(vy, dy, total[5]);
                total[6] = fmaf(weight, pixel.x, total[6]);
                total[7] = fmaf(weight, pixel.y, total[7]);
                total[8] = fmaf(weight, pixel.z, total[8]);
            }
        }
    }
    // If no pixel reached the bucket, its pairs still need rows: zeros.
    if (lane < length) {
        float4* to = args.pair_sums + 3ull * number;
        to[0] = make_float4(total[0], total[1], total[2], total[3]);
        to[1] = make_float4(total[4], total[5], total[6], total[7]);
        to[2] = make_float4(total[8], 0.0f, 0.0f, 0.0f);
    }
}
