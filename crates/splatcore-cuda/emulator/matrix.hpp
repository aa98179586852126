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

static inline void matrix(Kind kind, const Operands& operands) {
    collective(kind, ~0u, (unsigned long long)&operands, 0, operands.file, operands.line);
}

// The first `rows` lanes provide the addresses of the rows.
UNCHECKED static inline void load_rows(Kind kind, unsigned rows, unsigned* r, const void* row,
                                       const char* file, int line) {
    if (current->lane < rows) CHECK_ACCESS(row, 16, READ);
    matrix(kind, {nullptr, nullptr, nullptr, r, row, file, line});
}

// Starts a copy of 4 or 16 bytes to shared memory.
void copy_async(void* shared, const void* global, unsigned bytes, const char* file, int line);

// Ends a group of copies of this thread.
void copy_async_commit();

// Waits for all groups but the last ones.
void copy_async_wait(unsigned groups);

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
static __forceinline__ void copy_async_8(void* shared, const void* global, EMULATOR_HERE) {
    emulator::copy_async(shared, global, 8, file, line);
}
static __forceinline__ void copy_async_4(void* shared, const void* global, EMULATOR_HERE) {
    emulator::copy_async(shared, global, 4, file, line);
}
static inline void copy_async_commit() { emulator::copy_async_commit(); }
template <int GROUPS>
static inline void copy_async_wait() {
    emulator::copy_async_wait(GROUPS);
}
