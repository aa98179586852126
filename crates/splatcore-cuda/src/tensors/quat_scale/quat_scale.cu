// quat_scale, quat_scale_backward: covariances R S S R^T and precisions R S^-1 S^-1 R^T of
// Gaussians (gsplat's quat_scale_to_covar_preci), and the gradients.
//
// Contract. Writes `covars` and `precis`, each if it is not null, as 3x3 matrices or as upper
// triangles (00, 01, 02, 11, 12, 22); backward writes `v_quats` and `v_scales` from the gradients
// that are not null.
//
// Launch. A thread a Gaussian, blocks of BLOCK.
//
// Bound. Memory: 28 bytes in and 24 or 36 out for a matrix.
//
// Now. Not measured.

#include "covariance.cuh"

// Parameters of `quat_scale`; in Rust by the same name.
struct QuatScaleParams {
    const float* quats;   // [n][4]
    const float* scales;  // [n][3]
    u32 count;            // n
    u32 is_triangle;
    float* covars;  // [n][9] or [n][6], or null
    float* precis;  // [n][9] or [n][6], or null
};

// Parameters of `quat_scale_backward`; in Rust by the same name.
struct QuatScaleBackwardParams {
    const float* quats;   // [n][4]
    const float* scales;  // [n][3]
    u32 count;            // n
    u32 is_triangle;
    const float* v_covars;  // [n][9] or [n][6], or null
    const float* v_precis;  // [n][9] or [n][6], or null
    float* v_quats;         // [n][4]
    float* v_scales;        // [n][3]
};

__device__ __forceinline__ void write(float* out, u64 row, bool is_triangle, const Mat3& m) {
    if (!out) return;
    if (is_triangle) {
        out += 6 * row;
        out[0] = m.at[0][0], out[1] = m.at[0][1], out[2] = m.at[0][2];
        out[3] = m.at[1][1], out[4] = m.at[1][2], out[5] = m.at[2][2];
        return;
    }
#pragma unroll
    for (int i = 0; i < 9; ++i) out[9 * row + i] = m.at[i / 3][i % 3];
}

__device__ __forceinline__ Vec3 inverse_of(Vec3 v) { return {1.0f / v.x, 1.0f / v.y, 1.0f / v.z}; }

__device__ __forceinline__ Mat3 gradient_of(const float* from, u64 row, bool is_triangle) {
    return is_triangle ? load_triangle(from + 6 * row, 0.5f) : load_mat3(from + 9 * row);
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    quat_scale(const __grid_constant__ QuatScaleParams args) {
    begin_kernel();
    u64 row = (u64)blockIdx.x * BLOCK + threadIdx.x;
    if (row >= args.count) return;
    Quaternion quat = load_quaternion(args.quats + 4 * row);
    Vec3 scale = load_vec3(args.scales + 3 * row);
    if (args.covars) write(args.covars, row, args.is_triangle, covariance_of(quat, scale));
    if (args.precis)
        write(args.precis, row, args.is_triangle, covariance_of(quat, inverse_of(scale)));
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    quat_scale_backward(const __grid_constant__ QuatScaleBackwardParams args) {
    begin_kernel();
    u64 row = (u64)blockIdx.x * BLOCK + threadIdx.x;
    if (row >= args.count) return;
    Quaternion quat = load_quaternion(args.quats + 4 * row), v_quat = {};
    Vec3 scale = load_vec3(args.scales + 3 * row), v_scale = {};
    if (args.v_covars) {
        ShapeGradient v =
            covariance_backward(quat, scale, gradient_of(args.v_covars, row, args.is_triangle));
        v_quat = v.quat, v_scale = v.scale;
    }
    if (args.v_precis) {
        Vec3 inverse = inverse_of(scale);
        ShapeGradient v =
            covariance_backward(quat, inverse, gradient_of(args.v_precis, row, args.is_triangle));
        v_quat = {v_quat.w + v.quat.w, v_quat.x + v.quat.x, v_quat.y + v.quat.y,
                  v_quat.z + v.quat.z};
        // d(1/s)/ds = -1/s^2.
        v_scale = {v_scale.x - v.scale.x * inverse.x * inverse.x,
                   v_scale.y - v.scale.y * inverse.y * inverse.y,
                   v_scale.z - v.scale.z * inverse.z * inverse.z};
    }
    float* of_quat = args.v_quats + 4 * row;
    of_quat[0] = v_quat.w, of_quat[1] = v_quat.x, of_quat[2] = v_quat.y, of_quat[3] = v_quat.z;
    float* of_scale = args.v_scales + 3 * row;
    of_scale[0] = v_scale.x, of_scale[1] = v_scale.y, of_scale[2] = v_scale.z;
}
