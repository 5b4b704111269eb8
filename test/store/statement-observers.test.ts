import { afterAll, beforeAll, beforeEach, expect, it, onTestFinished } from 'vitest';
import { engines } from '../support/engines.js';
import { startMysqlFaultFront } from '../support/mysql-fault-front.js';
import { describeOn } from '../support/needs.js';
import {
  type KnexRouteStore,
  type ObservedStatement,
  type OpenedStore,
  openStore,
} from '../support/open-store.js';
import { entryOf } from '../support/store-entries.js';
import { startSessionFront } from './session-front.js';

type Seen = ObservedStatement & { error?: unknown; ended?: number };

/** Records the statements, and numbers the calls in the order of their arrival. */
class Recorder {
  readonly seen: Seen[] = [];
  #calls = 0;

  capture(): string {
    return `call ${++this.#calls}`;
  }

  begin(statement: ObservedStatement): (error?: unknown) => void {
    const seen: Seen = { ...statement };
    this.seen.push(seen);
    return (error) => {
      Object.assign(seen, { error, ended: (seen.ended ?? 0) + 1 });
    };
  }
}

const FIRST = { attempt: 1, error: undefined, ended: 1 };

describeOn(engines)('an observer of the store on $name', (engine) => {
  let database: OpenedStore;
  let recorder: Recorder;
  let bare: ObservedStatement[];
  let store: KnexRouteStore;

  beforeAll(async () => {
    database = await openStore(engine);
  });

  beforeEach(() => {
    recorder = new Recorder();
    bare = [];
    const withoutCapture = {
      begin: (statement: ObservedStatement) => {
        bare.push(statement);
        return () => undefined;
      },
    };
    store = database.storeWith({ duplicates: 'reject', observers: [withoutCapture, recorder] });
  });

  afterAll(() => database.close());

  it('sees the statement of each call, with what it captured for the call', async () => {
    const entry = entryOf({}, { idempotencyKey: 'observed' });
    await store.insert(entry);
    await store.find(entry.route.id);
    await store.findByIdempotencyKey('me', 'observed');
    await store.findDuplicate(entry.shape);
    expect(recorder.seen).toEqual([
      { ...FIRST, operation: 'INSERT', batchSize: 1, captured: ['call 1'] },
      { ...FIRST, operation: 'SELECT', batchSize: 1, captured: ['call 2'] },
      { ...FIRST, operation: 'SELECT', batchSize: 1, captured: ['call 3'] },
      { ...FIRST, operation: 'SELECT', batchSize: 1, captured: ['call 4'] },
    ]);
    expect(bare.map(({ captured }) => captured)).toEqual(recorder.seen.map(() => [undefined]));
  });

  it('sees one statement for calls that share it', async () => {
    await Promise.all(Array.from({ length: 3 }, () => store.insert(entryOf())));
    expect(recorder.seen).toEqual([
      { ...FIRST, operation: 'INSERT', batchSize: 3, captured: ['call 1', 'call 2', 'call 3'] },
    ]);
  });

  it('sees an error without the statement or its values', async () => {
    const secret = { ...entryOf({ path: '/secret' }), caller: null as unknown as string };
    await expect(store.insert(secret)).rejects.toThrow();
    const [refused] = recorder.seen;
    expect(refused).toMatchObject({ operation: 'INSERT', captured: ['call 1'], ended: 1 });
    expect(String(refused?.error)).toMatch(
      /^DatabaseError: The database(?: at 127\.0\.0\.1:\d+)? answered \S+(?: \(\d+\))?\.$/,
    );
  });

  it('sees neither calls that had already ended nor health checks', async () => {
    await expect(store.find(entryOf().route.id, AbortSignal.abort())).rejects.toThrow();
    await store.ping();
    expect(recorder.seen).toEqual([]);
  });
});

describeOn(engines.slice(1))('an observer of the store on $name', (engine) => {
  it('sees each attempt', async () => {
    const { port, connect, storeWith, close } = await openStore(engine);
    onTestFinished(close);
    let faults = 2;
    const front = await startMysqlFaultFront(port, ({ kind }) =>
      kind === 'INSERT' && faults-- > 0 ? { done: false, answer: 1213 } : undefined,
    );
    const recorder = new Recorder();
    await storeWith({ observers: [recorder] }, connect(front.port)).insert(entryOf());
    expect(
      recorder.seen.map(({ attempt, error, captured }) => [attempt, error !== undefined, captured]),
    ).toEqual([
      [1, true, ['call 1']],
      [2, true, ['call 1']],
      [3, false, ['call 1']],
    ]);
  });

  it('sees the failure of an INSERT that the server executed, but within a transaction', async () => {
    const { port, connect, storeWith, close } = await openStore(engine);
    onTestFinished(close);
    const front = await startSessionFront(port, { beforeInsert: ['BEGIN'] });
    const recorder = new Recorder();
    const store = storeWith({ observers: [recorder] }, connect(front.port));
    await expect(store.insert(entryOf())).rejects.toMatchObject({ reason: 'STORE_UNAVAILABLE' });
    expect(recorder.seen).toMatchObject([{ error: { reason: 'STORE_UNAVAILABLE' }, ended: 1 }]);
  });
});
