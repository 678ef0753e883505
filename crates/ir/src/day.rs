//! Days of the calendar, which records of what was run begin with.

use std::time::{SystemTime, UNIX_EPOCH};

/// The day that it is, in UTC; none where the clock stands before 1970.
pub fn today() -> Option<String> {
    SystemTime::now().duration_since(UNIX_EPOCH).ok().map(|since| day(since.as_secs()))
}

/// The day of so many seconds after the beginning of 1970, in UTC, of the calendar that everybody uses.
fn day(seconds: u64) -> String {
    // Years begin in March here, so that the day that some have comes last; 719468 days lie between March of year 0 and 1970.
    let days = seconds / 86_400 + 719_468;
    let (era, day) = (days / 146_097, days % 146_097);
    let year = (day - day / 1_460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let (year, next) = (400 * era + year, month >= 10);
    let month_of_year = if next { month - 9 } else { month + 3 };
    format!("{:04}-{month_of_year:02}-{:02}", year + u64::from(next), day - (153 * month + 2) / 5 + 1)
}

#[cfg(test)]
mod tests {
    use super::day;

    #[test]
    fn days_are_those_of_the_calendar() {
        // As `date --utc --date=@SECONDS +%F` says.
        for (seconds, expected) in [
            (0, "1970-01-01"),
            (86_399, "1970-01-01"),
            (951_782_400, "2000-02-29"),
            (951_868_800, "2000-03-01"),
            (1_735_689_599, "2024-12-31"),
            (1_795_305_600, "2026-11-22"),
            (4_107_542_400, "2100-03-01"),
        ] {
            assert_eq!(day(seconds), expected);
        }
    }
}
