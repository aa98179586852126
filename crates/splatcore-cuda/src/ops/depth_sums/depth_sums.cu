// depth_sums: gradients by way of transmittance and inverse depth, by the kernels that blend
// colours.
//
// Contract. The image that splats of the colours (1/z, 1, 0) make on black has inverse depth and 1
// - transmittance for its first two channels. `depth_colours` gives the splats these colours (1/z
// within 2^-20, splat.cuh) for a second blend and backward pass of the same lists; `add_depth_sums`
// adds that pass's sums of place, shape and opacity ([visible][12], columns 0 to 5) to the kept
// sums of the first one, and writes dL/dz of each splat, -(1/z)^2 dL/d(1/z), to column 11, which
// project_backward.cuh reads with DEPTH_COLUMN. For `Renderer::gradients` and steps with a loss on
// depth. CPU twin: splatcore-cpu/src/depth_backward.rs.
//
// Launch. One thread a splat, in depth order: the indices of several ranks' splats have gaps.
// Blocks of 256.

#include "splat.cuh"

// Parameters of `depth_colours`; in Rust by the same name.
struct DepthColoursParams {
    ReadOnly<u32> order;  // compacted indices by depth
    Splat* splats;        // by compacted index
    const Counters* counters;
};
extern "C" __global__ void __launch_bounds__(BLOCK)
    depth_colours(const __grid_constant__ DepthColoursParams args) {
    begin_kernel();
    u32 place = blockIdx.x * BLOCK + threadIdx.x;
    if (args.counters->overflowed || place >= args.counters->visible) return;
    u32 i = args.order[place];
    args.splats[i].red = __uint_as_float(args.splats[i].clamped);
    args.splats[i].green = 1.0f;
    args.splats[i].blue = 0.0f;
}

// Parameters of `add_depth_sums`; in Rust by the same name.
struct AddDepthSumsParams {
    ReadOnly<u32> order;       // compacted indices by depth
    const Splat* splats;       // by compacted index
    ReadOnly<float> of_depth;  // a row of 12 floats for each compacted index
    float* sums;               // likewise
    const Counters* counters;
};
extern "C" __global__ void __launch_bounds__(BLOCK)
    add_depth_sums(const __grid_constant__ AddDepthSumsParams args) {
    begin_kernel();
    u32 place = blockIdx.x * BLOCK + threadIdx.x;
    if (args.counters->overflowed || place >= args.counters->visible) return;
    u32 i = args.order[place];
    float* to = args.sums + 12ull * i;
    for (int k = 0; k < 6; ++k) to[k] += args.of_depth[12ull * i + k];
    float inverse_z = __uint_as_float(args.splats[i].clamped);
    to[OF_DEPTH] = -inverse_z * inverse_z * args.of_depth[12ull * i + 6];
}
