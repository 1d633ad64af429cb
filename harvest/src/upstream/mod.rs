//! What every tracker needs to talk to its service: requests within a pace,
//! tried again while that can help, and waits exactly as long as told.
//!
//! A service says in its own folder what an answer means ([`Verdict`]); what is
//! then done about it is decided here, once.

mod caller;
mod client;
mod graphql;
mod pace;
mod page_size;
mod reply;
mod wait;

#[cfg(test)]
mod tests;

// Trackers use what they need of it.
#[allow(unused_imports)]
pub(crate) use caller::{CallError, Caller, Verdict, Wait};
#[allow(unused_imports)]
pub(crate) use client::{Client, LARGEST_BODY, Target, base_url, broken, http};
pub(crate) use graphql::{nodes, only, page_problem};
#[allow(unused_imports)]
pub(crate) use pace::Pace;
pub(crate) use page_size::PageSize;
#[allow(unused_imports)]
pub(crate) use reply::{Reply, SendError};
#[allow(unused_imports)]
pub(crate) use wait::{judge_status, resets_in, retry_after};
