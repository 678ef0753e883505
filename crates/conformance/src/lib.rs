//! Cases, generator, runner, judging, reports.
