import { type BigIntStats, realpathSync, statSync } from 'node:fs';
import { storeUnavailable } from './driver-errors.js';

/** The write-ahead log and its index, which SQLite keeps beside the file, resolving links. */
const COMPANIONS = ['-wal', '-shm'];

/**
 * The files of an open embedded database. SQLite keeps using a deleted or replaced file, so that everything it stores
 * from then on is lost.
 */
export class EmbeddedFile {
  readonly #file: string;
  #identities: ReadonlyMap<string, string> = new Map();

  /** @param file the path of the database */
  constructor(file: string) {
    this.#file = file;
  }

  /**
   * Records the files once the database is open and its log exists. They must stay the same.
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

  /** @throws RegistryError `STORE_UNAVAILABLE` when a path no longer leads to the file that was opened */
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
