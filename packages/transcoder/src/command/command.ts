import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import {
  createServer,
  type IncomingMessage,
  type RequestListener,
  type Server,
  type ServerResponse,
} from 'node:http';
import { type AddressInfo, isIPv6 } from 'node:net';
import { commandSettings, type CommandSettings } from './settings.js';
import { errorReply, ownDetails } from '../failures/error-reply.js';
import { httpStatusOf } from '../failures/failure.js';
import { isForeign } from './foreign-requests.js';
import { Code } from '../gen/google/rpc/code_pb.js';
import { type GrpcUpstream, grpcUpstream } from '../grpc-js.js';
import { requestTarget } from '../http/head.js';
import { loggedPath } from '../http/logged-path.js';
import { writeReply } from '../http/response.js';
import { createTranscoder, type Transcoder, unboundRules } from '../index.js';
import { describe, type OpenApi } from '../openapi.js';
import { documentPage } from '../page/document-page.js';
import type { Page } from '../page/static-page.js';
import { withPages } from '../page/with-pages.js';
import { printable } from '../printable.js';
import {
  type ContractListener,
  followContract,
  type ReflectedContract,
  ReflectionError,
} from './reflection.js';

/** The pages that other sites may link to. */
const LINKED: ReadonlySet<string> = new Set(['/docs', '/openapi.json']);

const FOREIGN =
  'Only localhost, addresses and names of --allow-host are answered, and no pages of other sites.';

const WITHOUT_REFLECTION =
  'To serve it without reflection, give its contract with --descriptors FILE: a descriptor set, as written by buf build -o FILE, or by protoc --include_imports --descriptor_set_out=FILE, from its proto files.';

/** The `domain` of the errors of the command itself, which has no contract while it waits for one. */
const DOMAIN = 'transcoder';

/** How long a connection stays open between two requests, in milliseconds: longer than balancers, which keep them for 60 s. */
const IDLE_MS = 75_000;

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
async function serve(settings: CommandSettings, terminal: Terminal): Promise<void> {
  const { target, channel, descriptorSet, metadata } = settings;
  const { signal = new AbortController().signal } = terminal;
  const front = new Front(settings, terminal);
  try {
    await front.listen();
    if (descriptorSet === undefined)
      await followContract(target, { ...channel, metadata, signal }, front.contractListener());
    else {
      front.change({ descriptorSet, skipped: [] }, ignore);
      if (!signal.aborted) await once(signal, 'abort');
    }
  } finally {
    front.close();
  }
}

type DocumentPages = (describe: () => OpenApi) => Page[];

/** The HTTP server in front of a gRPC server, whose contract may change. */
class Front {
  readonly #settings: CommandSettings;
  readonly #terminal: Terminal;
  /** Undefined if the package of the page is not installed. */
  #documentPages: DocumentPages | undefined;
  readonly #upstream: GrpcUpstream;
  readonly #server: Server;
  #origin = '';
  /** The lines printed last: a contract may only have a new type. */
  readonly #told = { leftOut: '', served: '' };

  constructor(settings: CommandSettings, terminal: Terminal) {
    const { target, channel, maxReplyBytes } = settings;
    this.#settings = settings;
    this.#terminal = terminal;
    this.#upstream = grpcUpstream(target, { ...channel, maxReplyBytes });
    const refuseWhileWaiting = this.#withoutForeignRequests((request, response) => {
      this.#refuse(request, response, Code.UNAVAILABLE, `Waiting for ${target}.`);
    });
    this.#server = createServer({ requireHostHeader: false, keepAliveTimeout: IDLE_MS }, refuseWhileWaiting);
  }

  /** @throws Error (rejects) with a one-sentence message if it cannot listen */
  async listen(): Promise<void> {
    const { host, port } = this.#settings;
    await once(this.#server.listen(port, host), 'listening').catch((error: unknown) => {
      throw new Error(`--host ${host}, --port ${port}: ${(error as Error).message}.`);
    });
    this.#origin = originOf(this.#server.address() as AddressInfo);
    const page = await import('../page.js').catch(() => undefined);
    this.#documentPages = page?.documentPages;
  }

  contractListener(): ContractListener {
    /** The reasons printed since the server was last reachable: each is printed once. */
    const reasons = new Set<string>();
    return {
      contract: (contract, changed, want) => {
        if (changed) this.change(contract, want);
        else if (reasons.size > 0) this.#say(`${this.#settings.target} is back, with the same contract.`);
        reasons.clear();
      },
      waiting: (reason) => {
        if (!reasons.has(reason)) this.#say(`Waiting: ${reason}`);
        reasons.add(reason);
      },
      failed: this.#complain,
    };
  }

  /**
   * Replaces the contract that is served. Requests and streams that are under way go on with the contract that they
   * began with, and with its bounds: a client whose requests bring up further types interrupts nobody.
   *
   * @param want is told the types that replies have and the contract lacks.
   */
  change({ skipped, ...contract }: Contract, want: (typeUrl: string) => void): void {
    const { all, metadata, target, transcoding } = this.#settings;
    const unbound = unboundRules(contract.descriptorSet, contract.services);
    // The transcoder says why a rule cannot be served.
    const bare = all ? [] : unbound.filter(({ additionalBindings }) => additionalBindings === undefined);
    const methods = bare.length === 1 ? '1 method' : `${bare.length} methods`;
    const unserved = bare.length === 0 ? [] : [`${methods} without an HTTP rule, see --all.`];
    this.#tell('leftOut', [...skipped, ...unserved].map(leftOutLine));
    const options = {
      ...contract,
      ...transcoding,
      upstream: this.#upstream,
      observers: [{ begin: () => ({ metadata, end: ignore }) }],
      log: { debug: ignore, info: this.#tellRequest, warn: this.#tellCause, error: this.#tellCause },
      answeredLevel: 'info',
      onUnknownType: want,
      rules: all ? unbound : [],
      unsupported: 'skip',
    } as const;
    const transcoder = createTranscoder(options);
    const document = describe(options);
    const page = this.#serve(transcoder, document);
    this.#tell('served', [...transcoder.skipped.map(leftOutLine), ...linesOf(document)]);
    this.#say(`${target} is served at ${this.#origin}, ${page}`);
  }

  /** Serves a transcoder and its pages. @returns what is said about the page */
  #serve(transcoder: Transcoder, document: OpenApi): string {
    const docs = this.#documentPages?.(() => document);
    const pages = docs ?? [documentPage(() => document)];
    const listenerFor = (handler: Transcoder['handler']): RequestListener => {
      const handleWithPages = withPages({ handler, respond: transcoder.respond }, pages);
      return this.#withoutForeignRequests((request, response) => {
        const toDocs = (): void => {
          transcoder.respond(request, response, () => TO_DOCS);
        };
        // A method of the contract at the root takes precedence.
        handleWithPages(request, response, docs && isBrowserAtRoot(request) ? toDocs : undefined);
      });
    };
    for (const event of ['request', 'checkContinue', 'clientError', 'connect'])
      this.#server.removeAllListeners(event);
    this.#server
      .on('request', listenerFor(transcoder.handler))
      .on('checkContinue', listenerFor(transcoder.onCheckContinue))
      .on('clientError', transcoder.onClientError)
      .on('connect', transcoder.onConnect);
    return docs
      ? `with a page to try it at ${this.#origin}/docs`
      : 'without a page to try it, which needs npm install swagger-ui-dist';
  }

  close(): void {
    this.#upstream.close();
    this.#server.close();
    this.#server.closeAllConnections();
  }

  /** A listener for all requests but foreign ones. */
  #withoutForeignRequests(listener: RequestListener): RequestListener {
    const { hosts } = this.#settings;
    return (request, response) => {
      if (isForeign(request, { hosts, linked: LINKED }))
        this.#refuse(request, response, Code.PERMISSION_DENIED, FOREIGN);
      else listener(request, response);
    };
  }

  /** Answers a request with an error, without the transcoder. */
  #refuse(request: IncomingMessage, response: ServerResponse, code: Code, message: string): void {
    const requestId = randomUUID();
    const details = ownDetails({ reason: Code[code], domain: DOMAIN, requestId });
    const reply = errorReply(code, httpStatusOf(code), message, details, {});
    void writeReply(response, reply, requestId);
    const path = loggedPath(requestTarget(request).path);
    const { method } = request;
    this.#tellRequest({ method, path, status: reply.status, reason: Code[code], requestId });
  }

  readonly #tellRequest = (fields: RequestFields, message?: string): void => {
    this.#say(requestLine(fields, message));
  };

  /** Prints the causes of failures, which responses do not reveal. Log lines about skipped bindings have no cause. */
  readonly #tellCause = ({ err }: { err?: unknown }): void => {
    if (err !== undefined) this.#complain(err);
  };

  readonly #complain = (error: unknown): void => {
    this.#terminal.stderr.write(complaint(error));
  };

  #tell(what: 'leftOut' | 'served', lines: readonly string[]): void {
    const text = lines.join('\n');
    if (text !== this.#told[what]) for (const line of lines) this.#say(line);
    this.#told[what] = text;
  }

  #say(text: string): void {
    this.#terminal.stdout.write(`${printable(text)}\n`);
  }
}

/** A contract from reflection or from a file. A file names no services: all of them are served. */
type Contract = Omit<ReflectedContract, 'services'> & Partial<ReflectedContract>;

const ignore = (): void => undefined;

const leftOutLine = (sentence: string): string => `Left out: ${sentence}`;

/** The line about an error. */
function complaint(error: unknown): string {
  const hint = error instanceof ReflectionError ? ` ${WITHOUT_REFLECTION}` : '';
  return `transcoder: ${printable((error as Error).message)}${hint}\n`;
}

/** What a browser gets at the root; a relative reference, since a proxy may serve it under a prefix of its own. */
const TO_DOCS = { status: 302, headers: { Location: 'docs', Vary: 'Accept', 'Cache-Control': 'no-cache' } };

function isBrowserAtRoot({ method, url, headers }: IncomingMessage): boolean {
  return method === 'GET' && url === '/' && headers.accept?.includes('text/html') === true;
}

/** The origin of a server, as a user on this machine can open it. */
function originOf({ address, port }: AddressInfo): string {
  const host = address === '::' || address === '0.0.0.0' ? 'localhost' : address;
  return `http://${isIPv6(host) ? `[${host}]` : host}:${port}`;
}

/**
 * What the line about a request tells. Bytes that are no HTTP request have no method, path and time, and a request whose
 * client left first has no status.
 */
type RequestFields = Partial<Record<'method' | 'path' | 'reason' | 'requestId', string | undefined>> &
  Partial<Record<'status' | 'ms', number | undefined>>;

/** @param message stands for the status if a request has none */
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
