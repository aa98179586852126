// colour, models `ppisp` and `ppisp-linear`: exposure, vignetting, colour and response.
//
// Contract. PPISP (nv-tlabs/ppisp, sections 4.1 to 4.4); equations, and how they are written to be
// exact where nothing changes: splatcore-core/src/colour/ppisp.rs, which is also the CPU's. A
// photo's numbers: exposure, 8 latents of colour; a camera's: [3][5] vignetting, [3][4] response.
// Factors: gain; [3][5] vignetting; 8 of the homography's columns; [3][5] response. Kernels:
// colour_kernels.cuh.
//
// Bound. Instructions, 156 and 333 a pixel in both large kernels; in `ppisp-linear`, with 78 and
// 185, memory and instructions alike.
//
// Now. 104 us, all four kernels (1080x1920, H200); 64 were predicted. History:
// docs/log/kernels/colour.md

#include "colour_model.cuh"

#define VIGNETTE 5
#define FIRST_COLOUR 16
#define FIRST_RESPONSE 24
#define CURVE 5
#define CURVE_NUMBERS 4
#define SPAN 2  // derived numbers of a curve: 1 over the widths of its toe and its shoulder
#define HAS_RESPONSE (FACTORS > FIRST_RESPONSE)
#define MIN_SUM 1e-5f   // keeps quotients of sums finite
#define MAX_GAIN 10.0f  // of red and green, before the sum is restored
#define MIN_BASE 1e-6f  // powers are taken of at least this
#define MIN_AREA 0.05f  // of triangles of chromaticities, in thirds
// What makes toe and shoulder 0.3 + softplus, and gamma 0.1 + softplus, 1: ln(e^0.7 - 1), ...
#define START 0.013658997f
#define START_GAMMA 0.378164557f

__device__ __forceinline__ bool is_cut(float value) { return saturated(value) != value; }

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

// The columns, but for the last number, of the homography that moves four chromaticities; `put`
// takes a place and a number.
template <class Numbers, class Put>
__device__ __forceinline__ void homography(const Numbers& photo, const Put& put) {
    using Number = decltype(-photo[0]);
    const float matrices[4][3] = {{0.0481f, -0.0044f, 0.0481f},
                                  {0.0581f, -0.0180f, 0.0431f},
                                  {0.0433f, -0.0181f, 0.0581f},
                                  {0.0128f, -0.0035f, 0.0128f}};
    Number t[4][2];
    for (u32 p = 0; p < 4; ++p) {
        const Number u = photo[1 + 2 * p], v = photo[2 + 2 * p];
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
    put(0, a * (one + r0) - b0);
    put(1, a * r1 - b1);
    put(2, a - one);
    put(3, b * g0 - b0);
    put(4, b * (one + g1) - b1);
    put(5, b - one);
    put(6, b0);
    put(7, b1);
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
    float mapped[2], sum, gain, inverse;  // 1 over the gain's denominator
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
    const float denominator = t.gain_is_cut ? least : third;
    t.inverse = reciprocal_approx(denominator);
    // Corrected, so that it is exactly 1 where nothing changes.
    t.gain = kept * t.inverse;
    t.gain = fmaf(fmaf(-t.gain, denominator, kept), t.inverse, t.gain);
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
    const float share = t.gain_is_cut ? 0.0f : by_gain * t.inverse;
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

// x^exponent and its derivatives; exactly x for an exponent of 1. Logarithm and power of 2 of the
// special function unit: 5e-7 of the value for exponents up to 2, where exact ones take ten times
// the instructions.
struct Power {
    float value, by_x, by_exponent;
};
__device__ __forceinline__ Power power(float x, float exponent) {
    const float log2 = log2_approx(fmaxf(x, MIN_BASE));
    const float factor = exp2_approx((exponent - 1.0f) * log2), value = x * factor;
    return {value, x > MIN_BASE ? exponent * factor : factor, value * (log2 * LN2)};
}

// A channel's response before gamma: toe below the centre, shoulder from it on.
struct Half {
    bool is_toe;
    float base, scale, inverse_width;
    Power power;
    float value;
};
__device__ __forceinline__ Half half_of(const float* curve, const float* span, float x) {
    const float centre = curve[3], at_centre = curve[4];
    Half half;
    half.is_toe = x < centre;
    const float end = half.is_toe ? 0.0f : 1.0f;
    half.inverse_width = half.is_toe ? span[0] : span[1];
    half.base = (x - end) * half.inverse_width;
    half.scale = at_centre - end;
    half.power = power(half.base, half.is_toe ? curve[0] : curve[1]);
    half.value = fmaf(half.scale, half.power.value, end);
    return half;
}
__device__ __forceinline__ float response_backward(const float* curve, const float* span, float x,
                                                   float by, float* sums) {
    const Half half = half_of(curve, span, x);
    const Power gamma = power(half.value, curve[2]);
    sums[2] = fmaf(by, gamma.by_exponent, sums[2]);
    by *= gamma.by_x;
    const float scaled = by * half.scale, by_exponent = scaled * half.power.by_exponent;
    sums[0] += half.is_toe ? by_exponent : 0.0f;
    sums[1] += half.is_toe ? 0.0f : by_exponent;
    const float by_x = scaled * half.power.by_x * half.inverse_width;
    sums[3] = fmaf(-by_x, half.base, sums[3]);
    sums[4] = fmaf(by, half.power.value, sums[4]);
    return by_x;
}

struct Model {
    // Exposure and vignetting; the homography; each channel's response.
    enum : u32 { BLOCKS = 2, PARTS = HAS_RESPONSE ? 5 : 2, DERIVED = HAS_RESPONSE ? 3 * SPAN : 0 };

    static __device__ __forceinline__ u32 numbers_of(u32 part) {
        return part == 0 ? 1 + 3 * VIGNETTE : part == 1 ? PHOTO_NUMBERS - 1 : CURVE_NUMBERS;
    }
    static __device__ __forceinline__ u32 number_of(u32 part, u32 place) {
        if (part == 0) return place ? PHOTO_NUMBERS + place - 1 : 0;
        if (part == 1) return 1 + place;
        return PHOTO_NUMBERS + 3 * VIGNETTE + CURVE_NUMBERS * (part - 2) + place;
    }

    template <class Numbers, class Put>
    static __device__ __forceinline__ void factors(u32 part, const Numbers& photo,
                                                   const Numbers& camera, const Put& put) {
        using Number = decltype(-photo[0]);
        const Number one(1.0f);
        if (part == 0) {
            put(0, exponential(photo[0] * Number(LN2)));
#pragma unroll
            for (u32 k = 0; k < 3 * VIGNETTE; ++k) put(1 + k, camera[k]);
        } else if (part == 1) {
            homography(photo, [&](u32 k, Number h) { put(FIRST_COLOUR + k, h); });
        } else if (HAS_RESPONSE) {
            const u32 from = 3 * VIGNETTE + CURVE_NUMBERS * (part - 2),
                      curve = FIRST_RESPONSE + CURVE * (part - 2);
            const Number toe = one + softplus_offset(camera[from], START),
                         shoulder = one + softplus_offset(camera[from + 1], START),
                         gamma = one + softplus_offset(camera[from + 2], START_GAMMA);
            const Number centre = one / (one + exponential(-camera[from + 3]));
            put(curve, toe);
            put(curve + 1, shoulder);
            put(curve + 2, gamma);
            put(curve + 3, centre);
            put(curve + 4, shoulder * centre / (toe + centre * (shoulder - toe)));
        }
    }
    static __device__ __forceinline__ void derive(u32 part, float* f) {
        if (part < 2) return;
        const float centre = f[FIRST_RESPONSE + CURVE * (part - 2) + 3];
        float* span = f + FACTORS + SPAN * (part - 2);
        span[0] = 1.0f / centre;
        span[1] = 1.0f / (centre - 1.0f);
    }

    static __device__ __forceinline__ Rgb colour(const float* f, Place place, Rgb rgb) {
#pragma unroll
        for (u32 c = 0; c < 3; ++c)
            rgb.value[c] *= f[0] * saturated(falloff_at(f + 1 + VIGNETTE * c, place).value);
        Rgb seen = tinted(f + FIRST_COLOUR, rgb).colour;
#pragma unroll
        for (u32 c = 0; c < 3; ++c) {
            seen.value[c] = saturated(seen.value[c]);
            const float *curve = f + FIRST_RESPONSE + CURVE * c, *span = f + FACTORS + SPAN * c;
            if (HAS_RESPONSE)
                seen.value[c] = power(half_of(curve, span, seen.value[c]).value, curve[2]).value;
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
            x.value[c] = rgb.value[c] * (f[0] * saturated(falloff[c].value));
        }
        const Tinted t = tinted(f + FIRST_COLOUR, x);
#pragma unroll
        for (u32 c = 0; c < 3; ++c) {
            const u32 at = FIRST_RESPONSE + CURVE * c;
            const float y = t.colour.value[c];
            if (HAS_RESPONSE)
                by.value[c] = response_backward(f + at, f + FACTORS + SPAN * c, saturated(y),
                                                by.value[c], sums + at);
            if (is_cut(y)) by.value[c] = 0.0f;
        }
        by = tinted_backward(f + FIRST_COLOUR, t, x, by, sums + FIRST_COLOUR);
#pragma unroll
        for (u32 c = 0; c < 3; ++c) {
            const u32 at = 1 + VIGNETTE * c;
            const float fall = saturated(falloff[c].value), by_rgb = by.value[c] * rgb.value[c];
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
