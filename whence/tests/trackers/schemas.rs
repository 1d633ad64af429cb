//! The parts of GitHub's and Linear's schemas that our queries use, against the
//! whole of each.
//!
//! `harvest/src/sources/*/schema.graphql` is written by these tests when
//! `WHENCE_WRITE_SCHEMA` is set, and checked word for word otherwise.

use crate::simulator::shared;
use graphql_parser::{
    query::{self, Definition as QueryDefinition, OperationDefinition, Selection, SelectionSet},
    schema::{self, Definition, Document, Field, Type, TypeDefinition},
};
use std::{
    collections::{BTreeMap, BTreeSet},
    io::Read,
};

/// A service with a published schema.
struct Published {
    name: &'static str,
    title: &'static str,
    /// Keep what arguments take. Linear's filters lead to its whole schema, so
    /// of its inputs only those of variables are kept; the simulator checks the
    /// rest of each query against the whole schema.
    arguments: bool,
}

fn path(service: &Published, file: &str) -> String {
    let sources = concat!(env!("CARGO_MANIFEST_DIR"), "/../harvest/src/sources");
    format!("{sources}/{}/{file}", service.name)
}

fn ours(service: &Published, file: &str) -> String {
    std::fs::read_to_string(path(service, file)).unwrap()
}

fn whole(service: &Published) -> Option<String> {
    let path = shared(&format!("upstreams/schemas/{}.graphql.gz", service.name))?;
    let mut text = String::new();
    flate2::read::GzDecoder::new(std::fs::File::open(path).unwrap())
        .read_to_string(&mut text)
        .unwrap();
    Some(text)
}

type Types<'a> = BTreeMap<String, TypeDefinition<'a, String>>;

fn types<'a>(document: Document<'a, String>) -> Types<'a> {
    let definitions = document.definitions.into_iter();
    definitions
        .filter_map(|definition| match definition {
            Definition::TypeDefinition(definition) => Some((name(&definition), definition)),
            _ => None,
        })
        .collect()
}

fn name(definition: &TypeDefinition<'_, String>) -> String {
    match definition {
        TypeDefinition::Scalar(it) => it.name.clone(),
        TypeDefinition::Object(it) => it.name.clone(),
        TypeDefinition::Interface(it) => it.name.clone(),
        TypeDefinition::Union(it) => it.name.clone(),
        TypeDefinition::Enum(it) => it.name.clone(),
        TypeDefinition::InputObject(it) => it.name.clone(),
    }
}

fn fields<'b, 'a>(definition: &'b TypeDefinition<'a, String>) -> &'b [Field<'a, String>] {
    match definition {
        TypeDefinition::Object(it) => &it.fields,
        TypeDefinition::Interface(it) => &it.fields,
        _ => &[],
    }
}

fn base<'b>(of: &'b Type<'_, String>) -> &'b str {
    match of {
        Type::NamedType(name) => name,
        Type::ListType(inner) | Type::NonNullType(inner) => base(inner),
    }
}

/// What the queries touch: fields by type; of enums and inputs everything.
struct Used<'b, 'a> {
    arguments: bool,
    types: &'b Types<'a>,
    fields: BTreeMap<String, BTreeSet<String>>,
}

impl<'a> Used<'_, 'a> {
    fn input(&mut self, name: &str) {
        if self.fields.contains_key(name) {
            return;
        }
        self.fields.entry(name.to_owned()).or_default();
        if let Some(TypeDefinition::InputObject(input)) = self.types.get(name) {
            for field in &input.fields {
                self.input(base(&field.value_type));
            }
        }
    }

    fn walk(
        &mut self,
        on: &str,
        set: &SelectionSet<'a, String>,
        fragments: &BTreeMap<String, query::FragmentDefinition<'a, String>>,
    ) {
        self.fields.entry(on.to_owned()).or_default();
        for selection in &set.items {
            match selection {
                Selection::Field(field) if field.name == "__typename" => {}
                Selection::Field(field) => {
                    let known = fields(&self.types[on]);
                    let found = known.iter().find(|known| known.name == field.name);
                    let found = found.unwrap_or_else(|| panic!("{on}.{} is unknown", field.name));
                    let (returns, arguments) = (found.field_type.clone(), found.arguments.clone());
                    let fields = self.fields.entry(on.to_owned()).or_default();
                    fields.insert(field.name.clone());
                    if self.arguments {
                        for argument in arguments {
                            self.input(base(&argument.value_type));
                        }
                    }
                    self.walk(base(&returns), &field.selection_set, fragments);
                }
                Selection::InlineFragment(inline) => {
                    let query::TypeCondition::On(on) = inline.type_condition.clone().unwrap();
                    self.walk(&on, &inline.selection_set, fragments);
                }
                Selection::FragmentSpread(spread) => {
                    let fragment = &fragments[&spread.fragment_name];
                    let query::TypeCondition::On(on) = &fragment.type_condition;
                    self.walk(on, &fragment.selection_set, fragments);
                }
            }
        }
    }

    /// An object has the fields of the interfaces that it keeps.
    fn fill_interfaces(&mut self) {
        let mut more = Vec::new();
        for name in self.fields.keys() {
            if let Some(TypeDefinition::Object(object)) = self.types.get(name) {
                for interface in &object.implements_interfaces {
                    let wanted = self.fields.get(interface).cloned().unwrap_or_default();
                    more.push((name.clone(), wanted));
                }
            }
        }
        for (name, wanted) in more {
            self.fields.entry(name).or_default().extend(wanted);
        }
    }
}

fn pruned(service: &Published, whole: &str) -> String {
    let document = schema::parse_schema::<String>(whole).unwrap().into_static();
    let types = types(document);
    let mut used = Used {
        arguments: service.arguments,
        types: &types,
        fields: BTreeMap::new(),
    };
    for file in ["listing.graphql", "ticket.graphql"] {
        let text = ours(service, file);
        let document = query::parse_query::<String>(&text).unwrap().into_static();
        let mut fragments = BTreeMap::new();
        let mut queries = Vec::new();
        for definition in document.definitions {
            match definition {
                QueryDefinition::Fragment(it) => {
                    fragments.insert(it.name.clone(), it);
                }
                QueryDefinition::Operation(OperationDefinition::Query(it)) => queries.push(it),
                QueryDefinition::Operation(_) => panic!("{file} holds more than named queries"),
            }
        }
        for query in queries {
            for variable in &query.variable_definitions {
                used.input(base(&variable.var_type));
            }
            used.walk("Query", &query.selection_set, &fragments);
        }
    }
    used.fill_interfaces();
    let kept = used.fields;
    let definitions = types.iter().filter_map(|(name, definition)| {
        let wanted = kept.get(name)?;
        Some(Definition::TypeDefinition(prune(
            definition.clone(),
            wanted,
            &kept,
        )))
    });
    let document = Document {
        definitions: definitions.collect(),
    };
    format!(
        "# The part of {}'s public GraphQL schema that the queries beside it use.\n\
         # Written by whence/tests/trackers/schemas.rs; not edited by hand.\n\n{document}",
        service.title
    )
}

fn prune<'a>(
    mut definition: TypeDefinition<'a, String>,
    wanted: &BTreeSet<String>,
    kept: &BTreeMap<String, BTreeSet<String>>,
) -> TypeDefinition<'a, String> {
    let bare = |fields: &mut Vec<Field<'a, String>>| {
        fields.retain(|field| wanted.contains(&field.name));
        for field in fields {
            field.description = None;
            field.directives.clear();
            field
                .arguments
                .retain(|argument| kept.contains_key(base(&argument.value_type)));
            for argument in &mut field.arguments {
                argument.description = None;
                argument.directives.clear();
            }
        }
    };
    match &mut definition {
        TypeDefinition::Scalar(it) => {
            it.description = None;
            it.directives.clear();
        }
        TypeDefinition::Object(it) => {
            it.description = None;
            it.directives.clear();
            it.implements_interfaces
                .retain(|name| kept.contains_key(name));
            bare(&mut it.fields);
        }
        TypeDefinition::Interface(it) => {
            it.description = None;
            it.directives.clear();
            bare(&mut it.fields);
        }
        TypeDefinition::Union(it) => {
            it.description = None;
            it.directives.clear();
            it.types.retain(|name| kept.contains_key(name));
        }
        TypeDefinition::Enum(it) => {
            it.description = None;
            it.directives.clear();
            for value in &mut it.values {
                value.description = None;
                value.directives.clear();
            }
        }
        TypeDefinition::InputObject(it) => {
            it.description = None;
            it.directives.clear();
            for field in &mut it.fields {
                field.description = None;
                field.directives.clear();
            }
        }
    }
    definition
}

fn is_word_for_word(service: &Published) {
    let Some(whole) = whole(service) else { return };
    let wanted = pruned(service, &whole);
    if std::env::var_os("WHENCE_WRITE_SCHEMA").is_some() {
        std::fs::write(path(service, "schema.graphql"), &wanted).unwrap();
    }
    // Made anew from the whole schema and the queries, it is the very same text:
    // types, nullability, arguments and values are all there is to it.
    assert_eq!(ours(service, "schema.graphql"), wanted);
}

#[test]
fn the_part_of_github_is_the_whole_one_word_for_word() {
    is_word_for_word(&Published {
        name: "github",
        title: "GitHub",
        arguments: true,
    });
}

#[test]
fn the_part_of_linear_is_the_whole_one_word_for_word() {
    is_word_for_word(&Published {
        name: "linear",
        title: "Linear",
        arguments: false,
    });
}
