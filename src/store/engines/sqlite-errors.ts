import type { EngineErrors } from '../error-classes.js';

/** Result codes for a file that cannot be used; extended codes begin with these. */
const UNUSABLE_FILE = /^SQLITE_(?:LOCKED|IOERR|FULL|READONLY|CANTOPEN)/;

/** The errors of SQLite, as libsql has them. */
export const sqliteErrors: EngineErrors = {
  classOf({ code }) {
    if (code?.startsWith('SQLITE_') !== true) return undefined;
    if (code.startsWith('SQLITE_BUSY')) return 'busy';
    if (code.startsWith('SQLITE_CONSTRAINT')) return 'row refused';
    return UNUSABLE_FILE.test(code) ? 'unusable' : 'other';
  },

  answerIn: ({ code }) => (code?.startsWith('SQLITE_') === true ? code : undefined),
};
