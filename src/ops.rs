//! The verbs that need more than one place: copying between stores, loading a bundle from wherever it is, pinning a name.

pub mod channel;
pub mod copy;
pub mod destination;
pub mod kdp;
pub mod load;
pub mod lock;
pub mod newest;
pub mod open;
pub mod pack;
pub mod resolve;
