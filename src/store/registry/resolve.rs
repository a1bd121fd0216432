//! Names into addresses, with one rule: a registry on the public internet does not lead us into a private network, and none
//! leads us to where a cloud keeps secrets of its machines.
//!
//! The rule is applied where a connection is made, because a name can be anything (DNS rebinding); addresses written as
//! such are checked in `location`.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use reqwest::dns::{Addrs, Name, Resolve, Resolving};

use crate::escape::shown;

use super::location::{is_private_ip, is_secretive};

/// Resolves the registry's own name. Whether that leads into a private network, the connection tells that is made.
#[derive(Debug, Clone)]
pub(super) struct Own;

impl Resolve for Own {
    fn resolve(&self, name: Name) -> Resolving {
        Box::pin(async move { Ok(Box::new(look_up(&name).await?.into_iter()) as Addrs) })
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
        let is_private = self.is_private.load(Ordering::Relaxed);
        let is_proxy = is_among(&self.proxies, &name);
        Box::pin(async move {
            let mut found = look_up(&name).await?;
            if !is_proxy {
                found.retain(|address| may_lead_to(address.ip(), is_private));
                if found.is_empty() {
                    return Err(PrivateNetwork.into());
                }
            }
            Ok(Box::new(found.into_iter()) as Addrs)
        })
    }
}

/// Tells whether a registry may lead to an address by a name; `is_private` says that the registry is in a private network.
fn may_lead_to(address: IpAddr, is_private: bool) -> bool {
    !is_secretive(address) && (is_private || !is_private_ip(address))
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

/// Says that a name has no address.
#[derive(Debug)]
pub(super) struct NoSuchName(pub(super) String);

impl fmt::Display for NoSuchName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "there is no host `{}`", shown(&self.0))
    }
}

impl std::error::Error for NoSuchName {}

/// Says that a registry may not lead to any address of a name.
#[derive(Debug)]
pub(super) struct PrivateNetwork;

impl fmt::Display for PrivateNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(
            "the registry points to an address of a private network that it has no business with",
        )
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
        let other = |proxies| Other {
            is_private: Arc::clone(&flag),
            proxies,
        };
        let refused = other(Vec::new()).resolve(name()).await.err().unwrap();
        assert!(refused.is::<PrivateNetwork>());
        // The proxy may be on this machine.
        let proxy = vec!["localhost".to_owned()];
        assert!(other(proxy).resolve(name()).await.is_ok());
        assert!(Own.resolve(name()).await.is_ok());
        assert!(other(Vec::new()).resolve(name()).await.is_err());
        // A registry that is on this machine itself may.
        flag.store(true, Ordering::Relaxed);
        assert!(other(Vec::new()).resolve(name()).await.is_ok());
    }

    #[test]
    fn no_registry_leads_to_the_secrets_of_a_cloud() {
        for (address, from_public, from_private) in [
            ("8.8.8.8", true, true),
            ("10.0.0.1", false, true),
            ("fd00::1", false, true),
            ("169.254.169.254", false, false),
            ("fe80::1", false, false),
            ("fd00:ec2::254", false, false),
        ] {
            let may = |is_private| may_lead_to(address.parse().unwrap(), is_private);
            assert_eq!(
                (may(false), may(true)),
                (from_public, from_private),
                "{address}"
            );
        }
    }
}
