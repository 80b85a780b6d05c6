//! Models for `loom`, which runs each with every order in which its threads can see each other's writes.

use super::{Failure, Line, Node, QueueId, Ready, Ref, Sort, Work};
use crate::sync::{Arc, AtomicUsize, Cell, Ordering, thread};
use offkit_pi::ffi::*;

/// Counts how often it is run.
struct Probe {
    runs: Arc<AtomicUsize>,
    /// What one command at a time uses, each after the one before.
    alone: Option<Arc<Alone>>,
    by: By,
}

struct Alone(Cell<usize>);

// SAFETY: the cell is checked by the model.
unsafe impl Send for Alone {}
// SAFETY: as above.
unsafe impl Sync for Alone {}

#[derive(Clone, Copy, PartialEq, Eq)]
enum By {
    /// Who submits it, if it need not wait; else whoever completes what it waits for.
    Anyone,
    /// Who takes it from the list, or waits for it.
    Pool,
}

loom::lazy_static! {
    static ref POOL: Ready<Probe> = Ready::new();
}

thread_local! {
    static TO_POOL: std::cell::Cell<bool> = const { std::cell::Cell::new(false) };
}

impl Work for Probe {
    fn is_nothing(&self) -> bool {
        false
    }

    fn run(self, _: &std::sync::atomic::AtomicBool) -> Result<(), String> {
        self.runs.fetch_add(1, Ordering::Relaxed);
        if let Some(alone) = self.alone {
            // SAFETY: checked by the model.
            alone.0.with_mut(|count| unsafe { *count += 1 });
        }
        Ok(())
    }

    fn schedule(node: Ref<Node<Probe>>) {
        if TO_POOL.get() {
            POOL.push(node)
        } else {
            node.run()
        }
    }

    fn help(queue: Option<QueueId>) -> bool {
        let ready = queue.and_then(|queue| POOL.pop_of(queue));
        ready.inspect(|node| node.run()).is_some()
    }

    fn leave_to_others() {}
}

/// Checks a model, with a bound on how often a thread is interrupted: without one, most take hours.
fn model(interruptions: usize, to_pool: bool, check: impl Fn() + Sync + Send + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = Some(interruptions);
    builder.check(move || {
        TO_POOL.set(to_pool);
        check();
    });
}

struct Counted {
    runs: Arc<AtomicUsize>,
}

impl Counted {
    fn new() -> Counted {
        Counted {
            runs: Arc::new(AtomicUsize::new(0)),
        }
    }

    fn probe(&self, by: By) -> Probe {
        Probe {
            runs: Arc::clone(&self.runs),
            alone: None,
            by,
        }
    }

    fn count(&self) -> usize {
        self.runs.load(Ordering::Relaxed)
    }
}

type Event = Ref<Node<Probe>>;

fn command() -> Event {
    Ref::new(Node::command(false))
}

fn of_the_host() -> Event {
    Ref::new(Node::of_the_host())
}

fn submit(line: &Arc<Line<Probe>>, work: Probe, wait: &[Event], sort: Sort) -> Event {
    if work.by == By::Anyone
        && sort == Sort::Command
        && let Some(turn) = line.turn(wait, false)
    {
        let end = turn.run(|| work.run(&std::sync::atomic::AtomicBool::new(false)));
        return Ref::new(Node::over(end));
    }
    let event = command();
    // SAFETY: made above.
    unsafe { Line::submit(line, &event, work, wait, sort) };
    event
}

#[test]
fn submission_against_completion() {
    model(2, false, || {
        let (runs, gate) = (Counted::new(), of_the_host());
        let setter = {
            let gate = Ref::clone(&gate);
            thread::spawn(move || assert!(gate.set(Ok(()))))
        };
        let line = Arc::new(Line::in_order());
        let event = submit(&line, runs.probe(By::Anyone), &[gate], Sort::Command);
        setter.join().unwrap();
        assert_eq!((runs.count(), event.status()), (1, PI_EVENT_COMPLETE));
        Line::finish(&line);
    });
}

#[test]
fn submission_against_failure() {
    model(2, false, || {
        let (runs, gate) = (Counted::new(), of_the_host());
        let setter = {
            let gate = Ref::clone(&gate);
            thread::spawn(move || {
                let text = "no".to_owned();
                assert!(gate.set(Err(Failure { status: -7, text })));
            })
        };
        let line = Arc::new(Line::in_order());
        let event = submit(&line, runs.probe(By::Anyone), &[gate], Sort::Command);
        setter.join().unwrap();
        assert_eq!(runs.count(), 0);
        assert_eq!(event.status(), PI_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST.0);
        assert!(event.failure().unwrap().text.ends_with("failed: no"));
    });
}

#[test]
fn submission_against_release() {
    model(2, false, || {
        let (runs, gate) = (Counted::new(), of_the_host());
        let other = {
            let gate = Ref::clone(&gate);
            thread::spawn(move || drop(gate))
        };
        let line = Arc::new(Line::in_order());
        let wait = [gate];
        let event = submit(&line, runs.probe(By::Anyone), &wait, Sort::Command);
        drop(wait);
        other.join().unwrap();
        assert_eq!(runs.count(), 0);
        assert!(event.status() < 0);
    });
}

#[test]
fn two_waiters_against_completion() {
    model(2, false, || {
        let gate = of_the_host();
        let waiters = [(); 2].map(|()| {
            let gate = Ref::clone(&gate);
            thread::spawn(move || {
                gate.wait();
                assert!(gate.is_over());
            })
        });
        assert!(gate.set(Ok(())));
        for waiter in waiters {
            waiter.join().unwrap();
        }
    });
}

#[test]
fn a_join_of_two() {
    model(2, false, || {
        let (runs, gates) = (Counted::new(), [of_the_host(), of_the_host()]);
        let line = Arc::new(Line::out_of_order());
        let event = submit(&line, runs.probe(By::Anyone), &gates, Sort::Command);
        let setters = gates.map(|gate| thread::spawn(move || assert!(gate.set(Ok(())))));
        for setter in setters {
            setter.join().unwrap();
        }
        assert_eq!((runs.count(), event.status()), (1, PI_EVENT_COMPLETE));
        Line::finish(&line);
    });
}

#[test]
fn an_event_is_set_once() {
    model(3, false, || {
        let gate = of_the_host();
        let setters = [(); 2].map(|()| {
            let gate = Ref::clone(&gate);
            thread::spawn(move || usize::from(gate.set(Ok(()))))
        });
        let set: usize = setters.map(|setter| setter.join().unwrap()).iter().sum();
        assert_eq!(set, 1);
    });
}

#[test]
fn callback_against_completion() {
    model(2, false, || {
        let (called, gate) = (Arc::new(AtomicUsize::new(0)), of_the_host());
        let setter = {
            let gate = Ref::clone(&gate);
            thread::spawn(move || assert!(gate.set(Ok(()))))
        };
        let count = Arc::clone(&called);
        let call = move |status| {
            assert_eq!(status, PI_EVENT_COMPLETE);
            count.fetch_add(1, Ordering::Relaxed);
        };
        gate.on_status(PI_EVENT_COMPLETE, Box::new(call));
        setter.join().unwrap();
        assert_eq!(called.load(Ordering::Relaxed), 1);
    });
}

#[test]
fn early_callbacks_against_progress() {
    model(2, true, || {
        let (runs, called) = (Counted::new(), Arc::new(AtomicUsize::new(0)));
        let gate = of_the_host();
        let line = Arc::new(Line::in_order());
        let event = submit(
            &line,
            runs.probe(By::Pool),
            std::slice::from_ref(&gate),
            Sort::Command,
        );
        let runner = thread::spawn(move || {
            TO_POOL.set(true);
            assert!(gate.set(Ok(())));
            if let Some((event, _)) = POOL.pop() {
                event.run();
            }
        });
        for due in [PI_EVENT_RUNNING, PI_EVENT_SUBMITTED] {
            let count = Arc::clone(&called);
            let call = move |status| {
                assert!(status <= due);
                count.fetch_add(1, Ordering::Relaxed);
            };
            event.on_status(due, Box::new(call));
        }
        runner.join().unwrap();
        assert_eq!((runs.count(), called.load(Ordering::Relaxed)), (1, 2));
    });
}

#[test]
fn waiter_against_pool() {
    model(2, true, || {
        let (runs, line) = (Counted::new(), Arc::new(Line::in_order()));
        let event = submit(&line, runs.probe(By::Pool), &[], Sort::Command);
        let pool = thread::spawn(|| {
            if let Some((event, _)) = POOL.pop() {
                event.run();
            }
        });
        event.wait();
        pool.join().unwrap();
        assert_eq!(runs.count(), 1);
        Line::finish(&line);
    });
}

#[test]
fn giving_up_against_running() {
    model(2, true, || {
        let (runs, line) = (Counted::new(), Arc::new(Line::in_order()));
        let event = submit(&line, runs.probe(By::Pool), &[], Sort::Command);
        let pool = thread::spawn(|| {
            if let Some((event, _)) = POOL.pop() {
                event.run();
            }
        });
        event.give_up(-9);
        event.wait();
        pool.join().unwrap();
        let expected = if runs.count() == 1 { PI_EVENT_COMPLETE } else { -9 };
        assert_eq!(event.status(), expected);
    });
}

#[test]
fn two_submit_in_order() {
    model(2, false, || {
        let (runs, line) = (Counted::new(), Arc::new(Line::in_order()));
        let other = {
            let (line, work) = (Arc::clone(&line), runs.probe(By::Anyone));
            thread::spawn(move || drop(submit(&line, work, &[], Sort::Command)))
        };
        let event = submit(&line, runs.probe(By::Anyone), &[], Sort::Command);
        event.wait();
        other.join().unwrap();
        Line::finish(&line);
        assert_eq!(runs.count(), 2);
    });
}

/// One after the other, and each sees what the one before has done: whether both are turns or one is a node, and when
/// the line has come to rest meanwhile.
#[test]
fn commands_in_order_do_not_meet() {
    for second in [By::Anyone, By::Pool] {
        model(3, false, move || {
            let (runs, line) = (Counted::new(), Arc::new(Line::in_order()));
            let alone = Arc::new(Alone(Cell::new(0)));
            let probe = |by| Probe {
                alone: Some(Arc::clone(&alone)),
                ..runs.probe(by)
            };
            let other = {
                let (line, works) = (Arc::clone(&line), [By::Anyone, By::Anyone].map(probe));
                thread::spawn(move || {
                    for work in works {
                        drop(submit(&line, work, &[], Sort::Command));
                    }
                })
            };
            submit(&line, probe(second), &[], Sort::Command);
            Line::finish(&line);
            other.join().unwrap();
            Line::finish(&line);
            // SAFETY: checked by the model.
            alone.0.with_mut(|count| assert_eq!(unsafe { *count }, 3));
        });
    }
}

#[test]
fn finish_against_completion_in_order() {
    model(2, false, || {
        let (runs, line, gate) = (Counted::new(), Arc::new(Line::in_order()), of_the_host());
        let event = submit(
            &line,
            runs.probe(By::Anyone),
            std::slice::from_ref(&gate),
            Sort::Command,
        );
        let setter = thread::spawn(move || assert!(gate.set(Ok(()))));
        Line::finish(&line);
        assert_eq!((runs.count(), event.status()), (1, PI_EVENT_COMPLETE));
        setter.join().unwrap();
    });
}

#[test]
fn finish_against_completion_out_of_order() {
    model(2, false, || {
        let (runs, line, gate) = (Counted::new(), Arc::new(Line::out_of_order()), of_the_host());
        let event = submit(
            &line,
            runs.probe(By::Anyone),
            std::slice::from_ref(&gate),
            Sort::Command,
        );
        let setter = thread::spawn(move || assert!(gate.set(Ok(()))));
        Line::finish(&line);
        assert_eq!((runs.count(), event.status()), (1, PI_EVENT_COMPLETE));
        setter.join().unwrap();
    });
}

#[test]
fn finish_against_pool_out_of_order() {
    model(2, true, || {
        let (runs, line) = (Counted::new(), Arc::new(Line::out_of_order()));
        let events = [(); 2].map(|()| submit(&line, runs.probe(By::Pool), &[], Sort::Command));
        let pool = thread::spawn(|| {
            if let Some((event, _)) = POOL.pop() {
                event.run();
            }
        });
        Line::finish(&line);
        assert!(events.iter().all(|event| event.status() == PI_EVENT_COMPLETE));
        pool.join().unwrap();
        assert_eq!(runs.count(), 2);
    });
}

#[test]
fn submission_against_marker_out_of_order() {
    model(2, false, || {
        let (runs, line) = (Counted::new(), Arc::new(Line::out_of_order()));
        let other = {
            let (line, work) = (Arc::clone(&line), runs.probe(By::Anyone));
            thread::spawn(move || drop(submit(&line, work, &[], Sort::Command)))
        };
        let marker = submit(&line, runs.probe(By::Anyone), &[], Sort::Barrier);
        other.join().unwrap();
        Line::finish(&line);
        assert_eq!((runs.count(), marker.status()), (2, PI_EVENT_COMPLETE));
    });
}
