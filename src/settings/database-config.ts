import { type Database, parseDatabaseUrl } from './database-url.js';
import type { SettingsReader } from './settings.js';

/** Reads where the routes are stored: from `DATABASE_URL`, or from a file, since the URL may hold a password. */
export function databaseOf(settings: SettingsReader): Database {
  const fromFile = settings.given('DATABASE_URL_FILE') !== undefined;
  const name = fromFile ? 'DATABASE_URL_FILE' : 'DATABASE_URL';
  if (fromFile && settings.given('DATABASE_URL') !== undefined)
    settings.refuse(name, 'must be set without DATABASE_URL; got both.');
  const url = fromFile ? settings.contentOf(name)?.toString().trim() : settings.text('DATABASE_URL');
  try {
    if (url !== undefined) return parseDatabaseUrl(url);
  } catch (error) {
    settings.refuse(name, `${fromFile ? 'names a file whose text ' : ''}${(error as Error).message}`);
  }
  return { engine: 'sqlite', file: ':memory:' };
}
