//! Accepts connections and serves HTTP on them, within limits.
//!
//! `axum::serve` has no limits: half-sent requests stay open, and one client can take all file descriptors, which the
//! engine needs as well. Here a request's head and its body have deadlines, and the number of connections is limited in
//! total and per client address. A connection over the limit gets an error response and is closed. Trusted proxies
//! count only in the total, because they forward the connections of many clients. A connection counts until the work of
//! its requests has ended, also if the client has left. A stop waits for this work, too.

use std::{
    collections::HashMap,
    io,
    net::IpAddr,
    pin::{Pin, pin},
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
    time::Duration,
};

use axum::{
    Router,
    body::Body,
    extract::{ConnectInfo, Request, State},
    middleware::Next,
    response::Response,
};
use futures::{StreamExt, stream};
use hyper::{body::Incoming, server::conn::http1};
use hyper_util::{
    rt::{TokioIo, TokioTimer},
    service::TowerToHyperService,
};
use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    net::{TcpListener, TcpStream},
    time::sleep,
};
use tokio_util::{
    sync::CancellationToken,
    task::{TaskTracker, task_tracker::TaskTrackerToken},
};
use tower::ServiceExt as _;

use crate::{attempts::AddressKey, config::Config};

/// Pause after a failure to accept a connection, such as a lack of file descriptors.
const ACCEPT_PAUSE: Duration = Duration::from_millis(100);

/// The response to a connection over the limit.
const FULL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\ncontent-type: text/plain\r\nconnection: close\r\n\
    retry-after: 5\r\ncontent-length: 63\r\n\r\nToo many connections are open. Close some, or try again later.\n";

/// Serves until `closing` is cancelled, then until all requests are complete, also those whose client has left.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    config: Arc<Config>,
    closing: CancellationToken,
) {
    // Not `hyper_util`'s automatic choice of a version: it waits for the first bytes without a deadline.
    let mut http = http1::Builder::new();
    http.timer(TokioTimer::new())
        .header_read_timeout(config.header_timeout.0);
    let tasks = TaskTracker::new();
    let open = Connections::new(&config);
    loop {
        let accepted = tokio::select! {
            () = closing.cancelled() => break,
            accepted = listener.accept() => accepted,
        };
        let (stream, peer) = match accepted {
            Ok(accepted) => accepted,
            Err(error) => {
                tracing::warn!("a connection could not be accepted: {error}");
                sleep(ACCEPT_PAUSE).await;
                continue;
            }
        };
        let Some(counted) = open.count(peer.ip()).map(Arc::new) else {
            refuse(&stream);
            continue;
        };
        // Sockets send small messages that should arrive at once.
        let _ = stream.set_nodelay(true);
        let place = Counted((counted.clone(), tasks.token()));
        let router = router
            .clone()
            .map_request(move |request: Request<Incoming>| {
                let mut request = request.map(Body::new);
                request.extensions_mut().insert(ConnectInfo(peer));
                request.extensions_mut().insert(place.clone());
                request
            });
        let io = TokioIo::new(CountedStream(stream, counted));
        let service = TowerToHyperService::new(router);
        let connection = http.serve_connection(io, service).with_upgrades();
        let closing = closing.clone();
        tasks.spawn(async move {
            let mut connection = pin!(connection);
            let done = tokio::select! {
                done = connection.as_mut() => done,
                () = closing.cancelled() => {
                    connection.as_mut().graceful_shutdown();
                    connection.await
                }
            };
            if let Err(error) = done {
                tracing::debug!(%peer, "a connection ended: {error}");
            }
        });
    }
    drop(listener);
    tasks.close();
    tasks.wait().await;
}

/// Sends the response as far as possible without waiting. Dropping the stream closes it.
fn refuse(stream: &TcpStream) {
    let _ = stream.try_write(FULL);
}

/// The number of open connections, by address.
struct Connections {
    config: Arc<Config>,
    open: Arc<Mutex<Open>>,
}

#[derive(Default)]
struct Open {
    in_all: usize,
    at: HashMap<AddressKey, usize>,
}

/// A counted connection. Dropped when it is closed.
struct ConnectionPermit {
    open: Arc<Mutex<Open>>,
    /// `None` for a trusted proxy.
    place: Option<AddressKey>,
}

impl Connections {
    fn new(config: &Arc<Config>) -> Connections {
        Connections {
            config: config.clone(),
            open: Arc::default(),
        }
    }

    /// Counts a connection. `None` if the limit is reached.
    fn count(&self, address: IpAddr) -> Option<ConnectionPermit> {
        let config = &self.config;
        let is_proxy = config.proxies.contains(&address.to_canonical());
        let place = (!is_proxy).then(|| AddressKey::of(Some(address)));
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        if open.in_all >= config.connections {
            return None;
        }
        if let Some(place) = place {
            let here = open.at.entry(place).or_default();
            if *here >= config.address_connections {
                return None;
            }
            *here += 1;
        }
        open.in_all += 1;
        Some(ConnectionPermit {
            open: self.open.clone(),
            place,
        })
    }
}

impl Drop for ConnectionPermit {
    fn drop(&mut self) {
        let mut open = self.open.lock().unwrap_or_else(PoisonError::into_inner);
        open.in_all -= 1;
        let Some(place) = self.place else { return };
        if let Some(here) = open.at.get_mut(&place) {
            *here -= 1;
            if *here == 0 {
                open.at.remove(&place);
            }
        }
    }
}

/// The place of a request's connection, an extension of the request. Work that continues after its client has left holds
/// it, so that nobody has more work under way than connections, and that the server stops after it.
#[derive(Clone)]
pub struct Counted(
    #[expect(dead_code, reason = "counts while it lives")]
    (Arc<ConnectionPermit>, TaskTrackerToken),
);

/// A stream that is counted until it is closed, even as a websocket.
struct CountedStream(
    TcpStream,
    #[expect(dead_code, reason = "counts while it lives")] Arc<ConnectionPermit>,
);

impl AsyncRead for CountedStream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_read(context, buffer)
    }
}

impl AsyncWrite for CountedStream {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.0).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.0).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.0.is_write_vectored()
    }
}

/// The deadline of a request's whole body, regardless of the number of its parts.
pub async fn limit_body(
    State(config): State<Arc<Config>>,
    request: Request,
    next: Next,
) -> Response {
    let limit = config.body_timeout.0;
    let request = request.map(|body| {
        let rest = (body.into_data_stream(), Box::pin(sleep(limit)), false);
        Body::from_stream(stream::unfold(rest, move |rest| async move {
            let (mut chunks, mut deadline, is_over) = rest;
            if is_over {
                return None;
            }
            tokio::select! {
                chunk = chunks.next() => Some((chunk?, (chunks, deadline, false))),
                () = &mut deadline => {
                    let late = format!("the body took more than {} s", limit.as_secs_f64());
                    Some((Err(axum::Error::new(late)), (chunks, deadline, true)))
                }
            }
        }))
    });
    next.run(request).await
}

#[cfg(test)]
mod tests {
    use std::future::pending;

    use axum::{Extension, routing::post};
    use clap::Parser as _;
    use tokio::{io::AsyncWriteExt as _, time::timeout};

    use super::*;

    #[tokio::test]
    async fn a_stop_waits_for_the_work_of_a_client_that_has_left() {
        let [begun, left, may_end, closing] = [(); 4].map(|()| CancellationToken::new());
        let signs = (begun.clone(), left.clone(), may_end.clone());
        let change = move |Extension(place): Extension<Counted>| async move {
            let (begun, left, may_end) = signs;
            tokio::spawn(async move {
                may_end.cancelled().await;
                drop(place);
            });
            let _left = left.drop_guard();
            begun.cancel();
            pending::<()>().await;
        };
        let router = Router::new().route("/", post(change));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let config = Arc::new(Config::parse_from(["stackloom"]));
        let mut serving = tokio::spawn(serve(listener, router, config, closing.clone()));

        let mut client = TcpStream::connect(address).await.unwrap();
        let request = b"POST / HTTP/1.1\r\nhost: localhost\r\ncontent-length: 0\r\n\r\n";
        client.write_all(request).await.unwrap();
        begun.cancelled().await;
        drop(client);
        left.cancelled().await;
        closing.cancel();
        let stopped = timeout(Duration::from_millis(200), &mut serving).await;
        assert!(stopped.is_err(), "the work has not ended");
        may_end.cancel();
        let stopped = timeout(Duration::from_secs(60), serving).await;
        stopped.expect("the server stops after the work").unwrap();
    }
}
