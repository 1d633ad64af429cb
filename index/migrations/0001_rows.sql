-- One row set per ticket and provenance. All rows of a ticket hang on
-- `tickets` and are replaced in one transaction, so a reader sees a ticket
-- whole, in one state.

CREATE EXTENSION IF NOT EXISTS vector WITH SCHEMA public;

-- One ticket of one provenance. The surrogate key stays while the ticket lives.
CREATE TABLE tickets (
    ticket_id   bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- The key of the log: never changes within the scope.
    provenance  text NOT NULL,
    source      text NOT NULL,
    scope       text NOT NULL,
    ticket      text NOT NULL,
    -- What people write (`owner/repo#7`), and what they wrote before.
    id          text NOT NULL,
    aliases     text[] NOT NULL,
    project     text NOT NULL,
    kind        text NOT NULL,
    title       text NOT NULL,
    url         text,
    state       text,
    author      text,
    assignees   text[] NOT NULL,
    milestone   text,
    priority    text,
    -- Upstream's times.
    created_at  timestamptz,
    updated_at  timestamptz,
    closed_at   timestamptz,
    -- 0 public, 1 internal, 2 confidential: who sees n sees all below n.
    visibility  smallint NOT NULL,
    -- Canonical ids that the prose names.
    ticket_refs text[] NOT NULL,
    -- What happened, without prose; in upstream's order.
    events      jsonb NOT NULL,
    -- Fields of one system that have no column.
    meta        jsonb NOT NULL,
    -- Which state this is: compared in this order, see `whence_index::apply`.
    revision    bigint NOT NULL,
    -- normalize code and settings, chunk code and settings.
    recipe      bigint[] NOT NULL,
    -- The indexer's own version: raised when it writes other rows for equal input.
    indexer     bigint NOT NULL,
    -- When these rows were committed.
    indexed_at  timestamptz NOT NULL,
    -- How many chunks, so that a search can estimate without counting them.
    chunk_count integer NOT NULL,
    -- Lexical length of the text seen at visibility 0, 1, 2.
    lexical_len integer[] NOT NULL,
    -- The sum of the chunks' lexical lengths.
    chunks_len  integer NOT NULL,
    UNIQUE (provenance, source, scope, ticket)
);
CREATE INDEX tickets_id ON tickets (lower(id));
CREATE INDEX tickets_url ON tickets USING hash (url);
CREATE INDEX tickets_aliases ON tickets USING gin (aliases);
CREATE INDEX tickets_refs ON tickets USING gin (ticket_refs);
CREATE INDEX tickets_assignees ON tickets USING gin (assignees);
CREATE INDEX tickets_project_updated ON tickets (project, updated_at);
CREATE INDEX tickets_author ON tickets (lower(author));

-- Deleted tickets: what is older than the deletion and arrives late must lose.
CREATE TABLE tombstones (
    provenance text NOT NULL,
    source     text NOT NULL,
    scope      text NOT NULL,
    ticket     text NOT NULL,
    revision   bigint NOT NULL,
    at         timestamptz NOT NULL,
    PRIMARY KEY (provenance, source, scope, ticket)
);

-- Every description, comment and review, empty ones included; `unit` counts
-- in reading order. The prose is in `chunks`.
CREATE TABLE units (
    ticket_id   bigint NOT NULL REFERENCES tickets ON DELETE CASCADE,
    unit        integer NOT NULL,
    kind        text NOT NULL,
    upstream_id text,
    author      text,
    created_at  timestamptz,
    updated_at  timestamptz,
    visibility  smallint NOT NULL,
    url         text,
    -- A review's verdict.
    verdict     text,
    -- The file that a review comment stands at.
    path        text,
    PRIMARY KEY (ticket_id, unit)
);
CREATE INDEX units_url ON units USING hash (url);
CREATE INDEX units_author ON units (lower(author));

-- The texts that were embedded. `kind` and `author` repeat the unit's, and
-- `visibility` is the stricter of ticket's and unit's, so that filters inside
-- a recall need no further join.
CREATE TABLE chunks (
    ticket_id    bigint NOT NULL REFERENCES tickets ON DELETE CASCADE,
    seq          integer NOT NULL,
    unit         integer NOT NULL,
    kind         text NOT NULL,
    author       text,
    visibility   smallint NOT NULL,
    heading_path text[] NOT NULL,
    -- Exactly what was embedded; the first `prefix_len` bytes are title and headings.
    text         text NOT NULL,
    prefix_len   integer NOT NULL,
    tokens       integer NOT NULL,
    -- SHA-256 of `text`: joins the vectors.
    text_hash    bytea NOT NULL,
    -- `[{"file": …, "func": …, "module": …}]`
    code_refs    jsonb NOT NULL,
    ticket_refs  text[] NOT NULL,
    lexical_len  integer NOT NULL,
    PRIMARY KEY (ticket_id, seq),
    FOREIGN KEY (ticket_id, unit) REFERENCES units ON DELETE CASCADE
);
CREATE INDEX chunks_hash ON chunks (ticket_id, text_hash);
CREATE INDEX chunks_author ON chunks (lower(author));
CREATE INDEX chunks_code_refs ON chunks USING gin (code_refs jsonb_path_ops);
CREATE INDEX chunks_ticket_refs ON chunks USING gin (ticket_refs);

CREATE TABLE ticket_labels (
    ticket_id   bigint NOT NULL REFERENCES tickets ON DELETE CASCADE,
    name        text NOT NULL,
    -- Place in upstream's order.
    place       integer NOT NULL,
    color       text,
    description text,
    PRIMARY KEY (ticket_id, name)
);
CREATE INDEX ticket_labels_name ON ticket_labels (name, ticket_id);

-- The labels in use. A view, because a table would keep the names of labels
-- whose last ticket is gone.
CREATE VIEW labels AS
    SELECT t.source, t.project, l.name, max(l.color) AS color,
           max(l.description) AS description, count(*) AS tickets
    FROM ticket_labels l JOIN tickets t USING (ticket_id)
    GROUP BY t.source, t.project, l.name;

-- Changed files of merge requests.
CREATE TABLE ticket_files (
    ticket_id    bigint NOT NULL REFERENCES tickets ON DELETE CASCADE,
    place        integer NOT NULL,
    old_path     text NOT NULL,
    new_path     text NOT NULL,
    new_file     boolean NOT NULL,
    deleted_file boolean NOT NULL,
    renamed_file boolean NOT NULL,
    PRIMARY KEY (ticket_id, place)
);
-- Hash: a path or an address may be longer than a B-tree takes.
CREATE INDEX ticket_files_old ON ticket_files USING hash (old_path);
CREATE INDEX ticket_files_new ON ticket_files USING hash (new_path);

-- Links that the system states, by canonical id. The target may not be here.
CREATE TABLE ticket_links (
    ticket_id bigint NOT NULL REFERENCES tickets ON DELETE CASCADE,
    place     integer NOT NULL,
    kind      text NOT NULL,
    target    text NOT NULL,
    PRIMARY KEY (ticket_id, place)
);
CREATE INDEX ticket_links_target ON ticket_links USING hash (target);

-- Lexical postings: BM25 over tickets and over chunks from one table. One row
-- for each term, ticket and visibility of the text the term stands in.
-- `tf` weighs the title; `len` is the ticket's lexical length at visibility 0.
-- `seqs` and `tfs` say in which chunks the term stands and how often.
CREATE TABLE postings (
    term       text COLLATE "C" NOT NULL,
    -- No foreign key: its check would cost more than the insert.
    ticket_id  bigint NOT NULL,
    visibility smallint NOT NULL,
    tf         integer NOT NULL,
    len        integer NOT NULL,
    seqs       integer[] NOT NULL,
    tfs        integer[] NOT NULL,
    -- The included columns let a ticket be scored from the index alone.
    PRIMARY KEY (term, ticket_id, visibility) INCLUDE (tf, len)
);
CREATE INDEX postings_ticket ON postings (ticket_id);

-- Generations of embedding models; each has a table `vectors_<slug>`.
CREATE TABLE models (
    model_id   integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    -- The model's whole identity; equal dims prove nothing.
    model      text NOT NULL UNIQUE,
    slug       text NOT NULL UNIQUE,
    dims       integer NOT NULL,
    -- `vector`, or `halfvec` where an index could not hold more.
    type       text NOT NULL,
    -- The generation that answers.
    active     boolean NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE UNIQUE INDEX models_active ON models (active) WHERE active;

-- Which state of a ticket a model's vectors are of.
CREATE TABLE model_tickets (
    model_id  integer NOT NULL REFERENCES models ON DELETE CASCADE,
    ticket_id bigint NOT NULL REFERENCES tickets ON DELETE CASCADE,
    revision  bigint NOT NULL,
    -- All six numbers of the recipe.
    recipe    bigint[] NOT NULL,
    PRIMARY KEY (model_id, ticket_id)
);
CREATE INDEX model_tickets_ticket ON model_tickets (ticket_id);
