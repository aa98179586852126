// ssim, ssim_backward: structural similarity of two stacks of images (Wang et al. 2004) with a
// Gaussian window of 11x11 pixels and zeros around the images, and its gradient by the first.
//
// Contract. With x, y the images, m(.) the weighted mean over a pixel's window: map = a b / (c d),
// a = 2 m(x) m(y) + C1, b = 2 (m(x y) - m(x) m(y)) + C2, c = m(x)^2 + m(y)^2 + C1, d = m(x^2) -
// m(x)^2 + m(y^2) - m(y)^2 + C2. `partials` are the derivatives of the map by m(x), m(x^2) and
// m(x y); backward blurs them times `v_map`. The map leaves `margin` pixels at each side out, which
// then have no gradient of their own.
//
// Launch. A block of SIDE x SIDE threads for so many pixels of a plane; shared memory 14 KB.
//
// Bound. Shared memory: 11 reads a pixel and mean for each of the two passes.
//
// Now. Not measured.

#include "device.cuh"

#define SIDE 16
#define RADIUS 5
#define WIDE (SIDE + 2 * RADIUS)
// A column more keeps rows in different banks.
#define PITCH (WIDE + 1)

__device__ constexpr float WINDOW[2 * RADIUS + 1] = WINDOW_TAPS;

// Two stacks of images; in Rust by the same name.
struct SsimImages {
    ReadOnly<float> x, y;  // [planes][height][width]
    u32 planes, height, width;
    u32 margin;  // pixels at each side that the map leaves out
};

// Parameters of `ssim`; in Rust by the same name.
struct SsimParams {
    SsimImages images;
    float* map;       // [planes][height - 2 margin][width - 2 margin]
    float* partials;  // [3][planes][height][width] or null
};

// Parameters of `ssim_backward`; in Rust by the same name.
struct SsimBackwardParams {
    SsimImages images;
    ReadOnly<float> partials;  // [3][planes][height][width]
    ReadOnly<float> v_map;     // [planes][height - 2 margin][width - 2 margin]
    float* v_img1;             // [planes][height][width]
};

// Where a block is.
struct SsimBlock {
    u32 plane;
    int left, top;  // of its first pixel
    int x, y;       // this thread's pixel
    bool is_inside;
    u64 pixel;  // its index in [planes][height][width]
};

__device__ __forceinline__ SsimBlock ssim_block(const SsimImages& images) {
    u32 columns = (images.width + SIDE - 1) / SIDE, rows = (images.height + SIDE - 1) / SIDE;
    u32 block = blockIdx.x % (columns * rows);
    SsimBlock at;
    at.plane = blockIdx.x / (columns * rows);
    at.left = block % columns * SIDE, at.top = block / columns * SIDE;
    at.x = at.left + threadIdx.x % SIDE, at.y = at.top + threadIdx.x / SIDE;
    at.is_inside = at.x < (int)images.width && at.y < (int)images.height;
    at.pixel = ((u64)at.plane * images.height + at.y) * images.width + at.x;
    return at;
}

// Whether a pixel is in the map, and where.
__device__ __forceinline__ bool in_map(const SsimImages& images, u32 plane, int x, int y,
                                       u64& place) {
    int margin = images.margin, width = images.width - 2 * margin,
        height = images.height - 2 * margin;
    x -= margin, y -= margin;
    place = ((u64)plane * height + y) * width + x;
    return x >= 0 && y >= 0 && x < width && y < height;
}

// The weighted sum of `values` over the column of this thread's pixel; `rows` holds rows that are
// blurred along themselves.
__device__ __forceinline__ float blurred(const float (&rows)[WIDE][SIDE]) {
    u32 x = threadIdx.x % SIDE, y = threadIdx.x / SIDE;
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k <= 2 * RADIUS; ++k) sum = fmaf(WINDOW[k], rows[y + k][x], sum);
    return sum;
}

extern "C" __global__ void __launch_bounds__(SIDE* SIDE)
    ssim(const __grid_constant__ SsimParams args) {
    begin_kernel();
    __shared__ float xs[WIDE][PITCH], ys[WIDE][PITCH];
    __shared__ float rows[5][WIDE][SIDE];
    const SsimImages& images = args.images;
    SsimBlock at = ssim_block(images);
    for (u32 i = threadIdx.x; i < WIDE * WIDE; i += SIDE * SIDE) {
        int x = at.left - RADIUS + (int)(i % WIDE), y = at.top - RADIUS + (int)(i / WIDE);
        bool is_inside = x >= 0 && y >= 0 && x < (int)images.width && y < (int)images.height;
        u64 pixel = ((u64)at.plane * images.height + y) * images.width + x;
        xs[i / WIDE][i % WIDE] = is_inside ? images.x[pixel] : 0.0f;
        ys[i / WIDE][i % WIDE] = is_inside ? images.y[pixel] : 0.0f;
    }
    __syncthreads();
    for (u32 i = threadIdx.x; i < WIDE * SIDE; i += SIDE * SIDE) {
        u32 row = i / SIDE, column = i % SIDE;
        float sums[5] = {};
#pragma unroll
        for (int k = 0; k <= 2 * RADIUS; ++k) {
            float x = xs[row][column + k], y = ys[row][column + k];
            float of_x = WINDOW[k] * x, of_y = WINDOW[k] * y;
            sums[0] += of_x, sums[1] += of_y;
            sums[2] = fmaf(of_x, x, sums[2]);
            sums[3] = fmaf(of_y, y, sums[3]);
            sums[4] = fmaf(of_x, y, sums[4]);
        }
#pragma unroll
        for (int k = 0; k < 5; ++k) rows[k][row][column] = sums[k];
    }
    __syncthreads();
    if (!at.is_inside) return;
    float x = blurred(rows[0]), y = blurred(rows[1]);
    float xx = blurred(rows[2]), yy = blurred(rows[3]), xy = blurred(rows[4]);
    float a = 2 * x * y + SSIM_C1, b = 2 * (xy - x * y) + SSIM_C2;
    float c = x * x + y * y + SSIM_C1, d = (xx - x * x) + (yy - y * y) + SSIM_C2;
    float inverse = 1.0f / (c * d), value = a * b * inverse;
    u64 place;
    if (in_map(images, at.plane, at.x, at.y, place)) args.map[place] = value;
    if (!args.partials) return;
    u64 all = (u64)images.planes * images.height * images.width;
    args.partials[at.pixel] = 2 * inverse * (y * (b - a) - x * value * (d - c));
    args.partials[all + at.pixel] = -value / d;
    args.partials[2 * all + at.pixel] = 2 * a * inverse;
}

extern "C" __global__ void __launch_bounds__(SIDE* SIDE)
    ssim_backward(const __grid_constant__ SsimBackwardParams args) {
    begin_kernel();
    __shared__ float products[3][WIDE][PITCH];
    __shared__ float rows[3][WIDE][SIDE];
    const SsimImages& images = args.images;
    SsimBlock at = ssim_block(images);
    u64 all = (u64)images.planes * images.height * images.width;
    for (u32 i = threadIdx.x; i < WIDE * WIDE; i += SIDE * SIDE) {
        int x = at.left - RADIUS + (int)(i % WIDE), y = at.top - RADIUS + (int)(i / WIDE);
        u64 place, pixel = ((u64)at.plane * images.height + y) * images.width + x;
        bool is_there = in_map(images, at.plane, x, y, place);
        float v = is_there ? args.v_map[place] : 0.0f;
        for (u32 k = 0; k < 3; ++k)
            products[k][i / WIDE][i % WIDE] = is_there ? v * args.partials[k * all + pixel] : 0.0f;
    }
    __syncthreads();
    for (u32 i = threadIdx.x; i < WIDE * SIDE; i += SIDE * SIDE) {
        u32 row = i / SIDE, column = i % SIDE;
#pragma unroll
        for (u32 k = 0; k < 3; ++k) {
            float sum = 0.0f;
#pragma unroll
            for (int tap = 0; tap <= 2 * RADIUS; ++tap)
                sum = fmaf(WINDOW[tap], products[k][row][column + tap], sum);
            rows[k][row][column] = sum;
        }
    }
    __syncthreads();
    if (!at.is_inside) return;
    args.v_img1[at.pixel] = blurred(rows[0]) + 2 * images.x[at.pixel] * blurred(rows[1]) +
                            images.y[at.pixel] * blurred(rows[2]);
}
