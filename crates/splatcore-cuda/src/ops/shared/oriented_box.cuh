// GSCore's box around a splat (Lee et al. 2024): 3 sigma along each axis of its ellipse. For
// footprint.cuh (`obb`) and blend_gscore.cu.

#pragma once
#include "splat.cuh"

// log2 alpha falls by this much from the centre to 3 sigma.
#define THREE_SIGMA (4.5f * LOG2E)
// Sines below this count as 0: the box is then upright to a thousandth of a pixel.
#define UPRIGHT 1e-6f

// A rectangle around a mean, by its right end as a function of dy: largest at the rightmost corner,
// from where it falls by `above` a pixel towards larger dy and by `below` towards smaller. The left
// end mirrors it. Sums and products are written so that the compiler cannot contract them
// differently in two kernels: all kernels must find the same tiles.
struct OrientedBox {
    float rightmost_x, rightmost_y, half_height, above, below;
};

// Of a splat's conic (a, b, c) and the half side of INRIA's square.
__device__ __forceinline__ OrientedBox make_oriented_box(float a, float b, float c, float radius) {
    // Eigenvalues and axes of the quadratic form -(a, b/2; b/2, c): the longer axis belongs to the
    // smaller eigenvalue. Both half sides are of 3 sigma.
    float middle = -0.5f * (a + c), difference = 0.5f * (a - c), half = 0.5f * b;
    float product = __fmul_rn(half, half);
    float spread = sqrt_approx(fmaf(difference, difference, product));
    float largest = __fadd_rn(middle, spread);
    float error = fmaf(half, half, -product);
    float determinant = __fadd_rn(fmaf(a, c, -product), -error);
    float across = sqrt_approx(__fmul_rn(THREE_SIGMA, __frcp_rn(largest)));
    // A needle whose determinant rounds to 0 or below gets the half side of INRIA's square.
    float along = fminf(
        sqrt_approx(__fmul_rn(__fmul_rn(THREE_SIGMA, largest), __frcp_rn(determinant))), radius);
    // Sine and cosine of the longer axis from those of twice its angle, the larger one first, as
    // the other would cancel. A round splat has no axis; its box is upright.
    float inverse = spread > 0.0f ? __frcp_rn(spread) : 0.0f;
    float cosine2 = spread > 0.0f ? __fmul_rn(difference, inverse) : 1.0f,
          sine2 = fabsf(__fmul_rn(half, inverse));
    float larger = sqrt_approx(fmaf(0.5f, fabsf(cosine2), 0.5f));
    float smaller = __fmul_rn(__fmul_rn(0.5f, sine2), __frcp_rn(larger));
    float cosine = cosine2 >= 0.0f ? larger : smaller, sine = cosine2 >= 0.0f ? smaller : larger;
    float along_fall = cosine > UPRIGHT ? __fmul_rn(sine, __frcp_rn(cosine)) : 0.0f;
    float across_fall = sine > UPRIGHT ? __fmul_rn(cosine, __frcp_rn(sine)) : 0.0f;
    bool rising = b >= 0.0f;
    float corner_y = fmaf(along, sine, -__fmul_rn(across, cosine));
    OrientedBox box;
    box.rightmost_x = fmaf(along, cosine, __fmul_rn(across, sine));
    box.rightmost_y = rising ? corner_y : -corner_y;
    box.half_height = fmaf(along, sine, __fmul_rn(across, cosine));
    box.above = rising ? along_fall : across_fall;
    box.below = rising ? across_fall : along_fall;
    return box;
}

// The right end of the box at dy.
__device__ __forceinline__ float box_right(const OrientedBox& box, float dy) {
    float from_corner = __fadd_rn(dy, -box.rightmost_y);
    return fmaf(-fabsf(from_corner), from_corner > 0.0f ? box.above : box.below, box.rightmost_x);
}

// The part of the box between dy = band.x and dy = band.y, both within its height: its ends (left,
// right), relative to the mean.
__device__ __forceinline__ float2 box_ends(const OrientedBox& box, float2 band) {
    float right = box_right(box, fminf(fmaxf(box.rightmost_y, band.x), band.y));
    float left = -box_right(box, -fminf(fmaxf(-box.rightmost_y, band.x), band.y));
    return make_float2(left, right);
}
