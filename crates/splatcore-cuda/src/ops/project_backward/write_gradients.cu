// write_gradients: the gradients of project_backward.cu in the scene's shape.
//
// Contract. Copies `gradients` ([splats][16], by compacted index) to the rows of their Gaussians:
// `means` ([n][3]), `log_scales` ([n][3]), `rotations` ([n][4]), `opacity_logits` ([n]) and `sh`
// ([n][SH_ROW]), made of the colour's gradient. Rows of Gaussians without a splat are 0. For
// `Renderer::gradients`, not part of a training step.
//   SH_DEGREE in use; SH_ROW floats stored for a Gaussian.
//
// Launch. One thread a Gaussian, blocks of 256.

#include "splat.cuh"

#define USED (3 * (SH_DEGREE + 1) * (SH_DEGREE + 1))

// Parameters of `write_gradients`; in Rust by the same name.
struct WriteGradientsParams {
    ReadOnly<float> scene_means;
    ReadOnly<u32> splat_of;     // compacted index of each Gaussian, see NO_SPLAT
    ReadOnly<float> gradients;  // a row of 16 floats for each compacted index
    u32 count;
    Camera camera;
    float* means;           // [count][3], world
    float* log_scales;      // [count][3]
    float* rotations;       // [count], quaternions (w, x, y, z)
    float* opacity_logits;  // [count]
    float* sh;              // [count][coefficients][3]
};
extern "C" __global__ void __launch_bounds__(BLOCK)
    write_gradients(const __grid_constant__ WriteGradientsParams args) {
    begin_kernel();
    u32 i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= args.count) return;
    u32 splat_index = args.splat_of[i] & ~IN_VIEW;
    ReadOnly<float> g = {args.gradients + 16ull * splat_index};
    bool seen = splat_index != NO_SPLAT;
    for (int k = 0; k < 3; ++k) {
        args.means[3ull * i + k] = seen ? g[k] : 0.0f;
        args.log_scales[3ull * i + k] = seen ? g[3 + k] : 0.0f;
    }
    for (int k = 0; k < 4; ++k) args.rotations[4ull * i + k] = seen ? g[6 + k] : 0.0f;
    args.opacity_logits[i] = seen ? g[10] : 0.0f;
    Vec3 unit;
    view_direction({args.scene_means[3ull * i], args.scene_means[3ull * i + 1],
                    args.scene_means[3ull * i + 2]},
                   args.camera, unit);
    float b[16];
    sh_basis(SH_DEGREE, unit, b);
    for (int k = 0; k < SH_ROW; ++k)
        args.sh[(u64)i * SH_ROW + k] = seen && k < USED ? b[k / 3] * g[11 + k % 3] : 0.0f;
}
