//! Tests of the headers that several ops include.

mod constants;
mod footprints;
mod halves;
mod matrix;
