//! A stream whose end is detected by its reading side.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// A stream whose end is detected by its reading side. An ended container accepts no more bytes while its last output
/// is still unread: a failed write must not end the session. Bytes that cannot be written are dropped.
pub struct IgnoreWriteErrors<S>(pub S);

impl<S: AsyncRead + Unpin> AsyncRead for IgnoreWriteErrors<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for IgnoreWriteErrors<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.0).poll_write(context, bytes);
        written.map(|written| Ok(written.unwrap_or(bytes.len())))
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(&mut self.0).poll_flush(context);
        flushed.map(|_gone| Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let shut = Pin::new(&mut self.0).poll_shutdown(context);
        shut.map(|_gone| Ok(()))
    }
}
