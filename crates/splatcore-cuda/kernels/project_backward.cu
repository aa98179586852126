// project_backward: from the sums of a splat to the gradients of its Gaussian, through the inverse of project's steps.
// CPU twin and derivation: splatcore-cpu/src/project_backward.rs and its f64 twin.
//
// Launch: one thread a slot, blocks of 128. Sums are a row of 12 floats a slot (the last 3 unused).
// Spherical harmonics need no gradient rows: dL/dsh[k][c] = basis[k] * dL/dcolour[c], which `adam` makes from the 3 numbers
// written here.
//
// Bound by memory and latency: 48 bytes of sums, 44 + 192 + 48 a splat in, 64 out. Measured on an H200 before the rows of
// harmonics were fetched without shuffles: fox_220k 57 us, mcmc_1m 118; after: 59 and 121, no gain.
//
// Constants: SH_DEGREE in use, SH_ROW floats stored for each Gaussian.

#define BLOCK 128
#define USED (3 * (SH_DEGREE + 1) * (SH_DEGREE + 1))
#define STRIDE (USED | 1)

// Gradient with respect to the direction, given the gradient w[k] with respect to each basis function.
__device__ __forceinline__ Vec3 sh_backward(Vec3 unit, const float* w) {
    float x = unit.x, y = unit.y, z = unit.z;
    Vec3 d = {-SH_C1 * w[3], -SH_C1 * w[1], SH_C1 * w[2]};
#if SH_DEGREE >= 2
    float a = SH_C2_0 * w[4], b = SH_C2_1 * w[5], e = SH_C2_2 * w[6], f = SH_C2_3 * w[7], h = SH_C2_4 * w[8];
    d.x += a * y - 2.0f * e * x + f * z + 2.0f * h * x;
    d.y += a * x + b * z - 2.0f * e * y - 2.0f * h * y;
    d.z += b * y + 4.0f * e * z + f * x;
#endif
#if SH_DEGREE >= 3
    float xx = x * x, yy = y * y, zz = z * z;
    float t0 = SH_C3_0 * w[9], t1 = SH_C3_1 * w[10], t2 = SH_C3_2 * w[11], t3 = SH_C3_3 * w[12], t4 = SH_C3_4 * w[13],
          t5 = SH_C3_5 * w[14], t6 = SH_C3_6 * w[15];
    d.x += 6.0f * t0 * x * y + t1 * y * z - 2.0f * t2 * x * y - 6.0f * t3 * x * z + t4 * (4.0f * zz - 3.0f * xx - yy) +
           2.0f * t5 * x * z + 3.0f * t6 * (xx - yy);
    d.y += 3.0f * t0 * (xx - yy) + t1 * x * z + t2 * (4.0f * zz - xx - 3.0f * yy) - 6.0f * t3 * y * z - 2.0f * t4 * x * y -
           2.0f * t5 * y * z - 6.0f * t6 * x * y;
    d.z += t1 * x * y + 8.0f * t2 * y * z + t3 * (6.0f * zz - 3.0f * xx - 3.0f * yy) + 8.0f * t4 * x * z + t5 * (xx - yy);
#endif
    return d;
}

// gradients[slot]: means 0-2, log scales 3-5, rotation 6-9, opacity logit 10, colour 11-13, norm of the NDC gradient 14.
extern "C" __global__ void __launch_bounds__(BLOCK) project_backward(
    const float* __restrict__ means, const float* __restrict__ log_scales, const float4* __restrict__ rotations,
    const float* __restrict__ opacity_logits, const float* __restrict__ sh, Camera camera, const Splat* __restrict__ splats,
    const float4* __restrict__ sums,
    const Counters* counters, float4* gradients) {
    __shared__ float harmonics[BLOCK / WARP][WARP * STRIDE];
    __shared__ u32 owners[BLOCK / WARP][WARP];
    if (counters->halted) return;
    u32 visible = counters->visible;
    u32 slot = blockIdx.x * BLOCK + threadIdx.x, lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    if (slot - lane >= visible) return;
    bool valid = slot < visible;
    Splat splat = {};
    if (valid) splat = splats[slot];

    // The warp's rows of harmonics.
    u32 rows_here = min(visible - (slot - lane), (u32)WARP);
    owners[warp][lane] = splat.gaussian;
    __syncwarp();
#pragma unroll 8
    for (u32 step = 0; step < USED; ++step) {
        u32 k = step * WARP + lane, row = k / USED, column = k - row * USED;
        if (row < rows_here) harmonics[warp][row * STRIDE + column] = sh[(u64)owners[warp][row] * SH_ROW + column];
    }
    float total[12] = {};
    if (valid)
#pragma unroll
        for (int k = 0; k < 3; ++k) {
            float4 part = sums[3ull * slot + k];
            total[4 * k] = part.x;
            total[4 * k + 1] = part.y;
            total[4 * k + 2] = part.z;
            total[4 * k + 3] = part.w;
        }
    __syncwarp();
    if (!valid) return;

    u32 i = splat.gaussian;
    Vec3 mean = {means[3 * i], means[3 * i + 1], means[3 * i + 2]};
    Vec3 log_scale = {log_scales[3 * i], log_scales[3 * i + 1], log_scales[3 * i + 2]};
    Geometry g = make_geometry(mean, log_scale, rotations[i], camera);
    const float* w = camera.rotation;

    // log2 alpha = l + a dx^2 + b dx dy + c dy^2, d = pixel - mean; the sums hold dL/d(ln alpha) = log2 e dL/d(log2 alpha).
    float s = total[0], sx = total[1] * LN2, sy = total[2] * LN2, sxx = total[3] * LN2, sxy = total[4] * LN2, syy = total[5] * LN2;
    float d_mean_x = -(2.0f * splat.a * sx + splat.b * sy), d_mean_y = -(2.0f * splat.c * sy + splat.b * sx);
    float ndc_x = d_mean_x * 0.5f * camera.width, ndc_y = d_mean_y * 0.5f * camera.height;

    // a = -log2e/2 conic_xx, b = -log2e conic_xy, c = -log2e/2 conic_yy, as a symmetric matrix of gradients; then
    // d covariance = -M dM M with M the conic.
    float d_xx = -0.5f * LOG2E * sxx, d_xy = -0.5f * LOG2E * sxy, d_yy = -0.5f * LOG2E * syy;
    float m_xx = -2.0f / LOG2E * splat.a, m_xy = -1.0f / LOG2E * splat.b, m_yy = -2.0f / LOG2E * splat.c;
    float l00 = m_xx * d_xx + m_xy * d_xy, l01 = m_xx * d_xy + m_xy * d_yy;
    float l10 = m_xy * d_xx + m_yy * d_xy, l11 = m_xy * d_xy + m_yy * d_yy;
    float p_xx = -(l00 * m_xx + l01 * m_xy), p_xy = -(l00 * m_xy + l01 * m_yy), p_yy = -(l10 * m_xy + l11 * m_yy);

    // projected = T S T^t + low pass, T = J W: dS = T^t dP T, dT = 2 dP T S.
    Vec3 pu = {fmaf(p_xx, g.u.x, p_xy * g.v.x), fmaf(p_xx, g.u.y, p_xy * g.v.y), fmaf(p_xx, g.u.z, p_xy * g.v.z)};
    Vec3 pv = {fmaf(p_xy, g.u.x, p_yy * g.v.x), fmaf(p_xy, g.u.y, p_yy * g.v.y), fmaf(p_xy, g.u.z, p_yy * g.v.z)};
    Symmetric d_covariance = {fmaf(g.u.x, pu.x, g.v.x * pv.x), fmaf(g.u.x, pu.y, g.v.x * pv.y), fmaf(g.u.x, pu.z, g.v.x * pv.z),
                              fmaf(g.u.y, pu.y, g.v.y * pv.y), fmaf(g.u.y, pu.z, g.v.y * pv.z), fmaf(g.u.z, pu.z, g.v.z * pv.z)};
    Vec3 d_u = times(g.covariance, pu), d_v = times(g.covariance, pv);
    float z = g.inverse_z, fx = camera.focal[0] * z, fy = camera.focal[1] * z;
    float j00 = 2.0f * dot(d_u, row_of(w, 0)), j02 = 2.0f * dot(d_u, row_of(w, 2));
    float j11 = 2.0f * dot(d_v, row_of(w, 1)), j12 = 2.0f * dot(d_v, row_of(w, 2));
    float jx = -(j02 * fx * z), jy = -(j12 * fy * z);
    // J = [fx/z 0 -fx x/z^2; 0 fy/z -fy y/z^2]; x and y follow z where they are clamped.
    Vec3 d_view = {jx * g.free_x + d_mean_x * fx, jy * g.free_y + d_mean_y * fy,
                   -(j00 * fx * z) - j11 * fy * z - (1.0f + g.free_x) * jx * g.clamped_x * z -
                       (1.0f + g.free_y) * jy * g.clamped_y * z - d_mean_x * fx * g.view.x * z - d_mean_y * fy * g.view.y * z};
    Vec3 d_world = {fmaf(d_view.x, w[0], fmaf(d_view.y, w[3], d_view.z * w[6])),
                    fmaf(d_view.x, w[1], fmaf(d_view.y, w[4], d_view.z * w[7])),
                    fmaf(d_view.x, w[2], fmaf(d_view.y, w[5], d_view.z * w[8]))};

    // S = M M^t, M = R diag(scale): dM = 2 dS M.
    float scales[3] = {g.scales.x, g.scales.y, g.scales.z};
    float rotation[3][3] = {{g.rotation[0].x, g.rotation[0].y, g.rotation[0].z},
                            {g.rotation[1].x, g.rotation[1].y, g.rotation[1].z},
                            {g.rotation[2].x, g.rotation[2].y, g.rotation[2].z}};
    float r[3][3], d_log_scales[3];
#pragma unroll
    for (int j = 0; j < 3; ++j) {
        Vec3 column = {rotation[0][j] * scales[j], rotation[1][j] * scales[j], rotation[2][j] * scales[j]};
        Vec3 d = times(d_covariance, column);
        d = {2.0f * d.x, 2.0f * d.y, 2.0f * d.z};
        d_log_scales[j] = dot(d, column);
        // Rounded here: contracted into the differences below, a sphere would get a gradient for its rotation.
        r[0][j] = __fmul_rn(d.x, scales[j]);
        r[1][j] = __fmul_rn(d.y, scales[j]);
        r[2][j] = __fmul_rn(d.z, scales[j]);
    }
    float dw = 2.0f * (g.qx * (r[2][1] - r[1][2]) + g.qy * (r[0][2] - r[2][0]) + g.qz * (r[1][0] - r[0][1]));
    float dx = 2.0f * (g.qy * (r[0][1] + r[1][0]) + g.qz * (r[0][2] + r[2][0]) + g.qw * (r[2][1] - r[1][2])) -
               4.0f * g.qx * (r[1][1] + r[2][2]);
    float dy = 2.0f * (g.qx * (r[0][1] + r[1][0]) + g.qz * (r[1][2] + r[2][1]) + g.qw * (r[0][2] - r[2][0])) -
               4.0f * g.qy * (r[0][0] + r[2][2]);
    float dz = 2.0f * (g.qx * (r[0][2] + r[2][0]) + g.qy * (r[1][2] + r[2][1]) + g.qw * (r[1][0] - r[0][1])) -
               4.0f * g.qz * (r[0][0] + r[1][1]);
    // Through the normalisation: only what is across the quaternion counts.
    float radial = dw * g.qw + dx * g.qx + dy * g.qy + dz * g.qz;

    // d ln(sigmoid)/d logit = 1 - opacity.
    float d_logit = s / (1.0f + expf(opacity_logits[i]));

    // Clamped channels are constant.
    float red = splat.clamped & 1 ? 0.0f : total[6], green = splat.clamped & 2 ? 0.0f : total[7],
          blue = splat.clamped & 4 ? 0.0f : total[8];
#if SH_DEGREE >= 1
    Vec3 unit;
    float inverse_distance = view_direction(mean, camera, unit);
    const float* row = &harmonics[warp][lane * STRIDE];
    float along[USED / 3];
#pragma unroll
    for (int k = 1; k < USED / 3; ++k) along[k] = fmaf(row[3 * k], red, fmaf(row[3 * k + 1], green, row[3 * k + 2] * blue));
    Vec3 d_direction = sh_backward(unit, along);
    float outward = dot(d_direction, unit);
    d_world.x += (d_direction.x - outward * unit.x) * inverse_distance;
    d_world.y += (d_direction.y - outward * unit.y) * inverse_distance;
    d_world.z += (d_direction.z - outward * unit.z) * inverse_distance;
#endif
    float4* out = gradients + 4ull * slot;
    out[0] = make_float4(d_world.x, d_world.y, d_world.z, d_log_scales[0]);
    out[1] = make_float4(d_log_scales[1], d_log_scales[2], (dw - radial * g.qw) * g.inverse_norm, (dx - radial * g.qx) * g.inverse_norm);
    out[2] = make_float4((dy - radial * g.qy) * g.inverse_norm, (dz - radial * g.qz) * g.inverse_norm, d_logit, red);
    out[3] = make_float4(green, blue, sqrtf(fmaf(ndc_x, ndc_x, ndc_y * ndc_y)), 0.0f);
}
