//! Viewers at other servers, and the notices that these get.

use std::time::Instant;

use futures::FutureExt;
use store::Notice;

use super::*;

#[tokio::test]
async fn viewers_at_another_server_share_one_read_of_new_events() {
    let (journal, _database) = journal().await;
    let run = journal.of(&tenant(), "r", 0);
    run.write(vec![line(1)]).await.unwrap();
    let store = journal.store.clone();
    let other = Journal::start(store, LogQuota::NONE, Arc::default(), LIMIT, Arc::default());
    let mut viewers = [(); 2].map(|()| live_viewer(&other, 1));
    let notice = async |seq| announce::forward(&other.store, &other.hub, "r", seq).await;
    notice(1).await;
    run.write(vec![line(2), line(3)]).await.unwrap();
    notice(3).await;
    notice(3).await;
    let mut texts = Vec::new();
    for viewer in &mut viewers {
        let batch = viewer.next().await.unwrap().unwrap();
        assert_eq!(batch.len(), 2);
        texts.push(batch.texts()[0].json.clone());
        assert!(
            viewer.next().now_or_never().is_none(),
            "it gets the news once"
        );
    }
    assert_eq!(texts[0].as_ptr(), texts[1].as_ptr());

    // After a long silence, each viewer reads by itself.
    run.write((4..2004).map(line).collect()).await.unwrap();
    notice(2003).await;
    let [viewer, _] = &mut viewers;
    let mut last = 3;
    while last < 2003 {
        let batch = viewer.next().await.unwrap().unwrap();
        assert_eq!(batch[0].seq, last + 1);
        last = batch.last().unwrap().seq;
    }
}

#[tokio::test]
async fn events_whose_notices_were_missed_are_found_in_storage() {
    let (journal, _database) = journal().await;
    let run = journal.of(&tenant(), "r", 0);
    run.write(vec![line(1)]).await.unwrap();
    let store = journal.store.clone();
    let other = Journal::start(store, LogQuota::NONE, Arc::default(), LIMIT, Arc::default());
    let mut viewer = live_viewer(&other, 1);
    run.write(vec![line(2)]).await.unwrap();
    assert!(
        viewer.next().now_or_never().is_none(),
        "its notice was missed"
    );
    announce::look(&other.store, &other.hub).await;
    let batch = viewer.next().await.unwrap().unwrap();
    assert_eq!(batch[0].seq, 2);
}

/// Stores a line as a server does whose notices are lost.
async fn append(store: &Store, number: usize) {
    let write = store::Write {
        tenant: tenant(),
        run: "r".into(),
        fence: 0,
        entries: vec![line(number)],
    };
    let mut appender = store.appender(LogQuota::NONE);
    appender.append(&[&write]).await.unwrap();
}

/// This takes the five seconds between two looks.
#[tokio::test]
async fn a_viewer_gets_an_event_whose_notice_was_lost_some_seconds_later() {
    let database = Database::postgres().await;
    begin(&database.store).await;
    append(&database.store, 1).await;
    let runs = Arc::<Notify>::default();
    let store = database.store.clone();
    let (quota, is_reserved) = (LogQuota::NONE, Arc::default());
    let journal = Journal::start(store, quota, is_reserved, LIMIT, runs.clone());
    // A server reads the table when it begins to listen. The viewer comes after that, so it gets the event from a later look.
    let listening = tokio::time::timeout(LIMIT, runs.notified()).await;
    listening.expect("it listens");
    let mut viewer = live_viewer(&journal, 1);
    append(&database.store, 2).await;
    let batch = tokio::time::timeout(LIMIT, viewer.next()).await;
    let batch = batch.expect("it is found").unwrap().unwrap();
    assert_eq!(batch[0].seq, 2);
}

#[tokio::test]
async fn a_server_that_begins_to_listen_reads_the_events_of_earlier_notices() {
    let database = Database::postgres().await;
    begin(&database.store).await;
    append(&database.store, 1).await;
    // Nothing looks at storage for this hub at an interval, and no notice will come.
    let hub = Arc::<Hub>::default();
    let mut viewer = hub.watch(&tenant(), "r");
    let runs = Arc::<Notify>::default();
    let listening = announce::receive(database.store.clone(), Arc::downgrade(&hub), runs.clone());
    let listening = tokio::spawn(listening);
    let news = tokio::time::timeout(LIMIT, viewer.recv()).await;
    let news = news.expect("the viewer gets news");
    assert!(matches!(news, Ok(hub::News::Until(1))));
    let claiming = tokio::time::timeout(LIMIT, runs.notified()).await;
    claiming.expect("the task that claims runs is notified");
    listening.abort();
}

#[tokio::test]
async fn other_servers_get_the_last_number_of_a_burst_in_few_notices() {
    let (journal, database) = journal_in(Database::postgres().await).await;
    let mut listener = database.store.listen().await.unwrap().unwrap();
    let run = journal.of(&tenant(), "r", 0);
    let begun = Instant::now();
    for number in 0..100 {
        run.write(vec![line(number)]).await.unwrap();
    }
    let last = database.store.event_last(&tenant(), "r").await.unwrap();
    let last = vec![("r".to_owned(), last.unwrap())];
    let mut notices = 1;
    let search = async {
        while listener.next().await.unwrap() != Notice::Events(last.clone()) {
            notices += 1;
        }
    };
    let found = tokio::time::timeout(LIMIT, search).await;
    found.expect("the last number arrives");
    let intervals = begun.elapsed().as_millis() / 20;
    assert!(
        notices <= intervals + 1,
        "{notices} in {intervals} intervals"
    );
}
