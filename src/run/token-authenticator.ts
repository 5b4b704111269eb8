import type { Logger } from 'pino';
import {
  createAuthenticator,
  type RememberingAuthenticator,
  rememberTokens,
  type VerificationKey,
} from '../auth/authenticator.js';
import type { Closing } from './closing.js';
import { FollowedFiles } from '../files/followed-files.js';
import { localSecret, secretsIn, type TokenConfig } from '../settings/tokens.js';

/** The parts of the process that the authenticator uses. */
interface TokenDependencies {
  readonly closing: Closing;
  readonly logger: Logger;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
  /** How often a key file is reread, in milliseconds; default: 10,000. */
  readonly fileCheckMs?: number | undefined;
}

/**
 * Creates the authenticator for the configured tokens, which caches verified tokens. When a key file changes, a new
 * authenticator with an empty cache replaces it.
 *
 * @throws Error when the key cannot be used
 */
export async function openTokenAuthenticator(
  { key, issuer, audience }: TokenConfig,
  { closing, logger, now, fileCheckMs }: TokenDependencies,
): Promise<RememberingAuthenticator> {
  const onProblem = (err: Error): void => {
    logger.warn({ err }, 'the key set cannot be refreshed: its keys stay in use until it is an hour old');
  };
  const open = (verificationKey: VerificationKey): RememberingAuthenticator =>
    rememberTokens(createAuthenticator({ key: verificationKey, issuer, audience, now, onProblem }), now);
  const follow = async (
    file: string,
    keyIn: (content: Buffer) => VerificationKey,
  ): Promise<RememberingAuthenticator> => {
    const followed = await FollowedFiles.open({
      files: [file],
      read: ([content = Buffer.alloc(0)]) => open(keyIn(content)),
      onProblem: ({ message }) => {
        logger.warn({ file, problem: message }, 'the key file cannot be used: the previous keys stay in use');
      },
      intervalMs: fileCheckMs,
    });
    followed.onChange(() => {
      logger.info({ file }, 'the token keys have changed');
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
