// blend_backward, method `subtile`.
//
// Contract. Writes the nine sums of each (tile, splat) pair into `pair_sums` ([pairs][12], f32, the
// last 3 unused), and zeros for pairs behind the point where all pixels stopped;
// blend_backward_atomic.cu has the inputs and formulas, docs/methods/backward-splatcore.md the
// method. f32 throughout, no atomic addition, the same bits in every run. A warp owns 8x4 pixels
// and walks only the splats that touch them, as in the forward pass. For 8 splats at a time its
// lanes, one a pixel, write v and w = alpha T to shared memory as rows; then four lanes a splat
// each sum a line of 8 pixels against the basis (1, x, x^2) and the pixels' gradients: a matrix
// product, transposed by shared memory. The block adds up its warps' sums and writes the pair's
// row. `sum_pairs` adds up the rows of a splat, which lie side by side: pairs are numbered in the
// order in which `intersect` makes them. CPU twin: splatcore-cpu/src/blend_backward.rs.
//
// Launch. One block of 256 threads a tile, batches of 64 splats, 44 KB of shared memory.
//
// Bound. Instructions: about 45 for each splat and warp that touch, 15 for the sums (90 with
// shuffles), 30 for 32 tests. fox_220k has 4.5 M touches: an estimated 280 M warp instructions, 270
// us at full rate. 1.4 M rows of 48 bytes written are 16 us.
//
// Now. 819 us (fox_220k, 1080x1920, H200). History: docs/log/kernels/blend-backward.md

#include "blend_backward.cuh"
#include "subtile.cuh"

#define WARPS (BLOCK / WARP)
#define BATCH 64  // tune: 32 64
#define ROWS 8    // splats that a warp adds up at a time
#define PITCH 36  // floats a row of 32 pixels: 4 banks further each row
#define SUMS 9
#define LINE_PITCH 9  // float4 a line of 8 pixels' gradients: 4 banks further each line

extern "C" __global__ void __launch_bounds__(BLOCK)
    blend_backward(const __grid_constant__ BlendBackwardParams args) {
    begin_kernel();
    __shared__ float4 means[BATCH];   // mean x, mean y, log2 opacity
    __shared__ float4 conics[BATCH];  // a, b, c
    __shared__ float4 colours[BATCH];
    __shared__ u32 numbers[BATCH];  // the pairs' rows in `pair_sums`
    __shared__ float4 pixel_gradients[WARPS * SUBTILE_Y * LINE_PITCH];
    __shared__ __align__(16) float rows_v[WARPS][ROWS * PITCH];
    __shared__ __align__(16) float rows_w[WARPS][ROWS * PITCH];
    __shared__ float results[WARPS][BATCH * SUMS];
    __shared__ u32 touched[WARPS][BATCH / WARP];
    if (args.counters->overflowed) return;  // a buffer overflowed: the frame is void
    u32 thread = threadIdx.x, lane = thread % WARP, warp = thread / WARP;
    u32 tile = blockIdx.x;
    u32 x0 = tile % args.camera.tiles_x * TILE + warp % 2 * SUBTILE_X,
        y0 = tile / args.camera.tiles_x * TILE + warp / 2 * SUBTILE_Y;
    u32 x = x0 + lane % SUBTILE_X, y = y0 + lane / SUBTILE_X;
    bool inside = x < args.camera.width && y < args.camera.height;
    u32 plane = args.camera.width * args.camera.height, at = y * args.camera.width + x;
    float px = x + 0.5f, py = y + 0.5f;
    float g_red = 0.0f, g_green = 0.0f, g_blue = 0.0f, behind = 0.0f;
    if (inside) {
        g_red = args.gradient[at];
        g_green = args.gradient[plane + at];
        g_blue = args.gradient[2 * plane + at];
        behind = fmaf(g_red, args.image[at],
                      fmaf(g_green, args.image[plane + at], g_blue * args.image[2 * plane + at]));
    }
    pixel_gradients[(warp * SUBTILE_Y + lane / SUBTILE_X) * LINE_PITCH + lane % SUBTILE_X] =
        make_float4(g_red, g_green, g_blue, 0.0f);
    uint2 range = list_range(args.ranges, tile);
    float transmittance = 1.0f;
    bool done = !inside;
    // When sums are added up, a lane has splat `row` of the 8 and the pixels of line `line`.
    u32 row = lane / 4, line = lane % 4;
    u32 start = range.x;
    for (; start < range.y; start += BATCH) {
        if (__syncthreads_and(done)) break;
        u32 batch = min(range.y - start, (u32)BATCH);
        if (thread < batch) {
            u32 number = args.pairs[start + thread];
            ReadOnly<float4> from = splat_row(args.splats, args.pair_splats[number]);
            numbers[thread] = number;
            means[thread] = from[0];
            conics[thread] = from[1];
            colours[thread] = from[2];
        }
        __syncthreads();

        u32 length = 0, own = 0;
        auto add_up = [&]() {
            __syncwarp();
            const float* v = &rows_v[warp][row * PITCH + line * SUBTILE_X];
            const float* w = &rows_w[warp][row * PITCH + line * SUBTILE_X];
            const float4* g = &pixel_gradients[(warp * SUBTILE_Y + line) * LINE_PITCH];
            float s0 = 0.0f, s1 = 0.0f, s2 = 0.0f, red = 0.0f, green = 0.0f, blue = 0.0f;
#pragma unroll
            for (int i = 0; i < SUBTILE_X; i += 4) {
                float4 v4 = *(const float4*)(v + i), w4 = *(const float4*)(w + i);
                float vs[4] = {v4.x, v4.y, v4.z, v4.w}, ws[4] = {w4.x, w4.y, w4.z, w4.w};
#pragma unroll
                for (int j = 0; j < 4; ++j) {
                    float4 pixel = g[i + j];
                    s0 += vs[j];
                    s1 = fmaf(vs[j], (float)(i + j), s1);
                    s2 = fmaf(vs[j], (float)((i + j) * (i + j)), s2);
                    red = fmaf(ws[j], pixel.x, red);
                    green = fmaf(ws[j], pixel.y, green);
                    blue = fmaf(ws[j], pixel.z, blue);
                }
            }
            // From the column in the line to the distance from the mean.
            float dx = x0 + 0.5f - means[own].x, dy = y0 + line + 0.5f - means[own].y;
            float values[SUMS];
            values[0] = s0;
            values[1] = fmaf(dx, s0, s1);
            values[2] = dy * s0;
            values[3] = fmaf(dx, fmaf(dx, s0, 2.0f * s1), s2);
            values[4] = dy * values[1];
            values[5] = dy * values[2];
            values[6] = red;
            values[7] = green;
            values[8] = blue;
#pragma unroll
            for (int i = 0; i < SUMS; ++i) {
                values[i] += __shfl_xor_sync(FULL_MASK, values[i], 1);
                values[i] += __shfl_xor_sync(FULL_MASK, values[i], 2);
            }
            if (row < length && line < 3) {
                float* to = &results[warp][own * SUMS + 3 * line];
                to[0] = line == 0 ? values[0] : line == 1 ? values[3] : values[6];
                to[1] = line == 0 ? values[1] : line == 1 ? values[4] : values[7];
                to[2] = line == 0 ? values[2] : line == 1 ? values[5] : values[8];
            }
            length = 0;
            __syncwarp();
        };
        for (u32 group = 0; group < BATCH; group += WARP) {
            bool touches =
                group + lane < batch &&
                touches_subtile(means[group + lane], conics[group + lane], x0 + 0.5f, y0 + 0.5f);
            u32 hits = __ballot_sync(FULL_MASK, touches);
            if (__all_sync(FULL_MASK, done)) hits = 0;
            u32 kept = 0;
            for (u32 left = hits; left; left &= left - 1) {
                u32 k = group + __ffs(left) - 1;
                float4 mean2d = means[k], conic = conics[k];
                float dx = px - mean2d.x, dy = py - mean2d.y;
                float exponent =
                    fmaf(fmaf(conic.x, dx, conic.y * dy), dx, fmaf(conic.z * dy, dy, mean2d.z));
                float raw = exp2_approx(exponent);
                float alpha = fminf(raw, args.camera.alpha_max);
                if (!(raw >= ALPHA_MIN) || done) alpha = 0.0f;
                float next = fmaf(-alpha, transmittance, transmittance);
                if (next < TRANSMITTANCE_MIN) {
                    done = true;
                    alpha = 0.0f;
                    next = transmittance;
                }
                if (!__any_sync(FULL_MASK, alpha > 0.0f)) continue;
                float4 colour = colours[k];
                float weight = alpha * transmittance;
                float toward = fmaf(g_red, colour.x, fmaf(g_green, colour.y, g_blue * colour.z));
                behind = fmaf(-weight, toward, behind);
                float v =
                    alpha * fmaf(-behind, reciprocal_approx(1.0f - alpha), transmittance * toward);
                // A capped alpha is constant, so its derivative is 0.
                if (raw >= args.camera.alpha_max) v = 0.0f;
                transmittance = next;
                rows_v[warp][length * PITCH + lane] = v;
                rows_w[warp][length * PITCH + lane] = weight;
                if (row == length) own = k;
                kept |= left & -left;
                if (++length == ROWS) add_up();
            }
            if (lane == 0) touched[warp][group / WARP] = kept;
        }
        if (length) add_up();
        __syncthreads();

        // Four threads a pair: three of them write four values each of the row of 12 floats, whose
        // last 3 are unused.
        u32 k = thread / 4, part = thread % 4;
        if (k < batch && part < 3) {
            float total[4] = {0.0f, 0.0f, 0.0f, 0.0f};
            for (int w = 0; w < WARPS; ++w) {
                if (!(touched[w][k / WARP] >> (k % WARP) & 1)) continue;
#pragma unroll
                for (int i = 0; i < 4; ++i)
                    if (part < 2 || i == 0) total[i] += results[w][k * SUMS + 4 * part + i];
            }
            args.pair_sums[3ull * numbers[k] + part] =
                make_float4(total[0], total[1], total[2], total[3]);
        }
    }
    // Pairs behind the point where every pixel has stopped have sums of 0.
    for (u32 i = start + thread / 4; i < range.y; i += BLOCK / 4)
        if (thread % 4 < 3)
            args.pair_sums[3ull * args.pairs[i] + thread % 4] = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
}
