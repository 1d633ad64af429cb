//! Progress bars: on a terminal only, on stderr, never between log lines.

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};
use std::{io::Write, sync::LazyLock, time::Duration};
use tracing_subscriber::fmt::MakeWriter;

/// All bars of the process. Draws nothing where stderr is no terminal.
static BARS: LazyLock<MultiProgress> = LazyLock::new(MultiProgress::new);

/// A bar towards a known total.
pub(crate) fn bar(label: &str, total: u64) -> ProgressBar {
    let bar = BARS.add(ProgressBar::new(total));
    let style = ProgressStyle::with_template(
        "{prefix:<12} {wide_bar} {pos}/{len}  {per_sec}  {eta} left {msg}",
    );
    if let Ok(style) = style {
        bar.set_style(style);
    }
    bar.set_prefix(label.to_owned());
    bar
}

/// A bar of bytes towards a known size.
pub(crate) fn bytes(label: &str, total: u64) -> ProgressBar {
    let bar = bar(label, total);
    if let Ok(style) =
        ProgressStyle::with_template("{prefix} {wide_bar} {bytes}/{total_bytes}  {eta} left")
    {
        bar.set_style(style);
    }
    bar
}

/// A sign of life where the total is not known.
pub(crate) fn spinner(label: &str) -> ProgressBar {
    let bar = BARS.add(ProgressBar::new_spinner());
    if let Ok(style) = ProgressStyle::with_template("{spinner} {prefix} {msg}  {elapsed}") {
        bar.set_style(style);
    }
    bar.set_prefix(label.to_owned());
    bar.enable_steady_tick(Duration::from_millis(120));
    bar
}

/// Writes log lines to stderr, above the bars.
#[derive(Clone, Copy)]
pub(crate) struct LogWriter;

impl Write for LogWriter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        BARS.suspend(|| std::io::stderr().write(bytes))
    }

    fn flush(&mut self) -> std::io::Result<()> {
        std::io::stderr().flush()
    }
}

impl<'a> MakeWriter<'a> for LogWriter {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        *self
    }
}
