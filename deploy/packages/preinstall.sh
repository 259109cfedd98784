#!/bin/sh
# The user that the server runs as.
set -e
getent passwd sluice >/dev/null || useradd --system --user-group --no-create-home --home-dir /var/lib/sluice --shell /usr/sbin/nologin sluice
