// Mip-Splatting's 2D filter (Yu et al. 2024, section 4.2, equation 10), for project.cu and
// project_backward.cuh if ANTIALIAS is 1. The low-pass filter makes a splat larger, so its opacity
// falls by sqrt(det C / det (C + 0.3 I)), C the projected covariance; without this the splat would
// become brighter. Twin with the derivation: splatcore-cpu/src/antialias.rs.
//
// About 40 instructions a Gaussian forward and 60 backward. project_backward takes 80 to 86
// registers in place of 64 (sm_90), so 6 blocks a multiprocessor in place of 8. History:
// docs/log/kernels/project.md.

#pragma once
#include "splat.cuh"

// As in splatcore-core/src/semantics.rs.
#define COMPENSATION_MIN 2.5e-5f

#if ANTIALIAS
// det C as the sum of the squares of three parts, as rounded entries of C do not determine it if C
// is a needle.
struct Compensation {
    float ratio;  // det C / det (C + 0.3 I), from its floor to 1: the square of the factor
    bool free;    // the ratio is above its floor
    float determinant;
    float along[3], areas[3];  // the parts are their products
    Vec3 normal;               // cross product of the rows of J W, world axes
    float slope;               // fx fy / z^2
};

__device__ __forceinline__ Compensation make_compensation(const Geometry& g, const Camera& camera) {
    Compensation c;
    const float* w = camera.rotation;
    float x = g.clamped_x * g.inverse_z, y = g.clamped_y * g.inverse_z;
    c.slope = camera.focal[0] * camera.focal[1] * g.inverse_z * g.inverse_z;
    c.normal = {c.slope * fmaf(x, w[0], fmaf(y, w[3], w[6])),
                c.slope * fmaf(x, w[1], fmaf(y, w[4], w[7])),
                c.slope * fmaf(x, w[2], fmaf(y, w[5], w[8]))};
    c.areas[0] = g.scales.y * g.scales.z;
    c.areas[1] = g.scales.x * g.scales.z;
    c.areas[2] = g.scales.x * g.scales.y;
    c.along[0] = fmaf(g.rotation[0].x, c.normal.x,
                      fmaf(g.rotation[1].x, c.normal.y, g.rotation[2].x * c.normal.z));
    c.along[1] = fmaf(g.rotation[0].y, c.normal.x,
                      fmaf(g.rotation[1].y, c.normal.y, g.rotation[2].y * c.normal.z));
    c.along[2] = fmaf(g.rotation[0].z, c.normal.x,
                      fmaf(g.rotation[1].z, c.normal.y, g.rotation[2].z * c.normal.z));
    float a = c.areas[0] * c.along[0], b = c.areas[1] * c.along[1], d = c.areas[2] * c.along[2];
    c.determinant = fmaf(a, a, fmaf(b, b, d * d));
    float ratio = c.determinant / g.determinant;
    // Both determinants may overflow, for a huge splat: its opacity stays.
    bool lost = !(g.determinant <= 3.40282347e38f);
    c.free = ratio >= COMPENSATION_MIN && !lost;
    c.ratio = lost ? 1.0f : fminf(fmaxf(ratio, COMPENSATION_MIN), 1.0f);
    return c;
}

// The factor's parts of the gradients.
struct Pull {
    float inverse;  // with respect to the projected covariance: this times its inverse
    float log_scales[3];
    float rotation[3][3];
    Vec3 view;  // with respect to the view-space position
#if INTRINSICS
    float ratio_x, ratio_y;  // with respect to x/z and y/z as the Jacobian uses them
#endif
};

// `gradient` is dL/d(ln opacity).
__device__ __forceinline__ Pull compensation_backward(const Compensation& c, float gradient,
                                                      const Geometry& g, const Camera& camera) {
    Pull p = {};
    if (!c.free) return p;
    const float* w = camera.rotation;
    float inverse = gradient / c.determinant;
    p.inverse = -0.5f * gradient;
    Vec3 d_normal = {0.0f, 0.0f, 0.0f};
    const float columns[3][3] = {{g.rotation[0].x, g.rotation[1].x, g.rotation[2].x},
                                 {g.rotation[0].y, g.rotation[1].y, g.rotation[2].y},
                                 {g.rotation[0].z, g.rotation[1].z, g.rotation[2].z}};
#pragma unroll
    for (int k = 0; k < 3; ++k) {
        float square = c.areas[k] * inverse * c.areas[k], along = square * c.along[k];
        // Each scale is in two of the three parts.
        p.log_scales[k] = gradient - along * c.along[k];
        // In this order of products the part of a sphere is symmetric to the last bit, so that its
        // rotation gets no gradient.
        p.rotation[0][k] = __fmul_rn(square, __fmul_rn(c.along[k], c.normal.x));
        p.rotation[1][k] = __fmul_rn(square, __fmul_rn(c.along[k], c.normal.y));
        p.rotation[2][k] = __fmul_rn(square, __fmul_rn(c.along[k], c.normal.z));
        d_normal.x = fmaf(along, columns[k][0], d_normal.x);
        d_normal.y = fmaf(along, columns[k][1], d_normal.y);
        d_normal.z = fmaf(along, columns[k][2], d_normal.z);
    }
    // normal = fx fy / z^2 W^t (x/z, y/z, 1); ln det C holds 2 ln |normal|.
    float d_x = dot(row_of(w, 0), d_normal) * c.slope * g.free_x * g.inverse_z;
    float d_y = dot(row_of(w, 1), d_normal) * c.slope * g.free_y * g.inverse_z;
#if INTRINSICS
    p.ratio_x = dot(row_of(w, 0), d_normal) * c.slope;
    p.ratio_y = dot(row_of(w, 1), d_normal) * c.slope;
#endif
    p.view = {d_x, d_y, -(2.0f * gradient + d_x * g.view.x + d_y * g.view.y) * g.inverse_z};
    return p;
}
#endif
