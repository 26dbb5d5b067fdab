//! Notices between servers that share a PostgreSQL database (`LISTEN` and `NOTIFY`).
//!
//! A notice only wakes: it says where the tables have something new. Who misses one finds the same there. A SQLite file
//! has one server, so there is nobody to tell.

use sqlx::postgres::PgListener;

use crate::{Error, Result, Store};

const CHANNEL: &str = "stackloom";

/// Runs in one notice: 150 of 36 characters with a number stay below PostgreSQL's limit of 8,000 bytes.
const RUNS: usize = 150;

/// Content of a notice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Notice {
    /// Runs have events up to these numbers.
    Events(Vec<(String, u64)>),
    /// A run is free, was taken, or is to be cancelled.
    Runs,
    /// Notices may have been missed.
    Gap,
}

/// Receives notices.
#[derive(Debug)]
pub struct Listener(PgListener);

impl Store {
    /// True if other servers may use the same database.
    pub fn is_shared(&self) -> bool {
        self.address.is_some()
    }

    /// Notifies all servers that runs have events up to these numbers.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn notify_events(&self, last: &[(String, u64)]) -> Result<()> {
        for runs in last.chunks(RUNS) {
            let lines = runs.iter().map(|(run, seq)| format!("{run} {seq}"));
            self.notify(&lines.collect::<Vec<_>>().join("\n")).await?;
        }
        Ok(())
    }

    /// Notifies all servers to check the runs that they hold or could take.
    ///
    /// # Errors
    /// If the database fails.
    pub async fn notify_runs(&self) -> Result<()> {
        self.notify("").await
    }

    async fn notify(&self, payload: &str) -> Result<()> {
        if !self.is_shared() {
            return Ok(());
        }
        sqlx::query("SELECT pg_notify($1, $2)")
            .bind(CHANNEL)
            .bind(payload)
            .execute(&self.pool)
            .await
            .map(drop)
            .map_err(Error::at("sending a notice"))
    }

    /// Listens to notices from now on. `None` if there is nobody to listen to.
    ///
    /// # Errors
    /// If the database does not answer.
    pub async fn listen(&self) -> Result<Option<Listener>> {
        let Some(address) = &self.address else {
            return Ok(None);
        };
        let failed = Error::at("listening to notices");
        let mut listener = PgListener::connect(address).await.map_err(&failed)?;
        listener.listen(CHANNEL).await.map_err(&failed)?;
        Ok(Some(Listener(listener)))
    }
}

impl Listener {
    /// The next notice. Connects again if the connection breaks.
    ///
    /// # Errors
    /// If the database does not answer.
    pub async fn next(&mut self) -> Result<Notice> {
        let received = self.0.try_recv().await;
        let received = received.map_err(Error::at("listening to notices"))?;
        Ok(match received {
            None => Notice::Gap,
            Some(notice) => read(notice.payload()),
        })
    }
}

fn read(payload: &str) -> Notice {
    let event = |line: &str| {
        let (run, seq) = line.split_once(' ')?;
        Some((run.to_owned(), seq.parse().ok()?))
    };
    match payload {
        "" => Notice::Runs,
        lines => lines
            .lines()
            .map(event)
            .collect::<Option<_>>()
            .map_or(Notice::Gap, Notice::Events),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Postgres;

    #[tokio::test]
    async fn notices_reach_every_server() {
        let url = Postgres::shared().create().await;
        let (here, there) = (crate::connect(&url).await, crate::connect(&url).await);
        let (here, there) = (here.unwrap(), there.unwrap());
        let mut listeners = [
            here.store().listen().await.unwrap().unwrap(),
            there.store().listen().await.unwrap().unwrap(),
        ];
        let many: Vec<(String, u64)> = (0..151)
            .map(|seq| (uuid::Uuid::now_v7().to_string(), seq))
            .collect();
        here.store().notify_events(&many).await.unwrap();
        here.store().notify_runs().await.unwrap();
        for listener in &mut listeners {
            let (first, rest) = many.split_at(RUNS);
            for expected in [first, rest] {
                let notice = listener.next().await.unwrap();
                assert_eq!(notice, Notice::Events(expected.to_vec()));
            }
            assert_eq!(listener.next().await.unwrap(), Notice::Runs);
        }
    }
}
