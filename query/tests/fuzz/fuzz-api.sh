#!/bin/sh
# Holds a running query service against its own OpenAPI document: no answer with
# 5xx, none that the document does not foresee.
#
#   query/tests/fuzz/fuzz-api.sh [http://127.0.0.1:7777] [more schemathesis options]
#
# Installs the pinned schemathesis into target/fuzz-venv once. Use a data folder
# that may be thrown away: it also posts local notes and wishes.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
venv=${FUZZ_VENV:-$here/../../../target/fuzz-venv}
base=http://127.0.0.1:7777
case ${1:-} in http*) base=$1; shift ;; esac

if ! "$venv/bin/schemathesis" --version >/dev/null 2>&1; then
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet schemathesis==4.32.5
fi
exec "$venv/bin/schemathesis" --config-file "$here/schemathesis.toml" \
    run "$base/openapi.json" --suppress-health-check=filter_too_much \
    --max-examples "${FUZZ_EXAMPLES:-50}" "$@"
