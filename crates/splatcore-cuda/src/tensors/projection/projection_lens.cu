// projection_lens: splats of Gaussians in world space for a camera with a lens or a rolling shutter
// (gsplat's fully_fused_projection_with_ut).
//
// Contract. As `projection` (projection.cu) of quaternions and scales and of one camera, but mean
// and covariance in the image are those of the unscented transform that the engine trains with
// (ops/shared/unscented.cuh), and depths are the engine's: through a fisheye the distance.
//
// Constants. LENS 1: a lens, 2: a rolling shutter, with a lens or without.
//
// Launch. A thread for each Gaussian, blocks of BLOCK, a launch for each camera.
//
// Bound. Instructions: seven points through the lens, some 150 each.

#include "make_splat.cuh"
#include "through_lens.cuh"

// Parameters of `projection_lens`; in Rust by the same name. N Gaussians.
struct ProjectionLensParams {
    const float* means;      // [N][3]
    const float* quats;      // [N][4]
    const float* scales;     // [N][3]
    const float* opacities;  // [N] or null
    u32 gaussians;
    u32 width, height;
    float eps2d, near_plane, far_plane, radius_clip;
    u32 radius_rule;
    int* radii;            // [N][2], pixels
    float* means2d;        // [N][2], pixels
    float* depths;         // [N]
    float* conics;         // [N][3]
    float* compensations;  // [N] or null
    Camera camera;
    Lens lens;
};

__device__ __forceinline__ bool project(const ProjectionLensParams& args, u64 row, Splat2D& splat) {
    Geometry g = geometry_of(load_vec3(args.means + 3 * row), load_quaternion(args.quats + 4 * row),
                             load_vec3(args.scales + 3 * row), args.camera);
    float depth = lens_depth(args.lens, g.view);
    if (!(depth >= args.near_plane && depth <= args.far_plane)) return false;
    Unscented u = make_unscented(g, args.camera, args.lens);
    if (!u.seen) return false;
    float sharp[3] = {u.sharp_xx, u.xy, u.sharp_yy};
    float mean2d[2] = {u.mean.x + args.camera.centre[0], u.mean.y + args.camera.centre[1]};
    const float* opacity = args.opacities ? args.opacities + row : nullptr;
    return make_splat(args, sharp, mean2d, depth, opacity, splat);
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    projection_lens(const __grid_constant__ ProjectionLensParams args) {
    begin_kernel();
    u64 row = (u64)blockIdx.x * BLOCK + threadIdx.x;
    if (row >= args.gaussians) return;
    Splat2D splat = {};
    if (!project(args, row, splat)) splat = {};
    write_splat(args, row, splat);
}
