// colour, models `ppisp` and `ppisp-linear`: exposure, vignetting, colour and response.
//
// Contract. PPISP (nv-tlabs/ppisp, sections 4.1 to 4.4); equations, and how they are written to be
// exact where nothing changes: splatcore-core/src/colour/ppisp.rs, which is also the CPU's. A
// photo's numbers: exposure, 8 latents of colour; a camera's: [3][5] vignetting, [3][4] response.
// Factors: gain; [3][5] vignetting; 8 of the homography's columns; [3][5] response. Kernels:
// colour_kernels.cuh.
//
// Bound. Memory; of `ppisp` 350 instructions a pixel in both large kernels, 36 of them special
// functions, a third of it in `ppisp-linear`.
//
// Now. 160 us for all four kernels (1080x1920, H200). History: docs/log/kernels/colour.md

#include "colour_model.cuh"

#define VIGNETTE 5
#define FIRST_COLOUR 16
#define FIRST_RESPONSE 24
#define CURVE 5
#define HAS_RESPONSE (FACTORS > FIRST_RESPONSE)
#define MIN_SUM 1e-5f   // keeps quotients of sums finite
#define MAX_GAIN 10.0f  // of red and green, before the sum is restored
#define MIN_BASE 1e-6f  // powers are taken of at least this
#define MIN_AREA 0.05f  // of triangles of chromaticities, in thirds
// What makes toe and shoulder 0.3 + softplus, and gamma 0.1 + softplus, 1: ln(e^0.7 - 1), ...
#define START 0.013658997f
#define START_GAMMA 0.378164557f

__device__ __forceinline__ float clamped(float value) { return fminf(fmaxf(value, 0.0f), 1.0f); }
__device__ __forceinline__ bool is_cut(float value) { return !(value >= 0.0f && value <= 1.0f); }

// softplus(start + offset) - softplus(start), exactly 0 without an offset.
template <class Number>
__device__ __forceinline__ Number softplus(Number x) {
    const Number size = value_of(x) < 0.0f ? x : -x;
    return larger(x, Number(0.0f)) + logarithm(Number(1.0f) + exponential(size));
}
template <class Number>
__device__ __forceinline__ Number softplus_offset(Number offset, float start) {
    return softplus(Number(start) + offset) - softplus(Number(start));
}

// The columns, but for the last number, of the homography that moves four chromaticities.
template <class Number>
__device__ __forceinline__ void homography(const Number* latents, Number* h) {
    const float matrices[4][3] = {{0.0481f, -0.0044f, 0.0481f},
                                  {0.0581f, -0.0180f, 0.0431f},
                                  {0.0433f, -0.0181f, 0.0581f},
                                  {0.0128f, -0.0035f, 0.0128f}};
    Number t[4][2];
    for (u32 p = 0; p < 4; ++p) {
        const Number u = latents[2 * p], v = latents[2 * p + 1];
        t[p][0] = Number(matrices[p][0]) * u + Number(matrices[p][1]) * v;
        t[p][1] = Number(matrices[p][1]) * u + Number(matrices[p][2]) * v;
    }
    const Number b0 = t[0][0], b1 = t[0][1], r0 = t[1][0], r1 = t[1][1], g0 = t[2][0], g1 = t[2][1],
                 n0 = t[3][0], n1 = t[3][1];
    const Number one(1.0f), third(1.0f / 3.0f), three(3.0f);
    // Cross products of two points, but for what they are without a move.
    const Number grey_green = n0 + third * (g1 - g0) + n0 * g1 - n1 * g0;
    const Number red_grey = n1 + third * (r0 - r1) + r0 * n1 - r1 * n0;
    const Number blue_grey = third * (b0 - b1) + b0 * n1 - b1 * n0;
    const Number red_green = r0 + g1 + r0 * g1 - r1 * g0;
    const Number of_blue = red_green - red_grey - grey_green;
    const Number of_red = grey_green + blue_grey + g0 * b1 - b0 - g1 * b0;
    const Number of_green = red_grey - blue_grey + b0 * r1 - b1 - b1 * r0;
    const Number area = larger(one + three * of_blue, Number(MIN_AREA));
    const Number a = larger(one + three * of_red, Number(MIN_AREA)) / area,
                 b = larger(one + three * of_green, Number(MIN_AREA)) / area;
    h[0] = a * (one + r0) - b0;
    h[1] = a * r1 - b1;
    h[2] = a - one;
    h[3] = b * g0 - b0;
    h[4] = b * (one + g1) - b1;
    h[5] = b - one;
    h[6] = b0;
    h[7] = b1;
}

// A channel's vignetting at a place.
struct Falloff {
    float off_x, off_y, square, value;
};
__device__ __forceinline__ Falloff falloff_at(const float* n, Place p) {
    Falloff f;
    f.off_x = p.x - n[0];
    f.off_y = p.y - n[1];
    f.square = fmaf(f.off_x, f.off_x, f.off_y * f.off_y);
    f.value = fmaf(f.square, fmaf(f.square, fmaf(f.square, n[4], n[3]), n[2]), 1.0f);
    return f;
}
__device__ __forceinline__ void falloff_backward(const float* n, const Falloff& f, float by,
                                                 float* sums) {
    if (is_cut(f.value)) by = 0.0f;
    const float d = f.square;
    const float by_square = by * fmaf(d, fmaf(3.0f * d, n[4], 2.0f * n[3]), n[2]);
    sums[0] = fmaf(-2.0f * by_square, f.off_x, sums[0]);
    sums[1] = fmaf(-2.0f * by_square, f.off_y, sums[1]);
    sums[2] = fmaf(by, d, sums[2]);
    sums[3] = fmaf(by * d, d, sums[3]);
    sums[4] = fmaf(by * d * d, d, sums[4]);
}

// A colour after the homography; the sum of its channels stays.
struct Tinted {
    float mapped[2], sum, gain, denominator;
    bool gain_is_cut;
    Rgb colour;
};
__device__ __forceinline__ Tinted tinted(const float* h, Rgb x) {
    const float r = x.value[0], g = x.value[1], b = x.value[2];
    Tinted t;
    t.sum = r + g + b;
    for (u32 k = 0; k < 2; ++k) t.mapped[k] = fmaf(h[k], r, fmaf(h[3 + k], g, h[6 + k] * t.sum));
    const float kept = t.sum + MIN_SUM, least = kept * (1.0f / MAX_GAIN);
    const float third = fmaf(h[2], r, fmaf(h[5], g, kept));
    t.gain_is_cut = third < least;
    t.denominator = t.gain_is_cut ? least : third;
    t.gain = kept / t.denominator;
    const float red = t.mapped[0] * t.gain, green = t.mapped[1] * t.gain;
    t.colour = {{red, green, b + ((r - red) + (g - green))}};
    return t;
}
__device__ __forceinline__ Rgb tinted_backward(const float* h, const Tinted& t, Rgb x, Rgb by,
                                               float* sums) {
    const float r = x.value[0], g = x.value[1];
    const float by_red = by.value[0] - by.value[2], by_green = by.value[1] - by.value[2];
    const float u = by_red * t.gain, v = by_green * t.gain;
    const float by_gain = fmaf(by_red, t.mapped[0], by_green * t.mapped[1]);
    // Where the gain is cut, it is a constant.
    const float share = t.gain_is_cut ? 0.0f : by_gain / t.denominator;
    const float by_third = -share * t.gain;
    const float by_sum = fmaf(h[6], u, fmaf(h[7], v, share * (1.0f - t.gain)));
    sums[0] = fmaf(u, r, sums[0]);
    sums[1] = fmaf(v, r, sums[1]);
    sums[2] = fmaf(by_third, r, sums[2]);
    sums[3] = fmaf(u, g, sums[3]);
    sums[4] = fmaf(v, g, sums[4]);
    sums[5] = fmaf(by_third, g, sums[5]);
    sums[6] = fmaf(u, t.sum, sums[6]);
    sums[7] = fmaf(v, t.sum, sums[7]);
    const float all = by.value[2] + by_sum;
    return {{all + fmaf(h[0], u, fmaf(h[1], v, h[2] * by_third)),
             all + fmaf(h[3], u, fmaf(h[4], v, h[5] * by_third)), all}};
}

// x^exponent and its derivatives; exactly x for an exponent of 1.
struct Power {
    float value, by_x, by_exponent;
};
__device__ __forceinline__ Power power(float x, float exponent) {
    const float log = logf(fmaxf(x, MIN_BASE));
    const float factor = expf((exponent - 1.0f) * log);
    return {x * factor, x > MIN_BASE ? exponent * factor : factor, x * factor * log};
}

// A channel's response before gamma: toe below the centre, shoulder from it on.
struct Half {
    u32 exponent;  // place in the curve
    float base, scale, width;
    Power power;
    float value;
};
__device__ __forceinline__ Half half_of(const float* curve, float x) {
    const float centre = curve[3], at_centre = curve[4];
    const bool is_toe = x < centre;
    Half half;
    half.exponent = is_toe ? 0 : 1;
    half.base = is_toe ? x / centre : (1.0f - x) / (1.0f - centre);
    half.scale = is_toe ? at_centre : at_centre - 1.0f;
    half.width = is_toe ? centre : centre - 1.0f;
    half.power = power(half.base, is_toe ? curve[0] : curve[1]);
    half.value = fmaf(half.scale, half.power.value, is_toe ? 0.0f : 1.0f);
    return half;
}
__device__ __forceinline__ float response_backward(const float* curve, float x, float by,
                                                   float* sums) {
    const Half half = half_of(curve, x);
    const Power gamma = power(half.value, curve[2]);
    sums[2] = fmaf(by, gamma.by_exponent, sums[2]);
    by *= gamma.by_x;
    const float by_exponent = by * half.scale * half.power.by_exponent;
    sums[0] += half.exponent == 0 ? by_exponent : 0.0f;
    sums[1] += half.exponent == 1 ? by_exponent : 0.0f;
    const float by_x = by * half.scale * half.power.by_x / half.width;
    sums[3] = fmaf(-by_x, half.base, sums[3]);
    sums[4] = fmaf(by, half.power.value, sums[4]);
    return by_x;
}

struct Model {
    template <class Number>
    static __device__ __forceinline__ void factors(const Number* photo, const Number* camera,
                                                   Number* f) {
        const Number one(1.0f);
        f[0] = exponential(photo[0] * Number(LN2));
        for (u32 k = 0; k < 3 * VIGNETTE; ++k) f[1 + k] = camera[k];
        homography(photo + 1, f + FIRST_COLOUR);
        for (u32 c = 0; HAS_RESPONSE && c < 3; ++c) {
            const Number* n = camera + 3 * VIGNETTE + 4 * c;
            Number* curve = f + FIRST_RESPONSE + CURVE * c;
            const Number toe = one + softplus_offset(n[0], START),
                         shoulder = one + softplus_offset(n[1], START);
            const Number centre = one / (one + exponential(-n[3]));
            curve[0] = toe;
            curve[1] = shoulder;
            curve[2] = one + softplus_offset(n[2], START_GAMMA);
            curve[3] = centre;
            curve[4] = shoulder * centre / (toe + centre * (shoulder - toe));
        }
    }

    static __device__ __forceinline__ Rgb colour(const float* f, Place place, Rgb rgb) {
#pragma unroll
        for (u32 c = 0; c < 3; ++c)
            rgb.value[c] *= f[0] * clamped(falloff_at(f + 1 + VIGNETTE * c, place).value);
        Rgb seen = tinted(f + FIRST_COLOUR, rgb).colour;
#pragma unroll
        for (u32 c = 0; c < 3; ++c) {
            seen.value[c] = clamped(seen.value[c]);
            const float* curve = f + FIRST_RESPONSE + CURVE * c;
            if (HAS_RESPONSE)
                seen.value[c] = power(half_of(curve, seen.value[c]).value, curve[2]).value;
        }
        return seen;
    }

    static __device__ __forceinline__ Rgb backward(const float* f, Place place, Rgb rgb, Rgb by,
                                                   float* sums) {
        Falloff falloff[3];
        Rgb x;
#pragma unroll
        for (u32 c = 0; c < 3; ++c) {
            falloff[c] = falloff_at(f + 1 + VIGNETTE * c, place);
            x.value[c] = rgb.value[c] * (f[0] * clamped(falloff[c].value));
        }
        const Tinted t = tinted(f + FIRST_COLOUR, x);
#pragma unroll
        for (u32 c = 0; c < 3; ++c) {
            const u32 at = FIRST_RESPONSE + CURVE * c;
            const float y = t.colour.value[c];
            if (HAS_RESPONSE)
                by.value[c] = response_backward(f + at, clamped(y), by.value[c], sums + at);
            if (is_cut(y)) by.value[c] = 0.0f;
        }
        by = tinted_backward(f + FIRST_COLOUR, t, x, by, sums + FIRST_COLOUR);
#pragma unroll
        for (u32 c = 0; c < 3; ++c) {
            const u32 at = 1 + VIGNETTE * c;
            const float fall = clamped(falloff[c].value), by_rgb = by.value[c] * rgb.value[c];
            sums[0] = fmaf(by_rgb, fall, sums[0]);
            falloff_backward(f + at, falloff[c], by_rgb * f[0], sums + at);
            by.value[c] *= f[0] * fall;
        }
        return by;
    }

    // In the middle of the image, where no vignetting is.
    static __device__ Rgb background(const float* f, Rgb rgb) { return colour(f, {}, rgb); }

    // Of what holds a camera's number k; weights as in ppisp.rs.
    static __device__ float penalty_slope(const float* camera, u32 k) {
        const bool vignette = k < 3 * VIGNETTE;
        const u32 width = vignette ? VIGNETTE : 4, first = vignette ? 0 : 3 * VIGNETTE;
        const u32 which = (k - first) % width;
        float mean = 0.0f;
        for (u32 c = 0; c < 3; ++c) mean += camera[first + width * c + which] * (1.0f / 3.0f);
        // The mean's own part cancels: differences from it add up to 0.
        float slope = 0.2f / (3 * width) * (camera[k] - mean);
        if (vignette && which < 2) slope += 0.04f / 3 * camera[k];
        if (vignette && which >= 2 && camera[k] > 0.0f) slope += 0.01f / 9;
        return slope;
    }
};

#include "colour_kernels.cuh"
