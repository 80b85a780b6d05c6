//! Calls that fail, once or for good.

use super::*;

/// Everything that a program does, up to the first failure.
fn everything(devices: &[Device], code: &[u8], app: &[&[u8]; 2]) -> Result<(), PiError> {
    let device = &devices[0];
    assert_eq!(saxpy(device, code)?, SUM);
    let all: Vec<&Device> = devices.iter().collect();
    let context = Context::new(&all)?;
    let properties = QueueProperties {
        out_of_order: true,
        profiling: true,
    };
    let queue = context.queue(device, properties)?;
    let programs = app.map(|code| context.program_with_binary(device, code));
    let [app, library] = programs;
    context.link(&[&app?, &library?], "")?;
    let buffer = context.buffer_from(&[7; 64])?;
    let filled = queue.fill_buffer(&buffer, &[1, 2, 3, 4, 5, 6, 7, 8], 0, 64, &[])?;
    let usm = context.usm(UsmKind::Shared, device, 64, 0)?;
    let host = context.usm(UsmKind::Host, device, 64, 0)?;
    let set = queue.set_usm(&usm, 0, 1, 64, &[])?;
    let copied = queue.copy_usm((&usm, 0), (&host, 0), 64, &[&filled, &set])?;
    queue.barrier(&[])?;
    queue.write_buffer(&buffer, 0, &[9; 8], &[])?;
    copied.wait()?;
    queue.finish()?;
    let profile = filled.profile()?;
    assert!(profile.started <= profile.ended);
    Ok(())
}

#[test]
fn a_fault_at_any_call_is_an_error_and_leaves_nothing_behind() {
    let test = "faults::a_fault_at_any_call_is_an_error_and_leaves_nothing_behind";
    need!("clang-22");
    if !is_inside(test, &[], &[("STANDIN_DEVICES", "2")]) {
        return;
    }
    let folder = Folder::new();
    let [app, library] = link::parts(&folder);
    let (code, app) = (ptx("83"), [app.as_slice(), library.as_slice()]);
    let stand_in = StandIn::new();
    let devices = devices();
    everything(&devices, &code, &app).unwrap();
    assert_eq!(stand_in.live(), "");
    // What comes later than discovery, and is not giving something back.
    let functions = offkit_plugin_cuda::DECLARATIONS.iter().map(|(name, _)| *name);
    let functions: Vec<&str> = functions.filter(|name| stand_in.calls(name) > 0).collect();
    let mut failures = 0;
    for function in functions {
        // No memory, a fault of a kernel, a device that is gone: once, and for good.
        for (code_of_fault, is_lost) in [(2, false), (700, true), (214, true)] {
            for nth in 1..=3 {
                let fault = format!("{function}:{nth}:{code_of_fault}");
                match is_lost {
                    true => stand_in.lose(&fault),
                    false => stand_in.fail(&fault),
                }
                if let Err(error) = everything(&devices, &code, &app) {
                    failures += 1;
                    let words = error.to_string();
                    let name = match code_of_fault {
                        2 => "CUDA_ERROR_OUT_OF_MEMORY",
                        700 => "CUDA_ERROR_ILLEGAL_ADDRESS",
                        _ => "CUDA_ERROR_ECC_UNCORRECTABLE",
                    };
                    assert!(words.contains(name), "{fault}: {words}");
                    assert_eq!(
                        words.contains("is lost to this process"),
                        is_lost,
                        "{fault}: {words}"
                    );
                }
                stand_in.fail("");
                assert_eq!(left(&stand_in), "", "{fault}");
            }
        }
    }
    assert!(failures > 150, "{failures} faults were noticed");
    // And all is well again.
    everything(&devices, &code, &app).unwrap();
}

#[test]
fn a_kernel_that_faults_fails_its_event_and_what_was_read_stays() {
    let test = "faults::a_kernel_that_faults_fails_its_event_and_what_was_read_stays";
    need!("clang-22");
    if !is_inside(test, &[], &[]) {
        return;
    }
    let device = devices().remove(0);
    let context = Context::new(&[&device]).unwrap();
    let queue = context.queue(&device, QueueProperties::default()).unwrap();
    let program = context.program_with_binary(&device, &ptx("83")).unwrap();
    program.build("").unwrap();
    let buffer = context.buffer_from(&[3; 16]).unwrap();
    let read = queue.read_buffer_later(&buffer, 0, 16, &[]).unwrap();
    let before = read.event().try_clone().unwrap();
    assert_eq!(read.wait().unwrap(), [3; 16]);
    let mut kernel = program.kernel("saxpy").unwrap();
    kernel.set_argument(0, 1.0f32).unwrap();
    kernel
        .set_argument(1, offkit_pi::host::Argument::bytes(&16u64.to_ne_bytes()))
        .unwrap();
    kernel.set_argument(2, &buffer).unwrap();
    let error = queue
        .launch(&kernel, &NdRange::new([4]), &[])
        .and_then(|event| event.wait())
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("an illegal memory access") && error.contains("is lost to this process"),
        "{error}"
    );
    let error = queue
        .finish()
        .and_then(|()| context.buffer(4).map(drop))
        .unwrap_err();
    assert!(
        error.to_string().contains("CUDA_ERROR_ILLEGAL_ADDRESS"),
        "{error}"
    );
    // What was done before is still known to be done.
    assert_eq!(before.status().unwrap(), CommandStatus::Complete);
}
