// accumulate: adds a frame's gradients to those of the step's frames before.
//
// Contract. Reads `gradients` of project_backward.cu ([splats][16], by compacted index) and adds
// them to the rows of their Gaussians: `rows` ([n], gradient_row.cuh) and `sh` ([n][SH_ROW], only
// the harmonics in use), dL/dsh[k][c] = basis[k] * dL/dcolour[c]. Rows of Gaussians that the frame
// does not show stay. All are zeroed before the first frame of a step. A thread owns its row, so
// that the sums are added in the order of the frames. CPU twin: splatcore-cpu/src/batch.rs.
//   SH_DEGREE in use; SH_ROW floats stored for a Gaussian.
//
// Launch. One thread a Gaussian, blocks of 256.
//
// Bound. Memory: at degree 3 580 bytes a splat are read and 256 written.
//
// Now. Not measured yet: steps of one frame do not run it.

#include "gradient_row.cuh"

#define USED (3 * (SH_DEGREE + 1) * (SH_DEGREE + 1))

// Parameters of `accumulate`; in Rust by the same name.
struct AccumulateParams {
    ReadOnly<float> means;       // [count][3], world
    ReadOnly<u32> splat_of;      // compacted index of each Gaussian, see NO_SPLAT
    ReadOnly<float4> gradients;  // a row of 16 floats for each compacted index
    ReadOnly<u32> gaussians;     // the number of Gaussians
    Camera camera;
    GradientRow* rows;  // [count]
    float* sh;          // [count][coefficients][3]
    const Counters* counters;
};
extern "C" __global__ void __launch_bounds__(BLOCK)
    accumulate(const __grid_constant__ AccumulateParams args) {
    begin_kernel();
    u32 i = blockIdx.x * BLOCK + threadIdx.x;
    const u32 count = args.gaussians[0];
    if (args.counters->overflowed || i >= count) return;
    u32 word = args.splat_of[i], splat_index = word & ~IN_VIEW;
    bool in_view = word & IN_VIEW, has_splat = splat_index != NO_SPLAT;
    if (!has_splat && !in_view) return;
    GradientRow row = args.rows[i];
    row.in_view += in_view;
    if (!has_splat) {
        args.rows[i] = row;
        return;
    }
    float4 g[4];
    for (int k = 0; k < 4; ++k) g[k] = args.gradients[4ull * splat_index + k];
    row.mean[0] += g[0].x;
    row.mean[1] += g[0].y;
    row.mean[2] += g[0].z;
    row.log_scales[0] += g[0].w;
    row.log_scales[1] += g[1].x;
    row.log_scales[2] += g[1].y;
    row.rotation[0] += g[1].z;
    row.rotation[1] += g[1].w;
    row.rotation[2] += g[2].x;
    row.rotation[3] += g[2].y;
    row.opacity_logit += g[2].z;
    if (in_view) row.ndc_norm += g[3].z;
    row.splats += 1;
    args.rows[i] = row;
    const float colour[3] = {g[2].w, g[3].x, g[3].y};
    Vec3 unit;
    view_direction({args.means[3ull * i], args.means[3ull * i + 1], args.means[3ull * i + 2]},
                   args.camera, unit);
    float b[16];
    sh_basis(SH_DEGREE, unit, b);
    float* sh = args.sh + (u64)i * SH_ROW;
#pragma unroll
    for (int k = 0; k < USED; ++k) sh[k] = fmaf(b[k / 3], colour[k % 3], sh[k]);
}
