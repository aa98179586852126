//! Tests of the emulator, of its checks, and of compiling for every architecture.

mod checked_kernels;
mod compile;
mod cubin;
mod emulated;
mod emulated_checks;
