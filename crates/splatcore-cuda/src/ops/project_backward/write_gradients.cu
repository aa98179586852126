// write_gradients: the gradients of project_backward.cu in the scene's shape.
//
// Contract. Copies `gradients` ([slots][16], by compacted index) to the rows of their Gaussians:
// `means` ([n][3]), `log_scales` ([n][3]), `rotations` ([n][4]), `opacity_logits` ([n]) and `sh`
// ([n][SH_ROW]), made of the colour's gradient. Rows of Gaussians without a splat are 0. For
// `Renderer::gradients`, not part of a training step.
//   SH_DEGREE in use; SH_ROW floats stored for a Gaussian.
//
// Launch. One thread a Gaussian, blocks of 256.

#include "splat.cuh"

#define USED (3 * (SH_DEGREE + 1) * (SH_DEGREE + 1))

extern "C" __global__ void __launch_bounds__(256)
    write_gradients(const float* __restrict__ scene_means, const u32* __restrict__ slot_of,
                    const float* __restrict__ gradients, u32 count, Camera camera, float* means,
                    float* log_scales, float* rotations, float* opacity_logits, float* sh) {
    begin_kernel();
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    u32 slot = slot_of[i] & ~IN_VIEW;
    const float* g = gradients + 16ull * slot;
    bool seen = slot != NO_SLOT;
    for (int k = 0; k < 3; ++k) {
        means[3ull * i + k] = seen ? g[k] : 0.0f;
        log_scales[3ull * i + k] = seen ? g[3 + k] : 0.0f;
    }
    for (int k = 0; k < 4; ++k) rotations[4ull * i + k] = seen ? g[6 + k] : 0.0f;
    opacity_logits[i] = seen ? g[10] : 0.0f;
    Vec3 unit;
    view_direction({scene_means[3ull * i], scene_means[3ull * i + 1], scene_means[3ull * i + 2]},
                   camera, unit);
    float b[16];
    sh_basis(SH_DEGREE, unit, b);
    for (int k = 0; k < SH_ROW; ++k)
        sh[(u64)i * SH_ROW + k] = seen && k < USED ? b[k / 3] * g[11 + k % 3] : 0.0f;
}
