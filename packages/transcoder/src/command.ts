import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { parseArgs } from 'node:util';
import { credentials } from '@grpc/grpc-js';
import { grpcUpstream } from './grpc-js.js';
import { createTranscoder, unboundRules } from './index.js';
import { describe, type OpenApi } from './openapi.js';
import { documentPages, withPages } from './page.js';
import { followContract, type ReflectedContract } from './reflection.js';
import { isForThisMachine } from './same-machine.js';

const USAGE = `Usage: transcoder --target HOST:PORT [options]

Serves a gRPC server over HTTP and JSON at 127.0.0.1, by the google.api.http rules of its contract, with a page to try it.

  --target HOST:PORT  the gRPC server, whose contract is taken by server reflection
  --descriptors FILE  the contract instead: a serialized google.protobuf.FileDescriptorSet
  --all               serve methods without a rule, too: POST /package.Service/Method
  --tls               connect with TLS, and trust the authorities that Node trusts
  --ca FILE           connect with TLS, and trust these authorities (PEM)
  --port PORT         the port of HTTP; 8080 by default, 0 for any
  --help, --version
`;

/** What the command writes to and is ended by; `process` fits. */
interface Terminal {
  readonly stdout: { write(text: string): unknown };
  readonly stderr: { write(text: string): unknown };
  /** Default: it ends with its process. */
  readonly signal?: AbortSignal;
}

/**
 * Runs the command `transcoder` until it fails or its signal comes.
 *
 * @returns its exit code: 2 for wrong arguments, 1 for another failure, both with a sentence on `stderr`.
 */
export async function runCommand(args: readonly string[], terminal: Terminal): Promise<number> {
  let failure = 2;
  try {
    const settings = settingsOf(args);
    failure = 1;
    if (typeof settings === 'string') terminal.stdout.write(settings);
    else await serve(settings, terminal);
    return 0;
  } catch (error) {
    terminal.stderr.write(`transcoder: ${(error as Error).message}\n`);
    return failure;
  }
}

/** The settings that the arguments give, or the text that they ask for. @throws Error with one sentence, if they are wrong */
function settingsOf(args: readonly string[]) {
  const options = {
    target: { type: 'string' },
    descriptors: { type: 'string' },
    all: { type: 'boolean', default: false },
    tls: { type: 'boolean', default: false },
    ca: { type: 'string' },
    port: { type: 'string', default: '8080' },
    help: { type: 'boolean', short: 'h', default: false },
    version: { type: 'boolean', default: false },
  } as const;
  const { target, descriptors, all, tls, ca, port, help, version } = parseArgs({
    args: [...args],
    options,
  }).values;
  if (help) return USAGE;
  if (version) return `${packageVersion()}\n`;
  if (target === undefined) throw new Error('--target is missing, the address of a gRPC server; see --help.');
  if (!/^\d+$/.test(port) || Number(port) > 65_535) throw new Error(`"${port}" is not a port.`);
  return {
    target,
    descriptorSet: descriptors === undefined ? undefined : readFileSync(descriptors),
    credentials:
      tls || ca !== undefined
        ? credentials.createSsl(ca === undefined ? null : readFileSync(ca))
        : credentials.createInsecure(),
    port: Number(port),
    all,
  };
}

function packageVersion(): string {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}

/** Serves until the signal comes. Rejects with an Error of one sentence, if it cannot begin. */
async function serve(
  { target, credentials, descriptorSet, all, port }: Exclude<ReturnType<typeof settingsOf>, string>,
  { stdout, stderr, signal = new AbortController().signal }: Terminal,
): Promise<void> {
  const say = (text: string): void => void stdout.write(`${text}\n`);
  const complain = (error: unknown): void => void stderr.write(`transcoder: ${(error as Error).message}\n`);
  const server = createServer({ requireHostHeader: false }, (_, response) => {
    response.writeHead(503).end(`Waiting for ${target}.\n`);
  });
  await once(server.listen(port, '127.0.0.1'), 'listening');
  const upstream = grpcUpstream(target, { credentials });
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;

  /** Puts a contract in the place of the one before. */
  function change({ skipped, ...contract }: Contract): void {
    const unbound = unboundRules(contract.descriptorSet, contract.services);
    const unserved = all ? [] : unbound.map(({ selector }) => `${selector} has no HTTP rule, see --all.`);
    for (const sentence of [...skipped, ...unserved]) say(`Left out: ${sentence}`);
    const log = { debug: ignore, info: ignore, warn: tellCause, error: tellCause };
    const options = { ...contract, upstream, log, rules: all ? unbound : [], unsupported: 'skip' } as const;
    const transcoder = createTranscoder(options);
    const document = describe(options);
    const handler = withPages(transcoder, documentPages(document));
    for (const event of ['request', 'checkContinue', 'clientError', 'connect'])
      server.removeAllListeners(event);
    server
      .on('request', (request, response) => {
        if (isForThisMachine(request)) handler(request, response);
        else response.writeHead(403).end('Requests of other origins, and for other hosts, are refused.\n');
      })
      .on('checkContinue', transcoder.onCheckContinue)
      .on('clientError', transcoder.onClientError)
      .on('connect', transcoder.onConnect);
    for (const sentence of transcoder.skipped) say(`Left out: ${sentence}`);
    for (const line of linesOf(document)) say(line);
    say(`${target} is served at ${origin}, with a page to try it at ${origin}/docs`);
  }

  /** The causes of failures, which responses do not tell. What is skipped has none. */
  function tellCause({ err }: { err?: unknown }): void {
    if (err !== undefined) complain(err);
  }

  /** Why the server could not be reached, since it was there last. */
  const reasons = new Set<string>();
  try {
    if (descriptorSet !== undefined) {
      change({ descriptorSet, skipped: [] });
      await once(signal, 'abort');
      return;
    }
    await followContract(
      target,
      { credentials, signal },
      {
        contract(contract, changed) {
          if (changed) change(contract);
          else if (reasons.size > 0) say(`${target} is back, with the same contract.`);
          reasons.clear();
        },
        waiting(reason) {
          if (!reasons.has(reason)) say(`Waiting: ${reason}`);
          reasons.add(reason);
        },
        failed: complain,
      },
    );
  } finally {
    upstream.close();
    server.close();
    server.closeAllConnections();
  }
}

/** A contract from a server; one in a file names no services, since all of it is served. */
type Contract = Omit<ReflectedContract, 'services'> & Partial<ReflectedContract>;

const ignore = (): void => undefined;

/** What is served: a line for each HTTP method and path. */
function linesOf({ paths }: OpenApi): string[] {
  return Object.entries(paths).flatMap(([path, { 'x-additionalOperations': others = {}, ...operations }]) => [
    ...Object.keys(operations).map((verb) => `${verb.toUpperCase().padEnd(6)} ${path}`),
    ...Object.keys(others),
  ]);
}
