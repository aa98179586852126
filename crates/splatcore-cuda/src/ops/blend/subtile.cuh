// What the methods `subtile` and `splatcore` share, forward and backward: a warp's rectangle of
// 8x4 pixels and the test whether a splat's ellipse alpha = 1/255 reaches it
// (docs/methods/subtile.md).

#pragma once
#include "splat.cuh"

#define SUBTILE_X 8
#define SUBTILE_Y 4

// Whether the largest alpha over the rectangle of pixel centres [x0, x0 + 7] x [y0, y0 + 3] reaches
// 1/255. The exponent is concave: its largest value over the rectangle is at the mean if that is
// inside, else on an edge that faces it.
__device__ __forceinline__ bool touches_subtile(float4 mean2d, float4 conic, float x0, float y0) {
    float left = x0 - mean2d.x, right = left + (SUBTILE_X - 1), top = y0 - mean2d.y,
          bottom = top + (SUBTILE_Y - 1);
    // The point of the rectangle nearest to the mean, axis by axis.
    float near_x = fminf(fmaxf(0.0f, left), right), near_y = fminf(fmaxf(0.0f, top), bottom);
    // Along the edge x = near_x the best y, along y = near_y the best x.
    float along_y =
        fminf(fmaxf(-0.5f * conic.y * near_x * reciprocal_approx(conic.z), top), bottom);
    float along_x =
        fminf(fmaxf(-0.5f * conic.y * near_y * reciprocal_approx(conic.x), left), right);
    float on_x =
        fmaf(fmaf(conic.x, near_x, conic.y * along_y), near_x, conic.z * along_y * along_y);
    float on_y = fmaf(fmaf(conic.x, along_x, conic.y * near_y), along_x, conic.z * near_y * near_y);
    // The margin covers the rounding of exponents here and in the blend.
    float best = fmaxf(on_x, on_y);
    return mean2d.z + best * (1.0f - 1e-4f) >= -LOG2_255 - 1e-3f;
}
