// accumulate: adds a frame's gradients to those of the step's frames before.
//
// Contract. Reads `gradients` of project_backward.cu ([splats][16], by compacted index) and adds
// them to the rows of their Gaussians: `rows` ([n], gradient_row.cuh) and `sh` ([n][SH_ROW], only
// the harmonics in use), dL/dsh[k][c] = basis[k] * dL/dcolour[c]. Rows of Gaussians that the frame
// does not show stay; the first frame of a step writes all rows. The sums are added in the order of
// the frames. CPU twin: splatcore-cpu/src/batch.rs.
//   SH_DEGREE in use; SH_ROW floats stored for a Gaussian. A rank's rows alone, by which `splat_of`
//   goes.
//
// Launch. Blocks of 256; a lane a Gaussian for the rows, a lane four harmonics of a warp's
// Gaussians for those, so that neighbouring lanes write neighbouring memory.
//
// Bound. Memory: at degree 3 576 bytes a splat, 320 in the first frame.
//
// Now. 105 us a frame of a step of two, 1 million Gaussians (fox_mcmc_1m, 1080x1920, H200); 550 us
// with a lane a Gaussian for the harmonics too, and a fill before.

#include "gradient_row.cuh"
#include "row_blocks.cuh"

#define USED (3 * (SH_DEGREE + 1) * (SH_DEGREE + 1))
#include "harmonic_rows.cuh"

// An odd number of floats keeps the lanes' rows in different banks.
#define BASIS ((USED / 3 + 1) | 1)

typedef Several<float, WIDE> Unit;

// Parameters of `accumulate`; in Rust by the same name.
struct AccumulateParams {
    ReadOnly<float> means;       // [count][3], world
    ReadOnly<u32> splat_of;      // compacted index of each row, see NO_SPLAT
    ReadOnly<float4> gradients;  // a row of 16 floats for each compacted index
    ReadOnly<u32> gaussians;     // the number of Gaussians
    Camera camera;
    GradientRow* rows;  // [rows of `blocks`]
    float* sh;          // [rows of `blocks`][coefficients][3]
    const Counters* counters;
    RowBlocks blocks;  // a rank's rows
    u32 is_first;      // of the step's frames
};
extern "C" __global__ void __launch_bounds__(BLOCK)
    accumulate(const __grid_constant__ AccumulateParams args) {
    begin_kernel();
    __shared__ float bases[BLOCK / WARP][WARP * BASIS];
    __shared__ float colours[BLOCK / WARP][WARP * 3];
    const u32 own = blockIdx.x * BLOCK + threadIdx.x, i = row_of(own, args.blocks),
              lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    const u32 count = args.gaussians[0];
    if (args.counters->overflowed || i - lane >= count) return;
    bool exists = i < count;
    u32 word = exists ? args.splat_of[own] : NO_SPLAT, splat_index = word & ~IN_VIEW;
    bool in_view = word & IN_VIEW, has_splat = splat_index != NO_SPLAT;

    GradientRow row = {};
    if (exists && !args.is_first) row = args.rows[own];
    float* basis = bases[warp] + lane * BASIS;
    float* colour = colours[warp] + lane * 3;
    for (int k = 0; k < BASIS; ++k) basis[k] = 0.0f;
    for (int c = 0; c < 3; ++c) colour[c] = 0.0f;
    if (has_splat) {
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
        colour[0] = g[2].w;
        colour[1] = g[3].x;
        colour[2] = g[3].y;
        Vec3 unit;
        view_direction({args.means[3ull * i], args.means[3ull * i + 1], args.means[3ull * i + 2]},
                       args.camera, unit);
        float b[16];
        sh_basis(SH_DEGREE, unit, b);
#pragma unroll
        for (int k = 0; k < USED / 3; ++k) basis[k] = b[k];
    }
    row.in_view += in_view;
    if (exists && (args.is_first || has_splat || in_view)) args.rows[own] = row;

    __syncwarp();
    u32 shown = __ballot_sync(FULL_MASK, has_splat), rows = min(count - (i - lane), (u32)WARP);
    float* sh = args.sh + (u64)(own - lane) * SH_ROW;
    for (u32 u = lane; u < rows * UNITS; u += WARP) {
        u32 r = u / UNITS, column = u % UNITS * WIDE;
        if (!args.is_first && !(shown >> r & 1)) continue;
        Unit* at = (Unit*)(sh + r * SH_ROW + column);
        Unit sum = {};
        if (!args.is_first) sum = *at;
#pragma unroll
        for (u32 j = 0; j < WIDE; ++j) {
            u32 k = column + j;
            sum.numbers[j] =
                fmaf(bases[warp][r * BASIS + k / 3], colours[warp][r * 3 + k % 3], sum.numbers[j]);
        }
        *at = sum;
    }
}
