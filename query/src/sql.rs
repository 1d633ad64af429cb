//! A statement with its values: text that was made here, values that were not.

use deadpool_postgres::GenericClient;
use pgvector::Vector;
use serde_json::Value as Json;
use tokio_postgres::{Row, types::ToSql};
use whence_contract::Timestamp;

/// A value of a statement.
#[derive(Clone, Debug)]
pub(crate) enum Value {
    Text(String),
    Texts(Vec<String>),
    /// Texts of which some may be absent.
    MaybeTexts(Vec<Option<String>>),
    Jsons(Vec<Json>),
    Time(Timestamp),
    Small(i16),
    Big(i64),
    Bigs(Vec<i64>),
    Float(f64),
    Floats(Vec<f64>),
    Vector(Vector),
}

impl Value {
    fn as_sql(&self) -> &(dyn ToSql + Sync) {
        match self {
            Self::Text(value) => value,
            Self::Texts(value) => value,
            Self::MaybeTexts(value) => value,
            Self::Jsons(value) => value,
            Self::Time(value) => value,
            Self::Small(value) => value,
            Self::Big(value) => value,
            Self::Bigs(value) => value,
            Self::Float(value) => value,
            Self::Floats(value) => value,
            Self::Vector(value) => value,
        }
    }
}

/// The values of one statement, in the order of their numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Values(Vec<Value>);

impl Values {
    /// Takes a value; returns its place, such as `$3`.
    pub(crate) fn bind(&mut self, value: Value) -> String {
        self.0.push(value);
        format!("${}", self.0.len())
    }
}

/// A statement with its values.
#[derive(Clone, Debug)]
pub(crate) struct Statement {
    pub(crate) sql: String,
    pub(crate) values: Values,
}

impl Statement {
    pub(crate) async fn rows(
        &self,
        client: &impl GenericClient,
    ) -> Result<Vec<Row>, tokio_postgres::Error> {
        let statement = client.prepare_cached(&self.sql).await?;
        let values: Vec<_> = self.values.0.iter().map(Value::as_sql).collect();
        client.query(&statement, &values).await
    }
}
