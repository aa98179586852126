//! Attacks in front of a kernel.

use super::{Gate::*, Wanted};

/// Texts in front of the kernel of blend_scalar.cu.
pub const ABOVE_KERNEL: &[(Wanted, &str)] = &[
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
        "#if DEPTH\n__device__ int f(int x) {\n#else\n__device__ int f() {\n#endif\n    return \
         1;\n}\n",
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
