//! Byte streams over any connection, and connections that end with a permission.

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use openstack::{NotPermitted, Permit};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::TcpStream,
};

/// A connection for bytes in both directions.
pub trait ByteStream: AsyncRead + AsyncWrite + Unpin + Send {}

impl<S: AsyncRead + AsyncWrite + Unpin + Send> ByteStream for S {}

/// A TCP connection that sends nothing more once the permission of the task that made it has ended.
///
/// A connection is used in tasks that know nothing of the permission, such as russh's own. And a program in a sandbox, or
/// a person at a terminal, writes on while this process is stopped: what has gathered meanwhile must not be passed on
/// before the task is dropped.
pub(super) struct PermittedStream {
    stream: TcpStream,
    /// `None` if the task needed no permission.
    permit: Option<Arc<dyn Permit>>,
}

impl PermittedStream {
    /// The connection under the permission of this task.
    pub fn new(stream: TcpStream) -> PermittedStream {
        PermittedStream {
            stream,
            permit: openstack::current_permit(),
        }
    }

    fn check(&self) -> io::Result<()> {
        match &self.permit {
            Some(permit) if permit.remaining().is_none() => Err(io::Error::other(NotPermitted)),
            _ => Ok(()),
        }
    }
}

impl AsyncRead for PermittedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_read(context, buffer)
    }
}

impl AsyncWrite for PermittedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.check()?;
        Pin::new(&mut self.stream).poll_write(context, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        self.check()?;
        Pin::new(&mut self.stream).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
