// Learned masks (Lee et al. 2024, section 3.1; docs/methods/learned-masks.md): the gradient of a
// mask's logit, straight through, as scales and opacity are proportional to the mask. CPU twin:
// splatcore-cpu/src/columns/learned_masks.rs.

#pragma once

__device__ __forceinline__ float mask_gradient(float logit, const float (&d_log_scales)[3],
                                               float d_ln_opacity, float share) {
    float on = 1.0f / (1.0f + expf(-logit));
    float d_mask = d_log_scales[0] + d_log_scales[1] + d_log_scales[2] + d_ln_opacity + share;
    return d_mask * on * (1.0f - on);
}
