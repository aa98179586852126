// densify: changes of the set of Gaussians, wholly on the device and equal in every run.
//
// Contract. Adaptive density control (Kerbl et al. 2023, section 5.2), MCMC (Kheradmand et al.
// 2024, equation 9), pruning by scores and opacity reset, each a sequence of these steps; the host
// (densify/*.rs) launches them. Order afterwards as on the CPU: Gaussians that stay, then clones,
// then split children, each in order. Random numbers are counter-based (splatcore_core::random).
// - list_count, scan_sums, list_write: flags a Gaussian (`actions`) to the indices of the flagged.
// - weight_sums, scan_sums, weight_scan: weights to cumulative weights, in whole numbers of 2^-32,
//   so that sums do not depend on their order.
// - select_histogram, select_digit, four times: the K largest gradients by radix selection on the
//   bits of the f32.
// - copy_rows (append, relocate), gather_rows and put_rows (compact, by way of scratch),
//   clear_rows.
// `totals` (u64 [TOTALS]) holds the counts. The host launches for the most that there may be and
// learns the counts later. The step before may have found no room for its pairs, and a refinement
// may find no room for its rows: all changes go by counts that are 0 then.
//
// Launch. One thread an item, blocks of 256; begin, end and decide kernels one warp or one thread.
//
// Bound. Memory: deciding reads 28 bytes a Gaussian, compaction moves 708 bytes a Gaussian twice.
//
// Now. 1.1 ms a round of adc with 212 k Gaussians (some 100 launches), 0.2 ms a round of MCMC with
// 1 M (compact moments, H200). History: docs/log/kernels/densify.md

#include "random.cuh"
#include "smoothing.cuh"

#define THREADS 256
#define WARPS (THREADS / WARP)

// Bits of a Gaussian's action (`actions`, u8 a Gaussian).
#define CHOSEN 1u  // grows: is cloned or split
#define EQUAL 2u   // its gradient equals the smallest that the limit on growth admits
#define KEPT 4u    // stays
#define CLONED 8u  // a copy of it is appended
#define SPLIT 16u  // two children of it are appended
#define DEAD 32u   // MCMC: to be relocated

// Places in `totals`, the counts of a refinement, u64 each.
#define TOTAL_CLONED 0  // before pruning
#define TOTAL_SPLIT 1   // before pruning
#define TOTAL_MOVED 2
#define TOTAL_KEPT 3
#define TOTAL_CLONES 4
#define TOTAL_PARENTS 5
#define TOTAL_LISTED 6
#define TOTAL_WEIGHT 7
#define TOTAL_ADDED 8
#define TOTAL_ALL 9  // Gaussians before, 0 if a buffer overflowed
#define TOTAL_CHILDREN 10
#define TOTAL_APPENDED 11   // clones and children
#define TOTAL_COMPACTED 12  // rows after compaction, 0 if all Gaussians stay
#define TOTAL_AFTER 13      // Gaussians after
#define TOTALS 16

__device__ __forceinline__ u32 item() { return blockIdx.x * THREADS + threadIdx.x; }

// 64 random bits for (seed, step, index, lane); random.cuh has the other generators.
__device__ __forceinline__ u64 random_bits(u64 seed, u64 step, u64 index, u64 lane) {
    return mix(mix(mix(seed ^ (step << 32)) ^ index) ^ lane);
}

// --- Begin and end.

// One warp. After an overflow nothing changes until the host has made room and asks
// again.
// Parameters of `begin_refinement`; in Rust by the same name.
struct BeginRefinementParams {
    u64* totals;              // numbers of this refinement
    ReadOnly<u32> gaussians;  // the number of Gaussians; null: `most`
    const Counters* counters;
};
extern "C" __global__ void begin_refinement(const __grid_constant__ BeginRefinementParams args) {
    begin_kernel();
    const u32 place = threadIdx.x;
    const bool counts = place == TOTAL_ALL || place == TOTAL_AFTER;
    if (place < TOTALS)
        args.totals[place] = counts && !args.counters->overflowed ? args.gaussians[0] : 0;
}

// One thread. Sets the count of Gaussians and counts the refinement as done, like a step.
// Parameters of `end_refinement`; in Rust by the same name.
struct EndRefinementParams {
    u64* totals;     // numbers of this refinement
    u32* gaussians;  // the number of Gaussians; null: `most`
    Counters* counters;
};
extern "C" __global__ void end_refinement(const __grid_constant__ EndRefinementParams args) {
    begin_kernel();
    if (args.totals[TOTAL_ALL] == 0) return;
    args.totals[TOTAL_AFTER] += args.totals[TOTAL_ADDED];
    args.gaussians[0] = u32(args.totals[TOTAL_AFTER]);
    args.counters->steps += 1;
}

// --- Properties of a Gaussian.

__device__ __forceinline__ float opacity_of(float logit) { return 1.0f / (1.0f + expf(-logit)); }

__device__ __forceinline__ float largest_scale(const float* log_scales) {
    return expf(fmaxf(fmaxf(log_scales[0], log_scales[1]), log_scales[2]));
}

__device__ __forceinline__ float mean_gradient(const float* gradient_sum, const u32* seen, u32 i) {
    return gradient_sum[i] / float(max(seen[i], 1u));
}

// Whether enough of the bad pixels' weight belongs to the Gaussian (FastGS, Ren et al. 2025); true
// without scores (`bad` is null).
__device__ __forceinline__ bool agreed(const float* bad, float min_bad, u32 i) {
    return !bad || bad[i] >= min_bad;
}

// Maps floats to integers of the same order.
__device__ __forceinline__ u32 sortable(float value) {
    const u32 bits = __float_as_uint(value);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

// --- Scans and lists.

// Inclusive sum of `value` over the block's threads. All threads must call it.
template <typename T>
__device__ __forceinline__ T scan_block(T value, T* warps) {
    const u32 lane = threadIdx.x % WARP, warp = threadIdx.x / WARP;
    for (u32 step = 1; step < WARP; step *= 2) {
        const T before = __shfl_up_sync(FULL_MASK, value, step);
        if (lane >= step) value += before;
    }
    if (lane == WARP - 1) warps[warp] = value;
    __syncthreads();
    for (u32 w = 0; w < warp; ++w) value += warps[w];
    return value;
}

// Sum of `value` over the block, valid in all its threads.
template <typename T>
__device__ __forceinline__ T sum_block(T value, T* warps) {
    scan_block(value, warps);
    T sum = 0;
    for (u32 w = 0; w < WARPS; ++w) sum += warps[w];
    return sum;
}

// One block of THREADS. Replaces the blocks' sums by their exclusive prefix sums and writes the
// total.
// Parameters of `scan_sums`; in Rust by the same name.
struct ScanSumsParams {
    u64* sums;  // a row of 12 floats for each compacted index
    u32 count;
    u64* total;
};
extern "C" __global__ void __launch_bounds__(THREADS)
    scan_sums(const __grid_constant__ ScanSumsParams args) {
    begin_kernel();
    __shared__ u64 warps[WARPS];
    u64 before = 0;
    for (u32 start = 0; start < args.count; start += THREADS) {
        const u32 i = start + threadIdx.x;
        const u64 value = i < args.count ? args.sums[i] : 0;
        const u64 through = scan_block(value, warps);
        if (i < args.count) args.sums[i] = before + through - value;
        for (u32 w = 0; w < WARPS; ++w) before += warps[w];
        __syncthreads();
    }
    if (threadIdx.x == 0) *args.total = before;
}

// sums [blocks] out: the number of the block's Gaussians whose action has one of `bits`.
// Parameters of `list_count`; in Rust by the same name.
struct ListCountParams {
    ReadOnly<u8> actions;  // [n], bits of a Gaussian's fate
    u32 bits;
    u32 n;      // Gaussians
    u64* sums;  // a row of 12 floats for each compacted index
};
extern "C" __global__ void __launch_bounds__(THREADS)
    list_count(const __grid_constant__ ListCountParams args) {
    begin_kernel();
    const u32 i = item();
    const u32 found = __syncthreads_count(i < args.n && (args.actions[i] & args.bits));
    if (threadIdx.x == 0) args.sums[blockIdx.x] = found;
}

// Writes the indices of the Gaussians whose action has one of `bits`, in order; nothing if `wanted`
// is 0.
// Parameters of `list_write`; in Rust by the same name.
struct ListWriteParams {
    ReadOnly<u8> actions;  // [n], bits of a Gaussian's fate
    u32 bits;
    u32 n;                 // Gaussians
    ReadOnly<u64> sums;    // a row of 12 floats for each compacted index
    ReadOnly<u64> wanted;  // how many, on the device
    u32* list;             // indices of Gaussians
};
extern "C" __global__ void __launch_bounds__(THREADS)
    list_write(const __grid_constant__ ListWriteParams args) {
    begin_kernel();
    if (args.wanted[0] == 0) return;
    __shared__ u32 warps[WARPS];
    const u32 i = item();
    const u32 found = i < args.n && (args.actions[i] & args.bits);
    const u32 through = scan_block(found, warps);
    if (found) args.list[args.sums[blockIdx.x] + through - 1] = i;
}

// --- Adaptive density control.

// State of the radix selection of the largest gradients: the bits of the limit known so far, the
// number still to be found among candidates that share these bits, and whether all candidates fit.
struct Selection {
    u32 prefix, remaining, all;
};

// Counts the candidates that share the known bits by their next eight bits.
// Parameters of `select_histogram`; in Rust by the same name.
struct SelectHistogramParams {
    ReadOnly<float> gradient_sum;  // [count], summed 2D gradients for densification
    ReadOnly<u32> seen;            // [count], steps in view
    u32 n;                         // Gaussians
    float threshold;
    ReadOnly<float> bad;  // [count], weight on pixels with large errors
    float min_bad;
    u32 shift;
    const Selection* selection;
    u32* histogram;
};
extern "C" __global__ void __launch_bounds__(THREADS)
    select_histogram(const __grid_constant__ SelectHistogramParams args) {
    begin_kernel();
    __shared__ u32 counts[256];
    counts[threadIdx.x] = 0;
    __syncthreads();
    const u32 i = item();
    if (i < args.n) {
        const float gradient = mean_gradient(args.gradient_sum, args.seen, i);
        const u32 key = sortable(gradient);
        const bool shares = args.shift == 24 || key >> (args.shift + 8) == args.selection->prefix;
        if (gradient >= args.threshold && agreed(args.bad, args.min_bad, i) && shares)
            atomicAdd(&counts[key >> args.shift & 255u], 1u);
    }
    __syncthreads();
    if (counts[threadIdx.x]) atomicAdd(&args.histogram[threadIdx.x], counts[threadIdx.x]);
}

// One thread. Finds the next eight bits of the smallest gradient that a limit of `room` Gaussians
// admits; clears the histogram.
// Parameters of `select_digit`; in Rust by the same name.
struct SelectDigitParams {
    u32 shift;
    u32 room;  // pairs that a macro-tile has room for
    Selection* selection;
    u32* histogram;
};
extern "C" __global__ void select_digit(const __grid_constant__ SelectDigitParams args) {
    begin_kernel();
    if (args.shift == 24) args.selection->remaining = args.room;
    u32 total = 0;
    for (u32 digit = 0; digit < 256; ++digit) total += args.histogram[digit];
    if (args.shift == 24) args.selection->all = total <= args.selection->remaining;
    u32 digit = 255;
    while (digit > 0 && args.histogram[digit] < args.selection->remaining)
        args.selection->remaining -= args.histogram[digit--];
    args.selection->prefix = args.selection->prefix << 8 | digit;
    for (u32 d = 0; d < 256; ++d) args.histogram[d] = 0;
}

// Marks the Gaussians that grow (CHOSEN), and those whose gradient equals the limit (EQUAL), some
// of which grow. Without `selection` all at or above the threshold grow.
// Parameters of `adc_choose`; in Rust by the same name.
struct AdcChooseParams {
    ReadOnly<float> gradient_sum;  // [count], summed 2D gradients for densification
    ReadOnly<u32> seen;            // [count], steps in view
    u32 n;                         // Gaussians
    float threshold;
    ReadOnly<float> bad;  // [count], weight on pixels with large errors
    float min_bad;
    const Selection* selection;
    u8* actions;  // [n], bits of a Gaussian's fate
};
extern "C" __global__ void __launch_bounds__(THREADS)
    adc_choose(const __grid_constant__ AdcChooseParams args) {
    begin_kernel();
    const u32 i = item();
    if (i >= args.n) return;
    const float gradient = mean_gradient(args.gradient_sum, args.seen, i);
    u32 action = 0;
    if (gradient >= args.threshold && agreed(args.bad, args.min_bad, i)) {
        const u32 key = sortable(gradient);
        if (!args.selection || args.selection->all || key > args.selection->prefix)
            action = CHOSEN;
        else if (key == args.selection->prefix)
            action = EQUAL;
    }
    args.actions[i] = u8(action);
}

// Of the Gaussians marked EQUAL, the first that there is room for grow.
// Parameters of `adc_admit`; in Rust by the same name.
struct AdcAdmitParams {
    ReadOnly<u32> equals;
    ReadOnly<u64> count;
    const Selection* selection;
    u8* actions;  // [n], bits of a Gaussian's fate
};
extern "C" __global__ void __launch_bounds__(THREADS)
    adc_admit(const __grid_constant__ AdcAdmitParams args) {
    begin_kernel();
    const u32 k = item();
    if (k < args.count[0] && k < args.selection->remaining)
        args.actions[args.equals[k]] = u8(CHOSEN);
}

// Decides whether each Gaussian stays, is cloned or is split, pruning included.
// Parameters of `adc_decide`; in Rust by the same name.
struct AdcDecideParams {
    ReadOnly<float> log_scales;      // [count][3]
    ReadOnly<float> opacity_logits;  // [count]
    u32 n;                           // Gaussians
    float split_scale;
    float min_opacity;
    float max_scale;
    float log_shrink;
    u8* actions;  // [n], bits of a Gaussian's fate
    u64* totals;  // numbers of this refinement
};
extern "C" __global__ void __launch_bounds__(THREADS)
    adc_decide(const __grid_constant__ AdcDecideParams args) {
    begin_kernel();
    const u32 i = item();
    u32 cloned = 0, split = 0;
    if (i < args.n) {
        ReadOnly<float> scales = {args.log_scales + 3 * size_t(i)};
        const float largest = largest_scale(scales);
        const bool visible = opacity_of(args.opacity_logits[i]) >= args.min_opacity;
        const bool chosen = args.actions[i] & CHOSEN;
        split = chosen && largest > args.split_scale;
        cloned = chosen && !split;
        const float child[3] = {scales[0] - args.log_shrink, scales[1] - args.log_shrink,
                                scales[2] - args.log_shrink};
        u32 action = 0;
        if (!split && visible && largest <= args.max_scale) action = cloned ? KEPT | CLONED : KEPT;
        if (split && visible && largest_scale(child) <= args.max_scale) action = SPLIT;
        args.actions[i] = u8(action);
    }
    cloned = __syncthreads_count(cloned);
    split = __syncthreads_count(split);
    if (threadIdx.x == 0 && cloned) atomicAdd(&args.totals[TOTAL_CLONED], u64(cloned));
    if (threadIdx.x == 0 && split) atomicAdd(&args.totals[TOTAL_SPLIT], u64(split));
}

// One thread. Computes the sizes of the arrays from the numbers kept, cloned and split. There is
// room for `most_rows` rows; clones and children are appended before the others are removed.
// Parameters of `decide_sizes`; in Rust by the same name.
struct DecideSizesParams {
    u64* totals;  // numbers of this refinement
    u32 most_rows;
    Counters* counters;
};
extern "C" __global__ void decide_sizes(const __grid_constant__ DecideSizesParams args) {
    begin_kernel();
    u64 all = args.totals[TOTAL_ALL], kept = args.totals[TOTAL_KEPT],
        clones = args.totals[TOTAL_CLONES];
    u64 parents = args.totals[TOTAL_PARENTS];
    const u64 rows = all + clones + 2 * parents;
    if (all != 0 && rows > args.most_rows) {
        args.counters->overflowed = 1;
        args.counters->rows = rows;
        all = 0;
    }
    if (all == 0) kept = clones = parents = 0;
    const u64 appended = clones + 2 * parents, after = kept + appended;
    args.totals[TOTAL_ALL] = all;
    args.totals[TOTAL_KEPT] = kept;
    args.totals[TOTAL_CLONES] = clones;
    args.totals[TOTAL_PARENTS] = parents;
    args.totals[TOTAL_CHILDREN] = 2 * parents;
    args.totals[TOTAL_APPENDED] = appended;
    args.totals[TOTAL_COMPACTED] = kept < all ? after : 0;
    args.totals[TOTAL_AFTER] = after;
}

// Turns the two copies of each listed parent, which lie behind the clones, into its children: means
// are drawn from the parent's distribution, log scales decrease by `log_shrink`.
// Parameters of `split_children`; in Rust by the same name.
struct SplitChildrenParams {
    float* means;               // [count][3], world
    float* log_scales;          // [count][3]
    ReadOnly<float> rotations;  // [count], quaternions (w, x, y, z)
    ReadOnly<u32> parents;
    ReadOnly<u64> totals;  // numbers of this refinement
    float log_shrink;
    u64 seed;
    u64 step;
};
extern "C" __global__ void __launch_bounds__(THREADS)
    split_children(const __grid_constant__ SplitChildrenParams args) {
    begin_kernel();
    const u32 k = item();
    if (k >= args.totals[TOTAL_CHILDREN]) return;
    const size_t row = args.totals[TOTAL_ALL] + args.totals[TOTAL_CLONES] + k;
    float* mean = args.means + 3 * row;
    float* scales = args.log_scales + 3 * row;
    ReadOnly<float> quaternion = {args.rotations + 4 * row};
    const u64 index = 2 * u64(args.parents[k / 2]) + k % 2;
    const Vec3 drawn = normal3(args.seed, args.step, index);
    const float normal[3] = {drawn.x, drawn.y, drawn.z};
    double q[4], square = 0.0;
    for (int c = 0; c < 4; ++c) {
        q[c] = quaternion[c];
        square += q[c] * q[c];
    }
    const double norm = sqrt(square);
    if (norm > 0.0 && norm < __longlong_as_double(0x7ff0000000000000ll)) {
        const double w = q[0] / norm, x = q[1] / norm, y = q[2] / norm, z = q[3] / norm;
        const double rotation[3][3] = {
            {1.0 - 2.0 * (y * y + z * z), 2.0 * (x * y - w * z), 2.0 * (x * z + w * y)},
            {2.0 * (x * y + w * z), 1.0 - 2.0 * (x * x + z * z), 2.0 * (y * z - w * x)},
            {2.0 * (x * z - w * y), 2.0 * (y * z + w * x), 1.0 - 2.0 * (x * x + y * y)},
        };
        double offset[3];
        for (int c = 0; c < 3; ++c) offset[c] = normal[c] * expf(scales[c]);
        for (int c = 0; c < 3; ++c)
            mean[c] += float(rotation[c][0] * offset[0] + rotation[c][1] * offset[1] +
                             rotation[c][2] * offset[2]);
    }
    for (int c = 0; c < 3; ++c) scales[c] -= args.log_shrink;
}

// --- Pruning by scores.

// Keeps the Gaussians that contribute enough to some view and do not have too large a share of
// their weight in bad pixels. A share of 1 or more turns this second test off: sums may round to
// more than the whole.
// Parameters of `prune_mark`; in Rust by the same name.
struct PruneMarkParams {
    ReadOnly<float> bad;      // [count], weight on pixels with large errors
    ReadOnly<float> weight;   // [count], summed blending weights
    ReadOnly<float> largest;  // [count], largest blending weight
    u32 n;                    // Gaussians
    float min_importance;
    float max_bad_share;
    u8* actions;  // [n], bits of a Gaussian's fate
};
extern "C" __global__ void __launch_bounds__(THREADS)
    prune_mark(const __grid_constant__ PruneMarkParams args) {
    begin_kernel();
    const u32 i = item();
    if (i >= args.n) return;
    const bool sound =
        args.max_bad_share >= 1.0f || args.bad[i] <= __fmul_rn(args.max_bad_share, args.weight[i]);
    args.actions[i] = args.largest[i] >= args.min_importance && sound ? KEPT : 0;
}

// --- Opacity reset.

// Parameters of `cap_opacity`; in Rust by the same name.
struct CapOpacityParams {
    float* logits;
    ReadOnly<u64> all;
    float ceiling;
    ReadOnly<float> log_scales;  // [count][3]
    ReadOnly<float> smoothing;   // [count], radius of the 3D filter; null: none
};
extern "C" __global__ void __launch_bounds__(THREADS)
    cap_opacity(const __grid_constant__ CapOpacityParams args) {
    begin_kernel();
    const u32 i = item();
    if (i >= args.all[0]) return;
    float ceiling = args.ceiling;
    if (args.smoothing) {
        // The cap applies to the opacity after the 3D filter; the stored one may be higher.
        Vec3 own = {args.log_scales[3ull * i], args.log_scales[3ull * i + 1],
                    args.log_scales[3ull * i + 2]};
        Vec3 growth = smoothing_growth(own, args.smoothing[i]);
        float most = opacity_of(ceiling) * expf(growth.x + growth.y + growth.z);
        if (most >= 1.0f) return;
        ceiling = logf(most / (1.0f - most));
    }
    args.logits[i] = fminf(args.logits[i], ceiling);
}

// --- MCMC.

// Parameters of `mcmc_mark_dead`; in Rust by the same name.
struct McmcMarkDeadParams {
    ReadOnly<float> opacity_logits;  // [count]
    u32 n;                           // Gaussians
    float min_opacity;
    u8* actions;  // [n], bits of a Gaussian's fate
};
extern "C" __global__ void __launch_bounds__(THREADS)
    mcmc_mark_dead(const __grid_constant__ McmcMarkDeadParams args) {
    begin_kernel();
    const u32 i = item();
    if (i < args.n)
        args.actions[i] = opacity_of(args.opacity_logits[i]) > args.min_opacity ? 0 : DEAD;
}

// A Gaussian's opacity in units of 2^-32: 0 for dead ones, at least 1 for others. `actions` may be
// null: none is dead.
__device__ __forceinline__ u64 weight(const float* opacity_logits, const u8* actions, u32 i) {
    if (actions && (actions[i] & DEAD)) return 0;
    const float opacity = opacity_of(opacity_logits[i]);
    return opacity > 0.0f ? max(u64(double(opacity) * 4294967296.0), u64(1)) : u64(1);
}

// Parameters of `weight_sums`; in Rust by the same name.
struct WeightSumsParams {
    ReadOnly<float> opacity_logits;  // [count]
    ReadOnly<u8> actions;            // [n], bits of a Gaussian's fate
    u32 n;                           // Gaussians
    u64* sums;                       // a row of 12 floats for each compacted index
};
extern "C" __global__ void __launch_bounds__(THREADS)
    weight_sums(const __grid_constant__ WeightSumsParams args) {
    begin_kernel();
    __shared__ u64 warps[WARPS];
    const u32 i = item();
    const u64 sum =
        sum_block(i < args.n ? weight(args.opacity_logits, args.actions, i) : u64(0), warps);
    if (threadIdx.x == 0) args.sums[blockIdx.x] = sum;
}

// cumulative[i]: the inclusive sum of the weights up to i.
// Parameters of `weight_scan`; in Rust by the same name.
struct WeightScanParams {
    ReadOnly<float> opacity_logits;  // [count]
    ReadOnly<u8> actions;            // [n], bits of a Gaussian's fate
    u32 n;                           // Gaussians
    ReadOnly<u64> sums;              // a row of 12 floats for each compacted index
    u64* cumulative;                 // [n], sums of the weights up to each Gaussian
};
extern "C" __global__ void __launch_bounds__(THREADS)
    weight_scan(const __grid_constant__ WeightScanParams args) {
    begin_kernel();
    __shared__ u64 warps[WARPS];
    const u32 i = item();
    const u64 through =
        scan_block(i < args.n ? weight(args.opacity_logits, args.actions, i) : u64(0), warps);
    if (i < args.n) args.cumulative[i] = args.sums[blockIdx.x] + through;
}

// Draws Gaussians with replacement, in proportion to their weights, and counts how often each was
// drawn (`copies`). The number of draws is `wanted`, or `at_most` if that is null; 0 if the total
// weight or `all` is 0. It is written to `moved`.
// Parameters of `mcmc_draw`; in Rust by the same name.
struct McmcDrawParams {
    ReadOnly<u64> cumulative;  // [n], sums of the weights up to each Gaussian
    u32 n;                     // Gaussians
    ReadOnly<u64> total;
    ReadOnly<u64> all;
    ReadOnly<u64> wanted;  // how many, on the device
    u32 at_most;
    u64 seed;
    u64 step;
    u64 lane;
    u32* drawn;   // indices drawn
    u32* copies;  // [n], how often each was drawn
    u64* moved;
};
extern "C" __global__ void __launch_bounds__(THREADS)
    mcmc_draw(const __grid_constant__ McmcDrawParams args) {
    begin_kernel();
    const u32 count = args.total[0] == 0 || args.all[0] == 0 ? 0
                      : args.wanted                          ? u32(args.wanted[0])
                                                             : args.at_most;
    const u32 k = item();
    if (k == 0) *args.moved = count;
    if (k >= count) return;
    const u64 at = __umul64hi(random_bits(args.seed, args.step, k, args.lane), args.total[0]);
    u32 low = 0, high = args.n - 1;  // the first whose cumulative weight exceeds `at`
    while (low < high) {
        const u32 middle = low + (high - low) / 2;
        if (args.cumulative[middle] > at)
            high = middle;
        else
            low = middle + 1;
    }
    args.drawn[k] = low;
    atomicAdd(&args.copies[low], 1u);
}

// The opacity and scales that a Gaussian and its copies get so that the image changes least
// (equation 9):
//   o' = 1 - (1 - o)^(1/N),  s' = s o / sum over i = 1..N, k = 0..i-1 of C(i-1, k) (-1)^k o'^(k+1)
//   / sqrt(k + 1).
// The sums are exchanged: the sum over i of C(i-1, k) is C(N, k+1), so N terms are left.
// Parameters of `mcmc_share`; in Rust by the same name.
struct McmcShareParams {
    float* opacity_logits;  // [count]
    float* log_scales;      // [count][3]
    u32 n;                  // Gaussians
    ReadOnly<u32> copies;   // [n], how often each was drawn
    float min_opacity;
};
extern "C" __global__ void __launch_bounds__(THREADS)
    mcmc_share(const __grid_constant__ McmcShareParams args) {
    begin_kernel();
    const u32 i = item();
    if (i >= args.n || args.copies[i] == 0) return;
    const int among = int(min(args.copies[i], 50u)) + 1;  // 51 as in the authors' code
    const double opacity = opacity_of(args.opacity_logits[i]);
    const double shared = 1.0 - pow(1.0 - opacity, 1.0 / among);
    double sum = 0.0, power = shared, binomial = among;
    for (int k = 0; k < among; ++k) {
        sum += binomial * power / sqrt(k + 1.0);
        power *= -shared;
        binomial *= double(among - 1 - k) / (k + 2);
    }
    const float factor = float(log(opacity / sum));
    const float clamped = fminf(fmaxf(float(shared), args.min_opacity), 1.0f - 1.1920929e-7f);
    args.opacity_logits[i] = logf(clamped / (1.0f - clamped));
    for (int c = 0; c < 3; ++c) args.log_scales[3 * size_t(i) + c] += factor;
}

// --- Rows.

#define TILE_ROWS 64

// Copies `rows` rows word by word, TILE_ROWS rows at a time so that an index inside these fits 32
// bits. `from(k)` and `to(k)` are the addresses of row k. REPEATED: several rows may have the same
// target, to which they then write the same words.
template <bool REPEATED, typename Word, typename From, typename To>
__device__ __forceinline__ void copy_words(u32 rows, u32 row_bytes, From from, To to) {
    const u32 words = row_bytes / u32(sizeof(Word));
    for (u32 tile = blockIdx.x; tile < (rows + TILE_ROWS - 1) / TILE_ROWS; tile += gridDim.x) {
        const u32 first = tile * TILE_ROWS;
        const u32 here = min(u32(TILE_ROWS), rows - first) * words;
        for (u32 e = threadIdx.x; e < here; e += THREADS) {
            const u32 row = e / words, word = e - row * words;
            Word* target = (Word*)to(first + row) + word;
            const Word value = ((const Word*)from(first + row))[word];
            if (REPEATED)
                store_same(target, value);
            else
                *target = value;
        }
    }
}

template <bool REPEATED = false, typename From, typename To>
__device__ __forceinline__ void copy_each(u32 rows, u32 row_bytes, From from, To to) {
    if (row_bytes % 4 == 0)
        copy_words<REPEATED, u32>(rows, row_bytes, from, to);
    else if (row_bytes % 2 == 0)
        copy_words<REPEATED, u16>(rows, row_bytes, from, to);
    else
        copy_words<REPEATED, u8>(rows, row_bytes, from, to);
}

// In one array, for k < *wanted: row targets[k] becomes a copy of row sources[k / times]. If
// `targets` is null, the target is row base + *behind + k (*behind counts as 0 if null). No target
// may be a source.
// Parameters of `copy_rows`; in Rust by the same name.
struct CopyRowsParams {
    u8* array;
    u32 row_bytes;
    ReadOnly<u32> sources;
    u32 times;
    ReadOnly<u32> targets;
    u32 base;
    ReadOnly<u64> behind;
    ReadOnly<u64> wanted;  // how many, on the device
};
extern "C" __global__ void __launch_bounds__(THREADS)
    copy_rows(const __grid_constant__ CopyRowsParams args) {
    begin_kernel();
    const u32 first = args.base + (args.behind ? u32(args.behind[0]) : 0);
    copy_each(
        u32(args.wanted[0]), args.row_bytes,
        [&](u32 k) { return args.array + size_t(args.sources[k / args.times]) * args.row_bytes; },
        [&](u32 k) {
            return args.array + size_t(args.targets ? args.targets[k] : first + k) * args.row_bytes;
        });
}

// Sets *wanted rows to zero: the listed ones, or those from `base` on if `list` is null. A row may
// be listed several times.
// Parameters of `clear_rows`; in Rust by the same name.
struct ClearRowsParams {
    u8* array;
    u32 row_bytes;
    ReadOnly<u32> list;  // indices of Gaussians
    u32 base;
    ReadOnly<u64> wanted;  // how many, on the device
};
extern "C" __global__ void __launch_bounds__(THREADS)
    clear_rows(const __grid_constant__ ClearRowsParams args) {
    begin_kernel();
    __shared__ __align__(16) u32 zeros[256];
    if (threadIdx.x < 256) zeros[threadIdx.x] = 0;
    __syncthreads();
    copy_each<true>(
        u32(args.wanted[0]), args.row_bytes, [&](u32) { return (const u8*)zeros; },
        [&](u32 k) {
            return args.array + size_t(args.list ? args.list[k] : args.base + k) * args.row_bytes;
        });
}

// The number of rows of a piece of at most `most` rows from row `first` on, in an array of `rows`.
__device__ __forceinline__ u32 rows_of_piece(u32 first, u32 most, u64 rows) {
    return rows > first ? u32(min(rows - first, u64(most))) : 0;
}

// Copies a piece of the compacted array, which has *rows rows in all, to scratch: row r comes from
// row kept[r] for r < *listed, and from row rest + r - *listed otherwise.
// Parameters of `gather_rows`; in Rust by the same name.
struct GatherRowsParams {
    ReadOnly<u8> array;
    u8* scratch;
    u32 row_bytes;
    ReadOnly<u32> kept;  // indices of rows that stay
    ReadOnly<u64> listed;
    u32 rest;
    u32 first;
    u32 most;  // Gaussians there may be
    ReadOnly<u64> rows;
};
extern "C" __global__ void __launch_bounds__(THREADS)
    gather_rows(const __grid_constant__ GatherRowsParams args) {
    begin_kernel();
    const u32 before = u32(args.listed[0]);
    copy_each(
        rows_of_piece(args.first, args.most, args.rows[0]), args.row_bytes,
        [&](u32 k) {
            const u32 row = args.first + k;
            return args.array + size_t(row < before ? args.kept[row] : args.rest + (row - before)) *
                                    args.row_bytes;
        },
        [&](u32 k) { return args.scratch + size_t(k) * args.row_bytes; });
}

// Copies the piece from scratch to its place in the array.
// Parameters of `put_rows`; in Rust by the same name.
struct PutRowsParams {
    u8* array;
    ReadOnly<u8> scratch;
    u32 row_bytes;
    u32 first;
    u32 most;  // Gaussians there may be
    ReadOnly<u64> rows;
};
extern "C" __global__ void __launch_bounds__(THREADS)
    put_rows(const __grid_constant__ PutRowsParams args) {
    begin_kernel();
    copy_each(
        rows_of_piece(args.first, args.most, args.rows[0]), args.row_bytes,
        [&](u32 k) { return args.scratch + size_t(k) * args.row_bytes; },
        [&](u32 k) { return args.array + size_t(args.first + k) * args.row_bytes; });
}
