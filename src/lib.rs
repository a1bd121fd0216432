//! Kubernetes manifests as versioned, verifiable bundles in any OCI registry.
//!
//! ```text
//! Directory  ⇄  Bundle  ⇄  Image  ⇄  Store            Store → Store
//!      read/write    pack/unpack   save/load              copy
//! ```
//!
//! | noun | is | answers |
//! |---|---|---|
//! | Directory | files on disk | what did the author write? |
//! | Bundle | metadata, and files by path whose contents are handles | what does it mean? |
//! | Image | manifest, config and layers as blobs with descriptors | what travels? |
//! | Store | holds blobs by digest and names them by tag | where is it? |
//!
//! Push, pull and copy are one function between two stores.
//!
//! # Floors
//!
//! The modules below stand on floors. A module uses lower floors and its own, never a higher one; `tests/it/floors.rs`
//! reads the source and proves it. Only floor 2 touches disk and network (`content` holds open files that it is given or made).
//! The library prints nothing and reads no environment, home directory or clock: settings come in as values. The binary
//! is floor 4; it lives in `src/bin/bundle` and uses the public API only.
//!
//! # Words
//!
//! - *bundle*: one version of one package, with its metadata; *manifest* alone: an OCI manifest; *object*: a Kubernetes object in a file of a bundle.
//! - *validate*: is it well formed? *verify*: is it the one that was asked for? *fetch*: read a blob and check its size and digest.
//! - *pinned*: a place and a digest; *referrer*: a manifest whose subject is another one; *ceiling*: the largest of something that is accepted.

// Floor 0: words. Values with rules, no I/O.
pub mod check;
pub mod content;
pub mod credential;
pub mod digest;
pub mod error;
pub mod escape;
pub mod finding;
pub mod invalid;
pub mod json;
pub mod limits;
pub mod name;
pub mod oci;
pub mod path;
pub mod progress;
pub mod reference;
pub mod requirement;
pub mod tag;
pub mod time;
pub mod version;

// Floor 1: forms. Pure functions from value to value.
pub mod bundle;
pub mod channel;
mod expansion;
pub mod expectation;
pub mod gzip;
pub mod ignore;
pub mod image;
pub mod layer;
pub mod metadata;
pub mod objects;
pub mod resolution;
pub mod sensitive;
pub mod tar;
pub mod tree;
pub mod validate;
pub mod yaml;
pub mod zstd;

// Floor 2: places. Disk and network, nowhere else.
pub mod directory;
pub mod docker_config;
pub mod store;

// Floor 3: verbs. What needs more than one place.
pub mod ops;

pub use error::{Error, Kind, Result};

/// The version of the specification that this library follows (spec/README.md).
pub const SPEC_VERSION: &str = "0.1";
