import { once } from 'node:events';
import { type IncomingMessage, request as sendRequest } from 'node:http';
import { Session } from 'node:inspector/promises';
import { basename, dirname, relative, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { create, get, metadataOf, routeTo, startService, tokenFor } from '../test/support/service.js';

/** The rounds of calls before the measured ones, so that the measured calls do no first-time work. */
const WARM_UP = 20;
/** How long the service is recorded without a call, in milliseconds: longer than the interval of its checks. */
const IDLE_MS = 3_000;
/** How long a call may continue after its response, in milliseconds. */
const AFTERWARDS_MS = 200;

const ROOT = resolve(import.meta.dirname, '..');
const HAND_WRITTEN = /^(?:src|packages\/[^/]+\/src)\/(?!.*\bgen\/)/;

/**
 * `npm run --silent call-path`: prints how many and which files a create and a get over each protocol run through, in a
 * warm service on the embedded database. The files come from V8's precise coverage. Generated code and functions that
 * also run without a call, by a timer, are left out.
 */
async function main(): Promise<void> {
  const service = await startService({ databaseUrl: 'sqlite::memory:' });
  const token = tokenFor();
  const request = { route: routeTo('warm'), requestId: '', validateOnly: false };
  const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' };
  const url = `${service.httpUrl}/v1/routing`;
  const { route } = await create(service.client, request, metadataOf(token));
  const id = route?.id ?? '';
  const calls = {
    'create over gRPC': () => create(service.client, request, metadataOf(token)),
    'get over gRPC': () => get(service.client, id, metadataOf(token)),
    'create over REST': () => exchange('POST', url, headers, '{"method":"GET","path":"/","handler":"h"}'),
    'get over REST': () => exchange('GET', `${url}/${id}`, headers),
  };

  const session = new Session();
  session.connect();
  await session.post('Profiler.enable');
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
  for (let made = 0; made < WARM_UP; made++) for (const call of Object.values(calls)) await call();
  await functionsRun(session);
  await sleep(IDLE_MS);
  const byTimers = await functionsRun(session);
  for (const [name, call] of Object.entries(calls)) {
    await call();
    await sleep(AFTERWARDS_MS);
    const run = await functionsRun(session);
    const files = new Set([...run].filter(([key]) => !byTimers.has(key)).map(([, file]) => file));
    process.stdout.write(`${name}: ${files.size} files\n${byFolder([...files])}`);
  }
  session.disconnect();
  await service.close();
}

/** Sends a request with its headers and body at once, and reads the whole response. */
async function exchange(
  method: string,
  url: string,
  headers: Record<string, string>,
  body = '',
): Promise<void> {
  const length = method === 'POST' ? { 'content-length': body.length } : {};
  const request = sendRequest(url, { method, headers: { ...headers, ...length } }).end(body);
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  await once(response.resume(), 'end');
}

/** The functions that have run since the last call of this function, each with its file. */
async function functionsRun(session: Session): Promise<Map<string, string>> {
  const { result } = await session.post('Profiler.takePreciseCoverage');
  const run = new Map<string, string>();
  for (const { url, functions } of result) {
    const file = url.startsWith('file://') ? relative(ROOT, fileURLToPath(url)) : url;
    if (!HAND_WRITTEN.test(file)) continue;
    for (const { functionName, ranges } of functions) {
      const [whole] = ranges;
      if (whole !== undefined && whole.count > 0)
        run.set(`${file}:${functionName}:${whole.startOffset}`, file);
    }
  }
  return run;
}

/** The files by folder, one line for each folder. */
function byFolder(files: readonly string[]): string {
  const modules = new Map<string, string[]>();
  for (const file of files.toSorted()) {
    const folder = dirname(file);
    modules.set(folder, [...(modules.get(folder) ?? []), basename(file, '.ts')]);
  }
  return [...modules].map(([folder, names]) => `  ${folder}: ${names.join(', ')}\n`).join('');
}

await main();
