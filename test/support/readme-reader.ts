import { execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { onTestFinished } from 'vitest';
import { freePort } from './free-port.js';
import { LEASH } from './process.js';

const ROOT = resolve(import.meta.dirname, '../..');
/** Everything that `npm start` needs to build the service, and the existing build. */
const SOURCES = [
  'package.json',
  'scripts',
  'tsconfig.json',
  'tsconfig.build.json',
  'proto',
  'packages',
  'src',
  'dist',
];

/**
 * The code blocks of a language in a document, by the heading of their section. A section excludes its subsections.
 *
 * @param path the path of the document, relative to the root of the repository
 */
export function blocksOf(path: string, language: 'sh' | 'json'): ReadonlyMap<string, readonly string[]> {
  const fenced = new RegExp(`\`\`\`${language}\n([^]*?)\`\`\``, 'g');
  const sections = readFileSync(join(ROOT, path), 'utf8').split(/^(?:#{2,} |# (?=[A-Z]+$))/m);
  return new Map(
    sections
      .map(
        (section) =>
          [
            section.slice(0, section.indexOf('\n')),
            [...section.matchAll(fenced)].map(([, block = '']) => block),
          ] as const,
      )
      .filter(([, blocks]) => blocks.length > 0),
  );
}

/** A reader who follows the README, with a copy of the repository, a separate home folder, and two free ports. */
export class Reader {
  // Not in the temporary folder of the run, which other users cannot access.
  readonly #folder = mkdtempSync(join(tmpdir(), 'route-registry-readme-'));
  readonly #env = { PATH: process.env['PATH'], HOME: join(this.#folder, 'home') };
  /** The port that replaces each default port. */
  readonly #ports: Readonly<Record<string, number>>;
  readonly #replaced: Readonly<Record<string, string>>;
  readonly #user: number | undefined;

  /**
   * @param replaced replacements for texts of the README, such as the URL of a database
   * @param user the ID of the reader; default: the user of this process
   */
  static async start(replaced: Readonly<Record<string, string>> = {}, user?: number): Promise<Reader> {
    return new Reader(await freePort(), await freePort(), replaced, user);
  }

  private constructor(grpc: number, http: number, replaced: Readonly<Record<string, string>>, user?: number) {
    this.#user = user;
    onTestFinished(() => {
      rmSync(this.#folder, { recursive: true, maxRetries: 10 });
    });
    // The operator pages are not requested, so any port will do.
    this.#ports = { 50051: grpc, 8080: http, 9465: 0 };
    this.#replaced = replaced;
    mkdirSync(this.#env.HOME);
    for (const name of SOURCES)
      cpSync(join(ROOT, name), join(this.#folder, name), { recursive: true, preserveTimestamps: true });
    symlinkSync(join(ROOT, 'node_modules'), join(this.#folder, 'node_modules'));
    if (user !== undefined) execFileSync('chown', ['-R', `${user}:${user}`, this.#folder]);
  }

  /** Pastes commands that start the service into a terminal. Returns a function that stops it. */
  startService(commands: string): Promise<() => Promise<void>> {
    const GRPC_ADDRESS = this.#adapted('127.0.0.1:50051');
    const HTTP_ADDRESS = this.#adapted('127.0.0.1:8080');
    const env = { ...this.#env, GRPC_ADDRESS, HTTP_ADDRESS, OPS_ADDRESS: '127.0.0.1:0' };
    return startInTerminal(this.#folder, env, this.#adapted(commands), this.#user);
  }

  /**
   * Pastes commands into the second terminal, which keeps their variables. Returns what they print to stdout.
   *
   * @throws Error if the last command fails
   */
  async paste(commands: string): Promise<string> {
    const variables = join(this.#env.HOME, 'variables');
    const script = [
      `set -a; [ ! -e ${variables} ] || . ${variables}`,
      this.#adapted(commands),
      `status=$?; export -p > ${variables}; exit $status`,
    ];
    const options = { cwd: this.#folder, env: this.#env, ...idsOf(this.#user) };
    const shell = promisify(execFile)('sh', ['-c', script.join('\n')], options);
    shell.child.stdin?.end();
    return (await shell).stdout;
  }

  /** Pastes the commands of a block one by one, separated by blank lines. Returns what each prints to stdout. */
  async pasteBlock(block: string): Promise<string[]> {
    const printed: string[] = [];
    for (const command of block.trim().split('\n\n')) printed.push(await this.paste(command));
    return printed;
  }

  #adapted(commands: string): string {
    // The packages that `npm ci` would install are already in node_modules.
    const all = { ...this.#replaced, 'npm ci && ': '' };
    const adapted = Object.entries(all).reduce((text, [from, to]) => text.replaceAll(from, to), commands);
    return adapted.replaceAll(/:(50051|8080|9465)\b/g, (_, port: string) => `:${String(this.#ports[port])}`);
  }
}

type Variables = Readonly<Record<string, string | undefined>>;

/** The spawn options that run a process as this user. */
function idsOf(user: number | undefined): { uid?: number; gid?: number } {
  return user === undefined ? {} : { uid: user, gid: user };
}

/**
 * Runs commands in a separate terminal, where the last one starts the service, and waits until the service listens.
 *
 * @param user the ID of its user; default: the user of this process
 * @returns a function that presses Ctrl-C and waits for the end; also called when the test ends
 * @throws Error if the commands end before the service listens
 */
async function startInTerminal(
  cwd: string,
  env: Variables,
  commands: string,
  user?: number,
): Promise<() => Promise<void>> {
  const shell = spawn('sh', ['-euc', commands], {
    cwd,
    env: { ...env, NODE_OPTIONS: `--import ${LEASH}` },
    // A new process group: Ctrl-C in a terminal signals all its processes.
    detached: true,
    stdio: 'pipe',
    ...idsOf(user),
  });
  let printed = '';
  for (const output of [shell.stdout, shell.stderr])
    output.on('data', (data: Buffer) => (printed += data.toString()));
  const ended = once(shell, 'close').then(() => true);
  const stop = async (): Promise<void> => {
    if (shell.exitCode === null && shell.signalCode === null) process.kill(-Number(shell.pid), 'SIGINT');
    await ended;
  };
  onTestFinished(stop);
  while (!printed.includes('"msg":"listening"')) {
    const more = once(shell.stdout, 'data').then(() => false);
    if (await Promise.race([more, ended])) throw new Error(`${commands} failed: ${printed}`);
  }
  return stop;
}
