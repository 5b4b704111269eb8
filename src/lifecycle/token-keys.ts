import type { Logger } from 'pino';
import { createAuthenticator, type VerificationKey } from '../auth/authenticator.js';
import { type RememberingAuthenticator, rememberTokens } from '../auth/remembered-tokens.js';
import { RemoteKeySet } from '../auth/remote-key-set.js';
import { FollowedFiles } from '../files/followed-files.js';
import { localSecret } from '../settings/local-secret.js';
import { secretsIn } from '../settings/token-values.js';
import type { TokenConfig } from '../settings/tokens.js';
import type { Closing } from './closing.js';

interface TokenKeysOptions {
  readonly closing: Closing;
  readonly logger: Logger;
  /** Milliseconds since the epoch; default: the system's clock. */
  readonly now?: (() => number) | undefined;
  /** As in `RemoteKeySet`. */
  readonly monotonic?: (() => number) | undefined;
  /** How often a key file is reread, in milliseconds; default: 10,000. */
  readonly fileCheckMs?: number | undefined;
}

/** The authenticator for the configured tokens, and the key set that it takes keys from, if they come from a URL. */
export interface TokenKeys {
  readonly authenticator: RememberingAuthenticator;
  readonly keySet?: RemoteKeySet;
}

/**
 * Opens the keys that verify tokens, and an authenticator that caches verified tokens. When a key file changes, a new
 * authenticator with an empty cache replaces it. A key set is fetched from now on.
 *
 * @throws Error when the key cannot be used
 */
export function openTokenKeys(config: TokenConfig, options: TokenKeysOptions): TokenKeys {
  const { key } = config;
  const { now, fileCheckMs, closing, logger } = options;
  const open = (verificationKey: VerificationKey, keys?: () => object): RememberingAuthenticator =>
    rememberTokens(createAuthenticator({ ...config, key: verificationKey, now }), now, keys);
  const follow = (file: string, keyIn: (content: Buffer) => VerificationKey): RememberingAuthenticator => {
    const followed = new FollowedFiles({
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
      return { authenticator: open({ kind: 'secrets', secrets: [localSecret(key.file)] }) };
    case 'secret':
      return { authenticator: open({ kind: 'secrets', secrets: [key.secret] }) };
    case 'secretFile':
      return {
        authenticator: follow(key.file, (content) => ({ kind: 'secrets', secrets: secretsIn(content) })),
      };
    case 'publicKeyFile':
      return {
        authenticator: follow(key.file, (content) => ({ kind: 'publicKey', pem: content.toString() })),
      };
    case 'jwks': {
      const keySet = fetchKeySet(key.url, options);
      return { authenticator: open({ kind: 'keySet', keySet }, () => keySet.keys), keySet };
    }
  }
}

function fetchKeySet(url: string, { closing, logger, monotonic: now }: TokenKeysOptions): RemoteKeySet {
  let waiting = false;
  const keySet = new RemoteKeySet({
    url,
    now,
    onProblem: (err, state) => {
      if (state === 'usable')
        logger.warn({ err }, 'the key set cannot be refreshed: its keys stay in use until it is an hour old');
      // Once: the attempts follow each other every second. An older set is lost only after it was usable.
      if (keySet.ageMs < Infinity || waiting) return;
      waiting = true;
      logger.warn(
        { url: withoutQuery(url), err },
        'waiting for the key set: the service is not ready without it',
      );
    },
  });
  void keySet.ready.then(() => {
    logger.info({ url: withoutQuery(url) }, 'the key set has been fetched');
  });
  closing.resource('key set', () => {
    keySet.close();
  });
  keySet.start();
  return keySet;
}

/** The URL without its query, which may hold a secret. */
function withoutQuery(url: string): string {
  const { origin, pathname } = new URL(url);
  return origin + pathname;
}
