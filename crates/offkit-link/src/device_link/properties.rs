//! Property sets of modules that become one.
//!
//! What is said of kernels, symbols and variables by name stays with them; what is said of a module as a whole
//! has to hold for all that is linked into it. See `docs/linking.md` for the rules by set.

use offkit_object::property_set::names;
use offkit_object::{PropertySets, PropertyValue};

use super::error::LinkError;

/// The sets of virtual functions that an image calls.
const USED_SETS: &str = "uses-virtual-functions-set";

/// Adds what `new` says, the sets of one module, to `sets`, those of what it is linked with.
///
/// Specialization constants are left out: see [`super::constants`]. `labels` are what messages call the two.
pub(super) fn merge(
    sets: &mut PropertySets,
    new: &PropertySets,
    labels: (&str, &str),
) -> Result<(), LinkError> {
    for (set, properties) in new.iter() {
        if [
            names::SPECIALIZATION_CONSTANTS,
            names::SPECIALIZATION_CONSTANT_DEFAULTS,
        ]
        .contains(&set)
        {
            continue;
        }
        // A set without properties says something too: that there is nothing to say.
        sets.set_mut(set);
        for (key, value) in properties.iter() {
            let merged = match sets.get(set, key) {
                None => value.clone(),
                Some(old) if old == value => continue,
                Some(old) => both(set, key, old, value).ok_or_else(|| LinkError::Property {
                    first: labels.0.to_owned(),
                    second: labels.1.to_owned(),
                    set: set.to_owned(),
                    property: key.to_owned(),
                })?,
            };
            sets.insert(set, key, merged);
        }
    }
    Ok(())
}

/// What holds for both where they differ; `None` where nothing does.
fn both(set: &str, key: &str, old: &PropertyValue, new: &PropertyValue) -> Option<PropertyValue> {
    match (set, key) {
        // Each needs what it needs.
        (names::DEVICE_REQUIREMENTS, "aspects") => {
            let mut aspects = old.as_u32s()?;
            aspects.extend(new.as_u32s()?);
            aspects.sort_unstable();
            aspects.dedup();
            Some(aspects.as_slice().into())
        }
        (names::DEVICE_REQUIREMENTS, "work_group_num_dim") => Some(old.as_u32()?.max(new.as_u32()?).into()),
        (names::DEVICELIB_REQUIREMENT_MASK, _) => Some((old.as_u32()? | new.as_u32()?).into()),
        // What was compiled to be debugged stays so.
        (names::MISC_PROPERTIES, "optLevel") => Some(old.as_u32()?.min(new.as_u32()?).into()),
        // Names of sets of virtual functions, in a list. The one set that an image has is looked up by its whole
        // name, so two cannot become one.
        (names::VIRTUAL_FUNCTIONS, USED_SETS) => {
            let mut list: Vec<&str> = old.as_str()?.split(',').collect();
            for name in new.as_str()?.split(',') {
                if !list.contains(&name) {
                    list.push(name);
                }
            }
            Some(list.join(",").as_str().into())
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn merged(old: &PropertySets, new: &PropertySets) -> Result<PropertySets, LinkError> {
        let mut sets = old.clone();
        merge(&mut sets, new, ("a.syclbin!0", "b.syclbin!0"))?;
        Ok(sets)
    }

    fn one(set: &str, key: &str, value: impl Into<PropertyValue>) -> PropertySets {
        let mut sets = PropertySets::new();
        sets.insert(set, key, value);
        sets
    }

    #[test]
    fn what_is_said_of_names_stays() {
        let old = one(names::KERNEL_NAMES, "first", 1);
        let new = one(names::KERNEL_NAMES, "second", 1);
        let sets = merged(&old, &new).unwrap();
        assert_eq!(
            sets.symbols(names::KERNEL_NAMES).collect::<Vec<_>>(),
            ["first", "second"]
        );
    }

    #[test]
    fn what_is_needed_adds_up() {
        let aspects = |list: &[u32]| one(names::DEVICE_REQUIREMENTS, "aspects", list);
        assert_eq!(
            merged(&aspects(&[6, 5]), &aspects(&[28, 5])).unwrap(),
            aspects(&[5, 6, 28])
        );
        let mask = |mask: u32| one(names::DEVICELIB_REQUIREMENT_MASK, "DeviceLibReqMask", mask);
        assert_eq!(merged(&mask(1), &mask(6)).unwrap(), mask(7));
        let level = |level: u32| one(names::MISC_PROPERTIES, "optLevel", level);
        assert_eq!(merged(&level(2), &level(0)).unwrap(), level(0));
        let virtuals = |list: &str| one(names::VIRTUAL_FUNCTIONS, USED_SETS, list);
        assert_eq!(
            merged(&virtuals("a,b"), &virtuals("b,c")).unwrap(),
            virtuals("a,b,c")
        );
    }

    #[test]
    fn what_cannot_hold_for_both_is_an_error_with_both_names() {
        let size = |size: u32| one(names::DEVICE_REQUIREMENTS, "reqd_sub_group_size", size);
        assert_eq!(merged(&size(16), &size(16)).unwrap(), size(16));
        let own = |set: &str| one(names::VIRTUAL_FUNCTIONS, "virtual-functions-set", set);
        assert_eq!(merged(&own("a"), &own("a")).unwrap(), own("a"));
        assert!(merged(&own("a"), &own("b")).is_err());
        let text = merged(&size(16), &size(32)).unwrap_err().to_string();
        for part in ["a.syclbin!0", "b.syclbin!0", "reqd_sub_group_size"] {
            assert!(text.contains(part), "{text}");
        }
    }
}
