// Blends the splats of each tile of an image, front to back.
//
// Inputs. `pairs` holds a list of splats for each tile of 16x16 pixels, front to back; `ranges`
// says which part of `pairs` is a tile's list. The centre of pixel (x, y) is (x + 0.5, y + 0.5).
//
// Result. A group of 4x2 pixels takes those splats of its tile's list, in order, whose alpha is at
// least 1/255 at the group's centre (limited to the centres of the image's last pixels). Each of
// its pixels blends all of them, whatever its own alpha is: alpha = min(alpha_max, 2^(log2 alpha))
// at the pixel's centre. If the pixel's transmittance T times (1 - alpha) would fall below 1e-4,
// the pixel stops in front of the splat; else its colour gets alpha T colour, and T becomes T (1 -
// alpha).
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
#define WARP_X 8  // pixels of a warp
#define WARP_Y 4
#define GROUP_X 4
#define GROUP_Y 2
#define GROUP (GROUP_X * GROUP_Y)  // pixels, and splats that a group tests at once

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

// A batch of a list's splats, in shared memory.
struct Batch {
    float4 means[BLOCK];    // mean x, mean y, log2 opacity
    float4 conics[BLOCK];   // a, b, c
    float4 colours[BLOCK];  // red, green, blue
};

// Loads the splats of the entries of `pairs` from `start` on, one a thread, as far as `end`.
__device__ __forceinline__ void load_batch(Batch& batch, const BlendParams& args, u32 start,
                                           u32 end) {
    if (start + threadIdx.x >= end) return;
    ReadOnly<float4> from = splat_of_pair(args, args.pairs[start + threadIdx.x]);
    batch.means[threadIdx.x] = from[0];
    batch.conics[threadIdx.x] = from[1];
    batch.colours[threadIdx.x] = from[2];
}

// Log2 of a splat's alpha at a point, before the cap.
__device__ __forceinline__ float log2_alpha(float4 mean2d, float4 conic, float x, float y) {
    float dx = x - mean2d.x, dy = y - mean2d.y;
    return fmaf(fmaf(conic.x, dx, conic.y * dy), dx, fmaf(conic.z * dy, dy, mean2d.z));
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

extern "C" __global__ void __launch_bounds__(BLOCK)
    blend(const __grid_constant__ BlendParams args) {
    begin_kernel();
    __shared__ Batch batch;
    if (args.counters->overflowed) return;
    u32 thread = threadIdx.x, lane = thread % WARP, warp = thread / WARP;
    u32 tile = blockIdx.x;
    u32 group = lane / GROUP, member = lane % GROUP;
    u32 x0 = tile % args.camera.tiles_x * TILE + warp % 2 * WARP_X + group % 2 * GROUP_X,
        y0 = tile / args.camera.tiles_x * TILE + warp / 2 * WARP_Y + group / 2 * GROUP_Y;
    u32 x = x0 + member % GROUP_X, y = y0 + member / GROUP_X;
    bool inside = x < args.camera.width && y < args.camera.height;
    // Pixel centres are at +0.5, so their middle is half a group from its corner. Limited to
    // the last pixel's centre: a splat that reaches only points beyond is in no list.
    float middle_x = fminf(x0 + GROUP_X / 2, args.camera.width - 0.5f),
          middle_y = fminf(y0 + GROUP_Y / 2, args.camera.height - 0.5f);
    uint2 range = list_range(args.ranges, tile);
    float transmittance = 1.0f, red = 0.0f, green = 0.0f, blue = 0.0f;
    bool done = !inside;
    for (u32 start = range.x; start < range.y; start += BLOCK) {
        // This barrier also keeps the next batch from overwriting this one.
        if (__syncthreads_and(done)) break;
        load_batch(batch, args, start, range.y);
        __syncthreads();
        u32 count = min(range.y - start, (u32)BLOCK);
        for (u32 first = 0; first < count; first += WARP) {
            if (__all_sync(FULL_MASK, done)) break;
            u32 passed = 0;  // bit k: splat first + k, of this group
            for (u32 tested = 0; tested < WARP; tested += GROUP) {
                u32 own = first + tested + member;
                // False for NaN.
                bool passes = own < count && log2_alpha(batch.means[own], batch.conics[own],
                                                        middle_x, middle_y) >= -LOG2_255;
                u32 all = __ballot_sync(FULL_MASK, passes);
                passed |= (all >> group * GROUP & ((1u << GROUP) - 1)) << tested;
            }
            for (u32 left = done ? 0 : passed; left; left &= left - 1) {
                u32 k = first + __ffs(left) - 1;
                float raw =
                    exp2_approx(log2_alpha(batch.means[k], batch.conics[k], x + 0.5f, y + 0.5f));
                float alpha = fminf(raw, args.camera.alpha_max);
                float next = fmaf(-alpha, transmittance, transmittance);
                if (next < TRANSMITTANCE_MIN) {
                    done = true;
                    break;
                }
                float weight = alpha * transmittance;
                float4 colour = batch.colours[k];
                red = fmaf(weight, colour.x, red);
                green = fmaf(weight, colour.y, green);
                blue = fmaf(weight, colour.z, blue);
                transmittance = next;
            }
        }
    }
    if (inside) {
        u32 at = y * args.camera.width + x;
        write_pixel(args, at, transmittance, red, green, blue);
    }
}
