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

static const char* const NAMES[] = {
    "__syncwarp",
    "__shfl_sync",
    "__shfl_up_sync",
    "__shfl_down_sync",
    "__shfl_xor_sync",
    "__ballot_sync",
    "__any_sync",
    "__all_sync",
    "__match_any_sync",
    "__match_all_sync",
    "__reduce_add_sync",
    "__reduce_min_sync",
    "__reduce_min_sync",
    "__reduce_max_sync",
    "__reduce_max_sync",
    "__reduce_and_sync",
    "__reduce_or_sync",
    "__reduce_xor_sync",
    "mma_m16n8k8",
    "mma_m16n8k8 (half)",
    "mma_m16n8k16",
    "mma_m16n8k8_tf32",
    "load_matrix_x2",
    "load_matrix_x4",
    "load_matrix_x2_transposed",
    "load_matrix_x4_transposed",
};

#define EACH_LANE(lane, mask) \
    for (unsigned rest = (mask), lane; rest && (lane = __builtin_ctz(rest), true); rest &= rest - 1)

template <class Join>
UNCHECKED static inline void reduce(Warp* warp, unsigned members, Join join) {
    unsigned total = unsigned(warp->value[__builtin_ctz(members)]);
    EACH_LANE(lane, members & (members - 1)) total = join(total, unsigned(warp->value[lane]));
    EACH_LANE(lane, members) warp->result[lane] = total;
}

// Computes one instruction of the matrix units for the whole warp.
static void resolve_matrix(Warp* warp, unsigned members, unsigned char kind);

// Computes the result of each member from the values of all members.
UNCHECKED static void resolve(Warp* warp, unsigned members, unsigned char kind) {
    switch (kind) {
        case SYNC:
            break;
        case SHUFFLE:
        case SHUFFLE_UP:
        case SHUFFLE_DOWN:
        case SHUFFLE_XOR:
            // An absent lane gives an undefined value on the hardware, here a conspicuous one.
            EACH_LANE(lane, members) {
                unsigned source = warp->source[lane];
                warp->result[lane] =
                    members >> source & 1 ? warp->value[source] : 0xCDCDCDCDCDCDCDCDull;
            }
            break;
        case BALLOT:
        case ANY:
        case ALL: {
            unsigned votes = 0;
            EACH_LANE(lane, members) votes |= unsigned(warp->value[lane] != 0) << lane;
            unsigned result = kind == BALLOT ? votes : kind == ANY ? votes != 0 : votes == members;
            EACH_LANE(lane, members) warp->result[lane] = result;
            break;
        }
        case MATCH_ANY:
        case MATCH_ALL: {
            unsigned left = members;
            while (left) {
                unsigned long long value = warp->value[__builtin_ctz(left)];
                unsigned same = 0;
                EACH_LANE(lane, left) same |= unsigned(warp->value[lane] == value) << lane;
                EACH_LANE(lane, same)
                warp->result[lane] = kind == MATCH_ANY || same == members ? same : 0;
                left &= ~same;
            }
            break;
        }
        case ADD:
            reduce(warp, members, [](unsigned a, unsigned b) { return a + b; });
            break;
        case MIN:
            reduce(warp, members, [](unsigned a, unsigned b) { return a < b ? a : b; });
            break;
        case MAX:
            reduce(warp, members, [](unsigned a, unsigned b) { return a > b ? a : b; });
            break;
        case MIN_SIGNED:
            reduce(warp, members, [](unsigned a, unsigned b) { return int(a) < int(b) ? a : b; });
            break;
        case MAX_SIGNED:
            reduce(warp, members, [](unsigned a, unsigned b) { return int(a) > int(b) ? a : b; });
            break;
        case AND:
            reduce(warp, members, [](unsigned a, unsigned b) { return a & b; });
            break;
        case OR:
            reduce(warp, members, [](unsigned a, unsigned b) { return a | b; });
            break;
        case XOR:
            reduce(warp, members, [](unsigned a, unsigned b) { return a ^ b; });
            break;
        default:
            resolve_matrix(warp, members, kind);
    }
}

// Completes the collective if all its members have reached it.
UNCHECKED static inline bool complete(Warp* warp, unsigned mask, unsigned char kind) {
    unsigned members = mask & warp->present;
    if (members & ~warp->waiting) return false;
    EACH_LANE(lane, members) {
        if (warp->mask[lane] != mask || warp->kind[lane] != kind) return false;
    }
    if (kind == SYNC) check_warp_barrier(warp, members, mask);
    resolve(warp, members, kind);
    yields = 0;
    warp->waiting &= ~members;
    warp->ready |= members;
    return true;
}

// Called when a lane has returned: the other lanes may have waited for it alone.
UNCHECKED static void recheck(Warp* warp) {
    EACH_LANE(lane, warp->waiting) {
        if (warp->waiting >> lane & 1) complete(warp, warp->mask[lane], warp->kind[lane]);
    }
}

UNCHECKED __attribute__((noinline)) static unsigned long long collective(Kind kind, unsigned mask,
                                                                         unsigned long long value,
                                                                         unsigned source,
                                                                         const char* file,
                                                                         int line) {
    Fiber* me = current;
    Warp* warp = me->warp;
    unsigned lane = me->lane, bit = 1u << lane;
    if (!(mask & bit))
        fail("%s with mask 0x%08x, which lacks the caller's lane %u (%s:%d)", NAMES[kind], mask,
             lane, file, line);
    me->place = {NAMES[kind], file, line};
    warp->value[lane] = value;
    warp->source[lane] = (unsigned char)source;
    warp->mask[lane] = mask;
    warp->kind[lane] = kind;
    warp->waiting |= bit;
    if (complete(warp, mask, kind))
        warp->ready &= ~bit;
    else
        wait();
    __asm volatile("" ::: "memory");
    return warp->result[lane];
}

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
