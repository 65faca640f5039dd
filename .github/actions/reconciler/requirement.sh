#!/usr/bin/env bash
# What the action installs: the version that was asked for; else the release that the action is of, used by its tag or
# by its hash; else its own checkout, so that a branch or any commit can be used. With the extras that were asked for.
set -euo pipefail

checkout="$(cd "$GITHUB_ACTION_PATH/../../.." && pwd)"
version="${VERSION:-$(sed -nE 's/^describe-name: v([0-9][0-9a-z.]*)$/\1/p' "$checkout/.git_archival.txt")}"
extras="${EXTRAS:+[$EXTRAS]}"
if [ -n "$version" ]; then echo "nats-reconciler$extras==$version"; else echo "$checkout$extras"; fi
