import { type BigIntStats, realpathSync, statSync } from 'node:fs';
import { storeUnavailable } from './driver-errors.js';

/** The write-ahead log and its index, which SQLite keeps beside the file, wherever a link leads. */
const COMPANIONS = ['-wal', '-shm'];

/**
 * The files of an open embedded database. SQLite goes on with a file that was deleted or replaced, so that everything it
 * then stores is lost.
 */
export class EmbeddedFile {
  readonly #file: string;
  #identities: ReadonlyMap<string, string> = new Map();

  /** @param file the path of the database */
  constructor(file: string) {
    this.#file = file;
  }

  /**
   * Takes the files as they are, once the database is opened and its log is there. Later ones must be the same.
   *
   * @throws RegistryError like `check`
   */
  opened(): void {
    if (this.#identities.size > 0) {
      this.check();
      return;
    }
    const log = COMPANIONS.map((suffix) => realpathSync(this.#file) + suffix);
    this.#identities = new Map([this.#file, ...log].map((path) => [path, identityOf(path)]));
  }

  /** @throws RegistryError `STORE_UNAVAILABLE` when a name no longer leads to the file that was opened */
  check(): void {
    for (const [path, identity] of this.#identities) {
      if (identityOf(path) === identity) continue;
      throw storeUnavailable(
        new Error(`The file ${path} was deleted or replaced. Put it back, or restart the service.`),
      );
    }
  }
}

/** The device and inode that a path leads to; empty for none. */
function identityOf(path: string): string {
  const stats: BigIntStats | undefined = statSync(path, { bigint: true, throwIfNoEntry: false });
  return stats === undefined ? '' : `${stats.dev}:${stats.ino}`;
}
