//! From a [`Level`](super::Level) to a kernel compiled for it.

/// Defines `$name`, which runs the generic kernel `$kernel::<L>` for the lanes of a [`Level`].
///
/// `dispatch! { pub fn name / kernel (argument: Type, ...) }`
macro_rules! dispatch {
    (
        $(#[$doc:meta])*
        $vis:vis fn $name:ident / $kernel:ident ($($arg:ident : $type:ty),* $(,)?)
    ) => {
        $(#[$doc])*
        $vis fn $name(level: $crate::simd::Level, $($arg: $type),*) {
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
            #[target_feature(enable = "fma,avx2,bmi1,bmi2,lzcnt,popcnt")]
            fn avx512($($arg: $type),*) {
                $kernel::<$crate::simd::F32x16>($($arg),*)
            }
            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,fma,bmi1,bmi2,lzcnt,popcnt")]
            fn avx2($($arg: $type),*) {
                $kernel::<$crate::simd::F32x8>($($arg),*)
            }
            match level {
                // SAFETY: a level is only made by `Level::available`, which asked the processor.
                // Every processor with AVX2 has BMI, LZCNT and POPCNT.
                #[cfg(target_arch = "x86_64")]
                $crate::simd::Level::Avx512 => unsafe { avx512($($arg),*) },
                #[cfg(target_arch = "x86_64")]
                $crate::simd::Level::Avx2 => unsafe { avx2($($arg),*) },
                #[cfg(target_arch = "aarch64")]
                $crate::simd::Level::Neon => $kernel::<$crate::simd::F32x4>($($arg),*),
                _ => $kernel::<$crate::simd::Portable>($($arg),*),
            }
        }
    };
}

pub(crate) use dispatch;
