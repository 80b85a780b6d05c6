//! Calls as those see them who listen by `tracing`.

mod mock;

use mock::ADDER;
use offkit_pi::ffi::PI_DEVICE_TYPE_ALL;
use offkit_pi::host::Plugin;
use std::io::{self, Write};
use std::sync::{Arc, Mutex};
use tracing::Level;
use tracing_subscriber::fmt::format::FmtSpan;

/// What is told, as text.
#[derive(Clone, Default)]
struct Heard(Arc<Mutex<Vec<u8>>>);

impl Write for Heard {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn listeners_are_told_of_calls_with_what_goes_in_and_comes_out() {
    let (heard, plugin) = (Heard::default(), Plugin::built_in(&ADDER).unwrap());
    let writer = heard.clone();
    let listener = tracing_subscriber::fmt()
        .with_max_level(Level::TRACE)
        .with_span_events(FmtSpan::NEW)
        .with_ansi(false)
        .with_writer(move || writer.clone())
        .finish();
    tracing::subscriber::with_default(listener, || {
        let platforms = plugin.platforms().unwrap();
        platforms[0].devices(PI_DEVICE_TYPE_ALL).unwrap();
    });
    plugin.platforms().unwrap();
    let text = String::from_utf8(heard.0.lock().unwrap().clone()).unwrap();
    let lines: Vec<&str> = text
        .lines()
        .filter(|line| line.contains("piDevicesGet"))
        .collect();
    // Their number is asked for, and then for so many: each call is told of when it begins and when it has returned.
    let [count, counted, list, listed] = lines[..] else {
        panic!("{text}");
    };
    for line in lines {
        assert!(
            line.contains("offkit_pi::call") && line.contains("plugin=\"adder\""),
            "{line}"
        );
        assert!(line.contains("PI_DEVICE_TYPE_ALL"), "{line}");
    }
    assert!(count.contains("pi_uint32 : 0"), "{count}");
    assert!(counted.contains("returned result=PI_SUCCESS"), "{counted}");
    assert!(list.contains("pi_uint32 : 2"), "{list}");
    assert!(listed.contains("written="), "{listed}");
    assert_eq!(text.matches("piPlatformsGet").count(), 4, "{text}");
}
