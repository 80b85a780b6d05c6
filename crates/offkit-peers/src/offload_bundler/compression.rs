//! Compressed bundles, and what `-verbose` says about them.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use offkit_object::bundle::{COMPRESSED_MAGIC, CompressedBundle, CompressedVersion};
use offkit_object::{Compression, Limits};

use super::error::{Error, Result};
use super::options::Options;

pub(super) fn pack(options: &Options, content: &[u8]) -> Result<Vec<u8>> {
    let version = options.version.unwrap_or(CompressedVersion::V3);
    let start = Instant::now();
    let bytes = CompressedBundle::write(content, version, Compression::Zstd, options.level)?;
    let took = start.elapsed();
    if options.verbose {
        let data = (bytes.len() as u64).saturating_sub(version.header_size());
        say!("Compressed bundle format version: {version}");
        say!(
            "Total file size (including headers): {} bytes",
            grouped(bytes.len() as u64)
        );
        say!("Compression method used: zstd");
        say!("Compression level: {}", options.level.unwrap_or(3));
        say!(
            "Binary size before compression: {} bytes",
            grouped(content.len() as u64)
        );
        say!("Binary size after compression: {} bytes", grouped(data));
        say_rates("Compression", content.len() as u64, data, took);
        say!("Truncated MD5 hash: {:#016x}", CompressedBundle::hash_of(content));
    }
    Ok(bytes)
}

/// What is in a file, decompressed if need be.
pub(super) fn unpack<'a>(options: &Options, file: &str, bytes: &'a [u8]) -> Result<Cow<'a, [u8]>> {
    if !bytes.starts_with(&COMPRESSED_MAGIC) {
        return Ok(Cow::Borrowed(bytes));
    }
    let wrong = |error: offkit_object::Error| Error::Decompression(error.with_file(file));
    let bundle = CompressedBundle::parse(bytes).map_err(wrong)?;
    let header_size = bundle.version.header_size();
    let size = header_size.saturating_add(bundle.data.len() as u64);
    let is_last = usize::try_from(size)
        .ok()
        .and_then(|size| bytes.get(size..))
        // Zeros at the end only fill up a section or a page.
        .is_none_or(|rest| rest.iter().all(|byte| *byte == 0));
    if !is_last {
        // Several bundles after each other, as programs have them, are read together.
        return Ok(Cow::Borrowed(bytes));
    }
    let start = Instant::now();
    let content = bundle.decompress(&Limits::default()).map_err(wrong)?;
    let took = start.elapsed();
    if options.verbose {
        let data = bundle.data.len() as u64;
        say!("Compressed bundle format version: {}", bundle.version);
        if let Some(size) = bundle.file_size {
            say!("Total file size (from header): {} bytes", grouped(size));
        }
        say!("Decompression method: {}", bundle.compression);
        say!("Size before decompression: {} bytes", grouped(data));
        say!(
            "Size after decompression: {} bytes",
            grouped(content.len() as u64)
        );
        say_rates("Decompression", content.len() as u64, data, took);
        let hash = CompressedBundle::hash_of(&content);
        say!("Stored hash: {:#016x}", bundle.hash);
        say!("Recalculated hash: {hash:#016x}");
        let answer = if hash == bundle.hash { "Yes" } else { "No" };
        say!("Hashes match: {answer}");
    }
    Ok(Cow::Owned(content))
}

fn say_rates(what: &str, before: u64, after: u64, took: Duration) {
    #[expect(clippy::cast_precision_loss, reason = "for people")]
    let (before, after) = (before as f64, after.max(1) as f64);
    let megabytes = before / (1024.0 * 1024.0);
    let seconds = took.as_secs_f64().max(1e-9);
    say!("Compression rate: {:.2}", before / after);
    say!("Compression ratio: {:.2}%", after / before.max(1.0) * 100.0);
    say!("{what} speed: {:.2} MB/s", megabytes / seconds);
}

/// A number with commas between thousands.
fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut out = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && digits.len().saturating_sub(index) % 3 == 0 {
            out.push(',');
        }
        out.push(digit);
    }
    out
}
