// Checks (checks.hpp): the check of an access, and the messages about accesses that are wrong.

namespace emulator {
#if CHECKED

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

UNCHECKED void check_access(const volatile void* pointer, size_t bytes, unsigned kind,
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

#endif
}  // namespace emulator
