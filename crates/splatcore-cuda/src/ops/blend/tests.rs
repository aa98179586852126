//! Tests of the blend methods, a file for each family.

mod gemm_gs;
mod interpolated;
mod literal;
mod stop_the_pop;
mod tc_gs;
mod tensor_gs;
