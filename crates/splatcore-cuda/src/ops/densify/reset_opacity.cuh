// Opacity reset: caps every opacity. Fading: lowers every opacity by a factor.

#pragma once
#include "gaussian_actions.cuh"
#include "shape_columns.cuh"

// Parameters of `cap_opacity`; in Rust by the same name.
struct CapOpacityParams {
    float* logits;
    ReadOnly<u64> all;
    float ceiling;
    ReadOnly<float> log_scales;  // [count][3]
    ShapeColumns shape;
};
extern "C" __global__ void __launch_bounds__(THREADS)
    cap_opacity(const __grid_constant__ CapOpacityParams args) {
    begin_kernel();
    const u32 i = item();
    if (i >= args.all[0]) return;
    float ceiling = args.ceiling;
    if (any(args.shape)) {
        // The cap applies to the opacity as it is drawn; the stored one may be higher.
        Vec3 own = {args.log_scales[3ull * i], args.log_scales[3ull * i + 1],
                    args.log_scales[3ull * i + 2]};
        Vec3 growth = shape_growth(own, load_shape(args.shape, i));
        float most = opacity_of(ceiling) * expf(growth.x + growth.y + growth.z);
        if (most >= 1.0f) return;
        ceiling = logf(most / (1.0f - most));
    }
    args.logits[i] = fminf(args.logits[i], ceiling);
}

// Parameters of `fade_opacity`; in Rust by the same name.
struct FadeOpacityParams {
    float* logits;
    ReadOnly<u64> all;
    float factor;
    float floor;  // no opacity is lowered below it
};
extern "C" __global__ void __launch_bounds__(THREADS)
    fade_opacity(const __grid_constant__ FadeOpacityParams args) {
    begin_kernel();
    const u32 i = item();
    if (i >= args.all[0]) return;
    const float faded = fmaxf(opacity_of(args.logits[i]) * args.factor, args.floor);
    args.logits[i] = fminf(args.logits[i], logf(faded / (1.0f - faded)));
}
