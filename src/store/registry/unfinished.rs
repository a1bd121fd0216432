//! Uploads that come to nothing are ended at the registry, where they would take up space for days.

use reqwest::Method;
use url::Url;

use super::Registry;

/// An upload that was begun and not finished yet; dropped, it is ended by a task of its own.
pub(super) struct Unfinished {
    registry: Registry,
    /// Where the upload goes on; none once it is whole.
    pub(super) url: Option<Url>,
}

impl Unfinished {
    pub(super) fn new(registry: &Registry) -> Self {
        Self {
            registry: registry.clone(),
            url: None,
        }
    }

    /// Returns what ends the upload, if there is one. Whether that works is nobody's concern: registries forget, too.
    pub(super) fn end(&mut self) -> Option<impl Future<Output = ()> + Send + 'static> {
        let url = self.url.take()?;
        let registry = self.registry.clone();
        Some(async move {
            let request = registry.request_to(Method::DELETE, url, "cannot end an upload");
            drop(registry.session.reply(&request).await);
        })
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        let Some(ending) = self.end() else { return };
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            self.registry.session.keep_task(runtime.spawn(ending));
        }
    }
}
