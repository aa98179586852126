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

// --- Which accesses a thread has seen.

UNCHECKED static Knowledge* new_knowledge() {
    Knowledge* node = (Knowledge*)calloc(1, sizeof(Knowledge));
    if (!node) fail("no memory for the checks");
    node->earlier = latest_knowledge;
    return latest_knowledge = node;
}

UNCHECKED static Knowledge* join(Knowledge* a, Knowledge* b) {
    if (!a || a == b) return b;
    if (!b) return a;
    Knowledge* both = new_knowledge();
    both->one = a, both->other = b;
    return both;
}

// The time up to which a thread has seen the accesses of a lane of its own warp.
UNCHECKED static inline unsigned seen_of_lane(const Fiber* me, unsigned lane) {
    unsigned w = me->warp->index, seen = later(barrier_time, warp_times[w]);
    return partial_times[w] > seen ? later(seen, partial[w][me->lane][lane]) : seen;
}

UNCHECKED static bool knows(Knowledge* all, const Slot& slot) {
    if (!all) return false;
    searches += 1;
    unsigned lane = slot.thread % LANES, warp = slot.thread / LANES;
    all->next = nullptr;
    for (Knowledge* work = all; work;) {
        Knowledge* node = work;
        work = node->next;
        node->visited = searches;
        if (node->in_block && slot.time < block_start) continue;
        if (node->start && slot.time >= node->start &&
            slot.time < (warp == node->warp ? node->lanes[lane] : node->barrier))
            return true;
        Knowledge* more[2] = {node->one, node->other};
        for (int i = 0; i < 2; ++i)
            if (more[i] && more[i]->visited != searches)
                more[i]->visited = searches, more[i]->next = work, work = more[i];
    }
    return false;
}

// Whether the current thread has seen an access.
UNCHECKED static inline bool is_ordered(const Slot& slot, bool is_shared) {
    if (slot.time >= block_start) {
        if (slot.thread == current - fibers || slot.time < barrier_time) return true;
        if (slot.thread / LANES == current->warp->index &&
            slot.time < seen_of_lane(current, slot.thread % LANES))
            return true;
    } else if (is_shared) {
        return true;
    }
    return knows(told[current - fibers].acquired, slot);
}

UNCHECKED static void check_fence(bool in_block) {
    if (!active) return;
    Told& mine = told[current - fibers];
    fences_used = true;
    if (mine.pending) {
        Knowledge* taken = mine.pending;
        if (in_block) {
            taken = new_knowledge();
            taken->one = mine.pending, taken->in_block = true;
        } else {
            mine.pending = nullptr;
        }
        mine.acquired = join(mine.acquired, taken);
    }
    Knowledge* fence = new_knowledge();
    fence->start = block_start, fence->barrier = barrier_time, fence->warp = current->warp->index;
    for (unsigned lane = 0; lane < LANES; ++lane) fence->lanes[lane] = seen_of_lane(current, lane);
    fence->lanes[current->lane] = ++now;
    fence->in_block = in_block;
    fence->one = mine.acquired;
    mine.fence = fence;
}

// At a barrier the knowledge of each thread passes to all. So do their fences, because often one
// thread writes a flag after a barrier that follows the fences of all.
UNCHECKED static void share(unsigned first, unsigned count, const unsigned* members) {
    Told all = {};
    for (unsigned i = 0; i < count; ++i)
        if (!members || *members >> i & 1)
            all.acquired = join(all.acquired, told[first + i].acquired),
            all.fence = join(all.fence, told[first + i].fence);
    for (unsigned i = 0; i < count; ++i)
        if (!members || *members >> i & 1)
            told[first + i].acquired = all.acquired, told[first + i].fence = all.fence;
}

// Called when the block is at a barrier.
UNCHECKED static void check_barrier() {
    barrier_time = ++now;
    if (fences_used) share(0, block.threads, nullptr);
}

// Called when lanes are at a __syncwarp. Lanes of the mask that have returned count as present.
UNCHECKED static void check_warp_barrier(Warp* warp, unsigned members, unsigned mask) {
    unsigned w = warp->index;
    now += 1;
    if (mask == ~0u) {
        warp_times[w] = now;
    } else {
        partial_times[w] = now;
        unsigned joined[LANES] = {};
        for (unsigned lane = 0; lane < LANES; ++lane)
            for (unsigned of = 0; members >> lane & 1 && of < LANES; ++of)
                joined[of] = later(joined[of], partial[w][lane][of]);
        for (unsigned lane = 0; lane < LANES; ++lane)
            for (unsigned of = 0; members >> lane & 1 && of < LANES; ++of)
                partial[w][lane][of] = mask >> of & 1 ? now : joined[of];
    }
    if (fences_used) share(w * LANES, LANES, &members);
}

// --- Messages. `{code 0x12}` is an offset in the library, which library.rs replaces by file and
// line.

UNCHECKED static const char* verb(unsigned kind) {
    return kind & ATOMIC  ? (kind & READ && kind & WRITE ? "changes atomically"
                             : kind & WRITE              ? "writes (volatile)"
                                                         : "reads (volatile)")
           : kind & WRITE ? "writes"
                          : "reads";
}

// Writes, for instance, "the 256 bytes at 0x1234 (argument 2)".
UNCHECKED static void describe(const Region& region, char (&words)[160]) {
    if (region.is_shared) {
        snprintf(words, sizeof words, "the block's %zu bytes of shared memory", region.bytes);
        return;
    }
    int n = snprintf(words, sizeof words, "the %zu bytes at %p", region.bytes, (void*)region.start);
    for (unsigned i = 0; i < argument_count; ++i) {
        uintptr_t value = (uintptr_t)argument_values[i];
        if (value >= region.start && value - region.start < region.bytes) {
            snprintf(words + n, sizeof words - n, " (argument %u)", i + 1);
            return;
        }
    }
}

// Reports an access that lies in no region, or not wholly in `nearest`.
[[noreturn]] UNCHECKED __attribute__((noinline)) static void fail_outside(
    uintptr_t address, unsigned bytes, unsigned kind, unsigned place, const Region* nearest) {
    for (unsigned i = 0; i < MAX_THREADS; ++i)
        if (address - (uintptr_t)(stacks + i * STACK_BYTES) < STACK_BYTES)
            fail("%s %u bytes of another thread's local memory {code 0x%x}", verb(kind), bytes,
                 place);
    if (!nearest)
        fail("%s %u bytes at %p, where nothing is allocated {code 0x%x}", verb(kind), bytes,
             (void*)address, place);
    char where[160];
    describe(*nearest, where);
    size_t end = nearest->start + nearest->bytes;
    if (nearest->is_gone && address < end && address >= nearest->start)
        fail("%s %u bytes at byte %zu of %s, which were given back {code 0x%x}", verb(kind), bytes,
             address - nearest->start, where, place);
    if (address < nearest->start)
        fail("%s %u bytes that begin %zu bytes before %s {code 0x%x}", verb(kind), bytes,
             nearest->start - address, where, place);
    fail("%s %u bytes that begin %zu bytes %s the end of %s {code 0x%x}", verb(kind), bytes,
         address < end ? end - address : address - end, address < end ? "before" : "after", where,
         place);
}

[[noreturn]] UNCHECKED __attribute__((noinline)) static void fail_race(const Region& region,
                                                                       size_t offset, unsigned kind,
                                                                       unsigned place,
                                                                       const Slot& slot,
                                                                       bool other_writes) {
    char where[160], other[64];
    describe(region, where);
    const char* missing = "__syncthreads";
    unsigned self = unsigned(current - fibers);
    int n = snprintf(other, sizeof other, "thread %u", slot.thread);
    if (slot.time < block_start) {
        unsigned b = block_index.x;
        while (b > 0 && block_starts[b] > slot.time) --b;
        snprintf(other + n, sizeof other - n, " of block %u", b);
        missing = "fences and a flag";
    } else if (slot.thread / LANES == self / LANES) {
        missing = "__syncwarp";
    }
    fail(
        "race at byte %zu of %s: this thread %s {code 0x%x} what %s %s %s {code 0x%x}, with no %s "
        "between them",
        offset, where, verb(kind), place, other, slot.is_atomic ? "atomically" : "plainly",
        other_writes ? "wrote" : "read", slot.place, missing);
}

// --- Accesses.

UNCHECKED static Cell* new_cells(size_t bytes) {
    void* cells = mmap(nullptr, bytes, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (cells == MAP_FAILED) fail("no memory for the checks");
    return (Cell*)cells;
}

UNCHECKED static void drop_cells(Region& region) {
    if (region.cells) munmap(region.cells, region.mapped);
    region.cells = nullptr;
}

// Ensures that the region has cells as fine as the access.
UNCHECKED static inline void prepare_cells(Region& region, size_t offset, unsigned bytes) {
    if (!region.cells) {
        region.shift = 2;
        region.mapped = (region.bytes / 4 + 1) * sizeof(Cell);
        region.cells = new_cells(region.mapped);
    }
    if (!region.shift || ((offset | bytes) & 3) == 0) return;
    size_t words = region.bytes / 4 + 1;
    Cell* cells = new_cells(words * 4 * sizeof(Cell));
    for (size_t i = 0; i < words; ++i) {
        const Cell& word = region.cells[i];
        if (!word.writes[0].time && !word.reads[0].time) continue;
        for (int k = 0; k < 4; ++k) cells[4 * i + k] = word;
    }
    drop_cells(region);
    region.cells = cells, region.mapped = words * 4 * sizeof(Cell), region.shift = 0;
}

// Records the latest access and keeps an earlier one, by another warp if there is one.
UNCHECKED static inline void keep(Slot* slots, const Slot& slot) {
    unsigned warp = slot.thread / LANES;
    bool same_warp = slots[0].time >= block_start && slots[0].thread / LANES == warp;
    bool other_warp = slots[1].time >= barrier_time && slots[1].thread / LANES != warp;
    if (!(same_warp && (other_warp || slots[0].thread == slot.thread))) slots[1] = slots[0];
    slots[0] = slot;
}

UNCHECKED static void track(Region& region, size_t offset, unsigned bytes, unsigned kind,
                            unsigned place) {
    prepare_cells(region, offset, bytes);
    Slot slot = {now, (unsigned short)(current - fibers), (kind & ATOMIC) != 0, place};
    Told& mine = told[slot.thread];
    Cell* last = region.cells + ((offset + bytes - 1) >> region.shift);
    for (Cell* cell = region.cells + (offset >> region.shift); cell <= last; ++cell) {
        for (int i = 0; i < 2; ++i) {
            const Slot &write = cell->writes[i], &read = cell->reads[i];
            size_t at = size_t(cell - region.cells) << region.shift;
            if (write.time && !(write.is_atomic && slot.is_atomic) &&
                !is_ordered(write, region.is_shared))
                fail_race(region, at, kind, place, write, true);
            if (kind & WRITE && read.time && !(read.is_atomic && slot.is_atomic) &&
                !is_ordered(read, region.is_shared))
                fail_race(region, at, kind, place, read, false);
        }
        if (kind & ATOMIC) {
            if (kind & READ) mine.pending = join(mine.pending, cell->released);
            if (kind & WRITE)
                cell->released = kind & READ ? join(cell->released, mine.fence) : mine.fence;
        } else if (kind & WRITE) {
            cell->released = nullptr;
        }
        if (!(kind & WRITE)) {
            keep(cell->reads, slot);
        } else if (kind & ATOMIC) {
            keep(cell->writes, slot);
        } else {
            // No race was found, so all recorded accesses precede this write and can go.
            cell->writes[0] = slot;
            cell->writes[1].time = cell->reads[0].time = cell->reads[1].time = 0;
        }
    }
}

// The last region that begins at or before an address.
UNCHECKED static Region* find_region(uintptr_t address) {
    size_t low = 0, high = region_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (regions[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    return low ? &regions[low - 1] : nullptr;
}

UNCHECKED __attribute__((noinline)) static void check_access(const volatile void* pointer,
                                                             size_t bytes, unsigned kind,
                                                             const void* from) {
    uintptr_t address = (uintptr_t)pointer;
    if (!active || !bytes || address - (uintptr_t)current->stack < STACK_BYTES) return;
    unsigned place = unsigned((const char*)from - image_start);
    Region* region = last_region;
    if (address - (uintptr_t)image_start < image_bytes) {
        if (address < (uintptr_t)emulated_shared_start || address >= (uintptr_t)emulated_rim_stop)
            return;
        region = &shared_region;
        if (address < region->start) fail_outside(address, unsigned(bytes), kind, place, region);
    } else if (address - region->start >= region->bytes) {
        region = find_region(address);
        if (!region ||
            (address - region->start >= region->bytes && region + 1 < regions + region_count &&
             region[1].start - address < address - region->start - region->bytes))
            region = region ? region + 1 : region_count ? regions : nullptr;
        if (!region) fail_outside(address, unsigned(bytes), kind, place, region);
    }
    size_t offset = address - region->start;
    if (address < region->start || offset >= region->bytes || bytes > region->bytes - offset ||
        region->is_gone)
        fail_outside(address, unsigned(bytes), kind, place, region);
    if (!region->is_shared) last_region = region;
    track(*region, offset, unsigned(bytes), kind, place);
}

// --- Launches.

UNCHECKED static void check_ranges(const Range* ranges, size_t count) {
    if (count + 1 > region_room) {
        region_room = 2 * count + 1;
        regions = (Region*)realloc(regions, region_room * sizeof(Region));
        if (!regions) abort();
    }
    region_count = count;
    for (size_t i = 0; i < count; ++i)
        regions[i] = {(uintptr_t)ranges[i].start,
                      (size_t)ranges[i].bytes,
                      ranges[i].is_gone != 0,
                      false,
                      nullptr,
                      0,
                      2};
    regions[count] = {};
    last_region = &regions[count];
}

UNCHECKED static void check_launch(unsigned grid) {
    const ElfW(Ehdr)* image = (const ElfW(Ehdr)*)image_start;
    const ElfW(Phdr)* parts = (const ElfW(Phdr)*)(image_start + image->e_phoff);
    for (unsigned i = 0; i < image->e_phnum; ++i)
        if (parts[i].p_type == PT_LOAD && image_bytes < parts[i].p_vaddr + parts[i].p_memsz)
            image_bytes = parts[i].p_vaddr + parts[i].p_memsz;
    block_starts = (unsigned*)realloc(block_starts, grid * sizeof(unsigned));
    if (!block_starts) abort();
    shared_region = {(uintptr_t)emulated_shared_start + SHARED_RIM,
                     size_t(emulated_shared_stop - emulated_shared_start) - SHARED_RIM,
                     false,
                     true,
                     nullptr,
                     0,
                     2};
}

UNCHECKED static void check_block() {
    block_start = barrier_time = block_starts[block_index.x] = ++now;
    if (fences_used) memset(told, 0, sizeof told);
    active = true;
}

UNCHECKED static void check_launch_end() {
    for (size_t i = 0; i < region_count; ++i) drop_cells(regions[i]);
    drop_cells(shared_region);
    region_count = 0;
    while (latest_knowledge) {
        Knowledge* earlier = latest_knowledge->earlier;
        free(latest_knowledge);
        latest_knowledge = earlier;
    }
    if (fences_used) memset(told, 0, sizeof told);
    fences_used = false;
}

UNCHECKED static void check_block_end() { active = false; }

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

static inline void check_ranges(const Range*, size_t) {}
static inline void check_launch(unsigned) {}
static inline void check_launch_end() {}
static inline void check_block() {}
static inline void check_block_end() {}
static inline void check_barrier() {}
static inline void check_warp_barrier(Warp*, unsigned, unsigned) {}
static inline void check_fence(bool) {}
template <class... P>
static inline void note_arguments(void (*)(P...), void**) {}
static inline void check_access(const volatile void*, size_t, unsigned, const void*) {}
#define CHECK_ACCESS(pointer, bytes, kind) ((void)0)

#endif

}  // namespace emulator

#if CHECKED

// --- The functions that compilers call.

#define EMULATOR_HOOK extern "C" __attribute__((visibility("hidden"), used)) UNCHECKED

#define EMULATOR_SIZE(bytes)                                                                     \
    EMULATOR_HOOK void __tsan_read##bytes(void* p) { CHECK_ACCESS(p, bytes, emulator::READ); }   \
    EMULATOR_HOOK void __tsan_write##bytes(void* p) { CHECK_ACCESS(p, bytes, emulator::WRITE); } \
    EMULATOR_HOOK void __tsan_unaligned_read##bytes(void* p) {                                   \
        CHECK_ACCESS(p, bytes, emulator::READ);                                                  \
    }                                                                                            \
    EMULATOR_HOOK void __tsan_unaligned_write##bytes(void* p) {                                  \
        CHECK_ACCESS(p, bytes, emulator::WRITE);                                                 \
    }                                                                                            \
    EMULATOR_HOOK void __tsan_volatile_read##bytes(void* p) {                                    \
        CHECK_ACCESS(p, bytes, emulator::READ | emulator::ATOMIC);                               \
    }                                                                                            \
    EMULATOR_HOOK void __tsan_volatile_write##bytes(void* p) {                                   \
        CHECK_ACCESS(p, bytes, emulator::WRITE | emulator::ATOMIC);                              \
    }                                                                                            \
    EMULATOR_HOOK void __tsan_unaligned_volatile_read##bytes(void* p) {                          \
        CHECK_ACCESS(p, bytes, emulator::READ | emulator::ATOMIC);                               \
    }                                                                                            \
    EMULATOR_HOOK void __tsan_unaligned_volatile_write##bytes(void* p) {                         \
        CHECK_ACCESS(p, bytes, emulator::WRITE | emulator::ATOMIC);                              \
    }                                                                                            \
    EMULATOR_HOOK void __tsan_read##bytes##_pc(void* p, void* from) {                            \
        emulator::check_access(p, bytes, emulator::READ, from);                                  \
    }                                                                                            \
    EMULATOR_HOOK void __tsan_write##bytes##_pc(void* p, void* from) {                           \
        emulator::check_access(p, bytes, emulator::WRITE, from);                                 \
    }
EMULATOR_SIZE(1)
EMULATOR_SIZE(2)
EMULATOR_SIZE(4)
EMULATOR_SIZE(8)
EMULATOR_SIZE(16)
#undef EMULATOR_SIZE

EMULATOR_HOOK void __tsan_read_range(void* p, size_t bytes) {
    CHECK_ACCESS(p, bytes, emulator::READ);
}
EMULATOR_HOOK void __tsan_write_range(void* p, size_t bytes) {
    CHECK_ACCESS(p, bytes, emulator::WRITE);
}
EMULATOR_HOOK void* __tsan_memcpy(void* to, const void* from, size_t bytes) {
    CHECK_ACCESS(from, bytes, emulator::READ);
    CHECK_ACCESS(to, bytes, emulator::WRITE);
    return memcpy(to, from, bytes);
}
EMULATOR_HOOK void* __tsan_memmove(void* to, const void* from, size_t bytes) {
    CHECK_ACCESS(from, bytes, emulator::READ);
    CHECK_ACCESS(to, bytes, emulator::WRITE);
    return memmove(to, from, bytes);
}
EMULATOR_HOOK void* __tsan_memset(void* to, int byte, size_t bytes) {
    CHECK_ACCESS(to, bytes, emulator::WRITE);
    return memset(to, byte, bytes);
}
EMULATOR_HOOK void __tsan_init() {}
EMULATOR_HOOK void __tsan_func_entry(void*) {}
EMULATOR_HOOK void __tsan_func_exit(void) {}

// The description of a source position that UndefinedBehaviorSanitizer passes.
struct UbsanType {
    unsigned short kind, info;
    char name[1];
};
struct UbsanData {
    const char* file;
    unsigned line, column;
    const UbsanType* type;
};

EMULATOR_HOOK void __ubsan_handle_type_mismatch_v1(UbsanData* data, void* pointer) {
    const unsigned char* log_alignment = (const unsigned char*)(data + 1);
    if (emulator::active)
        emulator::fail("%p is not aligned to %u bytes as %s wants (%s:%u)", pointer,
                       1u << *log_alignment, data->type->name, data->file, data->line);
}
EMULATOR_HOOK void __ubsan_handle_out_of_bounds(UbsanData* data, size_t index) {
    if (emulator::active)
        emulator::fail("index %zd is not one of %s (%s:%u)", index, data->type->name, data->file,
                       data->line);
}

#endif

// Sets the ranges that the kernels of the next launch may access, sorted by address.
EMULATOR_EXPORT void splatcore_ranges(const emulator::Range* ranges, size_t count) {
    emulator::check_ranges(ranges, count);
}
