//! Names by what they reach: a host's functions, clocks, state, the build's own macros.

use std::collections::HashSet;
use std::sync::LazyLock;

type Names = LazyLock<HashSet<&'static str>>;

macro_rules! names {
    ($($text:literal)+) => {
        LazyLock::new(|| [$($text),+].iter().flat_map(|line| line.split(' ')).collect())
    };
}

/// Keywords of host code, and of definitions that are more than they look like.
pub static HOST_KEYWORDS: Names = names! {
    "__host__ __global__ throw try catch new delete virtual friend goto typeid dynamic_cast"
    "const_cast namespace std extern export import module requires concept co_await co_yield"
    "co_return register explicit_instantiation consteval constinit"
    "and or not xor bitand bitor compl and_eq or_eq xor_eq not_eq"
};

/// What the headers in front of emulated kernels declare and a kernel has no use for: input and
/// output, memory of the process, time, the environment, the loader. Functions of numbers and bytes
/// alone (`expf`, `memcpy`) are not among them. A test compares this with the headers.
static HOST_FUNCTIONS: Names = names! {
    "alloca aligned_alloc arc4random arc4random_buf arc4random_uniform asctime asctime_r asprintf"
    "at_quick_exit atexit atof atoi atol atoll a64l l64a abort assert basename bsearch calloc"
    "canonicalize_file_name clearenv clearerr clearerr_unlocked clock_adjtime clock_getcpuclockid"
    "clock_getres clock_gettime clock_nanosleep clock_settime ctermid ctime ctime_r cuserid"
    "difftime dl_iterate_phdr dladdr dladdr1 dlclose dlerror dlinfo dlmopen dlopen dlsym dlvsym"
    "dprintf drand48 drand48_r dysize ecvt ecvt_r erand48 erand48_r errno exit _exit _Exit"
    "explicit_bzero fclose fcloseall fcvt fcvt_r fdopen feof feof_unlocked ferror ferror_unlocked"
    "fflush fflush_unlocked fgetc fgetc_unlocked fgetpos fgetpos64 fgets fgets_unlocked fileno"
    "fileno_unlocked flockfile fmemopen fopen fopen64 fopencookie fprintf fputc fputc_unlocked"
    "fputs fputs_unlocked fread fread_unlocked free freopen freopen64 fscanf fseek fseeko"
    "fseeko64 fsetpos fsetpos64 ftell ftello ftello64 ftrylockfile funlockfile fwrite"
    "fwrite_unlocked gcvt getc getc_unlocked getchar getchar_unlocked getdate getdate_err"
    "getdate_r getdelim getenv getline getloadavg getpt getsubopt getw gmtime gmtime_r grantpt"
    "initstate initstate_r jrand48 jrand48_r lcong48 lcong48_r localtime localtime_r lrand48"
    "lrand48_r madvise malloc memfd_create mincore mkdtemp mkostemp mkostemp64 mkostemps"
    "mkostemps64 mkstemp mkstemp64 mkstemps mkstemps64 mktemp mktime mlock mlock2 mlockall mmap"
    "mmap64 mprotect mrand48 mrand48_r mremap msync munlock munlockall munmap nrand48 nrand48_r"
    "obstack_printf obstack_vprintf on_exit open_memstream pclose perror pkey_alloc pkey_free"
    "pkey_get pkey_mprotect pkey_set popen posix_madvise posix_memalign posix_openpt printf"
    "process_madvise process_mrelease pselect ptsname ptsname_r putc putc_unlocked putchar"
    "putchar_unlocked putenv puts putw qecvt qecvt_r qfcvt qfcvt_r qgcvt qsort qsort_r quick_exit"
    "rand rand_r random random_r realloc reallocarray realpath remap_file_pages remove rename"
    "renameat renameat2 rewind rpmatch scanf secure_getenv seed48 seed48_r setbuf setbuffer"
    "setenv setlinebuf setstate setstate_r setvbuf shm_open shm_unlink signgam snprintf sprintf"
    "srand srand48 srand48_r srandom srandom_r sscanf stderr stdin stdout strdup strerror"
    "strerror_l strerror_r strfry strftime strftime_l strndup strptime strptime_l strsignal"
    "strtok strtok_r system tempnam time timegm timelocal timer_create timer_delete"
    "timer_getoverrun timer_gettime timer_settime timespec_get timespec_getres timezone tmpfile"
    "tmpfile64 tmpnam tmpnam_r tzname tzset ungetc unlockpt unsetenv valloc vasprintf vdprintf"
    "vfprintf vfscanf vprintf vscanf vsnprintf vsprintf vsscanf wcstombs wctomb mblen mbstowcs"
    "mbtowc select environ fork execve syscall kill raise signal sigaction"
    "setjmp longjmp pthread_create cooperative_groups nvstd"
};

/// Clocks, timers, waits and traps; `asm` may not reach them either.
pub static CLOCKS: Names = names! {
    "clock clock64 globaltimer nanosleep __clock __clock64 __globaltimer __nanosleep __trap"
    "__brkpt __prof_trigger __asm __asm__ asm_volatile trap brkpt __nv_nanosleep"
    "__builtin_trap __builtin_readcyclecounter"
};

/// What makes or hides state that outlives a launch, and accesses that checks of races pass over.
pub static STATE: Names = names! {
    "static thread_local __thread __constant__ __managed__ volatile mutable store_same"
};

/// What the build defines to tell its compilers and variants apart.
static GUARDS: Names = names! {
    "EMULATED CHECKED COUNT UNCHECKED SHARED_RIM CHECK_ACCESS EACH_LANE __activemask"
};

/// Functions of CUDA without a reserved name that are macros where kernels are emulated: another
/// thing of such a name would be passed over there by every call.
static MACROS: Names = names! {
    "rsqrtf rsqrt exp10f sinpif cospif rcbrtf rhypotf norm3df rnorm3df fdividef sincosf"
};

/// Fields of `Counters` that outlive a frame.
pub static LASTING: Names = names! {
    "steps needed rows longest most_large most_splats shard_splats"
};

/// Reserved names (with two underscores, or one and a capital) that kernels may use.
pub static CUDA_NAMES: Names = names! {
    "__device__ __forceinline__ __noinline__ __inline__ __shared__ __restrict__ __restrict"
    "__launch_bounds__ __grid_constant__ __align__ __builtin_expect __builtin_assume_aligned"
    "__syncthreads __syncthreads_and __syncthreads_or __syncthreads_count __syncwarp"
    "__shfl_sync __shfl_xor_sync __shfl_up_sync __shfl_down_sync __ballot_sync __any_sync"
    "__all_sync __match_any_sync __match_all_sync __reduce_add_sync __reduce_min_sync"
    "__reduce_max_sync __reduce_and_sync __reduce_or_sync __reduce_xor_sync __threadfence"
    "__threadfence_block __ldg __ldca __ldcg __ldcs __stwb __stcg __stcs __stwt __expf __exp10f"
    "__logf __log2f __log10f __powf __sinf __cosf __tanf __sincosf __fdividef __saturatef"
    "__frsqrt_rn __float_as_int __float_as_uint __int_as_float __uint_as_float"
    "__double_as_longlong __longlong_as_double __hiloint2double __popc __popcll __clz __clzll __ffs"
    "__ffsll __brev __brevll __byte_perm __funnelshift_l __funnelshift_r __funnelshift_lc"
    "__funnelshift_rc __mulhi __umulhi __mul64hi __umul64hi __mul24 __umul24 __sad __usad __hadd"
    "__rhadd __uhadd __urhadd __dp4a __dp2a_lo __dp2a_hi __fadd_rn __fsub_rn __fmul_rn __fdiv_rn"
    "__fmaf_rn __frcp_rn __fsqrt_rn __dadd_rn __dsub_rn __dmul_rn __ddiv_rn __fma_rn"
    "__int2float_rn __uint2float_rn __ll2float_rn __ull2float_rn __double2float_rn"
    "__uint2double_rn __int2double_rn"
};

/// Types by keyword, and what may stand in front of one.
pub static TYPE_KEYWORDS: Names = names! {
    "unsigned signed int float double char short long bool const"
};

/// Whether a function or variable of the host.
pub fn is_host_function(word: &str) -> bool {
    HOST_FUNCTIONS.contains(word)
        || word.starts_with("emulat")
        || word.starts_with("splatcore_")
        || is_of_cuda_runtime(word)
}

/// `cudaLaunchDevice` and its like.
fn is_of_cuda_runtime(word: &str) -> bool {
    let behind = word.strip_prefix("cuda").or(word.strip_prefix("cu"));
    behind.is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_uppercase()))
}

/// Whether a name that tells compilers or variants of the build apart.
pub fn is_guard(word: &str) -> bool {
    GUARDS.contains(word)
        || word.starts_with("EMULATOR_")
        || word.starts_with("__CUDA")
        || word.starts_with("__NVCC")
        || word.starts_with("__GNU")
        || word.starts_with("__clang")
        || word.starts_with("CUDA_")
        || word.starts_with("CUDART_")
}

/// Whether the language keeps the name for compilers and headers.
pub fn is_reserved(word: &str) -> bool {
    let second = word.chars().nth(1).unwrap_or_default();
    word.contains("__") || (word.starts_with('_') && second.is_ascii_uppercase())
}

/// Whether a reserved name is one of arithmetic, warps, barriers or plain memory.
pub fn is_cuda_name(word: &str) -> bool {
    CUDA_NAMES.contains(word) || is_conversion(word)
}

/// Whether a reserved name is a function: neither an attribute nor a build's name.
pub fn is_arithmetic(word: &str) -> bool {
    is_cuda_name(word) && !word.ends_with("__") && !word.starts_with("__restrict")
}

/// Whether a name of CUDA's that is only ever called.
pub fn is_called(word: &str) -> bool {
    MACROS.contains(word) || is_arithmetic(word)
}

/// `__float2uint_rz`.
fn is_conversion(word: &str) -> bool {
    let Some((from, to)) = word.strip_prefix("__").and_then(|w| w.split_once('2')) else {
        return false;
    };
    let to = to.rsplit_once('_');
    let is_known = |to, rounding| {
        matches!(to, "int" | "uint" | "ll" | "ull") && matches!(rounding, "rn" | "rz" | "ru" | "rd")
    };
    matches!(from, "float" | "double") && to.is_some_and(|(to, rounding)| is_known(to, rounding))
}

/// Whether a macro may be called so: capitals, as all macros of the kernels are, so that no keyword
/// and no function can be one.
pub fn is_macro_name(word: &str) -> bool {
    word.starts_with(|c: char| c.is_ascii_uppercase())
        && word
            .chars()
            .all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_')
}

/// Fields, parameters and built-in variables that hold the size of an image or of a scene, or tell
/// it.
pub fn is_size(word: &str) -> bool {
    matches!(
        word,
        "width"
            | "height"
            | "tiles_x"
            | "tiles_y"
            | "tiles"
            | "count"
            | "visible"
            | "gaussians"
            | "rows"
            | "capacity"
            | "focal"
            | "centre"
            | "gridDim"
            | "blockIdx"
    )
}
