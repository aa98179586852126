// Where a lens shows a point, if LENS is 1, or 2 for a camera that also has a rolling shutter
// (shutter.cuh) and perhaps no lens. Twin, in f64:
// splatcore-core/src/lens/{plane,polynomial,projection}.rs.

#pragma once
#include "splat.cuh"

// As KernelLens in ops/lens.rs, field by field. The polynomial of splatcore_core::lens::Polynomial
// and the rest of splatcore_core::lens::Projection.
struct Lens {
    float radial[6];
    float odd[6];
    float divisor[3];
    float tangential[2];
    float growth[2];
    float prism[4];
    float skew[2];
    u32 has_odd;          // 0: no term of `odd` is used
    u32 radial_first;     // 1: the other terms are those of the point times the radial factor
    u32 plane;            // in which it acts, below
    float max_angle;      // radians from the axis up to which the polynomial is used
    float edge;           // that in its plane
    float slope;          // of the image by the angle beyond
    float centre_cosine;  // of the angle up to which a Gaussian's centre is drawn
    float sigma_cosine;   // the same of its sigma points
    float period;         // pixels along x after which places repeat; 0: they do not
    // Of a rolling shutter, as splatcore_core::shutter has it; the axis has unit length.
    float turn_axis[3];
    float turn;
    float shift[3];
    float row_time;  // when the pixel of the principal point is read
    float time_slope[2];
};

#if LENS

// As splatcore_core::lens::Plane. In PARALLEL and SPHERE every point has its place, and no
// polynomial bends it.
#define PLANE_IMAGE 0
#define PLANE_PARALLEL 1
#define PLANE_ANGLE 2
#define PLANE_SPHERE 3
// On the axis the derivative of an odd power is that at this squared distance from it.
#define TINY_SQUARE 1e-20f
// At the poles the derivative of the longitude is that at this share of the distance from them.
#define POLE 1e-6f

struct Vec2 {
    float x, y;
};

// A matrix whose rows are outputs.
struct Rows2x2 {
    float xx, xy, yx, yy;
};

// A point about the axis; as `Place` in projection.rs.
struct LensPoint {
    float r;        // distance from the axis
    Vec2 outwards;  // unit vector away from it, (1, 0) on it
    float beyond;   // radians beyond max_angle, or 0
    Vec2 plane;     // in the polynomial's plane
    float ratio;    // that over r
    float growth;   // of its distance from the axis by the angle; 0 beyond
    float square;   // squared distance from the camera
};

// Whether every point has its place: (x, y) of parallel rays, longitude and latitude of a sphere.
__device__ __forceinline__ bool lens_is_straight(const Lens& lens) {
    return lens.plane == PLANE_PARALLEL || lens.plane == PLANE_SPHERE;
}

// That place.
__device__ __forceinline__ Vec2 lens_place(const Lens& lens, Vec3 view) {
    if (lens.plane == PLANE_PARALLEL) return {view.x, view.y};
    return {atan2f(view.x, view.z), atan2f(view.y, sqrtf(fmaf(view.x, view.x, view.z * view.z)))};
}

// J^t d, of that place.
__device__ __forceinline__ Vec3 lens_place_backward(const Lens& lens, Vec3 view, Vec2 d) {
    if (lens.plane == PLANE_PARALLEL) return {d.x, d.y, 0.0f};
    float across = fmaf(view.x, view.x, view.z * view.z);
    float square = fmaf(view.y, view.y, across);
    float kept = fmaxf(across, POLE * POLE * square);
    float along = d.x / kept, share = d.y * view.y / (sqrtf(kept) * square);
    return {fmaf(along, view.z, -share * view.x), d.y * sqrtf(across) / square,
            fmaf(-along, view.x, -share * view.z)};
}

// What a splat's depth is: the distance from the camera if Gaussians beside it may be drawn, or z.
__device__ __forceinline__ bool lens_depth_is_distance(const Lens& lens) {
    bool all_around = lens.plane == PLANE_ANGLE || lens.plane == PLANE_SPHERE;
    return all_around && lens.centre_cosine < 0.0f;
}

// A pixel's x, so many periods further that it is the nearest to another one.
__device__ __forceinline__ float lens_beside(const Lens& lens, float x, float other) {
    return lens.period > 0.0f ? x - lens.period * rintf((x - other) / lens.period) : x;
}

__device__ __forceinline__ LensPoint lens_point(const Lens& lens, Vec3 view) {
    LensPoint p;
    float across = fmaf(view.x, view.x, view.y * view.y);
    p.r = sqrtf(across);
    p.square = fmaf(view.z, view.z, across);
    bool on_axis = p.r <= 1e-12f * fabsf(view.z);
    float inverse_r = 1.0f / p.r;
    p.outwards = {on_axis ? 1.0f : view.x * inverse_r, on_axis ? 0.0f : view.y * inverse_r};
    p.beyond = 0.0f;
    if (lens.plane == PLANE_IMAGE && view.z > 0.0f && p.r <= lens.edge * view.z) {
        p.ratio = 1.0f / view.z;
        p.growth = p.square * p.ratio * p.ratio;
    } else {
        float angle = atan2f(p.r, view.z);
        bool inside = lens.plane == PLANE_ANGLE && angle <= lens.max_angle;
        if (inside) {
            p.ratio = on_axis ? 1.0f / view.z : angle * inverse_r;
            p.growth = 1.0f;
        } else {
            p.ratio = lens.edge * inverse_r;
            p.growth = 0.0f;
            p.beyond = fmaxf(angle - lens.max_angle, 0.0f);
        }
    }
    p.plane = {view.x * p.ratio, view.y * p.ratio};
    return p;
}

// The radial factor at a squared distance from the axis, and its derivative by that square.
__device__ __forceinline__ float lens_radial(const Lens& lens, float s, float& slope) {
    float above = 0.0f, above_slope = 0.0f, below = 0.0f, below_slope = 0.0f;
#pragma unroll
    for (int i = 5; i >= 0; --i) {
        above_slope = fmaf(s, above_slope, above);
        above = fmaf(s, above, lens.radial[i]);
    }
#pragma unroll
    for (int i = 2; i >= 0; --i) {
        below_slope = fmaf(s, below_slope, below);
        below = fmaf(s, below, lens.divisor[i]);
    }
    // 1 + s (...): value and slope of the products.
    above_slope = fmaf(s, above_slope, above);
    below_slope = fmaf(s, below_slope, below);
    above = fmaf(s, above, 1.0f);
    below = fmaf(s, below, 1.0f);
    if (lens.has_odd) {
        float odd = 0.0f, odd_slope = 0.0f, root = sqrtf(fmaxf(s, TINY_SQUARE));
#pragma unroll
        for (int i = 5; i >= 0; --i) {
            odd_slope = fmaf(s, odd_slope, odd);
            odd = fmaf(s, odd, lens.odd[i]);
        }
        above = fmaf(root, odd, above);
        above_slope += fmaf(root, odd_slope, 0.5f * odd / root);
    }
    float inverse = 1.0f / below, factor = above * inverse;
    slope = (above_slope - factor * below_slope) * inverse;
    return factor;
}

// Where a point of the plane goes, on the real image plane; with its derivative if JACOBIAN.
template <bool JACOBIAN>
__device__ __forceinline__ Vec2 lens_bend(const Lens& lens, Vec2 at, Rows2x2& rows) {
    float slope, radial = lens_radial(lens, fmaf(at.x, at.x, at.y * at.y), slope);
    Rows2x2 first = {1.0f, 0.0f, 0.0f, 1.0f};
    if (lens.radial_first) {
        float cross = 2.0f * at.x * at.y * slope;
        first = {fmaf(2.0f * at.x * at.x, slope, radial), cross, cross,
                 fmaf(2.0f * at.y * at.y, slope, radial)};
        at = {at.x * radial, at.y * radial};
        radial = 1.0f;
        slope = 0.0f;
    }
    float x = at.x, y = at.y, s = fmaf(x, x, y * y);
    float p1 = lens.tangential[0], p2 = lens.tangential[1];
    float more = fmaf(s, fmaf(s, lens.growth[1], lens.growth[0]), 1.0f);
    float tangential_x = fmaf(2.0f * p1 * x, y, p2 * fmaf(2.0f * x, x, s)),
          tangential_y = fmaf(2.0f * p2 * x, y, p1 * fmaf(2.0f * y, y, s));
    float bent_y = y * radial + more * tangential_y + s * fmaf(s, lens.prism[3], lens.prism[2]);
    float bent_x = x * radial + more * tangential_x + s * fmaf(s, lens.prism[1], lens.prism[0]);
    if (JACOBIAN) {
        float more_slope = fmaf(2.0f * lens.growth[1], s, lens.growth[0]);
        // By s, which x and y change by 2x and 2y.
        float of_x = x * slope + more_slope * tangential_x +
                     fmaf(2.0f * lens.prism[1], s, lens.prism[0]),
              of_y = y * slope + more_slope * tangential_y +
                     fmaf(2.0f * lens.prism[3], s, lens.prism[2]);
        float cross = 2.0f * more * fmaf(p1, x, p2 * y);
        Rows2x2 then;
        then.yx = fmaf(2.0f * x, of_y, cross);
        then.yy = radial + 2.0f * y * of_y + more * fmaf(2.0f * p2, x, 6.0f * p1 * y);
        then.xx = radial + 2.0f * x * of_x + more * fmaf(2.0f * p1, y, 6.0f * p2 * x);
        then.xy = fmaf(2.0f * y, of_x, cross);
        then = {fmaf(lens.skew[0], then.yx, then.xx), fmaf(lens.skew[0], then.yy, then.xy),
                fmaf(lens.skew[1], then.xx, then.yx), fmaf(lens.skew[1], then.xy, then.yy)};
        rows = {fmaf(then.xx, first.xx, then.xy * first.yx),
                fmaf(then.xx, first.xy, then.xy * first.yy),
                fmaf(then.yx, first.xx, then.yy * first.yx),
                fmaf(then.yx, first.xy, then.yy * first.yy)};
    }
    return {fmaf(lens.skew[0], bent_y, bent_x), fmaf(lens.skew[1], bent_x, bent_y)};
}

#if INTRINSICS
// Adds the gradients of the coefficients, in the order of splatcore-core/src/lens/coefficients.rs,
// given that of the pixel of a point; max_angle and slope are held.
__device__ __forceinline__ void lens_coefficients_backward(const Lens& lens, const Camera& camera,
                                                           Vec3 view, Vec2 d, float* out) {
    if (lens_is_straight(lens)) return;
    Vec2 at = lens_point(lens, view).plane;
    d = {d.x * camera.focal[0], d.y * camera.focal[1]};
    float s = fmaf(at.x, at.x, at.y * at.y), slope, factor = lens_radial(lens, s, slope);
    float below =
        fmaf(s, fmaf(s, fmaf(s, lens.divisor[2], lens.divisor[1]), lens.divisor[0]), 1.0f);
    const Vec2 sheared = {fmaf(lens.skew[1], d.y, d.x), fmaf(lens.skew[0], d.x, d.y)};
    Vec2 inner = at, by_factor = sheared;
    float rest_factor = factor;
    if (lens.radial_first) {
        inner = {at.x * factor, at.y * factor};
        rest_factor = 1.0f;
        // Of the other terms alone: a lens whose radial factor is 1.
        Lens rest = lens;
        for (int k = 0; k < 6; ++k) rest.radial[k] = 0.0f;
        for (int k = 0; k < 3; ++k) rest.divisor[k] = 0.0f;
        rest.has_odd = rest.radial_first = 0;
        Rows2x2 rows = {};
        lens_bend<true>(rest, inner, rows);
        by_factor = {fmaf(rows.xx, d.x, rows.yx * d.y), fmaf(rows.xy, d.x, rows.yy * d.y)};
    }
    // The radial factor: numerator of even and of odd powers, denominator.
    float along = fmaf(at.x, by_factor.x, at.y * by_factor.y) / below;
    float odd = along * sqrtf(s), even = along * s, under = -factor * even;
#pragma unroll
    for (int k = 0; k < 6; ++k) {
        out[k] += even;
        out[6 + k] += odd;
        if (k < 3) out[12 + k] += under;
        even *= s, odd *= s, under *= s;
    }
    const float x = inner.x, y = inner.y;
    s = fmaf(x, x, y * y);
    float more = fmaf(s, fmaf(s, lens.growth[1], lens.growth[0]), 1.0f);
    float cross = 2.0f * x * y;
    float by_p1 = fmaf(cross, sheared.x, fmaf(2.0f * y, y, s) * sheared.y),
          by_p2 = fmaf(fmaf(2.0f * x, x, s), sheared.x, cross * sheared.y);
    out[15] = fmaf(more, by_p1, out[15]);
    out[16] = fmaf(more, by_p2, out[16]);
    float grown = fmaf(lens.tangential[0], by_p1, lens.tangential[1] * by_p2);
    out[17] = fmaf(s, grown, out[17]);
    out[18] = fmaf(s * s, grown, out[18]);
    out[19] = fmaf(s, sheared.x, out[19]);
    out[20] = fmaf(s * s, sheared.x, out[20]);
    out[21] = fmaf(s, sheared.y, out[21]);
    out[22] = fmaf(s * s, sheared.y, out[22]);
    // Where the point is before the shear.
    float p1 = lens.tangential[0], p2 = lens.tangential[1];
    float bent_x = x * rest_factor + more * fmaf(p1, cross, p2 * fmaf(2.0f * x, x, s)) +
                   s * fmaf(s, lens.prism[1], lens.prism[0]);
    float bent_y = y * rest_factor + more * fmaf(p2, cross, p1 * fmaf(2.0f * y, y, s)) +
                   s * fmaf(s, lens.prism[3], lens.prism[2]);
    out[23] = fmaf(bent_y, d.x, out[23]);
    out[24] = fmaf(bent_x, d.y, out[24]);
}
#endif

// Pixels from the principal point.
__device__ __forceinline__ Vec2 lens_pixel(const Lens& lens, const Camera& camera, Vec3 view) {
    if (lens_is_straight(lens)) {
        Vec2 place = lens_place(lens, view);
        return {camera.focal[0] * place.x, camera.focal[1] * place.y};
    }
    Vec2 plane, outwards = {1.0f, 0.0f};
    float further = 0.0f;
    const float limit = lens.edge * view.z;
    if (lens.plane == PLANE_IMAGE && view.z > 0.0f &&
        fmaf(view.x, view.x, view.y * view.y) <= limit * limit) {
        // As in lens_point, but for what only other points need.
        const float ratio = 1.0f / view.z;
        plane = {view.x * ratio, view.y * ratio};
    } else {
        const LensPoint p = lens_point(lens, view);
        plane = p.plane;
        outwards = p.outwards;
        further = lens.slope * p.beyond;
    }
    Rows2x2 unused = {};
    Vec2 bent = lens_bend<false>(lens, plane, unused);
    return {camera.focal[0] * fmaf(further, outwards.x, bent.x),
            camera.focal[1] * fmaf(further, outwards.y, bent.y)};
}

// J^t d: the gradient of a point in view space, given that of its pixel.
__device__ __forceinline__ Vec3 lens_pixel_backward(const Lens& lens, const Camera& camera,
                                                    Vec3 view, Vec2 d) {
    d = {d.x * camera.focal[0], d.y * camera.focal[1]};
    if (lens_is_straight(lens)) return lens_place_backward(lens, view, d);
    LensPoint p = lens_point(lens, view);
    Rows2x2 bend = {};
    lens_bend<true>(lens, p.plane, bend);
    // In the plane, and by what is further out.
    Vec2 plane = {fmaf(bend.xx, d.x, bend.yx * d.y), fmaf(bend.xy, d.x, bend.yy * d.y)};
    float inverse = 1.0f / p.square;
    float along = p.growth * fmaf(p.outwards.x, plane.x, p.outwards.y * plane.y);
    float around = p.ratio * fmaf(-p.outwards.y, plane.x, p.outwards.x * plane.y);
    if (p.beyond > 0.0f) {
        along = fmaf(lens.slope, fmaf(p.outwards.x, d.x, p.outwards.y * d.y), along);
        around =
            fmaf(lens.slope * p.beyond / p.r, fmaf(-p.outwards.y, d.x, p.outwards.x * d.y), around);
    }
    along *= inverse;
    float out = along * view.z;
    return {fmaf(out, p.outwards.x, -around * p.outwards.y),
            fmaf(out, p.outwards.y, around * p.outwards.x), -along * p.r};
}

// What splats are sorted by, and what must be beyond the near plane.
__device__ __forceinline__ float lens_depth(const Lens& lens, Vec3 view) {
    return lens_depth_is_distance(lens) ? sqrtf(dot(view, view)) : view.z;
}

// Whether the angle between a point and the axis has at least this cosine: z >= cosine |view|, by
// signed squares.
__device__ __forceinline__ bool lens_is_within(Vec3 view, float cosine) {
    return view.z * fabsf(view.z) >= cosine * fabsf(cosine) * dot(view, view);
}

// Whether a Gaussian with its mean here may be drawn, the near plane aside.
__device__ __forceinline__ bool lens_sees_centre(const Lens& lens, Vec3 view) {
    return lens_is_within(view, lens.centre_cosine);
}

#endif
