//! YAML text to a tree with positions, within limits.
