import { randomBytes, randomUUID } from 'node:crypto';
import { linkSync, lstatSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, resolve } from 'node:path';

/**
 * The secret of local mode: 32 random bytes in hexadecimal, generated on first use, readable only by its owner.
 *
 * @throws Error that names the file by its full path, unless it is a regular file with such a secret
 */
export function localSecret(path: string): string {
  const file = resolve(path);
  try {
    if (lstatSync(file, { throwIfNoEntry: false }) === undefined) makeSecret(file);
    // Neither follows a link that somebody has planted, nor waits for the writer of a pipe.
    const secret = lstatSync(file).isFile() ? readFileSync(file, 'utf8').trim() : '';
    if (/^[0-9a-f]{64}$/.test(secret)) return secret;
  } catch (error) {
    throw new Error(
      `The local secret ${file} cannot be used: ${(error as Error).message}. Let this user read and write it and its folder, or set JWT_SECRET.`,
      { cause: error },
    );
  }
  throw new Error(
    `${file} is not a regular file with a secret of 64 hexadecimal digits. Delete it to get a new one.`,
  );
}

function makeSecret(file: string): void {
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const draft = `${file}.${randomUUID()}`;
  writeFileSync(draft, randomBytes(32).toString('hex'), { mode: 0o600, flag: 'wx' });
  try {
    // Creating a hard link is atomic, so two processes that start together agree on one secret.
    linkSync(draft, file);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
  } finally {
    rmSync(draft);
  }
}
