//! The harness of the integration tests.
//!
//! A test makes a [`Sandbox`], runs the real binary in it, and reads what came of it from a [`Ran`].
//! Around it: registries ([`DockerRegistry`], the real one; [`MockRegistry`], which lies on request and
//! remembers every word), other people's tools (`sandbox.skopeo(…)`, `sandbox.umoci(…)`), tree
//! [`Snapshot`]s for "nothing was written", and sample bundles. It must never pass a test by leaving
//! something out: a tool that is missing fails the test with the way to get it.

mod certs;
mod cmd;
mod docker_registry;
mod fetch;
pub(crate) mod http;
pub(crate) mod leaks;
mod mock;
mod ran;
mod samples;
mod sandbox;
mod snapshot;
pub(crate) mod targen;
mod terminal;
mod tools;

use std::panic::{AssertUnwindSafe, catch_unwind};

pub(crate) use certs::Certs;
pub(crate) use cmd::Running;
pub(crate) use docker_registry::{DockerRegistry, PASSWORD, USER};
pub(crate) use http::Http;
pub(crate) use mock::{
    Act, Auth, MockRegistry, Modes, Origin, Request, Response, SIGNATURE, Tls, When, on,
};
pub(crate) use ran::Ran;
pub(crate) use samples::{bare_dir, bundle_dir, corpus};
pub(crate) use sandbox::Sandbox;
pub(crate) use snapshot::Snapshot;

/// Bytes as lower-case hexadecimal text.
pub(crate) fn hex(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from_digit(value.into(), 16).unwrap();
    let pairs = bytes
        .iter()
        .flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]);
    pairs.collect()
}

/// Runs a piece of a test that must fail, and returns what it said.
#[track_caller]
pub(crate) fn failure(body: impl FnOnce()) -> String {
    let cause = catch_unwind(AssertUnwindSafe(body)).expect_err("nothing was noticed");
    match cause.downcast::<String>() {
        Ok(text) => *text,
        Err(cause) => (*cause.downcast::<&str>().unwrap()).to_owned(),
    }
}
