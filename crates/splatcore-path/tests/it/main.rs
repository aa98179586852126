//! Tests of the public interface.

mod curves;
mod formats;
mod generated;
mod hostile;
mod page;
mod support;
