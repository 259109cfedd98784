#!/bin/sh
# The user that the server runs as, and systemd reads the unit. Starting the server is
# left to whoever installs it; one that runs goes on as it is until it is restarted.
set -e
getent passwd sluice >/dev/null || useradd --system --user-group --no-create-home --home-dir /var/lib/sluice --shell /usr/sbin/nologin sluice
[ ! -d /run/systemd/system ] || systemctl daemon-reload
