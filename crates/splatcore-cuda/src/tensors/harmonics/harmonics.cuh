// Real spherical harmonics up to degree DEGREE (0 to 4) as polynomials of a unit direction, with
// the signs that the field uses (Condon-Shortley; degree 1 is -y, z, -x), and their gradients.

#pragma once
#include "linear.cuh"

#define FUNCTIONS ((DEGREE + 1) * (DEGREE + 1))

// Normalisations: each is that of the polynomial beside which `basis_at` names it.
#define Y0 0.28209479177387814f
#define Y1 0.4886025119029199f
#define Y2_XY 1.0925484305920792f
#define Y2_ZZ 0.31539156525252005f
#define Y2_XX_YY 0.5462742152960396f
#define Y3_3 0.5900435899266435f
#define Y3_XYZ 2.890611442640554f
#define Y3_1 0.4570457994644658f
#define Y3_0 0.3731763325901154f
#define Y3_2 1.445305721320277f
#define Y4_4XY 2.5033429417967046f
#define Y4_3 1.7701307697799304f
#define Y4_2XY 0.9461746957575601f
#define Y4_1 0.6690465435572892f
#define Y4_0 0.10578554691520431f
#define Y4_2 0.47308734787878004f
#define Y4_4 0.6258357354491761f

// The values of all functions.
__device__ __forceinline__ void basis_at(Vec3 u, float (&out)[FUNCTIONS]) {
    float x = u.x, y = u.y, z = u.z, xx = x * x, yy = y * y, zz = z * z;
    out[0] = Y0;
#if DEGREE >= 1
    out[1] = -Y1 * y;
    out[2] = Y1 * z;
    out[3] = -Y1 * x;
#endif
#if DEGREE >= 2
    out[4] = Y2_XY * x * y;
    out[5] = -Y2_XY * y * z;
    out[6] = Y2_ZZ * (3 * zz - 1);
    out[7] = -Y2_XY * x * z;
    out[8] = Y2_XX_YY * (xx - yy);
#endif
#if DEGREE >= 3
    out[9] = -Y3_3 * y * (3 * xx - yy);
    out[10] = Y3_XYZ * x * y * z;
    out[11] = -Y3_1 * y * (5 * zz - 1);
    out[12] = Y3_0 * z * (5 * zz - 3);
    out[13] = -Y3_1 * x * (5 * zz - 1);
    out[14] = Y3_2 * z * (xx - yy);
    out[15] = -Y3_3 * x * (xx - 3 * yy);
#endif
#if DEGREE >= 4
    out[16] = Y4_4XY * x * y * (xx - yy);
    out[17] = -Y4_3 * y * z * (3 * xx - yy);
    out[18] = Y4_2XY * x * y * (7 * zz - 1);
    out[19] = -Y4_1 * y * z * (7 * zz - 3);
    out[20] = Y4_0 * (zz * (35 * zz - 30) + 3);
    out[21] = -Y4_1 * x * z * (7 * zz - 3);
    out[22] = Y4_2 * (xx - yy) * (7 * zz - 1);
    out[23] = -Y4_3 * x * z * (xx - 3 * yy);
    out[24] = Y4_4 * (xx * (xx - 3 * yy) - yy * (3 * xx - yy));
#endif
}

// The gradient of the sum of w[k] times function k by the direction, as if x, y and z were free.
__device__ __forceinline__ Vec3 basis_gradient(Vec3 u, const float (&w)[FUNCTIONS]) {
    float x = u.x, y = u.y, z = u.z, xx = x * x, yy = y * y, zz = z * z;
    Vec3 v = {0, 0, 0};
#if DEGREE >= 1
    v = {-Y1 * w[3], -Y1 * w[1], Y1 * w[2]};
#endif
#if DEGREE >= 2
    v.x += Y2_XY * (y * w[4] - z * w[7]) + 2 * Y2_XX_YY * x * w[8];
    v.y += Y2_XY * (x * w[4] - z * w[5]) - 2 * Y2_XX_YY * y * w[8];
    v.z += -Y2_XY * (y * w[5] + x * w[7]) + 6 * Y2_ZZ * z * w[6];
#endif
#if DEGREE >= 3
    v.x += -6 * Y3_3 * x * y * w[9] + Y3_XYZ * y * z * w[10] - Y3_1 * (5 * zz - 1) * w[13] +
           2 * Y3_2 * x * z * w[14] - 3 * Y3_3 * (xx - yy) * w[15];
    v.y += -3 * Y3_3 * (xx - yy) * w[9] + Y3_XYZ * x * z * w[10] - Y3_1 * (5 * zz - 1) * w[11] -
           2 * Y3_2 * y * z * w[14] + 6 * Y3_3 * x * y * w[15];
    v.z += Y3_XYZ * x * y * w[10] - 10 * Y3_1 * z * (y * w[11] + x * w[13]) +
           3 * Y3_0 * (5 * zz - 1) * w[12] + Y3_2 * (xx - yy) * w[14];
#endif
#if DEGREE >= 4
    v.x += Y4_4XY * y * (3 * xx - yy) * w[16] - 6 * Y4_3 * x * y * z * w[17] +
           Y4_2XY * y * (7 * zz - 1) * w[18] - Y4_1 * z * (7 * zz - 3) * w[21] +
           2 * Y4_2 * x * (7 * zz - 1) * w[22] - 3 * Y4_3 * z * (xx - yy) * w[23] +
           4 * Y4_4 * x * (xx - 3 * yy) * w[24];
    v.y += Y4_4XY * x * (xx - 3 * yy) * w[16] - 3 * Y4_3 * z * (xx - yy) * w[17] +
           Y4_2XY * x * (7 * zz - 1) * w[18] - Y4_1 * z * (7 * zz - 3) * w[19] -
           2 * Y4_2 * y * (7 * zz - 1) * w[22] + 6 * Y4_3 * x * y * z * w[23] -
           4 * Y4_4 * y * (3 * xx - yy) * w[24];
    v.z += -Y4_3 * y * (3 * xx - yy) * w[17] + 14 * Y4_2XY * x * y * z * w[18] -
           3 * Y4_1 * (7 * zz - 1) * (y * w[19] + x * w[21]) + Y4_0 * z * (140 * zz - 60) * w[20] +
           14 * Y4_2 * z * (xx - yy) * w[22] - Y4_3 * x * (xx - 3 * yy) * w[23];
#endif
    return v;
}
