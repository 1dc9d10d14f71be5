CREATE TABLE workflows (
  digest VARCHAR(64) NOT NULL,
  name TEXT NOT NULL,
  ir TEXT NOT NULL,
  created VARCHAR(32) NOT NULL,
  CONSTRAINT pk_workflows PRIMARY KEY (digest)
);

CREATE TABLE runs (
  id TEXT NOT NULL,
  workflow_digest VARCHAR(64) NOT NULL,
  workflow TEXT NOT NULL,
  engine TEXT NOT NULL,
  status TEXT NOT NULL,
  parameters TEXT NOT NULL,
  logical_date TEXT,
  started VARCHAR(32),
  finished VARCHAR(32),
  message TEXT,
  outputs TEXT NOT NULL,
  folder TEXT,
  host TEXT,
  program TEXT,
  created VARCHAR(32) NOT NULL, target TEXT, place TEXT,
  CONSTRAINT pk_runs PRIMARY KEY (id),
  CONSTRAINT fk_runs_workflow_digest_workflows FOREIGN KEY(workflow_digest) REFERENCES workflows (digest)
);

CREATE INDEX ix_runs_created ON runs (created);

CREATE INDEX ix_runs_workflow_digest ON runs (workflow_digest);

CREATE TABLE sessions (
  run_id TEXT NOT NULL,
  number INTEGER NOT NULL,
  pid INTEGER NOT NULL,
  host TEXT NOT NULL,
  started VARCHAR(32) NOT NULL,
  finished VARCHAR(32),
  status TEXT NOT NULL,
  options TEXT NOT NULL,
  workflow_digest VARCHAR(64) NOT NULL, seen VARCHAR(32),
  CONSTRAINT pk_sessions PRIMARY KEY (run_id, number),
  CONSTRAINT fk_sessions_run_id_runs FOREIGN KEY(run_id) REFERENCES runs (id) ON DELETE CASCADE,
  CONSTRAINT fk_sessions_workflow_digest_workflows FOREIGN KEY(workflow_digest) REFERENCES workflows (digest)
);

CREATE INDEX ix_sessions_workflow_digest ON sessions (workflow_digest);

CREATE TABLE steps (
  run_id TEXT NOT NULL,
  path TEXT NOT NULL,
  name TEXT NOT NULL,
  item TEXT,
  status TEXT NOT NULL,
  "key" VARCHAR(64),
  outputs TEXT NOT NULL,
  started VARCHAR(32),
  finished VARCHAR(32) NOT NULL,
  attempts INTEGER NOT NULL,
  message TEXT,
  exit_code INTEGER,
  log TEXT,
  session INTEGER NOT NULL,
  ordinal INTEGER NOT NULL,
  source_run TEXT,
  CONSTRAINT pk_steps PRIMARY KEY (run_id, path),
  CONSTRAINT fk_steps_run_id_runs FOREIGN KEY(run_id) REFERENCES runs (id) ON DELETE CASCADE
);

CREATE TABLE attempts (
  run_id TEXT NOT NULL,
  path TEXT NOT NULL,
  number INTEGER NOT NULL,
  session INTEGER NOT NULL,
  status TEXT NOT NULL,
  started VARCHAR(32) NOT NULL,
  finished VARCHAR(32),
  exit_code INTEGER,
  message TEXT,
  pid INTEGER,
  cpu_s DOUBLE,
  peak_bytes BIGINT,
  log TEXT, processes TEXT, log_from BIGINT, node TEXT,
  CONSTRAINT pk_attempts PRIMARY KEY (run_id, path, number),
  CONSTRAINT fk_attempts_run_id_runs FOREIGN KEY(run_id) REFERENCES runs (id) ON DELETE CASCADE
);

CREATE TABLE signals (
  run_id TEXT NOT NULL,
  path TEXT NOT NULL,
  kind VARCHAR(16) NOT NULL,
  created VARCHAR(32) NOT NULL, entered TEXT,
  CONSTRAINT pk_signals PRIMARY KEY (run_id, path, kind),
  CONSTRAINT fk_signals_run_id_runs FOREIGN KEY(run_id) REFERENCES runs (id) ON DELETE CASCADE
);

CREATE TABLE cache_entries (
  "key" VARCHAR(64) NOT NULL,
  workflow TEXT NOT NULL,
  step TEXT NOT NULL,
  outputs TEXT NOT NULL,
  size_bytes BIGINT NOT NULL,
  cost_s DOUBLE NOT NULL,
  created VARCHAR(32) NOT NULL,
  last_used VARCHAR(32) NOT NULL,
  hits INTEGER NOT NULL,
  pinned BOOLEAN NOT NULL,
  run_id TEXT NOT NULL,
  path TEXT NOT NULL, place TEXT DEFAULT '' NOT NULL, admitted BIGINT DEFAULT '0' NOT NULL, used BIGINT DEFAULT '0' NOT NULL, superseded INTEGER DEFAULT '0' NOT NULL, credit DOUBLE DEFAULT '0' NOT NULL,
  CONSTRAINT pk_cache_entries PRIMARY KEY ("key")
);

CREATE INDEX ix_cache_entries_last_used ON cache_entries (last_used);

CREATE TABLE cache_objects (
  "key" VARCHAR(64) NOT NULL,
  digest VARCHAR(64) NOT NULL,
  CONSTRAINT pk_cache_objects PRIMARY KEY ("key", digest),
  CONSTRAINT fk_cache_objects_key_cache_entries FOREIGN KEY("key") REFERENCES cache_entries ("key") ON DELETE CASCADE
);

CREATE INDEX ix_cache_objects_digest ON cache_objects (digest);

CREATE TABLE alembic_version (
  version_num VARCHAR(32) NOT NULL,
  CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num)
);

CREATE TABLE source_maps (
  run_id TEXT NOT NULL,
  workflow_digest VARCHAR(64) NOT NULL,
  entries TEXT NOT NULL,
  CONSTRAINT pk_source_maps PRIMARY KEY (run_id, workflow_digest),
  CONSTRAINT fk_source_maps_run_id_runs FOREIGN KEY(run_id) REFERENCES runs (id) ON DELETE CASCADE
);

CREATE INDEX ix_cache_entries_workflow_path ON cache_entries (workflow, path);

CREATE TABLE cache_clock (
  id INTEGER NOT NULL,
  clock BIGINT NOT NULL,
  age DOUBLE NOT NULL,
  CONSTRAINT pk_cache_clock PRIMARY KEY (id)
);

CREATE TABLE cache_places (
  workflow TEXT NOT NULL,
  place TEXT NOT NULL,
  lookups BIGINT NOT NULL,
  latest BIGINT NOT NULL,
  older BIGINT NOT NULL,
  seconds DOUBLE NOT NULL,
  saved_s DOUBLE NOT NULL,
  lost_s DOUBLE NOT NULL,
  CONSTRAINT pk_cache_places PRIMARY KEY (workflow, place)
);

CREATE TABLE cache_gone (
  "key" VARCHAR(64) NOT NULL,
  workflow TEXT NOT NULL,
  path TEXT NOT NULL,
  cost_s DOUBLE NOT NULL,
  used BIGINT NOT NULL,
  superseded INTEGER NOT NULL,
  was_kept BOOLEAN NOT NULL, place TEXT, outputs TEXT, run_id TEXT, created VARCHAR(32),
  CONSTRAINT pk_cache_gone PRIMARY KEY ("key")
);

CREATE INDEX ix_cache_gone_workflow_path ON cache_gone (workflow, path);

CREATE TABLE cache_garbage (
  digest VARCHAR(64) NOT NULL,
  CONSTRAINT pk_cache_garbage PRIMARY KEY (digest)
);

CREATE TABLE run_objects (
  run_id TEXT NOT NULL,
  digest VARCHAR(64) NOT NULL,
  of_cache BOOLEAN NOT NULL,
  CONSTRAINT pk_run_objects PRIMARY KEY (run_id, digest),
  CONSTRAINT fk_run_objects_run_id_runs FOREIGN KEY(run_id) REFERENCES runs (id) ON DELETE CASCADE
);

CREATE INDEX ix_run_objects_digest ON run_objects (digest);

CREATE TABLE run_directories (
  run_id TEXT NOT NULL,
  reference TEXT NOT NULL,
  CONSTRAINT pk_run_directories PRIMARY KEY (run_id, reference),
  CONSTRAINT fk_run_directories_run_id_runs FOREIGN KEY(run_id) REFERENCES runs (id) ON DELETE CASCADE
);

CREATE TABLE "cache_decisions" (
  number INTEGER NOT NULL,
  run_id TEXT,
  path TEXT NOT NULL,
  "key" VARCHAR(64) NOT NULL,
  decision VARCHAR(16) NOT NULL,
  reason TEXT NOT NULL,
  at VARCHAR(32) NOT NULL,
  CONSTRAINT pk_cache_decisions PRIMARY KEY (number),
  CONSTRAINT fk_cache_decisions_run_id_runs FOREIGN KEY(run_id) REFERENCES runs (id) ON DELETE CASCADE
);

CREATE INDEX ix_cache_decisions_run_id_path ON cache_decisions (run_id, path);

CREATE TABLE cache_counts (
  decision VARCHAR(16) NOT NULL,
  times BIGINT NOT NULL,
  CONSTRAINT pk_cache_counts PRIMARY KEY (decision)
);

INSERT INTO alembic_version VALUES ('0010');
