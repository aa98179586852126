// loss: (1 - w) L1 + w (1 - SSIM) over the pixels that count, and its gradient with respect to the image.
//
// Kerbl et al. 2023, equation 7; SSIM of Wang et al. 2004 as INRIA computes it: 11x11 Gaussian window, sigma 1.5,
// zeros outside the image and at ignored pixels, means over counted pixels and channels. The derivative of blur(x) by x
// is the blur again (the window is symmetric), so, as in fused-ssim (Mallick et al. 2024, Taming 3DGS), two kernels do
// it all:
//   loss_forward   blurs x, y, x^2, y^2, xy; writes the derivatives of SSIM by blur(x), blur(x^2), blur(xy), and a sum
//                  a block
//   loss_backward  blurs those three, dS/dx = blur(d1) + 2x blur(d2) + y blur(d3), and writes the gradient
//   loss_sum       one block adds the blocks' sums in a fixed order
//
// Shape of both: a block makes 116 x ROWS pixels of one channel. Each of its 128 threads takes a column, 5 columns on
// each side being halo, reads ROWS + 10 pixels of it straight from global memory (coalesced; a row of a warp is one
// line) and keeps ROWS x planes sums in registers: the vertical blur needs no shared memory. The sums then go through
// shared memory once, and each lane blurs four neighbouring pixels along the row from 16-byte reads. So a value is
// read from shared memory 4 times, not 11, and the halo costs 126/116 of the vertical work, not (26/16)^2.
//
// Expected on an H200 at 1920x1080 (prediction, not measured), 6.2 M values:
//   forward  106 MB (15 in, 36 out a pixel) 25 us; 115 FMAs + about 60 others a value, 34 M warp instructions: 35 us;
//            20 cycles of shared memory a warp of values: 15 us. Together about 60 us.
//   backward 131 MB (51 in, 12 out) 31 us; 69 FMAs + about 40 others, 21 M warp instructions: 20 us. About 45 us.
// Compiled for sm_90: 80 registers and 21 KB of shared memory forward, 72 and 25 KB backward, no spills: 6 and 7 blocks
// a multiprocessor.
// Not used: maps in half precision (gradients must agree to 1e-4), one kernel that recomputes the maps with a halo of
// 10 (saves 72 of 114 bytes a pixel, costs 1.7 times the FMAs, which are the tighter bound).
//
// Constants: WINDOW_TAPS the 11 weights, SSIM_C1, SSIM_C2, MASKED 1 if some pixels are ignored (else `mask` is not
// read). Pixels times 3 fit 32 bits (the host checks).

#define THREADS 128
#define RADIUS 5
#define TAPS 11
#define COLUMNS THREADS
#define TILE_WIDTH 116
#define SEGMENTS (TILE_WIDTH / 4)
#define WARPS (THREADS / WARP)

__device__ constexpr float WINDOW[TAPS] = WINDOW_TAPS;

// Whether the frame has no image: all steps from here on are taken again. Counters may be none (0).
__device__ __forceinline__ bool is_halted(const Counters* counters) { return counters && counters->halted; }

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
    return {int(tile % across) * TILE_WIDTH, int(tile / across) * ROWS, first_channel + blockIdx.x % channels};
}

// Blurs this thread's column and leaves ROWS sums of each plane in shared memory, 0 if the column is outside the image.
// `load(j, values)` gives the planes' values j - RADIUS rows below the tile's first.
template <int PLANES, int ROWS, typename Load>
__device__ __forceinline__ void blur_columns(float (&blurred)[PLANES][ROWS][COLUMNS], bool inside, Load load) {
    float sums[PLANES][ROWS];
#pragma unroll
    for (int p = 0; p < PLANES; ++p)
#pragma unroll
        for (int r = 0; r < ROWS; ++r) sums[p][r] = 0.0f;
#pragma unroll
    for (int j = 0; j < ROWS + 2 * RADIUS; ++j) {
        float values[PLANES];
        load(j, values);
#pragma unroll
        for (int r = 0; r < ROWS; ++r) {
            if (j - r < 0 || j - r >= TAPS) continue;
#pragma unroll
            for (int p = 0; p < PLANES; ++p) sums[p][r] = fmaf(WINDOW[j - r], values[p], sums[p][r]);
        }
    }
#pragma unroll
    for (int p = 0; p < PLANES; ++p)
#pragma unroll
        for (int r = 0; r < ROWS; ++r) blurred[p][r][threadIdx.x] = inside ? sums[p][r] : 0.0f;
}

// Blurs four neighbouring pixels along a row: pixels 4 * segment and on, whose windows start at the same columns.
__device__ __forceinline__ void blur_along(const float (&row)[COLUMNS], u32 segment, float (&out)[4]) {
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
__device__ __forceinline__ void store_four(float* to, const float (&values)[4], int count, bool whole) {
    if (whole) {
        *(float4*)to = make_float4(values[0], values[1], values[2], values[3]);
    } else {
        for (int i = 0; i < count; ++i) to[i] = values[i];
    }
}

// A block's sum of one value a thread, in thread 0, always in the same order.
__device__ __forceinline__ double block_sum(double value, double* warps) {
    for (int step = WARP / 2; step > 0; step /= 2) value += __shfl_down_sync(FULL_MASK, value, step);
    if (threadIdx.x % WARP == 0) warps[threadIdx.x / WARP] = value;
    __syncthreads();
    double sum = 0.0;
    if (threadIdx.x == 0)
        for (u32 w = 0; w < blockDim.x / WARP; ++w) sum += warps[w];
    return sum;
}

#define FORWARD_ROWS 8

// image [3][height * width], photo [height * width][3], mask [height * width], 0 where a pixel is ignored;
// maps [channels][3][height * width] out: derivatives of SSIM, 0 where ignored; partials: one a block.
extern "C" __global__ void __launch_bounds__(THREADS)
    loss_forward(const float* __restrict__ image, const u8* __restrict__ photo, const u8* __restrict__ mask,
                 float* __restrict__ maps, double* __restrict__ partials, u32 width, u32 height, float ssim_weight,
                 u32 first_channel, u32 channels, const Counters* __restrict__ counters) {
    if (is_halted(counters)) return;
    __shared__ __align__(16) float blurred[5][FORWARD_ROWS][COLUMNS];
    __shared__ double warp_sums[WARPS];
    const size_t pixels = size_t(width) * height;
    const Tile tile = tile_of_block<FORWARD_ROWS>(width, first_channel, channels);
    const float* plane = image + tile.channel * pixels;

    float absolute = 0.0f;
    {
        const int x = tile.x + int(threadIdx.x) - RADIUS;
        const bool inside = x >= 0 && x < int(width);
        // A column outside reads another's pixels, so that whether a row exists is the same for the whole block.
        const u32 column = inside ? u32(x) : 0u;
        const bool own = inside && threadIdx.x >= RADIUS && threadIdx.x < RADIUS + TILE_WIDTH;
        blur_columns<5, FORWARD_ROWS>(blurred, inside, [&](int j, float (&values)[5]) {
            // Reads first, without a branch between them, so that many are under way.
            const int y = tile.y + j - RADIUS;
            const bool exists = y >= 0 && y < int(height);
            const u32 at = u32(y) * width + column;
            const float colour = exists ? plane[at] : 0.0f;
            const u8 byte = exists ? photo[3 * at + tile.channel] : u8(0);
            const u8 counts = MASKED && exists ? mask[at] : u8(1);
            const float a = counts ? colour : 0.0f;
            const float b = counts ? float(byte) * (1.0f / 255.0f) : 0.0f;
            values[0] = a;
            values[1] = b;
            values[2] = a * a;
            values[3] = b * b;
            values[4] = a * b;
            if (own && j >= RADIUS && j < RADIUS + FORWARD_ROWS) absolute += fabsf(a - b);
        });
    }
    __syncthreads();

    float dissimilar = 0.0f;
    const u32 segment = threadIdx.x % WARP;
    const int x = tile.x + 4 * int(segment);
    const int count = min(4, int(width) - x);
    if (segment < SEGMENTS && count > 0) {
        float* map = maps + size_t(3 * (tile.channel - first_channel)) * pixels;
        for (int r = threadIdx.x / WARP; r < FORWARD_ROWS && tile.y + r < int(height); r += WARPS) {
            float mean_a[4], mean_b[4], aa[4], bb[4], ab[4];
            blur_along(blurred[0][r], segment, mean_a);
            blur_along(blurred[1][r], segment, mean_b);
            blur_along(blurred[2][r], segment, aa);
            blur_along(blurred[3][r], segment, bb);
            blur_along(blurred[4][r], segment, ab);
            const u32 at = u32(tile.y + r) * width + u32(x);
            float d_mean[4], d_square[4], d_product[4];
#pragma unroll
            for (int i = 0; i < 4; ++i) {
                // S = n1 n2 / (m1 m2); blur(a^2) enters m2 alone, blur(ab) n2 alone, blur(a) all four.
                const float means = mean_a[i] * mean_b[i];
                const float squares = fmaf(mean_a[i], mean_a[i], mean_b[i] * mean_b[i]);
                const float n1 = fmaf(2.0f, means, SSIM_C1), n2 = fmaf(2.0f, ab[i] - means, SSIM_C2);
                const float m1 = squares + SSIM_C1, m2 = aa[i] + bb[i] - squares + SSIM_C2;
                const bool counts = i < count && (!MASKED || mask[at + i]);
                const float inverse = counts ? reciprocal_approx(m1 * m2) : 0.0f;
                const float ssim = n1 * n2 * inverse;
                const float across = ssim * inverse;
                if (counts) dissimilar += 1.0f - ssim;
                d_mean[i] = 2.0f * (inverse * mean_b[i] * (n2 - n1) + mean_a[i] * across * (m1 - m2));
                d_square[i] = -across * m1;
                d_product[i] = 2.0f * n1 * inverse;
            }
            const bool whole = width % 4 == 0;
            store_four(map + at, d_mean, count, whole);
            store_four(map + pixels + at, d_square, count, whole);
            store_four(map + 2 * pixels + at, d_product, count, whole);
        }
    }
    const double sum = block_sum((1.0 - ssim_weight) * absolute + double(ssim_weight) * dissimilar, warp_sums);
    if (threadIdx.x == 0) partials[blockIdx.x] = sum;
}

#define BACKWARD_ROWS 16

// As loss_forward; gradient [3][height * width] out: dL/dimage, 0 where ignored. `inverse_count` is 1 over counted
// pixels times 3.
extern "C" __global__ void __launch_bounds__(THREADS)
    loss_backward(const float* __restrict__ image, const u8* __restrict__ photo, const u8* __restrict__ mask,
                  const float* __restrict__ maps, float* __restrict__ gradient, u32 width, u32 height,
                  float ssim_weight, float inverse_count, u32 first_channel, u32 channels,
                  const Counters* __restrict__ counters) {
    if (is_halted(counters)) return;
    __shared__ __align__(16) float blurred[3][BACKWARD_ROWS][COLUMNS];
    const size_t pixels = size_t(width) * height;
    const Tile tile = tile_of_block<BACKWARD_ROWS>(width, first_channel, channels);
    {
        const float* map = maps + size_t(3 * (tile.channel - first_channel)) * pixels;
        const int x = tile.x + int(threadIdx.x) - RADIUS;
        const bool inside = x >= 0 && x < int(width);
        const float* planes[3] = {map, map + pixels, map + 2 * pixels};
        const u32 column = inside ? u32(x) : 0u;
        blur_columns<3, BACKWARD_ROWS>(blurred, inside, [&](int j, float (&values)[3]) {
            const int y = tile.y + j - RADIUS;
            const bool exists = y >= 0 && y < int(height);
            const u32 at = u32(y) * width + column;
#pragma unroll
            for (int p = 0; p < 3; ++p) values[p] = exists ? planes[p][at] : 0.0f;
        });
    }
    __syncthreads();

    const u32 segment = threadIdx.x % WARP;
    const int x = tile.x + 4 * int(segment);
    const int count = min(4, int(width) - x);
    if (segment >= SEGMENTS || count <= 0) return;
    const float l1_scale = (1.0f - ssim_weight) * inverse_count, ssim_scale = -ssim_weight * inverse_count;
    const float* plane = image + tile.channel * pixels;
    for (int r = threadIdx.x / WARP; r < BACKWARD_ROWS && tile.y + r < int(height); r += WARPS) {
        float d_mean[4], d_square[4], d_product[4], out[4];
        blur_along(blurred[0][r], segment, d_mean);
        blur_along(blurred[1][r], segment, d_square);
        blur_along(blurred[2][r], segment, d_product);
        const u32 at = u32(tile.y + r) * width + u32(x);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
            out[i] = 0.0f;
            if (i < count && (!MASKED || mask[at + i])) {
                const float a = plane[at + i];
                const float b = float(photo[3 * (at + i) + tile.channel]) * (1.0f / 255.0f);
                const float d_l1 = a > b ? l1_scale : a < b ? -l1_scale : 0.0f;
                const float d_ssim = fmaf(2.0f * a, d_square[i], fmaf(b, d_product[i], d_mean[i]));
                out[i] = fmaf(ssim_scale, d_ssim, d_l1);
            }
        }
        store_four(gradient + tile.channel * pixels + at, out, count, width % 4 == 0);
    }
}

#define SUM_THREADS 512

// One block: value = the sum of `count` partial sums times `inverse_count`, in a fixed order.
extern "C" __global__ void __launch_bounds__(SUM_THREADS)
    loss_sum(const double* __restrict__ partials, u32 count, double inverse_count, double* __restrict__ value,
             const Counters* __restrict__ counters) {
    if (is_halted(counters)) return;
    __shared__ double warp_sums[SUM_THREADS / WARP];
    double sum = 0.0;
#pragma unroll 4
    for (u32 i = threadIdx.x; i < count; i += SUM_THREADS) sum += partials[i];
    sum = block_sum(sum, warp_sums);
    if (threadIdx.x == 0) *value = sum * inverse_count;
}
