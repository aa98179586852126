// Warp collectives. A collective completes when all lanes of its mask that have not returned have
// reached the same collective (same call, same mask) on any path, as with independent thread
// scheduling on the hardware.

namespace emulator {

enum Kind : unsigned char {
    SYNC,
    SHUFFLE,
    SHUFFLE_UP,
    SHUFFLE_DOWN,
    SHUFFLE_XOR,
    BALLOT,
    ANY,
    ALL,
    MATCH_ANY,
    MATCH_ALL,
    ADD,
    MIN_SIGNED,
    MIN,
    MAX_SIGNED,
    MAX,
    AND,
    OR,
    XOR,
    // The value of a lane is the address of its operands on its stack (matrix.hpp).
    MULTIPLY_K8,
    MULTIPLY_K8_HALF,
    MULTIPLY_K16,
    MULTIPLY_TF32,
    LOAD_X2,
    LOAD_X4,
    LOAD_X2_TRANSPOSED,
    LOAD_X4_TRANSPOSED,
};

// Waits at a collective of the lanes of `mask`, with a value and, in a shuffle, the lane that the
// value is wanted from. Returns the result.
unsigned long long collective(Kind kind, unsigned mask, unsigned long long value, unsigned source,
                              const char* file, int line);

template <class T>
static inline unsigned long long to_bits(T value) {
    static_assert(sizeof(T) == 4 || sizeof(T) == 8, "warp collectives take values of 4 or 8 bytes");
    unsigned long long bits = 0;
    memcpy(&bits, &value, sizeof value);
    return bits;
}

template <class T>
static inline T from_bits(unsigned long long bits) {
    T value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static inline void check_width(int width, const char* file, int line) {
    if (width <= 0 || width > 32 || (width & (width - 1)))
        fail("a shuffle of width %d (%s:%d)", width, file, line);
}

}  // namespace emulator

static inline void __syncwarp(unsigned mask = 0xffffffffu, EMULATOR_HERE) {
    emulator::collective(emulator::SYNC, mask, 0, 0, file, line);
}

template <class T>
static inline auto __shfl_sync(unsigned mask, T value, int source, int width = 32, EMULATOR_HERE)
    -> decltype(+value) {
    emulator::check_width(width, file, line);
    unsigned lane = emulator::current->lane;
    unsigned from = (lane & ~unsigned(width - 1)) | (unsigned(source) & unsigned(width - 1));
    return emulator::from_bits<decltype(+value)>(
        emulator::collective(emulator::SHUFFLE, mask, emulator::to_bits(+value), from, file, line));
}

// A lane whose source is outside its segment gets its own value.
template <class T>
static inline auto __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32,
                                  EMULATOR_HERE) -> decltype(+value) {
    emulator::check_width(width, file, line);
    unsigned lane = emulator::current->lane;
    unsigned from = delta <= (lane & unsigned(width - 1)) ? lane - delta : lane;
    return emulator::from_bits<decltype(+value)>(emulator::collective(
        emulator::SHUFFLE_UP, mask, emulator::to_bits(+value), from, file, line));
}

template <class T>
static inline auto __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32,
                                    EMULATOR_HERE) -> decltype(+value) {
    emulator::check_width(width, file, line);
    unsigned lane = emulator::current->lane;
    unsigned from = delta < unsigned(width) - (lane & unsigned(width - 1)) ? lane + delta : lane;
    return emulator::from_bits<decltype(+value)>(emulator::collective(
        emulator::SHUFFLE_DOWN, mask, emulator::to_bits(+value), from, file, line));
}

template <class T>
static inline auto __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32, EMULATOR_HERE)
    -> decltype(+value) {
    emulator::check_width(width, file, line);
    unsigned lane = emulator::current->lane;
    unsigned from = lane ^ unsigned(bits);
    if (from > (lane | unsigned(width - 1))) from = lane;
    return emulator::from_bits<decltype(+value)>(emulator::collective(
        emulator::SHUFFLE_XOR, mask, emulator::to_bits(+value), from, file, line));
}

static inline unsigned __ballot_sync(unsigned mask, int predicate, EMULATOR_HERE) {
    return unsigned(emulator::collective(emulator::BALLOT, mask, predicate != 0, 0, file, line));
}
static inline int __any_sync(unsigned mask, int predicate, EMULATOR_HERE) {
    return int(emulator::collective(emulator::ANY, mask, predicate != 0, 0, file, line));
}
static inline int __all_sync(unsigned mask, int predicate, EMULATOR_HERE) {
    return int(emulator::collective(emulator::ALL, mask, predicate != 0, 0, file, line));
}
template <class T>
static inline unsigned __match_any_sync(unsigned mask, T value, EMULATOR_HERE) {
    return unsigned(
        emulator::collective(emulator::MATCH_ANY, mask, emulator::to_bits(+value), 0, file, line));
}
template <class T>
static inline unsigned __match_all_sync(unsigned mask, T value, int* all, EMULATOR_HERE) {
    unsigned same = unsigned(
        emulator::collective(emulator::MATCH_ALL, mask, emulator::to_bits(+value), 0, file, line));
    *all = same != 0;
    return same;
}

// On the hardware the result depends on timing; the lane alone is always a valid answer.
static inline unsigned __activemask() { return 1u << emulator::current->lane; }

#define EMULATOR_REDUCE(name, kind, scalar)                                                        \
    static inline scalar name(unsigned mask, scalar value, EMULATOR_HERE) {                        \
        return scalar(emulator::collective(emulator::kind, mask, unsigned(value), 0, file, line)); \
    }
EMULATOR_REDUCE(__reduce_add_sync, ADD, unsigned)
EMULATOR_REDUCE(__reduce_add_sync, ADD, int)
EMULATOR_REDUCE(__reduce_min_sync, MIN, unsigned)
EMULATOR_REDUCE(__reduce_min_sync, MIN_SIGNED, int)
EMULATOR_REDUCE(__reduce_max_sync, MAX, unsigned)
EMULATOR_REDUCE(__reduce_max_sync, MAX_SIGNED, int)
EMULATOR_REDUCE(__reduce_and_sync, AND, unsigned)
EMULATOR_REDUCE(__reduce_or_sync, OR, unsigned)
EMULATOR_REDUCE(__reduce_xor_sync, XOR, unsigned)
#undef EMULATOR_REDUCE
