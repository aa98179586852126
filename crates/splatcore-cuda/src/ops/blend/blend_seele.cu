// blend, method `seele`: culls by tile, then by alpha at the centre of a group of pixels.
//
// Contract. As blend_scalar.cu, with the same inputs, outputs and shapes, for other fragments. A
// group of 4x2 pixels blends the splats whose alpha at the group's centre is 1/255 or more, at each
// of its pixels and whatever alpha is there, and no others (Seele, Huang et al. 2025, section 4).
// docs/methods/seele.md. Twin: splatcore-reference/src/twin/blend.rs, `shared_point`.
//   COUNT 1 counts fragments and writes no image.
//
// Launch. A block of 256 threads (8 warps) a tile; a warp has 8x4 pixels in four groups. The list
// passes through 12 KB of shared memory, 256 splats at a time.
//
// Bound. Instructions. A lane tests 4 of 32 splats for its group; groups of a warp walk lists of
// their own, so that a warp takes as long as the longest of four.
//
// Now. 222 us for fox_220k at 1080x1920 on an H200. History: docs/log/kernels/blend-subtile.md.

#include "blend.cuh"
#include "subtile.cuh"

#define GROUP_X 4
#define GROUP_Y 2
#define GROUP (GROUP_X * GROUP_Y)  // pixels, and splats that a group tests at once

extern "C" __global__ void __launch_bounds__(BLOCK)
    blend(const __grid_constant__ BlendParams args) {
    begin_kernel();
    __shared__ Batch batch;
    if (args.counters->overflowed) return;
    u32 thread = threadIdx.x, lane = thread % WARP, warp = thread / WARP;
    u32 tile = blockIdx.x;
    u32 group = lane / GROUP, member = lane % GROUP;
    u32 x0 = tile % args.camera.tiles_x * TILE + warp % 2 * SUBTILE_X + group % 2 * GROUP_X,
        y0 = tile / args.camera.tiles_x * TILE + warp / 2 * SUBTILE_Y + group / 2 * GROUP_Y;
    u32 x = x0 + member % GROUP_X, y = y0 + member / GROUP_X;
    bool inside = x < args.camera.width && y < args.camera.height;
    // Pixel centres are at +0.5, so their middle is half a group from its corner. Limited to
    // the last pixel's centre: a splat that reaches only points beyond is in no list.
    float middle_x = fminf(x0 + GROUP_X / 2, args.camera.width - 0.5f),
          middle_y = fminf(y0 + GROUP_Y / 2, args.camera.height - 0.5f);
    uint2 range = list_range(args.ranges, tile);
    float transmittance = 1.0f, red = 0.0f, green = 0.0f, blue = 0.0f;
    bool done = !inside;
    u32 evaluated = 0, blended = 0;
    for (u32 start = range.x; start < range.y; start += BLOCK) {
        // This barrier also keeps the next batch from overwriting this one.
        if (__syncthreads_and(done)) break;
        load_batch(batch, args, start, range.y);
        __syncthreads();
        u32 count = min(range.y - start, (u32)BLOCK);
        for (u32 first = 0; first < count; first += WARP) {
            if (__all_sync(FULL_MASK, done)) break;
            u32 passed = 0;  // bit k: splat first + k, of this group
            for (u32 tested = 0; tested < WARP; tested += GROUP) {
                u32 own = first + tested + member;
                // False for NaN.
                bool passes = own < count && log2_alpha(batch.means[own], batch.conics[own],
                                                        middle_x, middle_y) >= -LOG2_255;
                u32 all = __ballot_sync(FULL_MASK, passes);
                passed |= (all >> group * GROUP & ((1u << GROUP) - 1)) << tested;
            }
            for (u32 left = done ? 0 : passed; left; left &= left - 1) {
                u32 k = first + __ffs(left) - 1;
                float raw =
                    exp2_approx(log2_alpha(batch.means[k], batch.conics[k], x + 0.5f, y + 0.5f));
                float alpha = fminf(raw, args.camera.alpha_max);
#if COUNT
                ++evaluated;
#endif
                float next = fmaf(-alpha, transmittance, transmittance);
                if (next < TRANSMITTANCE_MIN) {
                    done = true;
                    break;
                }
#if COUNT
                ++blended;
#endif
                float weight = alpha * transmittance;
                float4 colour = batch.colours[k];
                red = fmaf(weight, colour.x, red);
                green = fmaf(weight, colour.y, green);
                blue = fmaf(weight, colour.z, blue);
                transmittance = next;
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
