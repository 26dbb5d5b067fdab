//! Connections of any kind, as bytes.

use tokio::io::{AsyncRead, AsyncWrite};

/// A connection that carries bytes both ways.
pub trait ByteStream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> ByteStream for S {}
