//! The lab as a server of the Model Context Protocol over stdio: any coding agent can read the
//! kernels, propose changes and be judged.
//!
//! A JSON-RPC 2.0 message a line (MCP specification 2025-06-18, stdio transport). The protocol's
//! Rust SDK brings an asynchronous runtime and some fifty crates for what is a loop over lines
//! here: one client, one request at a time, tools only.

mod client;
mod protocol;
mod tools;

pub use protocol::{Tools, serve};
pub use tools::{Desk, tools};
