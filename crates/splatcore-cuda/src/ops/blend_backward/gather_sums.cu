// gather_sums: from the four arrays of sums that `atomic` and its kin add to, to a row a splat.
//
// Contract. Reads `from` (SplatSums, blend_backward.cuh) and writes `sums` ([visible][12], f32),
// row s for the splat of compacted index s, as `sum_pairs` does for the other methods. Indices of
// several ranks' splats have gaps (gather_splats.cu), whose rows are 0.
//
// Launch. A thread a splat, blocks of 256.
//
// Bound. Memory: 44 bytes read and 48 written a splat.

#define BLOCK 256  // tune: 64 128 256 512

#include "blend_backward.cuh"

// Parameters of `gather_sums`; in Rust by the same name.
struct GatherSumsParams {
    float* from;         // as SplatSums says
    u32 splat_capacity;  // splats that `from` has room for
    const Counters* counters;
    float4* sums;  // a row of 12 floats for each compacted index
};
extern "C" __global__ void __launch_bounds__(BLOCK)
    gather_sums(const __grid_constant__ GatherSumsParams args) {
    begin_kernel();
    u32 splat_index = blockIdx.x * BLOCK + threadIdx.x;
    if (args.counters->overflowed || splat_index >= args.splat_capacity) return;
    SplatSums from(args.from, args.splat_capacity);
    float4 conic = ((const float4*)from.conics)[splat_index];
    const float *mean = from.means + 3ull * splat_index,
                *colour = from.colours + 3ull * splat_index;
    float4* to = args.sums + 3ull * splat_index;
    to[0] = make_float4(from.opacities[splat_index], mean[0], mean[1], conic.x);
    to[1] = make_float4(conic.y, conic.w, colour[0], colour[1]);
    to[2] = make_float4(colour[2], 0.0f, 0.0f, 0.0f);
}
