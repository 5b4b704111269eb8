#!/usr/bin/env bash
# Runs every step of `npm run check`, two at a time, the longest first, and each to its end even after one has failed.
run() {
  output=$(npm run --silent "check:$1" 2>&1)
  local status=$?
  printf '%s\n' "check:$1${output:+$'\n'$output}"
  ((status == 0)) || echo "FAILED: check:$1"
  return $status
}
export -f run

printf '%s\n' lint types format unused generated contract | xargs -P 2 -I {} bash -c 'run {}' && echo 'All steps passed.'
status=$?
unfilled=$(grep -l 'The owner fills in' SECURITY.md package.json packages/*/package.json | paste -s -d ' ')
[ -z "$unfilled" ] || echo "To be filled in before a release: $unfilled"
exit "$status"
