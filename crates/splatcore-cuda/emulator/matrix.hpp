// Twins of ops/shared/matrix.cuh: halves, matrix units, asynchronous copies. Halves round as on the
// device, to nearest even and once an operation. The terms of a matrix product are added in f64 and
// rounded once an instruction; the device truncates each term at about 24 bits below the largest.
// An asynchronous copy happens at the wait, the latest possible moment, and its destination is
// poisoned until then.

namespace emulator {

// Converts a half to f32, exactly.
static inline float half_to_float(unsigned half) {
    unsigned magnitude = half & 0x7FFFu;
    // A subnormal half is a multiple of 2^-24; infinity and not-a-number take the largest exponent.
    float below = float(int(magnitude)) * 0x1p-24f;
    unsigned normal = (magnitude << 13) + (magnitude < 0x7C00u ? 112u << 23 : 224u << 23);
    unsigned bits = magnitude < 0x400u ? emulator_bits<unsigned>(below) : normal;
    return emulator_bits<float>(bits | (half & 0x8000u) << 16);
}

// Rounds to nearest even; from 65520 on to infinity. Each f32, each sum and each product of two
// halves is exact as a double, so the result is rounded once. A product plus a half may be inexact
// as a double, but not where that would decide how the half is rounded.
static inline unsigned double_to_half(double value) {
    unsigned long long bits = emulator_bits<unsigned long long>(value);
    unsigned sign = unsigned(bits >> 48) & 0x8000u;
    bits &= ~0ull >> 1;
    double magnitude = emulator_bits<double>(bits);
    if (magnitude != magnitude) return 0x7FFFu;
    if (magnitude >= 65520.0) return sign | 0x7C00u;
    // The low bits of 2^52 + x are x rounded to a whole number.
    if (magnitude < 0x1p-14)
        return sign |
               (unsigned(emulator_bits<unsigned long long>(magnitude * 0x1p24 + 0x1p52)) & 0x7FFu);
    bits += (1ull << 41) - 1 + (bits >> 42 & 1);
    return sign | (unsigned(bits >> 42) - (1008u << 10));
}

static inline float low(unsigned pair) { return half_to_float(pair & 0xFFFFu); }
static inline float high(unsigned pair) { return half_to_float(pair >> 16); }
static inline unsigned pack(double low, double high) {
    return double_to_half(low) | double_to_half(high) << 16;
}

// The smaller half. A number wins over not-a-number, and -0 is less than 0.
static inline unsigned min_half(unsigned a, unsigned b) {
    float x = half_to_float(a), y = half_to_float(b);
    if (x != x) return y != y ? 0x7FFFu : b;
    if (y != y || x < y || (x == y && a & 0x8000u)) return a;
    return b;
}

// The larger half. A number wins over not-a-number, and -0 is less than 0.
static inline unsigned max_half(unsigned a, unsigned b) {
    float x = half_to_float(a), y = half_to_float(b);
    if (x != x) return y != y ? 0x7FFFu : b;
    if (y != y || x > y || (x == y && b & 0x8000u)) return a;
    return b;
}

// The operands of one lane for an instruction. The lane waits inside the instruction, so the
// addresses of its arrays stay valid.
struct Operands {
    const unsigned* a;
    const unsigned* b;
    const void* c;
    void* d;
    const void* row;
    const char* file;
    int line;
};

UNCHECKED static inline const Operands& operands(const Warp* warp, unsigned lane) {
    return *(const Operands*)warp->value[lane];
}

// Two columns of a matrix.
typedef double Pair __attribute__((vector_size(16)));

// The matrices of D = A B + C: D is 16 x 8, A has K columns.
struct Matrices {
    float a[16][16];
    Pair b[16][4];
    Pair sum[16][4];
};

// half_to_float of four words at once; their upper halves are zero.
typedef unsigned Words __attribute__((vector_size(16)));
typedef float Floats __attribute__((vector_size(16)));
static inline Floats halves_to_floats(Words halves) {
    Words magnitude = halves & 0x7FFFu;
    Words is_subnormal = (Words)(magnitude < 0x400u), is_finite = (Words)(magnitude < 0x7C00u);
    // A subnormal half temporarily gets the smallest normal exponent, which adds 2^-14.
    Words exponent =
        (is_finite & (112u << 23)) + (~is_finite & (224u << 23)) + (is_subnormal & (1u << 23));
    Floats value = (Floats)((magnitude << 13) + exponent) -
                   (Floats)(is_subnormal & emulator_bits<unsigned>(0x1p-14f));
    return (Floats)((Words)value | (halves & 0x8000u) << 16);
}

// Reads A and B of halves; ops/shared/matrix.cuh documents the fragments.
template <int K>
UNCHECKED static inline void gather_halves(const Warp* warp, Matrices& all) {
    for (unsigned lane = 0; lane < LANES; ++lane) {
        unsigned group = lane / 4, member = lane % 4;
        const Operands& mine = operands(warp, lane);
        Words a = {mine.a[0], mine.a[1], mine.a[K == 16 ? 2 : 0], mine.a[K == 16 ? 3 : 1]};
        Words b = {mine.b[0], mine.b[K == 16 ? 1 : 0]};
        Floats low = halves_to_floats(a & 0xFFFFu), high = halves_to_floats(a >> 16);
        Floats right =
            halves_to_floats(Words{b[0] & 0xFFFFu, b[0] >> 16, b[1] & 0xFFFFu, b[1] >> 16});
        for (unsigned r = 0; r < K / 4; ++r) {
            float* to = all.a[group + r % 2 * 8] + r / 2 * 8 + 2 * member;
            to[0] = low[r], to[1] = high[r];
        }
        for (unsigned r = 0; r < K / 4; ++r)
            ((double*)all.b[r / 2 * 8 + 2 * member + r % 2])[group] = right[r];
    }
}

// The device uses the upper 19 bits of a value.
static inline float from_tf32(unsigned bits) { return emulator_bits<float>(bits & 0xFFFFE000u); }

UNCHECKED static inline void gather_tf32(const Warp* warp, Matrices& all) {
    for (unsigned lane = 0; lane < LANES; ++lane) {
        unsigned group = lane / 4, member = lane % 4;
        const Operands& mine = operands(warp, lane);
        for (unsigned r = 0; r < 4; ++r)
            all.a[group + r % 2 * 8][member + r / 2 * 4] = from_tf32(mine.a[r]);
        for (unsigned r = 0; r < 2; ++r)
            ((double*)all.b[member + r * 4])[group] = from_tf32(mine.b[r]);
    }
}

// All lanes' operands are read before the first result is written, so D may alias an operand.
template <int K, bool HALVES, bool TF32>
UNCHECKED static void multiply(Warp* warp) {
    Matrices all;
    if (TF32)
        gather_tf32(warp, all);
    else
        gather_halves<K>(warp, all);
    for (unsigned lane = 0; lane < LANES; ++lane) {
        unsigned group = lane / 4, member = lane % 4;
        const void* c = operands(warp, lane).c;
        for (unsigned r = 0; r < 2; ++r)
            all.sum[group + r * 8][member] =
                HALVES ? Pair{low(((const unsigned*)c)[r]), high(((const unsigned*)c)[r])}
                       : Pair{((const float*)c)[2 * r], ((const float*)c)[2 * r + 1]};
    }
    for (unsigned i = 0; i < 16; ++i) {
        Pair* sum = all.sum[i];
        Pair s0 = sum[0], s1 = sum[1], s2 = sum[2], s3 = sum[3];
        for (int k = 0; k < K; ++k) {
            Pair left = {all.a[i][k], all.a[i][k]};
            s0 += left * all.b[k][0], s1 += left * all.b[k][1], s2 += left * all.b[k][2],
                s3 += left * all.b[k][3];
        }
        sum[0] = s0, sum[1] = s1, sum[2] = s2, sum[3] = s3;
    }
    for (unsigned lane = 0; lane < LANES; ++lane) {
        unsigned group = lane / 4, member = lane % 4;
        void* d = operands(warp, lane).d;
        for (unsigned r = 0; r < 2; ++r) {
            Pair sum = all.sum[group + r * 8][member];
            if (HALVES)
                ((unsigned*)d)[r] = pack(sum[0], sum[1]);
            else
                ((float*)d)[2 * r] = float(sum[0]), ((float*)d)[2 * r + 1] = float(sum[1]);
        }
    }
}

static inline bool is_shared(const void* pointer, unsigned bytes) {
    return (const char*)pointer >= emulated_shared_start &&
           (const char*)pointer + bytes <= emulated_shared_stop;
}

UNCHECKED static void load_matrices(Warp* warp, unsigned char kind) {
    bool transposed = kind == LOAD_X2_TRANSPOSED || kind == LOAD_X4_TRANSPOSED;
    unsigned count = kind == LOAD_X4 || kind == LOAD_X4_TRANSPOSED ? 4 : 2;
    unsigned short values[4][8][8];
    for (unsigned lane = 0; lane < 8 * count; ++lane) {
        const Operands& mine = operands(warp, lane);
        if (!is_shared(mine.row, 16) || (uintptr_t)mine.row % 16)
            fail(
                "%s of a row at %p by lane %u, which is not in shared memory or not aligned to 16 "
                "(%s:%d)",
                NAMES[kind], mine.row, lane, mine.file, mine.line);
        memcpy(values[lane / 8][lane % 8], mine.row, 16);
    }
    for (unsigned lane = 0; lane < LANES; ++lane) {
        unsigned group = lane / 4, first = lane % 4 * 2;
        unsigned* d = (unsigned*)operands(warp, lane).d;
        for (unsigned m = 0; m < count; ++m)
            d[m] = transposed
                       ? values[m][first][group] | unsigned(values[m][first + 1][group]) << 16
                       : values[m][group][first] | unsigned(values[m][group][first + 1]) << 16;
    }
}

UNCHECKED static void resolve_matrix(Warp* warp, unsigned members, unsigned char kind) {
    const Operands& first = operands(warp, __builtin_ctz(members));
    if (members != ~0u)
        fail("%s with lanes 0x%08x only; it needs the whole warp (%s:%d)", NAMES[kind], members,
             first.file, first.line);
    for (unsigned lane = 1; lane < LANES; ++lane) {
        const Operands& mine = operands(warp, lane);
        if (mine.line != first.line || mine.file != first.file)
            fail(
                "%s by lane 0 at %s:%d and by lane %u at %s:%d; it needs the whole warp at one "
                "place",
                NAMES[kind], first.file, first.line, lane, mine.file, mine.line);
    }
    switch (kind) {
        case MULTIPLY_K8:
            multiply<8, false, false>(warp);
            break;
        case MULTIPLY_K8_HALF:
            multiply<8, true, false>(warp);
            break;
        case MULTIPLY_K16:
            multiply<16, false, false>(warp);
            break;
        case MULTIPLY_TF32:
            multiply<8, false, true>(warp);
            break;
        default:
            load_matrices(warp, kind);
    }
}

static inline void matrix(Kind kind, const Operands& operands) {
    collective(kind, ~0u, (unsigned long long)&operands, 0, operands.file, operands.line);
}

// The first `rows` lanes provide the addresses of the rows.
UNCHECKED static inline void load_rows(Kind kind, unsigned rows, unsigned* r, const void* row,
                                       const char* file, int line) {
    if (current->lane < rows) CHECK_ACCESS(row, 16, READ);
    matrix(kind, {nullptr, nullptr, nullptr, r, row, file, line});
}

// The copies that a thread has started and not yet waited for, oldest first.
struct Copies {
    static constexpr unsigned ROOM = 64;
    unsigned long long block;  // the block to which the copies belong
    unsigned first, count, groups;
    struct {
        void* to;
        const void* from;
        unsigned bytes, group;
        const void* place;
    } copy[ROOM];

    UNCHECKED void finish_oldest() {
        check_access(copy[first].to, copy[first].bytes, WRITE, copy[first].place);
        memcpy(copy[first].to, copy[first].from, copy[first].bytes);
        first = (first + 1) % ROOM;
        count -= 1;
    }
};

static Copies all_copies[MAX_THREADS];

UNCHECKED static inline Copies& copies() {
    Copies& mine = all_copies[current - fibers];
    if (mine.block != blocks_started)
        mine.block = blocks_started, mine.first = mine.count = mine.groups = 0;
    return mine;
}

// The copy is checked as a write of shared memory now and again at the wait, because the device may
// write at any time in between.
UNCHECKED static inline void copy_async(void* shared, const void* global, unsigned bytes,
                                        const char* file, int line) {
    const void* place = __builtin_return_address(0);
    check_access(global, bytes, READ, place);
    check_access(shared, bytes, WRITE, place);
    if (!is_shared(shared, bytes) || (uintptr_t)global % bytes)
        fail(
            "copy_async_%u from %p to %p, which is not in shared memory, or one is not aligned "
            "(%s:%d)",
            bytes, global, shared, file, line);
    Copies& mine = copies();
    // If the queue is full, the oldest copy happens now; a copy may happen at any time.
    if (mine.count == mine.ROOM) mine.finish_oldest();
    mine.copy[(mine.first + mine.count++) % mine.ROOM] = {shared, global, bytes, mine.groups,
                                                          place};
    poison(shared, bytes);
}

}  // namespace emulator

#define HAS_SM80 1

static inline unsigned pack_half2(float low, float high) { return emulator::pack(low, high); }
static inline float half_low(unsigned pair) { return emulator::low(pair); }
static inline float half_high(unsigned pair) { return emulator::high(pair); }
static inline unsigned add_half2(unsigned a, unsigned b) {
    return emulator::pack(double(half_low(a)) + half_low(b), double(half_high(a)) + half_high(b));
}
static inline unsigned multiply_half2(unsigned a, unsigned b) {
    return emulator::pack(double(half_low(a)) * half_low(b), double(half_high(a)) * half_high(b));
}
static inline unsigned multiply_add_half2(unsigned a, unsigned b, unsigned c) {
    return emulator::pack(half_low(c) + double(half_low(a)) * half_low(b),
                          half_high(c) + double(half_high(a)) * half_high(b));
}
static inline unsigned subtract_product_half2(unsigned c, unsigned a, unsigned b) {
    return emulator::pack(half_low(c) - double(half_low(a)) * half_low(b),
                          half_high(c) - double(half_high(a)) * half_high(b));
}
static inline unsigned exp2_half2(unsigned a) {
    return emulator::pack(exp2(double(half_low(a))), exp2(double(half_high(a))));
}
static inline unsigned mask_ge_half2(unsigned a, unsigned b) {
    return (half_low(a) >= half_low(b) ? 0x0000FFFFu : 0u) |
           (half_high(a) >= half_high(b) ? 0xFFFF0000u : 0u);
}
static inline unsigned max_half2(unsigned a, unsigned b) {
    return emulator::max_half(a & 0xFFFFu, b & 0xFFFFu) | emulator::max_half(a >> 16, b >> 16)
                                                              << 16;
}
static inline unsigned min_half2(unsigned a, unsigned b) {
    return emulator::min_half(a & 0xFFFFu, b & 0xFFFFu) | emulator::min_half(a >> 16, b >> 16)
                                                              << 16;
}
static inline unsigned min_normal_half2(unsigned a, unsigned b) {
    unsigned least = min_half2(a, b), low = least & 0x7C00u ? least & 0xFFFFu : least & 0x8000u;
    return low | (least & 0x7C000000u ? least & 0xFFFF0000u : least & 0x80000000u);
}

static inline void mma_m16n8k8(float d[4], const unsigned a[2], unsigned b, const float c[4],
                               EMULATOR_HERE) {
    emulator::matrix(emulator::MULTIPLY_K8, {a, &b, c, d, nullptr, file, line});
}
static inline void mma_m16n8k8(unsigned d[2], const unsigned a[2], unsigned b, const unsigned c[2],
                               EMULATOR_HERE) {
    emulator::matrix(emulator::MULTIPLY_K8_HALF, {a, &b, c, d, nullptr, file, line});
}
static inline void mma_m16n8k16(float d[4], const unsigned a[4], const unsigned b[2],
                                const float c[4], EMULATOR_HERE) {
    emulator::matrix(emulator::MULTIPLY_K16, {a, b, c, d, nullptr, file, line});
}
static inline void mma_m16n8k8_tf32(float d[4], const unsigned a[4], const unsigned b[2],
                                    const float c[4], EMULATOR_HERE) {
    emulator::matrix(emulator::MULTIPLY_TF32, {a, b, c, d, nullptr, file, line});
}
// Rounds to nearest, ties away from zero.
static inline unsigned to_tf32(float value) {
    return value != value ? 0x7FFFFFFFu : (__float_as_uint(value) + 0x1000u) & 0xFFFFE000u;
}

// Addresses of shared memory start at 0 in its own address space.
static inline unsigned shared_address(const void* pointer) {
    return unsigned((const char*)pointer - emulated_shared_start);
}

#define EMULATOR_LOAD_MATRIX(name, count, kind)                                                  \
    static __forceinline__ void name(unsigned r[count], const void* row, EMULATOR_HERE) {        \
        emulator::load_rows(emulator::kind, 8 * count, r, row, file, line);                      \
    }                                                                                            \
    static __forceinline__ void name##_at(unsigned r[count], const void* array, unsigned offset, \
                                          EMULATOR_HERE) {                                       \
        emulator::load_rows(emulator::kind, 8 * count, r, (const char*)array + offset, file,     \
                            line);                                                               \
    }
EMULATOR_LOAD_MATRIX(load_matrix_x4, 4, LOAD_X4)
EMULATOR_LOAD_MATRIX(load_matrix_x2, 2, LOAD_X2)
EMULATOR_LOAD_MATRIX(load_matrix_x2_transposed, 2, LOAD_X2_TRANSPOSED)
EMULATOR_LOAD_MATRIX(load_matrix_x4_transposed, 4, LOAD_X4_TRANSPOSED)
#undef EMULATOR_LOAD_MATRIX

static __forceinline__ void copy_async_16(void* shared, const void* global, EMULATOR_HERE) {
    emulator::copy_async(shared, global, 16, file, line);
}
static __forceinline__ void copy_async_cached_16(void* shared, const void* global, EMULATOR_HERE) {
    emulator::copy_async(shared, global, 16, file, line);
}
static __forceinline__ void copy_async_4(void* shared, const void* global, EMULATOR_HERE) {
    emulator::copy_async(shared, global, 4, file, line);
}
static inline void copy_async_commit() { emulator::copies().groups += 1; }
template <int GROUPS>
static inline void copy_async_wait() {
    emulator::Copies& mine = emulator::copies();
    while (mine.count && mine.copy[mine.first].group + GROUPS < mine.groups) mine.finish_oldest();
}
