// Threads, blocks and block barriers. Each CUDA thread of a block is a fiber: it has its own stack
// and yields the processor only where it must wait. Blocks run one after another in the order of
// blockIdx, so a block may wait for values that an earlier one published. One launch runs at a
// time: the caller holds a lock.

namespace emulator {

constexpr unsigned LANES = 32;
constexpr unsigned MAX_THREADS = 1024;
// Not a power of two: the tops of all stacks would compete for the same cache sets.
constexpr size_t STACK_BYTES = 128 * 1024 + 5 * 64;
// The content of shared memory before it is written. It is not-a-number as a float and as two
// halves, because an unwritten 0 would go unnoticed, and it is not a key that a sort leaves out.
constexpr unsigned POISON = 0xFFCDFFCDu;
static inline void poison(void* start, size_t bytes) {
    size_t whole = bytes / sizeof POISON * sizeof POISON;
    for (size_t at = 0; at < whole; at += sizeof POISON)
        memcpy((char*)start + at, &POISON, sizeof POISON);
    memcpy((char*)start + whole, &POISON, bytes - whole);
}

struct Warp;

// The call at which a thread waits.
struct Place {
    const char* call;
    const char* file;
    int line;
};

struct Fiber {
    void* saved;
    char* stack;  // null: not started, or ended
    Warp* warp;
    uint3 thread;
    unsigned lane;
    Place place;
};

struct Warp {
    unsigned index;
    unsigned last;        // lane that ran last
    unsigned present;     // lanes that exist and have not returned
    unsigned ready;       // lanes that can run but do not run now
    unsigned waiting;     // lanes at a collective
    unsigned at_barrier;  // lanes at a block barrier
    unsigned mask[LANES];
    unsigned char kind[LANES];
    unsigned char source[LANES];
    unsigned long long value[LANES];
    unsigned long long result[LANES];
};

struct Block {
    unsigned threads, warps, alive;
    unsigned arrived, count;  // threads at the barrier, and those whose predicate holds
    unsigned result, of;      // `count` and `arrived` of the last completed barrier
};

typedef void (*Invoke)(void** arguments);

extern Fiber fibers[MAX_THREADS];
extern Block block;
extern Fiber* current;
extern dim3 block_index, block_size, grid_size;
extern unsigned long long blocks_started;  // in all launches

// Ends the launch with an error and abandons the fibers.
[[noreturn]] void fail(const char* format, ...);

// Lets other threads run; for loops that wait for a value in memory.
void yield();

// A block barrier: completes when all threads that have not returned have reached it.
void barrier(const char* call, bool predicate, const char* file, int line);

// Runs all blocks of a launch. Returns 1 if it failed.
int launch(const char* name, unsigned grid, unsigned threads, void** arguments, Invoke kernel);

template <class T>
UNCHECKED static inline T argument(void* from) {
    T value;
    memcpy(&value, from, sizeof value);
    return value;
}

template <class... P, size_t... I>
UNCHECKED static inline void call(void (*kernel)(P...), void** arguments,
                                  std::index_sequence<I...>) {
    kernel(argument<P>(arguments[I])...);
}

template <class... P>
UNCHECKED static inline void call(void (*kernel)(P...), void** arguments) {
    call(kernel, arguments, std::index_sequence_for<P...>());
}

}  // namespace emulator

#define threadIdx (emulator::current->thread)
#define blockIdx (emulator::block_index)
#define blockDim (emulator::block_size)
#define gridDim (emulator::grid_size)

#define EMULATOR_EXPORT extern "C" __attribute__((visibility("default")))
// Defines `splatcore_launch_<name>`, which runs the whole launch and returns 0, or 1 if it failed;
// splatcore_message() then says why.
#define EMULATOR_KERNEL(name)                                                                      \
    EMULATOR_EXPORT int splatcore_launch_##name(unsigned grid, unsigned block, void** arguments) { \
        emulator::note_arguments(&name, arguments);                                                \
        return emulator::launch(#name, grid, block, arguments,                                     \
                                [](void** a) { emulator::call(&name, a); });                       \
    }

#define EMULATOR_HERE const char *file = __builtin_FILE(), int line = __builtin_LINE()

static inline void __syncthreads(EMULATOR_HERE) {
    emulator::barrier("__syncthreads", false, file, line);
}
static inline int __syncthreads_or(int predicate, EMULATOR_HERE) {
    emulator::barrier("__syncthreads_or", predicate != 0, file, line);
    return emulator::block.result != 0;
}
static inline int __syncthreads_and(int predicate, EMULATOR_HERE) {
    emulator::barrier("__syncthreads_and", predicate != 0, file, line);
    return emulator::block.result == emulator::block.of;
}
static inline int __syncthreads_count(int predicate, EMULATOR_HERE) {
    emulator::barrier("__syncthreads_count", predicate != 0, file, line);
    return int(emulator::block.result);
}
static inline void __nanosleep(unsigned) { emulator::yield(); }
#define __trap() emulator::fail("__trap at %s:%d", __FILE__, __LINE__)
#undef assert
#define assert(condition) \
    ((condition)          \
         ? (void)0        \
         : emulator::fail("assertion failed at %s:%d: %s", __FILE__, __LINE__, #condition))
