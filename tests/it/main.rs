//! The one integration test binary; every file beside this one is a suite.
#![expect(
    clippy::expect_used,
    clippy::indexing_slicing,
    clippy::panic,
    clippy::print_stderr,
    clippy::unwrap_used,
    reason = "a test fails by a panic and talks on stderr"
)]

mod cases;
mod catalogue;
mod channels;
mod checks;
mod clients;
mod corpus;
mod crash;
mod credential_files;
mod destinations;
mod diff;
mod faults;
mod floors;
mod harness;
mod hostile;
mod images;
mod interrupts;
mod kdp;
mod laws;
mod layer;
mod layouts;
mod malo;
mod memory;
mod mock_registry;
mod olm;
mod origins;
mod real;
mod registry;
mod render;
mod sources;
mod spec;
mod store_contract;
mod support;
mod talk;
mod tar;
mod tar_agreement;
mod terminal;
mod two_sides;
mod validate;
mod yaml;
