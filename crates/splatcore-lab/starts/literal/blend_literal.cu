// Blends the splats of each tile of an image, front to back.
//
// Inputs. `pairs` holds a list of splats for each tile of 16x16 pixels, front to back; `ranges`
// says which part of `pairs` is a tile's list. The centre of pixel (x, y) is (x + 0.5, y + 0.5).
//
// Result. A pixel takes the splats of its tile's list in order. A splat's alpha there is
// min(alpha_max, opacity exp(-d^T C d / 2)); below 1/255, or if it is not a number, the splat is
// skipped. If the pixel's transmittance T times (1 - alpha) would fall below 1e-4, the pixel stops
// in front of the splat; else its colour gets alpha T colour, and T becomes T (1 - alpha).
//
// Outputs. `image` over the background, `transmittances` (T at the end) and, if not null, `stops`:
// how many splats of the list there are up to the last that the pixel blended.
//
// Launch. One block of BLOCK = 256 threads a tile, block i for tile i; tiles are counted row by
// row. The build defines the macro BLOCK, and EMULATED where the kernel runs on a processor.

typedef unsigned int u32;

#define TILE 16
#define ALPHA_MIN 0.00392156862745098f  // 1/255
#define TRANSMITTANCE_MIN 1e-4f
#define LN_2 0.69314718f

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
    u32* stops;             // [height][width], or null
    uint4* refined_tiles;   // null
    const void* rays;       // null
};

// The first statement of the kernel: waits until the writes of the kernels before it are visible.
__device__ __forceinline__ void begin_kernel() {
#if !defined(EMULATED) && __CUDA_ARCH__ >= 900
    asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// A tile's list: (first, one past the last) place in `pairs`. Stored as (~first, one past the
// last); (0, 0) is an empty list.
__device__ __forceinline__ uint2 list_range(ReadOnly<uint2> ranges, u32 tile) {
    uint2 range = ranges[tile];
    return make_uint2(range.y ? ~range.x : 0, range.y);
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

// Splats of a batch, in shared memory.
struct Batch {
    u32 numbers[BLOCK];    // of splats
    float2 means[BLOCK];   // in pixels
    float4 conics[BLOCK];  // of the inverse covariance xx, xy, yy; opacity
};

// Loads a splat to a place of the batch.
__device__ __forceinline__ void load_splat(Batch& batch, const BlendParams& args, u32 place,
                                           u32 pair) {
    u32 number = args.pair_splats ? args.pair_splats[pair] : pair;
    const Splat& splat = args.splats[number];
    batch.numbers[place] = number;
    batch.means[place] = make_float2(splat.mean_x, splat.mean_y);
    batch.conics[place] = make_float4(-2.0f * LN_2 * splat.a, -LN_2 * splat.b,
                                      -2.0f * LN_2 * splat.c, exp2f(splat.log2_opacity));
}

extern "C" __global__ void __launch_bounds__(BLOCK)
    blend(const __grid_constant__ BlendParams args) {
    begin_kernel();
    __shared__ Batch batch;
    if (args.counters->overflowed) return;
    u32 thread = threadIdx.x, tile = blockIdx.x;
    u32 x = tile % args.camera.tiles_x * TILE + thread % TILE,
        y = tile / args.camera.tiles_x * TILE + thread / TILE;
    bool inside = x < args.camera.width && y < args.camera.height, done = !inside;
    float px = x + 0.5f, py = y + 0.5f;
    uint2 range = list_range(args.ranges, tile);
    int rounds = (range.y - range.x + BLOCK - 1) / BLOCK, left = range.y - range.x;
    float transmittance = 1.0f, red = 0.0f, green = 0.0f, blue = 0.0f;
    u32 contributor = 0, last_contributor = 0;
    for (int round = 0; round < rounds; ++round, left -= BLOCK) {
        // This barrier also keeps the next batch from overwriting this one.
        if (__syncthreads_count(done) == BLOCK) break;
        if ((int)thread < left)
            load_splat(batch, args, thread, args.pairs[range.x + round * BLOCK + thread]);
        __syncthreads();
        for (int j = 0; !done && j < min(BLOCK, left); ++j) {
            ++contributor;
            float2 mean = batch.means[j];
            float4 conic = batch.conics[j];
            float dx = mean.x - px, dy = mean.y - py;
            float power = -0.5f * (conic.x * dx * dx + conic.z * dy * dy) - conic.y * dx * dy;
            float raw = conic.w * expf(power);
            // This drops NaN, which the minimum below would turn into the cap.
            if (!(raw >= ALPHA_MIN)) continue;
            float alpha = min(args.camera.alpha_max, raw);
            float next = transmittance * (1.0f - alpha);
            if (next < TRANSMITTANCE_MIN) {
                done = true;
                continue;
            }
            const Splat& splat = args.splats[batch.numbers[j]];
            red += splat.red * alpha * transmittance;
            green += splat.green * alpha * transmittance;
            blue += splat.blue * alpha * transmittance;
            transmittance = next;
            last_contributor = contributor;
        }
    }
    if (inside) {
        u32 at = y * args.camera.width + x;
        write_pixel(args, at, transmittance, red, green, blue);
        if (args.stops) args.stops[at] = last_contributor;
    }
}
