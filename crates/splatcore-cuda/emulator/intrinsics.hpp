// The arithmetic, bit and memory functions of CUDA that C lacks. Functions that are approximate on
// the device are correct to rounding here. Names that some C libraries declare too are macros.

namespace emulator {

static inline float rsqrtf(float x) { return 1.0f / ::sqrtf(x); }
static inline double rsqrt(double x) { return 1.0 / ::sqrt(x); }
static inline float fdividef(float x, float y) { return x / y; }
static inline float exp10f(float x) { return float(::pow(10.0, double(x))); }
static inline float sinpif(float x) { return float(::sin(M_PI * double(x))); }
static inline float cospif(float x) { return float(::cos(M_PI * double(x))); }
static inline float rcbrtf(float x) { return 1.0f / ::cbrtf(x); }
static inline float rhypotf(float x, float y) { return 1.0f / ::hypotf(x, y); }
static inline float norm3df(float x, float y, float z) {
    return float(::sqrt(double(x) * x + double(y) * y + double(z) * z));
}
static inline float rnorm3df(float x, float y, float z) { return 1.0f / norm3df(x, y, z); }
static inline float saturate(float x) { return x > 0.0f ? (x < 1.0f ? x : 1.0f) : 0.0f; }
static inline void sincosf(float x, float* s, float* c) { *s = ::sinf(x), *c = ::cosf(x); }

// Float to integer as on the device: values out of range saturate, not-a-number becomes 0.
template <class I, class F>
static inline I to_integer(F rounded) {
    constexpr bool is_signed = I(-1) < I(0);
    constexpr I highest = is_signed ? I((~0ull) >> (65 - 8 * sizeof(I))) : I(~I(0));
    constexpr I lowest = is_signed ? I(-highest - 1) : I(0);
    if (rounded != rounded) return 0;
    if (rounded <= F(lowest)) return lowest;
    if (rounded >= F(highest)) return highest;
    return I(rounded);
}

static inline unsigned long long nanoseconds() {
    timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (unsigned long long)now.tv_sec * 1000000000ull + (unsigned long long)now.tv_nsec;
}

template <class T>
struct Same {
    typedef T type;
};

}  // namespace emulator

#define rsqrtf(x) emulator::rsqrtf(x)
#define rsqrt(x) emulator::rsqrt(x)
#define exp10f(x) emulator::exp10f(x)
#define sinpif(x) emulator::sinpif(x)
#define cospif(x) emulator::cospif(x)
#define rcbrtf(x) emulator::rcbrtf(x)
#define rhypotf(x, y) emulator::rhypotf(x, y)
#define norm3df(x, y, z) emulator::norm3df(x, y, z)
#define rnorm3df(x, y, z) emulator::rnorm3df(x, y, z)
#define fdividef(x, y) emulator::fdividef(x, y)
#define __fdividef(x, y) fdividef(x, y)
#define __saturatef(x) emulator::saturate(x)
#define sincosf(x, s, c) emulator::sincosf(x, s, c)
#define __sincosf(x, s, c) sincosf(x, s, c)
#define __expf(x) ::expf(x)
#define __exp10f(x) exp10f(x)
#define __logf(x) ::logf(x)
#define __log2f(x) ::log2f(x)
#define __log10f(x) ::log10f(x)
#define __powf(x, y) ::powf(x, y)
#define __sinf(x) ::sinf(x)
#define __cosf(x) ::cosf(x)
#define __tanf(x) ::tanf(x)

static inline float __fadd_rn(float x, float y) { return x + y; }
static inline float __fsub_rn(float x, float y) { return x - y; }
static inline float __fmul_rn(float x, float y) { return x * y; }
static inline float __fdiv_rn(float x, float y) { return x / y; }
static inline float __fmaf_rn(float x, float y, float z) { return fmaf(x, y, z); }
static inline float __frcp_rn(float x) { return 1.0f / x; }
static inline float __fsqrt_rn(float x) { return sqrtf(x); }
static inline float __frsqrt_rn(float x) { return float(1.0 / sqrt(double(x))); }
static inline double __dadd_rn(double x, double y) { return x + y; }
static inline double __dsub_rn(double x, double y) { return x - y; }
static inline double __dmul_rn(double x, double y) { return x * y; }
static inline double __ddiv_rn(double x, double y) { return x / y; }
static inline double __fma_rn(double x, double y, double z) { return fma(x, y, z); }

#define EMULATOR_MIN_MAX(a, b, common)   \
    static inline common min(a x, b y) { \
        common p = x, q = y;             \
        return p < q ? p : q;            \
    }                                    \
    static inline common max(a x, b y) { \
        common p = x, q = y;             \
        return p > q ? p : q;            \
    }
#define EMULATOR_MIN_MAX_REAL(a, b, common, suffix)                   \
    static inline common min(a x, b y) { return fmin##suffix(x, y); } \
    static inline common max(a x, b y) { return fmax##suffix(x, y); }
EMULATOR_MIN_MAX(int, int, int)
EMULATOR_MIN_MAX(unsigned, unsigned, unsigned)
EMULATOR_MIN_MAX(int, unsigned, unsigned)
EMULATOR_MIN_MAX(unsigned, int, unsigned)
EMULATOR_MIN_MAX(long, long, long)
EMULATOR_MIN_MAX(unsigned long, unsigned long, unsigned long)
EMULATOR_MIN_MAX(long, unsigned long, unsigned long)
EMULATOR_MIN_MAX(unsigned long, long, unsigned long)
EMULATOR_MIN_MAX(long long, long long, long long)
EMULATOR_MIN_MAX(unsigned long long, unsigned long long, unsigned long long)
EMULATOR_MIN_MAX(long long, unsigned long long, unsigned long long)
EMULATOR_MIN_MAX(unsigned long long, long long, unsigned long long)
EMULATOR_MIN_MAX_REAL(float, float, float, f)
EMULATOR_MIN_MAX_REAL(double, double, double, )
EMULATOR_MIN_MAX_REAL(float, double, double, )
EMULATOR_MIN_MAX_REAL(double, float, double, )

template <class To, class From>
static inline To emulator_bits(From value) {
    static_assert(sizeof(To) == sizeof(From), "same size");
    To to;
    memcpy(&to, &value, sizeof to);
    return to;
}
static inline unsigned __float_as_uint(float x) { return emulator_bits<unsigned>(x); }
static inline int __float_as_int(float x) { return emulator_bits<int>(x); }
static inline float __uint_as_float(unsigned x) { return emulator_bits<float>(x); }
static inline float __int_as_float(int x) { return emulator_bits<float>(x); }
static inline long long __double_as_longlong(double x) { return emulator_bits<long long>(x); }
static inline double __longlong_as_double(long long x) { return emulator_bits<double>(x); }

// Conversions: rn to nearest even, rz towards 0, rd down, ru up.
#define EMULATOR_ROUNDED(from, to, real, integer, f)       \
    static inline integer __##from##2##to##_rn(real x) {   \
        return emulator::to_integer<integer>(rint##f(x));  \
    }                                                      \
    static inline integer __##from##2##to##_rz(real x) {   \
        return emulator::to_integer<integer>(trunc##f(x)); \
    }                                                      \
    static inline integer __##from##2##to##_rd(real x) {   \
        return emulator::to_integer<integer>(floor##f(x)); \
    }                                                      \
    static inline integer __##from##2##to##_ru(real x) {   \
        return emulator::to_integer<integer>(ceil##f(x));  \
    }
EMULATOR_ROUNDED(float, int, float, int, f)
EMULATOR_ROUNDED(float, uint, float, unsigned, f)
EMULATOR_ROUNDED(float, ll, float, long long, f)
EMULATOR_ROUNDED(float, ull, float, unsigned long long, f)
EMULATOR_ROUNDED(double, int, double, int, )
EMULATOR_ROUNDED(double, uint, double, unsigned, )
EMULATOR_ROUNDED(double, ll, double, long long, )
EMULATOR_ROUNDED(double, ull, double, unsigned long long, )
static inline float __int2float_rn(int x) { return float(x); }
static inline float __uint2float_rn(unsigned x) { return float(x); }
static inline float __ll2float_rn(long long x) { return float(x); }
static inline float __ull2float_rn(unsigned long long x) { return float(x); }
static inline float __double2float_rn(double x) { return float(x); }
static inline double __uint2double_rn(unsigned x) { return double(x); }
static inline double __int2double_rn(int x) { return double(x); }

static inline int __popc(unsigned x) { return __builtin_popcount(x); }
static inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
static inline int __ffs(int x) { return __builtin_ffs(x); }
static inline int __ffsll(long long x) { return __builtin_ffsll(x); }
static inline int __clz(int x) { return x ? __builtin_clz(unsigned(x)) : 32; }
static inline int __clzll(long long x) { return x ? __builtin_clzll((unsigned long long)x) : 64; }
static inline unsigned __brev(unsigned x) {
    unsigned y = 0;
    for (int i = 0; i < 32; ++i) y |= (x >> i & 1u) << (31 - i);
    return y;
}
static inline unsigned long long __brevll(unsigned long long x) {
    return (unsigned long long)__brev(unsigned(x)) << 32 | __brev(unsigned(x >> 32));
}
// Selects four of the eight bytes of y:x. The fourth bit of a selector replicates the byte's sign.
static inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selectors) {
    unsigned long long bytes = (unsigned long long)y << 32 | x;
    unsigned result = 0;
    for (int i = 0; i < 4; ++i) {
        unsigned selector = selectors >> 4 * i & 15u;
        unsigned byte = unsigned(bytes >> 8 * (selector & 7u)) & 0xFFu;
        if (selector & 8u) byte = byte & 0x80u ? 0xFFu : 0u;
        result |= byte << 8 * i;
    }
    return result;
}
static inline unsigned __umulhi(unsigned x, unsigned y) {
    return unsigned((unsigned long long)x * y >> 32);
}
static inline int __mulhi(int x, int y) { return int((long long)x * y >> 32); }
static inline unsigned long long __umul64hi(unsigned long long x, unsigned long long y) {
    return (unsigned long long)((unsigned __int128)x * y >> 64);
}
static inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
    return unsigned(((unsigned long long)high << 32 | low) << (shift & 31u) >> 32);
}
static inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
    return unsigned(((unsigned long long)high << 32 | low) >> (shift & 31u));
}
static inline unsigned __funnelshift_lc(unsigned low, unsigned high, unsigned shift) {
    return shift < 32u ? __funnelshift_l(low, high, shift) : low;
}
static inline unsigned __funnelshift_rc(unsigned low, unsigned high, unsigned shift) {
    return shift < 32u ? __funnelshift_r(low, high, shift) : high;
}
static inline long long __mul64hi(long long x, long long y) {
    return (long long)((__int128)x * y >> 64);
}
// Products of the low 24 bits, of which the low 32 are kept.
static inline int __mul24(int x, int y) {
    return int((unsigned)(x << 8 >> 8) * (unsigned)(y << 8 >> 8));
}
static inline unsigned __umul24(unsigned x, unsigned y) {
    return (x & 0xFFFFFFu) * (y & 0xFFFFFFu);
}
static inline unsigned __sad(int x, int y, unsigned z) {
    return z + (x > y ? (unsigned)x - (unsigned)y : (unsigned)y - (unsigned)x);
}
static inline unsigned __usad(unsigned x, unsigned y, unsigned z) {
    return z + (x > y ? x - y : y - x);
}
static inline int __hadd(int x, int y) { return int(((long long)x + y) >> 1); }
static inline int __rhadd(int x, int y) { return int(((long long)x + y + 1) >> 1); }
static inline unsigned __uhadd(unsigned x, unsigned y) {
    return unsigned(((unsigned long long)x + y) >> 1);
}
static inline unsigned __urhadd(unsigned x, unsigned y) {
    return unsigned(((unsigned long long)x + y + 1) >> 1);
}
static inline double __hiloint2double(int high, int low) {
    return emulator_bits<double>((unsigned long long)(unsigned)high << 32 | (unsigned)low);
}
// Sums of products with the bytes of `y`: of the four bytes of `x`, or of its two halves with the
// lower or the upper two.
#define EMULATOR_DOT(word, byte, half)                                                      \
    static inline word __dp4a(word x, word y, word z) {                                     \
        unsigned sum = (unsigned)z;                                                         \
        for (int i = 0; i < 4; ++i) sum += (unsigned)(byte(x >> 8 * i) * byte(y >> 8 * i)); \
        return word(sum);                                                                   \
    }                                                                                       \
    static inline word __dp2a_lo(word x, word y, word z) {                                  \
        return word((unsigned)z + (unsigned)(half(x) * byte(y)) +                           \
                    (unsigned)(half(x >> 16) * byte(y >> 8)));                              \
    }                                                                                       \
    static inline word __dp2a_hi(word x, word y, word z) {                                  \
        return word((unsigned)z + (unsigned)(half(x) * byte(y >> 16)) +                     \
                    (unsigned)(half(x >> 16) * byte(y >> 24)));                             \
    }
EMULATOR_DOT(int, (signed char), (short))
EMULATOR_DOT(unsigned, (unsigned char), (unsigned short))

// Reads and writes with a caching hint, which is ignored.
#define EMULATOR_LOAD(name)                           \
    template <class T>                                \
    static __forceinline__ T name(const T* address) { \
        return *address;                              \
    }
#define EMULATOR_STORE(name)                                                               \
    template <class T>                                                                     \
    static __forceinline__ void name(T* address, typename emulator::Same<T>::type value) { \
        *address = value;                                                                  \
    }
EMULATOR_LOAD(__ldg)
EMULATOR_LOAD(__ldca)
EMULATOR_LOAD(__ldcg)
EMULATOR_LOAD(__ldcs)
EMULATOR_LOAD(__ldlu)
EMULATOR_LOAD(__ldcv)
EMULATOR_STORE(__stwb)
EMULATOR_STORE(__stcg)
EMULATOR_STORE(__stcs)
EMULATOR_STORE(__stwt)

UNCHECKED static inline void __threadfence() {
    __atomic_thread_fence(__ATOMIC_SEQ_CST), emulator::check_fence(false);
}
UNCHECKED static inline void __threadfence_block() {
    __atomic_thread_fence(__ATOMIC_SEQ_CST), emulator::check_fence(true);
}
static inline void __threadfence_system() { __threadfence(); }
static inline long long clock64() { return (long long)emulator::nanoseconds(); }
static inline unsigned long long __globaltimer() { return emulator::nanoseconds(); }

namespace emulator {

// Replaces *address by change(*address) and returns the old value.
template <class T, class Change>
UNCHECKED static inline T atomic(T* address, Change change) {
    CHECK_ACCESS(address, sizeof(T), READ | WRITE | ATOMIC);
    T old, wanted;
    __atomic_load(address, &old, __ATOMIC_RELAXED);
    do {
        wanted = change(old);
    } while (!__atomic_compare_exchange(address, &old, &wanted, false, __ATOMIC_SEQ_CST,
                                        __ATOMIC_RELAXED));
    return old;
}

}  // namespace emulator

// Only the types that CUDA supports, in all three scopes.
#define EMULATOR_ATOMIC_SCOPE(name, scalar, change)                                         \
    static __forceinline__ scalar name(scalar* address, scalar value) {                     \
        return emulator::atomic(address, [value](scalar old) -> scalar { return change; }); \
    }
#define EMULATOR_ATOMIC(name, scalar, change)           \
    EMULATOR_ATOMIC_SCOPE(name, scalar, change)         \
    EMULATOR_ATOMIC_SCOPE(name##_block, scalar, change) \
    EMULATOR_ATOMIC_SCOPE(name##_system, scalar, change)
#define EMULATOR_ATOMICS(scalar)                                  \
    EMULATOR_ATOMIC(atomicMin, scalar, value < old ? value : old) \
    EMULATOR_ATOMIC(atomicMax, scalar, value > old ? value : old) \
    EMULATOR_ATOMIC(atomicAnd, scalar, old& value)                \
    EMULATOR_ATOMIC(atomicOr, scalar, old | value)                \
    EMULATOR_ATOMIC(atomicXor, scalar, old ^ value)
EMULATOR_ATOMICS(int)
EMULATOR_ATOMICS(unsigned)
EMULATOR_ATOMICS(long long)
EMULATOR_ATOMICS(unsigned long long)
EMULATOR_ATOMIC(atomicAdd, int, old + value)
EMULATOR_ATOMIC(atomicAdd, unsigned, old + value)
EMULATOR_ATOMIC(atomicAdd, unsigned long long, old + value)
EMULATOR_ATOMIC(atomicAdd, float, old + value)
EMULATOR_ATOMIC(atomicAdd, double, old + value)
EMULATOR_ATOMIC(atomicSub, int, old - value)
EMULATOR_ATOMIC(atomicSub, unsigned, old - value)
EMULATOR_ATOMIC(atomicInc, unsigned, old >= value ? 0u : old + 1u)
EMULATOR_ATOMIC(atomicDec, unsigned, old == 0u || old > value ? value : old - 1u)
EMULATOR_ATOMIC(atomicExch, int, value)
EMULATOR_ATOMIC(atomicExch, unsigned, value)
EMULATOR_ATOMIC(atomicExch, unsigned long long, value)
EMULATOR_ATOMIC(atomicExch, float, value)

// A failed exchange yields to other threads, so that a wait for a lock ends.
#define EMULATOR_CAS(name, scalar)                                                         \
    UNCHECKED static inline scalar name(scalar* address, scalar compare, scalar value) {   \
        CHECK_ACCESS(address, sizeof(scalar),                                              \
                     emulator::READ | emulator::WRITE | emulator::ATOMIC);                 \
        if (__atomic_compare_exchange_n(address, &compare, value, false, __ATOMIC_SEQ_CST, \
                                        __ATOMIC_SEQ_CST))                                 \
            return compare;                                                                \
        emulator::yield();                                                                 \
        return compare;                                                                    \
    }
#define EMULATOR_CAS_SCOPES(scalar)       \
    EMULATOR_CAS(atomicCAS, scalar)       \
    EMULATOR_CAS(atomicCAS_block, scalar) \
    EMULATOR_CAS(atomicCAS_system, scalar)
EMULATOR_CAS_SCOPES(int)
EMULATOR_CAS_SCOPES(unsigned)
EMULATOR_CAS_SCOPES(unsigned long long)
EMULATOR_CAS_SCOPES(unsigned short)
