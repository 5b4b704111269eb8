import { cpSync, mkdirSync, mkdtempSync, readFileSync, symlinkSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { inject } from 'vitest';
import { freePort } from './free-port.js';
import { startInTerminal, Terminal } from './terminal.js';

const ROOT = resolve(import.meta.dirname, '../..');
/** Everything that `npm start` builds the service from, and what is built already. */
const SOURCES = ['package.json', 'tsconfig.json', 'tsconfig.build.json', 'proto', 'packages', 'src', 'dist'];

/** A section of the README. */
export interface Section {
  /** The blocks for a shell. */
  readonly shell: readonly string[];
  /** The commands in the other examples, each with what it is said to print. */
  readonly examples: readonly (readonly [command: string, output: string])[];
}

/** The sections of the README by their headings, each without those below it. */
export const README: ReadonlyMap<string, Section> = new Map(
  readFileSync(join(ROOT, 'README.md'), 'utf8')
    .split(/^#{2,} /m)
    .map((section) => [section.slice(0, section.indexOf('\n')), contentOf(section)]),
);

function contentOf(section: string): Section {
  const blocks = (language: string): string[] =>
    [...section.matchAll(new RegExp(`\`\`\`${language}\n([^]*?)\`\`\``, 'g'))].map(([, block = '']) => block);
  const examples = blocks('console').map((example) => {
    const [, command = '', output = ''] = /^\$ ((?:.*\\\n)*.*)\n([^]*)$/.exec(example) ?? [];
    return [command, output] as const;
  });
  return { shell: blocks('sh'), examples };
}

/** Somebody who follows the README: with a copy of the repository, a home of their own, and two free ports. */
export class Reader {
  readonly #folder = mkdtempSync(join(inject('temporaryFolder'), 'readme-'));
  readonly #env = { PATH: process.env['PATH'], HOME: join(this.#folder, 'home') };
  readonly #second: Terminal;
  /** The free port in place of each default one. */
  readonly #ports: Readonly<Record<string, number>>;
  readonly #replaced: Readonly<Record<string, string>>;
  #id = '';

  /** @param replaced what this reader writes in place of parts of the README, such as the URL of a database */
  static async start(replaced: Readonly<Record<string, string>> = {}): Promise<Reader> {
    return new Reader(await freePort(), await freePort(), replaced);
  }

  private constructor(grpc: number, http: number, replaced: Readonly<Record<string, string>>) {
    // Nobody asks for the pages for operators, so that any port will do.
    this.#ports = { 50051: grpc, 8080: http, 9465: 0 };
    this.#replaced = replaced;
    mkdirSync(this.#env.HOME);
    for (const name of SOURCES)
      cpSync(join(ROOT, name), join(this.#folder, name), { recursive: true, preserveTimestamps: true });
    symlinkSync(join(ROOT, 'node_modules'), join(this.#folder, 'node_modules'));
    this.#second = new Terminal(this.#folder, this.#env);
  }

  /** Pastes commands that start the service into a terminal, and returns a function that stops it. */
  startService(commands: string): Promise<() => Promise<void>> {
    const GRPC_ADDRESS = this.#adapted('127.0.0.1:50051');
    const HTTP_ADDRESS = this.#adapted('127.0.0.1:8080');
    const env = { ...this.#env, GRPC_ADDRESS, HTTP_ADDRESS, OPS_ADDRESS: '127.0.0.1:0' };
    return startInTerminal(this.#folder, env, this.#adapted(commands));
  }

  /** Pastes commands, with the id of the last route where it belongs, into the second terminal. */
  async paste(commands: string): Promise<string> {
    const printed = await this.#second.paste(this.#adapted(commands));
    this.#id = /"id": ?"([^"]+)"/.exec(printed)?.[1] ?? this.#id;
    return printed;
  }

  /** Pastes a block command by command, and returns what each prints. */
  async pasteBlock(block: string): Promise<string[]> {
    const printed: string[] = [];
    for (const command of block.trim().split('\n\n')) printed.push(await this.paste(command));
    return printed;
  }

  #adapted(commands: string): string {
    // The packages that `npm ci` would install are there.
    const all = { ...this.#replaced, 'npm ci && ': '', 'PUT-THE-ID-HERE': this.#id };
    const adapted = Object.entries(all).reduce((text, [from, to]) => text.replaceAll(from, to), commands);
    return adapted.replaceAll(/:(50051|8080|9465)\b/g, (_, port: string) => `:${String(this.#ports[port])}`);
  }
}
