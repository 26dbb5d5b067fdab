//! Byte streams over any connection.

use tokio::io::{AsyncRead, AsyncWrite};

/// A connection for bytes in both directions.
pub trait ByteStream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> ByteStream for S {}
