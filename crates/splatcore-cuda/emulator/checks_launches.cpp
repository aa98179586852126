// Checks (checks.hpp): the begin and end of a launch and of a block.

namespace emulator {
#if CHECKED

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

#endif
}  // namespace emulator
