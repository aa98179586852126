// Warp collectives (collectives.hpp): what they compute, and when.

namespace emulator {

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

UNCHECKED unsigned long long collective(Kind kind, unsigned mask, unsigned long long value,
                                        unsigned source, const char* file, int line) {
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

}  // namespace emulator
