// Cameras: the pixel of a mean in camera space, the Jacobian with which its covariance is projected
// (EWA splatting, Zwicker et al. 2001), and their gradients.

#pragma once
#include "linear.cuh"

// Numbers of camera models; in Rust by the names of `CameraModel`.
#define PINHOLE 0
#define ORTHO 1
#define FISHEYE 2
// Beyond the image the Jacobian of PINHOLE is that of a point within this part of half of the
// image's side.
#define MARGIN 0.3f

struct Intrinsics {
    float focal[2], centre[2], side[2];  // pixels, x and y
};

// From a 3x3 matrix.
__device__ __forceinline__ Intrinsics load_intrinsics(const float* k, u32 width, u32 height) {
    return {{__ldg(k), __ldg(k + 4)}, {__ldg(k + 2), __ldg(k + 5)}, {(float)width, (float)height}};
}

struct Seen {
    float mean2d[2];
    Mat23 jacobian;
};

// Gradients of a mean in camera space and of the intrinsics.
struct SeenGradient {
    float mean[3];
    float focal[2], centre[2];
};

// Where (x, y) the Jacobian is evaluated. A pinhole's is held at tangents `limit` beyond the image.
struct JacobianPlace {
    float at[2], limit[2];
    bool is_held[2];
};
__device__ __forceinline__ JacobianPlace jacobian_place(u32 model, const Intrinsics& k, Vec3 mean) {
    JacobianPlace place = {{mean.x, mean.y}, {}, {}};
    if (model != PINHOLE) return place;
    float inverse = 1.0f / mean.z;
#pragma unroll
    for (int axis = 0; axis < 2; ++axis) {
        float margin = 0.5f * MARGIN * k.side[axis] / k.focal[axis];
        float low = -(k.centre[axis] / k.focal[axis] + margin);
        float high = (k.side[axis] - k.centre[axis]) / k.focal[axis] + margin;
        float tangent = place.at[axis] * inverse;
        place.limit[axis] = fminf(high, fmaxf(low, tangent));
        place.is_held[axis] = place.limit[axis] != tangent;
        if (place.is_held[axis]) place.at[axis] = place.limit[axis] * mean.z;
    }
    return place;
}

// How a model projects about its axis: the pixel of (x, y, z) is (x, y) g for focal lengths of 1,
// with g a function of rho = x^2 + y^2 and z, and with c = 2 dg/drho the Jacobian has the rows
// (g + x^2 c, x y c, x dg/dz) and (x y c, g + y^2 c, y dg/dz). Of a fisheye, with s = sqrt(rho),
// theta = atan2(s, z), r^2 = rho + z^2, g = theta / s.
struct Radial {
    float stretch;     // g
    float stretch_z;   // dg/dz
    float stretch_zz;  // d^2 g/dz^2
    float bend;        // c
    float bend_rho;    // dc/drho
    float bend_z;      // dc/dz
};

// tan^2 theta below which series take the place of differences that cancel.
#define NEAR_AXIS 0.05f
#define SERIES_TERMS 8
// What gsplat adds to s, in f32 several roundings of it. Half a turn from the axis it moves pixels
// by 4e-7 of their distance from the centre, which is more than gsplat's own tests allow.
#define APART 1e-7f

__device__ __forceinline__ Radial fisheye_of(float x, float y, float z) {
    float rho = fmaf(x, x, y * y), inverse = 1.0f / fmaf(z, z, rho), square = rho / (z * z);
    Radial radial = {};
    radial.stretch_z = -inverse;
    radial.bend_z = 2.0f * inverse * inverse;
    radial.stretch_zz = z * radial.bend_z;
    if (z > 0.0f && square < NEAR_AXIS) {
        // theta / tan theta = sum of (-1)^k tan^(2k) / (2k + 1); bend and its derivative alike.
        float stretch = 0.0f, bend = 0.0f, bend_rho = 0.0f;
#pragma unroll
        for (int k = SERIES_TERMS; k > 0; --k) {
            float term = (k % 2 ? -1.0f : 1.0f) / (2 * k + 1), a = 2 * k * term;
            stretch = fmaf(stretch, square, term);
            bend = fmaf(bend, square, a);
            if (k > 1) bend_rho = fmaf(bend_rho, square, (k - 1) * a);
        }
        float cube = 1.0f / (z * z * z);
        radial.stretch = fmaf(stretch, square, 1.0f) / z;
        radial.bend = bend * cube;
        radial.bend_rho = bend_rho * cube / (z * z);
        return radial;
    }
    float s = sqrtf(rho) + APART, theta = atan2f(s, z);
    radial.stretch = theta / s;
    // (z s / r^2 - theta) / s^3
    radial.bend = fmaf(z * s, inverse, -theta) / (rho * s);
    radial.bend_rho = -(z * inverse * inverse + 1.5f * radial.bend) / rho;
    return radial;
}

__device__ __forceinline__ Radial radial_of(u32 model, Vec3 mean) {
    if (model == FISHEYE) return fisheye_of(mean.x, mean.y, mean.z);
    if (model == ORTHO) return {1.0f};
    float inverse = 1.0f / mean.z, square = inverse * inverse;
    return {inverse, -square, 2.0f * inverse * square};
}

// The Jacobian at (x, y) for focal lengths of 1.
__device__ __forceinline__ Mat23 radial_jacobian(const Radial& radial, const float (&at)[2]) {
    float x = at[0], y = at[1], across = x * y * radial.bend;
    return {{{fmaf(x * x, radial.bend, radial.stretch), across, x * radial.stretch_z},
             {across, fmaf(y * y, radial.bend, radial.stretch), y * radial.stretch_z}}};
}

// Rows times the focal lengths.
__device__ __forceinline__ Mat23 in_pixels(const Intrinsics& k, Mat23 rows) {
#pragma unroll
    for (int axis = 0; axis < 2; ++axis)
#pragma unroll
        for (int j = 0; j < 3; ++j) rows.at[axis][j] *= k.focal[axis];
    return rows;
}

__device__ __forceinline__ Seen see(u32 model, const Intrinsics& k, Vec3 mean) {
    Radial radial = radial_of(model, mean);
    float x = mean.x * radial.stretch, y = mean.y * radial.stretch;
    Mat23 jacobian = radial_jacobian(radial, jacobian_place(model, k, mean).at);
    return {{fmaf(k.focal[0], x, k.centre[0]), fmaf(k.focal[1], y, k.centre[1])},
            in_pixels(k, jacobian)};
}

// The gradients of `see` from those of pixel and Jacobian.
__device__ __forceinline__ SeenGradient see_backward(u32 model, const Intrinsics& k, Vec3 mean,
                                                     const float (&v_mean2d)[2], const Mat23& v_j) {
    Radial radial = radial_of(model, mean);
    JacobianPlace place = jacobian_place(model, k, mean);
    float xy[2] = {mean.x, mean.y}, x = place.at[0], y = place.at[1];
    Mat23 of_pixel = radial_jacobian(radial, xy), jacobian = radial_jacobian(radial, place.at);
    Mat23 g = in_pixels(k, v_j);
    SeenGradient out = {};
#pragma unroll
    for (int axis = 0; axis < 2; ++axis) {
        float v = v_mean2d[axis];
        out.centre[axis] = v;
        out.focal[axis] = v * xy[axis] * radial.stretch;
#pragma unroll
        for (int j = 0; j < 3; ++j) {
            out.mean[j] = fmaf(k.focal[axis] * v, of_pixel.at[axis][j], out.mean[j]);
            out.focal[axis] = fmaf(v_j.at[axis][j], jacobian.at[axis][j], out.focal[axis]);
        }
    }
    // Gradients of what the Jacobian is made of.
    float v_across = g.at[0][1] + g.at[1][0], v_stretch = g.at[0][0] + g.at[1][1];
    float v_bend = x * x * g.at[0][0] + y * y * g.at[1][1] + x * y * v_across;
    float v_stretch_z = x * g.at[0][2] + y * g.at[1][2];
    float v_rho =
        v_bend * radial.bend_rho + 0.5f * (v_stretch * radial.bend + v_stretch_z * radial.bend_z);
    out.mean[2] +=
        v_stretch * radial.stretch_z + v_bend * radial.bend_z + v_stretch_z * radial.stretch_zz;
    float v_at[2] = {
        radial.bend * (2 * x * g.at[0][0] + y * v_across) + radial.stretch_z * g.at[0][2],
        radial.bend * (2 * y * g.at[1][1] + x * v_across) + radial.stretch_z * g.at[1][2]};
#pragma unroll
    for (int axis = 0; axis < 2; ++axis) {
        out.mean[axis] = fmaf(2.0f * xy[axis], v_rho, out.mean[axis]);
        if (!place.is_held[axis]) {
            out.mean[axis] += v_at[axis];
            continue;
        }
        // A limit is a number of pixels from the principal point, over the focal length.
        float limit = place.limit[axis], by_focal = v_at[axis] * mean.z / k.focal[axis];
        out.mean[2] = fmaf(v_at[axis], limit, out.mean[2]);
        out.focal[axis] = fmaf(-limit, by_focal, out.focal[axis]);
        out.centre[axis] -= by_focal;
    }
    return out;
}
