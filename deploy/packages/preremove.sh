#!/bin/sh
# The server ends with its package, and not with an upgrade, of which dpkg tells
# "upgrade" and rpm 1. The data and the user stay.
set -e
case "$1" in
remove | 0) [ ! -d /run/systemd/system ] || systemctl disable --now sluice ;;
esac
