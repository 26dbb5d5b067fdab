//! Connections that break at a `COMMIT`, and outages.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::watch,
};

use super::Postgres;
use crate::Operator;

/// Loss when a connection breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lost {
    /// The `COMMIT`: the database gives the transaction up.
    Question,
    /// The answer to the `COMMIT`: the transaction has taken effect.
    Answer,
}

/// A way to an empty PostgreSQL database that can break.
pub struct BreakingWay {
    /// The handle across tenants.
    pub operator: Operator,
    address: String,
    next: Arc<Mutex<Option<Lost>>>,
    state: watch::Sender<State>,
}

/// The state of a way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// All bytes are carried.
    Open,
    /// No byte is carried, and no connection ends.
    Stalled,
    /// All connections end, new ones too.
    Cut,
}

impl BreakingWay {
    /// A way that does not break yet.
    pub async fn new() -> BreakingWay {
        let server = Postgres::shared();
        let next = Arc::<Mutex<Option<Lost>>>::default();
        let state = watch::Sender::new(State::Open);
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let (far, breaks, states) = (server.port(), next.clone(), state.subscribe());
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                tokio::spawn(carry(near, far, breaks.clone(), states.clone()));
            }
        });
        let address = server.create_behind(port).await;
        let operator = crate::connect(&address.clone().into()).await;
        BreakingWay {
            operator: operator.expect("a database"),
            address,
            next,
            state,
        }
    }

    /// The address of the database over this way in clear text, for another program.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Lets the connection with the next `COMMIT` break.
    pub fn break_at_commit(&self, lost: Lost) {
        *self.next.lock().unwrap_or_else(PoisonError::into_inner) = Some(lost);
    }

    /// True if the connection has broken.
    pub fn has_broken(&self) -> bool {
        let next = self.next.lock().unwrap_or_else(PoisonError::into_inner);
        next.is_none()
    }

    /// Breaks all connections, and new ones at once, until [`BreakingWay::mend`].
    pub fn cut(&self) {
        self.state.send_replace(State::Cut);
    }

    /// Carries no more bytes until [`BreakingWay::mend`]. The connections stay open.
    pub fn stall(&self) {
        self.state.send_replace(State::Stalled);
    }

    /// Ends an outage.
    pub fn mend(&self) {
        self.state.send_replace(State::Open);
    }
}

async fn carry(
    mut near: TcpStream,
    port: u16,
    next: Arc<Mutex<Option<Lost>>>,
    mut state: watch::Receiver<State>,
) {
    let mut far = TcpStream::connect(("127.0.0.1", port))
        .await
        .expect("the server");
    let (mut question, mut answer) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    loop {
        let is_open = match *state.borrow_and_update() {
            State::Open => true,
            State::Stalled => false,
            State::Cut => return,
        };
        tokio::select! {
            changed = state.changed() => {
                if changed.is_err() {
                    return;
                }
            }
            read = near.read(&mut question), if is_open => {
                let Ok(count @ 1..) = read else { return };
                let question = &question[..count];
                let is_commit = question.windows(7).any(|window| window == b"COMMIT\0");
                let lost = is_commit
                    .then(|| next.lock().unwrap_or_else(PoisonError::into_inner).take())
                    .flatten();
                if lost == Some(Lost::Question) || far.write_all(question).await.is_err() {
                    return;
                }
                if lost == Some(Lost::Answer) {
                    let answered = far.read(&mut answer).await;
                    assert!(answered.is_ok_and(|count| count > 0), "it is committed");
                    return;
                }
            }
            read = far.read(&mut answer), if is_open => {
                let Ok(count @ 1..) = read else { return };
                if near.write_all(&answer[..count]).await.is_err() {
                    return;
                }
            }
        }
    }
}
