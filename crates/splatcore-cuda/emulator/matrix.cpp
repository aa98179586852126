// Matrix units and asynchronous copies (matrix.hpp).

namespace emulator {

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
UNCHECKED void copy_async(void* shared, const void* global, unsigned bytes, const char* file,
                          int line) {
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

UNCHECKED void copy_async_commit() { copies().groups += 1; }

UNCHECKED void copy_async_wait(unsigned groups) {
    Copies& mine = copies();
    while (mine.count && mine.copy[mine.first].group + groups < mine.groups) mine.finish_oldest();
}

}  // namespace emulator
