//! What the configuration says of a kind of source: each kind has a table of
//! its own type, and nobody else knows the type.

use crate::{SourceError, sources::KINDS};
use schemars::{JsonSchema, Schema, schema_for};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;
use std::{collections::BTreeMap, fmt};

/// The tables of all kinds, by the kind's name, and the environment.
#[derive(Clone)]
pub struct Settings {
    tables: BTreeMap<String, Value>,
    env: fn(&str) -> Option<String>,
}

impl Default for Settings {
    fn default() -> Self {
        Self::new(BTreeMap::new())
    }
}

impl fmt::Debug for Settings {
    /// Values may be secrets: only which tables there are.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.tables.keys()).finish()
    }
}

impl Settings {
    /// These tables, and the process's environment for secrets.
    pub fn new(tables: BTreeMap<String, Value>) -> Self {
        Self {
            tables,
            env: |name| std::env::var(name).ok(),
        }
    }

    /// The same without an environment, or with a made-up one.
    pub fn with_env(self, env: fn(&str) -> Option<String>) -> Self {
        Self { env, ..self }
    }

    /// The table of a kind as its type; defaults where there is none.
    pub(crate) fn of<T: DeserializeOwned + Default>(&self, kind: &str) -> Result<T, SourceError> {
        match self.tables.get(kind) {
            None => Ok(T::default()),
            Some(table) => serde_json::from_value(table.clone()).map_err(|error| {
                SourceError::because(format!("the settings in [{kind}] are wrong"), error)
            }),
        }
    }

    /// A value of the environment, which wins over the file's. Blanks and line
    /// ends around it are no part of it: files and shells add them.
    pub(crate) fn env_or(&self, name: &str, file: Option<&str>) -> Option<String> {
        let value = (self.env)(name).filter(|value| !value.trim().is_empty());
        let value = value.or_else(|| file.map(str::to_owned))?;
        let value = value.trim();
        (!value.is_empty()).then(|| value.to_owned())
    }
}

/// A token or password: never shown.
#[derive(Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Secret(String);

impl Secret {
    /// Wraps a value, without the blanks around it.
    pub fn new(value: &str) -> Self {
        Self(value.trim().to_owned())
    }

    /// The value, for the one request that needs it.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("…")
    }
}

/// The type of one kind's table, for whoever reads or documents it.
#[derive(Clone, Copy, Debug)]
pub struct SettingsKind {
    check: fn(Value) -> Result<(), String>,
    schema: fn() -> Schema,
    defaults: fn() -> Value,
}

impl SettingsKind {
    /// The table that `T` is; `T` refuses unknown keys.
    pub(crate) const fn of<T>() -> Self
    where
        T: DeserializeOwned + Serialize + Default + JsonSchema,
    {
        Self {
            check: |table| {
                serde_json::from_value::<T>(table)
                    .map(drop)
                    .map_err(|error| error.to_string())
            },
            schema: || schema_for!(T),
            defaults: || serde_json::to_value(T::default()).unwrap_or_default(),
        }
    }

    /// What is wrong with a table.
    ///
    /// # Errors
    /// An unknown key or a value of the wrong type, by name.
    pub fn check(&self, table: &Value) -> Result<(), String> {
        (self.check)(table.clone())
    }

    /// The table's JSON schema.
    pub fn schema(&self) -> Schema {
        (self.schema)()
    }

    /// The table with nothing set.
    pub fn defaults(&self) -> Value {
        (self.defaults)()
    }
}

/// The kinds that have a table, in the registry's order.
pub fn settings_kinds() -> impl Iterator<Item = (&'static str, SettingsKind)> {
    KINDS
        .iter()
        .filter_map(|kind| Some((kind.name, kind.settings?)))
}
