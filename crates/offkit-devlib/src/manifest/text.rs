//! The text of a manifest: its keys as they are written, and what each may say.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};

use serde::Deserialize;
use toml::Spanned;

use super::{Abi, Language, Manifest, ManifestError, Provider, Source, TargetSection, target_named};
use crate::naming::library_path;

/// The manifest as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct File {
    // Each with its place in the text where `check` looks at what it says: errors name the line.
    name: Spanned<String>,
    #[serde(default)]
    sources: Vec<Spanned<SourceText>>,
    #[serde(default)]
    include: Vec<String>,
    #[serde(default)]
    flags: Vec<String>,
    #[serde(default)]
    languages: BTreeMap<Spanned<String>, Vec<String>>,
    #[serde(default)]
    targets: Vec<Spanned<String>>,
    #[serde(default)]
    dependencies: Vec<Spanned<String>>,
    abi: Option<Spanned<Abi>>,
    #[serde(default)]
    target: BTreeMap<Spanned<String>, SectionText>,
    #[serde(default)]
    variants: BTreeMap<Spanned<String>, VariantText>,
}

#[derive(Deserialize)]
#[serde(
    untagged,
    expecting = "expected a file name, or { file = \"…\", language = \"…\" }"
)]
enum SourceText {
    Name(String),
    Table { file: String, language: Option<String> },
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct SectionText {
    sources: Option<Vec<Spanned<SourceText>>>,
    #[serde(default)]
    flags: Vec<String>,
    #[serde(default)]
    dependencies: Vec<Spanned<String>>,
    abi: Option<Spanned<Abi>>,
    #[serde(default)]
    providers: Vec<ProviderText>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct ProviderText {
    name: String,
    file: Option<String>,
    #[serde(default)]
    folders: Vec<String>,
    #[serde(default)]
    flags: Vec<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct VariantText {
    #[serde(default)]
    flags: Vec<String>,
}

impl File {
    /// What is written, if it is as it should be.
    pub(super) fn check(self, place: &Place<'_>) -> Result<Manifest, ManifestError> {
        let mut targets = Vec::with_capacity(self.targets.len());
        // By the file of each, which several names may stand for, as features come in any order:
        // both would be built into it, by two compilers at a time.
        let mut files = BTreeSet::new();
        for name in &self.targets {
            let target = target_named(name.get_ref()).ok_or_else(|| {
                let message = format!(
                    "expected a processor such as gfx90a or sm_60, spirv64, or a triple, found {:?}",
                    name.get_ref()
                );
                place.error(Some(name.span()), message)
            })?;
            if !files.insert(library_path(self.name.get_ref(), &target)) {
                let message = format!("the target {:?} is there twice", name.get_ref());
                return Err(place.error(Some(name.span()), message));
            }
            targets.push(target);
        }
        if let Some(abi) = &self.abi {
            place.check_abi(abi)?;
        }
        let languages = self.languages.into_iter();
        let target = self.target.into_iter();
        let variants = self.variants.into_iter();
        Ok(Manifest {
            path: place.path.to_owned(),
            name: place.plain(&self.name, "a name")?,
            sources: place.sources(&self.sources)?,
            include: self.include.iter().map(|folder| place.resolve(folder)).collect(),
            flags: self.flags,
            languages: languages
                .map(|(name, flags)| Ok((place.language(name.get_ref(), name.span())?, flags)))
                .collect::<Result<_, _>>()?,
            targets,
            dependencies: place.libraries(&self.dependencies)?,
            abi: self.abi.map(Spanned::into_inner).unwrap_or_default(),
            target: target
                .map(|(name, section)| Ok((name.into_inner(), place.section(section)?)))
                .collect::<Result<_, _>>()?,
            variants: variants
                .map(|(name, variant)| Ok((place.plain(&name, "a variant")?, variant.flags)))
                .collect::<Result<_, _>>()?,
        })
    }
}

/// A manifest that is being read.
pub(super) struct Place<'a> {
    pub(super) path: &'a Path,
    pub(super) text: &'a str,
}

impl Place<'_> {
    pub(super) fn error(&self, span: Option<Range<usize>>, message: impl Into<String>) -> ManifestError {
        let before = span
            .and_then(|span| self.text.get(..span.start))
            .unwrap_or_default();
        ManifestError::Content {
            path: self.path.to_owned(),
            line: before.matches('\n').count() + 1,
            message: message.into(),
        }
    }

    /// A path as the manifest means it.
    fn resolve(&self, path: &str) -> PathBuf {
        self.path.parent().unwrap_or(Path::new("")).join(path)
    }

    /// A part of a file name.
    fn plain(&self, name: &Spanned<String>, what: &str) -> Result<String, ManifestError> {
        let text = name.get_ref();
        // It becomes a part of the names of files and folders: no separators, and no `..`.
        let is_plain = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '+' | '.');
        if text.is_empty() || text.starts_with('.') || !text.chars().all(is_plain) {
            let message =
                format!("expected {what} of letters, digits, `_`, `-`, `+` and `.`, found {text:?}");
            return Err(self.error(Some(name.span()), message));
        }
        Ok(text.clone())
    }

    /// Names of libraries.
    fn libraries(&self, names: &[Spanned<String>]) -> Result<Vec<String>, ManifestError> {
        names
            .iter()
            .map(|name| self.plain(name, "a library's name"))
            .collect()
    }

    fn sources(&self, sources: &[Spanned<SourceText>]) -> Result<Vec<Source>, ManifestError> {
        sources.iter().map(|source| self.source(source)).collect()
    }

    fn source(&self, source: &Spanned<SourceText>) -> Result<Source, ManifestError> {
        let (file, language) = match source.get_ref() {
            SourceText::Name(file) => (file, None),
            SourceText::Table { file, language } => (file, language.as_ref()),
        };
        let path = self.resolve(file);
        let language = match language {
            Some(name) => self.language(name, source.span())?,
            None => Language::of_file(&path).ok_or_else(|| {
                let message = format!(
                    "expected a source with the ending .c, .cpp or .cl, or {{ file = {file:?}, language = \"…\" }}"
                );
                self.error(Some(source.span()), message)
            })?,
        };
        Ok(Source { path, language })
    }

    fn language(&self, name: &str, span: Range<usize>) -> Result<Language, ManifestError> {
        Language::from_name(name).ok_or_else(|| {
            let message = format!("expected the language c, c++ or opencl, found {name:?}");
            self.error(Some(span), message)
        })
    }

    fn check_abi(&self, abi: &Spanned<Abi>) -> Result<(), ManifestError> {
        let wrong = |message: String| Err(self.error(Some(abi.span()), message));
        let abi = abi.get_ref();
        if let Some(size) = abi.wavefront_size.filter(|size| ![32, 64].contains(size)) {
            return wrong(format!("expected the wavefront-size 32 or 64, found {size}"));
        }
        if let Some(version) = abi
            .code_object_version
            .filter(|version| !(2..=6).contains(version))
        {
            return wrong(format!(
                "expected a code-object-version from 2 to 6, found {version}"
            ));
        }
        let is_version = |text: &String| {
            let parts = text.split_once('.');
            parts.is_some_and(|(major, minor)| {
                major == "1" && minor.parse::<u8>().is_ok_and(|minor| minor <= 6)
            })
        };
        if let Some(version) = abi.spirv_version.as_ref().filter(|version| !is_version(version)) {
            return wrong(format!(
                "expected a spirv-version from 1.0 to 1.6, found {version:?}"
            ));
        }
        Ok(())
    }

    fn section(&self, section: SectionText) -> Result<TargetSection, ManifestError> {
        let abi = section
            .abi
            .map(|abi| self.check_abi(&abi).map(|()| abi.into_inner()));
        let providers = section.providers.into_iter().map(|provider| Provider {
            name: provider.name,
            file: provider.file,
            folders: provider
                .folders
                .iter()
                .map(|folder| self.resolve(folder))
                .collect(),
            flags: provider.flags,
        });
        Ok(TargetSection {
            sources: section
                .sources
                .map(|sources| self.sources(&sources))
                .transpose()?,
            flags: section.flags,
            dependencies: self.libraries(&section.dependencies)?,
            abi: abi.transpose()?.unwrap_or_default(),
            providers: providers.collect(),
        })
    }
}
