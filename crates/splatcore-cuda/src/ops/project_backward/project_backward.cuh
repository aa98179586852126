// The inverse of project.cu's steps, from the summed gradients of a splat to the gradients of its
// Gaussian: for project_backward.cu, which writes them, and adam.cu, which uses them at once. Twin
// and derivation: splatcore-cpu/src/project_backward.rs, and its f64 twin.
//
//   SH_DEGREE in use. DEPTH_COLUMN, if it is not 0: the column of the sums that holds dL/dz.
//   ABSOLUTE 1: columns 9 and 10 of the sums hold the absolute values of the tiles' dL/d(2D mean),
//   of which the NDC norm is taken. ANTIALIAS and SHAPE_COLUMNS 1: see antialias.cuh and
//   shape_columns.cuh. LENS: see lens.cuh. INTRINSICS, if it is not 0: so many
//   numbers of the gradient of the intrinsics (splatcore-core/src/intrinsics_gradient.rs), the
//   principal point in pixels.

#pragma once
#include "shape_columns.cuh"
#include "antialias.cuh"
#include "unscented.cuh"

#define USED (3 * (SH_DEGREE + 1) * (SH_DEGREE + 1))

// dL/dsh[k][c] = basis[k] * colour[c].
struct SplatGradient {
    Vec3 mean;
    float log_scales[3];
    float rotation[4];
    float opacity_logit;
    float ndc_norm;
#if INTRINSICS
    float intrinsics[INTRINSICS];
#endif
};

// A row of 12 floats.
__device__ __forceinline__ void load_sums(ReadOnly<float4> sums, u32 splat_index,
                                          float (&total)[12]) {
#pragma unroll
    for (int k = 0; k < 3; ++k) {
        float4 part = sums[3ull * splat_index + k];
        total[4 * k] = part.x;
        total[4 * k + 1] = part.y;
        total[4 * k + 2] = part.z;
        total[4 * k + 3] = part.w;
    }
}

// dL/dcolour before the clamp: clamped channels are constant.
__device__ __forceinline__ Vec3 colour_gradient(const float (&total)[12], u32 clamped) {
    return {clamped & 1 ? 0.0f : total[6], clamped & 2 ? 0.0f : total[7],
            clamped & 4 ? 0.0f : total[8]};
}

#if SH_DEGREE >= 1
// Gradient with respect to the direction, given the gradient w[k] with respect to each basis
// function.
__device__ __forceinline__ Vec3 sh_backward(Vec3 unit, const float* w) {
    float x = unit.x, y = unit.y, z = unit.z;
    Vec3 d = {-SH_C1 * w[3], -SH_C1 * w[1], SH_C1 * w[2]};
#if SH_DEGREE >= 2
    float a = SH_C2_0 * w[4], b = SH_C2_1 * w[5], e = SH_C2_2 * w[6], f = SH_C2_3 * w[7],
          h = SH_C2_4 * w[8];
    d.x += a * y - 2.0f * e * x + f * z + 2.0f * h * x;
    d.y += a * x + b * z - 2.0f * e * y - 2.0f * h * y;
    d.z += b * y + 4.0f * e * z + f * x;
#endif
#if SH_DEGREE >= 3
    float xx = x * x, yy = y * y, zz = z * z;
    float t0 = SH_C3_0 * w[9], t1 = SH_C3_1 * w[10], t2 = SH_C3_2 * w[11], t3 = SH_C3_3 * w[12],
          t4 = SH_C3_4 * w[13], t5 = SH_C3_5 * w[14], t6 = SH_C3_6 * w[15];
    d.x += 6.0f * t0 * x * y + t1 * y * z - 2.0f * t2 * x * y - 6.0f * t3 * x * z +
           t4 * (4.0f * zz - 3.0f * xx - yy) + 2.0f * t5 * x * z + 3.0f * t6 * (xx - yy);
    d.y += 3.0f * t0 * (xx - yy) + t1 * x * z + t2 * (4.0f * zz - xx - 3.0f * yy) -
           6.0f * t3 * y * z - 2.0f * t4 * x * y - 2.0f * t5 * y * z - 6.0f * t6 * x * y;
    d.z += t1 * x * y + 8.0f * t2 * y * z + t3 * (6.0f * zz - 3.0f * xx - 3.0f * yy) +
           8.0f * t4 * x * z + t5 * (xx - yy);
#endif
    return d;
}

// The part of the mean's gradient that comes from the colour, which changes with the viewing
// direction; w[k] as in sh_backward.
__device__ __forceinline__ Vec3 direction_gradient(Vec3 mean, const float* w,
                                                   const Camera& camera) {
    Vec3 unit;
    float inverse_distance = view_direction(mean, camera, unit);
    Vec3 d = sh_backward(unit, w);
    float outward = dot(d, unit);
    return {(d.x - outward * unit.x) * inverse_distance,
            (d.y - outward * unit.y) * inverse_distance,
            (d.z - outward * unit.z) * inverse_distance};
}
#endif

// All gradients but the colour's part. `numbers` are read only if SHAPE_COLUMNS is 1, `lens` only
// if LENS is; a, b, c are the splat's.
__device__ __forceinline__ SplatGradient splat_gradient(const float (&total)[12], float a, float b,
                                                        float c, Vec3 mean, Vec3 log_scale,
                                                        float4 quaternion, float opacity_logit,
                                                        ShapeNumbers numbers, const Camera& camera,
                                                        const Lens& lens) {
#if SHAPE_COLUMNS
    Vec3 growth = shape_growth(log_scale, numbers);
    log_scale = {log_scale.x + growth.x, log_scale.y + growth.y, log_scale.z + growth.z};
#endif
    Geometry g = make_geometry(mean, log_scale, quaternion, camera);
    const float* w = camera.rotation;

    // log2 alpha = l + a dx^2 + b dx dy + c dy^2, d = pixel - mean; the sums hold dL/d(ln alpha) =
    // log2 e dL/d(log2 alpha). s is the opacity's gradient, dL/d(ln opacity).
    float s = total[0], sx = total[1] * LN2, sy = total[2] * LN2, sxx = total[3] * LN2,
          sxy = total[4] * LN2, syy = total[5] * LN2;
    float d_mean_x = -(2.0f * a * sx + b * sy), d_mean_y = -(2.0f * c * sy + b * sx);
#if ABSOLUTE
    float ndc_x = total[9] * LN2 * 0.5f * camera.width,
          ndc_y = total[10] * LN2 * 0.5f * camera.height;
#else
    float ndc_x = d_mean_x * 0.5f * camera.width, ndc_y = d_mean_y * 0.5f * camera.height;
#endif

    // a = -log2e/2 conic_xx, b = -log2e conic_xy, c = -log2e/2 conic_yy, as a symmetric matrix of
    // gradients; then d covariance = -M dM M with M the conic.
    float d_xx = -0.5f * LOG2E * sxx, d_xy = -0.5f * LOG2E * sxy, d_yy = -0.5f * LOG2E * syy;
    float m_xx = -2.0f / LOG2E * a, m_xy = -1.0f / LOG2E * b, m_yy = -2.0f / LOG2E * c;
    float l00 = m_xx * d_xx + m_xy * d_xy, l01 = m_xx * d_xy + m_xy * d_yy;
    float l10 = m_xy * d_xx + m_yy * d_xy, l11 = m_xy * d_xy + m_yy * d_yy;
    float p_xx = -(l00 * m_xx + l01 * m_xy), p_xy = -(l00 * m_xy + l01 * m_yy),
          p_yy = -(l10 * m_xy + l11 * m_yy);

    float scales[3] = {g.scales.x, g.scales.y, g.scales.z};
    float r[3][3], d_log_scales[3];
#if LENS
    Unscented unscented = make_unscented(g, camera, lens);
#if ANTIALIAS
    // d ln sqrt(det C / det C') = (C^-1 - C'^-1) / 2.
    if (unscented.ratio > COMPENSATION_MIN) {
        float half = 0.5f * s, inverse = half / (unscented.ratio * unscented.determinant);
        p_xx += inverse * (unscented.yy - LOW_PASS) - half * m_xx;
        p_xy += -inverse * unscented.xy - half * m_xy;
        p_yy += inverse * (unscented.xx - LOW_PASS) - half * m_yy;
    }
#endif
    UnscentedGradient through = unscented_backward(g, camera, lens, unscented.shift,
                                                   {d_mean_x, d_mean_y}, p_xx, p_xy, p_yy);
    Vec3 d_view = through.view;
#if INTRINSICS
    const float* intrinsics = through.intrinsics;
#endif
#else
#if ANTIALIAS
    Pull pull = compensation_backward(make_compensation(g, camera), s, g, camera);
    p_xx = fmaf(pull.inverse, m_xx, p_xx);
    p_xy = fmaf(pull.inverse, m_xy, p_xy);
    p_yy = fmaf(pull.inverse, m_yy, p_yy);
#endif

    // projected = T S T^t + low pass, T = J W: dS = T^t dP T, dT = 2 dP T S.
    Vec3 pu = {fmaf(p_xx, g.u.x, p_xy * g.v.x), fmaf(p_xx, g.u.y, p_xy * g.v.y),
               fmaf(p_xx, g.u.z, p_xy * g.v.z)};
    Vec3 pv = {fmaf(p_xy, g.u.x, p_yy * g.v.x), fmaf(p_xy, g.u.y, p_yy * g.v.y),
               fmaf(p_xy, g.u.z, p_yy * g.v.z)};
    Symmetric d_covariance = {fmaf(g.u.x, pu.x, g.v.x * pv.x), fmaf(g.u.x, pu.y, g.v.x * pv.y),
                              fmaf(g.u.x, pu.z, g.v.x * pv.z), fmaf(g.u.y, pu.y, g.v.y * pv.y),
                              fmaf(g.u.y, pu.z, g.v.y * pv.z), fmaf(g.u.z, pu.z, g.v.z * pv.z)};
    Vec3 d_u = times(g.covariance, pu), d_v = times(g.covariance, pv);
    float z = g.inverse_z, fx = camera.focal[0] * z, fy = camera.focal[1] * z;
    float j00 = 2.0f * dot(d_u, row_of(w, 0)), j02 = 2.0f * dot(d_u, row_of(w, 2));
    float j11 = 2.0f * dot(d_v, row_of(w, 1)), j12 = 2.0f * dot(d_v, row_of(w, 2));
    float jx = -(j02 * fx * z), jy = -(j12 * fy * z);
    // J = [fx/z 0 -fx x/z^2; 0 fy/z -fy y/z^2]; x and y follow z where they are clamped.
    Vec3 d_view = {jx * g.free_x + d_mean_x * fx, jy * g.free_y + d_mean_y * fy,
                   -(j00 * fx * z) - j11 * fy * z - (1.0f + g.free_x) * jx * g.clamped_x * z -
                       (1.0f + g.free_y) * jy * g.clamped_y * z - d_mean_x * fx * g.view.x * z -
                       d_mean_y * fy * g.view.y * z};
#if INTRINSICS
    // Where x/z is at its limit, f x/z is a number of pixels.
    float ratio_x = g.clamped_x * z, ratio_y = g.clamped_y * z;
    float intrinsics[INTRINSICS] = {
        d_mean_x * fx * g.view.x + j00 * fx - j02 * fx * ratio_x * g.free_x,
        d_mean_y * fy * g.view.y + j11 * fy - j12 * fy * ratio_y * g.free_y, d_mean_x, d_mean_y};
#if ANTIALIAS
    // det C is in proportion to fx^2 fy^2.
    intrinsics[0] -= 2.0f * pull.inverse + (1.0f - g.free_x) * ratio_x * pull.ratio_x;
    intrinsics[1] -= 2.0f * pull.inverse + (1.0f - g.free_y) * ratio_y * pull.ratio_y;
#endif
#endif
#if ANTIALIAS
    d_view = {d_view.x + pull.view.x, d_view.y + pull.view.y, d_view.z + pull.view.z};
#endif
#endif
#if DEPTH_COLUMN
    // Rounded apart, so that a gradient of 0 leaves the others as they are.
    float by_depth = total[DEPTH_COLUMN];
#if LENS
    if (lens_depth_is_distance(lens)) {
        float share = by_depth / sqrtf(dot(g.view, g.view));
        d_view.x = __fadd_rn(d_view.x, __fmul_rn(share, g.view.x));
        d_view.y = __fadd_rn(d_view.y, __fmul_rn(share, g.view.y));
        by_depth = __fmul_rn(share, g.view.z);
    }
#endif
    d_view.z = __fadd_rn(d_view.z, by_depth);
#endif
    Vec3 d_world = {fmaf(d_view.x, w[0], fmaf(d_view.y, w[3], d_view.z * w[6])),
                    fmaf(d_view.x, w[1], fmaf(d_view.y, w[4], d_view.z * w[7])),
                    fmaf(d_view.x, w[2], fmaf(d_view.y, w[5], d_view.z * w[8]))};

    // S = M M^t, M = R diag(scale): dM = 2 dS M.
    float rotation[3][3] = {{g.rotation[0].x, g.rotation[0].y, g.rotation[0].z},
                            {g.rotation[1].x, g.rotation[1].y, g.rotation[1].z},
                            {g.rotation[2].x, g.rotation[2].y, g.rotation[2].z}};
#pragma unroll
    for (int j = 0; j < 3; ++j) {
#if LENS
        const float axis[3] = {through.axes[j].x, through.axes[j].y, through.axes[j].z};
        d_log_scales[j] = 0.0f;
        for (int k = 0; k < 3; ++k) {
            r[k][j] = axis[k] * scales[j];
            d_log_scales[j] = fmaf(r[k][j], rotation[k][j], d_log_scales[j]);
        }
#else
        Vec3 column = {rotation[0][j] * scales[j], rotation[1][j] * scales[j],
                       rotation[2][j] * scales[j]};
        Vec3 d = times(d_covariance, column);
        d = {2.0f * d.x, 2.0f * d.y, 2.0f * d.z};
        d_log_scales[j] = dot(d, column);
        // Rounded here, as contracted into the differences below they would give a sphere's
        // rotation a gradient.
        r[0][j] = __fmul_rn(d.x, scales[j]);
        r[1][j] = __fmul_rn(d.y, scales[j]);
        r[2][j] = __fmul_rn(d.z, scales[j]);
#if ANTIALIAS
        d_log_scales[j] += pull.log_scales[j];
        for (int k = 0; k < 3; ++k) r[k][j] = __fadd_rn(r[k][j], pull.rotation[k][j]);
#endif
#endif
#if SHAPE_COLUMNS
        d_log_scales[j] = shape_backward(d_log_scales[j],
                                         j == 0   ? growth.x
                                         : j == 1 ? growth.y
                                                  : growth.z,
                                         s);
#endif
    }
    float dw = 2.0f * (g.qx * (r[2][1] - r[1][2]) + g.qy * (r[0][2] - r[2][0]) +
                       g.qz * (r[1][0] - r[0][1]));
    float dx = 2.0f * (g.qy * (r[0][1] + r[1][0]) + g.qz * (r[0][2] + r[2][0]) +
                       g.qw * (r[2][1] - r[1][2])) -
               4.0f * g.qx * (r[1][1] + r[2][2]);
    float dy = 2.0f * (g.qx * (r[0][1] + r[1][0]) + g.qz * (r[1][2] + r[2][1]) +
                       g.qw * (r[0][2] - r[2][0])) -
               4.0f * g.qy * (r[0][0] + r[2][2]);
    float dz = 2.0f * (g.qx * (r[0][2] + r[2][0]) + g.qy * (r[1][2] + r[2][1]) +
                       g.qw * (r[1][0] - r[0][1])) -
               4.0f * g.qz * (r[0][0] + r[1][1]);
    // Through the normalisation: only the part orthogonal to the quaternion remains.
    float radial = dw * g.qw + dx * g.qx + dy * g.qy + dz * g.qz;

    // d ln(sigmoid)/d logit = 1 - opacity.
    float d_logit = s / (1.0f + expf(opacity_logit));
    SplatGradient out = {
        d_world,
        {d_log_scales[0], d_log_scales[1], d_log_scales[2]},
        {(dw - radial * g.qw) * g.inverse_norm, (dx - radial * g.qx) * g.inverse_norm,
         (dy - radial * g.qy) * g.inverse_norm, (dz - radial * g.qz) * g.inverse_norm},
        d_logit,
        sqrtf(fmaf(ndc_x, ndc_x, ndc_y * ndc_y))};
#if INTRINSICS
    for (int k = 0; k < INTRINSICS; ++k) out.intrinsics[k] = intrinsics[k];
#endif
    return out;
}
