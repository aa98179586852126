// limit_scales: caps the log scales of a Gaussian by its distance from the nearest camera.
//
// Contract. `means` [count][3] and `cameras` [camera_count] in, `log_scales` [count][3] in and out:
// at most the larger of `log_floor` and `log_share` + ln(max(distance from the nearest camera, near
// plane)), in scene units; `log_floor` may be minus infinity.
// Reasons: splatcore-core/src/scale_limit.rs. CPU twin: splatcore-cpu/src/limit_scales.rs.
//
// Launch. One thread a Gaussian, blocks of 256; the threads of a warp read the same camera, 4
// numbers, from the cache. Once in a hundred steps.
//
// Bound. Instructions, about 12 a Gaussian and camera: 16 M warp instructions for 1 M and 43.
//
// Now. Not measured apart; predicted 20 us for 1 M Gaussians and 43 cameras (H200). History:
// docs/log/kernels/densify.md

#include "splat.cuh"

// Parameters of `limit_scales`; in Rust by the same name.
struct LimitScalesParams {
    ReadOnly<float> means;  // [count][3], world
    float* log_scales;      // [count][3]
    u32 count;
    const Camera* cameras;  // [camera_count]
    u32 camera_count;
    float log_share;
    float log_floor;
};
extern "C" __global__ void __launch_bounds__(BLOCK)
    limit_scales(const __grid_constant__ LimitScalesParams args) {
    begin_kernel();
    u32 i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= args.count) return;
    Vec3 mean = {args.means[3ull * i], args.means[3ull * i + 1], args.means[3ull * i + 2]};
    float nearest = __uint_as_float(0x7f800000), near_plane = 0.0f;
    for (u32 k = 0; k < args.camera_count; ++k) {
        const Camera& camera = args.cameras[k];
        float x = mean.x - camera.position[0], y = mean.y - camera.position[1],
              z = mean.z - camera.position[2];
        nearest = fminf(nearest, fmaf(x, x, fmaf(y, y, z * z)));
        near_plane = camera.near_plane;
    }
    float limit = logf(fmaxf(sqrtf(nearest), near_plane)) + args.log_share;
    limit = fmaxf(limit, args.log_floor);
    for (u32 k = 0; k < 3; ++k)
        args.log_scales[3ull * i + k] = fminf(args.log_scales[3ull * i + k], limit);
}
