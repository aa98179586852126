// projection_simple, projection_simple_backward: means and covariances in camera space to those in
// the image (gsplat's proj), and the gradients.
//
// Contract. means2d and J C J^T as camera_models.cuh says, without culling or blur; backward writes
// `v_means` and `v_covars`. I images, n Gaussians each.
//
// Launch. A thread a Gaussian, blocks of BLOCK.
//
// Bound. Memory: 48 bytes in and 24 out for a Gaussian.
//
// Now. Not measured.

#include "camera_models.cuh"

// Parameters of `projection_simple`; in Rust by the same name.
struct ProjectionSimpleParams {
    const float* means;   // [I][n][3]
    const float* covars;  // [I][n][3][3]
    const float* ks;      // [I][3][3]
    u32 images, gaussians;
    u32 width, height;
    u32 camera_model;
    float* means2d;   // [I][n][2]
    float* covars2d;  // [I][n][2][2]
};

// Parameters of `projection_simple_backward`; in Rust by the same name.
struct ProjectionSimpleBackwardParams {
    const float* means;   // [I][n][3]
    const float* covars;  // [I][n][3][3]
    const float* ks;      // [I][3][3]
    u32 images, gaussians;
    u32 width, height;
    u32 camera_model;
    ReadOnly<float> v_means2d;   // [I][n][2]
    ReadOnly<float> v_covars2d;  // [I][n][2][2]
    float* v_means;              // [I][n][3]
    float* v_covars;             // [I][n][3][3]
};

extern "C" __global__ void __launch_bounds__(BLOCK)
    projection_simple(const __grid_constant__ ProjectionSimpleParams args) {
    begin_kernel();
    u64 row = (u64)blockIdx.x * BLOCK + threadIdx.x;
    if (row >= (u64)args.images * args.gaussians) return;
    Intrinsics k = load_intrinsics(args.ks + 9 * (row / args.gaussians), args.width, args.height);
    Seen seen = see(args.camera_model, k, load_vec3(args.means + 3 * row));
    Mat2 covar2d = sandwich(seen.jacobian, load_mat3(args.covars + 9 * row));
#pragma unroll
    for (int i = 0; i < 2; ++i) {
        args.means2d[2 * row + i] = seen.mean2d[i];
#pragma unroll
        for (int j = 0; j < 2; ++j) args.covars2d[4 * row + 2 * i + j] = covar2d.at[i][j];
    }
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    projection_simple_backward(const __grid_constant__ ProjectionSimpleBackwardParams args) {
    begin_kernel();
    u64 row = (u64)blockIdx.x * BLOCK + threadIdx.x;
    if (row >= (u64)args.images * args.gaussians) return;
    Intrinsics k = load_intrinsics(args.ks + 9 * (row / args.gaussians), args.width, args.height);
    Vec3 mean = load_vec3(args.means + 3 * row);
    Mat3 covariance = load_mat3(args.covars + 9 * row);
    Mat23 jacobian = see(args.camera_model, k, mean).jacobian;
    Mat2 g = {{{args.v_covars2d[4 * row], args.v_covars2d[4 * row + 1]},
               {args.v_covars2d[4 * row + 2], args.v_covars2d[4 * row + 3]}}};
    float v_mean2d[2] = {args.v_means2d[2 * row], args.v_means2d[2 * row + 1]};
    SeenGradient seen = see_backward(args.camera_model, k, mean, v_mean2d,
                                     sandwich_backward_outer(jacobian, covariance, g));
    Mat3 v_covar = sandwich_backward_inner(jacobian, g);
#pragma unroll
    for (int i = 0; i < 3; ++i) {
        args.v_means[3 * row + i] = seen.mean[i];
#pragma unroll
        for (int j = 0; j < 3; ++j) args.v_covars[9 * row + 3 * i + j] = v_covar.at[i][j];
    }
}
