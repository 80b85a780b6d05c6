//! Which form of a module's code a bundle has for a device.

use std::collections::HashMap;

use offkit_image::{BundleState, ImageFormat, Target};
use offkit_pi::host::Device;

use super::BundleError;
use super::unit::Image;
pub(super) use crate::built::is_compiled_at_run_time;
use crate::select::{Reason, bytes, refusal_of_demands, refusal_of_target, requirements};

/// What a device makes of the modules of a bundle. It is asked once about all images of a format for a target.
pub(super) struct Chooser<'a> {
    device: &'a Device,
    answers: HashMap<(ImageFormat, &'a Target), Option<Reason>>,
}

impl<'a> Chooser<'a> {
    pub(super) fn new(device: &'a Device) -> Self {
        Self {
            device,
            answers: HashMap::new(),
        }
    }

    /// The form of a module for the device; `None` if the device takes none that goes with the state.
    ///
    /// | state | choice |
    /// |---|---|
    /// | input | code for the device's compiler; native code never stands in |
    /// | object | code for the device's compiler; native code where there is none |
    /// | executable | native code; code for the device's compiler where there is none |
    pub(super) fn form(
        &mut self,
        forms: &'a [Image],
        state: BundleState,
    ) -> Result<Option<&'a Image>, BundleError> {
        let orders: &[bool] = match state {
            BundleState::Input => &[true],
            BundleState::Object => &[true, false],
            BundleState::Executable => &[false, true],
        };
        for &compiled in orders {
            let found = self.best(forms, compiled)?;
            if found.is_some() {
                return Ok(found);
            }
        }
        Ok(None)
    }

    /// The native form of a module, if there is one that the device takes.
    pub(super) fn native_form(&mut self, forms: &'a [Image]) -> Result<Option<&'a Image>, BundleError> {
        self.best(forms, false)
    }

    /// The form that the device likes best, of those that its compiler takes or of the others.
    fn best(&mut self, forms: &'a [Image], compiled: bool) -> Result<Option<&'a Image>, BundleError> {
        let mut taken = Vec::new();
        for form in forms
            .iter()
            .filter(|form| is_compiled_at_run_time(form) == compiled)
        {
            match self.refusal(form)? {
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
                let best = self.device.select_binary(&images).ok().flatten();
                Ok(several.get(best.unwrap_or_default()).copied())
            }
        }
    }

    /// Why the device does not take an image.
    fn refusal(&mut self, image: &'a Image) -> Result<Option<Reason>, BundleError> {
        // Of each image, not of each kind: what cannot be unpacked is an error and no refusal.
        bytes(image)?;
        let kind = (image.format, &image.target);
        let answer = match self.answers.get(&kind) {
            Some(answer) => answer.clone(),
            None => {
                let answer = refusal_of_target(image, self.device)?;
                self.answers.insert(kind, answer.clone());
                answer
            }
        };
        Ok(answer.or_else(|| refusal_of_demands(&requirements(image), self.device)))
    }
}
