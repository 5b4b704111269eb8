import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { type ChannelCredentials, credentials } from '@grpc/grpc-js';
import { COMMAND_OPTIONS, helpText } from './options.js';
import { quote } from '../fields/allowed-value.js';
import { tlsOptions } from '../grpc-js/tls-options.js';
import {
  FORWARDED_HEADERS,
  type ForwardedHeaders,
  Forwarding,
  type RenamedHeader,
  type UnfitValue,
} from '../metadata/forwarded-headers.js';
import { unfitKey } from '../metadata/metadata-keys.js';
import { ReplyHeaders, type ResponseHeaders } from '../metadata/response-headers.js';
import type { CallMetadata } from '../upstream.js';

/** The settings of the command, from its arguments. */
export type CommandSettings = Exclude<ReturnType<typeof commandSettings>, string>;

type Values = ReturnType<typeof valuesOf>;

/** The most bytes of a body or a message, whose text must fit into a string of V8. */
const MOST_BYTES = 268_435_456;
/** The longest time, in seconds: Node's timers take up to 24 days. */
const MOST_SECONDS = 86_400;

/**
 * Parses the arguments of the command.
 *
 * @returns the settings, or the text to print for `--help` and `--version`.
 * @throws Error with a sentence that names the option if an argument is invalid or a file cannot be read.
 */
export function commandSettings(args: readonly string[]) {
  const values = valuesOf(args);
  if (values.help) return helpText();
  if (values.version) return `${packageVersion()}\n`;
  const { target, descriptors, host } = values;
  if (target === undefined) throw new Error('--target is missing, the address of a gRPC server; see --help.');
  if (!isAddress(target)) throw new Error(`--target must be HOST:PORT; got ${quote(target)}.`);
  const { verifyOptions, channelOptions } = tlsOptions(target);
  const metadata = metadataOf(values.header ?? []);
  return {
    target,
    descriptorSet: descriptors === undefined ? undefined : contentOf('descriptors', descriptors),
    all: values.all,
    channel: { credentials: credentialsOf(values, verifyOptions), channelOptions },
    maxReplyBytes: whole('max-reply', values['max-reply'], 1, MOST_BYTES),
    metadata,
    host,
    port: whole('port', values.port, 0, 65_535),
    hosts: new Set((values['allow-host'] ?? []).map(hostName)),
    transcoding: {
      forwardedHeaders: forwardedHeaders(values.forward ?? [], metadata),
      responseHeaders: responseHeaders(values['response-header'] ?? []),
      ignoredParameters: values['ignore-query'] ?? [],
      maxBodyBytes: whole('max-body', values['max-body'], 0, MOST_BYTES),
      deadlineMs: milliseconds('deadline', values.deadline),
      streamMs:
        values['stream-time'] === undefined ? Infinity : milliseconds('stream-time', values['stream-time']),
      lenient: values.lenient,
      events: values['plain-events'] ? ('plain' as const) : ('named' as const),
      json: {
        ignoreUnknown: values['ignore-unknown'],
        protoNames: values['proto-names'],
        omit: omitOption(values.omit),
      },
    },
  };
}

/** @throws Error with the first sentence of Node, or that names an option which is given twice */
function valuesOf(args: readonly string[]) {
  try {
    const { values, tokens } = parseArgs({ args: [...args], options: COMMAND_OPTIONS, tokens: true });
    const names = tokens.filter((token) => token.kind === 'option').map(({ name }) => name);
    const twice = names.find(
      (name, index) => !('multiple' in COMMAND_OPTIONS[name]) && names.indexOf(name) < index,
    );
    if (twice !== undefined) throw new Error(`Option '--${twice}' is given twice`);
    return values;
  } catch (error) {
    const sentence = (error as Error).message.replace(/\.\s[^]*$/, '');
    throw new Error(`${sentence}; see --help.`);
  }
}

type Option = keyof typeof COMMAND_OPTIONS;

/** @throws Error unless the text is a whole number within the bounds */
function whole(option: Option, text: string, least: number, most: number): number {
  if (/^\d{1,9}$/.test(text) && Number(text) >= least && Number(text) <= most) return Number(text);
  throw new Error(`--${option} must be a number from ${least} to ${most}; got ${quote(text)}.`);
}

function milliseconds(option: Option, text: string): number {
  const seconds = /^\d+(?:\.\d+)?$/.test(text) ? Number(text) : 0;
  if (seconds > 0 && seconds <= MOST_SECONDS) return seconds * 1_000;
  throw new Error(
    `--${option} must be a number of seconds above 0, and at most ${MOST_SECONDS}; got ${quote(text)}.`,
  );
}

const OMITTED = ['nothing', 'unassigned', 'defaults'] as const;

function omitOption(text: string): (typeof OMITTED)[number] {
  const found = OMITTED.find((choice) => choice === text);
  if (found === undefined)
    throw new Error(`--omit must be nothing, unassigned or defaults; got ${quote(text)}.`);
  return found;
}

function hostName(text: string): string {
  if (/^[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/i.test(text)) return text.toLowerCase();
  throw new Error(`--allow-host must be a host name, without a port; got ${quote(text)}.`);
}

/** The headers of requests that become metadata: those of every transcoder, too, but none that `fixed` has. */
function forwardedHeaders(texts: readonly string[], fixed: CallMetadata): ForwardedHeaders {
  const entries = texts.map((text): [string, UnfitValue | RenamedHeader] => {
    const [name, key] = namesIn('forward', 'NAME[=KEY]', text);
    const lower = name.toLowerCase();
    const unfit = FORWARDED_HEADERS.get(lower) ?? 'refuse';
    return [lower, key === undefined ? unfit : { unfit: 'refuse', metadata: key.toLowerCase() }];
  });
  const headers = new Map([...FORWARDED_HEADERS, ...entries].filter(([name]) => !fixed.has(name)));
  forOption('forward', () => new Forwarding(headers));
  return headers;
}

/** The metadata of responses that becomes headers. */
function responseHeaders(texts: readonly string[]): ResponseHeaders {
  const headers = new Map(
    texts.map((text) => {
      const [key, name = key] = namesIn('response-header', 'KEY[=NAME]', text);
      return [key.toLowerCase(), name];
    }),
  );
  forOption('response-header', () => new ReplyHeaders(headers));
  return headers;
}

/** The names in `FIRST=SECOND`, of which the second may be absent; each may end in `*`. */
function namesIn(option: Option, form: string, text: string): [first: string, second: string | undefined] {
  const [, first, second] = /^([\w.-]*\*?)(?:=([\w.-]*\*?))?$/.exec(text) ?? [];
  if (first && second !== '') return [first, second];
  throw new Error(`--${option} must be ${form}, with names of headers; got ${quote(text)}.`);
}

const PRINTABLE = /^[ -~]*$/;

/** The metadata in texts such as `authorization: Bearer …`; several values of a key are joined, as gRPC does. */
function metadataOf(texts: readonly string[]): CallMetadata {
  const metadata = new Map<string, string>();
  for (const text of texts) {
    const [, name = '', value = ''] = /^([^:]*):(.*)$/s.exec(text) ?? [];
    const key = name.trim().toLowerCase();
    if (key === '') throw new Error(`--header must be 'NAME: VALUE'; got ${quote(text)}.`);
    const why = unfitKey(key) ?? (PRINTABLE.test(value) ? undefined : 'whose value is not printable ASCII');
    if (why !== undefined) throw new Error(`--header gives the metadata ${quote(key)}, ${why}.`);
    const earlier = metadata.get(key);
    metadata.set(key, earlier === undefined ? value.trim() : `${earlier}, ${value.trim()}`);
  }
  return metadata;
}

/** The credentials: of TLS if an option says so. */
function credentialsOf(
  { tls, ca, cert, key }: Values,
  verifyOptions: Parameters<typeof credentials.createSsl>[3],
): ChannelCredentials {
  if ((cert === undefined) !== (key === undefined))
    throw new Error('--cert and --key need each other: a client certificate and its private key.');
  if (!tls && ca === undefined && cert === undefined) return credentials.createInsecure();
  const isCertificate = (content: Buffer): unknown => new X509Certificate(content);
  const [authorities, certificate] = [pem('ca', ca, isCertificate), pem('cert', cert, isCertificate)];
  const privateKey = pem('key', key, createPrivateKey);
  // Fails if they do not belong together.
  return forOption('cert', () => credentials.createSsl(authorities, privateKey, certificate, verifyOptions));
}

/** The content of a PEM file, if there is one. @throws Error that names the option unless `parse` can parse it */
function pem(option: Option, path: string | undefined, parse: (content: Buffer) => unknown): Buffer | null {
  if (path === undefined) return null;
  const content = contentOf(option, path);
  forOption(option, () => parse(content));
  return content;
}

function contentOf(option: Option, path: string): Buffer {
  return forOption(option, () => readFileSync(path));
}

/** Returns what `act` makes of the value of an option. @throws Error that names the option if `act` throws an error */
function forOption<T>(option: Option, act: () => T): T {
  try {
    return act();
  } catch (error) {
    throw new Error(`--${option}: ${(error as Error).message.replace(/\.$/, '')}.`);
  }
}

/**
 * Whether the text is a target for grpc-js: `host:port`, `[::1]:port`, or a name with a scheme, such as `unix:/path`.
 */
function isAddress(target: string): boolean {
  if (/^(?:unix|unix-abstract|dns|ipv4|ipv6):./.test(target)) return true;
  const [, port = ''] = /^(?:[^\s:/]+|\[[^\s/]+\]):(\d{1,5})$/.exec(target) ?? [];
  return port !== '' && Number(port) <= 65_535;
}

function packageVersion(): string {
  const text = readFileSync(new URL('../../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}
