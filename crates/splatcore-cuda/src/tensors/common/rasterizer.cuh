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
    float alpha;        // min(alpha_max, opacity * falloff)
    bool is_counted;    // alpha is MIN_ALPHA at least, sigma not negative, both are numbers
    bool is_unclamped;  // opacity * falloff is alpha_max at most
};

// Coefficients with which -sigma LOG2E = (a dx + b dy) dx + c dy^2, for the conic (a, b, c) and
// sigma = (a dx^2 + c dy^2) / 2 + b dx dy.
struct Exponent {
    float a, b, c;
};

__device__ __forceinline__ Exponent exponent_of(float a, float b, float c) {
    return {-0.5f * LOG2E * a, -LOG2E * b, -0.5f * LOG2E * c};
}

// The alpha that a fragment needs to count: none has it if alpha_max is below MIN_ALPHA.
__device__ __forceinline__ float least_alpha(float alpha_max) {
    return alpha_max >= MIN_ALPHA ? MIN_ALPHA : 3.4e38f;
}

// dx, dy: from the pixel to the mean, or the other way. Written with fused operations so that every
// kernel gets the same bits.
__device__ __forceinline__ Fragment fragment_of(float dx, float dy, float opacity,
                                                const Exponent& e, float alpha_max,
                                                float least_alpha) {
    float power = fmaf(fmaf(e.b, dy, e.a * dx), dx, e.c * dy * dy);
    float unclamped = opacity * exp2_approx(power);
    return {fminf(alpha_max, unclamped), power <= 0.0f && unclamped >= least_alpha,
            unclamped <= alpha_max};
}

// A rectangle of pixel centres, relative to a splat's mean: the first and the last centre.
struct Rectangle {
    float left, right, top, bottom;
};

// The sigma beyond which a splat of this opacity does not count, with room for rounding; not a
// number if the opacity is none.
__device__ __forceinline__ float sigma_limit(float opacity) {
    return __logf(opacity * (1.0f / MIN_ALPHA)) + 1e-3f;
}

// Whether a splat may count at a pixel of a rectangle: false only where `fragment_of` says so for
// every pixel. Sigma is convex: its least value is at the mean, or on an edge that faces it.
__device__ __forceinline__ bool may_count(const Rectangle& r, float a, float b, float c,
                                          float limit) {
    // Other conics are no ellipses.
    if (!(a > 0.0f && c > 0.0f && a * c > b * b)) return true;
    // The point nearest to the mean, axis by axis.
    float near_x = fminf(fmaxf(0.0f, r.left), r.right),
          near_y = fminf(fmaxf(0.0f, r.top), r.bottom);
    // Along the edge x = near_x the best y, along y = near_y the best x.
    float along_y = fminf(fmaxf(__fdividef(-b * near_x, c), r.top), r.bottom),
          along_x = fminf(fmaxf(__fdividef(-b * near_y, a), r.left), r.right);
    float on_x = fmaf(b * near_x, along_y, 0.5f * fmaf(a * near_x, near_x, c * along_y * along_y)),
          on_y = fmaf(b * along_x, near_y, 0.5f * fmaf(a * along_x, along_x, c * near_y * near_y));
    // The terms of sigma can be far larger than their sum, so their rounding has a bound of its
    // own.
    float far_x = fmaxf(-r.left, r.right), far_y = fmaxf(-r.top, r.bottom);
    float terms = fmaf(a * far_x, far_x, c * far_y * far_y);
    return !(fminf(on_x, on_y) > fmaf(1e-6f, terms, limit));
}
