//! What a person should not have to draw, one pass a file.
