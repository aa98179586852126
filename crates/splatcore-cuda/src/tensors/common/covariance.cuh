// Covariances R S S^T R^T of Gaussians from a quaternion (w, x, y, z) of any length and three
// scales ("3D Gaussian Splatting", Kerbl et al. 2023, equation 6), and their gradients.

#pragma once
#include "linear.cuh"

struct Quaternion {
    float w, x, y, z;
};

__device__ __forceinline__ Quaternion load_quaternion(const float* from) {
    return {__ldg(from), __ldg(from + 1), __ldg(from + 2), __ldg(from + 3)};
}

// 1 / the length.
__device__ __forceinline__ float inverse_length(Quaternion q) {
    return rsqrtf(fmaf(q.w, q.w, fmaf(q.x, q.x, fmaf(q.y, q.y, q.z * q.z))));
}

__device__ __forceinline__ Quaternion scaled(Quaternion q, float by) {
    return {q.w * by, q.x * by, q.y * by, q.z * by};
}

// The rotation of a unit quaternion.
__device__ __forceinline__ Mat3 rotation_of(Quaternion q) {
    float x = q.x, y = q.y, z = q.z, w = q.w;
    return {{{1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)},
             {2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)},
             {2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)}}};
}

// The columns of a rotation times the scales.
__device__ __forceinline__ Mat3 stretched(Mat3 rotation, Vec3 scale) {
#pragma unroll
    for (int i = 0; i < 3; ++i) {
        rotation.at[i][0] *= scale.x;
        rotation.at[i][1] *= scale.y;
        rotation.at[i][2] *= scale.z;
    }
    return rotation;
}

__device__ __forceinline__ Mat3 covariance_of(Quaternion q, Vec3 scale) {
    Mat3 m = stretched(rotation_of(scaled(q, inverse_length(q))), scale);
    return multiply(m, transposed(m));
}

// Gradients of a quaternion and of scales.
struct ShapeGradient {
    Quaternion quat;
    Vec3 scale;
};

// From the gradient of M = R S: those of R and S, and that of the quaternion, which loses its part
// along the quaternion.
__device__ __forceinline__ ShapeGradient factor_backward(Quaternion quat, Vec3 scale,
                                                         const Mat3& v_m) {
    float inverse = inverse_length(quat);
    Quaternion q = scaled(quat, inverse);
    Mat3 r = rotation_of(q);
    Vec3 v_scale = {0, 0, 0};
#pragma unroll
    for (int i = 0; i < 3; ++i) {
        v_scale.x = fmaf(r.at[i][0], v_m.at[i][0], v_scale.x);
        v_scale.y = fmaf(r.at[i][1], v_m.at[i][1], v_scale.y);
        v_scale.z = fmaf(r.at[i][2], v_m.at[i][2], v_scale.z);
    }
    Mat3 v = stretched(v_m, scale);
    // Sums and differences of opposite values; the diagonal is twice the sum of two values.
    float x01 = v.at[0][1] + v.at[1][0], x02 = v.at[0][2] + v.at[2][0];
    float x12 = v.at[1][2] + v.at[2][1];
    float d0 = v.at[2][1] - v.at[1][2], d1 = v.at[0][2] - v.at[2][0], d2 = v.at[1][0] - v.at[0][1];
    float s0 = v.at[1][1] + v.at[2][2], s1 = v.at[0][0] + v.at[2][2], s2 = v.at[0][0] + v.at[1][1];
    Quaternion n = {2 * (q.x * d0 + q.y * d1 + q.z * d2),
                    2 * (q.w * d0 + q.y * x01 + q.z * x02 - 2 * q.x * s0),
                    2 * (q.w * d1 + q.x * x01 + q.z * x12 - 2 * q.y * s1),
                    2 * (q.w * d2 + q.x * x02 + q.y * x12 - 2 * q.z * s2)};
    float along = n.w * q.w + n.x * q.x + n.y * q.y + n.z * q.z;
    return {{(n.w - along * q.w) * inverse, (n.x - along * q.x) * inverse,
             (n.y - along * q.y) * inverse, (n.z - along * q.z) * inverse},
            v_scale};
}

// From the gradient g of the covariance M M^T: that of M is (g + g^T) M.
__device__ __forceinline__ ShapeGradient covariance_backward(Quaternion quat, Vec3 scale,
                                                             const Mat3& g) {
    Mat3 m = stretched(rotation_of(scaled(quat, inverse_length(quat))), scale);
    return factor_backward(quat, scale, multiply(plus(g, transposed(g)), m));
}
