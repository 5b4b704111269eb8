#!/usr/bin/env bash
# Runs every step of `npm run check`, even after one has failed, and lists the failed steps at the end.
set -uo pipefail

failed=()
for step in types lint format unused contract generated; do
  echo "check:$step"
  npm run --silent "check:$step" || failed+=("check:$step")
done
if ((${#failed[@]} > 0)); then
  echo "FAILED: ${failed[*]}"
  exit 1
fi
echo 'All steps passed.'
