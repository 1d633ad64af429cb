//! The commands, their flags and their help.

use crate::{
    lookup::{self, Narrow},
    manual,
};
use clap::{Args, Parser, Subcommand, ValueEnum};
use std::path::PathBuf;

/// A searchable mirror of the prose in your tickets, merge requests and wikis.
///
/// Answers why something is as it is, and where that was argued.
#[derive(Debug, Parser)]
#[command(
    name = "whence",
    version,
    propagate_version = true,
    arg_required_else_help = true
)]
pub(crate) struct Cli {
    #[command(flatten)]
    pub(crate) global: Global,
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What every command takes.
#[derive(Debug, Args)]
pub(crate) struct Global {
    /// Configuration file [default: whence.toml, where it exists]
    #[arg(long, global = true, value_name = "FILE", env = "WHENCE_CONFIG")]
    pub(crate) config: Option<PathBuf>,
    /// Folder that holds everything Whence keeps [default: .whence]
    #[arg(long, global = true, value_name = "DIR")]
    pub(crate) data: Option<PathBuf>,
    /// Say more on stderr; twice for everything
    #[arg(short, long, global = true, action = clap::ArgAction::Count)]
    pub(crate) verbose: u8,
    /// Say only what went wrong
    #[arg(short, long, global = true, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Start everything: servers, stages, harvest and the query service
    Up(Up),
    /// Ask a question
    Search(Search),
    /// Find tickets like one, or like a draft
    Similar(Similar),
    /// Show how far the pipeline is
    Status(Output),
    /// Count what is searchable
    Stats(Output),
    /// Harvest sources into the log, once or again and again
    #[command(visible_alias = "harvest")]
    Sync(Sync),
    /// Show the last run of every source
    SyncStatus(Output),
    /// Fetch single tickets from their service now
    SyncTicket(SyncTicket),
    /// Fetch one ticket now, and return when its new state can be found
    Invalidate(SyncTicket),
    /// Compare what a tracker has with what is searchable
    Verify(Verify),
    /// Show who the tokens are and what they may read
    AuthTest(AuthTest),
    /// Look at what could not be processed, and try again
    Dead(Dead),
    /// Run stages again from what the log holds
    Replay(Replay),
    /// Measure search quality on questions with known answers
    Eval(Eval),
    /// Say what is missing here and how to get it
    Doctor(Output),
    /// Create streams, buckets and tables, and nothing else
    Setup,
    /// Run one stage as a process of its own
    #[command(subcommand)]
    Stage(Stage),
    /// Show one ticket whole, with its links both ways
    Show(lookup::show::Show),
    /// List tickets
    List(lookup::list::List),
    /// Count tickets
    Count(lookup::count::Count),
    /// Show which tickets changed a file or speak of it, under all its names
    FileHistory(lookup::file_history::FileHistory),
    /// Show how much was said on a file, or the files with the most tickets
    Hotspots(lookup::hotspots::Hotspots),
    /// Show what somebody contributed, on what, and with whom
    Person(lookup::person::Person),
    /// Show who weighs in on a matter or a file
    Experts(lookup::experts::Experts),
    /// Show what waits for somebody: assigned, opened by them, or naming them
    Inbox(lookup::inbox::Inbox),
    /// Print completions for a shell
    Completions(manual::Completions),
    /// Print the manual page
    Man(manual::Man),
}

/// One stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Subcommand, ValueEnum)]
pub(crate) enum Stage {
    /// Raw payloads to documents
    Normalize,
    /// Documents to chunks
    Chunk,
    /// Chunks to vectors
    Embed,
    /// Vectors to rows
    Index,
    /// Rows to answers, over HTTP
    Query,
}

#[derive(Debug, Args)]
pub(crate) struct Up {
    /// What to harvest, as often as needed: `archive:FILE|FOLDER|URL`,
    /// `wiki:FOLDER`, `ticket:FILE.json`
    #[arg(long = "source", value_name = "SOURCE")]
    pub(crate) sources: Vec<String>,
    /// End when everything that was harvested is searchable
    #[arg(long)]
    pub(crate) once: bool,
    /// Leave a stage to a process of its own, as often as needed
    #[arg(long = "without", value_name = "STAGE", value_enum)]
    pub(crate) without: Vec<Stage>,
    /// Where the query service listens [default: 127.0.0.1:7777]
    #[arg(long, value_name = "ADDRESS")]
    pub(crate) listen: Option<std::net::SocketAddr>,
    #[command(flatten)]
    pub(crate) prune: Prune,
    /// Print the summary of --once as JSON
    #[arg(long, requires = "once")]
    pub(crate) json: bool,
}

#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Prune {
    /// Most tickets that one pass may delete because a listing no longer has
    /// them, in percent of those known
    #[arg(long, value_name = "PERCENT", value_parser = clap::value_parser!(u8).range(0..=100))]
    pub(crate) max_prune: Option<u8>,
}

#[derive(Debug, Args)]
pub(crate) struct Sync {
    /// What to harvest [default: the sources of the configuration]
    #[arg(value_name = "SOURCE")]
    pub(crate) sources: Vec<String>,
    /// Begin at the beginning, and sweep: compare all there is with all known
    #[arg(long)]
    pub(crate) full: bool,
    /// Take over from a harvest that seems to run elsewhere
    #[arg(long)]
    pub(crate) force: bool,
    /// Go on with a pass every so many seconds, until stopped
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) watch: Option<u64>,
    #[command(flatten)]
    pub(crate) prune: Prune,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct SyncTicket {
    /// As people write them: `owner/repo#7`, `PROJ-12`
    #[arg(required = true, value_name = "TICKET")]
    pub(crate) tickets: Vec<String>,
    /// The source that has them [default: those of the configuration]
    #[arg(long, value_name = "SOURCE")]
    pub(crate) source: Option<String>,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct Verify {
    /// The trackers to compare [default: those of the configuration]
    #[arg(value_name = "SOURCE")]
    pub(crate) sources: Vec<String>,
    /// Fetch what differs, and remove what is gone
    #[arg(long)]
    pub(crate) repair: bool,
    #[command(flatten)]
    pub(crate) prune: Prune,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct AuthTest {
    /// The trackers to ask [default: those of the configuration]
    #[arg(value_name = "SOURCE")]
    pub(crate) sources: Vec<String>,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Output {
    /// Print JSON, for programs
    #[arg(long)]
    pub(crate) json: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Search {
    /// The question, in your own words; `label:bug` in it filters, and a phrase in
    /// quotes must stand as it is
    #[arg(required = true, value_name = "QUESTION")]
    pub(crate) question: Vec<String>,
    /// Which way to search: hybrid, dense or lexical
    #[arg(long, value_name = "MODE", default_value = "hybrid")]
    pub(crate) mode: String,
    /// Show single pieces of text instead of tickets
    #[arg(long)]
    pub(crate) chunks: bool,
    /// With --chunks: at most so many pieces of one ticket
    #[arg(long, value_name = "N", requires = "chunks", value_parser = clap::value_parser!(u32).range(1..=200))]
    pub(crate) per_ticket: Option<u32>,
    /// Leave a ticket out, as often as needed
    #[arg(long, value_name = "TICKET")]
    pub(crate) exclude: Vec<String>,
    /// Do without the reranker
    #[arg(long)]
    pub(crate) no_rerank: bool,
    #[command(flatten)]
    pub(crate) hits: Hits,
}

#[derive(Debug, Args)]
pub(crate) struct Similar {
    /// A ticket: `owner/repo#7`, `PROJ-12`, or its address
    #[arg(value_name = "TICKET", required_unless_present = "text")]
    pub(crate) ticket: Option<String>,
    /// A draft instead: its text, or `-` for standard input
    #[arg(long, value_name = "TEXT", conflicts_with = "ticket")]
    pub(crate) text: Option<String>,
    #[command(flatten)]
    pub(crate) hits: Hits,
}

/// Which hits are wanted, and how they are shown.
#[derive(Debug, Args)]
pub(crate) struct Hits {
    /// How many hits
    #[arg(short = 'k', long, default_value_t = 10, value_parser = clap::value_parser!(u32).range(1..=200))]
    pub(crate) limit: u32,
    #[command(flatten)]
    pub(crate) narrow: Narrow,
    /// Only this kind: issue, mr, note, comment …
    #[arg(long = "type", value_name = "KIND")]
    pub(crate) kind: Vec<String>,
    /// Only text by this person
    #[arg(long, value_name = "NAME")]
    pub(crate) author: Vec<String>,
    /// Only tickets with this label; of several, all
    #[arg(long, value_name = "LABEL")]
    pub(crate) label: Vec<String>,
    /// Only tickets created then or later
    #[arg(long, value_name = "DATE")]
    pub(crate) after: Option<String>,
    /// Only tickets created before then
    #[arg(long, value_name = "DATE")]
    pub(crate) before: Option<String>,
    /// Show hits even if nothing is relevant
    #[arg(long)]
    pub(crate) include_weak: bool,
    /// Show each leg's rank, score and time
    #[arg(long)]
    pub(crate) explain: bool,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct Dead {
    #[command(subcommand)]
    pub(crate) command: DeadCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum DeadCommand {
    /// List dead letters, oldest first
    List(Output),
    /// Show one with its causes and its input
    Show {
        /// The letter's number or subject in `whence dead list`
        letter: String,
        #[command(flatten)]
        output: Output,
    },
    /// Send one, or all, through its stage again
    Retry(DeadSelection),
    /// Forget one, or all; the input stays in its stream
    Drop(DeadSelection),
}

#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct DeadSelection {
    /// The letter's number or subject in `whence dead list`
    #[arg(value_name = "LETTER")]
    pub(crate) letter: Option<String>,
    /// Every letter
    #[arg(long)]
    pub(crate) all: bool,
}

/// The streams a replay can start from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ReplayFrom {
    /// After a normalizer fix
    Raw,
    /// After a change of chunking
    Docs,
    /// For a new model
    Chunks,
    /// After a change of the schema
    Vectors,
}

#[derive(Debug, Args)]
pub(crate) struct Replay {
    /// The stream to start from
    #[arg(long, value_name = "STREAM", value_enum)]
    pub(crate) from: ReplayFrom,
    /// Only this kind of system: github, wiki …
    #[arg(long)]
    pub(crate) source: Option<String>,
    /// Only this repository, project or wiki
    #[arg(long)]
    pub(crate) project: Option<String>,
    /// Only this ticket of the project
    #[arg(long, requires = "project")]
    pub(crate) ticket: Option<String>,
    /// Say what would be done, and do nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Tickets under way at a time; a live edit waits behind that many
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub(crate) window: u64,
    #[command(flatten)]
    pub(crate) output: Output,
}

#[derive(Debug, Args)]
pub(crate) struct Eval {
    /// Folder with `queries.*.jsonl` and, for --fresh, `*.archive.json`
    pub(crate) folder: PathBuf,
    /// Build a throw-away index from the folder's archives first; else the
    /// running one is asked
    #[arg(long)]
    pub(crate) fresh: bool,
    #[command(flatten)]
    pub(crate) output: Output,
}
