import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { failures } from '@route-registry/transcoder';
import { codeOf, httpStatusOf } from '../packages/transcoder/src/failures/http-status.js';
import { upstreamFailure } from '../packages/transcoder/src/failures/upstream-failure.js';
import { CODES } from '../src/calls/failures.js';
import { SETTINGS } from '../src/settings/settings.js';

/** The codes of a channel that the transcoder does not turn into `INTERNAL`. */
const CHANNEL_CODES = [
  status.CANCELLED,
  status.DEADLINE_EXCEEDED,
  status.UNAVAILABLE,
  status.RESOURCE_EXHAUSTED,
];

const ROOT = resolve(import.meta.dirname, '..');

function read(path: string): string {
  return readFileSync(resolve(ROOT, path), 'utf8');
}

/** The rows of the tables under a heading (or of the whole document), each a list of cells; at least one. */
function rowsOf(document: string, heading?: string): string[][] {
  const section =
    heading === undefined ? document : document.split(`\n## ${heading}\n`)[1]?.split('\n## ')[0];
  if (section?.includes('\n|') !== true)
    throw new Error(`There is no table under ${heading ?? 'any heading'}.`);
  return [...section.matchAll(/^\| (.*) \|$/gm)].map(([, row = '']) =>
    row.split(' | ').map((cell) => cell.trim()),
  );
}

function code(text: string): string {
  return text.replaceAll('`', '');
}

/** The settings in a document with their defaults. */
function settingsIn(document: string, heading?: string): object {
  const rows = rowsOf(document, heading).slice(1);
  return Object.fromEntries(rows.map(([name = '', fallback = '']) => [code(name), code(fallback)]));
}

const DEFAULTS = Object.fromEntries(
  Object.entries(SETTINGS).map(([name, fallback]) => [name, fallback ?? 'none']),
);

describe('docs/settings.md', () => {
  it('lists every setting with its default, and no other', () => {
    expect(settingsIn(read('docs/settings.md'))).toEqual(DEFAULTS);
  });
});

describe('README.md', () => {
  it('lists settings of first need with their defaults', () => {
    expect(DEFAULTS).toMatchObject(settingsIn(read('README.md'), 'Settings'));
  });
});

describe('Dockerfile', () => {
  it.each(readdirSync(resolve(ROOT, 'packages')))(
    'gives every npm ci the workspace packages/%s, which its lock file names',
    (name) => {
      const installs = read('Dockerfile').split('npm ci').slice(0, -1);
      const copied = installs.filter((before) =>
        before.split('FROM').at(-1)?.includes(`COPY packages/${name}/package.json packages/${name}/\n`),
      );
      expect(copied).toEqual(installs);
    },
  );
});

/** The reasons that no REST client sees. */
const ONLY_GRPC = ['SERVICE_UNKNOWN', 'UNSUPPORTED'];

describe('docs/errors.md', () => {
  const documented = new Map(
    rowsOf(read('docs/errors.md'))
      .slice(1)
      .map(([reason = '', grpc = '', rest = '']) => [code(reason), { grpc, rest }]),
  );

  it.each(Object.entries(CODES))('gives the reason %s its gRPC code', (reason, grpcCode) => {
    expect(documented.get(reason)?.grpc).toBe(status[grpcCode]);
  });

  it.each(Object.entries(failures))(
    'gives the reason %s of the gateway its HTTP status',
    (reason, { httpStatus }) => {
      expect(documented.get(reason)?.rest).toBe(String(httpStatus));
    },
  );

  it.each(CHANNEL_CODES.map((grpcCode) => upstreamFailure(codeOf(grpcCode))))(
    'gives the reason $reason of a channel its HTTP status',
    ({ code: grpcCode, reason }) => {
      expect(documented.get(reason)?.rest).toBe(String(httpStatusOf(codeOf(grpcCode))));
    },
  );

  it('has no other reason', () => {
    const known = [
      ...Object.keys(CODES),
      ...Object.keys(failures),
      ...CHANNEL_CODES.map((each) => upstreamFailure(codeOf(each)).reason),
    ];
    expect(new Set(documented.keys())).toEqual(new Set(known));
  });

  it.each(Object.entries(CODES).filter(([reason]) => !ONLY_GRPC.includes(reason)))(
    'gives the reason %s the HTTP status of its code, or one of its own',
    (reason, grpcCode) => {
      const own = { REQUEST_TOO_LARGE: '413', PATH_UNKNOWN: '404' }[reason];
      expect(documented.get(reason)?.rest).toBe(own ?? String(httpStatusOf(codeOf(grpcCode))));
    },
  );
});

describe('docs/decisions', () => {
  const records = readdirSync(resolve(ROOT, 'docs/decisions')).map((name) => `docs/decisions/${name}`);

  it.each(records)('%s names and links to files that are there', (record) => {
    const paths = [...read(record).matchAll(/`((?:src|test|packages)\/[^`*]+)`/g)].map(
      ([, path = '']) => path,
    );
    const links = [...read(record).matchAll(/\]\(([^)#:]+)/g)].map(([, to = '']) => `docs/decisions/${to}`);
    expect([...paths, ...links].filter((path) => !existsSync(resolve(ROOT, path)))).toEqual([]);
  });
});

describe('ARCHITECTURE.md', () => {
  it('names every room', () => {
    const rooms = readdirSync(resolve(ROOT, 'src'), { withFileTypes: true }).filter((entry) =>
      entry.isDirectory(),
    );
    const documented = rowsOf(read('ARCHITECTURE.md'), 'Rooms').map(([room = '']) => code(room));
    expect(documented).toEqual(expect.arrayContaining(rooms.map(({ name }) => `src/${name}/`)));
  });
});
