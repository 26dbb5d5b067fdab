//! Recognition of ids.

/// Whether a text has the form of an id. Such a text is looked up as an id first, then as a name.
pub fn looks_like_id(text: &str) -> bool {
    let digits = text.chars().filter(|c| c.is_ascii_hexdigit()).count();
    digits == 32 && text.chars().all(|c| c.is_ascii_hexdigit() || c == '-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_and_names_are_told_apart() {
        assert!(looks_like_id("3b0f4d1e-8a51-4b46-9a63-1f2f5c0f7a11"));
        assert!(looks_like_id("3b0f4d1e8a514b469a631f2f5c0f7a11"));
        assert!(!looks_like_id("public"));
        assert!(!looks_like_id(""));
    }
}
