//! Names of fields, variables and flags: which of them speak of images.

use super::name::Near;

/// Last words of names that are about images and hold none.
const OTHERWISE: &[&str] = &[
    "arch",
    "credentials",
    "format",
    "id",
    "pattern",
    "patterns",
    "policy",
    "prefix",
    "pull",
    "registry",
    "secret",
    "secrets",
    "size",
    "tag",
    "timeout",
    "type",
    "version",
];

/// Tells what a name says about the text that it names: `spec.sidecarImage`, `RELATED_IMAGE_A` and `--shell-image` speak of images.
pub(super) fn near(name: &str) -> Near {
    let words = words(name);
    let speaks = words.iter().any(|w| w == "image" || w == "images");
    let last = words.last().map(String::as_str).unwrap_or_default();
    if speaks && !OTHERWISE.contains(&last) {
        Near::Image
    } else {
        Near::Other
    }
}

/// Tells whether the name of a field, variable or flag speaks of images (spec/images.md).
pub fn speaks_of_images(name: &str) -> bool {
    near(name) == Near::Image
}

/// Splits a name at signs and where a capital follows a small letter.
fn words(name: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word = String::new();
    let mut was_small = false;
    for c in name.chars().take(256) {
        let is_break = !c.is_ascii_alphanumeric();
        if (is_break || (was_small && c.is_ascii_uppercase())) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if !is_break {
            word.push(c.to_ascii_lowercase());
        }
        was_small = c.is_ascii_lowercase() || c.is_ascii_digit();
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_speak_of_images_by_their_words() {
        for name in [
            "image",
            "sidecarImage",
            "RELATED_IMAGE_A",
            "--shell-image",
            "default-sidecar-image",
            "images",
            "proxyImageRef",
            "CSI_IMAGE",
        ] {
            assert_eq!(near(name), Near::Image, "{name}");
        }
        for name in [
            "imagePullPolicy",
            "imagePullSecrets",
            "image-tag",
            "imagine",
            "IMAGE_REGISTRY",
            "name",
            "",
        ] {
            assert_eq!(near(name), Near::Other, "{name}");
        }
    }
}
