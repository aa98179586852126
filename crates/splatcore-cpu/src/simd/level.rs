//! Which instruction sets there are, and which this machine can run.

/// An instruction set that kernels are compiled for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// Plain Rust on arrays of 8; whatever the compiler makes of it.
    Portable,
    /// 4 lanes, 64-bit Arm.
    Neon,
    /// 8 lanes with fused multiply-add, x86-64.
    Avx2,
    /// 16 lanes (F, BW, DQ, VL), x86-64.
    Avx512,
}

impl Level {
    /// The name that people know.
    pub fn name(self) -> &'static str {
        match self {
            Level::Portable => "portable",
            Level::Neon => "NEON",
            Level::Avx2 => "AVX2+FMA",
            Level::Avx512 => "AVX-512",
        }
    }

    /// Every level that this machine can run, the widest first.
    pub fn available() -> Vec<Level> {
        let mut levels = Vec::new();
        #[cfg(target_arch = "x86_64")]
        {
            if is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl")
                && is_x86_feature_detected!("fma")
            {
                levels.push(Level::Avx512);
            }
            if is_x86_feature_detected!("avx2") && is_x86_feature_detected!("fma") {
                levels.push(Level::Avx2);
            }
        }
        #[cfg(target_arch = "aarch64")]
        if std::arch::is_aarch64_feature_detected!("neon") {
            levels.push(Level::Neon);
        }
        levels.push(Level::Portable);
        levels
    }

    /// The widest that this machine can run.
    pub fn best() -> Level {
        Level::available()[0]
    }
}

/// Name of the widest instruction set that this machine can run.
pub fn detected() -> &'static str {
    Level::best().name()
}
