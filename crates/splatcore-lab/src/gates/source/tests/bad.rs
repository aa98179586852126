//! Attacks, each stopped by the gate that it names with a line for people.

use super::*;
use Gate::{Assembly, Conditions, Directives, Files, Interface};

/// In front of the kernel of blend_scalar.cu.
const ABOVE: &str = "extern \"C\" __global__ void __launch_bounds__(BLOCK)";
/// In its body.
const INSIDE: &str = "    float px = x + 0.5f, py = y + 0.5f;\n";

/// A word of the rejection, and the gate that must say it.
type Wanted = (Gate, &'static str);

/// Texts in front of the kernel.
const ABOVE_KERNEL: &[(Wanted, &str)] = &[
    // What hides in characters, comments and splices.
    ((Files, "trigraph"), "??=define A 1\n"),
    ((Files, "trigraph"), "// what is this??/\nint counter;\n"),
    ((Files, "digraph"), "%:define A 1\n"),
    ((Files, "hides the next line"), "// two\\\nint counter;\n"),
    ((Files, "backslash"), "a\\\nsm(\"exit;\");\n"),
    ((Files, "backslash"), "\\u0061sm(\"exit;\");\n"),
    ((Files, "none of C++'s"), "__device__ int \u{430}sm;\n"),
    ((Files, "U+202E"), "/* \u{202e} } */ \n"),
    ((Files, "U+000D"), "// a\rint counter;\n"),
    ((Files, "U+0000"), "// a\0\n"),
    ((Files, "prefix"), "static_assert(true, R\"(a)\");\n"),
    ((Files, "escape"), "static_assert(true, \"\\x41\");\n"),
    (
        (Files, "begins with #"),
        "/*\n#include \"matrix.cuh\"\n*/\n",
    ),
    ((Files, "first thing"), "int x; # define A 1\n"),
    ((Files, "without an end"), "/* int x;\n"),
    (
        (Files, "join names"),
        "#define JOIN(a, b) a##b\nJOIN(as, m)(\"exit;\");\n",
    ),
    ((Files, "join names"), "#define SAY(a) #a\n"),
    // Directives.
    ((Directives, "no header"), "#include \"stdio.h\"\n"),
    ((Directives, "\"NAME.cuh\""), "#include <cuda_fp16.h>\n"),
    (
        (Directives, "\"NAME.cuh\""),
        "#define HEADER_NAME 1\n#include HEADER_NAME\n",
    ),
    ((Directives, "no header"), "#include \"/etc/passwd\"\n"),
    ((Directives, "no header"), "#include \"blend_seele.cu\"\n"),
    (
        (Directives, "under a condition"),
        "#if 0\n#include \"matrix.cuh\"\n#endif\n",
    ),
    (
        (Directives, "__has_include"),
        "#if __has_include(\"/etc/passwd\")\n#endif\n",
    ),
    ((Directives, "#embed"), "#embed \"/etc/passwd\"\n"),
    ((Directives, "#line"), "#line 1 \"blend.cuh\"\n"),
    ((Directives, "#error"), "#error stop\n"),
    ((Directives, "#undef"), "#undef WARP\n"),
    ((Directives, "#import"), "#import \"a\"\n"),
    ((Directives, "# is none"), "#\n"),
    ((Directives, "#pragma"), "#pragma GCC optimize(\"O0\")\n"),
    ((Directives, "#pragma"), "#pragma push_macro(\"WARP\")\n"),
    ((Directives, "#pragma"), "#pragma nv_diag_suppress 1\n"),
    (
        (Directives, "_Pragma"),
        "#define PLEASE _Pragma(\"unroll\")\n",
    ),
    ((Directives, "_Pragma"), "_Pragma(\"once\")\n"),
    ((Directives, "#if without"), "#if DEPTH\n"),
    ((Directives, "without its #if"), "#endif\n"),
    // Macros.
    ((Directives, "not in capitals"), "#define if(x) while (x)\n"),
    (
        (Directives, "not in capitals"),
        "#define begin_kernel() (0)\n",
    ),
    (
        (Directives, "not in capitals"),
        "#define fmaf(a, b, c) ((a) * (b))\n",
    ),
    ((Directives, "already means"), "#define WARP 16\n"),
    ((Directives, "already means"), "#define BLOCK 64\n"),
    ((Directives, "already means"), "#define ALPHA_MIN 0.5f\n"),
    ((Directives, "own name"), "#define EMULATED 1\n"),
    ((Directives, "own name"), "#define EMULATOR_KERNEL 1\n"),
    ((Directives, "HAS_SM80"), "#define HAS_SM80 0\n"),
    ((Directives, "is empty"), "#define NONE_AT_ALL\n"),
    ((Directives, "takes parameters"), "#define ID(x) x\n"),
    (
        (Directives, "closes none"),
        "#define ID(x) x\n[ID([)noreturn]]\n",
    ),
    ((Directives, "holds ;"), "#define ENDS 1; int counter\n"),
    ((Directives, "no expression"), "#define HIDES u32 counter\n"),
    ((Directives, "no expression"), "#define HIDES int counter\n"),
    (
        (Directives, "begins with ["),
        "#define BEFORE [gnu::constructor]\n",
    ),
    ((Directives, "holds \"C\""), "#define LINKAGE \"C\"\n"),
    ((Directives, "holds {"), "#define OPENS {\n"),
    ((Directives, "balance"), "#define OPENS (1\n"),
    (
        (Directives, "holds begin_kernel"),
        "#define LATER begin_kernel\n",
    ),
    ((Directives, "holds asm"), "#define SAYS asm\n"),
    (
        (Directives, "holds __shared__"),
        "#define STAYS __shared__\n",
    ),
    (
        (Directives, "holds width"),
        "#define IS_HD (args.camera.width == 1920)\n",
    ),
    ((Conditions, "static"), "#define STAYS static\n"),
    (
        (Directives, "4096"),
        "#define AA (BB + BB)\n#define BB (CC + CC + CC + CC)\n#define CC (DD * DD * DD * DD * \
         DD)\n#define DD (EE + EE + EE + EE + EE + EE + EE + EE)\n#define EE (1 + 1 + 1 + 1 + 1 + \
         1 + 1 + 1 + 1 + 1 + 1 + 1 + 1 + 1)\n",
    ),
    // Attributes and host code.
    (
        (Directives, "[[attribute]]"),
        "[[gnu::constructor]] __device__ void f(int) {}\n",
    ),
    (
        (Directives, "__attribute__"),
        "__attribute__((constructor)) __device__ void f(int) {}\n",
    ),
    ((Directives, "__declspec"), "__declspec(dllexport) int x;\n"),
    (
        (Directives, "__host__"),
        "__host__ __device__ int f(int x) { return x; }\n",
    ),
    ((Directives, "extern"), "extern int other;\n"),
    (
        (Directives, "system is a host's"),
        "extern \"C\" int system(const char*);\n",
    ),
    ((Directives, "extern"), "extern \"C\" {\n}\n"),
    (
        (Directives, "__global__"),
        "template <int N>\n__global__ void k(int* x) { *x = N; }\n",
    ),
    ((Directives, "namespace"), "namespace std {\n}\n"),
    ((Directives, "emulator"), "using namespace emulator;\n"),
    ((Directives, "std"), "using std::swap;\n"),
    ((Directives, "closes none"), "}\n"),
    (
        (Directives, "closes none"),
        "}  // the unnamed namespace's\nint counter;\nstruct A {\n",
    ),
    (
        (Directives, "balance in a branch"),
        "#if DEPTH\n__device__ int f(int x) {\n#else\n__device__ int f() {\n#endif\n    return 1;\n}\n",
    ),
    (
        (Directives, "within a declaration"),
        "struct Two {\n    u32 a;\n}\n#if DEPTH\ncounter\n#endif\n;\n",
    ),
    (
        (Directives, "a string"),
        "constexpr char LETTER = \"a\"[0];\n",
    ),
    (
        (Directives, "alignment"),
        "struct alignas(1 << 20) Wide {\n    u32 a;\n};\n",
    ),
    (
        (Directives, "alignment"),
        "struct alignas(65536) Wide {\n    u32 a;\n};\n",
    ),
    (
        (Directives, "pointer to a function"),
        "typedef void (*Call)(int);\n",
    ),
    (
        (Directives, "and is a host's"),
        "static_assert(true and true, \"a\");\n",
    ),
    // State.
    ((Conditions, "variable outside"), "int counter;\n"),
    (
        (Conditions, "variable outside"),
        "__device__ u32 frames = 0;\n",
    ),
    (
        (Conditions, "variable outside"),
        "__device__ u32 cache[64];\n",
    ),
    (
        (Conditions, "variable outside"),
        "__device__ constexpr float TABLE[2] = {1, 2};\n",
    ),
    (
        (Conditions, "variable outside"),
        "inline int counter = 0;\n",
    ),
    (
        (Conditions, "variable outside"),
        "const u32 STARTED = now();\n",
    ),
    (
        (Conditions, "variable outside"),
        "struct Starts {\n    u32 a;\n} starts;\n",
    ),
    (
        (Conditions, "variable outside"),
        "struct {\n    u32 a;\n} starts;\n",
    ),
    (
        (Conditions, "variable outside"),
        "template <class T>\n__device__ T kept;\n",
    ),
    (
        (Conditions, "variable outside"),
        "auto started = [] { return 1; }();\n",
    ),
    (
        (Conditions, "variable outside"),
        "__device__ int counter{0};\n",
    ),
    (
        (Conditions, "variable outside"),
        "__device__ int (counter);\n",
    ),
    (
        (Conditions, "variable outside"),
        "#define NOWHERE 1\n__device__ NOWHERE(counter);\n",
    ),
    (
        (Conditions, "variable outside"),
        "constexpr u32 ONE = 1, TWO = 2;\n",
    ),
    ((Conditions, "variable outside"), ";\n"),
    (
        (Conditions, "__constant__"),
        "__constant__ float table[4];\n",
    ),
    ((Conditions, "static"), "static u32 counter;\n"),
    (
        (Conditions, "static"),
        "struct Kept {\n    static u32 counter;\n};\n",
    ),
    (
        (Conditions, "static"),
        "template <int N>\nstruct Kept {\n    static inline u32 n = N;\n};\n",
    ),
    ((Conditions, "thread_local"), "thread_local u32 counter;\n"),
    (
        (Conditions, "__shared__ outside"),
        "struct Kept {\n    __shared__ u32 n;\n};\n",
    ),
    // Conditions.
    ((Conditions, "EMULATED"), "#ifdef EMULATED\n#endif\n"),
    ((Conditions, "EMULATED"), "#define FAST (EMULATED + 1)\n"),
    (
        (Conditions, "__CUDA_ARCH__"),
        "#if __CUDA_ARCH__ > 0\n#endif\n",
    ),
    (
        (Conditions, "__CUDACC_RTC__"),
        "#ifdef __CUDACC_RTC__\n#endif\n",
    ),
    ((Conditions, "CHECKED"), "#if CHECKED\n#endif\n"),
    ((Conditions, "COUNT"), "#if !COUNT\n#endif\n"),
    ((Conditions, "__GNUC__"), "#if defined(__GNUC__)\n#endif\n"),
    ((Conditions, "PROT_EXEC"), "#ifdef PROT_EXEC\n#endif\n"),
    ((Conditions, "M_PI"), "#if defined M_PI\n#endif\n"),
    (
        (Conditions, "NULL"),
        "#ifndef NULL\n#define NULL 0\n#endif\n",
    ),
    (
        (Conditions, "BUFSIZ"),
        "#if BUFSIZ\n#endif\n#define BUFSIZ 1\n",
    ),
    (
        (Conditions, "BUFSIZ"),
        "#if 0\n#define BUFSIZ 1\n#endif\n#if BUFSIZ\n#endif\n",
    ),
    ((Directives, "__COUNTER__"), "#if __COUNTER__ > 3\n#endif\n"),
    (
        (Directives, "__TIME__"),
        "constexpr char HOUR = __TIME__;\n",
    ),
    // Interface.
    (
        (Interface, "begin_kernel"),
        "// begin_kernel();\nstruct A1 {};\n",
    ),
    (
        (Interface, "not stand there as often"),
        "// extern \"C\" __global__\nstruct A1 {};\n",
    ),
    (
        (Interface, "begin_kernel"),
        "__device__ void begin_kernel(int) {}\n",
    ),
    // Assembly.
    (
        (Assembly, "outside a function"),
        "asm(\"add.u32 %0, %0;\");\n",
    ),
    ((Assembly, ".incbin"), "asm(\".incbin \\n\");\n"),
    ((Assembly, "__asm__"), "__asm__(\"nop\");\n"),
];

#[test]
fn attacks_above_the_kernel_are_stopped() {
    let texts = kernels();
    let baseline = Baseline::of(&texts);
    assert!(ABOVE_KERNEL.len() > 60);
    let judged = ABOVE_KERNEL.iter().map(|(wanted, text)| {
        let said = baseline.judge_edit("blend_scalar.cu", ABOVE, &format!("{text}{ABOVE}"));
        (*wanted, *text, said)
    });
    assert_stopped(judged);
}

/// Each is stopped by its gate, with a line that has the word, the file and the line's number.
fn assert_stopped<'a>(judged: impl Iterator<Item = (Wanted, &'a str, Result<(), Rejection>)>) {
    let mut wrong = Vec::new();
    for ((gate, word), text, said) in judged {
        let Err(said) = said else {
            wrong.push(format!("not stopped: {text:?}"));
            continue;
        };
        let place = said.reason.split_once(": ").map_or("", |(place, _)| place);
        let number = place
            .rsplit_once(':')
            .map(|(_, number)| number.parse::<u32>());
        let is_placed = matches!(number, Some(Ok(_))) || gate == Files;
        let is_right = said.gate == gate && said.reason.contains(word);
        if !is_right || !is_placed || said.reason.contains('\n') {
            wrong.push(format!("{text:?}: {said}; wanted {gate}: {word}"));
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
}

/// Texts at the head of the kernel's body.
const IN_KERNEL: &[(Wanted, &str)] = &[
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

#[test]
fn attacks_in_the_kernel_are_stopped() {
    let texts = kernels();
    let baseline = Baseline::of(&texts);
    let judged = IN_KERNEL.iter().map(|(wanted, text)| {
        let said = baseline.judge_edit("blend_scalar.cu", INSIDE, &format!("{INSIDE}{text}"));
        (*wanted, *text, said)
    });
    assert_stopped(judged);
}

/// File, passage, what takes its place.
const PASSAGES: &[(Wanted, &str, &str, &str)] = &[
    // Twins, and what tells them apart.
    (
        (Conditions, "emulated branch"),
        "device.cuh",
        "    return exp2f(x);\n",
        "    return 0.0f;\n",
    ),
    (
        (Conditions, "emulated branch"),
        "device.cuh",
        "#ifdef EMULATED\n    return exp2f(x);\n",
        "#ifndef EMULATED\n    return exp2f(x);\n",
    ),
    (
        (Conditions, "emulated branch"),
        "device.cuh",
        "#if !defined(EMULATED) && __CUDA_ARCH__ >= 900",
        "#if defined(EMULATED) && __CUDA_ARCH__ >= 900",
    ),
    // The wait of all kernels.
    (
        (Interface, "begin_kernel"),
        "device.cuh",
        "    asm volatile(\"griddepcontrol.wait;\" ::: \"memory\");\n",
        "",
    ),
    (
        (Interface, "begin_kernel"),
        "device.cuh",
        "void begin_kernel() {",
        "int begin_kernel() {",
    ),
    (
        (Interface, "begin_kernel"),
        "blend_scalar.cu",
        "    begin_kernel();\n    __shared__ Batch batch;\n",
        "    __shared__ Batch batch;\n    begin_kernel();\n",
    ),
    (
        (Interface, "begin_kernel"),
        "blend_scalar.cu",
        "    begin_kernel();\n",
        "#if DEPTH\n    begin_kernel();\n#endif\n",
    ),
    (
        (Interface, "not stand there as often"),
        "blend_scalar.cu",
        "begin_kernel();",
        "begin_kernel ();;",
    ),
    (
        (Interface, "begin_kernel"),
        "blend_scalar.cu",
        "    begin_kernel();\n",
        "",
    ),
    // Kernels and structs.
    (
        (Interface, "stands where blend was"),
        "blend_scalar.cu",
        "    blend(const",
        "    blend2(const",
    ),
    (
        (Interface, "is declared as"),
        "blend_scalar.cu",
        "blend(const __grid_constant__ BlendParams args)",
        "blend(const BlendParams args)",
    ),
    (
        (Interface, "is declared as"),
        "blend_scalar.cu",
        "BlendParams args) {",
        "BlendParams args, int frame) {",
    ),
    (
        (Interface, "BlendParams is not as"),
        "blend.cuh",
        "    u32* stops; ",
        "    float* history;\n    u32* stops; ",
    ),
    (
        (Interface, "Camera is not as"),
        "splat.cuh",
        "    u32 width, height; ",
        "    u32 height, width; ",
    ),
    (
        (Interface, "Counters"),
        "splat.cuh",
        "struct Counters {",
        "struct Counters2 {",
    ),
    (
        (Interface, "Rates"),
        "adam.cu",
        "struct Rates {",
        "struct Rates : Camera {",
    ),
    // What the baseline has may stay where it is, not come again.
    (
        (Conditions, "store_same"),
        "device.cuh",
        "    return value;\n}\n\n// Inclusive sum",
        "    store_same(&value, value);\n    return value;\n}\n\n// Inclusive sum",
    ),
    (
        (Conditions, "is a constant"),
        "blend_interpolated.cu",
        "    uint4 weights = WEIGHTS.lanes[lane];",
        "    uint4 weights = ((uint4*)&WEIGHTS)[lane];",
    ),
    (
        (Conditions, "is a constant"),
        "blend_interpolated.cu",
        "    uint4 weights = WEIGHTS.lanes[lane];",
        "    float* kept = (float*)SPLINE;\n    uint4 weights = WEIGHTS.lanes[lane];",
    ),
    (
        (Conditions, "variable outside"),
        "blend_interpolated.cu",
        "__device__ constexpr Weights WEIGHTS;",
        "__device__ Weights WEIGHTS;",
    ),
    (
        (Directives, "already means"),
        "blend.cuh",
        "#pragma once\n",
        "#pragma once\n#define BLOCK 64\n",
    ),
    (
        (Directives, "holds ;"),
        "half_rows.cuh",
        "#define BATCH 16",
        "#define BATCH 16; int x",
    ),
    (
        (Directives, "takes parameters"),
        "half_rows.cuh",
        "#define BATCH 16",
        "#define BATCH(x) x",
    ),
    (
        (Directives, "an #include"),
        "blend.cuh",
        "    if (start + threadIdx.x >= end) return;\n",
        "#include \"matrix.cuh\"\n    if (start + threadIdx.x >= end) return;\n",
    ),
    ((Assembly, "%smid"), "device.cuh", "%%lanemask_lt", "%%smid"),
    (
        (Assembly, "trap"),
        "device.cuh",
        "\"ex2.approx.ftz.f32 %0, %1;\"",
        "\"trap;\"",
    ),
    (
        (Files, "no token differs"),
        "blend.cuh",
        "// The parameters of every blend",
        "// These",
    ),
];

#[test]
fn attacks_in_other_places_are_stopped() {
    let texts = kernels();
    let baseline = Baseline::of(&texts);
    let judged = PASSAGES
        .iter()
        .map(|(wanted, file, from, to)| (*wanted, *to, baseline.judge_edit(file, from, to)));
    assert_stopped(judged);
}

#[test]
fn files_are_the_tasks() {
    let texts = kernels();
    let changed = |file: &str, text: String| Texts::from([(file.to_owned(), text)]);
    let of = |file: &str| format!("{}struct A1 {{}};\n", texts[file]);
    let said = |changed: &Texts| check(&texts, &["blend_scalar.cu"], changed).unwrap_err();
    assert!(
        check(
            &texts,
            &["blend_scalar.cu"],
            &changed("blend_scalar.cu", of("blend_scalar.cu"))
        )
        .is_ok()
    );
    for (changed, word) in [
        (
            changed("blend.cuh", of("blend.cuh")),
            "change only blend_scalar.cu",
        ),
        (
            changed("blend_scaler.cu", of("blend.cuh")),
            "takes the place of no kernel file",
        ),
        (
            changed("../blend_scalar.cu", of("blend.cuh")),
            "takes the place of no kernel file",
        ),
        (Texts::new(), "no token differs"),
        (
            changed("blend_scalar.cu", of("blend_scalar.cu").repeat(40)),
            "bytes, ",
        ),
    ] {
        let said = said(&changed);
        assert!(said.gate == Files && said.reason.contains(word), "{said}");
    }
}
