// Blends the splats of each tile of an image, front to back, with exponents from matrix units.
//
// Inputs. `pairs` holds a list of splats for each tile of 16x16 pixels, front to back; `ranges`
// says which part of `pairs` is a tile's list. The centre of pixel (x, y) is (x + 0.5, y + 0.5).
//
// Result. log2 alpha of a pixel and a splat is the product u . v of the pixel's vector u (`basis`)
// and the splat's vector v (`coefficients`), both about the centre of the tile, in halves; the
// constant term of v is split into thirds, so that there are 8 terms. A pixel takes the splats of
// its tile's list in order. A splat with log2 alpha below log2(1/255) is skipped. Else alpha =
// min(alpha_max, 2^(log2 alpha)). If the pixel's transmittance T times (1 - alpha) would fall below
// 1e-4, the pixel stops in front of the splat; else its colour gets alpha T colour, and T becomes
// T (1 - alpha).
//
// Outputs. `image` over the background, and `transmittances` (T at the end).
//
// Launch. One block of BLOCK = 256 threads a tile, block i for tile i; tiles are counted row by
// row. The build defines the macro BLOCK, and EMULATED where the kernel runs on a processor.

typedef unsigned int u32;

#define FULL_MASK 0xffffffffu
#define WARP 32
#define TILE 16
#define LOG2_255 7.9943534f  // log2 of 255
#define TRANSMITTANCE_MIN 1e-4f
#define WARP_WIDTH 8  // pixels of a warp
#define WARP_HEIGHT (WARP / WARP_WIDTH)
#define GROUP 8  // splats of a product
// A pixel blends a splat if log2 alpha is at least MIN; one that has stopped, or is outside of the
// image, blends none (NEVER).
#define MIN -LOG2_255
#define NEVER __uint_as_float(0x7f800000u)  // infinity

// A pointer to memory that no thread writes while the kernel runs.
template <class T>
struct ReadOnly {
    const T* address;
    template <class Index>
    __device__ __forceinline__ T operator[](Index i) const {
        return __ldg(address + i);
    }
    __device__ __forceinline__ operator const T*() const { return address; }
};

struct Camera {
    float rotation[9];
    float translation[3];
    float position[3];
    float focal[2];
    float centre[2];
    float clamp[2];
    float near_plane;
    float alpha_max;       // cap on alpha
    float background[3];   // red, green, blue
    u32 width, height;     // pixels
    u32 tiles_x, tiles_y;  // width and height in tiles, rounded up
};

// Only the field that this kernel reads.
struct Counters {
    u32 overflowed;  // not 0: write nothing
};

// A projected Gaussian. Log2 of its alpha at (x, y) is log2_opacity + a dx^2 + b dx dy + c dy^2
// with dx = x - mean_x, dy = y - mean_y, in pixels.
struct __align__(16) Splat {
    float mean_x, mean_y, log2_opacity;
    u32 gaussian;
    float a, b, c, radius;
    float red, green, blue;
    u32 clamped;
};

// Shared with the program that launches the kernel: fields, order and types stay.
struct BlendParams {
    const Splat* splats;
    ReadOnly<u32> pairs;        // the tiles' lists, each front to back
    ReadOnly<u32> pair_splats;  // index of the splat of an entry of `pairs`; null: the entry itself
    ReadOnly<uint2> ranges;     // of each tile, see `list_range`
    const void* entries;        // null
    const void* masks;          // null
    Camera camera;
    Counters* counters;
    float* image;           // [3][height][width]
    float* transmittances;  // [height][width]
    float* inverse_depths;  // null
    u32* bucket_tiles;      // null
    float4* checkpoints;    // null
    u32* stops;             // null
    uint4* refined_tiles;   // null
    const void* rays;       // null
};

// The first statement of the kernel: waits until the writes of the kernels before it are visible.
__device__ __forceinline__ void begin_kernel() {
#if !defined(EMULATED) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// A splat as three float4: (mean_x, mean_y, log2_opacity, gaussian), (a, b, c, radius), (red,
// green, blue, clamped).
__device__ __forceinline__ ReadOnly<float4> splat_row(const Splat* splats, u32 index) {
    return {(const float4*)(splats + index)};
}

// The row of the splat of an entry of `pairs`.
__device__ __forceinline__ ReadOnly<float4> splat_of_pair(const BlendParams& args, u32 pair) {
    return splat_row(args.splats, args.pair_splats ? args.pair_splats[pair] : pair);
}

// A tile's list: (first, one past the last) place in `pairs`. Stored as (~first, one past the
// last); (0, 0) is an empty list.
__device__ __forceinline__ uint2 list_range(ReadOnly<uint2> ranges, u32 tile) {
    uint2 range = ranges[tile];
    return make_uint2(range.y ? ~range.x : 0, range.y);
}

// 2^x, within 2 units in the last place; 0 for large negative x.
__device__ __forceinline__ float exp2_approx(float x) {
#ifdef EMULATED
    return exp2f(x);
#else
    float y;
    asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
    return y;
#endif
}

// Halves and the matrix units. A half2 is a u32 with the first value in the low half. Where
// EMULATED is defined, the same functions are built in.
#ifndef EMULATED
// (low, high) rounded to nearest.
__device__ __forceinline__ u32 pack_half2(float low, float high) {
    u32 packed;
    asm("{.reg .f16 l, h; cvt.rn.f16.f32 l, %1; cvt.rn.f16.f32 h, %2; mov.b32 %0, {l, h};}"
        : "=r"(packed)
        : "f"(low), "f"(high));
    return packed;
}

__device__ __forceinline__ float half_low(u32 pair) {
    float value;
    asm("{.reg .f16 l, h; mov.b32 {l, h}, %1; cvt.f32.f16 %0, l;}" : "=f"(value) : "r"(pair));
    return value;
}

__device__ __forceinline__ float half_high(u32 pair) {
    float value;
    asm("{.reg .f16 l, h; mov.b32 {l, h}, %1; cvt.f32.f16 %0, h;}" : "=f"(value) : "r"(pair));
    return value;
}

// D = A B + C, 16x8x8, in halves. With group = lane / 4 and member = lane % 4: a[0] is row group of
// A, columns 2 member and + 1; a[1] is row group + 8, the same columns; b is column group of B,
// rows 2 member and + 1; d and c are as a, of 8 columns. All lanes of the warp call it.
__device__ __forceinline__ void mma_m16n8k8(u32 d[2], const u32 a[2], u32 b, const u32 c[2]) {
    asm volatile(
        "mma.sync.aligned.m16n8k8.row.col.f16.f16.f16.f16 {%0, %1}, {%2, %3}, {%4}, {%5, %6};"
        : "=r"(d[0]), "=r"(d[1])
        : "r"(a[0]), "r"(a[1]), "r"(b), "r"(c[0]), "r"(c[1]));
}
#endif

struct Point {
    float x, y;
};

// Entry k of a pixel's vector u; entries 0 to 2 are multiplied by a third of v[0] each.
__device__ __forceinline__ float basis(u32 k, Point p) {
    if (k < 3) return 1.0f;
    if (k == 3) return p.x;
    if (k == 4) return p.y;
    if (k == 5) return p.x * p.x;
    if (k == 6) return p.x * p.y;
    return p.y * p.y;
}

// The coefficients v of a splat about an origin.
__device__ __forceinline__ void coefficients(float (&v)[6], float4 mean2d, float4 conic,
                                             Point origin) {
    float mean_x = mean2d.x - origin.x, mean_y = mean2d.y - origin.y;
    float along_x = fmaf(conic.x, mean_x, conic.y * mean_y), along_y = conic.z * mean_y;
    v[0] = fmaf(along_x, mean_x, fmaf(along_y, mean_y, mean2d.z));
    v[1] = -fmaf(conic.x, mean_x, along_x);
    v[2] = -fmaf(conic.y, mean_x, 2.0f * along_y);
    v[3] = conic.x;
    v[4] = conic.y;
    v[5] = conic.z;
}

// Coefficients as the 8 halves that the product takes, v[0] as three thirds.
__device__ __forceinline__ uint4 in_halves(const float (&v)[6]) {
    float third = v[0] * (1.0f / 3.0f);
    return make_uint4(pack_half2(third, third), pack_half2(third, v[1]), pack_half2(v[2], v[3]),
                      pack_half2(v[4], v[5]));
}

// Writes pixel `at`, counted row by row: the blended colour over the background.
__device__ __forceinline__ void write_pixel(const BlendParams& args, u32 at, float transmittance,
                                            float red, float green, float blue) {
    u32 plane = args.camera.width * args.camera.height;
    args.image[at] = fmaf(transmittance, args.camera.background[0], red);
    args.image[plane + at] = fmaf(transmittance, args.camera.background[1], green);
    args.image[2 * plane + at] = fmaf(transmittance, args.camera.background[2], blue);
    args.transmittances[at] = transmittance;
}

extern "C" __global__ void __launch_bounds__(BLOCK, 4)
    blend(const __grid_constant__ BlendParams args) {
    begin_kernel();
    // The vectors v of a batch of the list. 8 of them are a B operand, a word a lane.
    __shared__ uint4 vectors[BLOCK];
    __shared__ float4 colours[BLOCK];
    // Log2 alpha of each pixel and 8 splats, in halves. A row of D is one pixel, spread over four
    // lanes; read from here, a lane has the 8 values of its own pixel.
    __shared__ uint4 exponents[BLOCK / WARP][WARP];
    if (args.counters->overflowed) return;
    u32 thread = threadIdx.x, lane = thread % WARP, warp = thread / WARP;
    u32 group = lane / 4, member = lane % 4;
    u32 tile = blockIdx.x;
    u32 tile_x = tile % args.camera.tiles_x * TILE, tile_y = tile / args.camera.tiles_x * TILE;
    u32 warp_x = tile_x + warp % (TILE / WARP_WIDTH) * WARP_WIDTH;
    u32 warp_y = tile_y + warp / (TILE / WARP_WIDTH) * WARP_HEIGHT;
    u32 x = warp_x + lane % WARP_WIDTH, y = warp_y + lane / WARP_WIDTH;
    bool inside = x < args.camera.width && y < args.camera.height;
    // The centre of the tile.
    Point origin = {tile_x + TILE / 2.0f, tile_y + TILE / 2.0f};

    // The A operands of two products, a row a pixel: pixels 0 to 15 and 16 to 31 of the warp.
    u32 pixels[2][2];
    for (u32 part = 0; part < 4; ++part) {
        u32 row = part * 8 + group;
        Point p = {(float)(warp_x + row % WARP_WIDTH) + 0.5f - origin.x,
                   (float)(warp_y + row / WARP_WIDTH) + 0.5f - origin.y};
        pixels[part / 2][part % 2] = pack_half2(basis(2 * member, p), basis(2 * member + 1, p));
    }

    uint2 range = list_range(args.ranges, tile);
    float transmittance = 1.0f, red = 0.0f, green = 0.0f, blue = 0.0f;
    float least = inside ? MIN : NEVER;
    for (u32 start = range.x; start < range.y; start += BLOCK) {
        // This barrier also keeps the next batch from overwriting this one.
        if (__syncthreads_and(least == NEVER)) break;
        // Beyond the list's end, an exponent that no pixel blends.
        float v[6] = {-6e4f, 0.0f, 0.0f, 0.0f, 0.0f, 0.0f};
        if (start + thread < range.y) {
            ReadOnly<float4> from = splat_of_pair(args, args.pairs[start + thread]);
            colours[thread] = from[2];
            coefficients(v, from[0], from[1], origin);
        }
        vectors[thread] = in_halves(v);
        __syncthreads();
        u32 batch = min(range.y - start, (u32)BLOCK);
        const float4* group_colours = colours;
        const u32* columns = (const u32*)vectors + lane;
        for (u32 first = 0; first < batch;
             first += GROUP, group_colours += GROUP, columns += WARP) {
            if (__all_sync(FULL_MASK, least == NEVER)) break;
            // All lanes have read the values of the 8 splats before.
            __syncwarp();
            u32 column = columns[0];
            const u32 none[2] = {0, 0};
            for (u32 half = 0; half < 2; ++half) {
                u32 d[2];
                mma_m16n8k8(d, pixels[half], column, none);
                u32* to = (u32*)exponents[warp] + half * 64 + lane;
                to[0] = d[0];
                to[32] = d[1];
            }
            __syncwarp();
            uint4 row = exponents[warp][lane];
            float betas[GROUP] = {half_low(row.x),  half_high(row.x), half_low(row.y),
                                  half_high(row.y), half_low(row.z),  half_high(row.z),
                                  half_low(row.w),  half_high(row.w)};
#pragma unroll
            for (u32 k = 0; k < GROUP; ++k) {
                bool visible = betas[k] >= least;
                if (!__any_sync(FULL_MASK, visible)) continue;
                float alpha = exp2_approx(betas[k]);
                alpha = fminf(alpha, args.camera.alpha_max);
                float next = fmaf(-alpha, transmittance, transmittance);
                bool blends = visible && next >= TRANSMITTANCE_MIN;
                float weight = alpha * transmittance;
                float4 colour = group_colours[k];
                if (visible != blends) least = NEVER;
                if (blends) {
                    red = fmaf(weight, colour.x, red);
                    green = fmaf(weight, colour.y, green);
                    blue = fmaf(weight, colour.z, blue);
                    transmittance = next;
                }
            }
        }
    }
    if (inside) {
        u32 at = y * args.camera.width + x;
        write_pixel(args, at, transmittance, red, green, blue);
    }
}
