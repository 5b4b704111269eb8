import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type ServerResponse } from 'node:http';
import { type AddressInfo, isIPv6 } from 'node:net';
import { commandSettings, type CommandSettings } from './command-settings.js';
import { errorReply } from './failures/error-reply.js';
import { httpStatusOf } from './failures/failure.js';
import { isForeign } from './foreign-requests.js';
import { Code } from './gen/google/rpc/code_pb.js';
import { grpcUpstream } from './grpc-js.js';
import { loggedPath, writeReply } from './http/response.js';
import { createTranscoder, type Transcoder, unboundRules } from './index.js';
import { describe, type OpenApi } from './openapi.js';
import { documentPages, withPages } from './page.js';
import { printable } from './printable.js';
import { followContract, type ReflectedContract, ReflectionError } from './reflection.js';
import type { RequestObserver } from './request-observer.js';

/** The pages that other sites may link to. */
const LINKED: ReadonlySet<string> = new Set(['/docs', '/openapi.json']);

const FOREIGN =
  'Pages of other origins are refused, and host names but localhost and those that --allow-host names.';

const WITHOUT_REFLECTION =
  'To serve it without reflection, give its contract with --descriptors FILE: a descriptor set, as written by buf build -o FILE, or by protoc --include_imports --descriptor_set_out=FILE, from its proto files.';

/** How long a connection stays open between two requests, in milliseconds: longer than balancers, which keep them for 60 s. */
const IDLE_MS = 75_000;

const FORM_TYPE = /^application\/x-www-form-urlencoded[ \t]*(?:;|$)/i;

/** The output streams and the stop signal of the command; `process` has this shape. */
interface Terminal {
  readonly stdout: { write(text: string): unknown };
  readonly stderr: { write(text: string): unknown };
  /** Stops the command. Default: it runs until its process ends. */
  readonly signal?: AbortSignal;
}

/**
 * Runs the command `transcoder` until it fails or `signal` is aborted.
 *
 * @returns the exit code: 0 for success, 2 for invalid arguments, 1 for any other failure. Each failure writes one
 *   sentence to `stderr`.
 */
export async function runCommand(args: readonly string[], terminal: Terminal): Promise<number> {
  let failure = 2;
  try {
    const settings = commandSettings(args);
    failure = 1;
    if (typeof settings === 'string') terminal.stdout.write(settings);
    else await serve(settings, terminal);
    return 0;
  } catch (error) {
    terminal.stderr.write(complaint(error));
    return failure;
  }
}

/** Serves until `signal` is aborted. @throws Error (rejects) with a one-sentence message if it cannot start */
async function serve(
  settings: CommandSettings,
  { stdout, stderr, signal = new AbortController().signal }: Terminal,
): Promise<void> {
  const { target, channel, descriptorSet, all, metadata, transcoding, host, port, hosts } = settings;
  const { lenient } = transcoding;
  const say = (text: string): void => void stdout.write(`${printable(text)}\n`);
  const complain = (error: unknown): void => void stderr.write(complaint(error));
  /** A listener for all requests but foreign ones. */
  const guarded =
    (listener: RequestListener): RequestListener =>
    (request, response) => {
      if (isForeign(request, { hosts, linked: LINKED }))
        refuse(request, response, Code.PERMISSION_DENIED, FOREIGN);
      else {
        if (lenient) readFormsAsJson(request);
        listener(request, response);
      }
    };
  /** Answers a request with an error, without the transcoder. */
  function refuse(request: IncomingMessage, response: ServerResponse, code: Code, message: string): void {
    const reply = errorReply(code, httpStatusOf(code), message, [], {});
    const requestId = randomUUID();
    void writeReply(response, reply, requestId);
    const { method, url = '' } = request;
    say(requestLine({ method, path: loggedPath(url), status: reply.status, reason: Code[code], requestId }));
  }
  const waiting = guarded((request, response) => {
    refuse(request, response, Code.UNAVAILABLE, `Waiting for ${target}.`);
  });
  const server = createServer({ requireHostHeader: false, keepAliveTimeout: IDLE_MS }, waiting);
  await once(server.listen(port, host), 'listening').catch((error: unknown) => {
    throw new Error(`--host ${host}, --port ${port}: ${(error as Error).message}.`);
  });
  const upstream = grpcUpstream(target, { ...channel, maxReplyBytes: settings.maxReplyBytes });
  const origin = originOf(server.address() as AddressInfo);
  const observer: RequestObserver = { begin: () => ({ metadata, end: ignore }) };

  const tellLeftOut = tellingNews(say);
  const tellServed = tellingNews(say);

  /**
   * Replaces the contract that is served. Requests and streams that are under way go on with the one that they began
   * with, and with its bounds: a client whose requests bring up further types interrupts nobody.
   *
   * @param want is told the types that replies have and the contract lacks.
   */
  function change({ skipped, ...contract }: Contract, want: (typeUrl: string) => void): void {
    const unbound = unboundRules(contract.descriptorSet, contract.services);
    // The transcoder says why a rule cannot be served.
    const bare = all ? [] : unbound.filter(({ additionalBindings }) => additionalBindings === undefined);
    const unserved = bare.map(({ selector }) => `${selector} has no HTTP rule, see --all.`);
    tellLeftOut([...skipped, ...unserved].map(leftOut));
    const info = (fields: RequestFields, message: string): void => {
      say(requestLine(fields, message));
    };
    const log = { debug: ignore, info, warn: tellCause, error: tellCause };
    const options = {
      ...contract,
      ...transcoding,
      upstream,
      observers: [observer],
      log,
      answeredLevel: 'info',
      onUnknownType: want,
      rules: all ? unbound : [],
      unsupported: 'skip',
    } as const;
    const transcoder = createTranscoder(options);
    const document = describe(options);
    const pages = documentPages(() => document);
    const serving = (handler: Transcoder['handler']): RequestListener => {
      const paged = withPages({ handler, respond: transcoder.respond }, pages);
      return guarded((request, response) => {
        if (isBrowserAtRoot(request)) transcoder.respond(request, response, () => TO_DOCS);
        else paged(request, response);
      });
    };
    for (const event of ['request', 'checkContinue', 'clientError', 'connect'])
      server.removeAllListeners(event);
    server
      .on('request', serving(transcoder.handler))
      .on('checkContinue', serving(transcoder.onCheckContinue))
      .on('clientError', transcoder.onClientError)
      .on('connect', transcoder.onConnect);
    tellServed([...transcoder.skipped.map(leftOut), ...linesOf(document)]);
    say(`${target} is served at ${origin}, with a page to try it at ${origin}/docs`);
  }

  /** Prints the causes of failures, which responses do not reveal. Log lines about skipped bindings have no cause. */
  function tellCause({ err }: { err?: unknown }): void {
    if (err !== undefined) complain(err);
  }

  /** The reasons printed since the server was last reachable: each is printed once. */
  const reasons = new Set<string>();
  try {
    if (descriptorSet !== undefined) {
      change({ descriptorSet, skipped: [] }, ignore);
      if (!signal.aborted) await once(signal, 'abort');
      return;
    }
    await followContract(
      target,
      { ...channel, metadata, signal },
      {
        contract(contract, changed, want) {
          if (changed) change(contract, want);
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

/** A contract from reflection or from a file. A file names no services: all of them are served. */
type Contract = Omit<ReflectedContract, 'services'> & Partial<ReflectedContract>;

const ignore = (): void => undefined;

const leftOut = (sentence: string): string => `Left out: ${sentence}`;

/** Creates the function that prints lines, unless they are those of the last time: a contract may only have a new type. */
function tellingNews(say: (line: string) => void): (lines: readonly string[]) => void {
  let last = '';
  return (lines) => {
    const text = lines.join('\n');
    if (text !== last) lines.forEach(say);
    last = text;
  };
}

/** The line about an error. */
function complaint(error: unknown): string {
  const hint = error instanceof ReflectionError ? ` ${WITHOUT_REFLECTION}` : '';
  return `transcoder: ${printable((error as Error).message)}${hint}\n`;
}

/** What a browser gets at the root, which no path template has. */
const TO_DOCS = { status: 302, headers: { Location: '/docs', Vary: 'Accept', 'Cache-Control': 'no-cache' } };

function isBrowserAtRoot({ method, url, headers }: IncomingMessage): boolean {
  return method === 'GET' && url === '/' && headers.accept?.includes('text/html') === true;
}

/** The origin of a server, as a user on this machine can open it. */
function originOf({ address, port }: AddressInfo): string {
  const host = address === '::' || address === '0.0.0.0' ? 'localhost' : address;
  return `http://${isIPv6(host) ? `[${host}]` : host}:${port}`;
}

/**
 * Declares the forms of `curl -d`, which names no other type unless it is told to, as JSON. As the guard keeps the forms
 * of other pages out, which browsers send unasked, nobody else sends them.
 */
function readFormsAsJson({ headers }: IncomingMessage): void {
  if (FORM_TYPE.test(headers['content-type'] ?? '')) headers['content-type'] = 'application/json';
}

/** What the line about a request tells. Bytes that are no HTTP request have no method, path and time. */
interface RequestFields {
  readonly method?: string | undefined;
  readonly path?: string | undefined;
  /** Undefined if the client left first. */
  readonly status?: number | undefined;
  readonly reason?: string | undefined;
  readonly ms?: number | undefined;
  readonly requestId?: string | undefined;
}

/** @param message stands for the status of a request without one */
function requestLine({ method, path, status, reason, ms, requestId }: RequestFields, message = ''): string {
  const time = ms === undefined ? undefined : `${ms} ms`;
  const parts = [method, path, status ?? message, reason, time, requestId];
  return parts.filter((part) => part !== undefined).join(' ');
}

/** One line for each HTTP method and path that is described. */
function linesOf({ paths }: OpenApi): string[] {
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.keys(operations).map((verb) => `${verb.toUpperCase().padEnd(6)} ${path}`),
  );
}
