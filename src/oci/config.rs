//! Image configs: where an image keeps its labels and the digests of its unpacked layers.

use serde::{Deserialize, Serialize};

use super::{Annotations, check_annotations, nullable, write};
use crate::digest::Digest;
use crate::error::{Error, Result};
use crate::json;
use crate::limits::{Ceiling, Limits};

/// An image config, as far as a bundle needs one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageConfig {
    /// Always `amd64`: a bundle is not executable, and container runtimes want a real name.
    #[serde(default)]
    pub architecture: String,
    /// What a container would be started with; holds the labels.
    #[serde(default, deserialize_with = "nullable")]
    pub config: Runtime,
    /// When the image was made, RFC 3339.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub created: Option<String>,
    /// Always `linux`.
    #[serde(default)]
    pub os: String,
    /// The digests of the layers before compression.
    #[serde(default, deserialize_with = "nullable")]
    pub rootfs: RootFs,
}

/// The part of a config that describes a container.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Runtime {
    /// The labels: one of the three copies of a bundle's metadata.
    #[serde(rename = "Labels", default, deserialize_with = "nullable")]
    pub labels: Annotations,
}

/// The layers of an image as its config sees them.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct RootFs {
    /// One digest for each layer, of its uncompressed bytes.
    #[serde(default, deserialize_with = "nullable")]
    pub diff_ids: Vec<Digest>,
    /// Always `layers`.
    #[serde(rename = "type", default)]
    pub kind: String,
}

impl ImageConfig {
    /// Reads an image config.
    ///
    /// # Errors
    ///
    /// [`Kind::Limit`](crate::error::Kind::Limit) over a ceiling, [`Kind::Unsafe`](crate::error::Kind::Unsafe) for anything but strict JSON of this shape.
    pub fn parse(bytes: &[u8], limits: &Limits) -> Result<Self> {
        let size = bytes.len() as u64;
        if size > limits[Ceiling::Config] {
            return Err(Error::limit(Ceiling::Config, limits[Ceiling::Config], size));
        }
        let value = json::parse("image config", bytes, limits)?;
        json::expect_objects("image config", &value, &["config", "rootfs"])?;
        let config: Self = json::into("image config", value)?;
        check_annotations(&config.config.labels, limits)?;
        Ok(config)
    }

    /// Writes the config; equal configs have equal bytes.
    pub fn write(&self) -> Result<Vec<u8>> {
        write(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn configs_of_other_tools_are_read() {
        let text = r#"{"architecture":"arm64","os":"linux","config":{"Env":["A=b"],"Labels":null},"rootfs":null,"history":[]}"#;
        let config = ImageConfig::parse(text.as_bytes(), &Limits::default()).unwrap();
        assert!(config.config.labels.is_empty() && config.rootfs.diff_ids.is_empty());
        assert!(ImageConfig::parse(b"{}", &Limits::default()).is_ok());
        assert!(ImageConfig::parse(b"[]", &Limits::default()).is_err());
    }

    #[test]
    fn a_config_is_as_large_as_it_may_be() {
        let limits = Limits::default().with(Ceiling::Config, 100);
        let read = |size: usize| {
            let text = format!("{{{}}}", " ".repeat(size - 2));
            ImageConfig::parse(text.as_bytes(), &limits)
        };
        assert!(read(99).is_ok() && read(100).is_ok());
        for size in [101, 200] {
            let kind = read(size).unwrap_err().kind();
            assert_eq!(kind, crate::error::Kind::Limit);
        }
    }

    #[test]
    fn what_is_written_is_canonical() {
        let config = ImageConfig {
            architecture: "amd64".into(),
            config: Runtime {
                labels: Annotations::from([("a".into(), "b".into())]),
            },
            created: Some("1970-01-01T00:00:00Z".into()),
            os: "linux".into(),
            rootfs: RootFs {
                diff_ids: vec![Digest::of(b"x")],
                kind: "layers".into(),
            },
        };
        let bytes = config.write().unwrap();
        let sorted: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
        assert_eq!(sorted.to_string().as_bytes(), &bytes[..]);
        assert_eq!(
            ImageConfig::parse(&bytes, &Limits::default()).unwrap(),
            config
        );
    }
}
