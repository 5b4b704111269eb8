/** Whether a database is a Galera cluster. */
export interface Galera {
  readonly on: boolean;
}

/** The part of a connection of mysql2 that is used here. */
interface Connection {
  query(sql: string, done: (error: unknown, rows: unknown) => void): void;
}

/**
 * Whether a pool leads to nodes of a Galera cluster, according to its latest connection. Such a node has received all
 * writes acknowledged by others, but may not show them yet.
 */
export class GaleraDetection implements Galera {
  #on = false;

  get on(): boolean {
    return this.#on;
  }

  /** Asks over a new connection. @param done called in any case: a server that does not answer this may still serve */
  ask(connection: Connection, done: () => void): void {
    connection.query("SHOW VARIABLES LIKE 'wsrep_on'", (error, rows) => {
      if (error === null) this.#on = (rows as { Value: string }[])[0]?.Value === 'ON';
      done();
    });
  }
}

/**
 * A `select` that a Galera node answers once it shows all that the cluster had acknowledged before. MariaDB takes the
 * first comment as SQL (its documentation, "Comment Syntax" and "SET STATEMENT"); Percona XtraDB Cluster takes the
 * second one as a hint, since 8.0.26 (its documentation, "wsrep_sync_wait").
 *
 * @param rest the rest of the statement
 */
export function selectInSync(rest: string): string {
  return `/*M! set statement wsrep_sync_wait = 1 for */ select /*+ set_var(wsrep_sync_wait = 1) */ ${rest}`;
}
