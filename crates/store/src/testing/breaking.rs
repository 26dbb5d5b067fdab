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
    /// The answer, and everything after it: the connection stays open, and nothing more arrives.
    AnswerForGood,
}

/// A way to an empty PostgreSQL database that can break.
pub struct BreakingWay {
    /// The handle across tenants.
    pub operator: Operator,
    address: String,
    next: Arc<Mutex<Option<Lost>>>,
    is_cut: watch::Sender<bool>,
}

impl BreakingWay {
    /// A way that does not break yet.
    pub async fn new() -> BreakingWay {
        let server = Postgres::shared();
        let next = Arc::<Mutex<Option<Lost>>>::default();
        let is_cut = watch::Sender::new(false);
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let port = listener.local_addr().expect("an address").port();
        let (far, breaks, cuts) = (server.port(), next.clone(), is_cut.subscribe());
        tokio::spawn(async move {
            while let Ok((near, _)) = listener.accept().await {
                tokio::spawn(carry(near, far, breaks.clone(), cuts.clone()));
            }
        });
        let address = server.create_behind(port).await;
        let operator = crate::connect(&address.clone().into()).await;
        BreakingWay {
            operator: operator.expect("a database"),
            address,
            next,
            is_cut,
        }
    }

    /// The address of the database over this way in clear text, for another program.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Breaks the connection with the next `COMMIT`.
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
        self.is_cut.send_replace(true);
    }

    /// Ends the outage.
    pub fn mend(&self) {
        self.is_cut.send_replace(false);
    }
}

async fn carry(
    mut near: TcpStream,
    port: u16,
    next: Arc<Mutex<Option<Lost>>>,
    mut is_cut: watch::Receiver<bool>,
) {
    let mut far = TcpStream::connect(("127.0.0.1", port))
        .await
        .expect("the server");
    let (mut question, mut answer) = (vec![0; 1 << 16], vec![0; 1 << 16]);
    loop {
        tokio::select! {
            () = async { drop(is_cut.wait_for(|is_cut| *is_cut).await) } => return,
            read = near.read(&mut question) => {
                let Ok(count @ 1..) = read else { return };
                let question = &question[..count];
                let is_commit = question.windows(7).any(|window| window == b"COMMIT\0");
                let lost = is_commit
                    .then(|| next.lock().unwrap_or_else(PoisonError::into_inner).take())
                    .flatten();
                if lost == Some(Lost::Question) || far.write_all(question).await.is_err() {
                    return;
                }
                if let Some(lost) = lost {
                    let answered = far.read(&mut answer).await;
                    assert!(answered.is_ok_and(|count| count > 0), "it is committed");
                    if lost == Lost::AnswerForGood {
                        std::future::pending::<()>().await;
                    }
                    return;
                }
            }
            read = far.read(&mut answer) => {
                let Ok(count @ 1..) = read else { return };
                if near.write_all(&answer[..count]).await.is_err() {
                    return;
                }
            }
        }
    }
}
