//! Templates that nobody has rendered: actions (`{{ … }}`) where Kubernetes cannot have them.
//!
//! Most braces in manifests are legal: alert texts, dashboards and scripts hold templates for programs in the cluster.
//! So an action is at fault only where it makes the YAML unreadable, or stands in a field that can never hold braces.

use crate::escape::shown;
use crate::finding::{Finding, Severity};
use crate::objects::{Object, pod_spec};
use crate::path::BundlePath;
use crate::yaml::Node;

use super::context::Context;

const CODE: &str = "template";

/// Makes the finding for an action on a line: an error, or a note when the metadata says that an operator fills it.
pub(super) fn finding(context: &Context<'_>, path: &BundlePath, line: u32) -> Finding {
    report(
        context,
        path,
        line,
        "the document is a template that is not rendered",
    )
}

fn report(context: &Context<'_>, path: &BundlePath, line: u32, message: &str) -> Finding {
    if context.has_placeholders {
        let message = format!("{message}; the operator fills it");
        return Finding::new(Severity::Note, CODE, message).at(path, line);
    }
    Finding::error(CODE, message).at(path, line).hint(
        "render it first (`helm template`); if the operator fills it, declare \
         `k8s.io.bundle.placeholders.v1: go-template`",
    )
}

/// Reports actions in names, labels and images, quoted or not.
pub(super) fn in_object(
    context: &Context<'_>,
    path: &BundlePath,
    object: &Object,
    findings: &mut Vec<Finding>,
) {
    // The metadata says so, and where it makes the YAML unreadable a note says so.
    if object.is_template {
        return;
    }
    let mut look = |field: &str, text: &str, line: u32| {
        if has_action(text) {
            let message = format!("`{field}` holds a template action: `{}`", shown(text));
            findings.push(report(context, path, line, &message));
        }
    };
    for field in [
        &["apiVersion"][..],
        &["kind"],
        &["metadata", "name"],
        &["metadata", "generateName"],
        &["metadata", "namespace"],
    ] {
        if let Some((node, text)) = object.node.at(field).and_then(with_text) {
            look(&field.join("."), text, node.line);
        }
    }
    let labels = object.node.at(&["metadata", "labels"]);
    for (key, value) in labels.and_then(Node::as_mapping).unwrap_or_default() {
        look("metadata.labels", &key.text, key.line);
        if let Some((node, text)) = with_text(value) {
            look("metadata.labels", text, node.line);
        }
    }
    for container in containers(object) {
        if let Some((node, text)) = container.get("image").and_then(with_text) {
            look("image", text, node.line);
        }
    }
    for node in containers(object).flat_map(words) {
        let text = node.plain_text().unwrap_or_default();
        if has_action(text) {
            let message = format!("`{}` may be a template that is not rendered", shown(text));
            findings.push(
                Finding::warning(CODE, message)
                    .at(path, node.line)
                    .hint("render it first; if the container wants it so, put it in quotes"),
            );
        }
    }
}

fn containers(object: &Object) -> impl Iterator<Item = &Node> {
    let lists = ["initContainers", "containers", "ephemeralContainers"];
    let spec = pod_spec(object).map(|(_, spec)| spec);
    let lists = lists
        .into_iter()
        .filter_map(move |list| spec?.get(list)?.as_sequence());
    lists.flatten()
}

/// Returns the command, the arguments and the values of the environment of a container.
fn words(container: &Node) -> impl Iterator<Item = &Node> {
    let list = |field| {
        container
            .get(field)
            .and_then(Node::as_sequence)
            .unwrap_or_default()
    };
    let variables = list("env")
        .iter()
        .filter_map(|variable| variable.get("value"));
    list("command").iter().chain(list("args")).chain(variables)
}

fn with_text(node: &Node) -> Option<(&Node, &str)> {
    Some((node, node.as_str()?))
}

fn has_action(text: &str) -> bool {
    text.find("{{")
        .is_some_and(|at| text.get(at..).is_some_and(|rest| rest.contains("}}")))
}

/// Finds actions that stand where YAML would have structure, in files that may be no YAML at all.
///
/// Block scalars are recognised by their indentation and passed over. Lines are read once, however often it is asked.
pub(super) struct Actions<'t> {
    lines: std::slice::Split<'t, u8, fn(&u8) -> bool>,
    line: u32,
    /// The first line of this document with an action.
    first: Option<u32>,
    /// The last line of this document on which a condition or loop begins, goes on or ends, comments included.
    branch: Option<u32>,
    /// How far the parent of the block scalar that we are in is indented.
    block: Option<usize>,
}

impl<'t> Actions<'t> {
    pub(super) fn new(text: &'t [u8]) -> Self {
        let is_break: fn(&u8) -> bool = |byte| *byte == b'\n';
        Self {
            lines: text.split(is_break),
            line: 0,
            first: None,
            branch: None,
            block: None,
        }
    }

    /// Returns the first line with an action in the document that has line `until`, up to that line.
    ///
    /// Asked with rising lines.
    pub(super) fn first_in_document(&mut self, until: u32) -> Option<u32> {
        self.advance(until);
        self.first
    }

    /// Returns a line from `first` to `until` on which a condition or loop begins, goes on or ends that is longer than
    /// that line. An engine sees those in comments and quotes, too.
    ///
    /// Asked with rising `until`.
    pub(super) fn branch_between(&mut self, first: u32, until: u32) -> Option<u32> {
        self.advance(until);
        self.branch.filter(|line| *line >= first)
    }

    fn advance(&mut self, until: u32) {
        while self.line < until {
            let Some(line) = self.lines.next() else { break };
            self.line += 1;
            self.step(line);
        }
    }

    fn step(&mut self, line: &[u8]) {
        if line.starts_with(b"---") {
            (self.first, self.branch, self.block) = (None, None, None);
            return;
        }
        let content = line.trim_ascii_start();
        let indent = line.len() - content.len();
        match self.block {
            _ if content.is_empty() => return,
            Some(parent) if indent > parent => return,
            _ => self.block = None,
        }
        if has_open_branch(content) {
            self.branch = Some(self.line);
        }
        if content.starts_with(b"#") {
            return;
        }
        let content = content.trim_ascii_end();
        // `- - key: |`: the text of the block is deeper than the key.
        let mut rest = content;
        while let Some(next) = rest.strip_prefix(b"- ") {
            rest = next.trim_ascii_start();
        }
        if self.first.is_none() && has_bare_action(rest) {
            self.first = Some(self.line);
        }
        if begins_block(rest) {
            let is_item = rest.starts_with(b"|") || rest.starts_with(b">");
            self.block = Some(if is_item {
                indent
            } else {
                indent + (content.len() - rest.len())
            });
        }
    }
}

/// Tells whether a line begins with an action, or has one where a value begins.
fn has_bare_action(line: &[u8]) -> bool {
    line.starts_with(b"{{")
        || line
            .windows(4)
            .any(|four| four == b": {{" || four == b"- {{" || four == b"[ {{")
}

/// Tells whether a line has a control action (`{{ if … }}`, `{{- else }}`, `{{ end }}`) whose other half is on another line.
fn has_open_branch(line: &[u8]) -> bool {
    let mut open = 0_usize;
    let mut rest = line;
    while let Some(at) = rest.windows(2).position(|two| two == b"{{") {
        rest = rest
            .get(at..)
            .and_then(|rest| rest.get(2..))
            .unwrap_or_default();
        let action = rest.strip_prefix(b"-").unwrap_or(rest).trim_ascii_start();
        let is_word = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'_';
        let end = action.iter().position(|byte| !is_word(byte));
        match action
            .get(..end.unwrap_or(action.len()))
            .unwrap_or_default()
        {
            b"if" | b"range" | b"with" | b"define" | b"block" => open += 1,
            b"else" if open == 0 => return true,
            b"end" => match open.checked_sub(1) {
                Some(left) => open = left,
                None => return true,
            },
            _ => {}
        }
    }
    open > 0
}

/// Tells whether a line ends in the header of a block scalar: `|`, `>-`, `|2`.
fn begins_block(line: &[u8]) -> bool {
    let header = line.rsplit(|byte| *byte == b' ').next().unwrap_or_default();
    match header {
        [b'|' | b'>', rest @ ..] if rest.len() <= 2 => rest
            .iter()
            .all(|byte| matches!(byte, b'+' | b'-' | b'1'..=b'9')),
        _ => false,
    }
}
