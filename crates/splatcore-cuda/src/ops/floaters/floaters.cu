// floaters: marks Gaussians that hang in front of what a view shows at their place, by the depth of
// the rendered image.
//
// Contract. splatcore-core/src/floaters.rs defines a floater and gives the source. Input: `means`
// [count][3], and the view's `transmittance` and `inverse_depth` (1 / scene unit, blended), both
// [height * width] f32, from a forward pass in f32 (method `subtile`). In and out: `verdicts`
// [count] over all training views, one after another: 0 undecided, -1 floater, 1 part of what is
// seen; 1 stays. Gaussians below 0 are removed. HIDDEN: splatcore_core::floaters::HIDDEN. LENS:
// see lens.cuh. CPU twin: splatcore-cpu/src/floaters.rs.
//
// Launch. One thread a Gaussian, blocks of 256; each view every few thousand steps.
//
// Bound. Memory: 16 bytes a Gaussian, and 64 bytes of sectors in no order for one in view.
//
// Now. Predicted 5 us a view (220 k Gaussians, H200); a training takes 28.1 s with it and without.
// History: docs/log/kernels/densify.md

#include "shutter.cuh"

// Parameters of `floaters`; in Rust by the same name.
struct FloatersParams {
    ReadOnly<float> means;  // [count][3], world
    u32 count;
    Camera camera;
    ReadOnly<float> transmittance;  // [height][width]
    ReadOnly<float> inverse_depth;  // [height][width]
    float share;
    float* verdicts;  // [count], 0: floater
    Lens lens;        // unless LENS is 0
};
extern "C" __global__ void __launch_bounds__(BLOCK)
    floaters(const __grid_constant__ FloatersParams args) {
    begin_kernel();
    u32 i = blockIdx.x * BLOCK + threadIdx.x;
    if (i >= args.count || args.verdicts[i] > 0.0f) return;
    Vec3 mean = {args.means[3ull * i], args.means[3ull * i + 1], args.means[3ull * i + 2]};
    const float *w = args.camera.rotation, *t = args.camera.translation;
    float x = dot(row_of(w, 0), mean) + t[0], y = dot(row_of(w, 1), mean) + t[1],
          z = dot(row_of(w, 2), mean) + t[2];
#if LENS
    Vec3 view = {x, y, z};
    if (!lens_sees_centre(args.lens, view)) return;
    z = lens_depth(args.lens, view);
    Vec2 at = camera_pixel(args.lens, args.camera, view);
    float u = at.x + args.camera.centre[0], v = at.y + args.camera.centre[1];
#else
    float u = fmaf(args.camera.focal[0], x / z, args.camera.centre[0]),
          v = fmaf(args.camera.focal[1], y / z, args.camera.centre[1]);
#endif
    // False if u or v is not-a-number.
    bool inside =
        u >= 0.0f && u < (float)args.camera.width && v >= 0.0f && v < (float)args.camera.height;
    if (!(z > args.camera.near_plane && inside)) return;
    u64 pixel = (u64)(u32)v * args.camera.width + (u32)u;
    float taken = 1.0f - args.transmittance[pixel], ratio = z * args.inverse_depth[pixel];
    if (!(taken > 0.0f && ratio > 0.0f && ratio <= HIDDEN * taken)) return;
    args.verdicts[i] = ratio >= args.share * taken ? 1.0f : -1.0f;
}
