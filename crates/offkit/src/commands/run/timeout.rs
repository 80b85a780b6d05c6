//! Times as they are typed.

use std::time::Duration;

/// Reads `2s`, `1.5s`, `500ms` or `3m`.
pub(super) fn parse(text: &str) -> Result<Duration, String> {
    let expected = || format!("`{text}` is not a time: expected one such as `2s`, `500ms` or `3m`");
    let unit = text
        .find(|c: char| !c.is_ascii_digit() && c != '.')
        .ok_or_else(expected)?;
    let (number, unit) = text.split_at(unit);
    let seconds = match unit {
        "ms" => 1e-3,
        "s" => 1.0,
        "m" => 60.0,
        _ => return Err(expected()),
    };
    let number: f64 = number.parse().map_err(|_| expected())?;
    Duration::try_from_secs_f64(number * seconds).map_err(|_| expected())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_a_unit() {
        assert_eq!(parse("2s"), Ok(Duration::from_secs(2)));
        assert_eq!(parse("1.5s"), Ok(Duration::from_millis(1500)));
        assert_eq!(parse("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(parse("3m"), Ok(Duration::from_secs(180)));
        for wrong in [
            "",
            "2",
            "s",
            "-1s",
            "1h2",
            "1e30s",
            "99999999999999999999999m",
            "1..2s",
        ] {
            assert!(parse(wrong).is_err(), "{wrong}");
        }
    }
}
