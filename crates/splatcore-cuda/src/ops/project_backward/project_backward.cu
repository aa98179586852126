// project_backward: from the gradients of a splat to those of its Gaussian.
//
// Contract. `sums` has 12 floats a compacted index (`splat`; the last 3 unused): the pixels'
// gradients of the splat. Writes `gradients` ([splats][16]): means 0 to 2, log scales 3 to 5,
// rotation 6 to 9, opacity logit 10, colour 11 to 13, norm of the NDC gradient 14. The steps are
// those of project.cu in reverse (project_backward.cuh). Harmonics have no rows here: dL/dsh[k][c]
// = basis[k] * dL/dcolour[c]. Twin and derivation: splatcore-cpu/src/project_backward.rs, and its
// f64 twin.
//   SH_ROW floats stored for a Gaussian, halves if HALF_SH is 1; the constants of
//   project_backward.cuh.
//
// Launch. One thread a compacted index, blocks of 128.
//
// Bound. Memory and latency: 48 bytes of sums, 44 + 192 + 48 a splat are read, 64 written.
//
// Now. 59 us for fox_220k at 1080x1920 on an H200. History: docs/log/kernels/adam.md.

#include "harmonic.cuh"
#include "matrix.cuh"
#include "project_backward.cuh"
#include "row_blocks.cuh"

#define STRIDE (USED | 1)

#if HALF_SH
__device__ __forceinline__ float number(Harmonic half) { return half_low(half); }
#else
__device__ __forceinline__ float number(Harmonic value) { return value; }
#endif

// Parameters of `project_backward`; in Rust by the same name.
struct ProjectBackwardParams {
    ReadOnly<float> means;           // [count][3], world
    ReadOnly<float> log_scales;      // [count][3]
    ReadOnly<float4> rotations;      // [count], quaternions (w, x, y, z)
    ReadOnly<float> opacity_logits;  // [count]
    ReadOnly<Harmonic> sh;           // [count][coefficients][3]
    Camera camera;
    const Splat* splats;    // by compacted index
    ReadOnly<float4> sums;  // a row of 12 floats for each compacted index
    const Counters* counters;
    float4* gradients;  // a row of 16 floats for each compacted index
    ShapeColumns shape;
    ReadOnly<u32> visible;  // the number of splats
    RowBlocks blocks;       // the rows that have splats
    Lens lens;              // unless LENS is 0
};
extern "C" __global__ void __launch_bounds__(BLOCK)
    project_backward(const __grid_constant__ ProjectBackwardParams args) {
    begin_kernel();
    __shared__ float harmonics[BLOCK / WARP][WARP * STRIDE];
    __shared__ u32 owners[BLOCK / WARP][WARP];
    if (args.counters->overflowed) return;
    u32 visible = args.visible[0];
    u32 splat_index = blockIdx.x * BLOCK + threadIdx.x, lane = threadIdx.x % WARP,
        warp = threadIdx.x / WARP;
    if (splat_index - lane >= visible) return;
    bool valid = splat_index < visible;
    Splat splat = {};
    if (valid) splat = args.splats[splat_index];

    // The warp's rows of harmonics.
    u32 rows_here = min(visible - (splat_index - lane), (u32)WARP);
    owners[warp][lane] = args.blocks.divided ? own_of(splat.gaussian, args.blocks) : splat.gaussian;
    __syncwarp();
#pragma unroll 8
    for (u32 step = 0; step < USED; ++step) {
        u32 k = step * WARP + lane, row = k / USED, column = k - row * USED;
        if (row < rows_here)
            harmonics[warp][row * STRIDE + column] =
                number(args.sh[(u64)owners[warp][row] * SH_ROW + column]);
    }
    float total[12] = {};
    if (valid) load_sums(args.sums, splat_index, total);
    __syncwarp();
    if (!valid) return;

    u32 i = splat.gaussian;
    Vec3 mean = {args.means[3 * i], args.means[3 * i + 1], args.means[3 * i + 2]};
    Vec3 log_scale = {args.log_scales[3 * i], args.log_scales[3 * i + 1],
                      args.log_scales[3 * i + 2]};
    SplatGradient d = splat_gradient(total, splat.a, splat.b, splat.c, mean, log_scale,
                                     args.rotations[i], args.opacity_logits[i],
                                     SHAPE_COLUMNS ? load_shape(args.shape, i) : ShapeNumbers{},
                                     args.camera, args.lens);
    Vec3 colour = colour_gradient(total, splat.clamped);
#if SH_DEGREE >= 1
    const float* row = &harmonics[warp][lane * STRIDE];
    float along[USED / 3];
#pragma unroll
    for (int k = 1; k < USED / 3; ++k)
        along[k] =
            fmaf(row[3 * k], colour.x, fmaf(row[3 * k + 1], colour.y, row[3 * k + 2] * colour.z));
    Vec3 more = direction_gradient(mean, along, args.camera);
    d.mean = {d.mean.x + more.x, d.mean.y + more.y, d.mean.z + more.z};
#endif
    float4* out = args.gradients + 4ull * splat_index;
    out[0] = make_float4(d.mean.x, d.mean.y, d.mean.z, d.log_scales[0]);
    out[1] = make_float4(d.log_scales[1], d.log_scales[2], d.rotation[0], d.rotation[1]);
    out[2] = make_float4(d.rotation[2], d.rotation[3], d.opacity_logit, colour.x);
    out[3] = make_float4(colour.y, colour.z, d.ndc_norm, 0.0f);
}
