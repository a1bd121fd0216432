//! Names into addresses, with one rule: a registry on the public internet does not lead us into a private network.
//!
//! The rule is applied where a connection is made, because a name can be anything (DNS rebinding); addresses written as
//! such are checked in `location`.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::escape::shown;

use super::location::{is_private_v4, is_private_v6};

/// Resolves the registry's own name, and remembers if that leads into a private network.
#[derive(Debug, Clone)]
pub(super) struct Own {
    pub(super) is_private: Arc<AtomicBool>,
    pub(super) proxies: Vec<String>,
}

impl Resolve for Own {
    fn resolve(&self, name: Name) -> Resolving {
        let is_private_registry = Arc::clone(&self.is_private);
        // Where the proxy is says nothing about the registry behind it.
        let is_proxy = is_among(&self.proxies, &name);
        Box::pin(async move {
            let found = look_up(&name).await?;
            if !is_proxy && found.iter().any(is_private) {
                is_private_registry.store(true, Ordering::Relaxed);
            }
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

/// Resolves the names that the registry points to.
#[derive(Debug, Clone)]
pub(super) struct Other {
    pub(super) is_private: Arc<AtomicBool>,
    pub(super) proxies: Vec<String>,
}

impl Resolve for Other {
    fn resolve(&self, name: Name) -> Resolving {
        let is_allowed = self.is_private.load(Ordering::Relaxed) || is_among(&self.proxies, &name);
        Box::pin(async move {
            let mut found = look_up(&name).await?;
            if !is_allowed {
                found.retain(|address| !is_private(address));
                if found.is_empty() {
                    return Err(PrivateNetwork.into());
                }
            }
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

fn is_among(proxies: &[String], name: &Name) -> bool {
    proxies
        .iter()
        .any(|proxy| proxy.eq_ignore_ascii_case(name.as_str()))
}

async fn look_up(name: &Name) -> std::io::Result<Vec<SocketAddr>> {
    // The port is put in by whoever connects.
    match tokio::net::lookup_host((name.as_str(), 0)).await {
        Ok(found) => Ok(found.collect()),
        Err(error) if does_not_exist(&error.to_string()) => {
            Err(std::io::Error::other(NoSuchName(name.as_str().to_owned())))
        }
        Err(error) => Err(error),
    }
}

/// Tells from what the system says whether a name has no address, or could not be looked up just now.
///
/// The standard library passes on the system's words and not its number.
fn does_not_exist(said: &str) -> bool {
    // glibc (two), musl, and the systems that descend from BSD.
    const FINAL: [&str; 4] = [
        "Name or service not known",
        "No address associated with hostname",
        "Name does not resolve",
        "nodename nor servname provided, or not known",
    ];
    FINAL.iter().any(|words| said.contains(words))
}

fn is_private(address: &SocketAddr) -> bool {
    match address.ip() {
        IpAddr::V4(address) => is_private_v4(address),
        IpAddr::V6(address) => is_private_v6(address),
    }
}

/// Says that a name has no address.
#[derive(Debug)]
pub(super) struct NoSuchName(pub(super) String);

impl fmt::Display for NoSuchName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is no host `{}`", shown(&self.0))
    }
}

impl std::error::Error for NoSuchName {}

/// Says that all addresses of a name are private.
#[derive(Debug)]
pub(super) struct PrivateNetwork;

impl fmt::Display for PrivateNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a public registry points to an address of a private network")
    }
}

impl std::error::Error for PrivateNetwork {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_do_not_exist_are_told_from_those_that_cannot_be_looked_up() {
        for (said, want) in [
            (
                "failed to lookup address information: Name or service not known",
                true,
            ),
            (
                "failed to lookup address information: No address associated with hostname",
                true,
            ),
            (
                "failed to lookup address information: Name does not resolve",
                true,
            ),
            (
                "failed to lookup address information: Temporary failure in name resolution",
                false,
            ),
            (
                "failed to lookup address information: Non-recoverable failure in name resolution",
                false,
            ),
            ("failed to lookup address information: Try again", false),
        ] {
            assert_eq!(does_not_exist(said), want, "{said}");
        }
    }

    #[tokio::test]
    async fn a_public_registry_does_not_lead_into_this_machine() {
        let name = || "localhost".parse::<Name>().unwrap();
        let flag = Arc::new(AtomicBool::new(false));
        let (is_private, proxies) = (|| Arc::clone(&flag), Vec::new);
        let own = |proxies| Own {
            is_private: is_private(),
            proxies,
        };
        let other = |proxies| Other {
            is_private: is_private(),
            proxies,
        };
        let refused = other(proxies()).resolve(name()).await.err().unwrap();
        assert!(refused.is::<PrivateNetwork>());
        // The proxy may be on this machine, and says nothing about the registry.
        let proxy = || vec!["localhost".to_owned()];
        assert!(other(proxy()).resolve(name()).await.is_ok());
        assert!(own(proxy()).resolve(name()).await.is_ok());
        assert!(!flag.load(Ordering::Relaxed));
        // A registry that is on this machine itself may.
        assert!(own(proxies()).resolve(name()).await.is_ok());
        assert!(flag.load(Ordering::Relaxed));
        assert!(other(proxies()).resolve(name()).await.is_ok());
    }
}
