// loss: (1 - w) L1 + w (1 - SSIM) over the counted pixels, and its gradient with respect to the
// image.
//
// Contract. `image` [3][height * width] f32, `photo` [height * width][3] u8, `mask` [height *
// width] u8 (0: ignored); out: `value` (f64) and `gradient` [3][height * width], 0 where ignored.
// Kerbl et al. 2023, equation 7; SSIM of Wang et al. 2004: 11x11 Gaussian window, sigma 1.5, zeros
// outside the image and at ignored pixels. The blur is its own adjoint, so, as in fused-ssim
// (Mallick et al. 2024), two kernels suffice:
// - loss_forward blurs x, y, x^2 + y^2 and (x - y)^2 and writes the derivatives of SSIM by the
//   blurs.
// - loss_backward blurs d1, d2, d3: dS/dx = blur(d1) + 2 x blur(d2) + y blur(d3).
// - loss_sum, one block, adds the sums of loss_forward's blocks in a fixed order.
// Relative error of the gradient at most 1e-4 (2e-5 to 4e-5 simulated); see CENTRE and Derivatives.
// Constants: WINDOW_TAPS (the weights), RADIUS of the window, SSIM_C1, SSIM_C2, MASKED (0: `mask`
// is not read), THREADS, TILE_WIDTH, FORWARD_ROWS, BACKWARD_ROWS, SUM_THREADS (mod.rs). The host
// checks that 3 pixels fit 32 bits.
//
// Launch. Blocks of 128 threads (THREADS) make 116 x 16 pixels (TILE_WIDTH x FORWARD_ROWS or
// BACKWARD_ROWS) of one channel; 5 (forward, 32 KB of shared memory) and 6 (backward, 24 KB) a
// multiprocessor. A thread blurs one column (5 on each side are halo) in registers, then along rows
// from shared memory, four pixels at a time.
//
// Bound. Instructions: 41 M + 27 M warp instructions, 64 us; 187 MB are 44 us (1080x1920).
//
// Now. 104 us (1080x1920, in a step, H200). History: docs/log/kernels/loss.md

#include "block_sum.cuh"
#include "matrix.cuh"
#include "splat.cuh"

#define TAPS (2 * RADIUS + 1)
#define COLUMNS THREADS
#define SEGMENTS (TILE_WIDTH / 4)
#define WARPS (THREADS / WARP)

__device__ constexpr float WINDOW[TAPS] = WINDOW_TAPS;

// Whether a buffer of the frame overflowed, so that there is no image and the host repeats the
// step. `counters` may be null.
__device__ __forceinline__ bool has_overflowed(const Counters* counters) {
    return counters && counters->overflowed;
}

// The pixels and the channel of a block.
struct Tile {
    int x, y;
    u32 channel;
};

template <int ROWS>
__device__ __forceinline__ Tile tile_of_block(u32 width, u32 first_channel, u32 channels) {
    // Channels vary fastest, so that blocks that read the same bytes of the photo run together.
    u32 tile = blockIdx.x / channels;
    u32 across = (width + TILE_WIDTH - 1) / TILE_WIDTH;
    return {int(tile % across) * TILE_WIDTH, int(tile / across) * ROWS,
            first_channel + blockIdx.x % channels};
}

// Adds this thread's column, weighted by the window, to ROWS sums of each plane. `load(j, exists,
// values)` returns the planes' values j - RADIUS rows below the tile's first row, and those of
// padding where no pixel exists; it is called row by row. INTERIOR: all rows that the tile needs
// exist, so no instruction tests for them.
template <int PLANES, int ROWS, bool INTERIOR, typename Load>
__device__ __forceinline__ void add_column(float (&sums)[PLANES][ROWS], int first_row, int height,
                                           bool inside, Load load) {
#pragma unroll
    for (int j = 0; j < ROWS + 2 * RADIUS; ++j) {
        const int y = first_row + j - RADIUS;
        float values[PLANES];
        load(j, inside && (INTERIOR || (y >= 0 && y < height)), values);
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            if (j - r < 0 || j - r >= TAPS) continue;
#pragma unroll
            for (int p = 0; p < PLANES; ++p)
                sums[p][r] = fmaf(WINDOW[j - r], values[p], sums[p][r]);
        }
    }
}

// Blurs this thread's column from `first_row` on and writes ROWS sums of each plane to shared
// memory.
template <int PLANES, int ROWS, typename Load>
__device__ __forceinline__ void blur_columns(float (&blurred)[PLANES][ROWS][COLUMNS], int first_row,
                                             int height, bool inside, Load load) {
    float sums[PLANES][ROWS];
#pragma unroll
    for (int p = 0; p < PLANES; ++p)
#pragma unroll
        for (int r = 0; r < ROWS; ++r) sums[p][r] = 0.0f;
    if (first_row >= RADIUS && first_row + ROWS + RADIUS <= height)
        add_column<PLANES, ROWS, true>(sums, first_row, height, inside, load);
    else
        add_column<PLANES, ROWS, false>(sums, first_row, height, inside, load);
#pragma unroll
    for (int p = 0; p < PLANES; ++p)
#pragma unroll
        for (int r = 0; r < ROWS; ++r) blurred[p][r][threadIdx.x] = sums[p][r];
}

// Blurs the four pixels 4 * segment to 4 * segment + 3 along a row, whose windows start at the
// columns of the same numbers.
__device__ __forceinline__ void blur_along(const float (&row)[COLUMNS], u32 segment,
                                           float (&out)[4]) {
    float values[16];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        float4 four = *(const float4*)&row[4 * segment + 4 * i];
        values[4 * i] = four.x;
        values[4 * i + 1] = four.y;
        values[4 * i + 2] = four.z;
        values[4 * i + 3] = four.w;
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
        out[i] = 0.0f;
#pragma unroll
        for (int k = 0; k < TAPS; ++k) out[i] = fmaf(WINDOW[k], values[i + k], out[i]);
    }
}

// Writes up to four neighbouring pixels; in one access if `whole` (rows are aligned).
__device__ __forceinline__ void store_four(float* to, const float (&values)[4], int count,
                                           bool whole) {
    if (whole) {
        *(float4*)to = make_float4(values[0], values[1], values[2], values[3]);
    } else {
        for (int i = 0; i < count; ++i) to[i] = values[i];
    }
}

// The derivatives of SSIM at a pixel: d1, by blur(x), in f32; and g as a half in the low bits, c in
// units of 1 / C_UNITS in the high bits. With S = l c, l the quotient of means and c that of
// (co)variances, d2 = -g c and d3 = 2 g where g = l / (variances + C2).
//
// In flat regions g is near 1 / C2 = 1111 and the three terms of dS/dx nearly cancel. So what
// rounding takes from d2 and d3 is added to d1 at the means: d1 += 2 mean(x) (d2 - rounded d2) +
// mean(y) (d3 - rounded d3). An error of g then scales the large part of the gradient as a whole,
// by 2e-4 at most pixels and 4e-5 after the blur; an error of c is small in itself.
struct __align__(8) Derivatives {
    float mean;
    u32 g_c;
};

#define C_UNITS 32767.0f
// Subtracted from all values, also from the padding. A variance does not change, but the difference
// of blur(x^2) and blur(x)^2 loses fewer digits in f32: 1e-7 of x^2 would be as much as 1e-4 of C2
// where x is near 1. For the same reason the covariance is not a difference of three blurs: twice
// the covariance is the sum of the variances minus the variance of x - y.
#define CENTRE 0.5f

__device__ __forceinline__ Derivatives pack_derivatives(float d_mean, float g, float c,
                                                        float mean_a, float mean_b) {
    // Adding 1.5 2^23 leaves c in units of 1 / C_UNITS in the last bits. Rounding can move c beyond
    // [-1, 1], hence the clamp.
    const float units = fmaf(fminf(fmaxf(c, -1.0f), 1.0f), C_UNITS, 12582912.0f);
    const u32 half = pack_half2(g, 0.0f);
    const float rounded_g = half_low(half), rounded_c = (units - 12582912.0f) * (1.0f / C_UNITS);
    const float lost_square = fmaf(rounded_g, rounded_c, -g * c),
                lost_product = 2.0f * (g - rounded_g);
    return {fmaf(2.0f * mean_a, lost_square, fmaf(mean_b, lost_product, d_mean)),
            __byte_perm(half, __float_as_uint(units), 0x5410)};
}

// Writes up to four neighbouring values; in two accesses if `whole` (rows are aligned).
__device__ __forceinline__ void store_four(Derivatives* to, const Derivatives (&values)[4],
                                           int count, bool whole) {
    if (whole) {
#pragma unroll
        for (int i = 0; i < 2; ++i) {
            const Derivatives &a = values[2 * i], &b = values[2 * i + 1];
            ((float4*)to)[i] =
                make_float4(a.mean, __uint_as_float(a.g_c), b.mean, __uint_as_float(b.g_c));
        }
    } else {
        for (int i = 0; i < count; ++i) to[i] = values[i];
    }
}

// maps [channels][height * width] out: derivatives of SSIM, 0 at ignored pixels; partials: one sum
// a block. A launch takes `channels` channels from `first_channel` on.
// Parameters of `loss_forward`; in Rust by the same name.
struct LossForwardParams {
    ReadOnly<float> image;  // [3][height][width]
    ReadOnly<u8> photo;     // 8 bits, [height][width][3]
    ReadOnly<u8> mask;      // 8 bits, [height][width], or null
    Derivatives* maps;      // derivatives of SSIM by pixel
    double* partials;       // a row of sums for each block
    u32 width;              // pixels
    u32 height;             // pixels
    float ssim_weight;
    u32 first_channel;
    u32 channels;
    const Counters* counters;
};
extern "C" __global__ void __launch_bounds__(THREADS, 5)
    loss_forward(const __grid_constant__ LossForwardParams args) {
    begin_kernel();
    if (has_overflowed(args.counters)) return;
    __shared__ __align__(16) float blurred[4][FORWARD_ROWS][COLUMNS];
    __shared__ double warp_sums[WARPS];
    const size_t pixels = size_t(args.width) * args.height;
    const Tile tile = tile_of_block<FORWARD_ROWS>(args.width, args.first_channel, args.channels);

    float absolute = 0.0f;
    {
        const int x = tile.x + int(threadIdx.x) - RADIUS;
        const bool inside = x >= 0 && x < int(args.width);
        // Pointers advance row by row: fewer instructions than a new address for each row.
        const long long start = (long long)(tile.y - RADIUS) * args.width + x;
        ReadOnly<float> colours = {args.image + tile.channel * pixels + start};
        ReadOnly<u8> bytes = {args.photo + 3 * start + tile.channel};
        ReadOnly<u8> mask_bytes = {args.mask + start};
        blur_columns<4, FORWARD_ROWS>(
            blurred, tile.y, int(args.height), inside, [&](int j, bool exists, float (&values)[4]) {
                // Reads come first, without a branch between them, so that many are in flight.
                const float colour = exists ? *colours : 0.0f;
                const u8 byte = exists ? *bytes : u8(0);
                const u8 counts = MASKED && exists ? *mask_bytes : u8(1);
                colours.address += args.width;
                bytes.address += 3 * args.width;
                mask_bytes.address += args.width;
                const float a = (counts ? colour : 0.0f) - CENTRE;
                const float b = (counts ? float(byte) * (1.0f / 255.0f) : 0.0f) - CENTRE;
                values[0] = a;
                values[1] = b;
                values[2] = fmaf(a, a, b * b);
                values[3] = (a - b) * (a - b);
                if (j >= RADIUS && j < RADIUS + FORWARD_ROWS) absolute += fabsf(a - b);
            });
        if (threadIdx.x < RADIUS || threadIdx.x >= RADIUS + TILE_WIDTH) absolute = 0.0f;
    }
    __syncthreads();

    float dissimilar = 0.0f;
    const u32 segment = threadIdx.x % WARP;
    const int x = tile.x + 4 * int(segment);
    const int count = min(4, int(args.width) - x);
    if (segment < SEGMENTS && count > 0) {
        Derivatives* map = args.maps + (tile.channel - args.first_channel) * pixels;
        for (int r = threadIdx.x / WARP; r < FORWARD_ROWS && tile.y + r < int(args.height);
             r += WARPS) {
            float mean_a[4], mean_b[4], squares[4], differences[4];
            blur_along(blurred[0][r], segment, mean_a);
            blur_along(blurred[1][r], segment, mean_b);
            blur_along(blurred[2][r], segment, squares);
            blur_along(blurred[3][r], segment, differences);
            const u32 at = u32(tile.y + r) * args.width + u32(x);
            Derivatives out[4];
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                // S = n1 n2 / (m1 m2), with n1 = m1 - difference^2 and n2 = m2 - unlike.
                // Variances are clamped to 0, so that g is at most 1 / C2, which a half can hold.
                const float a = mean_a[i], b = mean_b[i], difference = a - b, bright_a = a + CENTRE,
                            bright_b = b + CENTRE;
                const float m1 = fmaf(bright_a, bright_a, fmaf(bright_b, bright_b, SSIM_C1));
                const float m2 = fmaxf(squares[i] - fmaf(a, a, b * b), 0.0f) + SSIM_C2;
                const float unlike = fmaxf(fmaf(-difference, difference, differences[i]), 0.0f);
                const float n1 = fmaf(-difference, difference, m1), n2 = m2 - unlike;
                const bool counts = i < count && (!MASKED || args.mask[at + i]);
                const float inverse = counts ? reciprocal_approx(m1 * m2) : 0.0f;
                const float inverse_m1 = m2 * inverse, inverse_m2 = m1 * inverse, g = n1 * inverse,
                            c = n2 * inverse_m2;
                // 1 - S.
                dissimilar =
                    fmaf(inverse, fmaf(difference * difference, m2, n1 * unlike), dissimilar);
                // Half of dS/dblur(a): the part through c, then the part through l.
                const float by_c = g * fmaf(-a, unlike * inverse_m2, difference),
                            relative = difference * inverse_m1;
                const float by_l = c * relative * fmaf(bright_a, relative, -1.0f);
                out[i] = pack_derivatives(2.0f * (by_c + by_l), g, c, a, b);
            }
            store_four(map + at, out, count, args.width % 4 == 0);
        }
    }
    const double sum = block_sum(
        (1.0 - args.ssim_weight) * absolute + double(args.ssim_weight) * dissimilar, warp_sums);
    if (threadIdx.x == 0) args.partials[blockIdx.x] = sum;
}

// gradient [3][height * width] out: dL/dimage, 0 at ignored pixels. `inverse_count` is 1 / (3 times
// the counted pixels).
// Parameters of `loss_backward`; in Rust by the same name.
struct LossBackwardParams {
    ReadOnly<float> image;    // [3][height][width]
    ReadOnly<u8> photo;       // 8 bits, [height][width][3]
    ReadOnly<u8> mask;        // 8 bits, [height][width], or null
    const Derivatives* maps;  // derivatives of SSIM by pixel
    float* gradient;          // dL/dimage, [3][height][width]
    u32 width;                // pixels
    u32 height;               // pixels
    float ssim_weight;
    float inverse_count;  // 1 / values
    u32 first_channel;
    u32 channels;
    const Counters* counters;
};
extern "C" __global__ void __launch_bounds__(THREADS, 6)
    loss_backward(const __grid_constant__ LossBackwardParams args) {
    begin_kernel();
    if (has_overflowed(args.counters)) return;
    __shared__ __align__(16) float blurred[3][BACKWARD_ROWS][COLUMNS];
    const size_t pixels = size_t(args.width) * args.height;
    const Tile tile = tile_of_block<BACKWARD_ROWS>(args.width, args.first_channel, args.channels);
    {
        const int x = tile.x + int(threadIdx.x) - RADIUS;
        const bool inside = x >= 0 && x < int(args.width);
        const long long start = (long long)(tile.y - RADIUS) * args.width + x;
        const float2* map =
            (const float2*)args.maps + (tile.channel - args.first_channel) * pixels + start;
        blur_columns<3, BACKWARD_ROWS>(
            blurred, tile.y, int(args.height), inside, [&](int, bool exists, float (&values)[3]) {
                const float2 both = exists ? *map : make_float2(0.0f, 0.0f);
                map += args.width;
                // d2 and d3 without their constant factors, which follow after the blur.
                const u32 g_c = __float_as_uint(both.y);
                const float g = half_low(g_c);
                values[0] = both.x;
                values[1] = g * (float)((int)g_c >> 16);
                values[2] = g;
            });
    }
    __syncthreads();

    const u32 segment = threadIdx.x % WARP;
    const int x = tile.x + 4 * int(segment);
    const int count = min(4, int(args.width) - x);
    if (segment >= SEGMENTS || count <= 0) return;
    const float l1_scale = (1.0f - args.ssim_weight) * args.inverse_count,
                ssim_scale = -args.ssim_weight * args.inverse_count;
    const bool whole = args.width % 4 == 0;
    ReadOnly<float> plane = {args.image + tile.channel * pixels};
    ReadOnly<u8> bytes = {args.photo + tile.channel};
    for (int r = threadIdx.x / WARP; r < BACKWARD_ROWS && tile.y + r < int(args.height);
         r += WARPS) {
        const u32 at = u32(tile.y + r) * args.width + u32(x);
        // These reads precede the blurs, which hide their latency.
        float a[4] = {}, b[4] = {};
        if (whole) {
            const float4 four = *(const float4*)(plane + at);
            a[0] = four.x;
            a[1] = four.y;
            a[2] = four.z;
            a[3] = four.w;
#pragma unroll
            for (int i = 0; i < 4; ++i) b[i] = float(bytes[3 * (at + i)]) * (1.0f / 255.0f);
        } else {
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                if (i >= count) break;
                a[i] = plane[at + i];
                b[i] = float(bytes[3 * (at + i)]) * (1.0f / 255.0f);
            }
        }
        float d_mean[4], d_square[4], d_product[4], out[4];
        blur_along(blurred[0][r], segment, d_mean);
        blur_along(blurred[1][r], segment, d_square);
        blur_along(blurred[2][r], segment, d_product);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            const float d_l1 = a[i] > b[i] ? l1_scale : a[i] < b[i] ? -l1_scale : 0.0f;
            const float x = a[i] - CENTRE, y = b[i] - CENTRE;
            const float d_ssim =
                fmaf((-2.0f / C_UNITS) * x, d_square[i], fmaf(2.0f * y, d_product[i], d_mean[i]));
            out[i] =
                i < count && (!MASKED || args.mask[at + i]) ? fmaf(ssim_scale, d_ssim, d_l1) : 0.0f;
        }
        store_four(args.gradient + tile.channel * pixels + at, out, count, whole);
    }
}

// One block. value = inverse_count times the sum of `count` partial sums, in a fixed order.
// Parameters of `loss_sum`; in Rust by the same name.
struct LossSumParams {
    ReadOnly<double> partials;  // a row of sums for each block
    u32 count;                  // of partials
    double inverse_count;       // 1 / values
    double* value;              // the loss
    const Counters* counters;
};
extern "C" __global__ void __launch_bounds__(SUM_THREADS)
    loss_sum(const __grid_constant__ LossSumParams args) {
    begin_kernel();
    if (has_overflowed(args.counters)) return;
    __shared__ double warp_sums[SUM_THREADS / WARP];
    double sum = 0.0;
#pragma unroll 4
    for (u32 i = threadIdx.x; i < args.count; i += SUM_THREADS) sum += args.partials[i];
    sum = block_sum(sum, warp_sums);
    if (threadIdx.x == 0) *args.value = sum * args.inverse_count;
}
