//! Tests of the emulator, of its checks, of compiling for every architecture, of compiled code and
//! of guarded memory.

mod checked_kernels;
mod compile;
mod cubin;
mod emulated;
mod emulated_checks;
mod guarded;
