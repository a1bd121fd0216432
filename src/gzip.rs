//! Gzip: a writer whose bytes are part of the format, and a strict reader.
//!
//! The layer's digest depends on the compressor, so everything that decides its output is fixed here: the level, the
//! size of the blocks, each of which is compressed on its own, and the header. Neither threads nor the sizes of the
//! writes have a say (P2, spec/image.md, "Compression").
#![cfg_attr(not(test), warn(clippy::arithmetic_side_effects))]

mod header;
mod read;
mod write;

pub use read::Reader;
pub use write::Writer;
