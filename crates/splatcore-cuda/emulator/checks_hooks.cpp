// Checks (checks.hpp): the functions that compilers call before accesses.

#if CHECKED

#define EMULATOR_HOOK extern "C" UNCHECKED

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
