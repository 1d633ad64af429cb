//! The statements of one ticket's transaction.

pub(super) const STANDING: &str = "
    SELECT t.ticket_id, t.revision, t.recipe, t.indexer, t.indexed_at,
           m.revision, m.recipe, d.revision, d.at
    FROM (SELECT) AS one
    LEFT JOIN tickets t ON (t.provenance, t.source, t.scope, t.ticket) = ($1, $2, $3, $4)
    LEFT JOIN model_tickets m ON m.ticket_id = t.ticket_id AND m.model_id = $5
    LEFT JOIN tombstones d ON (d.provenance, d.source, d.scope, d.ticket) = ($1, $2, $3, $4)";

pub(super) const UNBURY: &str = "
    DELETE FROM tombstones WHERE (provenance, source, scope, ticket) = ($1, $2, $3, $4)";

pub(super) const BURY: &str = "
    INSERT INTO tombstones (provenance, source, scope, ticket, revision, at)
    VALUES ($1, $2, $3, $4, $5, clock_timestamp())
    ON CONFLICT (provenance, source, scope, ticket)
    DO UPDATE SET revision = excluded.revision, at = excluded.at
    RETURNING at";

/// Chunks go with their units.
pub(super) const CLEAR: &str = "
    WITH p AS (DELETE FROM postings WHERE ticket_id = $1),
         l AS (DELETE FROM ticket_labels WHERE ticket_id = $1),
         f AS (DELETE FROM ticket_files WHERE ticket_id = $1),
         k AS (DELETE FROM ticket_links WHERE ticket_id = $1)
    DELETE FROM units WHERE ticket_id = $1";

pub(super) const TICKET: &str = "
    INSERT INTO tickets (
        provenance, source, scope, ticket, id, aliases, project, kind, title, url, state, author,
        assignees, milestone, priority, created_at, updated_at, closed_at, visibility, ticket_refs,
        events, meta, revision, recipe, indexer, chunk_count, lexical_len, chunks_len, indexed_at)
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19,
            $20, $21, $22, $23, $24, $25, $26, $27, $28, clock_timestamp())
    ON CONFLICT (provenance, source, scope, ticket) DO UPDATE SET (
        id, aliases, project, kind, title, url, state, author, assignees, milestone, priority,
        created_at, updated_at, closed_at, visibility, ticket_refs, events, meta, revision, recipe,
        indexer, chunk_count, lexical_len, chunks_len, indexed_at) = (
        excluded.id, excluded.aliases, excluded.project, excluded.kind, excluded.title,
        excluded.url, excluded.state, excluded.author, excluded.assignees, excluded.milestone,
        excluded.priority, excluded.created_at, excluded.updated_at, excluded.closed_at,
        excluded.visibility, excluded.ticket_refs, excluded.events, excluded.meta,
        excluded.revision, excluded.recipe, excluded.indexer, excluded.chunk_count,
        excluded.lexical_len, excluded.chunks_len, excluded.indexed_at)
    RETURNING ticket_id, indexed_at";

pub(super) const UNITS: &str = "
    INSERT INTO units (ticket_id, unit, kind, upstream_id, author, created_at, updated_at,
                       visibility, url, verdict, path)
    SELECT $1, r.* FROM json_to_recordset($2) AS r(
        unit int, kind text, upstream_id text, author text, created_at timestamptz,
        updated_at timestamptz, visibility smallint, url text, verdict text, path text)";

pub(super) const CHUNKS: &str = "
    INSERT INTO chunks (ticket_id, seq, unit, kind, author, visibility, heading_path, text,
                        prefix_len, tokens, text_hash, code_refs, ticket_refs, lexical_len)
    SELECT $1, seq, unit, kind, author, visibility, heading_path, text, prefix_len, tokens,
           decode(text_hash, 'hex'), code_refs, ticket_refs, lexical_len
    FROM json_to_recordset($2) AS r(
        seq int, unit int, kind text, author text, visibility smallint, heading_path text[],
        text text, prefix_len int, tokens int, text_hash text, code_refs jsonb, ticket_refs text[],
        lexical_len int)";

pub(super) const LABELS: &str = "
    INSERT INTO ticket_labels (ticket_id, place, name, color, description)
    SELECT $1, r.* FROM json_to_recordset($2) AS r(
        place int, name text, color text, description text)";

pub(super) const FILES: &str = "
    INSERT INTO ticket_files (ticket_id, place, old_path, new_path, new_file, deleted_file,
                              renamed_file)
    SELECT $1, r.* FROM json_to_recordset($2) AS r(
        place int, old_path text, new_path text, new_file boolean, deleted_file boolean,
        renamed_file boolean)";

pub(super) const LINKS: &str = "
    INSERT INTO ticket_links (ticket_id, place, kind, target)
    SELECT $1, r.* FROM json_to_recordset($2) AS r(place int, kind text, target text)";

pub(super) const POSTINGS: &str = "
    COPY postings (term, ticket_id, visibility, tf, len, seqs, tfs) FROM STDIN BINARY";

pub(super) const MODEL_TICKET: &str = "
    INSERT INTO model_tickets (model_id, ticket_id, revision, recipe) VALUES ($1, $2, $3, $4)
    ON CONFLICT (model_id, ticket_id)
    DO UPDATE SET revision = excluded.revision, recipe = excluded.recipe";
