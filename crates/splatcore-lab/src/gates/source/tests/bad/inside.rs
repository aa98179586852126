//! Attacks in a kernel's body.

use super::{Gate::*, Wanted};

/// Texts at the head of the kernel's body.
pub const IN_KERNEL: &[(Wanted, &str)] = &[
    (
        (Assembly, "%clock64"),
        "u64 t;\nasm volatile(\"mov.u64 %0, %%clock64;\" : \"=l\"(t));\n",
    ),
    (
        (Assembly, "%globaltimer"),
        "u64 t;\nasm(\"mov.u64 %0, %%globaltimer;\" : \"=l\"(t));\n",
    ),
    (
        (Assembly, "%smid"),
        "u32 t;\nasm(\"mov.u32 %0, %%smid;\" : \"=r\"(t));\n",
    ),
    (
        (Assembly, "%nsmid"),
        "u32 t;\nasm(\"mov.u32 %0, %%nsmid;\" : \"=r\"(t));\n",
    ),
    (
        (Assembly, "%gridid"),
        "u64 t;\nasm(\"mov.u64 %0, %%gridid;\" : \"=l\"(t));\n",
    ),
    (
        (Assembly, "%warpid"),
        "u32 t;\nasm(\"mov.u32 %0, %%war\" \"pid;\" : \"=r\"(t));\n",
    ),
    (
        (Assembly, "%envreg0"),
        "u32 t;\nasm(\"mov.b32 %0, %%envreg0;\" : \"=r\"(t));\n",
    ),
    (
        (Assembly, "%clock"),
        "asm(\"{.reg .u32 t; mov.u32 t, %clock;}\");\n",
    ),
    (
        (Assembly, "nanosleep.u32"),
        "asm volatile(\"nanosleep.u32 100;\");\n",
    ),
    ((Assembly, "trap"), "asm volatile(\"trap;\");\n"),
    (
        (Assembly, "exit"),
        "asm volatile(\"{.reg .pred p; setp.ne.u32 p, 1, 0; @p exit;}\");\n",
    ),
    ((Assembly, "ret"), "asm volatile(\"@!p ret;\");\n"),
    ((Assembly, "brkpt"), "asm volatile(\"brkpt;\");\n"),
    ((Assembly, "bra"), "asm volatile(\"bra DONE;\");\n"),
    (
        (Assembly, "DONE:"),
        "asm volatile(\"DONE: add.u32 %0, %0, 1;\" : \"+r\"(thread));\n",
    ),
    (
        (Assembly, "call"),
        "asm volatile(\"call vprintf, (a, b);\");\n",
    ),
    (
        (Assembly, "createpolicy"),
        "asm(\"createpolicy.fractional.L2::evict_last.b64 p, 1.0;\");\n",
    ),
    (
        (Assembly, "L1::evict_last"),
        "asm(\"ld.global.L1::evict_last.u32 %0, [%1];\" :: \"l\"(&x));\n",
    ),
    (
        (Assembly, "L2::256B"),
        "asm(\"ld.global.L2::256B.u32 %0, [%1];\" :: \"l\"(&x));\n",
    ),
    (
        (Assembly, ".volatile"),
        "asm(\"ld.volatile.global.u32 %0, [%1];\" :: \"l\"(&x));\n",
    ),
    (
        (Assembly, "prefetch"),
        "asm(\"prefetch.global.L2::evict_last [%0];\" :: \"l\"(&x));\n",
    ),
    (
        (Assembly, "applypriority"),
        "asm(\"applypriority.global.L2::evict_normal [%0], 128;\");\n",
    ),
    (
        (Assembly, "setmaxnreg"),
        "asm(\"setmaxnreg.inc.sync.aligned.u32 240;\");\n",
    ),
    ((Assembly, ".global"), "asm(\".global .u32 counter;\");\n"),
    ((Assembly, ".pragma"), "asm(\".pragma nounroll;\");\n"),
    (
        (Assembly, "no part"),
        "asm(\"add.u32 %0, %0, 1; // later\" : \"+r\"(thread));\n",
    ),
    (
        (Assembly, "no part"),
        "asm(\"add.u32 %0, %0, 1; # .incbin\" : \"+r\"(thread));\n",
    ),
    (
        (Assembly, "no part"),
        "asm(\"movq $60, %rax\\n syscall\");\n",
    ),
    ((Assembly, "syscall"), "asm(\"syscall\");\n"),
    (
        (Assembly, "more than strings"),
        "asm(\"mov.u32 %0, \" LATER : \"=r\"(thread));\n",
    ),
    (
        (Assembly, "operands are of"),
        "asm(\"add.u32 %0, %0, 1;\" : \"+r\"(thread) : : \"rax\");\n",
    ),
    (
        (Assembly, "operands are of"),
        "asm(\"add.u32 %0, %0, 1;\" : \"=m\"(thread));\n",
    ),
    (
        (Assembly, "is no statement"),
        "int r = 1; if (r) asm(\"trap;\") , r = 2;\n",
    ),
    (
        (Assembly, "within asm"),
        "asm(\n#if DEPTH\n\"trap;\"\n#else\n\"neg.s32 %0, %0;\"\n#endif\n);\n",
    ),
    (
        (Directives, "asm(\"name\")"),
        "int r asm(\"neg.s32 %0, %0;\");\n",
    ),
    (
        (Directives, "goto"),
        "asm goto(\"bra %l0;\" : : : : out);\n",
    ),
    ((Assembly, "__asm"), "__asm volatile(\"trap;\");\n"),
    ((Assembly, "clock64"), "long long begun = clock64();\n"),
    ((Assembly, "clock"), "auto begun = clock();\n"),
    ((Assembly, "__nanosleep"), "__nanosleep(100);\n"),
    (
        (Assembly, "__globaltimer"),
        "u64 begun = __globaltimer();\n",
    ),
    ((Assembly, "__trap"), "if (x > 7) __trap();\n"),
    ((Assembly, "__brkpt"), "__brkpt();\n"),
    ((Assembly, "__prof_trigger"), "__prof_trigger(0);\n"),
    ((Directives, "__builtin_printf"), "__builtin_printf(0);\n"),
    (
        (Directives, "__nvvm_"),
        "u32 t = __nvvm_read_ptx_sreg_clock();\n",
    ),
    ((Directives, "__ldcv"), "u32 t = __ldcv(args.stops);\n"),
    (
        (Directives, "__is_constant"),
        "if (__is_constant_evaluated()) return;\n",
    ),
    ((Directives, "printf"), "printf(0);\n"),
    (
        (Directives, "malloc"),
        "float* kept = (float*)malloc(64);\n",
    ),
    ((Directives, "new is"), "float* kept = new float[64];\n"),
    ((Directives, "throw"), "throw 1;\n"),
    ((Directives, "goto"), "goto done;\n"),
    (
        (Directives, "system"),
        "u8 words[4] = {1, 2, 3, 0};\n::system((const char*)words);\n",
    ),
    ((Directives, "mprotect"), "auto change = mprotect;\n"),
    ((Directives, "dlsym"), "dlsym(0, 0);\n"),
    ((Directives, "emulator"), "emulator::yield();\n"),
    (
        (Directives, "cudaDeviceSynchronize"),
        "cudaDeviceSynchronize();\n",
    ),
    (
        (Directives, "__cudaPushCall"),
        "__cudaPushCallConfiguration(1, 1);\n",
    ),
    (
        (Directives, "const_cast"),
        "float& w = const_cast<float&>(args.camera.focal[0]);\n",
    ),
    (
        (Directives, "pointer to a function"),
        "void (*call)(int) = (void (*)(int))args.stops;\n",
    ),
    ((Directives, "a number"), "u32 found = *(u32*)0x7fff0000;\n"),
    ((Directives, "a string"), "const char* name = \"room\";\n"),
    (
        (Directives, "[[attribute]]"),
        "[[maybe_unused]] int t = 0;\n",
    ),
    ((Conditions, "static"), "static u32 frames = 0;\n"),
    ((Conditions, "static"), "static __shared__ u32 kept;\n"),
    (
        (Conditions, "static"),
        "auto next = [] { static u32 n; return ++n; };\n",
    ),
    (
        (Conditions, "__device__ within"),
        "__device__ u32 frames;\n",
    ),
    ((Conditions, "volatile"), "volatile __shared__ u32 kept;\n"),
    (
        (Conditions, "volatile"),
        "*(volatile float*)args.image = 0.0f;\n",
    ),
    (
        (Conditions, "store_same"),
        "store_same(args.image, 0.0f);\n",
    ),
    (
        (Conditions, "mutable"),
        "auto next = [n = 0]() mutable { return ++n; };\n",
    ),
    (
        (Conditions, "EMULATED"),
        "#ifndef EMULATED\n    if (x > 100) return;\n#endif\n",
    ),
    ((Conditions, "COUNT"), "#if COUNT\n#endif\n"),
    (
        (Conditions, "width == 1920"),
        "if (args.camera.width == 1920) return;\n",
    ),
    (
        (Conditions, "width == 1920"),
        "if (1920 == args.camera.width) return;\n",
    ),
    (
        (Conditions, "width == 1920"),
        "if (((u32)args.camera.width) == (1920u)) return;\n",
    ),
    (
        (Conditions, "height >= 1080"),
        "bool is_large = args.camera.height >= 0x438;\n",
    ),
    (
        (Conditions, "tiles_x == 120"),
        "if (args.camera.tiles_x == 120) return;\n",
    ),
    (
        (Conditions, "side == 1920"),
        "u32 side = args.camera.width;\nif (side == 1920) return;\n",
    ),
    (
        (Conditions, "area > 2000000"),
        "u32 area = args.camera.width * args.camera.height;\n\
      bool is_large = area > 2000000;\n",
    ),
    (
        (Conditions, "width - 1920"),
        "if (!(args.camera.width - 1920)) return;\n",
    ),
    (
        (Conditions, "switch"),
        "switch (args.camera.width) { case 1920: return; }\n",
    ),
    (
        (Conditions, "width == 1920"),
        "#define HD_SIDE (1920)\nif (args.camera.width == HD_SIDE) return;\n",
    ),
];
