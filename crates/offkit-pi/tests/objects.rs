//! What the host side makes of several plugins, of one plugin loaded several times, and of objects that are
//! dropped while commands use them.

use offkit_image::DeviceImage;
use offkit_pi::ffi::*;
use offkit_pi::host;
use offkit_pi::host::{CommandStatus, QueueProperties, UsmKind};
use offkit_pi::plugin::*;
use offkit_pi::{BuiltIn, define_plugin};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, LazyLock, Mutex, OnceLock};

/// Platform, device, context and queue of all plugins here.
#[derive(Default)]
struct Machine {
    device: Option<Arc<Machine>>,
}

/// An event. A command is done when the event that it waits for is. There are no callbacks.
#[derive(Default)]
struct Gate {
    /// The event waited for.
    behind: OnceLock<Ref<Gate>>,
    /// Set when the event is done.
    status: Mutex<Option<pi_event_status>>,
    changed: Condvar,
}

/// Makes a plugin, counting how often it is torn down and how many allocations it has freed.
macro_rules! machine_plugin {
    ($name:ident, $constant:ident, $torn_down:ident, $freed:ident) => {
        static $torn_down: AtomicUsize = AtomicUsize::new(0);
        static $freed: (Mutex<usize>, Condvar) = (Mutex::new(0), Condvar::new());

        struct $name;

        define_plugin! {
            const $constant: $name;
        }

        impl Plugin for $name {
            type Platform = Machine;
            type Device = Machine;
            type Context = Machine;
            type Queue = Machine;
            type Memory = Unsupported;
            type Sampler = Unsupported;
            type Program = Unsupported;
            type Kernel = Unsupported;
            type Event = Gate;
            const NAME: &'static str = stringify!($name);

            fn platforms() -> Result<Vec<Arc<Machine>>> {
                static PLATFORM: LazyLock<Arc<Machine>> = LazyLock::new(|| {
                    Arc::new(Machine {
                        device: Some(Arc::default()),
                    })
                });
                Ok(vec![Arc::clone(&PLATFORM)])
            }

            fn tear_down() -> Result<()> {
                $torn_down.fetch_add(1, Ordering::SeqCst);
                Ok(())
            }
        }

        impl Platform<$name> for Machine {
            fn info(&self, name: pi_platform_info) -> Result<Info> {
                Err(Error::unknown_query(name))
            }

            fn devices(&self) -> Result<Vec<Arc<Machine>>> {
                Ok(self.device.iter().cloned().collect())
            }
        }

        impl Device<$name> for Machine {
            fn kind(&self) -> pi_device_type {
                PI_DEVICE_TYPE_ACC
            }

            fn info(&self, name: pi_device_info) -> Result<Info> {
                Err(Error::unknown_query(name))
            }

            fn select_binary(&self, _: &[DeviceImage<'_>]) -> Result<Option<usize>> {
                Ok(None)
            }
        }

        impl Context<$name> for Machine {
            fn create(_: &[Arc<Machine>]) -> Result<Machine> {
                Ok(Machine::default())
            }

            fn create_queue(_: &Ref<Self>, _: &Arc<Machine>, _: pi_queue_properties) -> Result<Machine> {
                Ok(Machine::default())
            }

            fn create_user_event(_: &Ref<Self>) -> Result<Gate> {
                Ok(Gate::default())
            }

            fn allocate_usm(
                &self,
                _: UsmKind,
                _: Option<&Arc<Machine>>,
                _: usize,
                _: usize,
            ) -> Result<usize> {
                Ok(0x1000)
            }

            fn free_usm(&self, _: usize) -> Result<()> {
                *$freed.0.lock().unwrap() += 1;
                $freed.1.notify_all();
                Ok(())
            }
        }

        impl Queue<$name> for Machine {
            fn enqueue(
                _: &Ref<Self>,
                _: Command<$name>,
                wait: &[Ref<Gate>],
                event: NewEvent<'_, $name>,
            ) -> Result<()> {
                event.create(|| Gate {
                    behind: OnceLock::from(wait[0].clone()),
                    ..Gate::default()
                })?;
                Ok(())
            }

            fn finish(&self) -> Result<()> {
                Ok(())
            }
        }

        impl Event<$name> for Gate {
            fn status(&self) -> Result<pi_event_status> {
                match self.behind.get() {
                    Some(gate) => Event::<$name>::status(&**gate),
                    None => Ok(self.status.lock().unwrap().unwrap_or(PI_EVENT_SUBMITTED)),
                }
            }

            fn failure(&self) -> Option<String> {
                None
            }

            fn wait(&self) -> Result<()> {
                if let Some(gate) = self.behind.get() {
                    return Event::<$name>::wait(&**gate);
                }
                let status = self.status.lock().unwrap();
                drop(
                    self.changed
                        .wait_while(status, |status| status.is_none())
                        .unwrap(),
                );
                Ok(())
            }

            fn set_status(&self, status: pi_event_status) -> Result<()> {
                if status == PI_EVENT_COMPLETE && stringify!($name) == "Broken" {
                    return Err(Error::unsupported("success"));
                }
                *self.status.lock().unwrap() = Some(status);
                self.changed.notify_all();
                Ok(())
            }
        }
    };
}

machine_plugin!(Single, SINGLE, SINGLE_TORN_DOWN, SINGLE_FREED);
machine_plugin!(Other, OTHER, OTHER_TORN_DOWN, OTHER_FREED);
machine_plugin!(Another, ANOTHER, ANOTHER_TORN_DOWN, ANOTHER_FREED);
machine_plugin!(Keeper, KEEPER, KEEPER_TORN_DOWN, KEEPER_FREED);
machine_plugin!(Broken, BROKEN, BROKEN_TORN_DOWN, BROKEN_FREED);

fn device(plugin: &BuiltIn) -> host::Device {
    let plugin = host::Plugin::built_in(plugin).unwrap();
    let platform = plugin.platforms().unwrap().remove(0);
    platform.devices(PI_DEVICE_TYPE_ALL).unwrap().remove(0)
}

fn setup(plugin: &BuiltIn) -> (host::Device, host::Context, host::Queue) {
    let device = device(plugin);
    let context = host::Context::new(&[&device]).unwrap();
    let queue = context.queue(&device, QueueProperties::default()).unwrap();
    (device, context, queue)
}

#[test]
fn a_plugin_loaded_twice_is_one_and_is_torn_down_once() {
    let [first, second] = [device(&SINGLE), device(&SINGLE)];
    assert_eq!(first, second);
    drop(second);
    assert_eq!(SINGLE_TORN_DOWN.load(Ordering::SeqCst), 0);
    host::Context::new(&[&first]).unwrap();
    drop(first);
    assert_eq!(SINGLE_TORN_DOWN.load(Ordering::SeqCst), 1);
    // It can be used again.
    drop(device(&SINGLE));
    assert_eq!(SINGLE_TORN_DOWN.load(Ordering::SeqCst), 2);
}

#[test]
fn objects_of_another_plugin_are_refused() {
    let (device, context, queue) = setup(&OTHER);
    let (foreign_device, foreign, _) = setup(&ANOTHER);
    assert_ne!(device, foreign_device);
    let refused = |result: host::Result<()>, code| {
        let error = result.unwrap_err();
        assert_eq!(error.result(), code, "{error}");
    };
    let mixed = host::Context::new(&[&device, &foreign_device]);
    refused(mixed.map(drop), PI_INVALID_DEVICE);
    let queue_of_it = context.queue(&foreign_device, QueueProperties::default());
    refused(queue_of_it.map(drop), PI_INVALID_DEVICE);
    let usm_of_it = context.usm(UsmKind::Shared, &foreign_device, 8, 0);
    refused(usm_of_it.map(drop), PI_INVALID_DEVICE);
    let program = context.program_with_binary(&foreign_device, &[1]);
    refused(program.map(drop), PI_INVALID_DEVICE);

    let event = foreign.user_event().unwrap();
    refused(
        queue.marker(&[event.event()]).map(drop),
        PI_INVALID_EVENT_WAIT_LIST,
    );
    let gate = context.user_event().unwrap();
    let usm = foreign.usm(UsmKind::Shared, &foreign_device, 8, 0).unwrap();
    let set = queue.set_usm(&usm, 0, 1, 8, &[gate.event()]);
    refused(set.map(drop), PI_INVALID_CONTEXT);
    let copy = queue.copy_usm((&usm, 0), (&usm, 4), 4, &[gate.event()]);
    refused(copy.map(drop), PI_INVALID_CONTEXT);
    refused(
        queue.write_usm(&usm, 0, &[1], &[gate.event()]),
        PI_INVALID_CONTEXT,
    );
    refused(
        queue.read_usm(&usm, 0, &mut [1], &[gate.event()]),
        PI_INVALID_CONTEXT,
    );
}

#[test]
fn an_allocation_stays_until_the_commands_that_use_it_are_done() {
    let (device, context, queue) = setup(&KEEPER);
    let gate = context.user_event().unwrap();
    let usm = context.usm(UsmKind::Shared, &device, 8, 0).unwrap();
    let set = queue.set_usm(&usm, 0, 1, 8, &[gate.event()]).unwrap();
    drop((usm, queue));
    // One that no command uses is freed at once, without waiting for anything.
    drop(context.usm(UsmKind::Shared, &device, 8, 0).unwrap());
    let freed = KEEPER_FREED.0.lock().unwrap();
    assert_eq!(*freed, 1);
    drop(freed);
    gate.complete().unwrap();
    assert_eq!(set.status().unwrap(), CommandStatus::Complete);
    let freed = KEEPER_FREED.0.lock().unwrap();
    let freed = KEEPER_FREED.1.wait_while(freed, |freed| *freed < 2).unwrap();
    assert_eq!(*freed, 2);
}

#[test]
fn an_event_that_cannot_be_completed_is_failed() {
    let (_, context, queue) = setup(&BROKEN);
    let gate = context.user_event().unwrap();
    let marker = queue.marker(&[gate.event()]).unwrap();
    assert_eq!(
        gate.complete().unwrap_err().message(),
        Some("success is not supported")
    );
    assert_eq!(
        marker.status().unwrap(),
        CommandStatus::Failed(PI_COMMAND_EXECUTION_FAILURE)
    );
}
