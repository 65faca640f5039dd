#!/usr/bin/env bash
# Runs `reconciler $COMMAND` with a report for each reader. Its exit code is an output: a later step judges it, so that
# the comment is there also when something is refused.
set -uo pipefail

folder="$RUNNER_TEMP/reports/$NAME"
mkdir -p "$folder"
# The command is one line of words, as it would be typed; nothing in it is evaluated.
read -r -a words <<<"$COMMAND"
case "${words[0]:-}" in
  apply) reports=(--report "markdown=$folder/report.md") ;;
  *) reports=(--format github --report "markdown=$folder/report.md" --report "sarif=$folder/report.sarif"
    --report "junit=$folder/report.xml" --report "html=$folder/report.html") ;;
esac

"$RUNNER_TEMP/reconciler-venv/bin/reconciler" "${words[@]}" "${reports[@]}"
code=$?

{
  echo "exit-code=$code"
  echo "markdown=$folder/report.md"
  echo "sarif=$folder/report.sarif"
  echo "html=$folder/report.html"
} >>"$GITHUB_OUTPUT"
if [ -f "$folder/report.md" ]; then cat "$folder/report.md" >>"$GITHUB_STEP_SUMMARY"; fi
