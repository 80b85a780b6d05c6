//! Where symbols are looked for, and who comes first.

use std::cell::RefCell;
use std::collections::HashMap;
use std::fmt::Debug;
use std::rc::Rc;

use crate::registry::{ImageId, ImageRegistry, LibraryId, State};
use crate::rule::ExporterRule;

/// Whom the images of a library serve.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Visibility {
    /// Every image.
    #[default]
    Global,
    /// The images of the library itself, and collections that [ask](crate::CollectOptions::libraries) for it.
    Local,
}

/// A program or shared library of a process, by a number that no other has while it is loaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SharedObjectId(pub usize);

/// What a process knows about the programs and libraries in it.
///
/// A registry that has one searches images in the order in which the process searches host symbols. No lock of the
/// registry is held while it asks, for a library may be registered while the loader holds its own.
pub trait Loader: Send + Sync + Debug {
    /// Where the process looks for what an object imports, in that order: the global objects, then those that were
    /// loaded together with it. Of no object: the global ones.
    fn scope(&self, of: Option<SharedObjectId>) -> Vec<SharedObjectId>;
}

/// Where an image stands in a search. Those of equal rank are of one library.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Rank {
    tier: Tier,
    place: usize,
}

// The order of a search: the derived one goes by these lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Tier {
    /// Of the importer's own library, where the rule says so.
    Own,
    /// Asked for by name.
    Asked,
    /// In the order of the loader.
    Loaded,
    /// In the order of registration.
    Registered,
    /// Of the importer's own library, which nobody else sees.
    Local,
}

impl Rank {
    pub(crate) fn is_asked_for(self) -> bool {
        self.tier == Tier::Asked
    }
}

/// What the loader has said during a collection, by the object that it was asked about.
#[derive(Default)]
pub(crate) struct Scopes(RefCell<HashMap<Option<SharedObjectId>, Rc<[SharedObjectId]>>>);

/// What tells where an image stands.
#[derive(Clone, Copy)]
struct Place {
    library: LibraryId,
    object: Option<SharedObjectId>,
    visibility: Visibility,
}

impl Place {
    fn is_of_same_library(&self, other: &Self) -> bool {
        self.library == other.library || (self.object.is_some() && self.object == other.object)
    }
}

impl State {
    fn place(&self, image: ImageId) -> Option<Place> {
        let (library, _) = self.line(image)?;
        Some(Place {
            library: self.library_of(image)?,
            object: library.object,
            visibility: library.visibility,
        })
    }
}

impl ImageRegistry {
    /// Where images stand in a search for what another needs; `None` for those that do not serve it.
    pub(crate) fn ranks(
        &self,
        images: &[ImageId],
        importer: ImageId,
        asked: &[LibraryId],
        scopes: &Scopes,
    ) -> Vec<Option<Rank>> {
        let rule = self.exporter_rule();
        let (own, places) = self.places(images, Some(importer));
        let scope = self.scope(&places, own.and_then(|own| own.object), scopes);
        let rank = |place: Place| {
            let is_own = own.is_some_and(|own| own.is_of_same_library(&place));
            if is_own && rule == ExporterRule::OwnFirst {
                return Some(Rank {
                    tier: Tier::Own,
                    place: 0,
                });
            }
            let asked = asked.iter().position(|asked| *asked == place.library);
            let asked = asked.map(|place| Rank {
                tier: Tier::Asked,
                place,
            });
            let local = is_own.then_some(Rank {
                tier: Tier::Local,
                place: 0,
            });
            // A library that serves itself alone comes last even for itself: as for host symbols,
            // what is global takes the place of what it has.
            asked.or_else(|| place.found_in(&scope)).or(local)
        };
        places.into_iter().map(|place| place.and_then(rank)).collect()
    }

    /// The images of the library that comes first, in the order in which they became known.
    pub(crate) fn of_first_library(&self, images: &[ImageId]) -> Vec<ImageId> {
        let (_, places) = self.places(images, None);
        let scope = self.scope(&places, None, &Scopes::default());
        let rank = |place: Place| {
            place.found_in(&scope).unwrap_or(Rank {
                tier: Tier::Local,
                place: place.library.number(),
            })
        };
        let ranks: Vec<_> = places.into_iter().map(|place| place.map(rank)).collect();
        let first = ranks.iter().flatten().min();
        let with_ranks = images.iter().zip(&ranks);
        let of_first = with_ranks.filter(|(_, rank)| rank.is_some() && rank.as_ref() == first);
        of_first.map(|(image, _)| *image).collect()
    }

    fn places(&self, images: &[ImageId], of: Option<ImageId>) -> (Option<Place>, Vec<Option<Place>>) {
        // Copied out of the registry: its lock must not be held when the loader is asked (see `Loader`).
        let state = self.read();
        let own = of.and_then(|image| state.place(image));
        (own, images.iter().map(|&image| state.place(image)).collect())
    }

    fn scope(
        &self,
        places: &[Option<Place>],
        of: Option<SharedObjectId>,
        scopes: &Scopes,
    ) -> Rc<[SharedObjectId]> {
        let is_loaded = places.iter().flatten().any(|place| place.object.is_some());
        let Some(loader) = self.loader().filter(|_| is_loaded) else {
            return Rc::default();
        };
        let mut scopes = scopes.0.borrow_mut();
        // Once for a collection: the loader goes through all objects of the process to answer.
        let scope = scopes.entry(of).or_insert_with(|| loader.scope(of).into());
        Rc::clone(scope)
    }
}

impl Place {
    /// Where the library stands among those that serve everybody; `None` if it does not.
    fn found_in(&self, scope: &[SharedObjectId]) -> Option<Rank> {
        let loaded = self
            .object
            .and_then(|object| scope.iter().position(|other| *other == object));
        let loaded = loaded.map(|place| Rank {
            tier: Tier::Loaded,
            place,
        });
        let registered = (self.visibility == Visibility::Global).then(|| Rank {
            tier: Tier::Registered,
            place: self.library.number(),
        });
        loaded.or(registered)
    }
}
