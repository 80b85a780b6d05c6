//! Which form of a module's code a bundle has for a device.

use offkit_image::BundleState;
use offkit_pi::host::Device;

use super::BundleError;
use super::unit::Image;
pub(super) use crate::built::is_compiled_at_run_time;
use crate::select::{refusal, requirements};

/// The form of a module for a device; `None` if the device takes none that goes with the state.
///
/// | state | choice |
/// |---|---|
/// | input | code for the device's compiler; native code never stands in |
/// | object | code for the device's compiler; native code where there is none |
/// | executable | native code; code for the device's compiler where there is none |
pub(super) fn form_for<'a>(
    forms: &'a [Image],
    state: BundleState,
    device: &Device,
) -> Result<Option<&'a Image>, BundleError> {
    let orders: &[bool] = match state {
        BundleState::Input => &[true],
        BundleState::Object => &[true, false],
        BundleState::Executable => &[false, true],
    };
    for &compiled in orders {
        let found = best(forms, compiled, device)?;
        if found.is_some() {
            return Ok(found);
        }
    }
    Ok(None)
}

/// The native form of a module for a device, if there is one that the device takes.
pub(super) fn native_form_for<'a>(
    forms: &'a [Image],
    device: &Device,
) -> Result<Option<&'a Image>, BundleError> {
    best(forms, false, device)
}

/// The form that a device likes best, of those that its compiler takes or of the others.
fn best<'a>(forms: &'a [Image], compiled: bool, device: &Device) -> Result<Option<&'a Image>, BundleError> {
    let mut taken = Vec::new();
    for form in forms
        .iter()
        .filter(|form| is_compiled_at_run_time(form) == compiled)
    {
        match refusal(form, &requirements(form), device)? {
            None => taken.push(form),
            Some(reason) => {
                tracing::debug!(image = %form.location, %reason, "a device does not take an image");
            }
        }
    }
    match taken.as_slice() {
        [] => Ok(None),
        [only] => Ok(Some(*only)),
        several => {
            let images: Vec<_> = several.iter().map(|image| &***image).collect();
            // A plugin that cannot be asked takes the first.
            let best = device.select_binary(&images).ok().flatten();
            Ok(several.get(best.unwrap_or_default()).copied())
        }
    }
}
