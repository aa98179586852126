// Checks (checks.hpp): which accesses a thread has seen, by barriers, and by fences and flags.

namespace emulator {
#if CHECKED

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

UNCHECKED void check_fence(bool in_block) {
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

#endif
}  // namespace emulator
