// adam: project_backward and Adam's step in one kernel; of one frame gradients never go to memory.
//
// Contract. Reads a splat's `sums` ([visible][12], f32; sum_pairs.cu) and the Gaussian's parameters
// (f32: mean 3, log scales 3, rotation 4, opacity logit 1, harmonics SH_ROW, which may be halves),
// computes the gradients of the parameters and takes one step of Adam (Kingma & Ba 2015) in place;
// the decays, epsilon 1e-15 and the bias correction by the number of the step as in Kerbl et al.
// 2023. Also adds regularisers, densification statistics (`gradient_sum`, `seen`) and MCMC's noise.
// All Gaussians step, also unseen ones: their gradient is 0, their moments decay (as in torch).
// Harmonics above the degree in use are left out: gradients and moments are 0. CPU twin:
// splatcore-cpu/src/{project_backward,adam,step}.rs.
// Constants: COMPACT 1 stores moments in the formats of moments.cuh (the step uses them unrounded),
// 0 in f32. FIRST_MOMENTS 0 stores no first moments: BETA1 is 0. HALF_SH 1 stores harmonics as
// halves, rounded by chance. SPARSE 1 leaves Gaussians without a splat alone (gsplat's
// SelectiveAdam) but for the noise. SEVERAL_FRAMES 1 takes `share` of the gradients that frames
// added up (accumulate.cu). SHARD 1 steps a rank's rows, by which `splat_of` and `gradients` go.
// LEARNED_COLUMNS 1 learns columns too (columns.cuh). SH_ROW numbers a row of harmonics; BETA1,
// BETA2, EPSILON (rates.rs); those of moments.cuh, project_backward.cuh.
//
// Launch. Blocks of 128 threads, 6 a multiprocessor; a warp takes 32 Gaussians and waits for no
// other: harmonics by asynchronous copies; a lane a Gaussian: gradients, rotation, opacity, noise;
// a lane a number: means and log scales, rows of 12 bytes; a lane four harmonics.
//
// Bound. Memory: at degree 3 1416 bytes a Gaussian (COMPACT 848, without first moments 612, with
// HALF_SH 420) for 59 numbers, and 116 for its splat, sums and statistics: 79 us (50) for 220 k
// at 4.27 TB/s.
//
// Now. 94 us with COMPACT (fox_220k, H200). History: docs/log/kernels/adam.md

#include "columns.cuh"
#include "gradient_row.cuh"
#include "harmonic_rows.cuh"
#include "matrix.cuh"
#include "moments.cuh"
#include "project_backward.cuh"
#include "row_blocks.cuh"

// Gaussians of a block, and threads; blocks that fit a multiprocessor.
#define BLOCK 128  // tune: 32 64 96 128
#define BLOCKS 6   // tune: 3 4 5 6 7 8 12; when BLOCK * BLOCKS <= 1024
#define WARPS (BLOCK / WARP)

// Units that a lane reads before it writes the first of them.
#define BATCH (12 / WIDE)

// Floats of basis and colour of a row. One extra basis value of 0 serves the columns of the last
// unit that are above the degree.
#define BASIS ((USED / 3 + 1) | 1)
#define COLOUR 5
// The scratch first holds means and log scales, later basis and colour.
#define SCRATCH (WARP * (BASIS + COLOUR))

#if !FIRST_MOMENTS
typedef Nothing First;
#elif COMPACT
typedef Bf16 First;
#else
typedef float First;
#endif
#if COMPACT
typedef Bf16 Second;
typedef Log8 SecondSh;
#else
typedef float Second;
typedef float SecondSh;
#endif

// The number of each parameter of a Gaussian, from which the random bits of rounding derive.
#define NUMBER_MEANS 0
#define NUMBER_LOG_SCALES 3
#define NUMBER_ROTATIONS 6
#define NUMBER_OPACITY 10
#define NUMBER_SH 11

// Opacity logits from which on their gradient is 0 in f32.
#define MAX_LOGIT 80.0f

// Field by field as Rates in ops/adam/rates.rs. The rates include Adam's first bias correction.
struct Rates {
    float means, log_scales, rotations, opacity_logits, sh_base, sh_rest;
    float second_correction;    // 1 / sqrt(1 - beta2^t)
    float opacity_regulariser;  // weight of the mean over the Gaussians
    float scale_regulariser;    // weight of the mean over their scales
    float noise;                // 0 for none
    u32 statistics;
    u32 step;
    u64 seed;
};

// Adam's step for one number. `chance`: 32 random bits that round its moments.
template <class M, class V>
__device__ __forceinline__ void update(float& parameter, M& first, V& second, float gradient,
                                       float rate, float second_correction, u32 chance) {
    float m = fmaf(BETA1, load(first), (1.0f - BETA1) * gradient);
    float v = fmaf(BETA2, load(second), (1.0f - BETA2) * gradient * gradient);
    // Root and quotient within 2 units in the last place take a tenth of the instructions of exact
    // ones.
    parameter = fmaf(-rate * m, reciprocal_approx(fmaf(sqrt_approx(v), second_correction, EPSILON)),
                     parameter);
    store(first, m, chance & 0xffffu);
    store(second, v, chance >> 16);
}

// Several moments at once, of which there may be none.
template <class T, int N>
__device__ __forceinline__ Several<T, N> read(const Several<T, N>* from) {
    return *from;
}
template <int N>
__device__ __forceinline__ Several<Nothing, N> read(const Several<Nothing, N>*) {
    return {};
}
template <class T, int N>
__device__ __forceinline__ void write(Several<T, N>* to, const Several<T, N>& moments) {
    *to = moments;
}
template <int N>
__device__ __forceinline__ void write(Several<Nothing, N>*, const Several<Nothing, N>&) {}

__device__ __forceinline__ float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }

// MCMC's noise (Kheradmand et al. 2024, equation 7): the mean moves by Sigma n, gated so that
// transparent Gaussians move more. Sigma n = R diag(s^2) R^t n.
__device__ __forceinline__ Vec3 noise_of(u32 i, float opacity_logit, float4 quaternion,
                                         const float (&log_scales)[3], const Rates& rates) {
    float gate = rates.noise / (1.0f + expf(100.0f * (sigmoid(opacity_logit) - 0.005f)));
    float q[4] = {quaternion.x, quaternion.y, quaternion.z, quaternion.w};
    float norm = fmaf(q[0], q[0], fmaf(q[1], q[1], fmaf(q[2], q[2], q[3] * q[3])));
    if (!(norm > 0.0f)) return {0.0f, 0.0f, 0.0f};
    float inverse = 1.0f / sqrtf(norm);
    float w = q[0] * inverse, x = q[1] * inverse, y = q[2] * inverse, z = q[3] * inverse;
    float r[3][3] = {
        {1.0f - 2.0f * (y * y + z * z), 2.0f * (x * y - w * z), 2.0f * (x * z + w * y)},
        {2.0f * (x * y + w * z), 1.0f - 2.0f * (x * x + z * z), 2.0f * (y * z - w * x)},
        {2.0f * (x * z - w * y), 2.0f * (y * z + w * x), 1.0f - 2.0f * (x * x + y * y)}};
    Vec3 normal = normal3(rates.seed, rates.step, i);
    float n[3] = {normal.x, normal.y, normal.z}, shift[3] = {};
    for (int k = 0; k < 3; ++k) {
        float along = r[0][k] * n[0] + r[1][k] * n[1] + r[2][k] * n[2];
        float length = gate * expf(2.0f * log_scales[k]) * along;
        for (int j = 0; j < 3; ++j) shift[j] = fmaf(length, r[j][k], shift[j]);
    }
    return {shift[0], shift[1], shift[2]};
}

#if SPARSE
#define OWNER(row) owners[warp][row]
#else
#define OWNER(row) (row)
#endif

// Parameters of `adam`; in Rust by the same name.
struct AdamParams {
    float* means;  // [count][3], world; _1 and _2 are its moments
    First* means_1;
    Second* means_2;
    float* log_scales;  // [count][3]
    First* log_scales_1;
    Second* log_scales_2;
    float4* rotations;  // [count], quaternions (w, x, y, z)
    Several<First, 4>* rotations_1;
    Several<Second, 4>* rotations_2;
    float* opacity_logits;  // [count]
    First* opacity_logits_1;
    Second* opacity_logits_2;
    Harmonic* sh;  // [count][coefficients][3]
    First* sh_1;
    SecondSh* sh_2;
    float* gradient_sum;     // [count], summed 2D gradients for densification
    u32* seen;               // [count], steps in view
    ReadOnly<u32> splat_of;  // compacted index of each Gaussian, see NO_SPLAT
    const Splat* splats;     // by compacted index
    ReadOnly<float4> sums;   // a row of 12 floats for each compacted index
    ShapeColumns shape;
    LearnedColumn columns[COLUMNS];
    ReadOnly<u32> gaussians;  // the number of Gaussians; null: `most`
    Camera camera;
    Rates rates;
    Counters* counters;
    // Of SEVERAL_FRAMES, of each of the rank's rows, the second with [SH_ROW]; else null.
    const GradientRow* gradients;
    ReadOnly<float> sh_gradients;
    float share;       // of a frame in the batch
    RowBlocks blocks;  // with SHARD 1: a rank's rows
    Lens lens;         // unless LENS is 0
};
extern "C" __global__ void __launch_bounds__(BLOCK, BLOCKS)
    adam(const __grid_constant__ AdamParams args) {
    begin_kernel();
    __shared__ __align__(16) Harmonic harmonics[WARPS][WARP * PITCH];
    __shared__ float scratches[WARPS][SCRATCH];
    const u32 count = args.gaussians[0];
    if (args.counters->overflowed) return;  // a buffer overflowed: the step is taken again
    if (blockIdx.x == 0 && threadIdx.x == 0) args.counters->steps += 1;
    u32 lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    const u32 own = (blockIdx.x * WARPS + warp) * WARP;
    // Rows of the state, and where they are in arrays that ranks divide: moments and harmonics.
    u32 first = own, stored = own;
#if SHARD
    first = row_of(own, args.blocks);
    stored = stored_row(own, first, args.blocks);
#endif
    u32 i = first + lane;
    if (first >= count) return;
    bool exists = i < count;
#if SEVERAL_FRAMES
    GradientRow of_frames = {};
    if (exists) of_frames = args.gradients[own + lane];
    bool has_splat = of_frames.splats != 0;
#else
    u32 word = exists ? args.splat_of[own + lane] : NO_SPLAT, splat_index = word & ~IN_VIEW;
    bool has_splat = splat_index != NO_SPLAT;
#endif
#if SPARSE
    // `owners`: the lanes of the warp's seen Gaussians, in order; row r of shared memory is
    // owners[r].
    __shared__ u32 owners[WARPS][WARP];
    u32 mask = __ballot_sync(FULL_MASK, has_splat), here = __popc(mask),
        row = __popc(mask & ((1u << lane) - 1));
    bool learns = has_splat;
    if (learns) owners[warp][row] = lane;
    __syncwarp();
#else
    u32 here = min(count - first, (u32)WARP), row = lane;
    bool learns = exists;
#endif
    Harmonic* rows = harmonics[warp];
    Harmonic* sh = args.sh + (u64)stored * SH_ROW;
    First* sh_1 = args.sh_1 + (u64)stored * SH_ROW;
    SecondSh* sh_2 = args.sh_2 + (u64)stored * SH_ROW;
    for (u32 u = lane; u < here * UNITS; u += WARP) {
        u32 r = u / UNITS, q = u % UNITS;
        copy_harmonics_async(rows + r * PITCH + q * WIDE, sh + (OWNER(r) * SH_ROW + q * WIDE));
    }
    copy_async_commit();

    float4 quaternion = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    float opacity_logit = 0.0f;
    if (learns) {
        quaternion = args.rotations[i];
        opacity_logit = args.opacity_logits[i];
    }
#if !SEVERAL_FRAMES
    Vec3 mean = {}, log_scale = {};
    float4 shape = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    float total[12] = {};
    ShapeNumbers shape_numbers = {};
    u32 clamped = 0;
    if (has_splat) {
        mean = {args.means[3ull * i], args.means[3ull * i + 1], args.means[3ull * i + 2]};
        log_scale = {args.log_scales[3ull * i], args.log_scales[3ull * i + 1],
                     args.log_scales[3ull * i + 2]};
        ReadOnly<float4> splat = splat_row(args.splats, splat_index);
        shape = splat[1];
        clamped = __float_as_uint(splat[2].w);
        load_sums(args.sums, splat_index, total);
        if (SHAPE_COLUMNS) shape_numbers = load_shape(args.shape, i);
    }
#endif
    copy_async_wait<0>();
    __syncwarp();

    SplatGradient d = {};
#if SEVERAL_FRAMES
    const float frame_share = args.share;
    d.mean = {frame_share * of_frames.mean[0], frame_share * of_frames.mean[1],
              frame_share * of_frames.mean[2]};
    for (int k = 0; k < 3; ++k) d.log_scales[k] = frame_share * of_frames.log_scales[k];
    for (int k = 0; k < 4; ++k) d.rotation[k] = frame_share * of_frames.rotation[k];
    d.opacity_logit = frame_share * of_frames.opacity_logit;
    if (args.rates.statistics && of_frames.in_view) {
        args.gradient_sum[i] += of_frames.ndc_norm;
        args.seen[i] += of_frames.in_view;
    }
#else
    Vec3 colour = {};
    if (has_splat) {
        colour = colour_gradient(total, clamped);
#if SH_DEGREE >= 1
        float along[USED / 3];
        const float colours[3] = {colour.x, colour.y, colour.z};
#pragma unroll
        for (int q = 0; q < UNITS; ++q) {
            Several<float, WIDE> unit = read_harmonics(rows + row * PITCH + q * WIDE);
#pragma unroll
            for (int j = 0; j < WIDE; ++j) {
                const int column = q * WIDE + j;
                if (column < 3 || column >= USED) continue;
                float part = unit.numbers[j] * colours[column % 3];
                along[column / 3] = column % 3 == 0 ? part : along[column / 3] + part;
            }
        }
        Vec3 more = direction_gradient(mean, along, args.camera);
#else
        Vec3 more = {};
#endif
        d = splat_gradient(total, shape.x, shape.y, shape.z, mean, log_scale, quaternion,
                           opacity_logit, shape_numbers, args.camera, args.lens);
        d.mean = {d.mean.x + more.x, d.mean.y + more.y, d.mean.z + more.z};
    }
    if (args.rates.statistics && (word & IN_VIEW)) {
        args.gradient_sum[i] += d.ndc_norm;
        args.seen[i] += 1;
    }
#endif

    float correction = args.rates.second_correction;
    u32 key = rounding_key(args.rates.seed, args.rates.step);
    float* scratch = scratches[warp];
    if (learns) {
#if LEARNED_COLUMNS
#if SEVERAL_FRAMES
        // d ln opacity / d logit = 1 - opacity. From MAX_LOGIT on the gradient is 0 in f32.
        float d_ln_opacity = d.opacity_logit * (1.0f + expf(fminf(opacity_logit, MAX_LOGIT)));
#else
        float d_ln_opacity = total[0];
#endif
#endif
        if (args.rates.opacity_regulariser != 0.0f) {
            float opacity = sigmoid(opacity_logit),
                  share = args.rates.opacity_regulariser / float(count);
            d.opacity_logit = fmaf(share * opacity, 1.0f - opacity, d.opacity_logit);
        }
        float q[4] = {quaternion.x, quaternion.y, quaternion.z, quaternion.w};
        Several<First, 4> m = read(args.rotations_1 + stored + lane);
        Several<Second, 4> v = read(args.rotations_2 + stored + lane);
#pragma unroll
        for (int k = 0; k < 4; ++k)
            update(q[k], m.numbers[k], v.numbers[k], d.rotation[k], args.rates.rotations,
                   correction, rounding_bits(key, i, NUMBER_ROTATIONS + k));
        args.rotations[i] = quaternion = make_float4(q[0], q[1], q[2], q[3]);
        write(args.rotations_1 + stored + lane, m);
        write(args.rotations_2 + stored + lane, v);
        update(opacity_logit, args.opacity_logits_1[stored + lane],
               args.opacity_logits_2[stored + lane], d.opacity_logit, args.rates.opacity_logits,
               correction, rounding_bits(key, i, NUMBER_OPACITY));
#if LEARNED_COLUMNS
#pragma unroll
        for (int k = 0; k < COLUMNS; ++k) {
            const LearnedColumn& column = args.columns[k];
            if (!column.values) continue;
            float number = column.values[i];
            float gradient = column_gradient(k, number, d.log_scales, d_ln_opacity,
                                             column.weight / float(count));
            update(number, column.first[i], column.second[i], gradient, column.rate, correction, 0);
            column.values[i] = number;
            if (!(number >= column.min)) {
                opacity_logit = OFF_OPACITY_LOGIT;
                store(args.opacity_logits_1[stored + lane], 0.0f, 0);
                store(args.opacity_logits_2[stored + lane], 0.0f, 0);
            }
        }
#endif
        args.opacity_logits[i] = opacity_logit;
        scratch[3 * row] = d.mean.x;
        scratch[3 * row + 1] = d.mean.y;
        scratch[3 * row + 2] = d.mean.z;
#pragma unroll
        for (int k = 0; k < 3; ++k) scratch[3 * (WARP + row) + k] = d.log_scales[k];
    }
    __syncwarp();

    const float scale_share = args.rates.scale_regulariser / float(3 * count);
    // One number a lane: its gradient comes from the scratch, and its new value replaces it there.
#pragma unroll
    for (u32 e = lane; e < 3 * WARP; e += WARP) {
        if (e >= 3 * here) break;
        u32 owner = OWNER(e / 3), gaussian = first + owner, k = e % 3;
        u64 at = 3ull * gaussian + k, moment = 3ull * (stored + owner) + k;
        float parameter = args.means[at];
        update(parameter, args.means_1[moment], args.means_2[moment], scratch[e], args.rates.means,
               correction, rounding_bits(key, gaussian, NUMBER_MEANS + k));
        scratch[e] = parameter;
        parameter = args.log_scales[at];
        float gradient = scratch[3 * WARP + e];
        if (args.rates.scale_regulariser != 0.0f)
            gradient = fmaf(scale_share, expf(parameter), gradient);
        update(parameter, args.log_scales_1[moment], args.log_scales_2[moment], gradient,
               args.rates.log_scales, correction,
               rounding_bits(key, gaussian, NUMBER_LOG_SCALES + k));
        args.log_scales[at] = parameter;
        scratch[3 * WARP + e] = parameter;
    }
    __syncwarp();
    if (args.rates.noise != 0.0f && exists) {
        float s[3];
#pragma unroll
        for (int k = 0; k < 3; ++k)
            s[k] = learns ? scratch[3 * (WARP + row) + k] : args.log_scales[3ull * i + k];
        if (!learns) {
            quaternion = args.rotations[i];
            opacity_logit = args.opacity_logits[i];
        }
        Vec3 shift = noise_of(i, opacity_logit, quaternion, s, args.rates);
        float* to = learns ? scratch + 3 * row : args.means + 3ull * i;
        to[0] += shift.x;
        to[1] += shift.y;
        to[2] += shift.z;
    }
    __syncwarp();
#pragma unroll
    for (u32 e = lane; e < 3 * WARP; e += WARP)
        if (e < 3 * here) args.means[3ull * (first + OWNER(e / 3)) + e % 3] = scratch[e];
    __syncwarp();

#if !SEVERAL_FRAMES
    // The harmonics' gradients are products of basis and colour gradient; red and green are
    // repeated behind blue, so that four columns in a row need no wrap.
    float* basis = scratch;
    float* colours = scratch + WARP * BASIS;
    if (learns) {
        float b[16] = {};
        if (has_splat) {
            Vec3 unit;
            view_direction(mean, args.camera, unit);
            sh_basis(SH_DEGREE, unit, b);
        }
#pragma unroll
        for (int k = 0; k < USED / 3; ++k) basis[row * BASIS + k] = b[k];
        basis[row * BASIS + USED / 3] = 0.0f;
        float* c = colours + row * COLOUR;
        c[0] = c[3] = colour.x;
        c[1] = c[4] = colour.y;
        c[2] = colour.z;
    }
    __syncwarp();
#endif
    // All reads of a batch precede its first write, so that a lane waits for memory once a batch.
    for (u32 start = lane; start < here * UNITS; start += WARP * BATCH) {
        Several<First, WIDE> m[BATCH];
        Several<SecondSh, WIDE> v[BATCH];
#pragma unroll
        for (u32 step = 0; step < BATCH; ++step) {
            u32 u = start + WARP * step;
            if (u >= here * UNITS) break;
            u32 at = OWNER(u / UNITS) * SH_ROW + u % UNITS * WIDE;
            m[step] = read((const Several<First, WIDE>*)(sh_1 + at));
            v[step] = read((const Several<SecondSh, WIDE>*)(sh_2 + at));
        }
#pragma unroll
        for (u32 step = 0; step < BATCH; ++step) {
            u32 u = start + WARP * step;
            if (u >= here * UNITS) break;
            u32 r = u / UNITS, column = u % UNITS * WIDE, owner = OWNER(r);
            u32 coefficient = column / 3, channel = column % 3;
            Several<float, WIDE> parameters = read_harmonics(rows + r * PITCH + column);
#if SEVERAL_FRAMES
            const u64 place = (u64)(own + owner) * SH_ROW + column;
            Several<float, WIDE> of_frames =
                *(const Several<float, WIDE>*)(args.sh_gradients + place);
#else
            const float *b = basis + r * BASIS + coefficient, *c = colours + r * COLOUR + channel;
#endif
#pragma unroll
            for (u32 j = 0; j < WIDE; ++j) {
                // Four columns belong to at most two coefficients, and the fourth has the colour
                // channel of the first.
#if SEVERAL_FRAMES
                float gradient = args.share * of_frames.numbers[j];
#else
                float gradient = (channel + j < 3 ? b[0] : b[1]) * c[j % 3];
#endif
                bool is_base = column + j < 3;
                const u32 bits = rounding_bits(key, first + owner, NUMBER_SH + column + j);
                update(parameters.numbers[j], m[step].numbers[j], v[step].numbers[j], gradient,
                       is_base ? args.rates.sh_base : args.rates.sh_rest, correction, bits);
#if HALF_SH
                // Other bits of it than moments use.
                const u32 chance = (bits * 0x9e3779b1u) >> 16;
                parameters.numbers[j] = rounded_to_half(parameters.numbers[j], chance);
#endif
            }
            u32 at = owner * SH_ROW + column;
#if HALF_SH
            const float* four = parameters.numbers;
            *(uint2*)(sh + at) = {pack_half2(four[0], four[1]), pack_half2(four[2], four[3])};
#else
            *(Several<float, WIDE>*)(sh + at) = parameters;
#endif
            write((Several<First, WIDE>*)(sh_1 + at), m[step]);
            write((Several<SecondSh, WIDE>*)(sh_2 + at), v[step]);
        }
    }
}
