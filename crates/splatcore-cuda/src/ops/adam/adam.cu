// adam: project_backward and Adam's step in one, so that gradients never see memory and what a
// Gaussian is made of is read once. Kingma & Ba 2015 as INRIA uses it (beta 0.9 and 0.999, epsilon
// 1e-15, bias correction by the step's number), for all Gaussians, seen or not, as torch's Adam
// does: an unseen one has gradient 0, its moments decay and it keeps moving a little. Regularisers,
// statistics and MCMC's noise ride along. CPU twin:
// splatcore-cpu/src/{project_backward,adam,step}.rs.
//
// SPARSE 1 leaves Gaussians without a slot entirely alone (gsplat's SelectiveAdam): no decay of
// moments, no update, no regulariser; statistics and noise stay as they are. A warp packs the rows
// of its seen Gaussians, so memory is moved for what is seen alone. (Warps of 32 slots would read
// where each Gaussian is, and still cover all Gaussians for the noise.) Not done: to let unseen
// Gaussians catch up on missed steps when they are next seen. Moments would only decay, so m and v
// at the missed steps are powers, but each step's length is their quotient with its own rate, bias
// correction and epsilon: no closed form, 1 to 300 steps to add up one by one, and refinement,
// checkpoints and regularisers would need it done for all.
//
// Harmonics above degree 0 may decay (Loshchilov & Hutter 2019, decoupled): they are multiplied by
// `sh_keep` before the update, 1 for none, which changes no bit. Coefficients above the degree in
// use have gradients and moments of exactly 0 and are left out.
//
// Moments lie there as f32, or if COMPACT in the formats of moments.cuh; the step itself is taken
// with the moments before they are rounded.
//
// Launch: blocks of 128; each warp takes 32 Gaussians for itself and no warp waits for another:
//   1. The rows of harmonics, one piece of memory, go to shared memory without passing through
//      registers.
//   2. A lane a Gaussian: from the sums of its splat to the gradients, and Adam for rotation and
//      opacity.
//   3. A lane a number: means and log scales, whose rows of 12 bytes would otherwise be written in
//      three pieces each.
//   4. MCMC's noise, a lane a Gaussian again.
//   5. A lane four harmonics: 16, 8 and 4 bytes of parameters and moments in one access each.
//
// Bound by memory. A Gaussian at degree 3 moves, read and written, 24 bytes a number, 59 of them:
// 1416 bytes; compact 14 for the harmonics and 16 for the others: 848; and 116 for its place,
// splat, sums and statistics. At 4.27 TB/s and 1 M Gaussians all seen: 359 us, compact 226 us; 220
// k: 79 and 50 us. Compact: about 1100 warp instructions a warp for gradients and eleven numbers,
// and 50 for each of 48 harmonics: 110 us for 1 M, of which the special-function unit is busy 60.
// Prediction for an H200, compact: fox_220k 68 us (its 1719 blocks fill the card 2.2 times),
// mcmc_1m 270 us. Measured: fox_220k 94 us. Moments fetched a third ahead 104 us, 92 registers and
// 5 blocks a multiprocessor 91, whole rows of moments at once 98. Measured as three kernels that
// passed gradients through memory (64 bytes a slot) and read parameters twice, everything by single
// numbers, compact: project_backward 59 and 121 us, adam and adam_sh 118 and 407 us.
//
// Constants: SH_ROW floats stored for each Gaussian, COMPACT, SPARSE, and those of
// project_backward.cuh.

#include "matrix.cuh"
#include "moments.cuh"
#include "project_backward.cuh"

#define BETA1 0.9f
#define BETA2 0.999f
#define EPSILON 1e-15f

#define BLOCK 128
#define WARPS (BLOCK / WARP)

// Harmonics go by units of so many numbers; odd numbers of 16 bytes from row to row keep the lanes'
// reads apart in the banks.
#if SH_ROW % 4 == 0
#define WIDE 4
#define UNITS ((USED + 3) / 4)
#define PITCH (4 * (UNITS | 1))
#else
#define WIDE 1
#define UNITS USED
#define PITCH (USED | 1)
#endif
// Units that a lane reads before it writes the first.
#define BATCH (12 / WIDE)

// Basis and colour of a row; one more of the basis, 0, stands for the columns of the last unit that
// are above the degree.
#define BASIS ((USED / 3 + 1) | 1)
#define COLOUR 5
// Before that, numbers of means and log scales.
#define SCRATCH (WARP * (BASIS + COLOUR))

#if COMPACT
typedef Bf16 First;
typedef Bf16 Second;
typedef Log8 SecondSh;
#else
typedef float First;
typedef float Second;
typedef float SecondSh;
#endif

template <class T, int N>
struct alignas(N * sizeof(T)) Several {
    T numbers[N];
};

// Numbers of a Gaussian, for the chance in rounding.
#define NUMBER_MEANS 0
#define NUMBER_LOG_SCALES 3
#define NUMBER_ROTATIONS 6
#define NUMBER_OPACITY 10
#define NUMBER_SH 11

// As splatcore_cuda::learner::Rates, field by field. Rates hold Adam's first bias correction.
struct Rates {
    float means, log_scales, rotations, opacity_logits, sh_base, sh_rest;
    float second_correction;    // 1 / sqrt(1 - beta2^t)
    float opacity_regulariser;  // of the mean over the Gaussians
    float scale_regulariser;    // of the mean over their scales
    float noise;                // 0 for none
    float sh_keep;              // 1 for no decay
    u32 padding;
    u32 statistics;
    u32 step;
    u64 seed;
};

// One number; `chance` rounds its moments.
template <class V>
__device__ __forceinline__ void update(float& parameter, First& first, V& second, float gradient,
                                       float rate, float second_correction, u32 chance) {
    float m = fmaf(BETA1, load(first), (1.0f - BETA1) * gradient);
    float v = fmaf(BETA2, load(second), (1.0f - BETA2) * gradient * gradient);
    // The root and the quotient within 2 units in the last place, a tenth of the instructions of
    // exact ones.
    parameter = fmaf(-rate * m, reciprocal_approx(fmaf(sqrt_approx(v), second_correction, EPSILON)),
                     parameter);
    store(first, m, chance & 0xffffu);
    store(second, v, chance >> 16);
}

__device__ __forceinline__ float sigmoid(float x) { return 1.0f / (1.0f + expf(-x)); }

// Kheradmand et al. 2024, eq. 7: the mean moves by Sigma n, the more the more transparent. Sigma n
// = R diag(s^2) R^t n.
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

extern "C" __global__ void __launch_bounds__(BLOCK, 6)
    adam(float* means, First* means_1, Second* means_2, float* log_scales, First* log_scales_1,
         Second* log_scales_2, float4* rotations, Several<First, 4>* rotations_1,
         Several<Second, 4>* rotations_2, float* opacity_logits, First* opacity_logits_1,
         Second* opacity_logits_2, float* sh, First* sh_1, SecondSh* sh_2, float* gradient_sum,
         u32* seen, const u32* __restrict__ slot_of, const Splat* __restrict__ splats,
         const float4* __restrict__ sums, const float* __restrict__ smoothing,
         const u32* __restrict__ gaussians, Camera camera, Rates rates, Counters* counters) {
    begin_kernel();
    __shared__ __align__(16) float harmonics[WARPS][WARP * PITCH];
    __shared__ float scratches[WARPS][SCRATCH];
    const u32 count = *gaussians;
    if (counters->halted) return;
    if (blockIdx.x == 0 && threadIdx.x == 0) counters->steps += 1;
    u32 lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    u32 first = (blockIdx.x * WARPS + warp) * WARP, i = first + lane;
    if (first >= count) return;
    bool exists = i < count;
    u32 word = exists ? slot_of[i] : NO_SLOT, slot = word & ~IN_VIEW;
    bool has_slot = slot != NO_SLOT;
#if SPARSE
    // The seen ones' rows, in their order.
    __shared__ u32 owners[WARPS][WARP];
    u32 mask = __ballot_sync(FULL_MASK, has_slot), here = __popc(mask),
        row = __popc(mask & ((1u << lane) - 1));
    bool learns = has_slot;
    if (learns) owners[warp][row] = lane;
    __syncwarp();
#else
    u32 here = min(count - first, (u32)WARP), row = lane;
    bool learns = exists;
#endif
    float* rows = harmonics[warp];
    sh += (u64)first * SH_ROW;
    sh_1 += (u64)first * SH_ROW;
    sh_2 += (u64)first * SH_ROW;
    for (u32 u = lane; u < here * UNITS; u += WARP) {
        u32 r = u / UNITS, q = u % UNITS;
        const float* from = sh + (OWNER(r) * SH_ROW + q * WIDE);
        float* to = rows + r * PITCH + q * WIDE;
        if (WIDE == 4)
            copy_async_16(to, from);
        else
            copy_async_4(to, from);
    }
    copy_async_commit();

    float4 quaternion = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    float opacity_logit = 0.0f;
    if (learns) {
        quaternion = rotations[i];
        opacity_logit = opacity_logits[i];
    }
    Vec3 mean = {}, log_scale = {};
    float4 shape = make_float4(0.0f, 0.0f, 0.0f, 0.0f);
    float total[12] = {}, filter = 0.0f;
    u32 clamped = 0;
    if (has_slot) {
        mean = {means[3ull * i], means[3ull * i + 1], means[3ull * i + 2]};
        log_scale = {log_scales[3ull * i], log_scales[3ull * i + 1], log_scales[3ull * i + 2]};
        const float4* splat = (const float4*)(splats + slot);
        shape = splat[1];
        clamped = __float_as_uint(splat[2].w);
        load_sums(sums, slot, total);
        if (SMOOTHING) filter = smoothing[i];
    }
    copy_async_wait<0>();
    __syncwarp();

    SlotGradient d = {};
    Vec3 colour = {};
    if (has_slot) {
        colour = colour_gradient(total, clamped);
#if SH_DEGREE >= 1
        float along[USED / 3];
        const float colours[3] = {colour.x, colour.y, colour.z};
#pragma unroll
        for (int q = 0; q < UNITS; ++q) {
            Several<float, WIDE> unit =
                *(const Several<float, WIDE>*)(rows + row * PITCH + q * WIDE);
#pragma unroll
            for (int j = 0; j < WIDE; ++j) {
                const int column = q * WIDE + j;
                if (column < 3 || column >= USED) continue;
                float part = unit.numbers[j] * colours[column % 3];
                along[column / 3] = column % 3 == 0 ? part : along[column / 3] + part;
            }
        }
        Vec3 more = direction_gradient(mean, along, camera);
#else
        Vec3 more = {};
#endif
        d = slot_gradient(total, shape.x, shape.y, shape.z, mean, log_scale, quaternion,
                          opacity_logit, filter, camera);
        d.mean = {d.mean.x + more.x, d.mean.y + more.y, d.mean.z + more.z};
    }
    if (rates.statistics && (word & IN_VIEW)) {
        gradient_sum[i] += d.ndc_norm;
        seen[i] += 1;
    }

    float correction = rates.second_correction;
    u32 key = rounding_key(rates.seed, rates.step);
    float* scratch = scratches[warp];
    if (learns) {
        if (rates.opacity_regulariser != 0.0f) {
            float opacity = sigmoid(opacity_logit),
                  share = rates.opacity_regulariser / float(count);
            d.opacity_logit = fmaf(share * opacity, 1.0f - opacity, d.opacity_logit);
        }
        float q[4] = {quaternion.x, quaternion.y, quaternion.z, quaternion.w};
        Several<First, 4> m = rotations_1[i];
        Several<Second, 4> v = rotations_2[i];
#pragma unroll
        for (int k = 0; k < 4; ++k)
            update(q[k], m.numbers[k], v.numbers[k], d.rotation[k], rates.rotations, correction,
                   rounding_bits(key, i, NUMBER_ROTATIONS + k));
        rotations[i] = quaternion = make_float4(q[0], q[1], q[2], q[3]);
        rotations_1[i] = m;
        rotations_2[i] = v;
        update(opacity_logit, opacity_logits_1[i], opacity_logits_2[i], d.opacity_logit,
               rates.opacity_logits, correction, rounding_bits(key, i, NUMBER_OPACITY));
        opacity_logits[i] = opacity_logit;
        scratch[3 * row] = d.mean.x;
        scratch[3 * row + 1] = d.mean.y;
        scratch[3 * row + 2] = d.mean.z;
#pragma unroll
        for (int k = 0; k < 3; ++k) scratch[3 * (WARP + row) + k] = d.log_scales[k];
    }
    __syncwarp();

    const float scale_share = rates.scale_regulariser / float(3 * count);
    // Numbers of the rows: their gradients come from the scratch, and what became of them goes
    // there.
#pragma unroll
    for (u32 e = lane; e < 3 * WARP; e += WARP) {
        if (e >= 3 * here) break;
        u32 gaussian = first + OWNER(e / 3), k = e % 3;
        u64 at = 3ull * gaussian + k;
        float parameter = means[at];
        update(parameter, means_1[at], means_2[at], scratch[e], rates.means, correction,
               rounding_bits(key, gaussian, NUMBER_MEANS + k));
        scratch[e] = parameter;
        parameter = log_scales[at];
        float gradient = scratch[3 * WARP + e];
        if (rates.scale_regulariser != 0.0f)
            gradient = fmaf(scale_share, expf(parameter), gradient);
        update(parameter, log_scales_1[at], log_scales_2[at], gradient, rates.log_scales,
               correction, rounding_bits(key, gaussian, NUMBER_LOG_SCALES + k));
        log_scales[at] = parameter;
        scratch[3 * WARP + e] = parameter;
    }
    __syncwarp();
    if (rates.noise != 0.0f && exists) {
        float s[3];
#pragma unroll
        for (int k = 0; k < 3; ++k)
            s[k] = learns ? scratch[3 * (WARP + row) + k] : log_scales[3ull * i + k];
        if (!learns) {
            quaternion = rotations[i];
            opacity_logit = opacity_logits[i];
        }
        Vec3 shift = noise_of(i, opacity_logit, quaternion, s, rates);
        float* to = learns ? scratch + 3 * row : means + 3ull * i;
        to[0] += shift.x;
        to[1] += shift.y;
        to[2] += shift.z;
    }
    __syncwarp();
#pragma unroll
    for (u32 e = lane; e < 3 * WARP; e += WARP)
        if (e < 3 * here) means[3ull * (first + OWNER(e / 3)) + e % 3] = scratch[e];
    __syncwarp();

    // What the harmonics' gradients are products of, with the colour from its start again after its
    // end.
    float* basis = scratch;
    float* colours = scratch + WARP * BASIS;
    if (learns) {
        float b[16] = {};
        if (has_slot) {
            Vec3 unit;
            view_direction(mean, camera, unit);
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
    // All reads of a batch come before its first write, so that a lane waits for memory once a
    // batch.
    for (u32 start = lane; start < here * UNITS; start += WARP * BATCH) {
        Several<First, WIDE> m[BATCH];
        Several<SecondSh, WIDE> v[BATCH];
#pragma unroll
        for (u32 step = 0; step < BATCH; ++step) {
            u32 u = start + WARP * step;
            if (u >= here * UNITS) break;
            u32 at = OWNER(u / UNITS) * SH_ROW + u % UNITS * WIDE;
            m[step] = *(const Several<First, WIDE>*)(sh_1 + at);
            v[step] = *(const Several<SecondSh, WIDE>*)(sh_2 + at);
        }
#pragma unroll
        for (u32 step = 0; step < BATCH; ++step) {
            u32 u = start + WARP * step;
            if (u >= here * UNITS) break;
            u32 r = u / UNITS, column = u % UNITS * WIDE, owner = OWNER(r);
            u32 coefficient = column / 3, channel = column % 3;
            Several<float, WIDE> parameters =
                *(const Several<float, WIDE>*)(rows + r * PITCH + column);
            const float *b = basis + r * BASIS + coefficient, *c = colours + r * COLOUR + channel;
#pragma unroll
            for (u32 j = 0; j < WIDE; ++j) {
                // Four columns are of two coefficients at most, and the fourth has the first one's
                // colour.
                float gradient = (channel + j < 3 ? b[0] : b[1]) * c[j % 3];
                bool is_base = column + j < 3, is_used = USED % WIDE == 0 || column + j < USED;
                if (!is_base && is_used) parameters.numbers[j] *= rates.sh_keep;
                update(parameters.numbers[j], m[step].numbers[j], v[step].numbers[j], gradient,
                       is_base ? rates.sh_base : rates.sh_rest, correction,
                       rounding_bits(key, first + owner, NUMBER_SH + column + j));
            }
            u32 at = owner * SH_ROW + column;
            *(Several<float, WIDE>*)(sh + at) = parameters;
            *(Several<First, WIDE>*)(sh_1 + at) = m[step];
            *(Several<SecondSh, WIDE>*)(sh_2 + at) = v[step];
        }
    }
}
