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
// checks.cpp: what is recorded; checks_order.cpp: which accesses a thread has seen;
// checks_accesses.cpp: the check of an access, and messages; checks_launches.cpp: the begin and end
// of launches and blocks; checks_hooks.cpp: the functions that compilers call.

namespace emulator {

// An allocation of the device; src/device/emulated/memory.rs provides them.
struct Range {
    unsigned long long start, bytes, is_gone;
};

enum Access { READ = 1, WRITE = 2, ATOMIC = 4 };

#if CHECKED

// Checks an access by code that is at `from`.
void check_access(const volatile void* pointer, size_t bytes, unsigned kind, const void* from);

// A fence, of the block alone or of the device.
void check_fence(bool in_block);

extern const void* argument_values[32];
extern unsigned argument_count;

template <class T>
struct Argument {
    UNCHECKED static const void* pointer(void*) { return nullptr; }
};
template <class T>
struct Argument<T*> {
    UNCHECKED static const void* pointer(void* argument) { return *(void**)argument; }
};

// Stores which arguments are pointers, for messages.
template <class... P>
UNCHECKED static void note_arguments(void (*)(P...), void** arguments) {
    static_assert(sizeof...(P) <= sizeof argument_values / sizeof argument_values[0],
                  "more arguments than there is room for");
    argument_count = 0;
    ((argument_values[argument_count] = Argument<P>::pointer(arguments[argument_count]),
      argument_count += 1),
     ...);
}

// Checks an access by a function of the emulator; its place is the caller's.
#define CHECK_ACCESS(pointer, bytes, kind) \
    emulator::check_access(pointer, bytes, kind, __builtin_return_address(0))

#else

static inline void check_fence(bool) {}
template <class... P>
static inline void note_arguments(void (*)(P...), void**) {}
static inline void check_access(const volatile void*, size_t, unsigned, const void*) {}
#define CHECK_ACCESS(pointer, bytes, kind) ((void)0)

#endif
}  // namespace emulator
