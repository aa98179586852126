// What the projections of tensors share behind the projection itself: radii, culling, what is
// written of a splat. `Args` are the parameters of a kernel, with the fields of those of
// `projection` that are named here.

#pragma once
#include "rasterizer.cuh"

// Radius rules; in Rust by the names of `RadiusRule`.
#define GSPLAT_15 0
#define THREE_SIGMA 1
// Just over sqrt(2 ln 255).
#define MAX_DEVIATIONS 3.33f
// INRIA's lower bound of the squared half difference of the eigenvalues.
#define MIN_SPREAD 0.1f

struct Splat2D {
    int radii[2];
    float mean2d[2];
    float depth;
    float conic[3];
    float compensation;
};

// The extent in pixels on both axes; false if alpha is below MIN_ALPHA everywhere.
template <class Args>
__device__ __forceinline__ bool extent_of(const Args& args, const float (&blurred)[3],
                                          float determinant, const float* opacity,
                                          float compensation, float (&extent)[2]) {
    if (args.radius_rule == THREE_SIGMA) {
        float middle = 0.5f * (blurred[0] + blurred[2]);
        float spread = fmaxf(middle * middle - determinant, MIN_SPREAD);
        extent[0] = extent[1] = ceilf(3.0f * sqrtf(middle + sqrtf(spread)));
        return true;
    }
    float deviations = MAX_DEVIATIONS;
    if (opacity) {
        float over = *opacity * (args.compensations ? compensation : 1.0f) / MIN_ALPHA;
        if (!(over >= 1.0f)) return false;
        deviations = fminf(deviations, sqrtf(2.0f * logf(over)));
    }
    extent[0] = ceilf(deviations * sqrtf(blurred[0]));
    extent[1] = ceilf(deviations * sqrtf(blurred[2]));
    return true;
}

// A radius beyond i32 becomes its largest value.
__device__ __forceinline__ int radius_of(float extent) {
    return extent < 2147483520.0f ? (int)extent : 0x7fffffff;
}

// The splat with a covariance without blur (xx, xy, yy) and a mean in the image, of a Gaussian
// whose opacity is here, if there are any; false if it is culled.
template <class Args>
__device__ __forceinline__ bool make_splat(const Args& args, const float (&sharp)[3],
                                           const float (&mean2d)[2], float depth,
                                           const float* opacity, Splat2D& splat) {
    float off = sharp[1];
    float blurred[3] = {sharp[0] + args.eps2d, off, sharp[2] + args.eps2d};
    float determinant = blurred[0] * blurred[2] - off * off;
    if (!(determinant > 0.0f && determinant < __uint_as_float(0x7f800000))) return false;
    float sharp_determinant = sharp[0] * sharp[2] - off * off;
    splat.compensation = sqrtf(fmaxf(0.0f, sharp_determinant / determinant));
    float extent[2], side[2] = {(float)args.width, (float)args.height};
    if (!extent_of(args, blurred, determinant, opacity, splat.compensation, extent)) return false;
    if (extent[0] <= args.radius_clip && extent[1] <= args.radius_clip) return false;
#pragma unroll
    for (int axis = 0; axis < 2; ++axis) {
        float at = mean2d[axis];
        if (!(at + extent[axis] > 0.0f && at - extent[axis] < side[axis])) return false;
        splat.radii[axis] = radius_of(extent[axis]);
        splat.mean2d[axis] = at;
    }
    splat.depth = depth;
    splat.conic[0] = blurred[2] / determinant;
    splat.conic[1] = -off / determinant;
    splat.conic[2] = blurred[0] / determinant;
    return true;
}

template <class Args>
__device__ __forceinline__ void write_splat(const Args& args, u64 row, const Splat2D& splat) {
#pragma unroll
    for (int axis = 0; axis < 2; ++axis) {
        args.radii[2 * row + axis] = splat.radii[axis];
        args.means2d[2 * row + axis] = splat.mean2d[axis];
    }
    args.depths[row] = splat.depth;
#pragma unroll
    for (int i = 0; i < 3; ++i) args.conics[3 * row + i] = splat.conic[i];
    if (args.compensations) args.compensations[row] = splat.compensation;
}
