//! Tests of the public interface.

mod animated;
mod folders;
mod support;
mod videos;
