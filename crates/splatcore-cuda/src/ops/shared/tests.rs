//! Tests of the headers that several ops include.

mod footprints;
mod halves;
mod matrix;
