// Projection by the unscented transform (Wu et al. 2025, "3DGUT"), for project.cu and
// project_backward.cuh if LENS is not 0: a Gaussian's mean and six points on its axes go through
// the lens; mean and covariance of the seven pixels are those of the splat. Twin, in f64:
// splatcore-cpu/src/unscented.rs.
//
// With alpha = 1 (splatcore-core/src/semantics.rs) the sums become, with o[i] the six pixels less
// the mean's pixel p and d = (sum of o[i]) / 6: mean = p + d, covariance = d d^t + (sum of o[i]
// o[i]^t) / 6. Nothing cancels, so that it is positive definite in f32 too.

#pragma once
#include "shutter.cuh"

#if LENS

// As in splatcore-core/src/semantics.rs.
#define SIGMA_SPREAD 1.7320508075688772f

// SIGMA_SPREAD standard deviations along axis k of a Gaussian, in view space.
__device__ __forceinline__ Vec3 sigma_axis(const Geometry& g, const Camera& camera, int k) {
    float scale = SIGMA_SPREAD * (k == 0 ? g.scales.x : k == 1 ? g.scales.y : g.scales.z);
    Vec3 axis = k == 0   ? Vec3{g.rotation[0].x, g.rotation[1].x, g.rotation[2].x}
                : k == 1 ? Vec3{g.rotation[0].y, g.rotation[1].y, g.rotation[2].y}
                         : Vec3{g.rotation[0].z, g.rotation[1].z, g.rotation[2].z};
    const float* w = camera.rotation;
    return {scale * dot(row_of(w, 0), axis), scale * dot(row_of(w, 1), axis),
            scale * dot(row_of(w, 2), axis)};
}

// A splat's place and shape through a lens.
struct Unscented {
    bool seen;                 // by the lens, the near plane aside
    Vec2 mean;                 // from the principal point
    Vec2 shift;                // d, which the mean is off the pixel of the Gaussian's mean
    float xx, xy, yy;          // covariance with the low pass
    float sharp_xx, sharp_yy;  // without it
    float determinant;         // of it
    float ratio;               // det C / det (C + 0.3 I), at most 1
};

// a b - c^2, corrected by the rounding error of c^2 (Kahan).
__device__ __forceinline__ float symmetric_determinant(float a, float c, float b) {
    float product = __fmul_rn(c, c);
    float error = fmaf(c, c, -product);
    return fmaf(a, b, -product) - error;
}

__device__ __forceinline__ Unscented make_unscented(const Geometry& g, const Camera& camera,
                                                    const Lens& lens) {
    Unscented u;
    Vec2 centre = camera_pixel(lens, camera, g.view);
    u.seen = lens_sees_centre(lens, g.view);
    float sum_x = 0.0f, sum_y = 0.0f, xx = 0.0f, xy = 0.0f, yy = 0.0f;
#pragma unroll 1
    for (int k = 0; k < 3; ++k) {
        const Vec3 axis = sigma_axis(g, camera, k);
#pragma unroll 1
        for (int side = 0; side < 2; ++side) {
            float sign = side ? -1.0f : 1.0f;
            Vec3 at = {fmaf(sign, axis.x, g.view.x), fmaf(sign, axis.y, g.view.y),
                       fmaf(sign, axis.z, g.view.z)};
            u.seen = u.seen && lens_is_within(at, lens.sigma_cosine);
            Vec2 pixel = camera_pixel(lens, camera, at);
            pixel.x = lens_beside(lens, pixel.x, centre.x);
            float x = pixel.x - centre.x, y = pixel.y - centre.y;
            sum_x += x;
            sum_y += y;
            xx = fmaf(x, x, xx);
            xy = fmaf(x, y, xy);
            yy = fmaf(y, y, yy);
        }
    }
    const float sixth = 1.0f / 6.0f;
    u.shift = {sum_x * sixth, sum_y * sixth};
    u.mean = {centre.x + u.shift.x, centre.y + u.shift.y};
    xx = fmaf(u.shift.x, u.shift.x, xx * sixth);
    xy = fmaf(u.shift.x, u.shift.y, xy * sixth);
    yy = fmaf(u.shift.y, u.shift.y, yy * sixth);
    u.sharp_xx = xx;
    u.sharp_yy = yy;
    u.xx = xx + LOW_PASS;
    u.xy = xy;
    u.yy = yy + LOW_PASS;
    u.determinant = symmetric_determinant(u.xx, u.xy, u.yy);
    u.ratio = fminf(symmetric_determinant(xx, xy, yy) / u.determinant, 1.0f);
    return u;
}

// Gradients of a Gaussian's mean in view space and of its axes in world axes: column k of the
// rotation matrix times scale k.
struct UnscentedGradient {
    Vec3 view;
    Vec3 axes[3];
#if INTRINSICS
    float intrinsics[INTRINSICS];
#endif
};

#if INTRINSICS
// Adds what a point gives whose pixel, from the principal point, has this gradient; but for the
// principal point without a rolling shutter, whose gradient is the mean's.
__device__ __forceinline__ void point_intrinsics(const Lens& lens, const Camera& camera,
                                                 const Shown& at, Vec2 d, float* out) {
#if LENS == 2
    hold_time(lens, camera, at, d);
    out[2] += d.x;
    out[3] += d.y;
#endif
    out[0] = fmaf(d.x, at.pixel.x, out[0]);
    out[1] = fmaf(d.y, at.pixel.y, out[1]);
    lens_coefficients_backward(lens, camera, at.view, d, out + 4);
}
#endif

// From the gradients of the mean in pixels and of the covariance (xx, xy as one of two, yy).
__device__ __forceinline__ UnscentedGradient unscented_backward(const Geometry& g,
                                                                const Camera& camera,
                                                                const Lens& lens, Vec2 shift,
                                                                Vec2 d_mean, float p_xx, float p_xy,
                                                                float p_yy) {
    UnscentedGradient out;
    const float* w = camera.rotation;
    const Shown centre = shown(lens, camera, g.view);
    Vec2 of_shift = {fmaf(p_xx, shift.x, p_xy * shift.y), fmaf(p_xy, shift.x, p_yy * shift.y)};
    const float sixth = 1.0f / 6.0f;
    // Of each o[i], but for what its own product gives.
    Vec2 common = {sixth * fmaf(2.0f, of_shift.x, d_mean.x),
                   sixth * fmaf(2.0f, of_shift.y, d_mean.y)};
    out.view =
        camera_pixel_backward(lens, camera, centre, {-4.0f * of_shift.x, -4.0f * of_shift.y});
#if INTRINSICS
    for (int k = 0; k < INTRINSICS; ++k) out.intrinsics[k] = 0.0f;
#if LENS == 1
    out.intrinsics[2] = d_mean.x;
    out.intrinsics[3] = d_mean.y;
#endif
    point_intrinsics(lens, camera, centre, {-4.0f * of_shift.x, -4.0f * of_shift.y},
                     out.intrinsics);
#endif
#pragma unroll 1
    for (int k = 0; k < 3; ++k) {
        Vec3 axis = sigma_axis(g, camera, k), d_axis = {0.0f, 0.0f, 0.0f};
#pragma unroll 1
        for (int side = 0; side < 2; ++side) {
            float sign = side ? -1.0f : 1.0f;
            Shown at = shown(lens, camera,
                             {fmaf(sign, axis.x, g.view.x), fmaf(sign, axis.y, g.view.y),
                              fmaf(sign, axis.z, g.view.z)});
            at.pixel.x = lens_beside(lens, at.pixel.x, centre.pixel.x);
            float x = at.pixel.x - centre.pixel.x, y = at.pixel.y - centre.pixel.y;
            Vec2 d = {fmaf(2.0f * sixth, fmaf(p_xx, x, p_xy * y), common.x),
                      fmaf(2.0f * sixth, fmaf(p_xy, x, p_yy * y), common.y)};
            Vec3 of_point = camera_pixel_backward(lens, camera, at, d);
#if INTRINSICS
            point_intrinsics(lens, camera, at, d, out.intrinsics);
#endif
            out.view = {out.view.x + of_point.x, out.view.y + of_point.y, out.view.z + of_point.z};
            d_axis = {fmaf(sign, of_point.x, d_axis.x), fmaf(sign, of_point.y, d_axis.y),
                      fmaf(sign, of_point.z, d_axis.z)};
        }
        d_axis = {SIGMA_SPREAD * d_axis.x, SIGMA_SPREAD * d_axis.y, SIGMA_SPREAD * d_axis.z};
        out.axes[k] = {fmaf(d_axis.x, w[0], fmaf(d_axis.y, w[3], d_axis.z * w[6])),
                       fmaf(d_axis.x, w[1], fmaf(d_axis.y, w[4], d_axis.z * w[7])),
                       fmaf(d_axis.x, w[2], fmaf(d_axis.y, w[5], d_axis.z * w[8]))};
    }
    return out;
}

#endif
