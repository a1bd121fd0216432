//! The registry client, through the library, against the mock registry and the real one.

mod auth;
mod downloads;
mod faults;
mod http2;
mod lists;
mod networks;
mod pieces;
pub(crate) mod tls;
mod uploads;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use manifest_bundle::content::Content;
use manifest_bundle::credential::{Credential, Credentials, Secret};
use manifest_bundle::error::Error;
use manifest_bundle::limits::Limits;
use manifest_bundle::oci::{Descriptor, Manifest, ManifestBlob, media_type};
use manifest_bundle::store::registry::{Access, AccessSettings, Event, Events, Registry, Time};
use manifest_bundle::store::{self, Name, Store};

use crate::support::{DockerRegistry, MockRegistry, PASSWORD, USER};

/// What one test does with registries: a client whose waits pass at once and are written down.
struct Client {
    settings: AccessSettings,
    access: Option<Access>,
    heard: Arc<Mutex<Heard>>,
}

#[derive(Default)]
struct Heard {
    now: Duration,
    waits: Vec<Duration>,
    events: Vec<Event>,
}

impl Client {
    fn new() -> Self {
        Self::with(|_| ())
    }

    fn with(change: impl FnOnce(&mut AccessSettings)) -> Self {
        let heard = Arc::new(Mutex::new(Heard::default()));
        let (now, sleep, tell) = (heard.clone(), heard.clone(), heard.clone());
        let time = Time::new(
            move || now.lock().unwrap().now,
            move |wait| {
                let mut heard = sleep.lock().unwrap();
                heard.now += wait;
                heard.waits.push(wait);
                Box::pin(std::future::ready(()))
            },
        );
        let mut settings = AccessSettings {
            time,
            events: Events::new(move |event| tell.lock().unwrap().events.push(event)),
            ..AccessSettings::default()
        };
        change(&mut settings);
        Self {
            settings,
            access: None,
            heard,
        }
    }

    /// With the password of the one user.
    fn alice() -> Self {
        Self::with(|settings| settings.credentials = Credentials::fixed(password(), "the test"))
    }

    /// With deadlines that a test can wait for.
    fn impatient() -> Self {
        Self::with(|settings| settings.timeouts.idle = Duration::from_millis(300))
    }

    /// Opens a repository; all that are opened share one access.
    fn open(&mut self, repository: &str) -> Registry {
        let access = self
            .access
            .get_or_insert_with(|| Access::new(self.settings.clone()).unwrap());
        Registry::open(repository.parse().unwrap(), access).unwrap()
    }

    /// Waits until what was broken off is ended.
    async fn settle(&self) {
        if let Some(access) = &self.access {
            access.settle(Duration::from_secs(10)).await;
        }
    }

    fn waits(&self) -> Vec<Duration> {
        self.heard.lock().unwrap().waits.clone()
    }

    /// The warnings.
    fn warnings(&self) -> Vec<String> {
        let heard = self.heard.lock().unwrap();
        let warnings = heard.events.iter().filter_map(|event| match event {
            Event::Warning(text) => Some(text.clone()),
            _ => None,
        });
        warnings.collect()
    }

    /// Why attempts were repeated.
    fn retries(&self) -> Vec<String> {
        let heard = self.heard.lock().unwrap();
        let retries = heard.events.iter().filter_map(|event| match event {
            Event::Retry { why, .. } => Some(why.clone()),
            _ => None,
        });
        retries.collect()
    }
}

fn password() -> Credential {
    Credential::Basic {
        username: USER.into(),
        password: Secret::new(PASSWORD),
    }
}

/// An image of a config and one layer.
struct Sample {
    config: (Descriptor, Content),
    layer: (Descriptor, Content),
    manifest: ManifestBlob,
}

impl Sample {
    fn new(layer: &[u8]) -> Self {
        let config = format!(r#"{{"architecture":"amd64","layer":{}}}"#, layer.len());
        let blob = |media_type: &str, bytes: &[u8]| {
            let descriptor = Descriptor::of(media_type, bytes);
            (descriptor, Content::from(bytes.to_vec()))
        };
        let config = blob(media_type::CONFIG, config.as_bytes());
        let layer = blob(media_type::LAYER_GZIP, layer);
        let manifest = Manifest {
            annotations: std::collections::BTreeMap::new(),
            artifact_type: None,
            config: config.0.clone(),
            layers: vec![layer.0.clone()],
            media_type: media_type::MANIFEST.into(),
            schema_version: 2,
            subject: None,
        };
        let bytes = manifest.write().unwrap();
        Self {
            config,
            layer,
            manifest: ManifestBlob::new(bytes, &Limits::default()).unwrap(),
        }
    }

    /// Pushes as a copy does: what is missing, together; then the manifest.
    async fn push(&self, to: &Registry, tag: &str) -> Result<(), Error> {
        let tag = tag.parse().unwrap();
        if to.tagged(&tag).await? == Some(self.manifest.descriptor.digest) {
            return Ok(());
        }
        let blob = async |(descriptor, content): &(Descriptor, Content)| {
            if !to.has(descriptor).await? {
                to.push_blob(descriptor, content).await?;
            }
            Ok::<_, Error>(())
        };
        tokio::try_join!(blob(&self.config), blob(&self.layer))?;
        to.push_manifest(&self.manifest, Some(&tag)).await
    }

    /// Puts the image into the mock without a request.
    fn put(&self, mock: &MockRegistry, repository: &str) {
        for (_, content) in [&self.config, &self.layer] {
            mock.put_blob(repository, &content.to_bytes().unwrap());
        }
        let manifest = &self.manifest;
        let media_type = &manifest.descriptor.media_type;
        mock.put_manifest(repository, "1", media_type, &manifest.bytes);
    }

    /// Pulls by digest and compares.
    async fn pull(&self, from: &Registry) -> Result<(), Error> {
        let limits = Limits::default();
        let name = Name::Digest(self.manifest.descriptor.digest);
        let manifest = store::fetch_manifest(from, &name, &limits).await?;
        assert_eq!(manifest.bytes, self.manifest.bytes);
        for (descriptor, content) in [&self.config, &self.layer] {
            let directory = tempfile::tempdir().unwrap();
            let found = store::fetch(from, descriptor, directory.path(), &limits).await?;
            assert!(found.to_bytes().unwrap() == content.to_bytes().unwrap());
        }
        Ok(())
    }
}

/// Bytes that repeat only after a while, so that a piece in the wrong place is seen.
fn bytes(length: usize) -> Vec<u8> {
    let mut state = 1_u32;
    let next = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state.to_be_bytes()[0]
    };
    let mut all: Vec<u8> = std::iter::repeat_with(next)
        .take(length.min(65_521))
        .collect();
    // Doubling is fast even in a build that is not optimised; the prime keeps it from falling into step with pieces.
    while all.len() < length {
        let more = all.len().min(length - all.len());
        all.extend_from_within(..more);
    }
    all
}

#[test]
fn the_real_registry_takes_what_is_pushed_with_few_requests() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let registry = DockerRegistry::local();
    let repository = registry.repository("count");
    let sample = Sample::new(&bytes(3 << 20));
    let to = || Client::new().open(&repository);

    registry.mark();
    runtime.block_on(sample.push(&to(), "1.0.0")).unwrap();
    let first = registry.requests();
    assert!(first.len() <= 8, "{first:?}");
    registry.mark();
    runtime.block_on(sample.push(&to(), "1.0.0")).unwrap();
    let again = registry.requests();
    assert!(again.len() <= 2, "{again:?}");
    registry.mark();
    runtime.block_on(sample.pull(&to())).unwrap();
    let pulled = registry.requests();
    assert!(pulled.len() <= 3, "{pulled:?}");

    let tags = runtime.block_on(to().tags()).unwrap();
    assert_eq!(tags, ["1.0.0".parse().unwrap()]);
}

#[tokio::test]
async fn the_mock_registry_has_what_was_pushed() {
    let mock = MockRegistry::plain();
    let sample = Sample::new(&bytes(70_000));
    let to = Client::new().open(&mock.repository("a/b"));
    sample.push(&to, "1.0.0").await.unwrap();
    assert_eq!(mock.log().len(), 8, "{:?}", mock.log());
    assert_eq!(
        mock.manifest("a/b", "1.0.0").unwrap(),
        sample.manifest.bytes
    );
    sample.pull(&to).await.unwrap();
    let digest = sample.manifest.descriptor.digest;
    assert_eq!(
        to.tagged(&"1.0.0".parse().unwrap()).await.unwrap(),
        Some(digest)
    );
    assert_eq!(to.tagged(&"2.0.0".parse().unwrap()).await.unwrap(), None);
    assert!(to.has(&sample.manifest.descriptor).await.unwrap());
}
