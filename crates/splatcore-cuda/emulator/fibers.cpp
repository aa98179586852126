// Threads, blocks and block barriers (fibers.hpp): how fibers are switched, and how a launch runs.

// Unused bytes on both sides of shared memory, in which checks find accesses out of bounds. The
// assembly precedes all variables: the first bytes start the section, the others are a section that
// follows it.
#if CHECKED
#define SHARED_RIM 4096
__asm(R"(
    .section emulated_shared,"aw"
    .balign 4096
    .zero 4096
    .section emulated_rim,"aw"
    .zero 4096
    .text
)");
extern "C" char __stop_emulated_rim[] __attribute__((visibility("hidden")));
#define emulated_rim_stop __stop_emulated_rim
#else
#define SHARED_RIM 0
#endif

// Switches stacks: pushes the registers that a function must preserve, stores the stack pointer at
// the address in the first argument and loads it from the second argument. It ends with a return,
// which the processor predicts, because the lanes of a warp wait at the same call.
extern "C" void emulator_switch(void** save, void* load) __asm("emulator_switch");
#if defined(__x86_64__)
__asm(R"(
    .text
    .p2align 4
emulator_switch:
    pushq %rbp
    pushq %rbx
    pushq %r12
    pushq %r13
    pushq %r14
    pushq %r15
    movq %rsp, (%rdi)
    movq %rsi, %rsp
    popq %r15
    popq %r14
    popq %r13
    popq %r12
    popq %rbx
    popq %rbp
    ret
)");
#elif defined(__aarch64__)
__asm(R"(
    .text
    .p2align 4
emulator_switch:
    sub sp, sp, #160
    stp x19, x20, [sp, #0]
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    stp d8, d9, [sp, #96]
    stp d10, d11, [sp, #112]
    stp d12, d13, [sp, #128]
    stp d14, d15, [sp, #144]
    mov x9, sp
    str x9, [x0]
    mov sp, x1
    ldp x19, x20, [sp, #0]
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp x29, x30, [sp, #80]
    ldp d8, d9, [sp, #96]
    ldp d10, d11, [sp, #112]
    ldp d12, d13, [sp, #128]
    ldp d14, d15, [sp, #144]
    add sp, sp, #160
    ret
)");
#else
#error "the emulator knows x86-64 and aarch64"
#endif

namespace emulator {

constexpr unsigned long long CANARY = 0x5AFE57AC5AFE57ACull;
// A launch with this many yields in a row without progress counts as hung.
constexpr unsigned MAX_YIELDS = 1u << 25;

Fiber fibers[MAX_THREADS];
static Warp warps[MAX_THREADS / LANES];
Block block;
Fiber* current;
dim3 block_index, block_size, grid_size;
static void* main_stack;
static char* stacks;
static char* free_stacks[MAX_THREADS];
static unsigned free_count, yields;
unsigned long long blocks_started;
static Invoke invoke;
static void** invoke_arguments;
static const char* kernel_name;
static bool backward;
static bool failed;
static char message[4096];
#if !CHECKED
// The section must exist even if no kernel uses shared memory.
__attribute__((used)) __shared__ unsigned long long some_shared = 0;
#endif

// The events that checks.hpp receives.
static void check_launch(unsigned grid);
static void check_launch_end();
static void check_block();
static void check_block_end();
static void check_barrier();

UNCHECKED void fail(const char* format, ...) {
    int n = snprintf(message, sizeof message, "kernel %s, block %u, thread %u: ", kernel_name,
                     block_index.x, unsigned(current - fibers));
    va_list values;
    va_start(values, format);
    vsnprintf(message + n, sizeof message - n, format, values);
    va_end(values);
    failed = true;
    void* nowhere;
    emulator_switch(&nowhere, main_stack);
    abort();
}

// Ends the launch with a message that lists where each thread waits.
[[noreturn]] UNCHECKED __attribute__((noinline)) static void deadlock() {
    size_t n = snprintf(message, sizeof message,
                        "kernel %s, block %u: no thread can go on:", kernel_name, block_index.x);
    unsigned shown = 0;
    for (unsigned w = 0; w < block.warps; ++w) {
        unsigned left = warps[w].present;
        while (left) {
            unsigned lane = __builtin_ctz(left), group = 0;
            const Fiber& one = fibers[w * LANES + lane];
            bool collective = warps[w].waiting >> lane & 1;
            for (unsigned j = lane; j < LANES; ++j) {
                const Place& place = fibers[w * LANES + j].place;
                if (left >> j & 1 && place.line == one.place.line && place.call == one.place.call &&
                    (warps[w].waiting >> j & 1) == collective &&
                    (!collective || warps[w].mask[j] == warps[w].mask[lane]))
                    group |= 1u << j;
            }
            left &= ~group;
            if (++shown > 12 || n > sizeof message - 256) continue;
            n += snprintf(message + n, sizeof message - n,
                          "%s warp %u lanes 0x%08x wait at %s (%s:%d)", shown > 1 ? ";" : "", w,
                          group, one.place.call, one.place.file, one.place.line);
            if (collective) {
                unsigned wanted = warps[w].mask[lane] & warps[w].present & ~group;
                n += snprintf(message + n, sizeof message - n,
                              " with mask 0x%08x, for lanes 0x%08x", warps[w].mask[lane], wanted);
            }
        }
    }
    if (shown > 12) snprintf(message + n, sizeof message - n, "; and %u groups more", shown - 12);
    failed = true;
    void* nowhere;
    emulator_switch(&nowhere, main_stack);
    abort();
}

// The next thread of a warp that has a ready thread; the lanes take turns.
UNCHECKED static inline Fiber* take(Warp* warp) {
    unsigned lane;
    if (backward) {
        unsigned below = warp->ready & ((1u << warp->last) - 1);
        lane = 31 - __builtin_clz(below ? below : warp->ready);
    } else {
        unsigned above = warp->ready & ~((2u << warp->last) - 1);
        lane = __builtin_ctz(above ? above : warp->ready);
    }
    warp->last = lane;
    warp->ready &= ~(1u << lane);
    return &fibers[warp->index * LANES + lane];
}

// The next ready thread of the block: from the current warp if it has one and `leave` is false.
// Null if no thread is ready.
UNCHECKED static inline Fiber* pick(bool leave) {
    unsigned here = current->warp->index;
    if (!leave && warps[here].ready) return take(&warps[here]);
    for (unsigned step = 1; step <= block.warps; ++step) {
        unsigned w = backward ? here + block.warps - step : here + step;
        w = w >= block.warps ? w - block.warps : w;
        if (warps[w].ready) return take(&warps[w]);
    }
    return nullptr;
}

static void fiber_main();

// Gives a thread a stack, prepared so that the first switch to it starts the thread.
UNCHECKED static inline void start(Fiber* fiber) {
    fiber->stack = free_stacks[--free_count];
    uintptr_t top = (uintptr_t)(fiber->stack + STACK_BYTES) & ~(uintptr_t)63;
#if defined(__x86_64__)
    void** frame = (void**)(top - 64);
    frame[6] = (void*)fiber_main;
    frame[7] = nullptr;
#else
    void** frame = (void**)(top - 160);
    frame[11] = (void*)fiber_main;
    frame[10] = nullptr;
#endif
    fiber->saved = frame;
}

UNCHECKED static inline void go_to(Fiber* next) {
    Fiber* me = current;
    if (next == me) return;
    if (!next->stack) start(next);
    current = next;
    emulator_switch(&me->saved, next->saved);
    __asm volatile("" ::: "memory");
}

// Runs other threads until one of them makes the current thread ready.
UNCHECKED static inline void wait() {
    Fiber* next = pick(false);
    if (!next) deadlock();
    go_to(next);
}

UNCHECKED void yield() {
    if (++yields > MAX_YIELDS)
        fail("threads only wait for one another (in atomicCAS or __nanosleep)");
    current->warp->ready |= 1u << current->lane;
    go_to(pick(true));
}

UNCHECKED static void complete_barrier() {
    yields = 0;
    check_barrier();
    block.result = block.count;
    block.of = block.arrived;
    block.arrived = block.count = 0;
    for (unsigned w = 0; w < block.warps; ++w) {
        warps[w].ready |= warps[w].at_barrier;
        warps[w].at_barrier = 0;
    }
}

UNCHECKED void barrier(const char* call, bool predicate, const char* file, int line) {
    Fiber* me = current;
    me->place = {call, file, line};
    me->warp->at_barrier |= 1u << me->lane;
    block.count += predicate;
    if (++block.arrived == block.alive) {
        complete_barrier();
        me->warp->ready &= ~(1u << me->lane);
    } else {
        wait();
    }
    __asm volatile("" ::: "memory");
}

static void recheck(Warp* warp);

// The lowest word of a stack. A thread writes to it only if its stack overflows.
UNCHECKED static inline unsigned long long* canary(char* stack) {
    return (unsigned long long*)stack;
}

UNCHECKED static void leave() {
    Fiber* me = current;
    Warp* warp = me->warp;
    if (*canary(me->stack) != CANARY) {
        *canary(me->stack) = CANARY;
        fail("the stack of %u KiB overflowed", unsigned(STACK_BYTES / 1024));
    }
    yields = 0;
    warp->present &= ~(1u << me->lane);
    block.alive -= 1;
    if (warp->waiting) recheck(warp);
    if (block.arrived && block.arrived == block.alive) complete_barrier();
}

// The function that runs on each fiber's stack. A thread that ends passes its stack to one that has
// not started, so a kernel without barriers runs as a plain loop.
UNCHECKED static void fiber_main() {
    for (;;) {
        invoke(invoke_arguments);
        leave();
        char* stack = current->stack;
        current->stack = nullptr;
        void* nowhere;
        if (!block.alive) {
            free_stacks[free_count++] = stack;
            emulator_switch(&nowhere, main_stack);
            abort();
        }
        Fiber* next = pick(false);
        if (!next) deadlock();
        current = next;
        if (next->stack) {
            free_stacks[free_count++] = stack;
            emulator_switch(&nowhere, next->saved);
            abort();
        }
        next->stack = stack;
    }
}

// Marks all stacks as free, also those of a launch that failed.
UNCHECKED static bool prepare_stacks() {
    if (!stacks) {
        void* mapped = mmap(nullptr, (MAX_THREADS + 1) * STACK_BYTES, PROT_READ | PROT_WRITE,
                            MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (mapped == MAP_FAILED) return false;
        // The space below the first stack takes its overflow.
        stacks = (char*)mapped + STACK_BYTES;
        for (unsigned i = 0; i < MAX_THREADS; ++i) *canary(stacks + i * STACK_BYTES) = CANARY;
    }
    free_count = 0;
    for (unsigned i = MAX_THREADS; i-- > 0;) free_stacks[free_count++] = stacks + i * STACK_BYTES;
    return true;
}

UNCHECKED static void run_block() {
    poison(emulated_shared_start + SHARED_RIM,
           emulated_shared_stop - emulated_shared_start - SHARED_RIM);
    blocks_started += 1;
    unsigned threads = block.threads;
    block = {threads, (threads + LANES - 1) / LANES, threads, 0, 0, 0, 0};
    for (unsigned w = 0; w < block.warps; ++w) {
        unsigned lanes = threads - w * LANES;
        unsigned present = lanes >= LANES ? ~0u : (1u << lanes) - 1;
        warps[w].index = w;
        warps[w].last = backward ? 0 : 31;
        warps[w].present = warps[w].ready = present;
        warps[w].waiting = warps[w].at_barrier = 0;
    }
    for (unsigned i = 0; i < threads; ++i) fibers[i].stack = nullptr;
    current = take(&warps[backward ? block.warps - 1 : 0]);
    start(current);
    check_block();
    emulator_switch(&main_stack, current->saved);
    __asm volatile("" ::: "memory");
    check_block_end();
}

UNCHECKED int launch(const char* name, unsigned grid, unsigned threads, void** arguments,
                     Invoke kernel) {
    kernel_name = name;
    failed = false;
    if (grid == 0 || grid > 0x7fffffffu || threads == 0 || threads > MAX_THREADS ||
        !prepare_stacks()) {
        snprintf(message, sizeof message,
                 "kernel %s: a launch of %u blocks of %u threads is not possible", name, grid,
                 threads);
        return 1;
    }
    invoke = kernel;
    invoke_arguments = arguments;
    grid_size = dim3(grid);
    block_size = dim3(threads);
    block.threads = threads;
    yields = 0;
    for (unsigned i = 0; i < threads; ++i) {
        fibers[i].warp = &warps[i / LANES];
        fibers[i].lane = i % LANES;
        fibers[i].thread = {i, 0, 0};
    }
    check_launch(grid);
    for (unsigned b = 0; b < grid && !failed; ++b) {
        block_index = dim3(b);
        block_index.y = block_index.z = 0;
        run_block();
    }
    check_launch_end();
    return failed;
}

}  // namespace emulator

EMULATOR_EXPORT const char* splatcore_message() { return emulator::message; }
// Sets whether lanes and warps take turns from the last to the first.
EMULATOR_EXPORT void splatcore_backward(int on) { emulator::backward = on != 0; }
