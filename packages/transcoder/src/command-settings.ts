import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { parseArgs } from 'node:util';
import { type ChannelCredentials, credentials, Metadata } from '@grpc/grpc-js';
import { COMMAND_OPTIONS, helpText } from './command-options.js';
import { quoted } from './fields/allowed-value.js';
import { tlsOptions } from './grpc-js/tls-options.js';
import { FORWARDED_HEADERS, type ForwardedHeaders } from './http/head.js';

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
  if (!isAddress(target)) throw new Error(`--target must be HOST:PORT; got ${quoted(target)}.`);
  const { verifyOptions, channelOptions } = tlsOptions(target);
  return {
    target,
    descriptorSet: descriptors === undefined ? undefined : contentOf('descriptors', descriptors),
    all: values.all,
    channel: { credentials: credentialsOf(values, verifyOptions), channelOptions },
    maxReplyBytes: whole('max-reply', values['max-reply'], 1, MOST_BYTES),
    metadata: metadataOf(values.header ?? []),
    host,
    port: whole('port', values.port, 0, 65_535),
    hosts: new Set((values['allow-host'] ?? []).map(hostName)),
    transcoding: {
      forwardedHeaders: forwardedHeaders(values.forward ?? []),
      responseHeaders: new Map((values['response-header'] ?? []).map((text) => renamed('response-header', text))),
      ignoredParameters: values['ignore-query'] ?? [],
      maxBodyBytes: whole('max-body', values['max-body'], 0, MOST_BYTES),
      deadlineMs: milliseconds('deadline', values.deadline),
      streamMs:
        values['stream-time'] === undefined ? Infinity : milliseconds('stream-time', values['stream-time']),
      lenient: values.lenient,
      json: {
        ignoreUnknown: values['ignore-unknown'],
        protoNames: values['proto-names'],
        omit: omitted(values.omit),
      },
    },
  };
}

/** @throws Error with the first sentence of Node */
function valuesOf(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options: COMMAND_OPTIONS }).values;
  } catch (error) {
    const [sentence = ''] = (error as Error).message.split(/\.?(?: |$)/m);
    throw new Error(`${sentence}; see --help.`);
  }
}

type Option = keyof typeof COMMAND_OPTIONS;

/** @throws Error unless the text is a whole number within the bounds */
function whole(option: Option, text: string, least: number, most: number): number {
  if (/^\d{1,9}$/.test(text) && Number(text) >= least && Number(text) <= most) return Number(text);
  throw new Error(`--${option} must be a number from ${least} to ${most}; got ${quoted(text)}.`);
}

function milliseconds(option: Option, text: string): number {
  const seconds = /^\d+(?:\.\d+)?$/.test(text) ? Number(text) : 0;
  if (seconds > 0 && seconds <= MOST_SECONDS) return seconds * 1_000;
  throw new Error(
    `--${option} must be a number of seconds above 0, and at most ${MOST_SECONDS}; got ${quoted(text)}.`,
  );
}

const OMITTED = ['nothing', 'unassigned', 'defaults'] as const;

function omitted(text: string): (typeof OMITTED)[number] {
  const found = OMITTED.find((each) => each === text);
  if (found === undefined)
    throw new Error(`--omit must be ${OMITTED.join(', ')}; got ${quoted(text)}.`);
  return found;
}

function hostName(text: string): string {
  if (/^[a-z0-9_-]+(?:\.[a-z0-9_-]+)*$/i.test(text)) return text.toLowerCase();
  throw new Error(`--allow-host must be a host name, without a port; got ${quoted(text)}.`);
}

/** The headers of requests that become metadata: those of every transcoder, too. */
function forwardedHeaders(texts: readonly string[]): ForwardedHeaders {
  const given = texts.map((text) => {
    const [name, key] = renamed('forward', text);
    const unfit = 'refuse' as const;
    return [name, key === name ? unfit : { unfit, metadata: key }] as const;
  });
  return new Map([...given, ...FORWARDED_HEADERS]);
}

/** The two names in `ONE=OTHER`; without the other, the one twice. */
function renamed(option: Option, text: string): [name: string, other: string] {
  const [, name, other = name] = /^([\w.-]*\*?)(?:=([\w.-]*\*?))?$/.exec(text) ?? [];
  if (name && other) return [name.toLowerCase(), other];
  const value = COMMAND_OPTIONS[option].value;
  throw new Error(`--${option} must be ${value}, with names of headers; got ${quoted(text)}.`);
}

/** The metadata in texts such as `authorization: Bearer …`; the values of one key in one text (PROTOCOL-HTTP2.md). */
function metadataOf(texts: readonly string[]): ReadonlyMap<string, string> {
  const metadata = new Map<string, string>();
  for (const text of texts) {
    const [, name = '', value = ''] = /^([^:]+):(.*)$/s.exec(text) ?? [];
    if (name === '') throw new Error(`--header must be NAME: VALUE; got ${quoted(text)}.`);
    const key = name.trim().toLowerCase();
    named('header', () => new Metadata().set(key, value.trim()));
    metadata.set(key, [...(metadata.has(key) ? [metadata.get(key)] : []), value.trim()].join(', '));
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
  const files = Object.entries({ ca, cert, key }).filter(([, path]) => path !== undefined);
  if (files.length === 0 && !tls) return credentials.createInsecure();
  const pem = new Map(
    files.map(([option, path]) => {
      const content = contentOf(option as Option, String(path));
      named(option as Option, () => createSecureContext({ [option]: content }));
      return [option, content];
    }),
  );
  const of = (option: Option): Buffer | null => pem.get(option) ?? null;
  return named('cert', () => credentials.createSsl(of('ca'), of('key'), of('cert'), verifyOptions));
}

function contentOf(option: Option, path: string): Buffer {
  return named(option, () => readFileSync(path));
}

/** Does something with the value of an option. @throws Error that names the option where that throws one */
function named<T>(option: Option, act: () => T): T {
  try {
    return act();
  } catch (error) {
    throw new Error(`--${option}: ${(error as Error).message}.`);
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
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}
