import type { JsonWebKey, KeyObject } from 'node:crypto';
import { onTestFinished } from 'vitest';
import type { AuthResult } from '../../src/auth/auth-result.js';
import { createAuthenticator } from '../../src/auth/authenticator.js';
import { type RememberingAuthenticator, rememberTokens } from '../../src/auth/remembered-tokens.js';
import { RemoteKeySet } from '../../src/auth/remote-key-set.js';
import { FakeTime } from './fake-time.js';
import { KeySetServer } from './key-set-server.js';
import { ACCEPTED, CLAIMS, type Header, NOW, signJwt } from './sign-jwt.js';

/** The time limit of a fetch, in milliseconds: longer than any test holds one. */
const FETCH_MS = 60_000;

/** The period of the service's fetches, in milliseconds. */
const PERIOD_MS = 300_000;

/** A key, as a rule a public one, as a JSON Web Key with further members. */
export function jwk(key: KeyObject, members: JsonWebKey): JsonWebKey {
  return { ...key.export({ format: 'jwk' }), ...members };
}

/**
 * An issuer that publishes its keys over HTTP (`server`), and the part of a service that takes its tokens (`keySet` and
 * `authenticator`).
 */
export class TestIssuer {
  readonly server: KeySetServer;
  readonly time = new FakeTime();
  readonly keySet: RemoteKeySet;
  /** Caches accepted tokens. */
  readonly authenticator: RememberingAuthenticator;
  /** Why fetches have failed, and the state in which that left the key set. */
  readonly problems: (readonly [Error, string])[] = [];

  private constructor(server: KeySetServer, fetchMs: number) {
    const { now, monotonic, later } = this.time;
    this.server = server;
    this.keySet = new RemoteKeySet({
      url: server.url,
      now: monotonic,
      later,
      fetchMs,
      onProblem: (...problem) => this.problems.push(problem),
    });
    const key = { kind: 'keySet', keySet: this.keySet } as const;
    this.authenticator = rememberTokens(
      createAuthenticator({ ...ACCEPTED, key, now }),
      now,
      () => this.keySet.keys,
    );
  }

  /** Starts an issuer whose keys the service has not fetched yet. */
  static async startUnfetched(options: { keys: readonly object[]; fetchMs?: number }): Promise<TestIssuer> {
    const server = await KeySetServer.start(...options.keys);
    const issuer = new TestIssuer(server, options.fetchMs ?? FETCH_MS);
    onTestFinished(async () => {
      issuer.keySet.close();
      await server.stop();
    });
    return issuer;
  }

  /** Starts an issuer whose keys the service has fetched. */
  static async start(...keys: readonly object[]): Promise<TestIssuer> {
    const issuer = await TestIssuer.startUnfetched({ keys });
    await issuer.fetchFirst();
    return issuer;
  }

  /** Lets the service begin to fetch the keys, and waits for the end of the first attempt. */
  async fetchFirst(): Promise<void> {
    this.keySet.start();
    await this.time.planned();
  }

  /** Lets time pass, and waits for the end of the fetch that becomes due, if one does. */
  async pass(ms: number): Promise<void> {
    this.time.pass(ms);
    await this.time.planned();
  }

  /** Replaces the keys, and lets the service fetch them by its timer. */
  async replaceKeys(...keys: readonly object[]): Promise<void> {
    this.server.publish(...keys);
    await this.pass(PERIOD_MS);
  }

  /** The service's result for a token that is signed with this key and has this header. It expires in a day. */
  judge(key: KeyObject, header: Header): AuthResult | Promise<AuthResult> {
    return this.authenticator.authenticate(
      `Bearer ${signJwt(key, header, { ...CLAIMS, exp: NOW + 86_400 })}`,
    );
  }
}
