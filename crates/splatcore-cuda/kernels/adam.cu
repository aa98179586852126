// adam: Kingma & Ba 2015 as INRIA uses it (beta 0.9 and 0.999, epsilon 1e-15, bias correction by the step's number), for
// all Gaussians, seen or not, as torch's Adam does: an unseen one has gradient 0, its moments decay and it keeps moving a
// little. Regularisers, statistics and MCMC's noise ride along. CPU twin: splatcore-cpu/src/{adam,step}.rs.
//
// `adam`: one thread a Gaussian, everything but the harmonics; it moves the means, so `adam_sh` comes before it. `adam_sh`:
// 64 Gaussians a block of 256, one thread an element, gradients made on the spot from basis and dL/dcolour; coefficients
// above the degree in use have gradients and moments of exactly 0 and are left out.
//
// Moments lie there as f32, or if COMPACT in the formats of moments.cuh; the step itself is taken with the moments before
// they are rounded.
//
// Bound by memory: parameter and two moments, read and written, are 24 bytes a number; compact 14 for the harmonics and
// 16 for the others. Prediction for 1 M Gaussians at degree 3 at 4.27 TB/s, 64 bytes of gradient each included: `adam_sh`
// 285 us, `adam` 77 us; compact 172 and 56 us. Measured on an H200, every Gaussian with a gradient: 311 and 170 us; compact
// 281 and 126 us. `adam` falls short by its strided rows, compact `adam_sh` by its arithmetic (with approximate square root
// and quotient 263 us, without the hash as well 251 us).
//
// Constants: SH_DEGREE in use, SH_ROW floats stored for each Gaussian, COMPACT.

#define BETA1 0.9f
#define BETA2 0.999f
#define EPSILON 1e-15f
#define USED (3 * (SH_DEGREE + 1) * (SH_DEGREE + 1))

#if COMPACT
typedef Bf16 First;
typedef Bf16 Second;
typedef Log8 SecondSh;
#else
typedef float First;
typedef float Second;
typedef float SecondSh;
#endif

// Numbers of a Gaussian, for the chance in rounding.
#define NUMBER_MEANS 0
#define NUMBER_LOG_SCALES 3
#define NUMBER_ROTATIONS 6
#define NUMBER_OPACITY 10
#define NUMBER_SH 11

// As splatcore_cuda::adam::Rates, field by field. Rates hold Adam's first bias correction.
struct Rates {
    float means, log_scales, rotations, opacity_logits, sh_base, sh_rest;
    float second_correction;     // 1 / sqrt(1 - beta2^t)
    float opacity_regulariser;   // times 1 / n
    float scale_regulariser;     // times 1 / 3n
    float noise;                 // 0 for none
    u32 statistics;
    u32 step;
    u64 seed;
};

__device__ __forceinline__ float moved(float& m, float& v, float gradient, float rate, float second_correction) {
    m = fmaf(BETA1, m, (1.0f - BETA1) * gradient);
    v = fmaf(BETA2, v, (1.0f - BETA2) * gradient * gradient);
    return -rate * m / fmaf(sqrtf(v), second_correction, EPSILON);
}

// One number; `chance` rounds its moments.
template <class V>
__device__ __forceinline__ void update(float& parameter, First& first, V& second, float gradient, float rate,
                                       float second_correction, u32 chance) {
    float m = load(first), v = load(second);
    parameter += moved(m, v, gradient, rate, second_correction);
    store(first, m, chance & 0xffffu);
    store(second, v, chance >> 16);
}

extern "C" __global__ void __launch_bounds__(256) adam(
    float* means, First* means_1, Second* means_2, float* log_scales, First* log_scales_1, Second* log_scales_2, float* rotations,
    First* rotations_1, Second* rotations_2, float* opacity_logits, First* opacity_logits_1, Second* opacity_logits_2,
    float* gradient_sum, u32* seen, const u32* __restrict__ slot_of, const float4* __restrict__ gradients, u32 count, Rates rates,
    Counters* counters) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count || counters->halted) return;
    if (i == 0) counters->steps += 1;
    u32 word = slot_of[i], slot = word & ~IN_VIEW;
    float g[16] = {};
    if (slot != NO_SLOT)
#pragma unroll
        for (int k = 0; k < 4; ++k) {
            float4 part = gradients[4ull * slot + k];
            g[4 * k] = part.x;
            g[4 * k + 1] = part.y;
            g[4 * k + 2] = part.z;
            g[4 * k + 3] = part.w;
        }
    if (rates.statistics && (word & IN_VIEW)) {
        gradient_sum[i] += g[14];
        seen[i] += 1;
    }
    float logit = opacity_logits[i];
    if (rates.opacity_regulariser != 0.0f) {
        float opacity = 1.0f / (1.0f + expf(-logit));
        g[10] = fmaf(rates.opacity_regulariser * opacity, 1.0f - opacity, g[10]);
    }
    if (rates.scale_regulariser != 0.0f)
        for (int k = 0; k < 3; ++k) g[3 + k] = fmaf(rates.scale_regulariser, expf(log_scales[3ull * i + k]), g[3 + k]);
    float c = rates.second_correction;
    u32 key = rounding_key(rates.seed, rates.step);
#pragma unroll
    for (int k = 0; k < 3; ++k) {
        u64 at = 3ull * i + k;
        update(means[at], means_1[at], means_2[at], g[k], rates.means, c, rounding_bits(key, i, NUMBER_MEANS + k));
        update(log_scales[at], log_scales_1[at], log_scales_2[at], g[3 + k], rates.log_scales, c,
               rounding_bits(key, i, NUMBER_LOG_SCALES + k));
    }
#pragma unroll
    for (int k = 0; k < 4; ++k) {
        u64 at = 4ull * i + k;
        update(rotations[at], rotations_1[at], rotations_2[at], g[6 + k], rates.rotations, c,
               rounding_bits(key, i, NUMBER_ROTATIONS + k));
    }
    update(opacity_logits[i], opacity_logits_1[i], opacity_logits_2[i], g[10], rates.opacity_logits, c,
           rounding_bits(key, i, NUMBER_OPACITY));

    if (rates.noise == 0.0f) return;
    // Kheradmand et al. 2024, eq. 7: the mean moves by Sigma n, the more the more transparent. Sigma n = R diag(s^2) R^t n.
    float opacity = 1.0f / (1.0f + expf(-opacity_logits[i]));
    float gate = rates.noise / (1.0f + expf(100.0f * (opacity - 0.005f)));
    float q[4];
    for (int k = 0; k < 4; ++k) q[k] = rotations[4ull * i + k];
    float norm = fmaf(q[0], q[0], fmaf(q[1], q[1], fmaf(q[2], q[2], q[3] * q[3])));
    if (!(norm > 0.0f)) return;
    float inverse = 1.0f / sqrtf(norm);
    float w = q[0] * inverse, x = q[1] * inverse, y = q[2] * inverse, z = q[3] * inverse;
    float r[3][3] = {{1.0f - 2.0f * (y * y + z * z), 2.0f * (x * y - w * z), 2.0f * (x * z + w * y)},
                     {2.0f * (x * y + w * z), 1.0f - 2.0f * (x * x + z * z), 2.0f * (y * z - w * x)},
                     {2.0f * (x * z - w * y), 2.0f * (y * z + w * x), 1.0f - 2.0f * (x * x + y * y)}};
    Vec3 normal = normal3(rates.seed, rates.step, i);
    float n[3] = {normal.x, normal.y, normal.z}, shift[3] = {};
    for (int k = 0; k < 3; ++k) {
        float along = r[0][k] * n[0] + r[1][k] * n[1] + r[2][k] * n[2];
        float length = gate * expf(2.0f * log_scales[3ull * i + k]) * along;
        for (int j = 0; j < 3; ++j) shift[j] = fmaf(length, r[j][k], shift[j]);
    }
    for (int j = 0; j < 3; ++j) means[3ull * i + j] += shift[j];
}

#define GROUP 64
#define BATCH 4

extern "C" __global__ void __launch_bounds__(256) adam_sh(float* sh, First* sh_1, SecondSh* sh_2, const float* __restrict__ means,
                                                          const u32* __restrict__ slot_of, const float4* __restrict__ gradients,
                                                          u32 count, Camera camera, Rates rates, const Counters* counters) {
    __shared__ float basis[GROUP][17];
    __shared__ float colour[GROUP][3];
    if (counters->halted) return;
    u32 first = blockIdx.x * GROUP, here = min(count - first, (u32)GROUP);
    if (threadIdx.x < here) {
        u32 i = first + threadIdx.x, slot = slot_of[i] & ~IN_VIEW;
        float* c = colour[threadIdx.x];
        c[0] = c[1] = c[2] = 0.0f;
        if (slot != NO_SLOT) {
            c[0] = gradients[4ull * slot + 2].w;
            c[1] = gradients[4ull * slot + 3].x;
            c[2] = gradients[4ull * slot + 3].y;
        }
        Vec3 unit;
        view_direction({means[3ull * i], means[3ull * i + 1], means[3ull * i + 2]}, camera, unit);
        float b[16];
        sh_basis(SH_DEGREE, unit, b);
#pragma unroll
        for (int k = 0; k < USED / 3; ++k) basis[threadIdx.x][k] = b[k];
    }
    __syncthreads();
    u32 key = rounding_key(rates.seed, rates.step);
    // All reads of a batch come before its first write, so that a thread waits for memory once a batch: full 403 us without,
    // 317 us with 2, 311 us with 4, 308 us with 12; compact 330 us with 1, 281 us with 4.
    for (u32 start = threadIdx.x; start < here * USED; start += 256 * BATCH) {
        float parameter[BATCH];
        First m[BATCH];
        SecondSh v[BATCH];
#pragma unroll
        for (u32 j = 0; j < BATCH; ++j) {
            u32 k = start + 256 * j;
            if (k >= here * USED) break;
            u64 at = (u64)(first + k / USED) * SH_ROW + k % USED;
            parameter[j] = sh[at];
            m[j] = sh_1[at];
            v[j] = sh_2[at];
        }
#pragma unroll
        for (u32 j = 0; j < BATCH; ++j) {
            u32 k = start + 256 * j;
            if (k >= here * USED) break;
            u32 row = k / USED, column = k % USED;
            float gradient = basis[row][column / 3] * colour[row][column % 3];
            update(parameter[j], m[j], v[j], gradient, column < 3 ? rates.sh_base : rates.sh_rest, rates.second_correction,
                   rounding_bits(key, first + row, NUMBER_SH + column));
            u64 at = (u64)(first + row) * SH_ROW + column;
            sh[at] = parameter[j];
            sh_1[at] = m[j];
            sh_2[at] = v[j];
        }
    }
}

// All gradients as rows in the scene's shape, for `Renderer::gradients`; rows of Gaussians without a slot are zero.
extern "C" __global__ void __launch_bounds__(256) write_gradients(const float* __restrict__ scene_means, const u32* __restrict__ slot_of,
                                                                  const float* __restrict__ gradients, u32 count, Camera camera,
                                                                  float* means, float* log_scales, float* rotations,
                                                                  float* opacity_logits, float* sh) {
    u32 i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= count) return;
    u32 slot = slot_of[i] & ~IN_VIEW;
    const float* g = gradients + 16ull * slot;
    bool seen = slot != NO_SLOT;
    for (int k = 0; k < 3; ++k) {
        means[3ull * i + k] = seen ? g[k] : 0.0f;
        log_scales[3ull * i + k] = seen ? g[3 + k] : 0.0f;
    }
    for (int k = 0; k < 4; ++k) rotations[4ull * i + k] = seen ? g[6 + k] : 0.0f;
    opacity_logits[i] = seen ? g[10] : 0.0f;
    Vec3 unit;
    view_direction({scene_means[3ull * i], scene_means[3ull * i + 1], scene_means[3ull * i + 2]}, camera, unit);
    float b[16];
    sh_basis(SH_DEGREE, unit, b);
    for (int k = 0; k < SH_ROW; ++k) sh[(u64)i * SH_ROW + k] = seen && k < USED ? b[k / 3] * g[11 + k % 3] : 0.0f;
}
