import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { posix, resolve } from 'node:path';
import { status } from '@grpc/grpc-js';
import { describe, expect, it } from 'vitest';
import { failures } from '@route-registry/transcoder';
import { codeOf, httpStatusOf, upstreamFailure } from '../packages/transcoder/src/failures/failure.js';
import { FAILURES } from '../src/calls/failures.js';
import { DEFAULT_SCOPES } from '../src/grpc/route-service.js';
import type { Kind } from '../src/settings/kinds.js';
import { type Setting, SETTINGS } from '../src/settings/table.js';

/** The codes of channel failures that the transcoder does not map to `INTERNAL`. */
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

/** The rows of the tables under a heading (default: in the whole document), as cells. @throws Error when there are none */
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

/** The message with which a kind refuses what nobody would set. */
function refusalOf(kind: Kind<unknown>): string {
  try {
    kind('\0');
  } catch (error) {
    return (error as Error).message;
  }
  return '';
}

describe('docs/settings.md', () => {
  const [, ...rows] = rowsOf(read('docs/settings.md'));

  it('lists exactly the settings, each with its default and the range of a number', () => {
    const defaults = Object.entries<Setting>(SETTINGS).map(([name, [kind, fallback = 'none']]) => {
      const [, range] = /^must be a whole number from (\d+ to \d+);/.exec(refusalOf(kind)) ?? [];
      return [name, range === undefined ? fallback : `${fallback} (${range})`];
    });
    expect(rows.map((row) => row.slice(0, 2).map(code)).sort()).toEqual(defaults.sort());
  });

  it('has every value of those with a choice', () => {
    const missing = Object.entries<Setting>(SETTINGS).flatMap(([name, [kind]]) => {
      const [, choice = ''] = /^must be one of (.*);/.exec(refusalOf(kind)) ?? [];
      const row = rows.find(([cell = '']) => code(cell) === name)?.join(' ') ?? '';
      return choice.split(', ').filter((value) => value !== '' && !row.includes(`\`${value}\``));
    });
    expect(missing).toEqual([]);
  });
});

describe('the scopes in the contract and the OpenAPI document', () => {
  it('are the defaults of the settings', () => {
    expect(DEFAULT_SCOPES).toEqual({ read: SETTINGS.JWT_READ_SCOPE[1], write: SETTINGS.JWT_WRITE_SCOPE[1] });
  });
});

const PACKAGES = ['packages/transcoder', 'packages/client'];

describe.each(['.', ...PACKAGES])('the package in %s', (folder) => {
  it('has the newest version of the changelog, with -dev until that is released', () => {
    const { version } = JSON.parse(read(`${folder}/package.json`)) as { readonly version: string };
    const own = `${folder}/CHANGELOG.md`;
    const changelog = read(existsSync(resolve(ROOT, own)) ? own : 'CHANGELOG.md');
    const [, newest = '', date = ''] = /^## \[(.*)\] - (.*)$/m.exec(changelog) ?? [];
    expect(version).toBe(date === 'unreleased' ? `${newest}-dev` : newest);
  });
});

describe('Dockerfile', () => {
  it.each(readdirSync(resolve(ROOT, 'packages')))(
    'copies the workspace packages/%s before every npm ci, since the lock file names it',
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
const ONLY_GRPC = ['SERVICE_UNKNOWN', 'UNSUPPORTED', 'GUARD_PASSED'];
/** The reasons whose HTTP status is not that of their code. */
const OWN_STATUS: Readonly<Record<string, string>> = { REQUEST_TOO_LARGE: '413', PATH_UNKNOWN: '404' };

function restOf(code: status): string {
  return String(httpStatusOf(codeOf(code)));
}

describe('docs/errors.md', () => {
  it('lists exactly the reasons of the service, the gateway and its channel, with their codes and statuses', () => {
    const documented = rowsOf(read('docs/errors.md'))
      .slice(1)
      .map(([reason = '', grpc = '', rest = '']) => [code(reason), { grpc, rest }] as const);
    const expected = [
      ...CHANNEL_CODES.map(
        (channelCode) =>
          [
            upstreamFailure(codeOf(channelCode), '').reason,
            { grpc: 'none', rest: restOf(channelCode) },
          ] as const,
      ),
      ...Object.entries(failures)
        // The service has no streams of requests.
        .filter(([reason]) => reason !== 'REQUEST_STREAM_UNSUPPORTED')
        .map(([reason, { httpStatus }]) => [reason, { grpc: 'none', rest: String(httpStatus) }] as const),
      ...Object.entries(FAILURES).map(([reason, failure]) => {
        const rest = ONLY_GRPC.includes(reason) ? 'none' : (OWN_STATUS[reason] ?? restOf(failure.code));
        return [reason, { grpc: status[failure.code], rest }] as const;
      }),
    ];
    expect(Object.fromEntries(documented)).toEqual(Object.fromEntries(expected));
  });
});

/** Every document of the repository, by its path. */
const DOCUMENTS = [
  '.',
  'docs',
  'docs/decisions',
  'examples',
  ...PACKAGES,
  'packages/transcoder/docs',
].flatMap((folder) =>
  readdirSync(resolve(ROOT, folder))
    .filter((name) => name.endsWith('.md'))
    .map((name) => posix.join(folder, name)),
);

/** The anchors of a document's headings, as GitHub makes them. */
function anchorsIn(path: string): string[] {
  const headings = read(path).matchAll(/^#+ (.*)$/gm);
  return [...headings].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  );
}

/** Whether a link of a document leads to a file and, with an anchor, to a heading of it. */
function leadsSomewhere(from: string, link: string): boolean {
  const [to = '', anchor] = link.split('#');
  const path = to === '' ? from : posix.join(posix.dirname(from), to);
  return existsSync(resolve(ROOT, path)) && (anchor === undefined || anchorsIn(path).includes(anchor));
}

describe.each(DOCUMENTS)('%s', (path) => {
  it('links only to files and headings that exist', () => {
    const links = [...read(path).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link);
    expect(links.filter((link) => !/^https?:/.test(link) && !leadsSomewhere(path, link))).toEqual([]);
  });
});

describe('docs/README.md', () => {
  it('has a line for each page', () => {
    const pages = readdirSync(resolve(ROOT, 'docs')).filter((name) => /^[a-z].*\.md$/.test(name));
    const listed = [...read('docs/README.md').matchAll(/^- .*\]\(([a-z-]+\.md)\)/gm)].map(([, page]) => page);
    expect(listed.sort()).toEqual(pages.sort());
  });
});

describe('docs/decisions', () => {
  const records = readdirSync(resolve(ROOT, 'docs/decisions')).map((name) => `docs/decisions/${name}`);

  it.each(records)('%s names only files that exist', (record) => {
    const paths = [...read(record).matchAll(/`((?:src|test|packages)\/[^`*]+)`/g)].map(
      ([, path = '']) => path,
    );
    expect(paths.filter((path) => !existsSync(resolve(ROOT, path)))).toEqual([]);
  });
});

describe('ARCHITECTURE.md', () => {
  it('names every module', () => {
    const modules = readdirSync(resolve(ROOT, 'src'), { withFileTypes: true }).filter((entry) =>
      entry.isDirectory(),
    );
    const documented = rowsOf(read('ARCHITECTURE.md'), 'Modules').map(([module = '']) => code(module));
    expect(documented).toEqual(expect.arrayContaining(modules.map(({ name }) => `src/${name}/`)));
  });
});
