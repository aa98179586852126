// The gradients of a Gaussian that the frames of a step add up, but for those of the harmonics:
// accumulate.cu writes the rows, adam.cu reads them. 64 bytes.

#pragma once
#include "splat.cuh"

struct alignas(16) GradientRow {
    float mean[3];
    float log_scales[3];
    float rotation[4];
    float opacity_logit;
    float ndc_norm;  // of the frames that have the Gaussian in view
    u32 splats;      // frames in which it has a splat
    u32 in_view;     // frames that have it in view
    u32 unused[2];
};
