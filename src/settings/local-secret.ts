import { randomBytes, randomUUID } from 'node:crypto';
import {
  closeSync,
  constants,
  fstatSync,
  linkSync,
  lstatSync,
  mkdirSync,
  openSync,
  readSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { dirname, resolve } from 'node:path';

/** Flags that never follow a symbolic link, or block on a pipe, that somebody has planted. */
const TO_READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
/** Creates a new file; fails if the file exists or the path is a symbolic link. */
const TO_MAKE = 'wx';
/** The permission bits of everybody except the owner. */
const OTHERS = 0o077;
/** More than the length of a secret and a newline. */
const READ_BYTES = 128;

/**
 * The secret of local mode: 32 random bytes in hexadecimal, generated on first use, readable only by its owner.
 *
 * @throws Error that names the file by its full path, unless it is a regular file, accessible to this user alone, with
 *   such a secret
 */
export function localSecret(path: string): string {
  const file = resolve(path);
  const secret = withRemedy(file, () => {
    if (lstatSync(file, { throwIfNoEntry: false }) === undefined) makeSecret(file);
    return readOwn(file).trim();
  });
  if (/^[0-9a-f]{64}$/.test(secret)) return secret;
  throw new Error(
    `The file ${file} does not hold a secret of 64 hexadecimal digits. Delete it to get a new one.`,
  );
}

/** Adds a remedy to errors of the operating system. */
function withRemedy<T>(file: string, use: () => T): T {
  try {
    return use();
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    if (code === undefined) throw error;
    throw new Error(
      `The local secret ${file} cannot be used: ${message}. Let this user read and write it and its folder, or set JWT_SECRET.`,
      { cause: error },
    );
  }
}

function readOwn(file: string): string {
  // Refuses a symbolic link before opening it, since Windows has no O_NOFOLLOW.
  if (!lstatSync(file).isFile())
    throw new Error(`${file} is not a regular file. Delete it to get a new secret.`);
  const descriptor = openSync(file, TO_READ);
  try {
    const status = fstatSync(descriptor);
    if (!status.isFile()) throw new Error(`${file} is not a regular file. Delete it to get a new secret.`);
    // Without numeric user ids, as on Windows, the mode has no meaning either.
    const user = process.getuid?.();
    if (user !== undefined && status.uid !== user)
      throw new Error(`The file ${file} belongs to another user. Delete it to get a new secret.`);
    if (user !== undefined && (status.mode & OTHERS) !== 0)
      throw new Error(`The file ${file} is open to other users. Close it with: chmod 600 ${file}`);
    const bytes = Buffer.alloc(READ_BYTES);
    return bytes.toString('utf8', 0, readSync(descriptor, bytes));
  } finally {
    closeSync(descriptor);
  }
}

function makeSecret(file: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const draft = `${file}.${randomUUID()}`;
  writeFileSync(draft, randomBytes(32).toString('hex'), { mode: 0o600, flag: TO_MAKE });
  try {
    // Creating a hard link is atomic, so two processes that start together agree on one secret.
    linkSync(draft, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(draft);
  }
}
