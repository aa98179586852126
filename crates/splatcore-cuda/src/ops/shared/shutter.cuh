// Where a camera shows a point, if LENS is not 0: through its lens (lens.cuh) and, if LENS is 2,
// when the row of the image is read in which the point appears (splatcore_core::shutter). Twin, in
// f64: splatcore-core/src/lens/moving.rs.

#pragma once
#include "lens.cuh"

// As in splatcore-core/src/shutter/mod.rs.
#define SHUTTER_ITERATIONS 5
#define MAX_TIME 1.0f

#if LENS

// A point as a camera shows it.
struct Shown {
    Vec2 pixel;  // from the principal point
    Vec3 view;   // the point in the camera's axes, with LENS 2 those of when its row is read
#if LENS == 2
    float row_time;
    Vec2 slope;  // how the time changes with the pixel
#endif
};

#if LENS == 2

__device__ __forceinline__ Vec3 cross_product(Vec3 a, Vec3 b) {
    return {fmaf(a.y, b.z, -a.z * b.y), fmaf(a.z, b.x, -a.x * b.z), fmaf(a.x, b.y, -a.y * b.x)};
}

// A vector turned about the axis of the camera's turn.
__device__ __forceinline__ Vec3 turned(const Lens& lens, float angle, Vec3 v) {
    Vec3 axis = {lens.turn_axis[0], lens.turn_axis[1], lens.turn_axis[2]};
    float sine = sinf(angle), half = sinf(0.5f * angle), versine = 2.0f * half * half;
    Vec3 around = cross_product(axis, v), inwards = cross_product(axis, around);
    return {fmaf(versine, inwards.x, fmaf(sine, around.x, v.x)),
            fmaf(versine, inwards.y, fmaf(sine, around.y, v.y)),
            fmaf(versine, inwards.z, fmaf(sine, around.z, v.z))};
}

// A point that appears at a pixel, given where it is in the axes at time 0.
__device__ __forceinline__ Shown read_point(const Lens& lens, Vec2 pixel, Vec3 view) {
    const float* slope = lens.time_slope;
    float row_time = fmaf(slope[0], pixel.x, fmaf(slope[1], pixel.y, lens.row_time));
    bool inside = fabsf(row_time) <= MAX_TIME;
    row_time = fminf(fmaxf(row_time, -MAX_TIME), MAX_TIME);
    Vec3 moved = {fmaf(-row_time, lens.shift[0], view.x), fmaf(-row_time, lens.shift[1], view.y),
                  fmaf(-row_time, lens.shift[2], view.z)};
    return {pixel,
            turned(lens, -row_time * lens.turn, moved),
            row_time,
            {inside ? slope[0] : 0.0f, inside ? slope[1] : 0.0f}};
}

// The gradient of a point's pixel by the time of its row, over what is left of a change of that
// time: the pixel moves the time, which moves the pixel. J^t d and J^t (the time's slope) are
// given.
__device__ __forceinline__ float time_gradient(const Lens& lens, const Shown& read, Vec3 of_pixel,
                                               Vec3 of_time) {
    Vec3 turn = {lens.turn_axis[0] * lens.turn, lens.turn_axis[1] * lens.turn,
                 lens.turn_axis[2] * lens.turn};
    Vec3 around = cross_product(turn, read.view);
    Vec3 along =
        turned(lens, -read.row_time * lens.turn, {lens.shift[0], lens.shift[1], lens.shift[2]});
    Vec3 rate = {-around.x - along.x, -around.y - along.y, -around.z - along.z};
    return dot(of_pixel, rate) / (1.0f - dot(of_time, rate));
}

// Puts the gradient of a point's pixel to that with the time of its row held.
__device__ __forceinline__ void hold_time(const Lens& lens, const Camera& camera, const Shown& read,
                                          Vec2& d) {
    float share = time_gradient(lens, read, lens_pixel_backward(lens, camera, read.view, d),
                                lens_pixel_backward(lens, camera, read.view, read.slope));
    d = {fmaf(share, read.slope.x, d.x), fmaf(share, read.slope.y, d.y)};
}

#endif

__device__ __forceinline__ Shown shown(const Lens& lens, const Camera& camera, Vec3 view) {
#if LENS == 2
    Shown read;
    read.view = view;
#pragma unroll 1
    for (int i = 0; i <= SHUTTER_ITERATIONS; ++i)
        read = read_point(lens, lens_pixel(lens, camera, read.view), view);
    return read;
#else
    return {lens_pixel(lens, camera, view), view};
#endif
}

// Pixels from the principal point.
__device__ __forceinline__ Vec2 camera_pixel(const Lens& lens, const Camera& camera, Vec3 view) {
    return shown(lens, camera, view).pixel;
}

// The gradient of a point in view space, given that of its pixel.
__device__ __forceinline__ Vec3 camera_pixel_backward(const Lens& lens, const Camera& camera,
                                                      const Shown& at, Vec2 d) {
    Vec3 of_pixel = lens_pixel_backward(lens, camera, at.view, d);
#if LENS == 2
    Vec3 of_time = lens_pixel_backward(lens, camera, at.view, at.slope);
    float share = time_gradient(lens, at, of_pixel, of_time);
    Vec3 out = {fmaf(share, of_time.x, of_pixel.x), fmaf(share, of_time.y, of_pixel.y),
                fmaf(share, of_time.z, of_pixel.z)};
    return turned(lens, at.row_time * lens.turn, out);
#else
    return of_pixel;
#endif
}

#endif
