// Checks of a kernel's memory accesses, like compute-sanitizer's memcheck and racecheck on a card.
// Active only if CHECKED is 1 (Emulated::with_checks): the compiler then calls the hooks of gcc's
// and clang's ThreadSanitizer before each access, and those of UndefinedBehaviorSanitizer where a
// pointer is misaligned for its type or an index is out of bounds. This file defines the hooks; no
// library of a sanitizer is linked.
//
// Memory. An access must lie in one allocation, in shared memory, on the thread's own stack or in
// the program's constants. Constants are not told apart, nor are variables in shared memory, except
// for an index out of bounds of an array of known length. clang does not check the alignment of a
// vector that is copied as a whole.
//
// Races. Two accesses of different threads to the same bytes are a race if at least one is a write,
// not both are atomic, and neither is ordered before the other. Only these order accesses:
//   - __syncthreads and its variants: all accesses of the block before it and after it;
//   - __syncwarp: those of the lanes in its mask. Shuffles, votes and matrix instructions do not,
//     because CUDA promises no order of memory for them;
//   - a fence and then a write of a flag in one thread, and a read of the flag and then a fence in
//     another: what the first thread had seen before its fence precedes what the second does after
//     its own. A flag is any word accessed as volatile or atomically (`publish` and `observe` of
//     device.cuh). __threadfence_block orders within a block only.
// Whether two accesses race depends on the values that a kernel reads, not on the order in which
// the emulator runs threads and blocks. Volatile accesses count as atomic, in shared memory too.
//
// Time is a count of synchronisations. An access is recorded as (time, thread); another thread has
// seen it if its last synchronisation with that thread is later. For each word (for each byte, in
// memory with an access smaller than a word) two reads and two writes are recorded, of different
// warps if possible, so that the next access meets one that it is not ordered with. Accesses of
// further lanes or blocks are not recorded; this can hide a race only behind another race.
//
// This file holds what is recorded. checks_order.hpp: which accesses a thread has seen;
// checks_accesses.hpp: the check of an access, and messages; checks_launches.hpp: the begin and end
// of launches and blocks, and what stands for all this if CHECKED is 0; checks_hooks.hpp: the
// functions that compilers call.

namespace emulator {

// An allocation of the device; src/device/emulated/memory.rs provides them.
struct Range {
    unsigned long long start, bytes, is_gone;
};

enum Access { READ = 1, WRITE = 2, ATOMIC = 4 };

#if CHECKED

// The address at which the library is loaded.
extern "C" const char image_start[] __asm("__ehdr_start") __attribute__((visibility("hidden")));

// The accesses of others that a thread has seen other than by barriers: a node of a graph that only
// grows. If `start` is not 0, the node is a release (a fence): it covers, of the block that began
// at `start`, the accesses before `barrier`, those of the lanes of `warp` before `lanes`, and those
// that `one` covers. Otherwise it covers those of `one` and `other`. If `in_block`, it covers no
// accesses of other blocks.
struct Knowledge {
    unsigned start, barrier, warp;
    unsigned lanes[LANES];
    bool in_block;
    Knowledge *one, *other;
    unsigned visited;
    Knowledge* next;     // the search's list of nodes to visit
    Knowledge* earlier;  // the node made before this one
};

struct Slot {
    unsigned time;  // 0: empty
    unsigned short thread;
    bool is_atomic;
    unsigned place;  // offset of the instruction in the library
};

// The recorded accesses of a word or a byte.
struct Cell {
    Slot writes[2], reads[2];
    Knowledge* released;  // what the flag in this cell tells its readers
};

// A range of memory that kernels may access.
struct Region {
    uintptr_t start;
    size_t bytes;
    bool is_gone, is_shared;
    Cell* cells;  // null until something is accessed
    size_t mapped;
    unsigned shift;  // offset >> shift is the cell: 2, or 0 after an access smaller than a word
};

// The knowledge that a thread of the current block has from fences and flags.
struct Told {
    Knowledge *fence, *pending, *acquired;
};

static bool active;  // whether a block runs
static size_t image_bytes;
static Region* regions;
static size_t region_count, region_room;
static Region* last_region;
static Region shared_region;
static const void* argument_values[32];
static unsigned argument_count;

static unsigned now, block_start, barrier_time;
static unsigned* block_starts;                       // start times of the launch's blocks
static unsigned warp_times[MAX_THREADS / LANES];     // of the last __syncwarp of all lanes
static unsigned partial_times[MAX_THREADS / LANES];  // of the last __syncwarp with a smaller mask
static unsigned partial[MAX_THREADS / LANES][LANES]
                       [LANES];  // [lane][of lane]: time up to which it has seen accesses

static Told told[MAX_THREADS];
static Knowledge* latest_knowledge;
static unsigned searches;
static bool fences_used;

UNCHECKED static inline unsigned later(unsigned a, unsigned b) { return a > b ? a : b; }

#endif
}  // namespace emulator
