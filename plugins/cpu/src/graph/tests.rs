//! Commands that note when they ran, in graphs made at random: each after what it waits for, each once.

use crate::sync::Mutex;

use super::{Failure, Line, Node, QueueId, Ready, Ref, Sort, Work};
use offkit_pi::ffi::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Notes when it ran.
struct Step {
    noted: Arc<Noted>,
    fails: bool,
}

#[derive(Default)]
struct Noted {
    /// 0 before it started, and before it ended; else the time on a clock that counts steps.
    started: AtomicU64,
    ended: AtomicU64,
}

static CLOCK: AtomicU64 = AtomicU64::new(1);
static READY: Ready<Step> = Ready::new();

impl Work for Step {
    fn is_nothing(&self) -> bool {
        false
    }

    fn run(self, _: &AtomicBool) -> Result<(), String> {
        let started = self
            .noted
            .started
            .swap(CLOCK.fetch_add(1, Ordering::SeqCst), Ordering::SeqCst);
        assert_eq!(started, 0, "a command is run twice");
        self.noted
            .ended
            .store(CLOCK.fetch_add(1, Ordering::SeqCst), Ordering::SeqCst);
        if self.fails {
            Err("on purpose".to_owned())
        } else {
            Ok(())
        }
    }

    fn schedule(node: Ref<Node<Step>>) {
        READY.push(node);
    }

    fn help(queue: Option<QueueId>) -> bool {
        let ready = queue.and_then(|queue| READY.pop_of(queue));
        ready.inspect(|node| node.run()).is_some()
    }

    fn leave_to_others() {}
}

type Event = Ref<Node<Step>>;

/// Runs a test with threads that run what is ready.
fn with_pool(threads: usize, test: impl FnOnce()) {
    struct Pool(Arc<AtomicBool>, Vec<JoinHandle<()>>);
    impl Drop for Pool {
        fn drop(&mut self) {
            self.0.store(true, Ordering::SeqCst);
            self.1.drain(..).for_each(|thread| thread.join().unwrap());
        }
    }
    // Tests that run at the same time share the list, so that each runs what others make ready.
    let stop = Arc::new(AtomicBool::new(false));
    let work = |stop: Arc<AtomicBool>| {
        move || {
            while !stop.load(Ordering::SeqCst) {
                match READY.pop() {
                    Some((event, _)) => event.run(),
                    None => std::thread::yield_now(),
                }
            }
        }
    };
    let threads = (0..threads).map(|_| std::thread::spawn(work(Arc::clone(&stop))));
    let _pool = Pool(Arc::clone(&stop), threads.collect());
    test();
}

fn submit(line: &Arc<Line<Step>>, small: bool, wait: &[Event], sort: Sort) -> (Event, Arc<Noted>) {
    let noted = Arc::<Noted>::default();
    let step = Step {
        noted: Arc::clone(&noted),
        fails: false,
    };
    if small
        && sort == Sort::Command
        && let Some(turn) = line.turn(wait, false)
    {
        let end = turn.run(|| step.run(&AtomicBool::new(false)));
        return (Ref::new(Node::over(end)), noted);
    }
    let event = Ref::new(Node::command(false));
    // SAFETY: made here.
    unsafe { Line::submit(line, &event, step, wait, sort) };
    (event, noted)
}

fn of_the_host() -> Event {
    Ref::new(Node::of_the_host())
}

#[test]
fn a_small_command_is_over_when_it_has_been_submitted() {
    for line in [Line::in_order(), Line::out_of_order()].map(Arc::new) {
        let (event, _) = submit(&line, true, &[], Sort::Command);
        assert_eq!(event.status(), PI_EVENT_COMPLETE);
        Line::finish(&line);
    }
}

#[test]
fn a_thread_that_waits_for_a_command_runs_it() {
    let line = Arc::new(Line::in_order());
    let (event, noted) = submit(&line, false, &[], Sort::Command);
    event.wait();
    assert_ne!(noted.ended.load(Ordering::SeqCst), 0);
    submit(&line, false, &[], Sort::Command);
    Line::finish(&line);
}

#[test]
fn a_thread_that_waits_for_a_queue_runs_its_commands() {
    let lines = [Line::in_order(), Line::out_of_order()].map(Arc::new);
    let noted: Vec<Arc<Noted>> = (0..12)
        .map(|index| submit(&lines[index % 2], false, &[], Sort::Command).1)
        .collect();
    lines.iter().for_each(Line::finish);
    assert!(noted.iter().all(|noted| noted.ended.load(Ordering::SeqCst) != 0));
}

#[test]
fn a_long_chain_is_gone_through_without_recursion() {
    for failed in [false, true] {
        let (line, gate) = (Arc::new(Line::out_of_order()), of_the_host());
        let mut last = Ref::clone(&gate);
        let noted: Vec<Arc<Noted>> = (0..100_000)
            .map(|_| {
                let (event, noted) = submit(&line, true, &[Ref::clone(&last)], Sort::Command);
                last = event;
                noted
            })
            .collect();
        let status = PI_COMMAND_EXECUTION_FAILURE.0;
        let failure = || Failure {
            status,
            text: "no".to_owned(),
        };
        with_pool(1, || {
            gate.set(if failed { Err(failure()) } else { Ok(()) });
            last.wait();
        });
        if failed {
            let failure = last.failure().unwrap();
            assert_eq!(
                failure.text,
                "not started, as a command it waits for has failed: no"
            );
        }
        let ran = noted
            .iter()
            .filter(|noted| noted.ended.load(Ordering::SeqCst) != 0)
            .count();
        assert_eq!(ran, if failed { 0 } else { 100_000 });
    }
}

#[test]
fn nothing_is_left_of_an_event_that_is_over() {
    // What goes with a command goes when it is over, not when its queue does.
    let line = Arc::new(Line::in_order());
    let (event, noted) = submit(&line, true, &[], Sort::Command);
    assert_eq!((Arc::strong_count(&noted), Arc::strong_count(&line)), (1, 1));
    drop(event);
}

/// Numbers that look random.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

/// What the commands of a round have to be checked for.
struct Submitted {
    event: Event,
    noted: Arc<Noted>,
    wait: Vec<usize>,
    /// Comes after these because of the order of its queue, whatever becomes of them.
    after: Vec<usize>,
    gives_up: bool,
}

/// One thread's commands on queues it shares with nobody but for their events.
fn round(dice: &mut Dice, others: &Mutex<Vec<Event>>) {
    let lines = [Line::in_order(), Line::out_of_order(), Line::out_of_order()].map(Arc::new);
    let mut all: Vec<Submitted> = Vec::new();
    let mut members = [const { Vec::new() }; 3];
    let mut barriers: [Option<usize>; 3] = [None; 3];
    let gates: Vec<Event> = (0..4).map(|_| of_the_host()).collect();
    let callbacks = Arc::new(AtomicUsize::new(0));
    let mut expected_callbacks = 0;
    for index in 0..60 {
        let queue = dice.roll(3) as usize;
        let sort = match dice.roll(12) {
            0 => Sort::Barrier,
            1 => Sort::Marker,
            _ => Sort::Command,
        };
        let mut wait = Vec::new();
        for _ in 0..dice.roll(7) {
            if index > 0 {
                wait.push(dice.roll(index) as usize);
            }
        }
        let mut list: Vec<Event> = wait.iter().map(|other| Ref::clone(&all[*other].event)).collect();
        if dice.roll(4) == 0 {
            list.push(Ref::clone(&gates[dice.roll(4) as usize]));
        }
        if dice.roll(8) == 0
            && let Some(other) = others.lock().unwrap().last()
        {
            list.push(Ref::clone(other));
        }
        let mut after: Vec<usize> = barriers[queue].into_iter().collect();
        if queue == 0 || (sort != Sort::Command && list.is_empty()) {
            after.extend(members[queue].iter().copied());
        }
        let (event, noted) = submit(&lines[queue], dice.roll(2) == 0, &list, sort);
        if dice.roll(4) == 0 {
            others.lock().unwrap().push(Ref::clone(&event));
        }
        if dice.roll(3) == 0 {
            let due = [PI_EVENT_COMPLETE, PI_EVENT_RUNNING, PI_EVENT_SUBMITTED][dice.roll(3) as usize];
            let called = Arc::clone(&callbacks);
            expected_callbacks += 1;
            event.on_status(
                due,
                Box::new(move |reached| {
                    assert!(reached <= due);
                    called.fetch_add(1, Ordering::SeqCst);
                }),
            );
        }
        let gives_up = dice.roll(40) == 0 && event.give_up(PI_OUT_OF_RESOURCES.0);
        let number = all.len();
        members[queue].push(number);
        if sort == Sort::Barrier {
            barriers[queue] = Some(number);
        }
        all.push(Submitted {
            event,
            noted,
            wait,
            after,
            gives_up,
        });
    }
    for gate in gates {
        match dice.roll(16) {
            0 => drop(gate),
            1 => {
                let (status, text) = (PI_OUT_OF_RESOURCES.0, String::new());
                gate.set(Err(Failure { status, text }));
            }
            _ => assert!(gate.set(Ok(()))),
        }
    }
    match dice.roll(3) {
        0 => lines.iter().for_each(Line::finish),
        1 => all.iter().for_each(|submitted| submitted.event.wait()),
        _ => drop(lines),
    }
    all.iter().for_each(|submitted| submitted.event.wait());
    let times = |of: &Submitted| [&of.noted.started, &of.noted.ended].map(|time| time.load(Ordering::SeqCst));
    for this in &all {
        let status = this.event.status();
        let [started, ended] = times(this);
        assert!(status <= PI_EVENT_COMPLETE);
        assert_eq!(
            status == PI_EVENT_COMPLETE,
            ended != 0,
            "done, or failed without being started"
        );
        assert!(status == PI_EVENT_COMPLETE || this.event.failure().is_some());
        for other in this.wait.iter().map(|other| &all[*other]) {
            if other.event.status() == PI_EVENT_COMPLETE {
                assert!(
                    ended == 0 || started > times(other)[1],
                    "before what it waits for"
                );
            } else {
                assert!(status < 0, "although something it waits for failed");
            }
        }
        for other in this.after.iter().map(|other| &all[*other]) {
            assert!(ended == 0 || started > times(other)[1], "out of order");
        }
        assert!(!this.gives_up || status <= PI_EVENT_COMPLETE);
    }
    // A thread that waits may be woken before the callbacks of the same event have been called.
    let limit = Instant::now() + Duration::from_secs(60);
    while callbacks.load(Ordering::SeqCst) < expected_callbacks {
        assert!(Instant::now() < limit, "a callback is not called");
        std::thread::yield_now();
    }
    assert_eq!(callbacks.load(Ordering::SeqCst), expected_callbacks);
}

/// For two seconds, or as many as `OFFKIT_STRESS_SECONDS` says (`./dev stress`).
#[test]
fn graphs_at_random_keep_every_order() {
    let seconds = std::env::var("OFFKIT_STRESS_SECONDS")
        .ok()
        .and_then(|text| text.parse().ok());
    let end = Instant::now() + Duration::from_secs(seconds.unwrap_or(2));
    let others = Arc::new(Mutex::new(Vec::new()));
    let rounds = Arc::new(AtomicUsize::new(0));
    with_pool(2, || {
        let threads = [1, 2, 3].map(|thread: u64| {
            let (others, rounds) = (Arc::clone(&others), Arc::clone(&rounds));
            std::thread::spawn(move || {
                let mut dice = Dice(0x9e37_79b9_7f4a_7c15 ^ (thread << 7));
                while Instant::now() < end {
                    round(&mut dice, &others);
                    rounds.fetch_add(1, Ordering::SeqCst);
                    let mut others = others.lock().unwrap();
                    if others.len() > 100 {
                        others.clear();
                    }
                }
            })
        });
        threads.into_iter().for_each(|thread| thread.join().unwrap());
    });
    assert_ne!(rounds.load(Ordering::SeqCst), 0);
}
