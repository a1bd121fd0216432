//! Zstandard, for reading layers that others compressed with it: a frame walk of our own around `ruzstd`.
//!
//! The walk checks what the decoder takes on trust: window, content size, checksum, dictionaries, and what stands
//! between and after the frames. Nothing is ever written in this form.
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]

mod frame;
mod read;

pub use read::Reader;
