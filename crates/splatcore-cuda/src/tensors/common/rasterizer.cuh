// What gsplat 1.5.3's projection and rasterizer share: the alpha of a splat at a pixel, with the
// limits that decide which splats count.

#pragma once
#include "device.cuh"

// A splat with less alpha at a pixel is left out there.
#define MIN_ALPHA (1.0f / 255.0f)
// A pixel ends in front of the splat that would leave this transmittance or less.
#define MIN_TRANSMITTANCE 1e-4f

// A splat at a pixel.
struct Fragment {
    float dx, dy;       // from the pixel to the mean, pixels
    float falloff;      // exp(-sigma)
    float alpha;        // min(alpha_max, opacity * falloff)
    bool is_counted;    // alpha is MIN_ALPHA at least, sigma not negative, both are numbers
    bool is_unclamped;  // opacity * falloff is alpha_max at most
};

// sigma = (a dx^2 + c dy^2) / 2 + b dx dy for the conic (a, b, c). Written with fused operations so
// that every kernel gets the same bits.
__device__ __forceinline__ Fragment fragment_of(float dx, float dy, float opacity, float a, float b,
                                                float c, float alpha_max) {
    float half_squares = 0.5f * fmaf(a * dx, dx, c * dy * dy);
    float sigma = fmaf(b * dx, dy, half_squares);
    float falloff = __expf(-sigma);
    float unclamped = opacity * falloff;
    float alpha = fminf(alpha_max, unclamped);
    bool is_counted = sigma >= 0.0f && unclamped >= MIN_ALPHA && alpha >= MIN_ALPHA;
    return {dx, dy, falloff, alpha, is_counted, unclamped <= alpha_max};
}
