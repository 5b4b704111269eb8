/** Settings of earlier versions: what they set is a constant now, or is left to others. */
const REMOVED = [
  'DATABASE_REPLICA_URLS',
  'DATABASE_REPLICA_URLS_FILE',
  'MAX_EVENT_LOOP_DELAY_MS',
  'MAX_REFUSALS_LOGGED',
  'MAX_STREAMING_CALLS',
  'MAX_TRAILER_BYTES',
  'WORKERS',
] as const;

/** The settings of earlier versions that are still set, though to no effect; an empty value counts as unset. */
export function removedSettings(env: NodeJS.ProcessEnv): string[] {
  return REMOVED.filter((name) => (env[name] ?? '') !== '');
}
