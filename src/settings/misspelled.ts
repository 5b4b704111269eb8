import { type SettingName, SETTINGS } from './settings.js';

/** Names shorter than this are too close to those of other programs. */
const LENGTH_MIN = 6;
/** From this length on, two edits count as a slip; below it, one. */
const LENGTH_OF_TWO = 9;
/** Names that other programs read, although they are close to ours. */
const FOREIGN: ReadonlySet<string> = new Set(['LOGLEVEL', 'DATABASE_URI', 'BASEPATH']);

/**
 * The environment variables that are probably misspelled settings, each with the setting that was meant: one edit away
 * from it, or two for names of nine characters and more, with the same first letter. An edit inserts, deletes or
 * replaces a character, or swaps two neighbouring ones. If the setting itself is set, even to an empty value, the
 * variable is assumed to belong to another program.
 */
export function misspelledSettings(
  env: NodeJS.ProcessEnv,
): { readonly name: string; readonly meant: SettingName }[] {
  const meant = (Object.keys(SETTINGS) as SettingName[]).filter(
    (setting) => setting.length >= LENGTH_MIN && env[setting] === undefined,
  );
  return Object.keys(env).flatMap((name) => {
    if (name in SETTINGS || name.length < LENGTH_MIN || FOREIGN.has(name)) return [];
    const near = meant.find((setting) => isNear(name, setting));
    return near === undefined ? [] : [{ name, meant: near }];
  });
}

function isNear(name: string, setting: string): boolean {
  const most = setting.length < LENGTH_OF_TWO ? 1 : 2;
  if (!setting.startsWith(name.charAt(0)) || Math.abs(name.length - setting.length) > most) return false;
  return edits(name, setting) <= most;
}

/** The optimal string alignment distance. */
function edits(a: string, b: string): number {
  let before: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const replaced = Number(last[j - 1]) + (a[i - 1] === b[j - 1] ? 0 : 1);
      const swaps = j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swapped = swaps ? Number(before[j - 2]) + 1 : Infinity;
      row.push(Math.min(replaced, swapped, Number(last[j]) + 1, Number(row[j - 1]) + 1));
    }
    [before, last] = [last, row];
  }
  return Number(last[b.length]);
}
