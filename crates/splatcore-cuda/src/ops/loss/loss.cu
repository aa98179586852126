// loss: (1 - w) L1 + w (1 - SSIM) over the pixels that count, and its gradient with respect to the
// image.
//
// Kerbl et al. 2023, equation 7; SSIM of Wang et al. 2004 as INRIA computes it: 11x11 Gaussian
// window, sigma 1.5, zeros outside the image and at ignored pixels, means over counted pixels and
// channels. The derivative of blur(x) by x is the blur again (the window is symmetric), so, as in
// fused-ssim (Mallick et al. 2024, Taming 3DGS), two kernels do it all:
//   loss_forward   blurs x, y, x^2 + y^2 (SSIM wants only the sum of the variances) and (x - y)^2;
//                  writes the derivatives of SSIM by blur(x), blur(x^2), blur(xy), and a sum a
//                  block
//   loss_backward  blurs those three, dS/dx = blur(d1) + 2x blur(d2) + y blur(d3), and writes the
//                  gradient
//   loss_sum       one block adds the blocks' sums in a fixed order
//
// A variance is the difference of blur(x^2) and blur(x)^2, which f32 gets wrong by 1e-7 of x^2: as
// much as 1e-4 of C2 where x is near 1. So (1) x and y are taken from CENTRE on, of which no
// variance knows, and (2) what two images differ by is not a difference of three blurs, but twice
// the covariance is the sum of the variances less the variance of x - y. For an image that is
// nearly its photo (noise 0.005 on flat surfaces) the value of the loss is off by 1e-6, not 1.3e-4,
// the gradient by 4e-5, not 8e-5, for 5 instructions a value.
//
// A map is 8 bytes a value. With S = l c, l and c the quotients of means and of (co)variances, d2 =
// -g c and d3 = 2 g where g = l / (variances + C2). g is kept as a half, c in 16 bits of fixed
// point, d1 as f32. In flat regions g is near 1 / C2 = 1111 and the three terms nearly cancel, so
// what rounding takes from d2 and d3 is given to d1 at the means: d1 += 2 mean(x) (d2 - rounded d2)
// + mean(y) (d3 - rounded d3). Then an error of g scales the gradient's large part as a whole, by
// 2e-4 at most pixels and 4e-5 after the blur, and an error of c is small in itself. Relative error
// of the gradient at w = 0.2, simulated: 2e-5 to 4e-5, whether the image is noise, near or nearly
// the photo; the contract is 1e-4. d2 and d3 as halves without that: 1e-3 to 3e-2; with it: 2e-5 to
// 1e-4; as bf16: 3e-4 to 8e-4.
//
// Shape of both: a block makes 116 x ROWS pixels of one channel. Each of its 128 threads takes a
// column, 5 columns on each side being halo, reads ROWS + 10 pixels of it straight from global
// memory (coalesced; a row of a warp is one line) and keeps ROWS x planes sums in registers: the
// vertical blur needs no shared memory. The sums then go through shared memory once, and each lane
// blurs four neighbouring pixels along the row from 16-byte reads. So a value is read from shared
// memory 4 times, not 11, and the halo costs 126/116 of the vertical work, not (26/16)^2.
//
// Expected on an H200 at 1080x1920 (prediction), 6.2 M values, 6.7 M with the tiles' rims:
//   forward  81 MB (15 in, 24 out a pixel) 19 us; 88 FMAs and 86 others a value, 41 M warp
//            instructions: 39 us.
//   backward 106 MB (39 in, 12 out) 25 us; 66 FMAs and 52 others, 27 M: 26 us.
// Both wait for memory in the first half of a block and count in the second; with 5 and 6 blocks a
// multiprocessor to take turns about 50 and 38 us.
// Measured before, with f32 maps in planes, x^2 and y^2 apart, 8 rows forward and 3 selects a row
// for the image's rim: 132 us together (106 and 131 MB, 60 and 38 M warp instructions), in a step
// 144 us. Measured, without CENTRE: in a step 105 us; 8 rows at a time forward, more blocks with
// fewer registers, 108.
//
// Not used: one kernel that recomputes the maps with a halo of 10 (saves 48 of 90 bytes a pixel,
// costs 1.5 times the FMAs, and instructions are the tighter bound). Blurs as banded products on
// the matrix units: 16 x 8 sums of a plane from 26 rows are two m16n8k16, times three for near-f32
// factors in high and low halves (a half of x alone is as coarse as the gradient's error above is
// not): 9.7 clocks an SM, against 11 for the 44 warp FMAs, and splitting costs more than that.
//
// Constants: WINDOW_TAPS the 11 weights, SSIM_C1, SSIM_C2, MASKED 1 if some pixels are ignored
// (else `mask` is not read). Pixels times 3 fit 32 bits (the host checks).

#include "matrix.cuh"
#include "splat.cuh"

#define THREADS 128
#define RADIUS 5
#define TAPS 11
#define COLUMNS THREADS
#define TILE_WIDTH 116
#define SEGMENTS (TILE_WIDTH / 4)
#define WARPS (THREADS / WARP)

__device__ constexpr float WINDOW[TAPS] = WINDOW_TAPS;

// Whether the frame has no image: all steps from here on are taken again. Counters may be none (0).
__device__ __forceinline__ bool is_halted(const Counters* counters) {
    return counters && counters->halted;
}

// Which pixels of which channel a block makes.
struct Tile {
    int x, y;
    u32 channel;
};

template <int ROWS>
__device__ __forceinline__ Tile tile_of_block(u32 width, u32 first_channel, u32 channels) {
    // Channels vary fastest: the blocks that share the photo's bytes run together.
    u32 tile = blockIdx.x / channels;
    u32 across = (width + TILE_WIDTH - 1) / TILE_WIDTH;
    return {int(tile % across) * TILE_WIDTH, int(tile / across) * ROWS,
            first_channel + blockIdx.x % channels};
}

// Adds this thread's column, weighted by the window, to ROWS sums of each plane. `load(j, exists,
// values)` gives the planes' values j - RADIUS rows below the tile's first, those of 0 where there
// is no such pixel; it is called row by row. INTERIOR: every row that the tile needs exists, and
// nothing is spent on asking.
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

// Blurs this thread's column of the rows from `first_row` on and leaves ROWS sums of each plane in
// shared memory.
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

// Blurs four neighbouring pixels along a row: pixels 4 * segment and on, whose windows start at the
// same columns.
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

// Writes up to four neighbouring pixels, in one piece where `whole` says that rows are aligned.
__device__ __forceinline__ void store_four(float* to, const float (&values)[4], int count,
                                           bool whole) {
    if (whole) {
        *(float4*)to = make_float4(values[0], values[1], values[2], values[3]);
    } else {
        for (int i = 0; i < count; ++i) to[i] = values[i];
    }
}

// A block's sum of one value a thread, in thread 0, always in the same order.
__device__ __forceinline__ double block_sum(double value, double* warps) {
    for (int step = WARP / 2; step > 0; step /= 2)
        value += __shfl_down_sync(FULL_MASK, value, step);
    if (threadIdx.x % WARP == 0) warps[threadIdx.x / WARP] = value;
    __syncthreads();
    double sum = 0.0;
    if (threadIdx.x == 0)
        for (u32 w = 0; w < blockDim.x / WARP; ++w) sum += warps[w];
    return sum;
}

// The derivatives of SSIM at a value: by blur(x); and g as a half under c in units of 1 / C_UNITS,
// which give the others.
struct __align__(8) Derivatives {
    float mean;
    u32 g_c;
};

#define C_UNITS 32767.0f
// Taken from all values, also where there is no pixel: variances stay the same, and of smaller
// squares rounding takes less.
#define CENTRE 0.5f

__device__ __forceinline__ Derivatives pack_derivatives(float d_mean, float g, float c,
                                                        float mean_a, float mean_b) {
    // 1.5 2^23 leaves the units as its last bits. Rounding can bring c beyond its bounds.
    const float units = fmaf(fminf(fmaxf(c, -1.0f), 1.0f), C_UNITS, 12582912.0f);
    const u32 half = pack_half2(g, 0.0f);
    const float rounded_g = half_low(half), rounded_c = (units - 12582912.0f) * (1.0f / C_UNITS);
    const float lost_square = fmaf(rounded_g, rounded_c, -g * c),
                lost_product = 2.0f * (g - rounded_g);
    return {fmaf(2.0f * mean_a, lost_square, fmaf(mean_b, lost_product, d_mean)),
            __byte_perm(half, __float_as_uint(units), 0x5410)};
}

// Writes up to four neighbouring ones, in two pieces where `whole` says that rows are aligned.
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

#define FORWARD_ROWS 16

// image [3][height * width], photo [height * width][3], mask [height * width], 0 where a pixel is
// ignored; maps [channels][height * width] out: derivatives of SSIM, 0 where ignored; partials: one
// a block.
extern "C" __global__ void __launch_bounds__(THREADS, 5)
    loss_forward(const float* __restrict__ image, const u8* __restrict__ photo,
                 const u8* __restrict__ mask, Derivatives* __restrict__ maps,
                 double* __restrict__ partials, u32 width, u32 height, float ssim_weight,
                 u32 first_channel, u32 channels, const Counters* __restrict__ counters) {
    begin_kernel();
    if (is_halted(counters)) return;
    __shared__ __align__(16) float blurred[4][FORWARD_ROWS][COLUMNS];
    __shared__ double warp_sums[WARPS];
    const size_t pixels = size_t(width) * height;
    const Tile tile = tile_of_block<FORWARD_ROWS>(width, first_channel, channels);

    float absolute = 0.0f;
    {
        const int x = tile.x + int(threadIdx.x) - RADIUS;
        const bool inside = x >= 0 && x < int(width);
        // The pointers go down the rows: fewer instructions than an address a row.
        const long long start = (long long)(tile.y - RADIUS) * width + x;
        const float* colours = image + tile.channel * pixels + start;
        const u8* bytes = photo + 3 * start + tile.channel;
        const u8* mask_bytes = mask + start;
        blur_columns<4, FORWARD_ROWS>(
            blurred, tile.y, int(height), inside, [&](int j, bool exists, float (&values)[4]) {
                // Reads first, without a branch between them, so that many are under way.
                const float colour = exists ? *colours : 0.0f;
                const u8 byte = exists ? *bytes : u8(0);
                const u8 counts = MASKED && exists ? *mask_bytes : u8(1);
                colours += width;
                bytes += 3 * width;
                mask_bytes += width;
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
    const int count = min(4, int(width) - x);
    if (segment < SEGMENTS && count > 0) {
        Derivatives* map = maps + (tile.channel - first_channel) * pixels;
        for (int r = threadIdx.x / WARP; r < FORWARD_ROWS && tile.y + r < int(height); r += WARPS) {
            float mean_a[4], mean_b[4], squares[4], differences[4];
            blur_along(blurred[0][r], segment, mean_a);
            blur_along(blurred[1][r], segment, mean_b);
            blur_along(blurred[2][r], segment, squares);
            blur_along(blurred[3][r], segment, differences);
            const u32 at = u32(tile.y + r) * width + u32(x);
            Derivatives out[4];
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                // S = n1 n2 / (m1 m2), with n1 = m1 - difference^2 and n2 = m2 - unlike. No
                // variance is below 0, whatever rounding says: so g is at most 1 / C2, which a half
                // holds.
                const float a = mean_a[i], b = mean_b[i], difference = a - b, bright_a = a + CENTRE,
                            bright_b = b + CENTRE;
                const float m1 = fmaf(bright_a, bright_a, fmaf(bright_b, bright_b, SSIM_C1));
                const float m2 = fmaxf(squares[i] - fmaf(a, a, b * b), 0.0f) + SSIM_C2;
                const float unlike = fmaxf(fmaf(-difference, difference, differences[i]), 0.0f);
                const float n1 = fmaf(-difference, difference, m1), n2 = m2 - unlike;
                const bool counts = i < count && (!MASKED || mask[at + i]);
                const float inverse = counts ? reciprocal_approx(m1 * m2) : 0.0f;
                const float inverse_m1 = m2 * inverse, inverse_m2 = m1 * inverse, g = n1 * inverse,
                            c = n2 * inverse_m2;
                // 1 - S.
                dissimilar =
                    fmaf(inverse, fmaf(difference * difference, m2, n1 * unlike), dissimilar);
                // Half of dS/dblur(a), first by c, then by l.
                const float by_c = g * fmaf(-a, unlike * inverse_m2, difference),
                            relative = difference * inverse_m1;
                const float by_l = c * relative * fmaf(bright_a, relative, -1.0f);
                out[i] = pack_derivatives(2.0f * (by_c + by_l), g, c, a, b);
            }
            store_four(map + at, out, count, width % 4 == 0);
        }
    }
    const double sum =
        block_sum((1.0 - ssim_weight) * absolute + double(ssim_weight) * dissimilar, warp_sums);
    if (threadIdx.x == 0) partials[blockIdx.x] = sum;
}

#define BACKWARD_ROWS 16

// As loss_forward; gradient [3][height * width] out: dL/dimage, 0 where ignored. `inverse_count` is
// 1 over counted pixels times 3.
extern "C" __global__ void __launch_bounds__(THREADS, 6)
    loss_backward(const float* __restrict__ image, const u8* __restrict__ photo,
                  const u8* __restrict__ mask, const Derivatives* __restrict__ maps,
                  float* __restrict__ gradient, u32 width, u32 height, float ssim_weight,
                  float inverse_count, u32 first_channel, u32 channels,
                  const Counters* __restrict__ counters) {
    begin_kernel();
    if (is_halted(counters)) return;
    __shared__ __align__(16) float blurred[3][BACKWARD_ROWS][COLUMNS];
    const size_t pixels = size_t(width) * height;
    const Tile tile = tile_of_block<BACKWARD_ROWS>(width, first_channel, channels);
    {
        const int x = tile.x + int(threadIdx.x) - RADIUS;
        const bool inside = x >= 0 && x < int(width);
        const long long start = (long long)(tile.y - RADIUS) * width + x;
        const float2* map = (const float2*)maps + (tile.channel - first_channel) * pixels + start;
        blur_columns<3, BACKWARD_ROWS>(
            blurred, tile.y, int(height), inside, [&](int, bool exists, float (&values)[3]) {
                const float2 both = exists ? *map : make_float2(0.0f, 0.0f);
                map += width;
                // d2 and d3 but for factors that do not change from pixel to pixel.
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
    const int count = min(4, int(width) - x);
    if (segment >= SEGMENTS || count <= 0) return;
    const float l1_scale = (1.0f - ssim_weight) * inverse_count,
                ssim_scale = -ssim_weight * inverse_count;
    const bool whole = width % 4 == 0;
    const float* plane = image + tile.channel * pixels;
    const u8* bytes = photo + tile.channel;
    for (int r = threadIdx.x / WARP; r < BACKWARD_ROWS && tile.y + r < int(height); r += WARPS) {
        const u32 at = u32(tile.y + r) * width + u32(x);
        // Read before the blurs, which then hide the wait.
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
            out[i] = i < count && (!MASKED || mask[at + i]) ? fmaf(ssim_scale, d_ssim, d_l1) : 0.0f;
        }
        store_four(gradient + tile.channel * pixels + at, out, count, whole);
    }
}

#define SUM_THREADS 512

// One block: value = the sum of `count` partial sums times `inverse_count`, in a fixed order.
extern "C" __global__ void __launch_bounds__(SUM_THREADS)
    loss_sum(const double* __restrict__ partials, u32 count, double inverse_count,
             double* __restrict__ value, const Counters* __restrict__ counters) {
    begin_kernel();
    if (is_halted(counters)) return;
    __shared__ double warp_sums[SUM_THREADS / WARP];
    double sum = 0.0;
#pragma unroll 4
    for (u32 i = threadIdx.x; i < count; i += SUM_THREADS) sum += partials[i];
    sum = block_sum(sum, warp_sums);
    if (threadIdx.x == 0) *value = sum * inverse_count;
}
