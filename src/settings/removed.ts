/** Settings of earlier versions: what they bounded is a constant now, or bounded by others. */
const REMOVED = [
  'DATABASE_REPLICA_URLS',
  'DATABASE_REPLICA_URLS_FILE',
  'MAX_EVENT_LOOP_DELAY_MS',
  'MAX_STREAMING_CALLS',
] as const;

/** The settings of earlier versions that are still set, though to no effect; an empty value counts as unset. */
export function removedSettings(env: NodeJS.ProcessEnv): string[] {
  return REMOVED.filter((name) => (env[name] ?? '') !== '');
}
