// blend, method `stop-the-pop`: pixels blend by depth along their own ray.
//
// Contract. As blend_scalar.cu, with the same inputs, outputs and shapes, in another order (Radl et
// al. 2024, "StopThePop"). Four levels sort what they receive by the depth along their
// own ray (ray_depth.cuh): the tile, sub-tiles of 4x4 pixels, quads of 2x2, pixels. Each holds a
// number of splats and passes the nearest on. `rays` has the RayShape of each splat.
// docs/methods/stop-the-pop.md. Twin: splatcore-reference/src/twin/ray_order.rs.
//   COUNT 1 counts fragments and writes no image.
//
// Launch. A block of 256 threads (8 warps) a tile; a warp has 8x4 pixels, two sub-tiles. 114
// registers (sm_90), 12 KB of shared memory, 2 blocks a multiprocessor. Shared memory has the keys
// of 512 splats of the tile, and 64 splats for each of 16 sub-tiles; rows of splats are read from
// global memory, most by all lanes of a sub-tile at once.
//
// Bound. Instructions. A tile sorts 512 keys for 256 splats that it passes on, a sub-tile compares
// each of 64 splats with all others for 32 that it passes on. The lanes of a quad do the same work.
//
// Now. 3.5 ms for fox_220k at 1080x1920 on an H200, behind `tile-cull`.

#include "blend.cuh"
#include "ray_depth.cuh"

#define TILE_WINDOW (2 * BLOCK)  // splats that a tile holds
#define SUB_TILE 4               // pixels a side
#define LANES (SUB_TILE * SUB_TILE)
#define WINDOW 64  // splats that a sub-tile holds
#define QUAD_QUEUE 8
#define PIXEL_QUEUE 4
#define NO_SPLAT_HERE 0xffffffffu
#define NEAREST __uint_as_float(0xff800000u)   // -infinity
#define FARTHEST __uint_as_float(0x7f800000u)  // infinity
#define NO_PAIR 0xffffffffffffffffull          // the key of what is no pair: behind all others

// Where in a rectangle alpha is largest, relative to the mean, and log2 alpha there.
struct Best {
    float dx, dy, log2_alpha;
};

// Of a rectangle given relative to the mean. The exponent is concave: its largest value is on one
// of the lines through the rectangle that are nearest to the mean.
__device__ __forceinline__ Best best_in(float4 mean2d, float4 conic, float left, float right,
                                        float top, float bottom) {
    float near_x = fminf(fmaxf(0.0f, left), right), near_y = fminf(fmaxf(0.0f, top), bottom);
    float along_y =
        fminf(fmaxf(-0.5f * conic.y * near_x * reciprocal_approx(conic.z), top), bottom);
    float along_x =
        fminf(fmaxf(-0.5f * conic.y * near_y * reciprocal_approx(conic.x), left), right);
    float on_x =
        fmaf(fmaf(conic.x, near_x, conic.y * along_y), near_x, conic.z * along_y * along_y);
    float on_y = fmaf(fmaf(conic.x, along_x, conic.y * near_y), along_x, conic.z * near_y * near_y);
    // The margin covers the rounding of exponents here and in the blend.
    if (on_x >= on_y) return {near_x, along_y, mean2d.z + on_x * (1.0f - 1e-4f)};
    return {along_x, near_y, mean2d.z + on_y * (1.0f - 1e-4f)};
}

// The compacted index of the splat at a position of `pairs`.
__device__ __forceinline__ u32 splat_at(const BlendParams& args, u32 position) {
    u32 pair = args.pairs[position];
    return args.pair_splats ? args.pair_splats[pair] : pair;
}

// The key of a position of `pairs`: the depth where alpha is largest in the tile, then the
// position.
__device__ __forceinline__ u64 tile_key(const BlendParams& args, u32 position, u32 tile_x,
                                        u32 tile_y) {
    u32 splat = splat_at(args, position);
    ReadOnly<float4> row = splat_row(args.splats, splat), ray = ray_row(args.rays, splat);
    float4 mean2d = row[0];
    float left = tile_x + 0.5f - mean2d.x, top = tile_y + 0.5f - mean2d.y;
    float right = min(tile_x + TILE, args.camera.width) - 0.5f - mean2d.x,
          bottom = min(tile_y + TILE, args.camera.height) - 0.5f - mean2d.y;
    Best best = best_in(mean2d, row[1], left, right, top, bottom);
    u32 bits = __float_as_uint(ray_depth(ray[0], ray[1], best.dx, best.dy));
    // In the order of the numbers, negative ones too.
    bits ^= bits >> 31 ? 0xffffffffu : 0x80000000u;
    return (u64)bits << 32 | position;
}

// Bitonic sort; all threads of the block call it.
__device__ __forceinline__ void sort_tile(u64* keys, u32 thread) {
    for (u32 size = 2; size <= TILE_WINDOW; size *= 2) {
        for (u32 stride = size / 2; stride > 0; stride /= 2) {
            u32 i = 2 * thread - (thread & (stride - 1));
            u64 a = keys[i], b = keys[i + stride];
            if ((a > b) == ((i & size) == 0)) {
                keys[i] = b;
                keys[i + stride] = a;
            }
            __syncthreads();
        }
    }
}

// A sub-tile's window.
struct Window {
    float depths[WINDOW];
    u32 splats[WINDOW];
};

// Sorts the first `held` splats of a sub-tile's window if it is `wanted`: a splat's place is the
// number of those in front of it. All lanes of the warp call it.
__device__ __forceinline__ void sort_window(Window& window, u32 held, u32 member, bool wanted) {
    float depths[WINDOW / LANES];
    u32 splats[WINDOW / LANES], places[WINDOW / LANES];
    if (wanted) {
#pragma unroll
        for (u32 i = 0; i < WINDOW / LANES; ++i) {
            u32 slot = member + LANES * i;
            depths[i] = slot < held ? window.depths[slot] : FARTHEST;
            splats[i] = slot < held ? window.splats[slot] : NO_SPLAT_HERE;
            places[i] = 0;
        }
        for (u32 other = 0; other < held; ++other) {
            float depth = window.depths[other];
#pragma unroll
            for (u32 i = 0; i < WINDOW / LANES; ++i)
                places[i] +=
                    depth < depths[i] || (depth == depths[i] && other < member + LANES * i);
        }
    }
    __syncwarp();
    if (wanted) {
#pragma unroll
        for (u32 i = 0; i < WINDOW / LANES; ++i) {
            if (splats[i] == NO_SPLAT_HERE) continue;
            window.depths[places[i]] = depths[i];
            window.splats[places[i]] = splats[i];
        }
    }
    __syncwarp();
}

// A queue of SIZE splats by depth, the farthest first.
template <u32 SIZE>
struct Queue {
    float depths[SIZE], alphas[SIZE];
    u32 splats[SIZE];

    __device__ __forceinline__ void clear() {
#pragma unroll
        for (u32 i = 0; i < SIZE; ++i) {
            depths[i] = NEAREST;
            alphas[i] = 0.0f;
            splats[i] = NO_SPLAT_HERE;
        }
    }

    // Puts a splat in its place and makes it the nearest of all, of equal depths the one that came
    // first, which leaves the queue. NO_SPLAT_HERE leaves until the queue is full.
    __device__ __forceinline__ void exchange(float& depth, float& alpha, u32& splat) {
#pragma unroll
        for (u32 i = 0; i < SIZE; ++i) {
            bool farther = depth >= depths[i];
            float d = depths[i], a = alphas[i];
            u32 s = splats[i];
            depths[i] = farther ? depth : d;
            alphas[i] = farther ? alpha : a;
            splats[i] = farther ? splat : s;
            depth = farther ? d : depth;
            alpha = farther ? a : alpha;
            splat = farther ? s : splat;
        }
    }
};

// A pixel: its queue, that of its quad, which the quad's other pixels repeat, and what is blended.
struct Pixel {
    Queue<QUAD_QUEUE> of_quad;  // without alpha
    Queue<PIXEL_QUEUE> own;
    float x, y;            // pixel centre
    float quad_x, quad_y;  // middle of the quad
    float transmittance, red, green, blue;
    bool done;
    u32 evaluated, blended;

    __device__ __forceinline__ void blend(const BlendParams& args, float alpha, u32 splat) {
        if (splat == NO_SPLAT_HERE || done) return;
        float next = fmaf(-alpha, transmittance, transmittance);
        if (next < TRANSMITTANCE_MIN) {
            done = true;
            return;
        }
        ++blended;
        float weight = alpha * transmittance;
        float4 colour = splat_row(args.splats, splat)[2];
        red = fmaf(weight, colour.x, red);
        green = fmaf(weight, colour.y, green);
        blue = fmaf(weight, colour.z, blue);
        transmittance = next;
    }

    // A splat that its quad passes on.
    __device__ __forceinline__ void take(const BlendParams& args, u32 splat) {
        if (splat == NO_SPLAT_HERE || done) return;
        ReadOnly<float4> row = splat_row(args.splats, splat), ray = ray_row(args.rays, splat);
        float4 mean2d = row[0];
        float raw = exp2_approx(log2_alpha(mean2d, row[1], x, y));
        ++evaluated;
        // This drops NaN, which the minimum below would turn into the cap.
        if (!(raw >= ALPHA_MIN)) return;
        float alpha = fminf(raw, args.camera.alpha_max);
        float depth = ray_depth(ray[0], ray[1], x - mean2d.x, y - mean2d.y);
        own.exchange(depth, alpha, splat);
        blend(args, alpha, splat);
    }

    // A splat that its sub-tile passes on.
    __device__ __forceinline__ void take_for_quad(const BlendParams& args, u32 splat) {
        if (done) return;
        ReadOnly<float4> row = splat_row(args.splats, splat), ray = ray_row(args.rays, splat);
        float4 mean2d = row[0];
        float depth = ray_depth(ray[0], ray[1], quad_x - mean2d.x, quad_y - mean2d.y), none = 0.0f;
        of_quad.exchange(depth, none, splat);
        take(args, splat);
    }

    // The sub-tile has passed on everything.
    __device__ __forceinline__ void finish(const BlendParams& args) {
        float depth, alpha = 0.0f;
        u32 splat;
        for (u32 i = 0; i < QUAD_QUEUE; ++i) {
            depth = FARTHEST;
            splat = NO_SPLAT_HERE;
            of_quad.exchange(depth, alpha, splat);
            take(args, splat);
        }
        for (u32 i = 0; i < PIXEL_QUEUE; ++i) {
            depth = FARTHEST;
            splat = NO_SPLAT_HERE;
            own.exchange(depth, alpha, splat);
            blend(args, alpha, splat);
        }
    }
};

extern "C" __global__ void __launch_bounds__(BLOCK)
    blend(const __grid_constant__ BlendParams args) {
    begin_kernel();
    __shared__ u64 keys[TILE_WINDOW];
    __shared__ Window windows[BLOCK / LANES];
    if (args.counters->overflowed) return;
    u32 thread = threadIdx.x, lane = thread % WARP, warp = thread / WARP;
    u32 half = lane / LANES, member = lane % LANES;
    u32 tile = blockIdx.x;
    u32 tile_x = tile % args.camera.tiles_x * TILE, tile_y = tile / args.camera.tiles_x * TILE;
    u32 x0 = tile_x + (warp % 2 * 2 + half) * SUB_TILE, y0 = tile_y + warp / 2 * SUB_TILE;
    u32 x = x0 + member % SUB_TILE, y = y0 + member / SUB_TILE;
    bool inside = x < args.camera.width && y < args.camera.height;
    Window& window = windows[thread / LANES];
    u32 held = 0;  // in the window, the same in all lanes of the sub-tile
    uint2 range = list_range(args.ranges, tile);
    Pixel pixel;
    pixel.of_quad.clear();
    pixel.own.clear();
    pixel.x = x + 0.5f;
    pixel.y = y + 0.5f;
    pixel.quad_x = (x & ~1u) + 1;
    pixel.quad_y = (y & ~1u) + 1;
    pixel.transmittance = 1.0f;
    pixel.red = pixel.green = pixel.blue = 0.0f;
    pixel.done = !inside;
    pixel.evaluated = pixel.blended = 0;

    u32 batches = (range.y - range.x + BLOCK - 1) / BLOCK;
    // The window holds 256 splats between batches: the first batch passes on nothing, behind the
    // last one comes what is left.
    for (u32 batch = 0; batches && batch <= batches; ++batch) {
        // This barrier also keeps the keys until all have read them.
        if (__syncthreads_and(pixel.done)) break;
        u32 position = range.x + batch * BLOCK + thread;
        keys[thread] = batch ? keys[BLOCK + thread] : 0;
        keys[BLOCK + thread] =
            position < range.y ? tile_key(args, position, tile_x, tile_y) : NO_PAIR;
        __syncthreads();
        if (batch < batches) sort_tile(keys, thread);
        if (batch == 0) continue;
        for (u32 first = 0; first < BLOCK && keys[first] != NO_PAIR; first += LANES) {
            u32 finished = __ballot_sync(FULL_MASK, pixel.done);
            if (finished == FULL_MASK) break;
            bool wanted = (~finished >> half * LANES & ((1u << LANES) - 1)) != 0;
            u64 key = keys[first + member];
            bool passes = false;
            u32 splat = 0;
            float depth = 0.0f;
            if (wanted && key != NO_PAIR) {
                splat = splat_at(args, (u32)key);
                ReadOnly<float4> row = splat_row(args.splats, splat),
                                 ray = ray_row(args.rays, splat);
                float4 mean2d = row[0];
                float left = x0 + 0.5f - mean2d.x, top = y0 + 0.5f - mean2d.y;
                Best best =
                    best_in(mean2d, row[1], left, left + (SUB_TILE - 1), top, top + (SUB_TILE - 1));
                // False for NaN.
                passes = best.log2_alpha >= -LOG2_255 - 1e-3f;
                depth = ray_depth(ray[0], ray[1], x0 + SUB_TILE / 2 - mean2d.x,
                                  y0 + SUB_TILE / 2 - mean2d.y);
            }
            u32 votes = __ballot_sync(FULL_MASK, passes) >> half * LANES & ((1u << LANES) - 1);
            u32 slot = held + __popc(votes & ((1u << member) - 1));
            if (passes && slot < WINDOW) {
                window.depths[slot] = depth;
                window.splats[slot] = splat;
            }
            held += __popc(votes);
            bool full = held >= WINDOW;
            __syncwarp();
            if (!__any_sync(FULL_MASK, full)) continue;
            sort_window(window, WINDOW, member, full);
            if (full) {
                for (u32 i = 0; i < WINDOW / 2; ++i) pixel.take_for_quad(args, window.splats[i]);
            }
            __syncwarp();
            // The farther half moves to the front; behind it what had no room.
            if (full) {
                for (u32 i = member; i < WINDOW / 2; i += LANES) {
                    window.depths[i] = window.depths[WINDOW / 2 + i];
                    window.splats[i] = window.splats[WINDOW / 2 + i];
                }
            }
            __syncwarp();
            if (full) {
                held -= WINDOW / 2;
                if (passes && slot >= WINDOW) {
                    window.depths[slot - WINDOW / 2] = depth;
                    window.splats[slot - WINDOW / 2] = splat;
                }
            }
            __syncwarp();
        }
    }
    sort_window(window, held, member, true);
    for (u32 i = 0; i < held; ++i) pixel.take_for_quad(args, window.splats[i]);
    pixel.finish(args);
#if COUNT
    add_fragments(args.counters, pixel.evaluated, pixel.blended, lane);
#else
    if (inside) {
        u32 at = y * args.camera.width + x;
        write_pixel(args, at, pixel.transmittance, pixel.red, pixel.green, pixel.blue);
    }
#endif
}
