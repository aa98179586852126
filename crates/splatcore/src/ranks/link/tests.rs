use super::*;
use splatcore_train::Decision;
use std::net::TcpListener;
use std::sync::atomic::AtomicUsize;

const SOON: Duration = Duration::from_secs(20);

/// Where tests meet: a port that is free now.
fn world(rank: usize, count: usize, port: u16) -> World {
    World {
        ranks: Ranks::of(rank, count),
        card: rank,
        host: "127.0.0.1".into(),
        port,
        launcher: "a test",
    }
}

fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    listener.local_addr().unwrap().port()
}

fn hello(world: &World) -> Hello {
    Hello {
        version: "1".into(),
        commit: Some("abc".into()),
        kernels: "k".into(),
        rank: world.ranks.rank,
        count: world.ranks.count,
        card: world.card,
        identity: Some(format!("GPU-{}", world.ranks.rank)),
        shares_card: false,
        host: "here".into(),
        process: 7,
        settings: "a = 1\nb = 2".into(),
    }
}

type Ends = Arc<Mutex<Vec<String>>>;

/// A rank as a thread; what ends it is noted.
fn rank(
    world: World,
    change: impl FnOnce(&mut Hello) + Send + 'static,
    [deadline, silence]: [Duration; 2],
) -> thread::JoinHandle<Result<(Arc<Link>, Ends), String>> {
    thread::spawn(move || {
        let mut hello = hello(&world);
        change(&mut hello);
        let ends = Ends::default();
        let noted = Arc::clone(&ends);
        let end: End = Box::new(move |message| noted.lock().unwrap().push(message.into()));
        let times = [deadline, silence, Duration::from_millis(300)];
        let link = Link::meet_as(&world, &hello, "go on", (times, &|| None), end);
        Ok((link.map_err(|error| format!("{error:#}"))?, ends))
    })
}

fn three(silence: Duration) -> Vec<(Arc<Link>, Ends)> {
    let port = free_port();
    let ranks = (0..3).map(|k| rank(world(k, 3, port), |_| (), [SOON, silence]));
    let ranks: Vec<_> = ranks.collect();
    ranks
        .into_iter()
        .map(|r| r.join().unwrap().unwrap())
        .collect()
}

/// What ended a rank.
fn end_of(ends: &Ends) -> String {
    let until = Instant::now() + SOON;
    loop {
        if let Some(message) = ends.lock().unwrap().first() {
            return message.clone();
        }
        assert!(Instant::now() < until, "nothing ended this rank");
        thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn all_do_what_rank_0_decides() {
    let ranks = three(SOON);
    let decision = Decision {
        stop: true,
        save: true,
        ..Decision::default()
    };
    let others = Decision::default();
    assert_eq!(ranks[0].0.decide(5, decision).unwrap(), decision);
    assert_eq!(ranks[1].0.decide(5, others).unwrap(), decision);
    let error = ranks[2].0.decide(6, others).unwrap_err().to_string();
    assert_contains!(error, "rank 0 is at step 5, this rank at step 6");
    for (k, (link, ends)) in ranks.iter().enumerate() {
        let own = (k == 0).then_some([7u8; 4]);
        assert_eq!(link.share(own).unwrap(), [7; 4]);
        assert!(ends.lock().unwrap().is_empty());
    }
    ranks.iter().for_each(|(link, _)| link.done());
}

#[test]
fn a_rank_with_something_else_is_named() {
    let ranks = three(SOON);
    let links: Vec<_> = ranks.iter().map(|(link, _)| Arc::clone(link)).collect();
    let asked: Vec<_> = (links.into_iter().enumerate())
        .map(|(k, link)| {
            let value = if k == 2 { "other" } else { "this" };
            thread::spawn(move || {
                let same = link.same("photos", value);
                if let Err(error) = &same {
                    link.failed(&error.to_string());
                }
                same.map_err(|error| error.to_string())
            })
        })
        .collect();
    let error = asked
        .into_iter()
        .next()
        .unwrap()
        .join()
        .unwrap()
        .unwrap_err();
    assert_contains!(error, "rank 2 (card 2 of here", "photos");
    for (_, ends) in &ranks[1..] {
        assert!(end_of(ends).contains("rank 2"));
    }
}

/// Whoever meets a broken connection first says as much.
#[test]
fn a_rank_that_cannot_be_told_is_named() {
    let ranks = three(SOON);
    let link = &ranks[0].0;
    let stream = &link.others[1].stream;
    stream.shutdown(std::net::Shutdown::Write).unwrap();
    let error = link.decide(41, Decision::default()).unwrap_err();
    let error = error.to_string();
    assert_contains!(error, "rank 2 (card 2 of here, process 7) ended", "step 41");
    assert!(error.ends_with("go on"), "{error}");
}

/// As if it were killed: its connection breaks.
#[test]
fn a_rank_that_ends_ends_the_others() {
    let ranks = three(SOON);
    ranks[0].0.decide(41, Decision::default()).unwrap();
    let link = &ranks[2].0;
    link.is_done.store(true, Ordering::SeqCst);
    link.others[0]
        .stream
        .shutdown(std::net::Shutdown::Both)
        .unwrap();
    for (_, ends) in &ranks[..2] {
        let message = end_of(ends);
        assert_contains!(message, "rank 2 (card 2 of here, process 7) ended");
        assert!(
            message.contains("step 41") && message.ends_with("go on"),
            "{message}"
        );
    }
}

/// As if it were stopped: it is connected and says nothing.
#[test]
fn a_rank_that_is_silent_ends_the_others() {
    let port = free_port();
    let short = [SOON, Duration::from_millis(300)];
    let first = rank(world(0, 2, port), |_| (), short);
    let silent = world(1, 2, port);
    let _stream = call(&silent, &hello(&silent), SOON).unwrap();
    let (_link, ends) = first.join().unwrap().unwrap();
    let message = end_of(&ends);
    assert_contains!(message, "rank 1", "said nothing");
}

/// Ranks that exchange something else, or of which one waits for rank 0 and rank 0 for it.
#[test]
fn ranks_that_wait_for_each_other_end() {
    let ranks = three(SOON);
    let (first, last) = (&ranks[0], Arc::clone(&ranks[2].0));
    first.0.decide(7, Decision::default()).unwrap();
    let waits = Arc::new(AtomicUsize::new(0));
    let asked = Arc::clone(&waits);
    // A second at least in which rank 1 computes.
    ranks[1]
        .0
        .watch_exchanges(move || Ok(asked.fetch_add(1, Ordering::SeqCst) > 1));
    first.0.watch_exchanges(|| Ok(true));
    let hears = thread::spawn(move || {
        last.decide(7, Decision::default()).is_ok() && last.share::<4>(None).is_ok()
    });
    for (_, ends) in &ranks {
        let message = end_of(ends);
        assert_contains!(message, "have waited for each other", "at about step 7");
        assert!(message.ends_with("go on"), "{message}");
    }
    assert!(waits.load(Ordering::SeqCst) > 1);
    drop(ranks);
    assert!(!hears.is_finished() || !hears.join().unwrap());
}

/// Of ranks whose exchange fails, the one that knows it says so to all.
#[test]
fn an_exchange_that_fails_ends_all() {
    let ranks = three(SOON);
    (ranks.iter()).for_each(|(link, _)| drop(link.decide(8, Decision::default())));
    ranks[1].0.watch_exchanges(|| Err("NCCL: no way".into()));
    for (_, ends) in &ranks {
        assert_eq!(
            end_of(ends),
            "rank 1 at about step 8: NCCL: no way. The last checkpoint is kept, go on with: go on"
        );
    }
}

/// The connection says better why exchanges fail that a rank left which ended.
#[test]
fn a_rank_that_ends_is_named_before_its_exchanges() {
    let ranks = three(SOON);
    ranks[0].0.watch_exchanges(|| Err("NCCL: no way".into()));
    let link = &ranks[2].0;
    link.is_done.store(true, Ordering::SeqCst);
    let stream = &link.others[0].stream;
    stream.shutdown(std::net::Shutdown::Both).unwrap();
    let message = end_of(&ranks[0].1);
    assert_contains!(message, "rank 2 (card 2 of here, process 7) ended");
}

/// Of those that nobody needs any more none is missed, and who computes is not waited for in vain.
#[test]
fn ranks_that_are_done_may_be_silent() {
    let port = free_port();
    let times = [SOON, Duration::from_millis(300)];
    let ranks = [0, 1].map(|k| rank(world(k, 2, port), |_| (), times));
    let [first, other] = ranks.map(|rank| rank.join().unwrap().unwrap());
    other.0.done();
    thread::sleep(Duration::from_millis(1500));
    assert!(first.1.lock().unwrap().is_empty() && other.1.lock().unwrap().is_empty());
    first.0.done();
}

#[test]
fn why_a_rank_failed_is_said_with_its_step() {
    let ranks = three(SOON);
    ranks
        .iter()
        .for_each(|(link, _)| drop(link.decide(9, Decision::default())));
    ranks[1].0.failed("no memory");
    for (_, ends) in [&ranks[0], &ranks[2]] {
        assert_eq!(end_of(ends), "rank 1 at about step 9: no memory");
    }
}

#[test]
fn a_wrong_world_is_refused_before_any_work() {
    let both = |count: usize, change: fn(&mut Hello)| {
        let port = free_port();
        let first = rank(world(0, 2, port), |_| (), [SOON, SOON]);
        let other = rank(world(1, count, port), change, [SOON, SOON]);
        [first, other].map(|rank| rank.join().unwrap().map(drop).unwrap_err())
    };
    for (messages, said) in [
        (
            both(2, |hello| hello.version = "2".into()),
            "is splatcore 2, rank 0 is 1",
        ),
        (both(3, |_| ()), "is one of 3, and rank 0 waits for 2"),
        (
            both(2, |hello| hello.settings = "a = 1\nb = 3".into()),
            "has other settings: b = 3 where rank 0 has b = 2",
        ),
        (
            both(2, |hello| hello.commit = Some("abd-dirty".into())),
            "rank 1 (card 1 of here, process 7) was built from commit abd-dirty, rank 0 from abc",
        ),
        (
            both(2, |hello| hello.kernels = "l".into()),
            "has kernels other than those of rank 0; all ranks need one build",
        ),
        (
            both(2, |hello| hello.identity = Some("GPU-0".into())),
            "rank 0 (card 0 of here, process 7) and rank 1 (card 1 of here, process 7) are on one \
             card (GPU-0): start no more ranks than there are cards",
        ),
    ] {
        for message in messages {
            assert!(message.contains(said), "{message}");
        }
    }
}

/// Neither is rank 0.
#[test]
fn two_others_on_one_card_are_refused() {
    let port = free_port();
    let on_one = |hello: &mut Hello| hello.identity = Some("GPU-5".into());
    let ranks = (0..3).map(|k| {
        let change = move |hello: &mut Hello| {
            if k > 0 {
                on_one(hello);
            }
        };
        rank(world(k, 3, port), change, [SOON, SOON])
    });
    let ranks: Vec<_> = ranks.collect();
    for rank in ranks {
        let message = rank.join().unwrap().map(drop).unwrap_err();
        assert_contains!(message, "are on one card (GPU-5)", "rank 1 ", "rank 2 ");
    }
}

/// Cards that ranks may share, cards of which nothing is known, a commit that one does not know.
#[test]
fn what_may_differ_is_not_refused() {
    for change in [
        |hello: &mut Hello| {
            (hello.identity, hello.shares_card) = (Some("GPU".into()), true);
        },
        |hello: &mut Hello| hello.identity = None,
        |hello: &mut Hello| hello.commit = hello.commit.take().filter(|_| hello.rank == 0),
    ] {
        let port = free_port();
        let ranks = [0, 1].map(|k| rank(world(k, 2, port), change, [SOON, SOON]));
        for (link, _) in ranks.map(|rank| rank.join().unwrap().unwrap()) {
            link.done();
        }
    }
}

/// It says nothing of what came later.
#[test]
fn an_older_version_is_refused_by_its_version() {
    let port = free_port();
    let first = rank(world(0, 2, port), |_| (), [SOON, SOON]);
    let stream = loop {
        match TcpStream::connect(("127.0.0.1", port)) {
            Ok(stream) => break stream,
            Err(_) => thread::sleep(Duration::from_millis(5)),
        }
    };
    let older = serde_json::json!({
        "version": "0", "rank": 1, "count": 2, "card": 1, "host": "h", "process": 1, "settings": "",
    });
    frames::write(&stream, Kind::Hello, older.to_string().as_bytes()).unwrap();
    let message = first.join().unwrap().map(drop).unwrap_err();
    assert_contains!(message, "is splatcore 0, rank 0 is 1");
}

#[test]
fn ranks_that_do_not_come_are_named() {
    let soon = Duration::from_millis(200);
    let port = free_port();
    let ranks = [0, 2].map(|k| rank(world(k, 4, port), |_| (), [soon, SOON]));
    let [first, other] = ranks.map(|rank| rank.join().unwrap().map(drop).unwrap_err());
    assert_contains!(first, "of 4 ranks 1, 3 did not come");
    assert!(
        other.contains("1, 3 did not come") || other.contains("rank 0"),
        "{other}"
    );
    let alone = rank(world(1, 2, free_port()), |_| (), [soon, SOON]);
    let message = alone.join().unwrap().map(drop).unwrap_err();
    assert_contains!(message, "rank 0 was not found at 127.0.0.1");
}

/// `--cards` knows that a process which it started is gone, and waits for it no longer.
#[test]
fn a_rank_that_ends_at_the_start_is_named() {
    let world = world(0, 3, free_port());
    let begun = Instant::now();
    let ended = || (begun.elapsed() > Duration::from_millis(20)).then_some(2);
    let error = gather(&world, &hello(&world), (SOON, &ended)).err();
    assert_contains!(error.unwrap(), "rank 2 ended at the start");
    assert!(begun.elapsed() < SOON);
}

#[test]
fn a_port_that_is_taken_is_said() {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let port = listener.local_addr().unwrap().port();
    let first = rank(world(0, 2, port), |_| (), [SOON, SOON]);
    let message = first.join().unwrap().map(drop).unwrap_err();
    assert_contains!(message, format!("port {port} cannot be had"));
    assert_contains!(message, "SPLATCORE_PORT");
}

/// Whoever else calls is no rank.
#[test]
fn strangers_are_ignored() {
    let port = free_port();
    let first = rank(world(0, 2, port), |_| (), [SOON, SOON]);
    let stranger = loop {
        match TcpStream::connect(("127.0.0.1", port)) {
            Ok(stream) => break stream,
            Err(_) => thread::sleep(Duration::from_millis(5)),
        }
    };
    std::io::Write::write_all(&mut &stranger, b"GET / HTTP/1.1\r\n\r\n").unwrap();
    let other = rank(world(1, 2, port), |_| (), [SOON, SOON]);
    assert!(first.join().unwrap().is_ok() && other.join().unwrap().is_ok());
}
