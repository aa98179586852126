// visibility: how much of each Gaussian a view shows.
//
// Contract. Walks the tiles' lists as blend_scalar.cu does (`pairs`, `ranges`: after sort.cu) and
// adds, for each Gaussian, three sums over its fragments into `sums` ([3][gaussians], which the
// host has zeroed): alpha T, T, and 1; splatcore_core::backend::Visibility. The first two in units
// of 2^-36: additions of whole numbers have no order, so equal calls give equal bits. Twin:
// splatcore-cpu/src/blend_scalar.rs.
//
// Launch. A block of 256 threads a tile, one thread a pixel; 8 KB of shared memory, 256 splats at a
// time.
//
// Bound. Atomic units of the L2 cache, 3 additions a (splat, warp) pair that contributes: 14 M for
// fox_220k at 1080x1920, as counted in docs/log/kernels/blend-backward.md.
//
// Now. Not measured: a scene is scored once, by one frame a photo.

#include "blend.cuh"

// Parameters of `visibility`; in Rust by the same name.
struct VisibilityParams {
    const Splat* splats;     // by compacted index
    ReadOnly<u32> pairs;     // the tiles' lists, each front to back: compacted indices
    ReadOnly<uint2> ranges;  // where a tile's list is in `pairs`, see `list_range`
    Camera camera;
    const Counters* counters;
    u32 gaussians;
    u64* sums;  // [3][gaussians]
};

// The sum of a value over the warp, valid in lane 0.
__device__ __forceinline__ float sum_of_warp(float value) {
    for (int offset = WARP / 2; offset > 0; offset /= 2)
        value += __shfl_down_sync(FULL_MASK, value, offset);
    return value;
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    visibility(const __grid_constant__ VisibilityParams args) {
    begin_kernel();
    __shared__ float4 means[BLOCK];         // mean x, mean y, log2 opacity, Gaussian
    __shared__ float4 conics[BLOCK];        // a, b, c
    if (args.counters->overflowed) return;  // a buffer overflowed: the frame is void
    u32 thread = threadIdx.x;
    u32 tile = blockIdx.x;
    u32 x = tile % args.camera.tiles_x * TILE + thread % TILE,
        y = tile / args.camera.tiles_x * TILE + thread / TILE;
    float px = x + 0.5f, py = y + 0.5f;
    uint2 range = list_range(args.ranges, tile);
    float transmittance = 1.0f;
    bool done = x >= args.camera.width || y >= args.camera.height;
    for (u32 start = range.x; start < range.y; start += BLOCK) {
        // This barrier also keeps the next batch from overwriting this one.
        if (__syncthreads_and(done)) break;
        if (start + thread < range.y) {
            ReadOnly<float4> from = splat_row(args.splats, args.pairs[start + thread]);
            means[thread] = from[0];
            conics[thread] = from[1];
        }
        __syncthreads();
        u32 count = min(range.y - start, (u32)BLOCK);
        for (u32 k = 0; k < count; ++k) {
            float raw = exp2_approx(log2_alpha(means[k], conics[k], px, py));
            float alpha = fminf(raw, args.camera.alpha_max);
            // The first comparison also drops NaN.
            bool skip = done || !(raw >= ALPHA_MIN);
            float next = fmaf(-alpha, transmittance, transmittance);
            if (!skip && next < TRANSMITTANCE_MIN) done = skip = true;
            u32 blending = __ballot_sync(FULL_MASK, !skip);
            if (!blending) continue;
            float weight = sum_of_warp(skip ? 0.0f : alpha * transmittance);
            float light = sum_of_warp(skip ? 0.0f : transmittance);
            if (!skip) transmittance = next;
            if (thread % WARP == 0) {
                u64* sums = args.sums + __float_as_uint(means[k].w);
                atomicAdd(sums, (u64)(weight * UNITS));
                atomicAdd(sums + args.gaussians, (u64)(light * UNITS));
                atomicAdd(sums + 2ull * args.gaussians, (u64)__popc(blending));
            }
        }
    }
}
