import { type SettingName, SETTINGS } from './settings.js';

/** Settings of earlier versions: what they configured is now a constant, or no longer part of the service. */
const REMOVED = [
  'DATABASE_REPLICA_URLS',
  'DATABASE_REPLICA_URLS_FILE',
  'MAX_CALL_PATH_BYTES',
  'MAX_EVENT_LOOP_DELAY_MS',
  'MAX_REFUSALS_LOGGED',
  'MAX_STREAMING_CALLS',
  'MAX_TRAILER_BYTES',
  'WORKERS',
] as const;

/**
 * Settings whose default must not be used by mistake: the service would use another database, run without TLS, accept
 * other tokens, or allow duplicate routes.
 */
const GRAVE = /^(?:DATABASE_|TLS_|JWT_|DUPLICATE_ROUTES$)/;

/** A variable whose name is one edit away from that of a setting. */
interface Misspelled {
  readonly name: string;
  readonly meant: SettingName;
}

/** Describes the variables that look like settings but have no effect. Empty removed settings count as unset. */
export function ignoredSettings(env: NodeJS.ProcessEnv): string[] {
  const removed = REMOVED.filter((name) => (env[name] ?? '') !== '');
  return [...removed, ...misspelledIn(env).map(({ name, meant }) => `${name} (${meant}?)`)];
}

/** The misspelled settings that must keep the service from starting. */
export function graveMisspellings(env: NodeJS.ProcessEnv): Misspelled[] {
  return misspelledIn(env).filter(({ meant }) => GRAVE.test(meant));
}

/** If the setting itself is set, even to an empty value, the variable is assumed to belong to another program. */
function misspelledIn(env: NodeJS.ProcessEnv): Misspelled[] {
  const unset = (Object.keys(SETTINGS) as SettingName[]).filter((setting) => env[setting] === undefined);
  return Object.keys(env).flatMap((name) => {
    const meant = name in SETTINGS ? undefined : unset.find((setting) => isOneEdit(name, setting));
    return meant === undefined ? [] : [{ name, meant }];
  });
}

/** Whether one character was added, omitted or replaced, or two adjacent ones were swapped. */
function isOneEdit(name: string, setting: string): boolean {
  let same = 0;
  while (same < name.length && name[same] === setting[same]) same++;
  const [typed, meant] = [name.slice(same), setting.slice(same)];
  const swapped = meant.charAt(1) + meant.charAt(0) + meant.slice(2);
  return (
    typed.slice(1) === meant ||
    typed === meant.slice(1) ||
    typed.slice(1) === meant.slice(1) ||
    typed === swapped
  );
}
