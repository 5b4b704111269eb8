import type { Need } from './need.js';

/** A logical database that belongs to one test alone. */
export interface Database {
  /** In the form of the setting `DATABASE_URL`: `sqlite:/…/routes.db` or `mysql://user:password@host:port/name`. */
  readonly url: string;
  /** Removes the database and its content. Its connections must be closed by then. */
  drop(): Promise<void>;
}

/** A database product that the service runs on. */
export interface Engine {
  /** For titles: `SQLite`, or the server's own name and version, such as `MariaDB 10.11.6`. */
  readonly name: string;
  /** A server, or nothing. */
  readonly needs: readonly Need[];
  /** Creates an empty database, isolated from every other test and run. */
  createDatabase(): Promise<Database>;
}
