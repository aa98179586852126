//! Tests of the backward methods.

mod methods;
mod splatcore;
