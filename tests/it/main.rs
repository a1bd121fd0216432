//! The one integration test binary: the real `bundle` against real files, registries and clients.
