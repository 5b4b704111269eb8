import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { credentials } from '@grpc/grpc-js';
import { tlsOptions } from './grpc-js/tls-options.js';

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

/** The settings of the command, from its arguments. */
export type CommandSettings = Exclude<ReturnType<typeof commandSettings>, string>;

/**
 * Parses the arguments of the command.
 *
 * @returns the settings, or the text to print for `--help` and `--version`.
 * @throws Error if an argument is invalid or a file cannot be read.
 */
export function commandSettings(args: readonly string[]) {
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
  if (!isAddress(target)) throw new Error(`"${target}" is not HOST:PORT.`);
  if (!isPort(port)) throw new Error(`"${port}" is not a port.`);
  const { verifyOptions, channelOptions } = tlsOptions(target);
  return {
    target,
    descriptorSet: descriptors === undefined ? undefined : readFileSync(descriptors),
    credentials:
      tls || ca !== undefined
        ? credentials.createSsl(ca === undefined ? null : readFileSync(ca), null, null, verifyOptions)
        : credentials.createInsecure(),
    channelOptions,
    port: Number(port),
    all,
  };
}

function isPort(text: string): boolean {
  return /^\d{1,5}$/.test(text) && Number(text) <= 65_535;
}

/**
 * Whether the text is a target for grpc-js: `host:port`, `[::1]:port`, or a name with a scheme, such as `unix:/path`.
 */
function isAddress(target: string): boolean {
  if (/^(?:unix|unix-abstract|dns|ipv4|ipv6):./.test(target)) return true;
  const [, port] = /^(?:[^\s:/]+|\[[^\s/]+\]):(\d+)$/.exec(target) ?? [];
  return port !== undefined && isPort(port);
}

function packageVersion(): string {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  return (JSON.parse(text) as { version: string }).version;
}
