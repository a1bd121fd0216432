//! Listing tags, page by page.

use std::collections::BTreeSet;

use reqwest::Method;
use serde::Deserialize;
use serde_json::Value;
use url::Url;

use crate::error::{Error, Result};
use crate::escape::shown;
use crate::limits::Ceiling;
use crate::tag::Tag;

use super::Registry;
use super::answer::Reply;
use super::link::next_page;
use super::location::{resolve, same_origin, shown_origin};

/// One page of tags; a repository without tags is often `null`.
#[derive(Deserialize)]
struct Page {
    #[serde(default)]
    name: Option<Value>,
    #[serde(default)]
    tags: Option<Vec<String>>,
}

/// The names in a list that are no tags; they count towards its ceiling as tags do.
#[derive(Default)]
struct LeftOut {
    count: u64,
    first: String,
}

impl LeftOut {
    fn add(&mut self, name: String) {
        if self.count == 0 {
            self.first = name;
        }
        self.count = self.count.saturating_add(1);
    }

    /// Says what was left out, in one line however much it is.
    fn warning(&self) -> Option<String> {
        let first = shown(&self.first);
        match self.count {
            0 => None,
            1 => Some(format!("left out `{first}`, which is no tag")),
            count => Some(format!(
                "left out {count} names that are no tags, the first of them `{first}`"
            )),
        }
    }
}

impl Registry {
    /// Returns all tags in order, each once.
    pub(super) async fn list_tags(&self) -> Result<Vec<Tag>> {
        let limits = self.session.limits();
        let mut request = self.request(Method::GET, "tags/list?n=1000", "cannot list the tags")?;
        request.ceiling = Ceiling::Page;
        let mut tags = BTreeSet::new();
        let mut left_out = LeftOut::default();
        let mut count = 0_u64;
        let mut pages = 0_u64;
        loop {
            let reply = self.exchange(&request).await?;
            if reply.status().as_u16() == 404 {
                return Err(self.no_repository());
            }
            if !reply.status().is_success() {
                return Err(self.refused(&reply, &request));
            }
            let page: Page = reply.json("a list of tags")?;
            if page.name.is_none() && page.tags.is_none() {
                return Err(Error::protocol(
                    "the answer is no list of tags: it has neither `name` nor `tags`",
                ));
            }
            let before = count;
            for name in page.tags.unwrap_or_default() {
                match name.parse::<Tag>() {
                    Ok(tag) => drop(tags.insert(tag)),
                    Err(_) => left_out.add(name),
                }
            }
            count = left_out.count.saturating_add(tags.len() as u64);
            if count > limits[Ceiling::Tags] {
                return Err(Error::limit(Ceiling::Tags, limits[Ceiling::Tags], count));
            }
            pages = pages.saturating_add(1);
            match self.next_page(&reply, pages)? {
                None => {
                    if let Some(warning) = left_out.warning() {
                        let events = self.session.events();
                        events.warn(format!("{}: {warning}", self.repository));
                    }
                    return Ok(tags.into_iter().collect());
                }
                Some(_) if count == before => {
                    return Err(Error::protocol(
                        "the list of tags goes on with a page that adds nothing",
                    ));
                }
                Some(next) => request.url = next,
            }
        }
    }

    /// Returns where a listing goes on after `pages` pages: on the registry itself, or nowhere.
    pub(super) fn next_page(&self, reply: &Reply, pages: u64) -> Result<Option<Url>> {
        let Some(link) = next_page(&reply.head.headers)? else {
            return Ok(None);
        };
        let max = self.session.limits()[Ceiling::Pages];
        if pages >= max {
            return Err(Error::limit(Ceiling::Pages, max, pages.saturating_add(1)));
        }
        let next = resolve(&reply.head.url, &link)?;
        if !same_origin(&next, &self.session.base) || !next.path().starts_with("/v2/") {
            return Err(Error::protocol(format!(
                "the list goes on outside the registry, at `{}{}`",
                shown_origin(&next),
                shown(next.path())
            )));
        }
        Ok(Some(next))
    }
}
