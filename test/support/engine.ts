import type { Need } from './programs.js';

/** A logical database that a single test uses. */
export interface Database {
  /** A value for the setting `DATABASE_URL`: `sqlite:/…/routes.db` or `mysql://user:password@host:port/name`. */
  readonly url: string;
  /** Drops the database. All connections to it must be closed first. */
  drop(): Promise<void>;
}

/** A database product that the service runs on. */
export interface Engine {
  /** For test titles: `SQLite`, or the product and version of the server, such as `MariaDB 10.11.6`. */
  readonly name: string;
  /** A server, or empty. */
  readonly needs: readonly Need[];
  /** Creates an empty database that no other test or run uses. */
  createDatabase(): Promise<Database>;
}
