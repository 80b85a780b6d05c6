//! What comes of plugins that are looked at for devices.

use std::sync::{Arc, LazyLock};

use offkit_image::DeviceImage;
use offkit_pi::define_plugin;
use offkit_pi::ffi::*;
use offkit_pi::plugin::*;
use offkit_runtime::{DiscoveryFailure, Runtime};

/// A plugin of three platforms with a device each; the driver of the second is broken.
struct Three;

define_plugin! {
    const THREE: Three;
}

/// A platform, which is its device and context as well.
struct Numbered(usize);

impl Plugin for Three {
    type Platform = Numbered;
    type Device = Numbered;
    type Context = Numbered;
    type Queue = Unsupported;
    type Memory = Unsupported;
    type Sampler = Unsupported;
    type Program = Unsupported;
    type Kernel = Unsupported;
    type Event = Unsupported;
    const NAME: &'static str = "three";

    fn platforms() -> Result<Vec<Arc<Numbered>>> {
        static PLATFORMS: LazyLock<[Arc<Numbered>; 3]> =
            LazyLock::new(|| [1, 2, 3].map(|number| Arc::new(Numbered(number))));
        Ok(PLATFORMS.to_vec())
    }
}

impl Platform<Three> for Numbered {
    fn info(&self, name: pi_platform_info) -> Result<Info> {
        match name {
            PI_PLATFORM_INFO_NAME => Ok(format!("platform {}", self.0).into()),
            name => Err(Error::unknown_query(name)),
        }
    }

    fn devices(&self) -> Result<Vec<Arc<Numbered>>> {
        static DEVICES: LazyLock<[Arc<Numbered>; 2]> =
            LazyLock::new(|| [1, 3].map(|number| Arc::new(Numbered(number))));
        match DEVICES.iter().find(|device| device.0 == self.0) {
            Some(device) => Ok(vec![Arc::clone(device)]),
            None => Err(Error::new(PI_OUT_OF_RESOURCES, "the driver is broken")),
        }
    }
}

impl Device<Three> for Numbered {
    fn kind(&self) -> pi_device_type {
        PI_DEVICE_TYPE_ACC
    }

    fn info(&self, name: pi_device_info) -> Result<Info> {
        match name {
            PI_DEVICE_INFO_NAME => Ok(format!("device {}", self.0).into()),
            name => Err(Error::unknown_query(name)),
        }
    }

    fn select_binary(&self, _: &[DeviceImage<'_>]) -> Result<Option<usize>> {
        Ok(None)
    }
}

impl Context<Three> for Numbered {
    fn create(_: &[Arc<Numbered>]) -> Result<Numbered> {
        Ok(Numbered(0))
    }
}

#[test]
fn a_platform_that_lists_no_devices_costs_no_others_theirs() {
    let mut runtime = Runtime::with_plugins(&[&THREE], &[]);
    let names: Vec<_> = runtime.devices().map(|device| device.name().unwrap()).collect();
    assert_eq!(names, ["device 1", "device 3"]);
    let failures: Vec<_> = runtime.failures().collect();
    let [failure @ DiscoveryFailure::Platform { source, .. }] = failures.as_slice() else {
        panic!("{failures:?}");
    };
    assert_eq!(
        failure.to_string(),
        "plugin `three` does not list the devices of its platform `platform 2`"
    );
    assert!(source.to_string().contains("the driver is broken"), "{source}");
}

#[test]
fn devices_are_found_by_what_filters_call_them() {
    let mut runtime = Runtime::with_plugins(&[&THREE], &[]);
    let found: Vec<_> = runtime.found().iter().map(ToString::to_string).collect();
    assert_eq!(found, ["offkit:0", "offkit:1"]);
    let mut name = |selector: &str| {
        let device = runtime
            .device(Some(selector))
            .map_err(|error| error.to_string())?;
        Ok::<_, String>(device.name().unwrap())
    };
    assert_eq!(name("offkit:0").unwrap(), "device 1");
    assert_eq!(name("Offkit:1").unwrap(), "device 3");
    assert!(
        name("offkit:2")
            .unwrap_err()
            .starts_with("no device is `offkit:2`; ")
    );
    // By letters and digits alone it would be the first one's name.
    assert!(name("device:1").is_err());
    assert_eq!(name("device-1").unwrap(), "device 1");
}
