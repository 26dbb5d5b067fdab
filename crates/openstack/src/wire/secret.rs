//! Confidential text: passwords, tokens, private keys.
//!
//! `Debug` prints `***`, and there is neither `Display` nor `Serialize`. A secret therefore cannot get into a log, an
//! error or a stored value by accident. [`Secret::expose`] is the only access and easy to search for. The memory is
//! zeroed on drop.

use std::fmt;

use zeroize::Zeroizing;

/// A password, token or key.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(Zeroizing<String>);

impl Secret {
    /// Wraps a text.
    pub fn new(text: impl Into<String>) -> Secret {
        Secret(Zeroizing::new(text.into()))
    }

    /// The text itself.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// Whether the text is empty.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("***")
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Secret {
        Secret::new(text)
    }
}

impl From<&str> for Secret {
    fn from(text: &str) -> Secret {
        Secret::new(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn debug_hides_the_text() {
        let shown = format!("{:?}", Secret::new("open sesame"));
        assert_eq!(shown, "***");
    }
}
