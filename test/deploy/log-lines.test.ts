import { readFileSync } from 'node:fs';
import { relative, resolve } from 'node:path';
import ts from 'typescript';
import { describe, expect, it } from 'vitest';
import { keysUnavailable } from '../../src/auth/remote-key-set.js';
import { CODES, toCallFailure } from '../../src/calls/failures.js';
import { storeUnavailable } from '../../src/store/driver-errors.js';

const ROOT = resolve(import.meta.dirname, '../..');
const SOURCES = ['src', 'packages/transcoder/src'];
const LOUD = new Set(['warn', 'error', 'fatal']);
const LOGGER = /log(?:ger)?$/i;

/** The texts of failures whose cause is logged as a warning or an error, by their reason; none for those without one. */
const CAUSES: Readonly<Record<string, string | undefined>> = {
  KEYS_UNAVAILABLE: keysUnavailable(undefined).message,
  STORE_UNAVAILABLE: storeUnavailable(undefined).message,
  INTERNAL: toCallFailure(undefined).message,
  SHUTTING_DOWN: undefined,
};

/** The messages that are no literals, by where they are, and what comes there. */
const VARIABLE: Readonly<Record<string, readonly string[]>> = {
  'src/calls/interceptors.ts: failure.message': Object.values(CAUSES).filter((text) => text !== undefined),
  // Those of its callers, which are found there.
  'src/calls/call-log.ts: message': [],
};

/** A message: a text, with `…` for what varies, or where it comes from. */
interface Message {
  readonly text: string | undefined;
  readonly place: string;
}

/** The messages that the code logs as warnings and errors. */
function loggedIn(files: readonly string[]): Message[] {
  const config: { config?: unknown } = ts.readConfigFile(resolve(ROOT, 'tsconfig.json'), (path) =>
    readFileSync(path, 'utf8'),
  );
  const { options } = ts.parseJsonConfigFileContent(config.config, ts.sys, ROOT);
  const program = ts.createProgram(files, options);
  const checker = program.getTypeChecker();
  const messages: Message[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isCallExpression(node) && isLoud(node.expression, checker)) messages.push(messageIn(node));
    ts.forEachChild(node, visit);
  };
  for (const file of files) {
    const source = program.getSourceFile(file);
    if (source !== undefined) visit(source);
  }
  return messages;
}

/** Whether it is a function of a logger that writes warnings or errors: `log.warn`, `log.cause`, `log[level]`. */
function isLoud(called: ts.Expression, checker: ts.TypeChecker): boolean {
  if (ts.isPropertyAccessExpression(called)) {
    const { name, expression } = called;
    return LOGGER.test(expression.getText()) && (LOUD.has(name.text) || name.text === 'cause');
  }
  if (!ts.isElementAccessExpression(called) || !LOGGER.test(called.expression.getText())) return false;
  const level = checker.getTypeAtLocation(called.argumentExpression);
  const levels = level.isUnion() ? level.types : [level];
  return levels.some((each) => each.isStringLiteral() && LOUD.has(each.value));
}

function messageIn(call: ts.CallExpression): Message {
  const file = relative(ROOT, call.getSourceFile().fileName);
  const message = call.arguments.at(-1);
  const place = `${file}: ${message?.getText() ?? ''}`;
  if (message === undefined) return { text: undefined, place };
  if (ts.isStringLiteralLike(message)) return { text: message.text, place };
  if (!ts.isTemplateExpression(message)) return { text: undefined, place };
  const spans = message.templateSpans.map(({ literal }) => `…${literal.text}`);
  return { text: message.head.text + spans.join(''), place };
}

/** The messages in the first column of the table under a heading. */
function documented(heading: string): string[] {
  const document = readFileSync(resolve(ROOT, 'docs/operations.md'), 'utf8');
  const section = document.split(`\n## ${heading}\n`)[1]?.split('\n#')[0] ?? '';
  return [...section.matchAll(/^\| `([^`]+)` \|/gm)].map(([, message = '']) => message);
}

describe('the log lines in docs/operations.md', () => {
  const files = SOURCES.flatMap((folder) => ts.sys.readDirectory(resolve(ROOT, folder), ['.ts'], ['**/gen']));
  const messages = loggedIn(files);
  const logged = messages.flatMap(({ text, place }) =>
    text === undefined ? (VARIABLE[place] ?? []) : [text],
  );

  it('are every warning and error of the code, and no other', () => {
    expect(documented('Log lines').sort()).toEqual([...new Set(logged)].sort());
  });

  it('that are no literals come from places that are known, all of them still there', () => {
    const places = messages.filter(({ text }) => text === undefined).map(({ place }) => place);
    expect([...new Set(places)].sort()).toEqual(Object.keys(VARIABLE).sort());
  });

  it('about causes cover every reason that is logged so', () => {
    const loud = Object.entries(CODES).filter(
      ([, code]) => code === CODES.INTERNAL || code === CODES.STORE_UNAVAILABLE,
    );
    expect(loud.map(([reason]) => reason).sort()).toEqual(Object.keys(CAUSES).sort());
  });
});
