/** An option of the command, as `parseArgs` of `node:util` takes it, with its part of `--help` and of the README. */
interface CommandOption {
  readonly type: 'boolean' | 'string';
  readonly short?: string;
  readonly multiple?: true;
  readonly default?: string | false;
  /** What stands for its value. Only of type `string`. */
  readonly value?: string;
  /** What is without it, where that is no text that it takes. */
  readonly without?: string;
  readonly help: string;
}

/** The options of the command. */
export const COMMAND_OPTIONS = {
  target: {
    type: 'string',
    value: 'HOST:PORT',
    without: 'required',
    help: 'the gRPC server, which may also be unix:PATH; the command waits for it, and takes its contract by server reflection',
  },
  descriptors: {
    type: 'string',
    value: 'FILE',
    help: 'the contract, in place of reflection: a serialized google.protobuf.FileDescriptorSet, as written by buf build -o FILE, or by protoc --include_imports --descriptor_set_out=FILE',
  },
  all: {
    type: 'boolean',
    default: false,
    help: 'also serve methods without a rule, or without one that can be served: POST /package.Service/Method',
  },
  header: {
    type: 'string',
    short: 'H',
    multiple: true,
    value: "'NAME: VALUE'",
    help: 'metadata of every call, and of reflection, whatever a request brings; may be repeated',
  },
  forward: {
    type: 'string',
    multiple: true,
    value: 'NAME[=KEY]',
    help: 'forward this header of requests as metadata, as KEY if given; NAME* forwards every header that begins with NAME, without that prefix, and a * in KEY stands for the rest; may be repeated. Besides authorization, traceparent and tracestate',
  },
  'response-header': {
    type: 'string',
    multiple: true,
    value: 'KEY[=NAME]',
    help: 'send this metadata of responses as a header, as NAME if given; KEY* sends all whose key begins with KEY, and a * in NAME stands for the rest of the key; may be repeated',
  },
  'max-body': { type: 'string', value: 'BYTES', default: '65536', help: 'the largest body of a request' },
  'max-reply': {
    type: 'string',
    value: 'BYTES',
    default: '4194304',
    help: 'the largest message from the server',
  },
  deadline: {
    type: 'string',
    value: 'SECONDS',
    default: '5',
    help: 'the longest that a unary call, and the body of any request, may take',
  },
  'stream-time': {
    type: 'string',
    value: 'SECONDS',
    without: 'no limit',
    help: 'the longest that a stream may take',
  },
  lenient: {
    type: 'boolean',
    default: false,
    help: 'also take requests as grpc-gateway does, and send streams as it does',
  },
  'plain-events': {
    type: 'boolean',
    default: false,
    help: "send server-sent events as some clients expect them, such as A2A's SDK: none at the end, and a failure as the event error",
  },
  'proto-names': {
    type: 'boolean',
    default: false,
    help: 'name fields as the proto files do, such as created_at',
  },
  omit: {
    type: 'string',
    value: 'WHAT',
    default: 'nothing',
    help: 'leave fields out of responses: defaults for all that have their default value, unassigned for empty strings that are output only',
  },
  'ignore-unknown': {
    type: 'boolean',
    default: false,
    help: 'ignore unknown fields and enum values in bodies',
  },
  'ignore-query': {
    type: 'string',
    multiple: true,
    value: 'NAME',
    help: 'ignore this query parameter where a method has no such field; NAME* ignores every one that begins with NAME; may be repeated',
  },
  tls: {
    type: 'boolean',
    default: false,
    help: 'connect with TLS, and trust the authorities that Node trusts',
  },
  ca: { type: 'string', value: 'FILE', help: 'connect with TLS, and trust these authorities (PEM)' },
  cert: {
    type: 'string',
    value: 'FILE',
    help: 'connect with TLS, and present this client certificate (PEM), whose key is in --key',
  },
  key: { type: 'string', value: 'FILE', help: 'the private key of --cert (PEM)' },
  host: {
    type: 'string',
    value: 'ADDRESS',
    default: '127.0.0.1',
    help: 'the address to listen at; 0.0.0.0 or :: for all, as in a container',
  },
  port: { type: 'string', value: 'PORT', default: '8080', help: 'the port to listen at; 0 for any' },
  'allow-host': {
    type: 'string',
    multiple: true,
    value: 'NAME',
    help: 'also answer requests for this host name, besides localhost and addresses; may be repeated',
  },
  help: { type: 'boolean', short: 'h', default: false, help: 'print this help' },
  version: { type: 'boolean', default: false, help: 'print the version' },
} as const satisfies Readonly<Record<string, CommandOption>>;

/** The options with all their fields, in the order in which they are shown. */
export function shownOptions(): (CommandOption & { readonly title: string })[] {
  return Object.entries<CommandOption>(COMMAND_OPTIONS).map(([name, option]) => {
    const { short, value } = option;
    const names = [...(short === undefined ? [] : [`-${short}`]), `--${name}`].join(', ');
    return { ...option, title: value === undefined ? names : `${names} ${value}` };
  });
}

const INDENT = 6;
const WIDTH = 100;

/** The text of `--help`. */
export function helpText(): string {
  const options = shownOptions().map(({ title, help, default: fallback, without }) => {
    const note = typeof fallback === 'string' ? `default: ${fallback}` : without;
    const text = note === undefined ? `${help}.` : `${help} (${note}).`;
    return `  ${title}\n${wrapText(text)}`;
  });
  return `Usage: transcoder --target HOST:PORT [options]

Serves a gRPC server over HTTP and JSON, by the google.api.http rules of its contract, with a page to try it.

${options.join('\n')}
`;
}

/** Breaks a text into indented lines. */
function wrapText(text: string): string {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const line = lines.at(-1);
    if (line === undefined || line.length + 1 + word.length > WIDTH) lines.push(' '.repeat(INDENT) + word);
    else lines[lines.length - 1] = `${line} ${word}`;
  }
  return lines.join('\n');
}
