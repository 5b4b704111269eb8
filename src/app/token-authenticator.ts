import type { Logger } from 'pino';
import { createAuthenticator, type VerificationKey } from '../auth/authenticator.js';
import { type RememberingAuthenticator, rememberTokens } from '../auth/token-cache.js';
import type { Closing } from '../process/closing.js';
import { FollowedFiles } from '../process/followed-files.js';
import { localSecret } from '../settings/local-secret.js';
import { secretsIn } from '../settings/secret-file.js';
import type { TokenConfig } from '../settings/token-config.js';

/** The parts of the process that the authenticator uses. */
export interface TokenSurroundings {
  readonly closing: Closing;
  readonly logger: Logger;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** How often the file of a key is read again, in milliseconds. Default: 10,000. */
  readonly rereadMs?: number | undefined;
}

/**
 * The authenticator for the configured tokens, which remembers those that it has verified. When the file of a key
 * changes, a new authenticator, which remembers none, takes the place of the old one.
 *
 * @throws Error when the key cannot be used
 */
export function openTokenAuthenticator(
  { key, issuer, audience }: TokenConfig,
  { closing, logger, now, rereadMs }: TokenSurroundings,
): RememberingAuthenticator {
  const onProblem = (err: Error): void => {
    logger.warn(
      { err },
      'the key set cannot be fetched again: its keys stay in use, until it is an hour old',
    );
  };
  const open = (verificationKey: VerificationKey): RememberingAuthenticator =>
    rememberTokens(createAuthenticator({ key: verificationKey, issuer, audience, now, onProblem }), now);
  const follow = (file: string, keyIn: (content: Buffer) => VerificationKey): RememberingAuthenticator => {
    const followed = new FollowedFiles({
      intervalMs: rereadMs,
      files: [file],
      read: ([content = Buffer.alloc(0)]) => open(keyIn(content)),
      onChange: () => {
        logger.info({ file }, 'the keys of tokens have changed');
      },
      onProblem: ({ message }) => {
        logger.warn(
          { file, problem: message },
          'the keys of tokens stay as they were: the file cannot be used',
        );
      },
    });
    closing.resource('file of keys', () => {
      followed.close();
    });
    return {
      authenticate: (authorization) => followed.value.authenticate(authorization),
      get remembered() {
        return followed.value.remembered;
      },
    };
  };
  switch (key.kind) {
    case 'local':
      return open({ kind: 'secrets', secrets: [localSecret(key.file)] });
    case 'secret':
      return open({ kind: 'secrets', secrets: [key.secret] });
    case 'secretFile':
      return follow(key.file, (content) => ({ kind: 'secrets', secrets: secretsIn(content) }));
    case 'publicKeyFile':
      return follow(key.file, (content) => ({ kind: 'publicKey', pem: content.toString() }));
    case 'jwks':
      return open(key);
  }
}
