import { type Database, type MysqlDatabase, parseDatabaseUrl, parseMysqlUrl } from './database-url.js';
import type { SettingsReader } from './settings.js';

/** The most replicas: each has its own connections. */
const MAX_REPLICAS = 16;

/** A setting that may hold passwords, so that a file may hold it instead. */
type UrlSetting = 'DATABASE_URL' | 'DATABASE_REPLICA_URLS';

/** The text of a setting, and its source. */
interface Given {
  readonly name: UrlSetting | `${UrlSetting}_FILE`;
  /** Absent when nothing was given, or the file cannot be read. */
  readonly text: string | undefined;
}

/** Reads the location of the routes. */
export function databaseOf(settings: SettingsReader): Database {
  const { name, text } = textOf(settings, 'DATABASE_URL');
  const url = name === 'DATABASE_URL' ? settings.text(name) : text;
  try {
    if (url !== undefined) return parseDatabaseUrl(url);
  } catch (error) {
    settings.refuse(name, `${inFile(name)}${(error as Error).message}`);
  }
  return { engine: 'sqlite', file: ':memory:' };
}

/** Reads the locations of read replicas of this database. */
export function replicasOf(settings: SettingsReader, { engine }: Database): MysqlDatabase[] {
  const { name, text } = textOf(settings, 'DATABASE_REPLICA_URLS');
  if (text === undefined) return [];
  if (engine !== 'mysql') {
    settings.refuse(
      name,
      'is set, but the embedded database has no replicas; it needs MySQL in DATABASE_URL.',
    );
    return [];
  }
  const urls = text.split(',').map((url) => url.trim());
  if (urls.length > MAX_REPLICAS)
    settings.refuse(name, `${inFile(name)}has ${urls.length} URLs; it may have ${MAX_REPLICAS}.`);
  return urls.flatMap((url, i) => {
    try {
      return [parseMysqlUrl(url)];
    } catch (error) {
      settings.refuse(name, `${inFile(name)}is wrong: URL ${i + 1} ${(error as Error).message}`);
      return [];
    }
  });
}

/** Reads the setting itself, or the file named by its `_FILE` variant. */
function textOf(settings: SettingsReader, name: UrlSetting): Given {
  const file = `${name}_FILE` as const;
  if (settings.given(file) === undefined) return { name, text: settings.given(name) };
  if (settings.given(name) !== undefined)
    settings.refuse(file, `and ${name} are both set; only one of them may be.`);
  return { name: file, text: settings.contentOf(file)?.toString().trim() };
}

/** The words that turn a sentence about a text into one about the setting that names its file. */
function inFile(name: Given['name']): string {
  return name.endsWith('_FILE') ? 'names a file whose text ' : '';
}
