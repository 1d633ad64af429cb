//! `whence completions` and `whence man`: made from the commands themselves.

use crate::{boot::Ending, cli::Cli, print};
use anyhow::{Context, Result};
use clap::{Args, CommandFactory};
use std::path::PathBuf;

#[derive(Debug, Args)]
pub(crate) struct Completions {
    /// For which shell
    shell: clap_complete::Shell,
}

#[derive(Debug, Args)]
pub(crate) struct Man {
    /// Write the pages of all commands into this folder [default: print the main one]
    #[arg(long, value_name = "FOLDER")]
    dir: Option<PathBuf>,
}

pub(crate) fn completions(arguments: &Completions) -> Ending {
    let mut script = Vec::new();
    clap_complete::generate(arguments.shell, &mut Cli::command(), "whence", &mut script);
    print::text(&String::from_utf8_lossy(&script));
    Ending::Done
}

pub(crate) fn man(arguments: &Man) -> Result<Ending> {
    match &arguments.dir {
        Some(folder) => clap_mangen::generate_to(Cli::command(), folder)
            .with_context(|| format!("cannot write man pages into {}", folder.display()))?,
        None => {
            let mut page = Vec::new();
            clap_mangen::Man::new(Cli::command()).render(&mut page)?;
            print::text(&String::from_utf8_lossy(&page));
        }
    }
    Ok(Ending::Done)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn the_commands_are_sound_and_each_has_a_page() {
        Cli::command().debug_assert();
        let folder = tempfile::tempdir().unwrap();
        let dir = Some(folder.path().to_owned());
        man(&Man { dir }).unwrap();
        for page in ["whence.1", "whence-file-history.1", "whence-dead-show.1"] {
            assert!(folder.path().join(page).is_file(), "{page}");
        }
    }
}
