// projection_lens_backward: gradients of `projection_lens` (projection_lens.cu).
//
// Contract. From the gradients of one camera's splats, those of Gaussians, written if `adds` is 0,
// else added to those of the cameras before, and those of `viewmat` and `k` summed over Gaussians,
// added to zeros; each of them if it is not null. The rest is as `projection_backward` says. A
// rolling shutter moves with the pose, as one.
//
// Constants. LENS as in projection_lens.cu; INTRINSICS: the count of numbers of their gradient, or
// 0 if `v_ks` is null.
//
// Launch. A thread for each Gaussian, blocks of BLOCK, a launch for each camera.
//
// Bound. Instructions: seven points through the lens forward, seven back.

#include "drawn.cuh"
#include "splat_gradients.cuh"
#include "through_lens.cuh"

// Parameters of `projection_lens_backward`; in Rust by the same name. N Gaussians.
struct ProjectionLensBackwardParams {
    const float* means;   // [N][3]
    const float* quats;   // [N][4]
    const float* scales;  // [N][3]
    u32 gaussians, adds;
    float eps2d;
    ReadOnly<int> radii;           // [N][2]
    ReadOnly<float> conics;        // [N][3]
    const float* compensations;    // [N], if v_compensations is not null
    ReadOnly<float> v_means2d;     // [N][2]
    ReadOnly<float> v_depths;      // [N], or null: 0
    ReadOnly<float> v_conics;      // [N][3]
    const float* v_compensations;  // [N] or null
    float* v_means;                // [N][3] or null
    float* v_quats;                // [N][4] or null
    float* v_scales;               // [N][3] or null
    float* v_viewmats;             // [4][4] or null
    float* v_ks;                   // [3][3] or null
    Camera camera;
    Lens lens;
};

// The gradients of a Gaussian: of its mean, and of its axes times its scales in world axes.
struct GaussianGradient {
    Vec3 mean;
    Mat3 factor;
};

// Those of a splat; writes those of the camera too: rotation and translation by rows (12), focal
// lengths, principal point.
__device__ __forceinline__ GaussianGradient splat_backward(const ProjectionLensBackwardParams& args,
                                                           u64 row, float (&of_camera)[SUMS]) {
    Vec3 world = load_vec3(args.means + 3 * row);
    Geometry g = geometry_of(world, load_quaternion(args.quats + 4 * row),
                             load_vec3(args.scales + 3 * row), args.camera);
    Mat2 of = of_covariance(args, row);
    Vec2 v_mean2d = {args.v_means2d[2 * row], args.v_means2d[2 * row + 1]};
    Unscented u = make_unscented(g, args.camera, args.lens);
    UnscentedGradient by = unscented_backward(g, args.camera, args.lens, u.shift, v_mean2d,
                                              of.at[0][0], of.at[0][1], of.at[1][1]);
    if (args.v_depths) {
        float depth = args.v_depths[row];
        if (lens_depth_is_distance(args.lens)) {
            float share = depth / lens_depth(args.lens, g.view);
            by.view.x = fmaf(share, g.view.x, by.view.x);
            by.view.y = fmaf(share, g.view.y, by.view.y);
            depth = share * g.view.z;
        }
        by.view.z += depth;
    }
    const float* w = args.camera.rotation;
    float view[3] = {by.view.x, by.view.y, by.view.z}, at[3] = {world.x, world.y, world.z};
    float scales[3] = {g.scales.x, g.scales.y, g.scales.z};
    GaussianGradient out = {};
    out.mean = {fmaf(view[0], w[0], fmaf(view[1], w[3], view[2] * w[6])),
                fmaf(view[0], w[1], fmaf(view[1], w[4], view[2] * w[7])),
                fmaf(view[0], w[2], fmaf(view[1], w[5], view[2] * w[8]))};
#pragma unroll
    for (int i = 0; i < 3; ++i) {
#pragma unroll
        for (int j = 0; j < 3; ++j) of_camera[4 * i + j] = view[i] * at[j];
        of_camera[4 * i + 3] = view[i];
    }
#pragma unroll
    for (int k = 0; k < 3; ++k) {
        float axis[3] = {by.axes[k].x, by.axes[k].y, by.axes[k].z};
        float own[3] = {k == 0   ? g.rotation[0].x
                        : k == 1 ? g.rotation[0].y
                                 : g.rotation[0].z,
                        k == 0   ? g.rotation[1].x
                        : k == 1 ? g.rotation[1].y
                                 : g.rotation[1].z,
                        k == 0   ? g.rotation[2].x
                        : k == 1 ? g.rotation[2].y
                                 : g.rotation[2].z};
#pragma unroll
        for (int i = 0; i < 3; ++i) {
            out.factor.at[i][k] = axis[i];
            // The same in camera axes, as the rotation is orthonormal.
            float turned = scales[k] * dot(row_of(w, i), by.axes[k]);
#pragma unroll
            for (int j = 0; j < 3; ++j)
                of_camera[4 * i + j] = fmaf(turned, own[j], of_camera[4 * i + j]);
        }
    }
#if INTRINSICS
#pragma unroll
    for (int axis = 0; axis < 2; ++axis) {
        of_camera[12 + axis] = by.intrinsics[axis] / args.camera.focal[axis];
        of_camera[14 + axis] = by.intrinsics[2 + axis];
    }
#endif
    return out;
}

// Writes or adds a value.
__device__ __forceinline__ void put(const ProjectionLensBackwardParams& args, float* out,
                                    float value) {
    *out = args.adds ? *out + value : value;
}

__device__ __forceinline__ void write_gaussian(const ProjectionLensBackwardParams& args, u64 row,
                                               const GaussianGradient& of) {
    ShapeGradient shape = factor_backward(load_quaternion(args.quats + 4 * row),
                                          load_vec3(args.scales + 3 * row), of.factor);
    if (args.v_means) {
        float* out = args.v_means + 3 * row;
        put(args, out, of.mean.x), put(args, out + 1, of.mean.y), put(args, out + 2, of.mean.z);
    }
    if (args.v_quats) {
        float* out = args.v_quats + 4 * row;
        put(args, out, shape.quat.w), put(args, out + 1, shape.quat.x);
        put(args, out + 2, shape.quat.y), put(args, out + 3, shape.quat.z);
    }
    if (args.v_scales) {
        float* out = args.v_scales + 3 * row;
        put(args, out, shape.scale.x), put(args, out + 1, shape.scale.y);
        put(args, out + 2, shape.scale.z);
    }
}

__device__ __forceinline__ void zero_gaussian(const ProjectionLensBackwardParams& args, u64 row) {
    for (int i = 0; i < 3; ++i) {
        if (args.v_means) args.v_means[3 * row + i] = 0.0f;
        if (args.v_scales) args.v_scales[3 * row + i] = 0.0f;
    }
    for (int i = 0; i < 4; ++i)
        if (args.v_quats) args.v_quats[4 * row + i] = 0.0f;
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    projection_lens_backward(const __grid_constant__ ProjectionLensBackwardParams args) {
    begin_kernel();
    __shared__ float block_sums[SUMS];
    u64 row = (u64)blockIdx.x * BLOCK + threadIdx.x;
    bool is_there = row < args.gaussians;
    bool is_visible = is_there && is_drawn_with(args.radii, row);
    float of_camera[SUMS] = {};
    if (is_visible)
        write_gaussian(args, row, splat_backward(args, row, of_camera));
    else if (is_there && !args.adds)
        zero_gaussian(args, row);
    if (args.v_viewmats || args.v_ks) sum_camera(args, 0, of_camera, is_visible, block_sums);
}
