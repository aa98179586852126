// Checks (checks.hpp): what is recorded. Without checks, what stands for the events of launches.

namespace emulator {
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
const void* argument_values[32];
unsigned argument_count;

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

#else

static inline void check_ranges(const Range*, size_t) {}
static inline void check_launch(unsigned) {}
static inline void check_launch_end() {}
static inline void check_block() {}
static inline void check_block_end() {}
static inline void check_barrier() {}
static inline void check_warp_barrier(Warp*, unsigned, unsigned) {}

#endif
}  // namespace emulator
