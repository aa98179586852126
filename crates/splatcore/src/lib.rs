//! splatcore
